"""Notes in place: adds the files of a folder as pointers, and follows what changed, moved or went (docs/notes.md).

Everything is read and decided first, then written in batches. The pointers themselves say what was done: an interrupted
call is finished by the next one. The index knows which notes have changed, so a call that finds nothing to do reads
none of them.
"""

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.entries import Stamp
from slicebase.files.body.write import with_writer
from slicebase.files.create import archived, restored
from slicebase.files.note import NOTE_GONE, NoteTargets, is_below, note_place, note_text, read_note
from slicebase.files.note_links import NamedNote, NoteNames
from slicebase.files.slice_file import SliceFile
from slicebase.index.files import FileIndex
from slicebase.index.notes import KnownNote, known_notes, purged_hashes
from slicebase.index.schema import ReadProgress
from slicebase.library.folder import SliceFolder
from slicebase.library.pointers import (
    MOST_LINKED,
    NOTE_LINK,
    NoteVersion,
    followed_pointer,
    new_pointer,
    note_id,
    with_note_links,
)
from slicebase.library.walk import FoundFile, SkippedNote, Walked, walk
from slicebase.workspace.atomic import locked
from slicebase.workspace.doors import Redaction
from slicebase.workspace.note_files import read_note_bytes
from slicebase.workspace.workspace import Workspace, create_local_folder

_BATCH: Final = 500  # files that are written while other writers wait
_PATIENCE: Final = 60.0  # seconds to wait for another process that follows notes


class NotesReport(NamedTuple):
    """What was done with the notes of a folder, or of all folders, in numbers; `skipped` names what was passed over.

    `links` counts the links between notes, `unresolved` those that name no note, `crowded` those that a pointer has no
    room for. `forgotten` notes are those whose pointers somebody archived.
    """

    added: int = 0
    changed: int = 0
    moved: int = 0
    gone: int = 0
    back: int = 0
    unchanged: int = 0
    forgotten: int = 0
    links: int = 0
    unresolved: int = 0
    crowded: int = 0
    skipped: tuple[SkippedNote, ...] = ()
    redacted: Mapping[str, int] = {}  # secrets that were replaced in what was stored, by rule

    def __repr__(self) -> str:
        counts = ("added", "changed", "moved", "gone", "unchanged")
        return f"NotesReport({', '.join(f'{name}={getattr(self, name)}' for name in counts)})"

    def as_json(self) -> dict[str, Any]:
        """Returns the report as the commands print it with `--json`."""
        skipped = [{"path": path, "reason": reason} for path, reason in self.skipped]
        return {**self._asdict(), "skipped": skipped, "redacted": dict(sorted(self.redacted.items()))}


class _Follow(NamedTuple):
    """A note that has a pointer after this call, with what is known of it."""

    id: str
    path: str
    folder: str
    targets: NoteTargets
    known: KnownNote | None = None
    version: NoteVersion | None = None  # where the pointer has to say something new

    @classmethod
    def of(cls, known: KnownNote, version: NoteVersion | None = None, folder: str | None = None) -> "_Follow":
        if version is None:
            return cls(known.id, known.path, known.folder, known.targets, known)
        return cls(known.id, version.path, folder or known.folder, version.note.targets, known, version)


class Draft(NamedTuple):
    """A pointer to write: the version that was read, None for a new one, and the new version."""

    old: SliceFile | None
    new: SliceFile


