"""The notes of the library, sorted by what has become of them (docs/notes.md).

An id follows the bytes of its note: a note that is not what its pointer says may have moved, whatever is at its path
now. Only where its bytes are nowhere else, it has changed.
"""

import posixpath
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slicebase.files.note import is_below
from slicebase.index.notes import KnownNote
from slicebase.library.pointers import NoteVersion


class Shelf(NamedTuple):
    """The notes of the library, compared with the files at their paths."""

    folder: str | None  # the only one that the call is about
    paths: frozenset[str]
    folders: frozenset[str]
    kept: list[KnownNote]  # a file is at their paths
    back: list[KnownNote]  # so it is again, after they were gone
    lost: list[KnownNote]  # no file is at their paths
    twice: list[KnownNote]  # another pointer, which counts, names the same file
    forgotten: list[KnownNote]  # somebody archived the pointer
    movers: list[KnownNote]  # their bytes are not at their paths: they may be elsewhere

    @classmethod
    def of(cls, notes: Sequence[KnownNote], folder: str | None) -> "Shelf":
        """Sorts the notes, which are in the order of their ids.

        Of two pointers to one file, the one that states its hash counts, then the older one.
        """
        ours: dict[str, KnownNote] = {}
        for note in sorted(notes, key=lambda note: (note.archived, note.digest != note.hash)):
            if not note.archived or note.is_gone:
                ours.setdefault(note.path, note)
        shelf = cls(
            folder,
            frozenset(note.path for note in notes if not note.is_missing),
            frozenset({note.folder for note in notes} | ({folder} if folder else set())),
            kept=[note for note in ours.values() if not note.archived and not note.is_missing],
            back=[note for note in ours.values() if note.is_gone and not note.is_missing],
            lost=[note for note in ours.values() if note.is_missing],
            twice=[note for note in notes if not note.archived and ours[note.path] is not note],
            forgotten=[note for note in notes if note.archived and not note.is_gone],
            movers=[note for note in notes if note.digest != note.hash],
        )
        return shelf._replace(
            back=[*filter(shelf.concerns, shelf.back)], forgotten=[*filter(shelf.concerns, shelf.forgotten)]
        )

    @property
    def forgotten_movers(self) -> list[KnownNote]:
        return [note for note in self.movers if _is_forgotten(note)]

    def concerns(self, note: KnownNote) -> bool:
        return self.folder is None or is_below(self.folder, note.path)

    def folder_of(self, path: str) -> str | None:
        """Returns the added folder that holds a path: the deepest one."""
        return max((folder for folder in self.folders if is_below(folder, path)), key=len, default=None)


class Move(NamedTuple):
    """A note, and the file that has its bytes now."""

    note: KnownNote
    version: NoteVersion


class Settled(NamedTuple):
    """What becomes of each note, and which files get a new pointer."""

    kept: list[KnownNote]
    back: list[KnownNote]
    changed: Mapping[str, NoteVersion]  # of those two: what they are now, by the names of their pointers
    moved: list[Move]
    forgotten: list[Move]
    gone: list[KnownNote]
    twice: list[KnownNote]
    new: list[NoteVersion]

    @classmethod
    def of(cls, shelf: Shelf, unknown: Sequence[NoteVersion], changed: Mapping[str, NoteVersion]) -> "Settled":
        """Decides by the bytes first. `unknown` files have no pointer; `changed` are files at the paths of notes."""
        found = moves([*unknown, *changed.values()], shelf.movers)
        moved = {move.note.name for move in found}
        taken = {move.version.path for move in found}

        def stays(note: KnownNote) -> bool:
            return note.name not in moved and note.path not in taken

        kept = [note for note in shelf.kept if stays(note)]
        back = [note for note in shelf.back if stays(note) and (note.path in changed or note.digest == note.hash)]
        staying = {note.path for note in (*kept, *back)}
        movers = (note for note in (*shelf.kept, *shelf.back, *shelf.forgotten_movers) if note.name in moved)
        left = dict.fromkeys(note.path for note in movers)  # from which a note moved away
        displaced = [note for note in shelf.kept if note.path in taken]
        gone = [*filter(shelf.concerns, shelf.lost), *displaced]
        return cls(
            kept=kept,
            back=back,
            changed={
                note.name: changed[note.path]
                for note in (*kept, *back)
                if note.path in changed and shelf.concerns(note)
            },
            moved=[move for move in found if not _is_forgotten(move.note)],
            forgotten=[move for move in found if _is_forgotten(move.note)],
            gone=[note for note in gone if note.name not in moved and not note.is_gone],
            twice=[note for note in shelf.twice if note.name not in moved],
            new=[
                *(version for version in unknown if version.path not in taken),
                *(changed[path] for path in left if path in changed and path not in taken and path not in staying),
            ],
        )


def _is_forgotten(note: KnownNote) -> bool:
    return bool(note.archived and not note.is_gone)


def moves(versions: Sequence[NoteVersion], movers: Sequence[KnownNote]) -> list[Move]:
    """Returns which notes are which files, elsewhere than before.

    A note is where its bytes are. Of several such files, one with the same name is preferred; of several such notes,
    one that somebody uses, and one whose path has no file.
    """
    waiting: dict[str | None, list[KnownNote]] = {}
    for note in sorted(movers, key=lambda note: (note.archived, not note.is_gone, not note.is_missing, note.path)):
        waiting.setdefault(note.hash, []).append(note)
    found: list[Move] = []
    rest = [version for version in versions if version.size > 0]  # all empty files are the same
    for by_name in (True, False):
        still: list[NoteVersion] = []
        for version in rest:
            fitting = (note for note in waiting.get(version.hash, ()) if not by_name or _same_name(note, version))
            fits = next(fitting, None)
            if fits is None:
                still.append(version)
            else:
                waiting[version.hash].remove(fits)
                found.append(Move(fits, version))
        rest = still
    return found


def _same_name(note: KnownNote, version: NoteVersion) -> bool:
    return posixpath.basename(note.path) == posixpath.basename(version.path)
