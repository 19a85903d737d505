"""Notes that pointers of the library name: their bytes on the disk, and what the index knows of them (docs/notes.md).

The index reads a note again when its size, its times or its inode have changed, like a slice file. A note may be on a
disk whose clock is coarse, so one that was changed within two seconds before the look is read once more.
"""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

from slicebase.errors import SlicebaseError, Where
from slicebase.files.facts import BodyPassage
from slicebase.files.note import LARGEST_NOTE, NoteTargets, note_targets, note_text
from slicebase.files.note_links import NoteLink
from slicebase.workspace.boundary import opened_folder

Cleaned = Callable[[str], str]  # returns a text without secrets
MISSING: Final = "missing"  # the problem of a note that is not there
_ABSENT: Final = "-"  # in place of a stamp
_GRANULE: Final = 2_000_000_000  # nanoseconds: a disk's clock can be that coarse


# On the disk


class NoteBytes(NamedTuple):
    """The bytes of a note, and its size, times and inode."""

    data: bytes
    stamp: str
    modified: int  # milliseconds since 1970

    @property
    def digest(self) -> str:
        return "sha256:" + hashlib.sha256(self.data).hexdigest()


def read_note_bytes(root: Path, path: str) -> NoteBytes:
    """Returns the bytes of a regular file below `root`. No symbolic link is followed on the way.

    Raises `no-input` for a file that is not there, and other errors for what is not a note.
    """
    folder, _, name = path.rpartition("/")
    try:
        with opened_folder(root, root / folder) as above:
            # Without O_NONBLOCK, opening a pipe would wait forever.
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=above)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise SlicebaseError("not-a-file", "it is not a regular file", where=Where(path))
            if status.st_size > LARGEST_NOTE:
                raise SlicebaseError("too-large", f"it has more than {LARGEST_NOTE >> 20} MiB", where=Where(path))
            data = file.read(LARGEST_NOTE + 1)
    except OSError as error:
        raise _refusal(error, path) from None
    return NoteBytes(data, _stamp(status), status.st_mtime_ns // 1_000_000)


def _refusal(error: OSError, path: str) -> SlicebaseError:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return SlicebaseError("no-input", MISSING, where=Where(path))
    if error.errno == errno.ELOOP:
        return SlicebaseError("not-a-file", "it is a symbolic link", where=Where(path))
    return SlicebaseError("cannot-read", error.strerror or "it cannot be read", where=Where(path))


def _stamp(status: os.stat_result) -> str:
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def stamps(root: Path, paths: Iterable[str]) -> list[str]:
    """Returns the stamp of each note."""
    found = []
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return [_ABSENT for _ in paths]
    try:
        for path in paths:
            try:
                found.append(_stamp(os.stat(path, dir_fd=descriptor, follow_symlinks=False)))
            except (OSError, ValueError):
                found.append(_ABSENT)
    finally:
        os.close(descriptor)
    return found


def is_certain(stamp: str, tick: int) -> bool:
    """Returns whether the stamp of a note would show a later change."""
    if stamp in ("", _ABSENT):
        return bool(stamp)
    _, modified, changed, _ = stamp.split(" ")
    return max(int(modified), int(changed)) < tick - _GRANULE


# In the index


class IndexedNote(NamedTuple):
    """What the index keeps of a note as it is now."""

    stamp: str
    digest: str | None
    problem: str | None  # why it has no text
    said: str  # its aliases and links, as JSON
    text: str

    @property
    def passages(self) -> tuple[BodyPassage, ...]:
        return (BodyPassage(1, "", self.text),) if self.text.strip() else ()


def index_note(root: Path, path: str, cleaned: Cleaned) -> IndexedNote:
    """Reads a note for the index. What the index keeps has no secrets (ruling 50)."""
    try:
        found = read_note_bytes(root, path)
    except SlicebaseError as error:
        absent = error.code == "no-input"
        return IndexedNote(_ABSENT if absent else "", None, MISSING if absent else error.message, "", "")
    try:
        text = cleaned(note_text(found.data))
    except SlicebaseError as error:
        return IndexedNote(found.stamp, found.digest, error.message, "", "")
    targets = note_targets(text)
    said = json.dumps(targets) if any(targets) else ""
    return IndexedNote(found.stamp, found.digest, None, said, text)


class KnownNote(NamedTuple):
    """A note as the library has it: its pointer, and the note itself as it is on the disk now."""

    id: str
    name: str  # of the pointer's file
    path: str
    folder: str
    is_gone: int  # archived because the note was gone
    hash: str | None  # that the pointer states
    archived: int
    digest: str | None
    problem: str | None
    said: str
    linked: tuple[str, ...]  # the ids that the pointer links to because the note does

    @property
    def is_missing(self) -> bool:
        return self.problem == MISSING

    @property
    def targets(self) -> NoteTargets:
        """The aliases and links of the note."""
        aliases, links = json.loads(self.said) if self.said else ((), ())
        return NoteTargets(tuple(aliases), tuple(map(NoteLink._make, links)))


_NOTES: Final = """
SELECT files.number, files.id, files.name, path, folder, gone, files.hash, files.archived, digest, notes.problem, said
FROM notes JOIN files ON files.number = notes.file ORDER BY files.id, files.name
"""
_LINKED: Final = """
SELECT file, target FROM links WHERE rel = 'see_also' AND label = ? AND row = '' AND file IN (SELECT file FROM notes)
ORDER BY file, position
"""


def known_notes(connection: apsw.Connection, label: str) -> list[KnownNote]:
    """Returns the notes of the library; `label` marks the links that come from notes."""
    linked: dict[Any, list[Any]] = {}
    for file, target in connection.execute(_LINKED, (label,)):
        linked.setdefault(file, []).append(target)
    rows: Iterator[Any] = connection.execute(_NOTES)
    return [KnownNote._make((*row, tuple(linked.get(number, ())))) for number, *row in rows]


def purged_hashes(connection: apsw.Connection) -> set[str]:
    """Returns the hashes of the payloads that were purged."""
    query = "SELECT hash FROM files WHERE purged AND hash IS NOT NULL"
    return {found for (found,) in connection.execute(query)}


def copied_notes(connection: apsw.Connection, key: str) -> dict[str, str]:
    """Returns the ids of the files that were made from notes, by where they were copied from."""
    query = "SELECT value, id FROM meta JOIN files ON files.number = meta.file WHERE key = ? ORDER BY id DESC"
    return dict(connection.execute(query, (key,)))