class Shelf(NamedTuple):
    """The notes of the library, by what has become of them."""

    folder: str | None  # the only one that the call is about
    paths: frozenset[str]
    folders: frozenset[str]
    kept: list[KnownNote]  # they are there
    back: list[KnownNote]  # they are there again, after they were gone
    lost: list[KnownNote]  # they are not there
    twice: list[KnownNote]  # another pointer, which counts, names the same file
    forgotten: list[KnownNote]  # somebody archived the pointer

    @classmethod
    def of(cls, notes: Sequence[KnownNote], folder: str | None) -> "Shelf":
        """Sorts the notes, which are in the order of their ids. Of two pointers to one file, the older one counts."""
        ours = {note.path: note for note in reversed(notes) if not note.archived or note.is_gone}
        shelf = cls(
            folder,
            frozenset(note.path for note in notes if not note.is_missing),
            frozenset({note.folder for note in notes} | ({folder} if folder else set())),
            kept=[note for note in ours.values() if not note.archived and not note.is_missing],
            back=[note for note in ours.values() if note.is_gone and not note.is_missing],
            lost=[note for note in ours.values() if note.is_missing],
            twice=[note for note in notes if not note.archived and ours[note.path] is not note],
            forgotten=[note for note in notes if note.archived and not note.is_gone],
        )
        return shelf._replace(
            back=[*filter(shelf.concerns, shelf.back)], forgotten=[*filter(shelf.concerns, shelf.forgotten)]
        )

    def concerns(self, note: KnownNote) -> bool:
        return self.folder is None or is_below(self.folder, note.path)

    def folder_of(self, path: str) -> str | None:
        """Returns the added folder that holds a path: the deepest one."""
        return max((folder for folder in self.folders if is_below(folder, path)), key=len, default=None)


class NoteReader:
    """Reads notes below a root, and remembers which could not be taken, with the reason."""

    def __init__(self, root: Path, redaction: Redaction) -> None:
        self.skipped: list[SkippedNote] = []
        self._root = root
        self._redaction = redaction

    def version(self, path: str) -> NoteVersion | None:
        """Returns a note as it is now, without secrets; None if it cannot be taken."""
        try:
            self._redaction.refuse("its name", path)
            found = read_note_bytes(self._root, path)
            text = self._redaction.text(note_text(found.data))
        except SlicebaseError as error:
            self.skipped.append(SkippedNote(path, error.message))
            return None
        note = read_note(text, path.rpartition("/")[2])
        return NoteVersion(path, note, found.digest, len(found.data), found.modified)


