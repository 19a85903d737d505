"""The library: the verbs that write slice files. Each reads, decides and writes under the lock."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.entries import Stamp
from slicebase.files.body.overflow import parts_of, whole_of
from slicebase.files.body.rows import Provenance
from slicebase.files.body.write import WriteRequest, whole_body, with_writer
from slicebase.files.create import archived, assigned_values, contract_from, define, meta_from, new_file, restored
from slicebase.files.links import doubts, file_name
from slicebase.files.model import Payload
from slicebase.files.slice_file import SliceFile
from slicebase.library.change import Change
from slicebase.library.folder import FileWrite
from slicebase.library.payloads import measured_again, new_payload, refuse_other_payload, stated_payload, with_payload
from slicebase.library.reader import Reader
from slicebase.library.remember import limited, refreshed, remember, with_passage
from slicebase.workspace.doors import door
from slicebase.workspace.given_paths import given_path
from slicebase.workspace.surroundings import one_thread_at_a_time
from slicebase.workspace.workspace import LIBRARY, StrPath

if TYPE_CHECKING:  # start-up time matters: a verb imports what it needs when it is called
    from slicebase.library.due import DueFile
    from slicebase.library.notes import NoteKeeper, NotesCall, NotesReport


@one_thread_at_a_time
class Library(Reader):
    """The slice files of a workspace, with the verbs that write them.

    Every write takes a `provenance`: who writes, and how it is known. Without one, the settings decide whether the
    write is signed.
    """

    # New files

    @door(names="id links", left="type kind contract from_file meta")
    def create(
        self,
        title: str,
        summary: str,
        *,
        body: str = "",
        type: str | None = None,
        kind: str | None = None,
        contract: Iterable[str] = (),
        meta: Iterable[str] = (),
        links: Iterable[tuple[str, str]] = (),
        payload: Payload | None = None,
        from_file: StrPath | None = None,
        copy: bool = False,
        id: str | None = None,
        provenance: Provenance | None = None,
    ) -> Change:
        """Creates a file. `from_file` makes it a pointer to a local file, or with `copy` to a copy in the library.

        `payload` makes it a pointer to a URI, which is never fetched, with the hash and size that somebody else knows.
        `type` is the type of the body: markdown (the default), jsonl for a log of rows, text, yaml, code, conversation
        or routine. `contract` and `meta` are given as `key=value`, like the assignments of `define`.
        """
        stamp = self.stamp(provenance)
        file_id = stamp.file_id if id is None else id
        source = given_path(from_file) if from_file is not None else None
        kind = kind or ("pointer" if source or payload else "context")
        body_type = type or ("none" if kind == "pointer" else "markdown")
        stored_links = [self._linker.link(file_id, rel, to) for rel, to in links]
        redaction = self.surroundings.redaction
        payload = stated_payload(payload) if payload else None
        with new_payload(self.folder, source, file_id, redaction, copy=copy) as local, self.folder.writing() as writer:
            file = new_file(
                id=file_id,
                title=title,
                summary=summary,
                kind=kind,
                body_type=body_type,
                body=whole_body(body_type, body, stamp).file_body if body else b"",
                payload=local or payload,
                contract=redaction.value(contract_from(contract)),
                meta=meta_from(meta, redaction.value, redaction.refuse),
                derived_from=self._linker.source(stored_links),
                links=[link for link in stored_links if link.rel != "derived_from"],
                updated_by=stamp.who,
                name=f"{LIBRARY}/{file_name(file_id)}",
            )
            writer.add(file)
        return Change(file, file.digest, warnings=doubts(link.rel for link in stored_links))

    # Notes

    @door(left="folder glob")
    def add(
        self,
        folder: StrPath,
        *,
        glob: str | Sequence[str] = (),
        dry_run: bool = False,
        provenance: Provenance | None = None,
    ) -> "NotesReport":
        """Adds the Markdown and text files of a folder in place, each by a pointer, and follows those that are added.

        `glob` is a pattern of names, or several; by default `*.md`, `*.markdown` and `*.txt`.
        """
        from slicebase.library.walk import folder_in, given_globs

        path = folder_in(self.folder.root, folder)
        self.surroundings.redaction.refuse("the path of the folder", path)
        return self._notes(self.stamp(provenance)).add(path, given_globs(glob), dry_run=dry_run)

    @door()
    def refresh_all(self, *, dry_run: bool = False, provenance: Provenance | None = None) -> "NotesReport":
        """Follows all notes that were added: those that changed, moved, went or came back."""
        return self._notes(self.stamp(provenance)).refresh(dry_run=dry_run)

    @door(left="folder glob")
    def create_from(
        self, folder: StrPath, *, glob: str | Sequence[str] = (), provenance: Provenance | None = None
    ) -> "NotesReport":
        """Creates a slice file of each Markdown and text file of a folder, which may be anywhere."""
        from slicebase.library.copies import NoteCopier
        from slicebase.library.walk import given_globs, notes_folder

        return NoteCopier(self._notes_call(self.stamp(provenance))).copy(notes_folder(folder), given_globs(glob))

    def _notes(self, stamp: Stamp) -> "NoteKeeper":
        from slicebase.library.notes import NoteKeeper

        return NoteKeeper(self._notes_call(stamp))

    def _notes_call(self, stamp: Stamp) -> "NotesCall":
        from slicebase.library.notes import NotesCall

        redaction = self.surroundings.redaction
        return NotesCall(self.workspace, self.folder, self.index, redaction, stamp, self.index.progress)

    # Metadata and links

    @door(left="file_id assignments if_version")
    def define(
        self,
        file_id: str,
        assignments: str | Iterable[str],
        *,
        if_version: str | None = None,
        provenance: Provenance | None = None,
    ) -> Change:
        """Sets keys of the frontmatter, each given as `key=value`."""
        given = [assignments] if isinstance(assignments, str) else list(assignments)
        redaction = self.surroundings.redaction
        redaction.refuse("a key", [assignment.partition("=")[0] for assignment in given])
        values = assigned_values(given, redaction.value)
        return self._edit(
            file_id, lambda file: _of_one_type(file, define(file, values)), self.stamp(provenance), if_version
        )

    @door(names="rel to", left="file_id")
    def connect(
        self, file_id: str, rel: str, to: str, *, label: str | None = None, provenance: Provenance | None = None
    ) -> Change:
        """Adds a link; a link that exists already stays as it is. An unknown relationship is a warning (ruling 53)."""
        stamp = self.stamp(provenance)
        change = self._edit(file_id, lambda file: self._linker.connected(file, rel, to, label), stamp)
        return change._replace(warnings=doubts([rel]))

    def disconnect(
        self, file_id: str, rel: str, to: str, *, dry_run: bool = False, provenance: Provenance | None = None
    ) -> Change:
        """Removes a link."""
        stamp = self.stamp(provenance)
        return self._edit(file_id, lambda file: self._linker.disconnected(file, rel, to), stamp, dry_run=dry_run)

    # Bodies

    @door(left="file_id supersedes if_version replace")
    def remember(
        self,
        file_id: str,
        text: str,
        *,
        supersedes: str | Sequence[str] = (),
        section: str | None = None,
        new: bool = False,
        as_text: bool = False,
        replace: str | None = None,
        if_version: str | None = None,
        provenance: Provenance | None = None,
    ) -> Change:
        """Writes a text to the body, in the contract's write mode. Rows that it supersedes are named by id or ref.

        In a log, JSON objects become rows; with `as_text`, also a text that looks like JSON is stored as it is. `new`
        says that a row in write mode supersede is another fact than the row about the same topic.
        With `replace`, the text takes the place of this passage, which must be in the body once; only where the write
        mode is replace.
        """
        if replace is not None:
            if supersedes or section is not None:
                raise SlicebaseError("usage", "a passage is replaced without supersedes and section")
            return self._replace_passage(file_id, replace, text, self.stamp(provenance), if_version)
        rows = (supersedes,) if isinstance(supersedes, str) else supersedes
        given = WriteRequest(text, self.stamp(provenance), tuple(map(_row_id, rows)), section, as_text, new)
        limit = self.surroundings.settings.overflow_bytes
        with self.folder.writing() as writer:
            done = remember(writer, self._logs, writer.find(file_id, if_version), given, limit)
            version = self.folder.version(done.file)
        return Change(done.file, version, True, tuple(f"row:{done.file.id}/{row}" for row in done.rows), done.overflow)

    def _replace_passage(self, file_id: str, old: str, new: str, stamp: Stamp, if_version: str | None) -> Change:
        redaction, limit = self.surroundings.redaction, self.surroundings.settings.overflow_bytes
        passages = (old, redaction.uncounted(old))  # the second is how a secret would be stored
        return self._edit(
            file_id,
            lambda file: limited(with_passage(self._logs, file, passages, new, stamp, redaction.text), limit),
            stamp,
            if_version,
        )

    @door(left="file_id source_hash if_version")
    def refresh(
        self,
        file_id: str,
        text: str | None = None,
        *,
        source_hash: str | None = None,
        if_version: str | None = None,
        dry_run: bool = False,
        provenance: Provenance | None = None,
    ) -> Change:
        """Replaces a derived file's body and the recorded hash of its source, in one step.

        Without a text, measures the local payload of a pointer again, and records its hash and size.
        """
        stamp, limit = self.stamp(provenance), self.surroundings.settings.overflow_bytes
        if text is None:
            change = self._measured(self.folder.find(file_id), stamp)
            return self._edit(file_id, change, stamp, if_version, dry_run=dry_run)
        return self._edit(
            file_id,
            lambda file: limited(refreshed(self.folder, self._logs, file, text, stamp, source_hash), limit),
            stamp,
            if_version,
            dry_run=dry_run,
        )

    def _measured(self, pointer: SliceFile, stamp: Stamp) -> Callable[[SliceFile], SliceFile]:
        """Measures the payload of a pointer, without the lock, since it may take long. Returns the change to make."""
        from slicebase.library.pointers import refreshed_pointer

        payload = measured_again(self.folder, pointer)
        note = self._notes(stamp).version(pointer) if payload != pointer.payload else None

        def change(file: SliceFile) -> SliceFile:
            refuse_other_payload(file, pointer.payload)
            return refreshed_pointer(file, note, stamp) if note else with_payload(file, payload, stamp)

        return change

    # Work that needs a mind

    def due(self, *, everything: bool = False) -> "list[DueFile]":
        """Returns the files whose contracts ask for work now, or whose sources have changed, and why.

        With `everything`, also files whose cleanup rule says nothing that can be compared with a time or a number.
        """
        from slicebase.library.due import due_files

        entries = {entry.id: entry for entry in self.list_files()}
        limit = self.surroundings.settings.overflow_bytes
        now = self.surroundings.now()
        return due_files(self.folder, entries, self.stale(), now, limit, everything=everything)

    def done(self, file_id: str, *, provenance: Provenance | None = None) -> Change:
        """Records that what was due for a file is done now: its periods and ages count from here."""
        from slicebase.library.due import with_done

        stamp = self.stamp(provenance)
        return self._edit(file_id, lambda file: with_done(file, stamp.time), stamp)

    # Forgetting

    @door(left="file_id")
    def forget(
        self,
        file_id: str,
        *,
        reason: str | None = None,
        dry_run: bool = False,
        provenance: Provenance | None = None,
    ) -> Change:
        """Archives a file and its parts in place: search and listings no longer show them, and nothing is lost."""
        stamp = self.stamp(provenance)
        return self._edit_whole(file_id, lambda part, _: archived(part, stamp.time, reason), stamp, dry_run=dry_run)

    def restore(self, file_id: str, *, dry_run: bool = False, provenance: Provenance | None = None) -> Change:
        """Restores a file that was forgotten, with the parts that were forgotten with it."""
        return self._edit_whole(
            file_id,
            lambda part, file: restored(part) if part.archived == file.archived else part,
            self.stamp(provenance),
            dry_run=dry_run,
        )

    @door(left="file_id")
    def purge(
        self,
        file_id: str,
        *,
        reason: str | None = None,
        dry_run: bool = False,
        provenance: Provenance | None = None,
    ) -> Change:
        """Removes the content here, in caches and in what manifests kept. A tombstone keeps its hash and size."""
        from slicebase.library.purge import Order, Purging, order_of_file

        old = self.folder.find(file_id)
        truth = self._truth()
        purging = Purging(self.workspace, self.folder, truth, self.stamp(provenance), reason)

        def make() -> Order:
            return order_of_file(truth, self.folder, self.folder.find(old.id or ""))

        if dry_run:
            plan = purging.plan(make)
            tombstone = old if old.purged else purging.tombstone(old, plan)
            return Change(tombstone, self.folder.version(tombstone), not old.purged, purge=plan.report)
        report = purging.carry_out(make)
        tombstone = self.folder.find(old.id or "")
        return Change(tombstone, self.folder.version(tombstone), not old.purged, purge=report)

    # Every write, and every change of a file in place

    @door()
    def stamp(self, provenance: Provenance | None = None) -> Stamp:
        """Returns the stamp of a write: the time, random bytes for new ids, and who writes.

        A write is signed if a provenance is given or the settings ask for it; the settings name an unnamed writer. If
        they ask for it, what is not given is captured from the environment (§ Provenance).
        """
        settings = self.surroundings.settings
        if settings.provenance_enabled:
            provenance = self.surroundings.writer().signed(provenance or Provenance(), settings.provenance_agent)
        elif provenance is not None:
            provenance = replace(provenance, agent=provenance.agent or settings.provenance_agent)
        return Stamp(self.surroundings.now(), self.surroundings.random_bytes(), provenance)

    def _edit(
        self,
        file_id: str,
        change: Callable[[SliceFile], SliceFile],
        stamp: Stamp,
        if_version: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Change:
        """Changes one file under the lock. Nothing is written if the change has no effect or breaks a rule."""
        with self.folder.writing() as writer:
            old = writer.find(file_id, if_version)
            new = change(old)
            if new.to_bytes() == old.to_bytes():
                return Change(old, self.folder.version(old), changed=False)
            new = with_writer(new, stamp)
            writer.replace(old, new, dry_run=dry_run)
            return Change(new, self.folder.version(new))

    def _edit_whole(
        self, file_id: str, change: Callable[[SliceFile, SliceFile], SliceFile], stamp: Stamp, *, dry_run: bool
    ) -> Change:
        """Changes a file and its parts, each given with the file, under the lock. All are checked before the first."""
        with self.folder.writing() as writer:
            old = writer.find(file_id)
            changes = [(part, change(part, old)) for part in self._logs.whole(old)]
            new = {part: with_writer(part_now, stamp) for part, part_now in changes if part_now is not part}
            writer.write(*(FileWrite(part, part_now) for part, part_now in new.items()), dry_run=dry_run)
            return Change(new.get(old, old), self.folder.version(new.get(old, old), *new.values()), changed=bool(new))


def _row_id(given: str) -> str:
    """Returns the id of a row that is given as such or in a reference."""
    return given.rpartition("/")[2] if given.startswith("row:") else given


def _of_one_type(old: SliceFile, new: SliceFile) -> SliceFile:
    """Returns the new version of a file. Refuses another type for one of several files: its parts would not be read."""
    if new.body_type != old.body_type and (parts_of(old) or whole_of(old)):
        message = f"the file is one of several parts, which are all {old.body_type}"
        raise SlicebaseError("edit-refused", message, hint="create a new file of the other type", where=Where(old.name))
    return new
