"""What is made of the slice files that mention a word, kept in memory: a file is read again when it has changed.

The folder is listed at every call. A file is known by its size, its times and its inode; one that was changed within
the last tick of the disk's clock is read again the next time, since another change could leave all of them the same.
"""

import posixpath
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from slicebase.files.slice_file import SliceFile
from slicebase.index.files import listing
from slicebase.library.folder import SliceFolder

_TICK: Final = 2_000_000_000  # nanoseconds: a disk's clock can be that coarse
_Made = TypeVar("_Made")


class Mentions(Generic[_Made]):
    """The files of a folder that mention a word, each as `make` makes it. What it returns is never changed."""

    def __init__(self, folder: SliceFolder, word: str, make: Callable[[SliceFile], _Made | None]) -> None:
        self._folder, self._word, self._make = folder, word.encode(), make
        self._known: dict[str, tuple[str, _Made | None]] = {}  # by name, with the stamp of the file

    def all(self) -> list[_Made]:
        """Returns what is made of the files as they are now, in the order of their names."""
        names, certain = self._folder.names(), time.time_ns() - _TICK
        stamps = dict(each.split("\0") for each in listing(self._folder.path))
        known = {name: self._known[name] for name in names if name in stamps and self._stamp(name) == stamps[name]}
        new = [name for name in names if name not in known]
        files = {posixpath.basename(file.name): file for file in self._folder.mentioning(self._word, names=new)}
        read = {name: (stamps.get(name, ""), self._make(files[name]) if name in files else None) for name in new}
        self._known = known | {name: each for name, each in read.items() if _changed_before(certain, each[0])}
        found = known | read
        return [made for name in names if (made := found[name][1]) is not None]

    def _stamp(self, name: str) -> str | None:
        return self._known[name][0] if name in self._known else None


def _changed_before(moment: int, stamp: str) -> bool:
    """Returns whether a file with this stamp was last changed before a moment; false if it was not listed."""
    return bool(stamp) and int(stamp.split()[2]) < moment
