"""Notes in the disposable cache, one file for each session: what hooks have shown to its agent, or still have to show.

A hook reads them at every prompt, so this module imports little.
"""

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from slicebase.errors import SlicebaseError
from slicebase.workspace.atomic import locked, own_temporary, read_bytes, remove, write_bytes
from slicebase.workspace.workspace import own_folder


class Compacted(msgspec.Struct):
    """A session that was compacted: the file of its narrative once it is written, and what was reported."""

    narrative: str | None = None
    reported: bool = False  # the narrative
    lost: bool = False  # what the compaction lost was reported
    looks: bool = False  # a hook looks for it, or was stopped while it did
    files: bool = False  # the files of the project were shown again
    worker: int | None = None  # the process that writes the narrative
    begun: float = 0  # when that was started, in seconds since 1970
    reading: float = 0  # when the one that imports was
    reader: int | None = None  # the process that imports a long transcript
    tries: int = 0  # processes that were started for it
    finder: int | None = None  # the process that finds what was lost
    finding: float = 0  # when that was started
    finds: int = 0  # processes that were started for that
    before: int | None = None  # the summaries before, until it is known that another one came
    ended: bool = False  # the session, or an answer, ended since: no summary is waited for
    made: int = msgspec.field(default_factory=time.time_ns)  # tells the note of one compaction from that of the next


class SessionContext(msgspec.Struct):
    """What a session's agent has in its context: files of the library, each in its version; and its compactions."""

    files: dict[str, str] = {}
    passed: list[str] = []  # the digests of files that were there and not shown: they are not news
    summaries: int | None = None  # the compactions that were seen, by a client that does not tell of them
    looked: tuple[int, int] = (0, 0)  # up to where its transcript was looked at for them: the file, and a place in it
    is_new: bool = False  # it has begun since the last prompt, which shows the files


MOST_NOTES: Final = 500  # of a kind; a session whose note is gone is like a new one
_PATIENCE: Final = 1.0  # seconds that a hook waits for another one that changes a note
_Note = TypeVar("_Note")


def keep_newest(folder: Path, most: int, *, within: Path) -> None:
    """Removes all but the last written files of a folder."""
    with suppress(OSError, SlicebaseError):
        with os.scandir(folder) as entries:
            written = sorted((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name) for entry in entries)
        for _, name in written[:-most]:
            remove(folder / name, within=within)


def write_state(folder: Path, store: Path, data: bytes) -> None:
    """Writes what is kept of a transcript. If the cache cannot be written, everything is read the next time."""
    with suppress(OSError, SlicebaseError):
        own_folder(store.parent)
        is_new = not store.exists()
        write_bytes(store, [data], within=folder, private=True, temporary=own_temporary())
        if is_new:
            keep_newest(store.parent, MOST_NOTES, within=folder)


class SessionNotes(Generic[_Note]):
    """Notes of one kind, each in a small file of the cache.

    What one process changes in a note, another one does not undo: `change` reads the note and writes it under a lock.
    """

    def __init__(self, cache: Path, folder: str, kind: type[_Note]) -> None:
        self._cache = cache
        self._folder = cache / folder
        self._lock = cache / f"{folder}.lock"  # not in the folder, from which old files are removed
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)

    def get(self, session: str) -> _Note | None:
        try:
            note: _Note = self._decoder.decode(read_bytes(self._path(session)))
        except (OSError, SlicebaseError, msgspec.MsgspecError):
            return None
        return note

    def change(self, session: str, changed: Callable[[_Note | None], _Note | None]) -> None:
        """Writes what becomes of a note as it is now; nothing for None."""
        own_folder(self._folder)
        with locked(self._lock, _PATIENCE):
            note = changed(self.get(session))
            if note is not None:
                self._write(session, note)

    def put(self, session: str, note: _Note) -> None:
        """Writes a note, whatever it was before."""
        self.change(session, lambda _: note)

    def _write(self, session: str, note: _Note) -> None:
        path, name = self._path(session), own_temporary()
        is_new = not path.exists()
        write_bytes(path, [msgspec.json.encode(note)], within=self._cache, private=True, temporary=name)
        if is_new:
            keep_newest(self._folder, MOST_NOTES, within=self._cache)

    def drop(self, session: str) -> None:
        own_folder(self._folder)
        with locked(self._lock, _PATIENCE):
            remove(self._path(session), within=self._cache)

    def _path(self, session: str) -> Path:
        return self._folder / hashlib.sha256(session.encode(errors="surrogatepass")).hexdigest()[:32]


_COMPACTED: Final = "compacted"
_CONTEXTS: Final = "contexts"


class CompactedNotes(SessionNotes[Compacted]):
    """Notes on sessions that were compacted and whose agent does not know yet what was lost."""

    def __init__(self, cache: Path) -> None:
        super().__init__(cache, _COMPACTED, Compacted)

    def keep(self, session: str, note: Compacted) -> None:
        """Writes a note again. What others have added since it was read stays: a narrative, the end of the session.

        The note on another compaction, which has begun since, is left as it is.
        """

        def merged(now: Compacted | None) -> Compacted | None:
            if now is not None and now.made > note.made:
                return None
            if now is not None:
                if now.narrative is not None and note.narrative is None:
                    note.narrative, note.worker = now.narrative, now.worker
                note.ended |= now.ended
            return note

        self.change(session, merged)

    def narrated(self, session: str, narrative: str | None, worker: int) -> None:
        """Adds the narrative that a process has written, or that it has failed.

        A prompt may have dropped the note already, or another compaction has begun, whose narrative says more.
        """

        def changed(now: Compacted | None) -> Compacted | None:
            if now is None or now.worker not in (None, worker):
                return None
            now.narrative, now.worker = narrative, None
            return now

        self.change(session, changed)


class ContextNotes(SessionNotes[SessionContext]):
    """Notes on what sessions have in their contexts."""

    def __init__(self, cache: Path) -> None:
        super().__init__(cache, _CONTEXTS, SessionContext)
