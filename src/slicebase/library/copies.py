"""Slice files made of notes: each file of a folder becomes a slice file of its own, with its text as the body.

The folder may be anywhere. A file remembers where it was copied from, and the hash of the bytes there, so that a second
call, or one after an interruption, copies only what is not here yet. A note counts as copied only if its bytes were.

The files link to each other, also to those that are written later. A call that is interrupted has promised these ids,
so the next one gives them to the same notes.
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from slicebase.core.hashing import raw_digest
from slicebase.core.ids import ULID_RANDOM_BYTES, ulid
from slicebase.errors import SlicebaseError
from slicebase.files.body.write import whole_body
from slicebase.files.create import new_file
from slicebase.files.links import file_name
from slicebase.files.model import Link
from slicebase.files.note_links import NamedNote, NoteNames
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import delete_key, set_key
from slicebase.index.notes import CopiedNote, NotesAtHand, copied_notes, missing_targets
from slicebase.library.note_reader import NoteReader
from slicebase.library.notes import NotesCall, NotesReport, one_at_a_time
from slicebase.library.pointers import MOST_LINKED, NoteVersion, moment_of
from slicebase.library.walk import SkippedNote, walk
from slicebase.workspace.boundary import real_path
from slicebase.workspace.note_files import read_note_bytes
from slicebase.workspace.workspace import LIBRARY

# Keys of `meta`: the path of the note, the hash of its bytes, and which folder it was, since two may have one name.
SOURCE_KEY: Final = "copied_from"
HASH_KEY: Final = "copied_hash"
FOLDER_KEY: Final = "copied_folder"
_CHANGED: Final = "it has changed since it was copied"
_MARK: Final = 16  # digits
_BATCH: Final = 500
_TIME: Final = 10  # characters of an id


class _Source(NamedTuple):
    """A folder of notes: where it is, which one it is, and what stands before the path of a note in `copied_from`."""

    path: Path
    mark: str
    prefix: str


class _Copies:
    """The copies that are here, by where they come from."""

    def __init__(self, copies: Iterable[CopiedNote]) -> None:
        self._copies: dict[str, list[CopiedNote]] = {}
        for copy in copies:
            self._copies.setdefault(copy.source, []).append(copy)

    def of(self, source: str, mark: str, digest: str) -> CopiedNote | None:
        """Returns the copy of a note: one of the same bytes, else one of an older version of the same file."""
        here = self._copies.get(source, [])
        same = [copy for copy in here if copy.hash == digest]
        return next(iter([*same, *(copy for copy in here if copy.folder == mark)]), None)

    def from_folder(self, mark: str) -> list[str]:
        """Returns the ids of all copies from a folder, also of notes that have gone."""
        return [copy.id for copies in self._copies.values() for copy in copies if copy.folder == mark]


class _Copy(NamedTuple):
    id: str
    source: str  # where it was copied from, as the file says
    version: NoteVersion
    links: tuple[str, ...]


class _Promised:
    """The ids that an interrupted call has chosen, and that its files link to; no file has them yet."""

    def __init__(self, links: Iterable[tuple[str, str]], source: _Source) -> None:
        self._mark = source.mark
        self._links = [*links]
        self._ids = {to[_TIME:]: to for _, to in self._links}

    def id_of(self, path: str, now: int) -> str:
        """Returns the id of the file for a note: the promised one, or one of this time. Each path has its own."""
        new = ulid(now, raw_digest(f"{self._mark} {path}".encode())[:ULID_RANDOM_BYTES])
        return self._ids.get(new[_TIME:], new)

    def broken(self, written: Collection[str], copied: Iterable[str]) -> dict[str, set[str]]:
        """Returns the links to what still is not there, by the file that has them: the notes have gone.

        Only ids of the same times as those of copies count: other links are those of people.
        """
        found: dict[str, set[str]] = {}
        times = {name[:_TIME] for name in (*written, *copied)}
        for file, to in self._links:
            if to not in written and to[:_TIME] in times:
                found.setdefault(file, set()).add(to)
        return found


class NoteCopier:
    """Copies the notes of one folder into the library."""

    def __init__(self, call: NotesCall) -> None:
        self._workspace, self._folder, self._index, self._redaction, self._stamp, self._progress = call

    def copy(self, source: Path, globs: Sequence[str]) -> NotesReport:
        """Creates a slice file for each file of a folder that has none yet."""
        with one_at_a_time(self._workspace):
            return self._copy(source, globs)

    def _copy(self, folder: Path, globs: Sequence[str]) -> NotesReport:
        walked = walk(folder, ".", globs)
        reader = NoteReader(folder, self._redaction)
        here = _Copies(self._index.ask(lambda connection: copied_notes(connection, SOURCE_KEY, HASH_KEY, FOLDER_KEY)))
        source = self._source(folder)
        versions = reader.versions([file.path for file in walked.found], self._progress)
        found = {version.path: version for version in versions}
        known = {path: here.of(source.prefix + path, source.mark, version.hash) for path, version in found.items()}
        missing = self._index.ask_again(lambda connection: missing_targets(connection, FOLDER_KEY, source.mark))
        promised = _Promised(missing, source)
        ids = {path: copy.id if copy else promised.id_of(path, self._stamp.now) for path, copy in known.items()}
        names = NoteNames(NamedNote(path, ".", version.note.targets.aliases) for path, version in found.items())
        copies = []
        unchanged = unresolved = 0
        for path, version in found.items():
            copy = known[path]
            if copy is None:
                resolved = names.resolved(path, version.note.targets.links)
                unresolved += resolved.unresolved
                copies.append(_Copy(ids[path], source.prefix + path, version, tuple(ids[to] for to in resolved.paths)))
            elif copy.hash == version.hash:
                unchanged += 1
            else:
                reader.skipped.append(SkippedNote(path, _CHANGED))
        refused = self._write(source, copies, reader)
        written = [each for each in copies if each.id not in refused]
        self._unlink(
            {
                **promised.broken({each.id for each in written}, here.from_folder(source.mark)),
                **{each.id: {*each.links[:MOST_LINKED]} & refused.keys() for each in written},
            }
        )
        if copies:
            self._index.ask(lambda connection: None)
        return NotesReport(
            added=len(written),
            unchanged=unchanged,
            links=sum(to not in refused for each in written for to in each.links[:MOST_LINKED]),
            unresolved=unresolved,
            crowded=sum(len(each.links[MOST_LINKED:]) for each in written),
            skipped=tuple(sorted(reader.shown(*each) for each in {*walked.skipped, *reader.skipped})),
        )

    def _source(self, folder: Path) -> _Source:
        """Returns what is to be said of a folder: its path from the workspace or, of one outside, only its own name.

        The path of a folder outside is of this machine, and nobody else's business: its hash tells which one it is.
        """
        home = real_path(self._folder.root)
        inside = folder.is_relative_to(home)
        prefix = folder.relative_to(home).as_posix() if inside else folder.name
        self._redaction.refuse("the name of the folder", prefix)
        mark = raw_digest(os.fsencode(prefix if inside else folder)).hex()[:_MARK]
        return _Source(folder, mark, "" if prefix in (".", "") else f"{prefix}/")

    def _write(self, source: _Source, copies: Sequence[_Copy], reader: NoteReader) -> dict[str, str]:
        """Writes the files in batches. Returns the ids of those that could not be written, with the reasons."""
        refused: dict[str, str] = {}
        for first in range(0, len(copies), _BATCH):
            files = []
            for each in copies[first : first + _BATCH]:
                try:
                    files.append(self._file(source, each, reader.at_hand))
                except SlicebaseError as error:  # the note changed or went since it was read first
                    refused[each.id] = error.message
            with self._folder.writing() as writer:
                unwritten = writer.write_all((None, file) for file in files)
            refused |= {file.id or "": error.message for file, error in unwritten}
        reader.skipped += [SkippedNote(each.version.path, refused[each.id]) for each in copies if each.id in refused]
        return refused

    def _unlink(self, broken: Mapping[str, Collection[str]]) -> None:
        """Removes links to files that could not be written, given by the ids of the files that have them."""
        drafts: list[tuple[SliceFile, SliceFile]] = []
        for file_id, targets in broken.items():
            old = self._folder.readable(file_id) if targets else None
            if old:
                left = [link for link in old.links if link.to not in targets]
                drafts.append((old, set_key(old, "slice.links", left) if left else delete_key(old, "slice.links")))
        if drafts:
            with self._folder.writing() as writer:
                writer.write_all(drafts)

    def _file(self, source: _Source, each: _Copy, at_hand: NotesAtHand) -> SliceFile:
        """Returns the slice file of a note. Its bytes are read again: the note may have changed."""
        version = each.version
        data = read_note_bytes(source.path, version.path)
        if data.digest != version.hash:
            raise SlicebaseError("conflict", f"{version.path} changed while it was read", hint="try again")
        text = at_hand.of(data, self._redaction).text
        body_type = "text" if version.path.lower().endswith(".txt") else "markdown"
        return new_file(
            id=each.id,
            title=version.note.title,
            summary=version.note.summary,
            body_type=body_type,
            body=whole_body(body_type, text, self._stamp).file_body if text else b"",
            links=[Link("see_also", to) for to in each.links[:MOST_LINKED]],
            meta={SOURCE_KEY: each.source, HASH_KEY: version.hash, FOLDER_KEY: source.mark},
            updated_at=moment_of(version, self._stamp),
            updated_by=self._stamp.who,
            name=f"{LIBRARY}/{file_name(each.id)}",
        )
