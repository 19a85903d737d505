"""Notes in the disposable cache, one for each session that was compacted and has not been reported yet.

A hook reads them at every prompt, so this module imports little.
"""

import hashlib
from pathlib import Path
from typing import Final

import msgspec

from slicebase.errors import SlicebaseError
from slicebase.workspace.atomic import own_temporary, read_bytes, remove, write_bytes
from slicebase.workspace.workspace import own_folder

_FOLDER: Final = "compacted"


class Compacted(msgspec.Struct):
    """A session that was compacted: the file of its narrative once it is written, and whether that was reported."""

    narrative: str | None = None
    reported: bool = False


class CompactedNotes:
    """The notes on compacted sessions, each in a small file of the cache."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._folder = cache / _FOLDER

    def get(self, session: str) -> Compacted | None:
        try:
            return msgspec.json.decode(read_bytes(self._path(session)), type=Compacted)
        except (OSError, SlicebaseError, msgspec.MsgspecError):
            return None

    def put(self, session: str, note: Compacted) -> None:
        own_folder(self._folder)
        name = own_temporary()  # no lock is held
        write_bytes(self._path(session), [msgspec.json.encode(note)], within=self._cache, private=True, temporary=name)

    def drop(self, session: str) -> None:
        remove(self._path(session), within=self._cache)

    def _path(self, session: str) -> Path:
        return self._folder / hashlib.sha256(session.encode()).hexdigest()[:32]
