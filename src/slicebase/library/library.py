"""The library: the verbs that write slice files, and `recall`. Each write reads, decides and writes under the lock."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.entries import Stamp
from slicebase.files.body.routine import compile_routine, contract_as_json, read_routine
from slicebase.files.body.write import WriteRequest, refuse_broken, refuse_new_errors, whole_body, with_writer
from slicebase.files.create import archived, contract_from, define, new_file, restored, tombstone
from slicebase.files.links import file_name
from slicebase.files.model import Payload
from slicebase.files.slice_file import SliceFile
from slicebase.index.schema import ReadProgress
from slicebase.library.finder import Finder
from slicebase.library.folder import Logs, SliceFolder
from slicebase.library.links import Linker
from slicebase.library.payloads import new_payload
from slicebase.library.remember import limited, refreshed, remember
from slicebase.workspace.settings import Settings
from slicebase.workspace.workspace import LIBRARY, Workspace

if TYPE_CHECKING:  # start-up time matters: a verb imports what it needs when it is called
    from slicebase.context.recall import Page
    from slicebase.library.recall import Recall, Which
    from slicebase.truth.truth import Truth


class Change(NamedTuple):
    """What a write did: the file as it is now, whether it changed, and the references of what is new."""

    file: SliceFile
    changed: bool = True
    refs: tuple[str, ...] = ()
    overflow: str | None = None

    @property
    def id(self) -> str:
        return self.file.id or ""

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "file": self.file.name,
            "version": self.file.version,
            "changed": self.changed,
            "refs": list(self.refs or (f"file:{self.id}",)),
            "overflow": self.overflow,
        }


class Library(Finder):
    """The slice files of a workspace. Every write takes a stamp: the time, the author, random bytes for new ids."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        truth: "Callable[[], Truth]",
        progress: ReadProgress = lambda done, total: None,
    ) -> None:
        super().__init__(workspace, progress)
        self.settings = settings
        self.folder = SliceFolder(workspace)
        self._logs = Logs(self.folder, self.part_links)
        self._truth = truth
        self._linker = Linker(self.folder, lambda turn: turn in truth().turns.find([turn]))

    # New files

    def create(
        self,
        title: str,
        summary: str,
        stamp: Stamp,
        *,
        body: str = "",
        kind: str | None = None,
        body_type: str | None = None,
        contract: Iterable[str] = (),
        links: Iterable[tuple[str, str]] = (),
        payload: Payload | None = None,
        from_file: Path | None = None,
        copy: bool = False,
        file_id: str | None = None,
    ) -> Change:
        """Creates a file. `from_file` makes it a pointer to a local file, or with `copy` to a copy in the library."""
        file_id = file_id or stamp.file_id
        kind = kind or ("pointer" if from_file or payload else "context")
        body_type = body_type or ("none" if kind == "pointer" else "markdown")
        stored_links = [self._linker.link(file_id, rel, to) for rel, to in links]
        with new_payload(self.folder, from_file, file_id, copy=copy) as local, self.folder.writing() as writer:
            file = new_file(
                id=file_id,
                title=title,
                summary=summary,
                kind=kind,
                body_type=body_type,
                body=whole_body(body_type, body, stamp).file_body if body else b"",
                payload=local or payload,
                contract=contract_from(contract),
                derived_from=self._linker.source(stored_links),
                links=[link for link in stored_links if link.rel != "derived_from"],
                updated_by=stamp.who,
                name=f"{LIBRARY}/{file_name(file_id)}",
            )
            refuse_new_errors(None, file)
            writer.add(file)
        return Change(file)

    # Metadata and links

    def define(
        self, file_id: str, assignments: Iterable[str], stamp: Stamp, *, if_version: str | None = None
    ) -> Change:
        """Sets keys of the frontmatter, each given as `key=value`."""
        return self._edit(file_id, lambda file: define(file, assignments), stamp, if_version)

    def connect(self, file_id: str, rel: str, to: str, stamp: Stamp, *, label: str | None = None) -> Change:
        """Adds a link; a link that exists already stays as it is."""
        return self._edit(file_id, lambda file: self._linker.connected(file, rel, to, label), stamp)

    def disconnect(self, file_id: str, rel: str, to: str, stamp: Stamp, *, dry_run: bool = False) -> Change:
        """Removes a link."""
        return self._edit(file_id, lambda file: self._linker.disconnected(file, rel, to), stamp, dry_run=dry_run)

    # Bodies

    def remember(
        self,
        file_id: str,
        text: str,
        stamp: Stamp,
        *,
        supersedes: Sequence[str] = (),
        section: str | None = None,
        if_version: str | None = None,
    ) -> Change:
        """Writes a text to the body, in the contract's write mode."""
        with self.folder.writing() as writer:
            given = WriteRequest(text, stamp, tuple(supersedes), section)
            done = remember(writer, self._logs, writer.find(file_id, if_version), given, self.settings.overflow_bytes)
        return Change(done.file, True, tuple(f"row:{done.file.id}/{row}" for row in done.rows), done.overflow)

    def contract(self, file_id: str) -> dict[str, Any]:
        """Returns what belongs in a file, what does not, and where the latter goes."""
        return contract_as_json(self.folder.find(file_id), self._linker.title_of)

    def refresh(
        self,
        file_id: str,
        text: str,
        stamp: Stamp,
        *,
        source_hash: str | None = None,
        if_version: str | None = None,
        dry_run: bool = False,
    ) -> Change:
        """Replaces a derived file's body and the recorded hash of its source, in one step."""
        return self._edit(
            file_id,
            lambda file: limited(refreshed(self.folder, file, text, stamp, source_hash), self.settings.overflow_bytes),
            stamp,
            if_version,
            dry_run=dry_run,
        )

    # Reading

    def recall(
        self, refs: Iterable[str], *, now: int, rows: "Which" = "active", tokens: int | None = None, page: int = 1
    ) -> "Page":
        """Returns what references lead to, fenced and labelled for a model; with `tokens`, one page of it."""
        from slicebase.context.recall import pages

        found = pages(self.reader(now, rows).pieces(refs), tokens)
        if not 1 <= page <= len(found):
            raise SlicebaseError("no-page", f"there is no page {page}", hint=f"the pages are 1 to {len(found)}")
        return found[page - 1]

    def reader(self, now: int, rows: "Which" = "active") -> "Recall":
        """Returns a reader that finds what references lead to, piece by piece, as of a time."""
        from slicebase.library.recall import Recall

        return Recall(self.folder, self._logs, self._truth, now, self.settings.freshness_half_life_days, rows)

    def routine(self, file_id: str) -> str:
        """Returns a routine as Markdown to follow. Nothing is executed (ruling 30)."""
        file = self.folder.find(file_id)
        if file.body_type != "routine":
            raise SlicebaseError("write-mode", f"a {file.body_type} body is not a routine", where=Where(file.name))
        steps, findings = read_routine(file.body, file.body_line, file.name)
        refuse_broken(file, findings)
        return compile_routine(file.title or "", file.summary or "", steps, self._linker.title_of)

    # Forgetting

    def forget(self, file_id: str, stamp: Stamp, *, reason: str | None = None, dry_run: bool = False) -> Change:
        """Archives a file in place: search and listings no longer show it, and nothing is lost."""
        return self._edit(file_id, lambda file: archived(file, stamp.time, reason), stamp, dry_run=dry_run)

    def restore(self, file_id: str, stamp: Stamp, *, dry_run: bool = False) -> Change:
        """Restores a file that was forgotten."""
        return self._edit(file_id, restored, stamp, dry_run=dry_run)

    def purge(self, file_id: str, stamp: Stamp, *, reason: str | None = None, dry_run: bool = False) -> Change:
        """Removes the content here, in caches and in what manifests kept. A tombstone keeps its hash and size."""
        from slicebase.library.purge import purge_caches, purge_kept_texts, purge_payload

        with self.folder.writing() as writer:
            old = writer.find(file_id)
            new = old if old.purged else with_writer(tombstone(old, stamp.time, reason), stamp)
            if dry_run:
                return Change(new, not old.purged)
            writer.replace(old, new)
            purge_payload(self.folder, old)
        if self.workspace.database.exists():
            purge_kept_texts(self._truth(), old, stamp.time)
        purge_caches(self.workspace, self.index.database, old.id or "")
        return Change(new, not old.purged)

    # Every change of a file in place

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
