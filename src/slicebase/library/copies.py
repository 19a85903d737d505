"""Slice files made of notes: each file of a folder becomes a slice file of its own, with its text as the body.

The folder may be anywhere. A file remembers where it was copied from, so that a second call, or one after an
interruption, copies only what is not here yet.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from slicebase.errors import SlicebaseError
from slicebase.files.body.entries import Stamp
from slicebase.files.body.write import whole_body
from slicebase.files.create import new_file
from slicebase.files.links import file_name
from slicebase.files.model import Link
from slicebase.files.note import note_text
from slicebase.files.note_links import NamedNote, NoteNames
from slicebase.files.slice_file import SliceFile
from slicebase.index.files import FileIndex
from slicebase.index.notes import copied_notes
from slicebase.index.schema import ReadProgress
from slicebase.library.folder import SliceFolder
from slicebase.library.notes import NoteReader, NotesReport, one_at_a_time
from slicebase.library.pointers import MOST_LINKED, NoteVersion, moment_of, note_id
from slicebase.library.walk import SkippedNote, walk
from slicebase.workspace.doors import Redaction
from slicebase.workspace.note_files import read_note_bytes
from slicebase.workspace.workspace import LIBRARY, Workspace

SOURCE_KEY: Final = "copied_from"  # of `meta`
_BATCH: Final = 500


class _Copy(NamedTuple):
    id: str
    source: str  # where it was copied from, as the file says
    version: NoteVersion
    links: tuple[str, ...]


class NoteCopier:
    """Copies the notes of one folder into the library."""

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
        self._redaction = redaction
        self._stamp = stamp
        self._progress = progress

    def copy(self, source: Path, globs: Sequence[str]) -> NotesReport:
        """Creates a slice file for each file of a folder that has none yet."""
        with one_at_a_time(self._workspace):
            return self._copy(source, globs)

    def _copy(self, source: Path, globs: Sequence[str]) -> NotesReport:
        walked = walk(source, ".", globs)
        reader = NoteReader(source, self._redaction)
        here = self._index.ask(lambda connection: copied_notes(connection, SOURCE_KEY))
        prefix = self._prefix(source)
        sources = {file.path: f"{prefix}{file.path}" for file in walked.found}
        versions = []
        for done, file in enumerate(walked.found):
            self._progress(done, len(walked.found))
            versions.append(reader.version(file.path))
        self._progress(len(walked.found), len(walked.found))
        found = {version.path: version for version in versions if version}
        ids = {path: here.get(sources[path]) or note_id(self._stamp, sources[path]) for path in found}
        names = NoteNames(NamedNote(path, ".", version.note.targets.aliases) for path, version in found.items())
        copies = []
        unresolved = 0
        for path, version in found.items():
            if sources[path] not in here:
                resolved = names.resolved(path, version.note.targets.links)
                unresolved += resolved.unresolved
                copies.append(_Copy(ids[path], sources[path], version, tuple(ids[to] for to in resolved.paths)))
        self._write(source, copies, reader.skipped)
        return NotesReport(
            added=len(copies),
            unchanged=len(found) - len(copies),
            links=sum(len(each.links[:MOST_LINKED]) for each in copies),
            unresolved=unresolved,
            crowded=sum(len(each.links[MOST_LINKED:]) for each in copies),
            skipped=tuple(sorted({*walked.skipped, *reader.skipped})),
        )

    def _prefix(self, source: Path) -> str:
        """Returns what stands before the path of a file: its folder from the workspace, else the folder's own name."""
        home = os.path.realpath(self._folder.root)
        prefix = source.relative_to(home).as_posix() if source.is_relative_to(home) else source.name
        self._redaction.refuse("the name of the folder", prefix)
        return "" if prefix in (".", "") else f"{prefix}/"

    def _write(self, source: Path, copies: Sequence[_Copy], skipped: list[SkippedNote]) -> None:
        for first in range(0, len(copies), _BATCH):
            files = [self._file(source, each) for each in copies[first : first + _BATCH]]
            with self._folder.writing() as writer:
                for file, error in writer.write_all((None, file) for file in files):
                    skipped.append(SkippedNote(file.name, error.message))
        if copies:
            self._index.ask(lambda connection: None)

    def _file(self, source: Path, each: _Copy) -> SliceFile:
        """Returns the slice file of a note. Its text is read again: those of a large folder do not fit into memory."""
        version = each.version
        data = read_note_bytes(source, version.path)
        if data.digest != version.hash:
            raise SlicebaseError("conflict", f"{version.path} changed while it was read", hint="try again")
        text = self._redaction.uncounted(note_text(data.data))
        body_type = "text" if version.path.lower().endswith(".txt") else "markdown"
        return new_file(
            id=each.id,
            title=version.note.title,
            summary=version.note.summary,
            body_type=body_type,
            body=whole_body(body_type, text, self._stamp).file_body if text else b"",
            links=[Link("see_also", to) for to in each.links[:MOST_LINKED]],
            meta={SOURCE_KEY: each.source},
            updated_at=moment_of(version, self._stamp),
            updated_by=self._stamp.who,
            name=f"{LIBRARY}/{file_name(each.id)}",
        )
