"""Reads notes: here, or, where there are thousands, every second one in another process.

What is read of a note depends on its bytes, its name and the redaction alone, so the result is the same, in the same
order. The other process then has nothing to read, and updates the index while this one writes: the index is the same,
whoever updates it. What the other process does not do, for whatever reason, is done here.
"""

import pickle
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from select import select
from threading import Thread
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from slicebase.errors import SlicebaseError
from slicebase.files.note import note_text, read_note
from slicebase.index.files import FileIndex
from slicebase.index.notes import AtHand, CleanNote, NotesAtHand
from slicebase.index.schema import ReadProgress
from slicebase.library.pointers import NoteVersion
from slicebase.library.walk import SkippedNote
from slicebase.workspace.doors import Redaction
from slicebase.workspace.note_files import read_note_bytes
from slicebase.workspace.processes import end, processors, serving
from slicebase.workspace.surroundings import Surroundings
from slicebase.workspace.workspace import Workspace

if TYPE_CHECKING:
    from subprocess import Popen

LEAST_NOTES: Final = 2000  # for fewer, starting a process takes longer than it saves
_PAUSE: Final = 0.05  # seconds between two updates of the index


class NoteReader:
    """Reads notes below a root, and remembers which could not be taken, with the reason."""

    def __init__(self, root: Path, redaction: Redaction) -> None:
        self.skipped: list[SkippedNote] = []
        self.at_hand = NotesAtHand()
        self._root = root
        self._redaction = redaction

    def shown(self, path: str, reason: str) -> SkippedNote:
        """Returns what is reported of a file that was passed over: its name may be the reason."""
        return SkippedNote(self._redaction.uncounted(path), self._redaction.uncounted(reason))

    def version(self, path: str) -> NoteVersion | None:
        """Returns a note as it is now, without secrets; None if it cannot be taken."""
        try:
            self._redaction.refuse("its name", path)
            found = read_note_bytes(self._root, path)
            cleaned = self._redaction.state()
            text = self._redaction.text(note_text(found.data))
        except SlicebaseError as error:
            self.skipped.append(SkippedNote(path, error.message))
            return None
        note = read_note(text, path.rpartition("/")[2])
        self.at_hand.keep(found.digest, cleaned, CleanNote(text, note.targets))
        return NoteVersion(path, note, found.digest, len(found.data), found.modified)

    def versions(self, paths: Sequence[str], progress: ReadProgress) -> list[NoteVersion]:
        """Returns notes as they are now, without those that cannot be taken."""
        versions = []
        for done, path in enumerate(paths):
            progress(done, len(paths))
            versions.append(self.version(path))
        progress(len(paths), len(paths))
        return [version for version in versions if version]


class ReadNotes(NamedTuple):
    """What another process has read."""

    versions: list[NoteVersion]
    skipped: list[SkippedNote]
    redacted: Counter[str]


class HelpedReader:
    """Reads notes of a workspace, many of them with the help of another process. It is closed in the end."""

    def __init__(self, workspace: Workspace, reader: NoteReader, redaction: Redaction) -> None:
        self._workspace = workspace
        self._reader = reader
        self._redaction = redaction
        self._process: Popen[bytes] | None = None

    def versions(self, paths: Sequence[str], progress: ReadProgress) -> list[NoteVersion]:
        """Returns notes as they are now, as `NoteReader` does."""
        if len(paths) < LEAST_NOTES or processors() < 2 or self._process is not None or not self._start(paths[1::2]):
            return self._reader.versions(paths, progress)
        found = self._reader.versions(paths[::2], lambda done, _: progress(min(2 * done, len(paths)), len(paths)))
        read = self._received()
        if read is None:
            found += self._reader.versions(paths[1::2], progress)
        else:
            found += read.versions
            self._reader.skipped += read.skipped
            self._redaction.counts.update(read.redacted)
        order = {path: number for number, path in enumerate(paths)}
        return sorted(found, key=lambda version: order[version.path])

    def _start(self, paths: Sequence[str]) -> bool:
        told = pickle.dumps((self._workspace, self._redaction.enabled, self._redaction.state(), list(paths)))
        try:
            self._process = serving(__name__)
        except OSError:
            return False
        # In a thread, since it is read only when the process has started.
        Thread(target=_send, args=(self._process.stdin, told), daemon=True).start()
        return True

    def _received(self) -> ReadNotes | None:
        """Returns what the process has read, None if it has failed."""
        assert self._process is not None
        assert self._process.stdout is not None
        with suppress(Exception):  # it has ended too early, or something else writes there: that can raise any error
            found = pickle.load(self._process.stdout)
            if isinstance(found, ReadNotes):
                return found
        self._process.kill()  # it may wait until somebody reads more
        return None

    def let_end(self) -> None:
        """Waits until the process has finished the update of the index that it is at. It begins no other."""
        if self._process is not None:
            assert self._process.stdin is not None
            with suppress(OSError):
                self._process.stdin.close()
            self._process.wait()

    def close(self) -> None:
        """Ends the process, whatever it does."""
        if self._process is not None:
            end(self._process)
            self._process = None


def _send(stream: IO[bytes], told: bytes) -> None:
    with suppress(OSError, ValueError):  # the process has ended
        stream.write(told)
        stream.flush()


# The other process


def serve() -> None:
    """Reads the notes that the standard input names, writes what it has read, and then updates the index.

    It ends when the standard input does.
    """
    # Whatever goes wrong here goes wrong again in the process that waits for it, and is reported there.
    with suppress(Exception, KeyboardInterrupt):
        workspace, enabled, state, paths = pickle.load(sys.stdin.buffer)
        redaction = Surroundings(workspace, redact=enabled).redaction
        if redaction.state() != state:  # as with settings that are in no file
            return
        reader = NoteReader(workspace.root, redaction)
        versions = reader.versions(paths, lambda done, total: None)
        pickle.dump(ReadNotes(versions, reader.skipped, redaction.counts), sys.stdout.buffer)
        sys.stdout.buffer.flush()
        index = FileIndex(workspace, redaction)
        while not select([sys.stdin], [], [], _PAUSE)[0]:
            index.ask(lambda connection: None, AtHand({}, reader.at_hand))
            if not workspace.files.exists():  # it was built in memory, for nobody
                return
