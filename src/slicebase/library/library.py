"""The library: the verbs that write slice files, and `recall`. Each write reads, decides and writes under the lock."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from slicebase.core.times import Moment, milliseconds
from slicebase.errors import SlicebaseError, Where, refuse_unknown
from slicebase.files.body.entries import Stamp
from slicebase.files.body.routine import compile_routine, contract_as_json, read_routine
from slicebase.files.body.rows import Provenance
from slicebase.files.body.write import WriteRequest, refuse_broken, refuse_new_errors, whole_body, with_writer
from slicebase.files.create import archived, assigned_values, contract_from, define, new_file, restored
from slicebase.files.links import file_name
from slicebase.files.model import Payload
from slicebase.files.slice_file import SliceFile
from slicebase.index.schema import ReadProgress
from slicebase.library.finder import Finder
from slicebase.library.folder import Logs, SliceFolder
from slicebase.library.links import Linker
from slicebase.library.payloads import new_payload
from slicebase.library.remember import limited, refreshed, remember
from slicebase.workspace.doors import door
from slicebase.workspace.surroundings import Surroundings, at_once, one_thread_at_a_time
from slicebase.workspace.workspace import LIBRARY, StrPath, Workspace, given_path

if TYPE_CHECKING:  # start-up time matters: a verb imports what it needs when it is called
    from slicebase.context.recall import Page
    from slicebase.library.purge import PurgeReport
    from slicebase.library.recall import Recall, Which
    from slicebase.truth.truth import Truth


class Change(NamedTuple):
    """What a write did: the file as it is now, whether it changed, and the references of what is new."""

    file: SliceFile
    changed: bool = True
    refs: tuple[str, ...] = ()
    overflow: str | None = None
    redacted: Mapping[str, int] = {}  # secrets that were replaced, by rule
    purge: "PurgeReport | None" = None

    @property
    def id(self) -> str:
        """The id of the file."""
        return self.file.id or ""

    @property
    def ref(self) -> str:
        """The reference of what was written: the first new row, else the file."""
        return self.refs[0] if self.refs else f"file:{self.id}"

    def __repr__(self) -> str:
        return f"Change(ref={self.ref!r}, title={self.file.title!r}, changed={self.changed})"

    def as_json(self) -> dict[str, Any]:
        """Returns the change as the commands print it with `--json`."""
        return {
            "id": self.id,
            "file": self.file.name,
            "version": self.file.version,
            "changed": self.changed,
            "refs": list(self.refs or (f"file:{self.id}",)),
            "overflow": self.overflow,
            "redacted": dict(sorted(self.redacted.items())),
        }


@one_thread_at_a_time
class Library(Finder):
    """The slice files of a workspace, with the verbs that write them.

    Every write takes a `provenance`: who writes, and how it is known. Without one, the settings decide whether the
    write is signed.
    """

    def __init__(
        self,
        workspace: Workspace,
        truth: "Callable[[], Truth]",
        surroundings: Surroundings | None = None,
        progress: ReadProgress = lambda done, total: None,
    ) -> None:
        super().__init__(workspace, surroundings, progress)
        self.folder = SliceFolder(workspace)
        self._logs = Logs(self.folder, self.part_links)
        self._truth = truth
        self._linker = Linker(self.folder, lambda turn: turn in truth().turns.find([turn]))

    # New files

    @door(names="id links", left="type kind contract from_file")
    def create(
        self,
        title: str,
        summary: str,
        *,
        body: str = "",
        type: str | None = None,
        kind: str | None = None,
        contract: Iterable[str] = (),
        links: Iterable[tuple[str, str]] = (),
        payload: Payload | None = None,
        from_file: StrPath | None = None,
        copy: bool = False,
        id: str | None = None,
        provenance: Provenance | None = None,
    ) -> Change:
        """Creates a file. `from_file` makes it a pointer to a local file, or with `copy` to a copy in the library.

        `type` is the type of the body: markdown (the default), jsonl for a log of rows, text, yaml, code, conversation
        or routine.
        """
        stamp = self.stamp(provenance)
        file_id = id or stamp.file_id
        source = given_path(from_file) if from_file is not None else None
        kind = kind or ("pointer" if source or payload else "context")
        body_type = type or ("none" if kind == "pointer" else "markdown")
        stored_links = [self._linker.link(file_id, rel, to) for rel, to in links]
        redaction = self.surroundings.redaction
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
                derived_from=self._linker.source(stored_links),
                links=[link for link in stored_links if link.rel != "derived_from"],
                updated_by=stamp.who,
                name=f"{LIBRARY}/{file_name(file_id)}",
            )
            refuse_new_errors(None, file)
            writer.add(file)
        return Change(file)

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
        return self._edit(file_id, lambda file: define(file, values), self.stamp(provenance), if_version)

    @door(names="rel to", left="file_id")
    def connect(
        self, file_id: str, rel: str, to: str, *, label: str | None = None, provenance: Provenance | None = None
    ) -> Change:
        """Adds a link; a link that exists already stays as it is."""
        stamp = self.stamp(provenance)
        return self._edit(file_id, lambda file: self._linker.connected(file, rel, to, label), stamp)

    def disconnect(
        self, file_id: str, rel: str, to: str, *, dry_run: bool = False, provenance: Provenance | None = None
    ) -> Change:
        """Removes a link."""
        stamp = self.stamp(provenance)
        return self._edit(file_id, lambda file: self._linker.disconnected(file, rel, to), stamp, dry_run=dry_run)

    # Bodies

    @door(left="file_id supersedes if_version")
    def remember(
        self,
        file_id: str,
        text: str,
        *,
        supersedes: str | Sequence[str] = (),
        section: str | None = None,
        if_version: str | None = None,
        provenance: Provenance | None = None,
    ) -> Change:
        """Writes a text to the body, in the contract's write mode. Rows that it supersedes are named by id or ref."""
        rows = (supersedes,) if isinstance(supersedes, str) else supersedes
        given = WriteRequest(text, self.stamp(provenance), tuple(map(_row_id, rows)), section)
        limit = self.surroundings.settings.overflow_bytes
        with self.folder.writing() as writer:
            done = remember(writer, self._logs, writer.find(file_id, if_version), given, limit)
        return Change(done.file, True, tuple(f"row:{done.file.id}/{row}" for row in done.rows), done.overflow)

    def contract(self, file_id: str) -> dict[str, Any]:
        """Returns what belongs in a file, what does not, and where the latter goes."""
        return contract_as_json(self.folder.find(file_id), self._linker.title_of)

    @door(left="file_id source_hash if_version")
    def refresh(
        self,
        file_id: str,
        text: str,
        *,
        source_hash: str | None = None,
        if_version: str | None = None,
        dry_run: bool = False,
        provenance: Provenance | None = None,
    ) -> Change:
        """Replaces a derived file's body and the recorded hash of its source, in one step."""
        stamp, limit = self.stamp(provenance), self.surroundings.settings.overflow_bytes
        return self._edit(
            file_id,
            lambda file: limited(refreshed(self.folder, file, text, stamp, source_hash), limit),
            stamp,
            if_version,
            dry_run=dry_run,
        )

    # Reading

    def recall(
        self, refs: str | Iterable[str], *, rows: "Which" = "active", tokens: int | None = None, page: int = 1
    ) -> "Page":
        """Returns what references lead to, fenced and labelled for a model; with `tokens`, one page of it."""
        from slicebase.context.recall import pages

        named = [refs] if isinstance(refs, str) else refs
        found = pages(self.reader(rows).pieces(named), tokens)
        if not 1 <= page <= len(found):
            raise SlicebaseError("no-page", f"there is no page {page}", hint=f"the pages are 1 to {len(found)}")
        return found[page - 1]

    @at_once
    def reader(self, rows: "Which" = "active", *, as_of: Moment | None = None) -> "Recall":
        """Returns a reader that finds what references lead to, piece by piece, as of a time."""
        from slicebase.library.recall import WHICH, Recall

        refuse_unknown("rows", rows, WHICH)
        now = self.surroundings.now() if as_of is None else milliseconds(as_of)
        half_life = self.surroundings.settings.freshness_half_life_days
        return Recall(self.surroundings, self.folder, self._logs, self._truth, now, half_life, rows)

    def routine(self, file_id: str) -> str:
        """Returns a routine as Markdown to follow. Nothing is executed (ruling 30)."""
        file = self.folder.find(file_id)
        if file.body_type != "routine":
            raise SlicebaseError("write-mode", f"a {file.body_type} body is not a routine", where=Where(file.name))
        steps, findings = read_routine(file.body, file.body_line, file.name)
        refuse_broken(file, findings)
        return compile_routine(file.title or "", file.summary or "", steps, self._linker.title_of)

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
        """Archives a file in place: search and listings no longer show it, and nothing is lost."""
        stamp = self.stamp(provenance)
        return self._edit(file_id, lambda file: archived(file, stamp.time, reason), stamp, dry_run=dry_run)

    def restore(self, file_id: str, *, dry_run: bool = False, provenance: Provenance | None = None) -> Change:
        """Restores a file that was forgotten."""
        return self._edit(file_id, restored, self.stamp(provenance), dry_run=dry_run)

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
            return Change(old if old.purged else purging.tombstone(old, plan), not old.purged, purge=plan.report)
        report = purging.carry_out(make)
        return Change(self.folder.find(old.id or ""), not old.purged, purge=report)

    # Every write, and every change of a file in place

    @door()
    def stamp(self, provenance: Provenance | None = None) -> Stamp:
        """Returns the stamp of a write: the time, random bytes for new ids, and who writes.

        A write is signed if a provenance is given or the settings ask for it; the settings name an unnamed writer.
        """
        settings = self.surroundings.settings
        if provenance is not None or settings.provenance_enabled:
            provenance = provenance or Provenance()
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
                return Change(old, changed=False)
            new = with_writer(new, stamp)
            refuse_new_errors(old, new)
            if not dry_run:
                writer.replace(old, new)
        return Change(new)


def _row_id(given: str) -> str:
    """Returns the id of a row that is given as such or in a reference."""
    return given.rpartition("/")[2] if given.startswith("row:") else given
