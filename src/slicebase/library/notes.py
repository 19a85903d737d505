"""Notes in place: adds the files of a folder as pointers, and follows what changed, moved or went (docs/notes.md).

Everything is read and decided first, then written in batches. The pointers themselves say what was done: an interrupted
call is finished by the next one. The index knows which notes have changed, so a call that finds nothing to do reads
none of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from functools import partial
from typing import Any, Final, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.entries import Stamp
from slicebase.files.body.write import with_writer
from slicebase.files.create import archived, restored
from slicebase.files.note import NOTE_GONE, NoteTargets, note_place
from slicebase.files.note_links import NamedNote, NoteNames
from slicebase.files.slice_file import SliceFile
from slicebase.index.files import FileIndex
from slicebase.index.notes import AtHand, KnownNote, known_notes, purged_hashes
from slicebase.index.schema import ReadProgress
from slicebase.library.folder import SliceFolder
from slicebase.library.note_reader import HelpedReader, NoteReader
from slicebase.library.pointers import (
    MOST_LINKED,
    NOTE_LINK,
    NoteVersion,
    followed_pointer,
    new_pointer,
    note_id,
    with_note_links,
)
from slicebase.library.shelf import Move, Settled, Shelf
from slicebase.library.walk import SkippedNote, Walked, walk
from slicebase.workspace.atomic import locked
from slicebase.workspace.doors import Redaction
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

    @property
    def is_unchanged(self) -> bool:
        return self.known is not None and not self.known.is_gone and self.version is None

    @classmethod
    def of(cls, known: KnownNote, version: NoteVersion | None = None, folder: str | None = None) -> "_Follow":
        if version is None:
            return cls(known.id, known.path, known.folder, known.targets, known)
        return cls(known.id, version.path, folder or known.folder, version.note.targets, known, version)


class Draft(NamedTuple):
    """A pointer to write: the version that was read, None for a new one, and the new version."""

    old: SliceFile | None
    new: SliceFile


class NotesCall(NamedTuple):
    """What a call that adds, follows or copies notes works with: the library, who writes, and who hears of progress."""

    workspace: Workspace
    folder: SliceFolder
    file_index: FileIndex
    redaction: Redaction
    stamp: Stamp
    progress: ReadProgress


class NoteKeeper:
    """Adds and follows the notes of one workspace."""

    def __init__(self, call: NotesCall) -> None:
        self._workspace, self._folder, self._index, redaction, self._stamp, self._progress = call
        self._reader = NoteReader(call.folder.root, redaction)
        self._helped = HelpedReader(call.workspace, self._reader, redaction)
        self._pointers_read: dict[str, SliceFile | None] = {}  # a write is refused if one has changed since

    def add(self, folder: str, globs: Sequence[str], *, dry_run: bool = False) -> NotesReport:
        """Adds the files of a folder that are not there yet, and follows those that are."""
        with self._locked(), closing(self._helped):
            return self._follow(folder, walk(self._folder.root, folder, globs), dry_run=dry_run)

    def refresh(self, *, dry_run: bool = False) -> NotesReport:
        """Follows all notes. Folders are walked through only if notes are missing, to find those that moved."""
        with self._locked(), closing(self._helped):
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
        unknown = self._unknown(shelf, walked)
        changed = self._changed(shelf, unknown)
        settled = Settled.of(shelf, unknown, changed)
        new = [version for version in settled.new if not self._was_purged(version, purged)]
        follows = [
            *(_Follow.of(note, settled.changed.get(note.name)) for note in (*settled.kept, *settled.back)),
            *(_Follow.of(note, version, shelf.folder_of(version.path)) for note, version in settled.moved),
            *(self._new(version, shelf.folder_of(version.path) or ".") for version in new),
        ]
        linker = _Linker(follows)
        drafts = [
            *self._pointers(follows, linker),
            *self._forgotten(settled.forgotten),
            *self._archived(settled.gone, settled.twice, linker),
        ]
        refused = set() if dry_run else self._write(drafts)
        done = {draft.new.id for draft in drafts} - refused
        concerned = [
            each for each in follows if each.id not in refused and (each.known is None or shelf.concerns(each.known))
        ]
        skipped = dict([*(walked.skipped if walked else ()), *self._reader.skipped])
        return NotesReport(
            added=sum(each.known is None and each.id in done for each in follows),
            changed=sum(note.name in settled.changed and note.id in done for note in settled.kept),
            moved=sum(move.note.id in done for move in settled.moved),
            gone=sum(note.id in done for note in (*settled.gone, *settled.twice)),
            back=sum(note.id in done for note in settled.back),
            unchanged=sum(each.is_unchanged and each.path not in skipped for each in concerned),
            forgotten=len(shelf.forgotten),
            links=sum(len(linker.targets(each)) for each in concerned),
            unresolved=sum(linker.unresolved(each) for each in concerned),
            crowded=sum(linker.crowded(each) for each in concerned),
            skipped=tuple(sorted(self._reader.shown(path, reason) for path, reason in skipped.items())),
        )

    def _unknown(self, shelf: Shelf, walked: Walked | None) -> list[NoteVersion]:
        """Returns the files that have no pointer; if none is to be added, only those that can be a note elsewhere."""
        if walked is not None:
            return self._read([file.path for file in walked.found if file.path not in shelf.paths])
        found = self._read(self._candidates(shelf))
        self._reader.skipped.clear()  # of files that were never added
        hashes = {note.hash for note in shelf.movers}
        return [version for version in found if version.hash in hashes]

    def _changed(self, shelf: Shelf, unknown: Sequence[NoteVersion]) -> dict[str, NoteVersion]:
        """Returns, by their paths, the notes that are not what their pointers say, as they are now.

        So are files at the paths of forgotten notes that another note may have become, or that may be another note now.
        """
        hashes = {note.hash for note in shelf.movers}
        notes = [note for note in (*shelf.kept, *shelf.back) if note.problem is None or shelf.concerns(note)]
        notes += [note for note in shelf.forgotten if note.digest in hashes]
        settled = {note.path for note in (*shelf.kept, *shelf.back) if note.digest == note.hash}
        paths = {note.path for note in notes if note.digest != note.hash} - settled
        found = {version.path: version for version in self._read(sorted(paths))}
        hashes = {version.hash for version in (*unknown, *found.values())}
        left = {note.path for note in shelf.forgotten_movers if note.hash in hashes and not note.is_missing}
        more = self._read(sorted(left - settled - found.keys()))
        return found | {version.path: version for version in more}

    def _was_purged(self, version: NoteVersion, purged: set[str]) -> bool:
        was_purged = version.hash in purged and version.size > 0
        if was_purged:
            self._reader.skipped.append(SkippedNote(version.path, "it was purged"))
        return was_purged

    def _candidates(self, shelf: Shelf) -> list[str]:
        """Returns the files of the added folders that could be a note that moved: those of its size."""
        pointers = [self._pointer(note) for note in shelf.movers]
        sizes = {file.payload.size for file in pointers if file and file.payload}
        walks = (walk(self._folder.root, folder, None) for folder in (sorted(shelf.folders) if sizes else ()))
        found = {file for walked in walks for file in walked.found}
        return sorted(file.path for file in found if file.size in sizes and file.path not in shelf.paths)

    def _read(self, paths: Sequence[str]) -> list[NoteVersion]:
        return self._helped.versions(paths, self._progress)

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

    def _forgotten(self, moved: Iterable[Move]) -> Iterator[Draft]:
        """Yields the pointers of notes that somebody forgot, and that moved: they stay forgotten where they are now."""
        for note, version in moved:
            change = partial(followed_pointer, folder=note.folder, version=version, targets=note.linked)
            yield from self._edited(note, partial(change, stamp=self._stamp))

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
        if note.name not in self._pointers_read:
            self._pointers_read[note.name] = self._read_pointer(note)
        return self._pointers_read[note.name]

    def _read_pointer(self, note: KnownNote) -> SliceFile | None:
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

    def _write(self, drafts: Sequence[Draft]) -> set[str | None]:
        """Writes the pointers in batches, between which other writers have their turn, and updates the index.

        Returns the ids of those that were refused.
        """
        refused: set[str | None] = set()
        for first in range(0, len(drafts), _BATCH):
            with self._folder.writing() as writer:
                for file, error in writer.write_all(drafts[first : first + _BATCH]):
                    place = note_place(file)
                    self._reader.skipped.append(SkippedNote(place.path if place else file.name, error.message))
                    refused.add(file.id)
        self._helped.let_end()
        if drafts:
            files = {draft.new.name.rpartition("/")[2]: draft.new for draft in drafts}
            self._index.ask(lambda connection: None, AtHand(files, self._reader.at_hand))
        return refused


def one_at_a_time(workspace: Workspace) -> AbstractContextManager[None]:
    """Holds the lock of the notes: two processes that add the same folder would create every pointer twice."""
    create_local_folder(workspace.root)
    return locked(workspace.notes_lock, _PATIENCE)


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
