"""Slicebase: the one object that an application holds.

Its methods are the verbs, in the order of the path: import conversations, build a context, replay it, verify
everything. Each verb reads what is stored, calls pure functions, and writes the result. The caller passes the time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from slicebase.core.refs import name_of, ref_of
from slicebase.core.refs import parse as parse_ref
from slicebase.errors import SlicebaseError
from slicebase.verbs.parts import Parts
from slicebase.workspace.workspace import Workspace, create_workspace, open_workspace

if TYPE_CHECKING:  # keeps start-up fast: a verb imports what it needs when it is called
    from slicebase.agents.agent_files import TextChange
    from slicebase.agents.hooks import ClientHooks
    from slicebase.agents.memory_tool import MemoryTool
    from slicebase.context.assemble import RecordedContext
    from slicebase.context.manifest import Manifest, Replayed
    from slicebase.files.body.entries import Stamp
    from slicebase.files.check.file import ValidationReport
    from slicebase.history.account import Account
    from slicebase.history.follow import Followed
    from slicebase.history.imports import ImportProgress
    from slicebase.history.notes import CompactedNotes
    from slicebase.history.transcripts import AgentHome
    from slicebase.index.entries import Filters
    from slicebase.runs.evidence import Evidence
    from slicebase.runs.narrative import Narrative
    from slicebase.verbs.doctor import Complaint
    from slicebase.verbs.evidence import AddedDocument, ChunkTexts
    from slicebase.verbs.graph import Graph
    from slicebase.verbs.lost import Losses
    from slicebase.verbs.purge import PurgedTurns
    from slicebase.verbs.runs import RunVerbs
    from slicebase.verbs.seal import Seal
    from slicebase.verbs.search import SearchResults
    from slicebase.verbs.status import Overview
    from slicebase.verbs.verify import Verdict
    from slicebase.verbs.why import Reason
    from slicebase.workspace.settings import Setting


class Slicebase(Parts):
    """An open workspace, with the verbs that work on it. It is a context manager that closes itself."""

    def __init__(self, workspace: Workspace, *, is_new: bool = False) -> None:
        super().__init__(workspace)
        self.is_new = is_new

    @classmethod
    def init(cls, folder: Path, driver: str | None = None) -> Self:
        """Makes the folder a workspace and opens it; an existing workspace stays as it is.

        `driver` is the command with which git merges slice files (`tt merge-driver %O %A %B %P`).
        """
        base = cls(create_workspace(folder))
        if driver:
            from slicebase.verbs.install import install

            install(base.workspace, driver)
        return base

    def uninit(self, *, delete_data: bool = False, dry_run: bool = False) -> list[str]:
        """Removes what `init` set up, and the database on request; slice files stay. Returns what is removed."""
        from slicebase.verbs.install import uninstall

        self.close()
        return uninstall(self.workspace, delete_data=delete_data, dry_run=dry_run)

    @classmethod
    def open(cls, start: Path, root: Path | None = None, *, create: bool = False) -> Self:
        """Opens the workspace at `root`, or the nearest one from `start` upwards; with `create`, creates a missing one.

        Raises `no-workspace` if there is none and `create` is false.
        """
        try:
            return cls(open_workspace(start, root))
        except SlicebaseError as error:
            if error.code != "no-workspace" or not create:
                raise
            return cls(create_workspace(root or start), is_new=True)

    @cached_property
    def graph(self) -> "Graph":
        """The conversation graph: the stored turns, and context slices around them."""
        from slicebase.verbs.graph import Graph

        return Graph(self)

    @cached_property
    def runs(self) -> "RunVerbs":
        """The verbs of runs."""
        from slicebase.verbs.runs import RunVerbs

        return RunVerbs(self.truth, self.folder)

    @cached_property
    def hooks(self) -> "ClientHooks":
        """Our hooks in the settings of coding agents."""
        from slicebase.agents.hooks import ClientHooks

        return ClientHooks(self.workspace)

    @cached_property
    def memory(self) -> "MemoryTool":
        """The commands of Anthropic's memory tool, over the library."""
        from slicebase.agents.memory_tool import MemoryTool

        return MemoryTool(self.folder)

    @cached_property
    def compacted(self) -> "CompactedNotes":
        """Notes on sessions that were compacted and whose agent does not know yet what was lost."""
        from slicebase.history.notes import CompactedNotes

        return CompactedNotes(self.workspace.cache)

    @cached_property
    def chunks(self) -> "ChunkTexts":
        """The texts of chunks: of references that can be cited."""
        from slicebase.verbs.evidence import ChunkTexts

        return ChunkTexts(self.truth, self.folder)

    def close(self) -> None:
        """Closes the database and the indexes; a later verb opens them again."""
        super().close()
        for part in ("graph", "runs", "chunks"):  # they refer to what was closed
            self.__dict__.pop(part, None)

    # The workspace

    def status(self, now: int) -> "Overview":
        """Returns what the workspace holds, in numbers, and what is wrong with it."""
        from slicebase.verbs.status import overview

        return overview(self.workspace, now, self.settings.freshness_half_life_days)

    def config(self, environment: Mapping[str, str]) -> "list[Setting]":
        """Returns every setting, with the source of its value."""
        from slicebase.workspace.settings import settings_with_sources

        return settings_with_sources(self.workspace.root, environment)

    def set(self, name: str, value: str | None) -> None:
        """Sets one setting in slicebase.toml; None removes it, so that its default applies."""
        from slicebase.workspace.settings import set_setting

        set_setting(self.workspace, name, value)
        for part in ("settings", "library"):
            self.__dict__.pop(part, None)

    def agents_md(self, *, remove: bool = False, dry_run: bool = False) -> "TextChange":
        """Writes or removes a marked block in AGENTS.md that tells agents how to use the memory here."""
        from slicebase.agents.agent_files import keep_block

        return keep_block(self.workspace, remove=remove, dry_run=dry_run)

    def doctor(
        self, driver: str, *, fix: bool = False, home: "AgentHome | None" = None
    ) -> "tuple[list[Complaint], list[Complaint]]":
        """Returns what is wrong and, with `fix`, what was fixed.

        With `home`, transcripts that a coding agent will soon delete are reported too.
        """
        from slicebase.verbs.doctor import examine, fix_all

        found = examine(self.workspace, driver, home)
        fixed = fix_all(found) if fix else []
        return (examine(self.workspace, driver, home) if fixed else found), fixed

    def search(
        self,
        query: str,
        filters: "Filters | None" = None,
        *,
        former_rows: bool = False,
        either: bool = False,
        limit: int = 10,
    ) -> "SearchResults":
        """Finds slice files and turns by their words, best first.

        Filters that only files can match leave turns out.
        """
        from slicebase.verbs.search import search

        return search(self, query, filters, former_rows=former_rows, either=either, limit=limit)

    def validate(self, paths: Sequence[Path] = ()) -> "ValidationReport":
        """Checks files and folders against the format; without paths, the complete library."""
        from slicebase.library.check import validate

        return validate(paths or [self.workspace.library], self.workspace.root)

    # The path

    def import_(
        self,
        paths: Iterable[Path],
        *,
        format_name: str | None = None,
        session: str | None = None,
        redact: bool = True,
        dry_run: bool = False,
        progress: "ImportProgress" = lambda name, count: None,
    ) -> "Account":
        """Imports conversations from files, folders and zips, and returns an account of every record."""
        from slicebase.verbs.imports import import_conversations

        return import_conversations(
            self,
            paths,
            format_name=format_name,
            session=session,
            redact=redact,
            dry_run=dry_run,
            progress=progress,
        )

    def follow(self, transcript: Path) -> "Followed":
        """Imports what was added to a coding agent's transcript since the last call; the index is updated later."""
        from slicebase.history.follow import follow

        return follow(self.truth, self.workspace.cache, transcript)

    def narrate_session(self, session: str, *, now: int) -> "Narrative":
        """Projects a stored session as a run, takes a snapshot of its state, and writes its narrative."""
        from slicebase.verbs.runs import narrate_session

        name = name_of("session", session)
        return narrate_session(self.runs, name, self.truth.turns.session(name).facts.get("shown_last"), now)

    def export(self, session: str, to: Path, *, file_id: str) -> Path:
        """Writes a session as a conversation slice file, whose import gives the same ids and branches."""
        from slicebase.verbs.imports import export

        return export(self, session, to, file_id=file_id)

    def context(
        self,
        question: str,
        *,
        tokens: int,
        now: int,
        turns: int | None = None,
        policy: str | None = None,
        as_of: int | None = None,
        record: bool = True,
        run: str | None = None,
        step: int | None = None,
    ) -> "RecordedContext":
        """Builds a cited context for a question, within a budget, and records the manifest that pins it.

        `as_of` is the point in time that the context describes; `now` is the time at which the manifest is recorded.
        Without `record`, or if the workspace is read-only, nothing is written and the manifest cannot be replayed by
        its id. With `run`, the context begins with the last snapshot of the run, and the manifest is bound to a step
        of the run, by default the next one.
        """
        from slicebase.verbs.contexts import context

        return context(
            self,
            question,
            tokens=tokens,
            now=now,
            turns=turns,
            policy=policy,
            as_of=as_of,
            record=record,
            run=run,
            step=step,
        )

    def context_again(self, manifest: str, *, now: int, record: bool = True) -> "RecordedContext":
        """Asks the question of a manifest again, with the same budget and policy, of what is stored now."""
        from slicebase.context.lost import LOST_RULES
        from slicebase.verbs.newest import NEWEST

        before = self.manifest(manifest)
        if before.ranker == NEWEST:
            return self.project_context(tokens=before.budget.tokens, now=now)
        if before.ranker == LOST_RULES:
            return self.lost_context(before.filters["session"], tokens=before.budget.tokens, now=now)
        from slicebase.verbs.contexts import context_again

        return context_again(self, before, now=now, record=record)

    def project_context(self, *, tokens: int, now: int) -> "RecordedContext":
        """Builds a context of the library's files, the last changed first, for the start of a session."""
        from slicebase.verbs.newest import project_context

        return project_context(self, tokens=tokens, now=now)

    def lost(self, session: str | None = None) -> "Losses":
        """Judges what each compaction of a session kept and lost; by default, of the session compacted last."""
        from slicebase.verbs.lost import lost

        return lost(self, session)

    def lost_everywhere(self) -> "list[Losses]":
        """Judges every session that was compacted, the newest first."""
        from slicebase.verbs.lost import lost_everywhere

        return lost_everywhere(self)

    def lost_in(self, paths: Iterable[Path], progress: "ImportProgress" = lambda name, count: None) -> "Losses":
        """Imports transcripts, then judges the one of their sessions that was compacted last."""
        from slicebase.verbs.lost import lost_in

        return lost_in(self, paths, progress)

    def lost_context(
        self, session: str, *, tokens: int, now: int, as_of: int | None = None, record: bool = True
    ) -> "RecordedContext":
        """Builds a context of what a session's compactions lost, for the next prompt, and records its manifest."""
        from slicebase.verbs.lost import lost_context

        return lost_context(self, session, tokens=tokens, now=now, as_of=as_of, record=record)

    def manifest(self, manifest: str) -> "Manifest":
        """Returns a recorded manifest by its id."""
        return self.truth.manifests.get(ref_of("mf", manifest)).manifest

    def show(self, reference: str) -> dict[str, Any]:
        """Returns what a reference names, as plain values."""
        from slicebase.history.show import SHOWN

        ref = parse_ref(reference)
        if ref.kind not in SHOWN:
            raise SlicebaseError(
                "bad-reference", f"{reference!r} cannot be shown", hint="`tt recall` shows files, rows and sections"
            )
        return {"ref": str(ref), **SHOWN[ref.kind](self.truth, ref.name)}

    def replay(self, manifest: str) -> "Replayed":
        """Renders a recorded context again, byte for byte, from the pieces that its manifest pins; never searches."""
        from slicebase.context.manifest import replayed

        name = ref_of("mf", manifest)
        recorded = self.manifest(name)
        return replayed(name, recorded, *self.truth.manifests.texts_of(name, recorded))

    def purge(self, reference: str, *, now: int, reason: str = "", dry_run: bool = False) -> "PurgedTurns":
        """Deletes the text of a turn, a session or a run permanently; `library.purge` does so for slice files."""
        from slicebase.verbs.purge import purge

        return purge(self, reference, now=now, reason=reason, dry_run=dry_run)

    # Evidence and proofs

    def add(self, path: Path, stamp: "Stamp", *, title: str | None = None, copy: bool = False) -> "AddedDocument":
        """Adds a local text document by a pointer file, in stable chunks that can be cited."""
        from slicebase.verbs.evidence import add_document

        return add_document(self.library, path, stamp, title=title, copy=copy)

    def cite(self, reference: str, *, quote: str | None = None, span: tuple[int, int] | None = None) -> "Evidence":
        """Adds a quote or a span of the text that a reference names to the evidence ledger."""
        from slicebase.verbs.evidence import cite_chunk

        return cite_chunk(self, reference, quote=quote, span=span)

    def why(self, reference: str, *, forward: bool = False) -> "Reason":
        """Returns what a reference rests on, down to the quoted text; with `forward`, what rests on it."""
        from slicebase.verbs.why import Why

        why = Why(self.truth, self.folder, self.chunks)
        return why.forward(reference) if forward else why.backward(reference)

    def seal(self, stamp: "Stamp") -> "Seal":
        """Writes the heads of all runs and sessions, and the versions of all files, to a slice file for git."""
        from slicebase.verbs.seal import seal

        return seal(self.truth, self.folder, stamp.file_id, stamp.time)

    def verify(self, progress: Callable[[str], None] = lambda what: None, *, seal: str | None = None) -> "Verdict":
        """Derives everything stored again and compares; with a seal (`latest` or its id), also compares with that."""
        from slicebase.verbs.verify import verify_workspace

        return verify_workspace(self, progress, seal)