class NoteKeeper:
    """Adds and follows the notes of one workspace."""

    def __init__(
        self,
        workspace: Workspace,
        folder: SliceFolder,
        index: FileIndex,
        redaction: Redaction,
        stamp: Stamp,
        progress: ReadProgress = lambda done, total: None,
    ) -> None:
        self._workspace = workspace
        self._folder = folder
        self._index = index
        self._stamp = stamp
        self._progress = progress
        self._reader = NoteReader(folder.root, redaction)

    def add(self, folder: str, globs: Sequence[str], *, dry_run: bool = False) -> NotesReport:
        """Adds the files of a folder that are not there yet, and follows those that are."""
        with self._locked():
            return self._follow(folder, walk(self._folder.root, folder, globs), dry_run=dry_run)

    def refresh(self, *, dry_run: bool = False) -> NotesReport:
        """Follows all notes. Folders are walked through only if notes are missing, to find those that moved."""
        with self._locked():
            return self._follow(None, None, dry_run=dry_run)

    def version(self, pointer: SliceFile) -> NoteVersion | None:
        """Returns the note of a pointer as it is now; None for a pointer to anything else."""
        place = note_place(pointer)
        version = self._reader.version(place.path) if place else None
        if place and version is None:
            raise SlicebaseError("no-input", self._reader.skipped[-1].reason, where=Where(place.path))
        return version

    def _locked(self) -> AbstractContextManager[None]:
        return one_at_a_time(self._workspace)

    # What has to be done

    def _follow(self, folder: str | None, walked: Walked | None, *, dry_run: bool) -> NotesReport:
        """Follows the notes in a folder, or all; `walked` has the files that are to be added."""
        notes, purged = self._index.ask(
            lambda connection: (known_notes(connection, NOTE_LINK), purged_hashes(connection))
        )
        shelf = Shelf.of(notes, folder)
        versions = self._new_versions(shelf, walked, purged)
        moved, new = moves(versions, shelf.lost)
        gone = [note for note in shelf.lost if note.path not in moved and not note.is_gone and shelf.concerns(note)]
        again = [note for note in shelf.kept if note.digest != note.hash and shelf.concerns(note)]
        changed = {note.path: self._reader.version(note.path) for note in (*again, *shelf.back)}
        follows = [
            *(_Follow.of(note, changed.get(note.path)) for note in (*shelf.kept, *shelf.back)),
            *(_Follow.of(note, moved[note.path], shelf.folder_of(moved[note.path].path)) for note in shelf.lost
              if note.path in moved),
            *(self._new(version, folder or ".") for version in new),
        ]  # fmt: skip
        linker = _Linker(follows)
        drafts = [*self._pointers(follows, linker), *self._archived(gone, shelf.twice, linker)]
        if not dry_run:
            self._write(drafts)
        concerned = [each for each in follows if each.known is None or shelf.concerns(each.known)]
        return NotesReport(
            added=len(new),
            changed=sum(changed[note.path] is not None for note in again),
            moved=len(moved),
            gone=len(gone) + len(shelf.twice),
            back=len(shelf.back),
            unchanged=sum(each.known is not None and each.version is None for each in concerned),
            forgotten=len(shelf.forgotten),
            links=sum(len(linker.targets(each)) for each in concerned),
            unresolved=sum(linker.unresolved(each) for each in concerned),
            crowded=sum(linker.crowded(each) for each in concerned),
            skipped=tuple(sorted({*self._reader.skipped, *(walked.skipped if walked else ())})),
        )

    def _new_versions(self, shelf: "Shelf", walked: Walked | None, purged: set[str]) -> list[NoteVersion]:
        """Returns the files that have no pointer; if none is to be added, only those that can be a missing note."""
        if walked is None:
            hashes = {note.hash for note in shelf.lost}
            found = self._read(self._candidates(shelf))
            self._reader.skipped.clear()  # of files that were never added
            return [version for version in found if version.hash in hashes]
        taken = []
        for version in self._read([file for file in walked.found if file.path not in shelf.paths]):
            if version.hash in purged and version.size:
                self._reader.skipped.append(SkippedNote(version.path, "it was purged"))
            else:
                taken.append(version)
        return taken

    def _candidates(self, shelf: "Shelf") -> list[FoundFile]:
        """Returns the files of the added folders that could be a missing note elsewhere: those of its size."""
        pointers = [self._pointer(note) for note in shelf.lost]
        sizes = {file.payload.size for file in pointers if file and file.payload}
        walks = (walk(self._folder.root, folder, None) for folder in (sorted(shelf.folders) if sizes else ()))
        found = {file for walked in walks for file in walked.found}
        return sorted(file for file in found if file.size in sizes and file.path not in shelf.paths)

    def _read(self, files: Sequence[FoundFile]) -> list[NoteVersion]:
        versions = []
        for done, file in enumerate(files):
            self._progress(done, len(files))
            versions.append(self._reader.version(file.path))
        self._progress(len(files), len(files))
        return [version for version in versions if version]

    def _new(self, version: NoteVersion, folder: str) -> _Follow:
        file_id = note_id(self._stamp, version.path)
        return _Follow(file_id, version.path, folder, version.note.targets, version=version)

    # The pointers

    def _pointers(self, follows: Iterable[_Follow], linker: "_Linker") -> Iterator[Draft]:
        """Yields the pointers of notes that are new, or have something new to say."""
        for each in follows:
            targets = linker.targets(each)
            if each.known is None and each.version:
                yield Draft(None, new_pointer(each.id, each.folder, each.version, targets, self._stamp))
            elif each.known and (each.version or each.known.is_gone or targets != each.known.linked):
                yield from self._edited(each.known, partial(self._following, each=each, targets=targets))

    def _archived(self, gone: Iterable[KnownNote], twice: Iterable[KnownNote], linker: "_Linker") -> Iterator[Draft]:
        """Yields the pointers whose notes are gone, and those that name a note that another pointer names."""
        reasons = [
            *((note, NOTE_GONE) for note in gone),
            *((note, f"another pointer names the note: {linker.id_of(note.path)}") for note in twice),
        ]
        for note, reason in reasons:
            yield from self._edited(note, partial(archived, at=self._stamp.time, reason=reason))

    def _edited(self, note: KnownNote, change: Callable[[SliceFile], SliceFile]) -> Iterator[Draft]:
        """Yields a pointer as a change leaves it, unless that is as it was."""
        old = self._pointer(note)
        if old is None:
            self._reader.skipped.append(SkippedNote(note.path, "its pointer has just changed"))
            return
        try:
            new = change(old)
            if new.to_bytes() != old.to_bytes():
                new = with_writer(new, self._stamp)
                yield Draft(old, new)
        except SlicebaseError as error:  # as the frontmatter of somebody else can cause
            self._reader.skipped.append(SkippedNote(note.path, f"its pointer cannot be changed: {error.message}"))

    def _pointer(self, note: KnownNote) -> SliceFile | None:
        try:
            file = self._folder.read(note.name)
        except (SlicebaseError, FileNotFoundError):
            return None
        place = note_place(file)
        return file if place and place.path == note.path else None

    def _following(self, file: SliceFile, each: _Follow, targets: Sequence[str]) -> SliceFile:
        file = restored(file)
        if each.version:
            return followed_pointer(file, each.folder, each.version, targets, self._stamp)
        return with_note_links(file, targets)

    # Writing

    def _write(self, drafts: Sequence[Draft]) -> None:
        """Writes the pointers in batches, between which other writers have their turn, and updates the index."""
        for first in range(0, len(drafts), _BATCH):
            with self._folder.writing() as writer:
                for file, error in writer.write_all(drafts[first : first + _BATCH]):
                    self._reader.skipped.append(SkippedNote(file.name, error.message))
        if drafts:
            self._index.ask(lambda connection: None)


