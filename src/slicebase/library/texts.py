"""The text that the sections of a slice file are cut from: its body, or the note that it points to.

The text of a note is read from the note when it is needed, and has no secrets. A reference to a section of it names a
version of the note's bytes.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.files.body.sections import Section, sections
from slicebase.files.body.text import Cleaned
from slicebase.files.note import note_place, note_sections, note_text
from slicebase.files.slice_file import SliceFile
from slicebase.library.folder import SliceFolder
from slicebase.workspace.note_files import read_note_bytes


class FoundNote(NamedTuple):
    """A note as it is on the disk now; `problem` says why there is no text."""

    path: str
    text: str = ""
    digest: str | None = None
    problem: str | None = None

    def about(self, file: SliceFile) -> str:
        """Returns what a label says about the note, compared with its pointer."""
        if self.problem:
            return f"the note cannot be read: {self.problem}"
        return "" if self.digest == file.hash else "changed since it was added"


def note_of(folder: SliceFolder, file: SliceFile, cleaned: Cleaned) -> FoundNote | None:
    """Returns the note that a file points to, or None if it is not a note's pointer."""
    place = note_place(file)
    if place is None:
        return None
    try:
        found = read_note_bytes(folder.root, place.path)
        return FoundNote(place.path, cleaned(note_text(found.data)), found.digest)
    except SlicebaseError as error:
        return FoundNote(place.path, problem=error.message)


def note_bytes(folder: SliceFolder, file: SliceFile) -> bytes:
    """Returns the bytes of the note that a file points to; nothing if there is none that can be read."""
    place = note_place(file)
    try:
        return read_note_bytes(folder.root, place.path).data if place else b""
    except SlicebaseError:
        return b""


class SectionedText(NamedTuple):
    """A text, the digest that references to its sections name, and these sections."""

    text: str
    digest: str
    sections: tuple[Section, ...]


def sectioned(file: SliceFile, note: FoundNote | None) -> SectionedText:
    """Returns the text of a file with its sections. Raises an error for a note that cannot be read."""
    if note is None:
        text = file.text_for_model()
        return SectionedText(text, digest(file.body), kept_sections(text))
    if note.problem or note.digest is None:
        raise SlicebaseError(
            "no-input", f"the note {note.path} cannot be read: {note.problem}", hint="`tt refresh --all` follows notes"
        )
    return SectionedText(note.text, note.digest, kept_note_sections(note.text))


_KEPT: Final = 4  # texts: a reader pages through one of them, and a page of it should not parse all of it again
kept_sections: Final = lru_cache(_KEPT)(sections)
kept_note_sections: Final = lru_cache(_KEPT)(note_sections)
