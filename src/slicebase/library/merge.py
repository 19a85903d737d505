"""Merges slice files on disk, as git asks for it.

git takes what is in our file as the result, together with an exit status. So whatever happens, our file must not look
like a merged one: it gets conflict markers around both versions. Where even these cannot be written, it is removed if
it is a temporary file of git, which then stops without changing anything.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.files.merge import merge_bytes
from slicebase.files.merge_lines import MARKERS
from slicebase.workspace.atomic import own_temporary, read_bytes, read_chunks, remove, write_bytes

_LARGEST: Final = 64 << 20  # bytes of a version of a slice file
_OF_GIT: Final = ".merge_file_"  # how git names the files that it passes to a merge driver


class MergeReport(NamedTuple):
    """What both sides changed differently, and why the files could not be merged at all, if so."""

    conflicts: tuple[str, ...]
    failure: str | None = None


def merge_files(base: Path, ours: Path, theirs: Path, name: str) -> MergeReport:
    """Writes the merged file over ours. After any failure it has both versions between conflict markers.

    Raises an error if that cannot be written either.
    """
    try:
        before, mine, other = (read_bytes(path, follow=True, most=_LARGEST) for path in (base, ours, theirs))
        merged = merge_bytes(before, mine, other, name)
        _write(ours, iter([merged.data]))
        return MergeReport(merged.conflicts)
    except Exception as error:  # the only place that may hide a bug: git would take our side alone
        failure = str(error) if isinstance(error, SlicebaseError) else f"{type(error).__name__}: {error}"
    try:
        _write(ours, _both(ours, theirs))
    except BaseException as error:
        _refuse(ours)
        if isinstance(error, OSError):
            raise SlicebaseError("cannot-read", f"{name}: {error.strerror}", where=Where(error.filename)) from None
        raise
    return MergeReport((), failure)


def _write(path: Path, chunks: Iterator[bytes]) -> None:
    real = path.resolve()  # git names it, and reads it again
    write_bytes(real, chunks, within=real.parent, temporary=own_temporary())


def _both(ours: Path, theirs: Path) -> Iterator[bytes]:
    """Yields both files completely, between conflict markers. They can have any size."""
    before, between, after = (marker + b"\n" for marker in MARKERS)
    return chain([before], _ended(ours), [between], _ended(theirs), [after])


def _ended(path: Path) -> Iterator[bytes]:
    last = b"\n"
    for last in read_chunks(path, follow=True):
        yield last
    if not last.endswith(b"\n"):
        yield b"\n"


def _refuse(ours: Path) -> None:
    if ours.name.startswith(_OF_GIT):
        with suppress(OSError, SlicebaseError):
            remove(ours, within=ours.parent)
