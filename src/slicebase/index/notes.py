"""What the index knows of the notes that pointers of the library name (docs/notes.md).

A note is read again when its size, its times or its inode have changed, like a slice file.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import apsw

from slicebase.errors import SlicebaseError
from slicebase.files.facts import BodyPassage
from slicebase.files.note import NoteTargets, note_targets, note_text
from slicebase.files.note_links import NoteLink
from slicebase.files.slice_file import SliceFile
from slicebase.workspace.note_files import ABSENT, MISSING, NoteBytes, read_note_bytes

_MOST_AT_HAND: Final = 64 << 20  # characters of texts: those of a large folder do not fit into memory


class Cleaning(Protocol):
    """The redaction that texts of notes pass before they are stored."""

    def uncounted(self, text: str) -> str: ...

    def state(self) -> str: ...


# What was read just now


class CleanNote(NamedTuple):
    """The text of a note without secrets, and its aliases and links."""

    text: str
    targets: NoteTargets


class NotesAtHand:
    """The notes that a call has read, as far as memory allows, so that the index does not redact and read them again.

    A text is only used for the same bytes, and as long as secrets are replaced as they were when it was read.
    """

    def __init__(self) -> None:
        self._notes: dict[tuple[str, str], CleanNote] = {}  # by the digest of the bytes, and the state of the redaction
        self._size = 0

    def keep(self, digest: str, cleaned: str, note: CleanNote) -> None:
        """Keeps a note, if there is room for it. `cleaned` is the state of the redaction before it was redacted."""
        if self._size + len(note.text) <= _MOST_AT_HAND:
            self._size += len(note.text)
            self._notes[digest, cleaned] = note

    def of(self, found: NoteBytes, cleaning: Cleaning) -> CleanNote:
        """Returns what is kept of these bytes, or else reads them. Raises an error for bytes that are not text."""
        if self._notes and (known := self._notes.get((found.digest, cleaning.state()))):
            return known
        text = cleaning.uncounted(note_text(found.data))
        return CleanNote(text, note_targets(text))


class AtHand(NamedTuple):
    """What a writer has just read and written. The index takes it for what is on the disk if the bytes are the same."""

    files: Mapping[str, SliceFile]  # by their names in the folder
    notes: NotesAtHand


# What the index keeps


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


def index_note(root: Path, path: str, cleaning: Cleaning, at_hand: NotesAtHand) -> IndexedNote:
    """Reads a note for the index. What the index keeps has no secrets (ruling 50)."""
    try:
        found = read_note_bytes(root, path)
    except SlicebaseError as error:
        absent = error.code == "no-input"
        return IndexedNote(ABSENT if absent else "", None, MISSING if absent else error.message, "", "")
    try:
        text, targets = at_hand.of(found, cleaning)
    except SlicebaseError as error:
        return IndexedNote(found.stamp, found.digest, error.message, "", "")
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
    rows: Any = connection.execute(_NOTES)
    return [KnownNote._make((*row, tuple(linked.get(number, ())))) for number, *row in rows]


def purged_hashes(connection: apsw.Connection) -> set[str]:
    """Returns the hashes of the payloads that were purged."""
    query = "SELECT hash FROM files WHERE purged AND hash IS NOT NULL"
    return {found for (found,) in connection.execute(query)}


def purged_files(connection: apsw.Connection) -> int:
    """Returns the number of files whose content was purged."""
    row: Any = connection.execute("SELECT count(*) FROM files WHERE purged").fetchone()
    return int(row[0])


class CopiedNote(NamedTuple):
    """A file that was made from a note: its id, and what its `meta` says of the note."""

    source: str
    hash: str | None
    folder: str | None
    id: str


_COPIED: Final = """
SELECT source.value, hash.value, folder.value, files.id
FROM meta AS source JOIN files ON files.number = source.file
LEFT JOIN meta AS hash ON hash.file = source.file AND hash.key = ?
LEFT JOIN meta AS folder ON folder.file = source.file AND folder.key = ?
WHERE source.key = ? ORDER BY files.id
"""


_MISSING_TARGETS: Final = """
SELECT files.id, links.target
FROM meta JOIN files ON files.number = meta.file JOIN links ON links.file = meta.file
WHERE meta.key = ? AND meta.value = ? AND rel = 'see_also' AND row = ''
AND NOT EXISTS (SELECT 1 FROM files AS found WHERE found.id = links.target OR found.name = links.target || '.slice')
ORDER BY files.id, position
"""


def missing_targets(connection: apsw.Connection, folder: str, mark: str) -> list[tuple[str, str]]:
    """Returns which files that were made from the notes of a folder link to which ids that no file has.

    A file that cannot be read has the id that is its name.
    """
    rows: Any = connection.execute(_MISSING_TARGETS, (folder, mark))
    return list(rows)


def copied_notes(connection: apsw.Connection, source: str, digest: str, folder: str) -> list[CopiedNote]:
    """Returns the files that were made from notes. The arguments are the keys of `meta` that say from which."""
    rows: Any = connection.execute(_COPIED, (digest, folder, source))
    return list(map(CopiedNote._make, rows))