def one_at_a_time(workspace: Workspace) -> AbstractContextManager[None]:
    """Holds the lock of the notes: two processes that add the same folder would create every pointer twice."""
    create_local_folder(workspace.root)
    return locked(workspace.notes_lock, _PATIENCE)


def moves(
    versions: Sequence[NoteVersion], lost: Sequence[KnownNote]
) -> tuple[dict[str, NoteVersion], list[NoteVersion]]:
    """Returns which missing notes are which new files, by their old paths, and the new files that are none of them.

    A missing note is where its bytes are. Of several such files, one with the same name is preferred.
    """
    waiting: dict[str | None, list[KnownNote]] = {}
    for note in sorted(lost, key=lambda note: (note.is_gone, note.path)):
        waiting.setdefault(note.hash, []).append(note)
    moved: dict[str, NoteVersion] = {}
    new = list(versions)
    for is_it in (_has_same_name, _has_content):
        rest = []
        for version in new:
            found = next((note for note in waiting.get(version.hash, ()) if is_it(note, version)), None)
            if found is None:
                rest.append(version)
            else:
                waiting[version.hash].remove(found)
                moved[found.path] = version
        new = rest
    return moved, new


def _has_content(note: KnownNote, version: NoteVersion) -> bool:
    """Returns whether a file can be recognised by its bytes: all empty files are the same."""
    return version.size > 0


def _has_same_name(note: KnownNote, version: NoteVersion) -> bool:
    return version.size > 0 and posixpath.basename(note.path) == posixpath.basename(version.path)


class _Linker:
    """Finds the ids that the links of notes lead to."""

    def __init__(self, follows: Sequence[_Follow]) -> None:
        self._ids = {each.path: each.id for each in follows}
        names = NoteNames(NamedNote(each.path, each.folder, each.targets.aliases) for each in follows)
        self._found = {each.path: names.resolved(each.path, each.targets.links) for each in follows}

    def id_of(self, path: str) -> str:
        return self._ids.get(path, "")

    def targets(self, each: _Follow) -> tuple[str, ...]:
        """Returns the ids of the notes that a note links to, in the order of its text, each once."""
        return tuple(self._ids[path] for path in self._found[each.path].paths[:MOST_LINKED])

    def crowded(self, each: _Follow) -> int:
        return len(self._found[each.path].paths[MOST_LINKED:])

    def unresolved(self, each: _Follow) -> int:
        return self._found[each.path].unresolved
