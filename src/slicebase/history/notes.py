"""Notes in the disposable cache, one for each session that was compacted and has not been reported yet.

A hook reads them at every prompt, so this module imports little.
"""

import hashlib
from pathlib import Path
from typing import Final

import msgspec

_FOLDER: Final = "compacted"


class Compacted(msgspec.Struct):
    """A session that was compacted: the file of its narrative once it is written, and whether that was reported."""

    narrative: str | None = None
    reported: bool = False


class CompactedNotes:
    """The notes on compacted sessions, each in a small file of the cache."""

    def __init__(self, cache: Path) -> None:
        self._folder = cache / _FOLDER

    def get(self, session: str) -> Compacted | None:
        try:
            return msgspec.json.decode(self._path(session).read_bytes(), type=Compacted)
        except (OSError, msgspec.MsgspecError):
            return None

    def put(self, session: str, note: Compacted) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._path(session).write_bytes(msgspec.json.encode(note))

    def drop(self, session: str) -> None:
        self._path(session).unlink(missing_ok=True)

    def _path(self, session: str) -> Path:
        return self._folder / hashlib.sha256(session.encode()).hexdigest()[:32]
