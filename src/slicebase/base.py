"""Slicebase: the one object that an application holds.

The verbs stand in the order of the path: bring conversations in, select around a turn, build a context, replay it,
verify everything. Each reads from the store, calls pure functions, and writes the result. The clock travels in.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from slicebase.core.refs import parse as parse_ref
from slicebase.core.times import from_text, to_text
from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.workspace import Workspace, make_workspace, open_workspace

if TYPE_CHECKING:  # start-up counts: a verb imports what it needs when it is called
    from slicebase.agents.agent_files import TextChange
    from slicebase.agents.hooks import ClientHooks
    from slicebase.agents.memory_tool import MemoryTool
    from slicebase.context.assemble import Context
    from slicebase.context.lost import Loss
    from slicebase.context.manifest import Manifest, Replayed
    from slicebase.files.body.entries import Stamp
    from slicebase.files.check.file import ValidationReport
    from slicebase.graph.export import ContextSlice, Difference
    from slicebase.graph.policy import SlicePolicyV1
    from slicebase.graph.record import TurnRecord
    from slicebase.graph.select import Explanation
    from slicebase.graph.turn import Session
    from slicebase.history.account import Account
    from slicebase.history.compactions import CompactedNotes
    from slicebase.history.follow import Followed
    from slicebase.history.imports import Progress
    from slicebase.history.transcripts import AgentHome
    from slicebase.index.entries import Filters
    from slicebase.index.files import Progress as IndexProgress
    from slicebase.index.search import Results
    from slicebase.index.turns import TurnIndex
    from slicebase.library.chunks import LibraryChunks
    from slicebase.library.finder import Finder
    from slicebase.library.library import Library
    from slicebase.runs.evidence import Evidence
    from slicebase.runs.narrative import Narrative
    from slicebase.truth.truth import Truth
    from slicebase.verbs.doctor import Complaint
    from slicebase.verbs.evidence import AddedDocument, ChunkTexts
    from slicebase.verbs.purge import PurgedTurns
    from slicebase.verbs.runs import Running
    from slicebase.verbs.seal import Seal
    from slicebase.verbs.status import Overview
    from slicebase.verbs.verify import Verdict
    from slicebase.verbs.why import Reason
    from slicebase.workspace.settings import Setting, Settings


class Slicebase:
    def __init__(self, workspace: Workspace, *, is_new: bool = False) -> None:
        self.workspace = workspace
        self.is_new = is_new
        self.index_progress: IndexProgress = lambda done, total: None

    @classmethod
    def init(cls, folder: Path, driver: str | None = None) -> Self:
        """Makes the folder a workspace; one that is there already stays as it is.

        `driver` is the command by which git is to merge slice files (`tt merge-driver %O %A %B %P`).
        """
        base = cls(make_workspace(folder))
        if driver:
            from slicebase.verbs.install import install

            install(base.workspace, driver)
        return base

    def uninit(self, *, delete_data: bool = False, dry_run: bool = False) -> list[str]:
        """Takes away what `init` set up, and the database on request; slice files stay. Answers what goes."""
        from slicebase.verbs.install import uninstall

        self.close()
        return uninstall(self.workspace, delete_data=delete_data, dry_run=dry_run)

    @classmethod
    def open(cls, start: Path, root: Path | None = None, *, create: bool = False) -> Self:
        """The workspace at `root`, else the nearest one from `start` upwards, else with `create` a new one."""
        try:
            return cls(open_workspace(start, root))
        except SlicebaseError as error:
            if error.code != "no-workspace" or not create:
                raise
            return cls(make_workspace(root or start), is_new=True)

    @cached_property
    def truth(self) -> "Truth":
        from slicebase.truth.truth import Truth

        return Truth(self.workspace.database, create=True)

    @cached_property
    def turn_index(self) -> "TurnIndex":
        """The full-text index of turns, as it was at its last filling."""
        from slicebase.index.turns import TurnIndex

        return TurnIndex(self.workspace.cache / "turns.db")

    @cached_property
    def library_chunks(self) -> "LibraryChunks":
        """Rows and sections of slice files, as a question finds them."""
        from slicebase.index.turns import TurnIndex
        from slicebase.library.chunks import LibraryChunks

        return LibraryChunks(self.library, TurnIndex(self.workspace.chunks))

    @cached_property
    def settings(self) -> "Settings":
        from slicebase.workspace.settings import load_settings

        return load_settings(self.workspace.root)

    @cached_property
    def finder(self) -> "Finder":
        """The library's verbs that only look: they start quicker than those that write."""
        from slicebase.library.finder import Finder

        return Finder(self.workspace, self.index_progress)

    @cached_property
    def library(self) -> "Library":
        from slicebase.library.library import Library

        return Library(self.workspace, self.settings, lambda: self.truth, self.index_progress)

    @cached_property
    def graph(self) -> "Graph":
        return Graph(self)

    @cached_property
    def runs(self) -> "Running":
        from slicebase.verbs.runs import Running

        return Running(self.truth, self.library.folder)

    @cached_property
    def hooks(self) -> "ClientHooks":
        """Our hooks in the settings of coding agents."""
        from slicebase.agents.hooks import ClientHooks

        return ClientHooks(self.workspace)

    @cached_property
    def memory(self) -> "MemoryTool":
        """The commands of Anthropic's memory tool, over the library."""
        from slicebase.agents.memory_tool import MemoryTool

        return MemoryTool(self.library.folder)

    @cached_property
    def compacted(self) -> "CompactedNotes":
        """Which sessions were compacted and have not been told."""
        from slicebase.history.compactions import CompactedNotes

        return CompactedNotes(self.workspace.cache)

    @cached_property
    def chunks(self) -> "ChunkTexts":
        """What stands behind references that can be cited."""
        from slicebase.verbs.evidence import ChunkTexts

        return ChunkTexts(self.truth, self.library.folder)

    def close(self) -> None:
        for part in ("library_chunks", "turn_index", "truth"):
            if part in self.__dict__:
                self.__dict__.pop(part).close()
        for part in ("graph", "runs", "chunks"):  # they hold what was closed
            self.__dict__.pop(part, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The workspace

    def status(self, now: int) -> "Overview":
        """What is here, in numbers."""
        from slicebase.verbs.status import overview

        return overview(self.workspace, now, self.settings.freshness_half_life_days)

    def config(self, environment: Mapping[str, str]) -> "list[Setting]":
        """Every setting, with where its value comes from."""
        from slicebase.workspace.settings import told_settings

        return told_settings(self.workspace.root, environment)

    def set(self, name: str, value: str | None) -> None:
        """Sets one setting; None takes it out, so that its default holds."""
        from slicebase.workspace.settings import set_setting

        set_setting(self.workspace, name, value)
        for part in ("settings", "library"):
            self.__dict__.pop(part, None)

    def agents_md(self, *, take_away: bool = False, dry_run: bool = False) -> "TextChange":
        """Keeps a marked block in AGENTS.md that tells agents how to use the memory here, or takes it away."""
        from slicebase.agents.agent_files import keep_block

        return keep_block(self.workspace, take_away=take_away, dry_run=dry_run)

    def doctor(
        self, driver: str, *, fix: bool = False, home: "AgentHome | None" = None
    ) -> "tuple[list[Complaint], list[Complaint]]":
        """What is wrong, and what of it was mended; with `home`, also what a coding agent will soon delete."""
        from slicebase.verbs.doctor import examine, mend

        found = examine(self.workspace, driver, home)
        mended = mend(found) if fix else []
        return (examine(self.workspace, driver, home) if mended else found), mended

    def search(
        self,
        query: str,
        filters: "Filters | None" = None,
        *,
        former_rows: bool = False,
        either: bool = False,
        limit: int = 10,
    ) -> "SearchResults":
        """Slice files by their words, best first; and turns, unless filters ask for what only files have."""
        from slicebase.index.entries import EVERY_FILE

        chosen = filters or EVERY_FILE
        files = self.finder.search(query, chosen, former_rows=former_rows, either=either, limit=limit)
        asks_for_files = chosen._replace(archived=False, changed_since=None) != EVERY_FILE
        if asks_for_files or not self.workspace.database.exists():
            return SearchResults(files, [])
        turns = self.graph.search(query, limit)
        since = chosen.changed_since
        return SearchResults(files, [turn for turn in turns if since is None or from_text(turn.record.time) > since])

    def validate(self, paths: Sequence[Path] = ()) -> "ValidationReport":
        """What breaks the rules of the format, in these files and folders or in the whole library."""
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
        progress: "Progress" = lambda name, count: None,
    ) -> "Account":
        """Conversations from files, folders and zips, with an account of what became of every record."""
        from slicebase.history.annotate import Annotator
        from slicebase.history.imports import import_inputs
        from slicebase.history.inputs import inputs
        from slicebase.importers.values import Options
        from slicebase.index.turns import bring_up_to_date

        found = list(inputs(paths))
        database = self.truth.database
        with database.trying() if dry_run else database.bulk():
            account = import_inputs(
                self.truth,
                found,
                Options(session, redact),
                format_name=format_name,
                annotate=Annotator(self.truth),
                progress=progress,
            )
        if not dry_run:
            bring_up_to_date(self.turn_index, self.truth)
        return account

    def follow(self, transcript: Path) -> "Followed":
        """Imports what a coding agent's transcript has gained since the last time; the index takes it in later."""
        from slicebase.history.follow import follow

        return follow(self.truth, self.workspace.cache, transcript)

    def narrate_session(self, session: str, *, now: int) -> "Narrative":
        """A stored session as a run, with a snapshot of where it stands and the narrative of that."""
        from slicebase.verbs.runs import narrate_session

        name = ref_of("session", session).removeprefix("session:")
        return narrate_session(self.runs, name, self.truth.turns.session(name).facts.get("shown_last"), now)

    def export(self, session: str, to: Path, *, file_id: str) -> Path:
        """A session as a conversation slice file, which imports to the same ids and branches."""
        from slicebase.history.show import export_session
        from slicebase.workspace.atomic import write_bytes

        name = ref_of("session", session).removeprefix("session:")
        file = export_session(self.truth, name, file_id)
        if to.exists():
            raise SlicebaseError("conflict", f"{to} is there already", hint="choose another name", where=Where(str(to)))
        write_bytes(to, [file.to_bytes()])
        return to

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
        """A cited context for a question, under a budget, with the manifest that pins it.

        `as_of` is the time that the context speaks from, `now` the time at which the manifest is recorded. Without
        `record`, or where the workspace can only be read, nothing is written, and the manifest cannot be replayed by
        its id. With `run` the context begins with the run's last snapshot, and the manifest is bound to a step of it,
        by default the next.
        """
        from slicebase.truth.manifests import texts_to_keep
        from slicebase.verbs.contexts import Request, build_context

        chosen = self.graph.policy(policy or "focused")
        request = Request(question, tokens, turns, now if as_of is None else as_of, chosen)
        first = self.runs.remembered(run) if run else ()
        built = build_context(self.truth, self.turn_index, self.library_chunks, request, first)
        recorded = record and not self.truth.database.read_only
        if recorded:
            self.truth.policies.keep(chosen)
            self.truth.manifests.record(built.manifest, to_text(now), texts_to_keep(built))
            if run:
                self.runs.bind(run, built.manifest, now=now, step=step)
        return RecordedContext(built, recorded)

    def context_again(self, manifest: str, *, now: int, record: bool = True) -> "RecordedContext":
        """Asks a manifest's question anew, with its budget and policy, of what is stored now."""
        from slicebase.context.lost import RULES as LOST
        from slicebase.verbs.contexts import NEWEST

        before = self.manifest(manifest)
        if before.ranker == NEWEST:
            return self.project_context(tokens=before.budget.tokens, now=now)
        if before.ranker == LOST:
            return self.lost_context(before.filters["session"], tokens=before.budget.tokens, now=now)
        policies = [pinned.policy_params_hash for pinned in before.slices]
        return self.context(
            before.question,
            tokens=before.budget.tokens,
            turns=before.budget.turns,
            policy=policies[0] if policies else None,
            now=now,
            record=record,
        )

    def project_context(self, *, tokens: int, now: int) -> "RecordedContext":
        """What the library holds, the last changed first, as a context for the start of a session."""
        from slicebase.truth.manifests import texts_to_keep
        from slicebase.verbs.contexts import newest_context

        built = newest_context(self.library, tokens, now)
        if built.manifest.pieces:
            self.truth.manifests.record(built.manifest, to_text(now), texts_to_keep(built))
        return RecordedContext(built, bool(built.manifest.pieces))

    def lost(self, session: str | None = None) -> "Losses":
        """What each compaction of a session kept and lost; without one, of the session that was compacted last."""
        from slicebase.context.lost import judge
        from slicebase.history.compactions import compacted_sessions, compactions

        name = ref_of("session", session).removeprefix("session:") if session else None
        name = name or next(iter(compacted_sessions(self.truth)), None)
        return Losses(name, [judge(each) for each in compactions(self.truth, name)] if name else [])

    def lost_everywhere(self) -> "list[Losses]":
        """The same of every session that was compacted, the newest first."""
        from slicebase.history.compactions import compacted_sessions

        return [self.lost(session) for session in compacted_sessions(self.truth)]

    def lost_in(self, paths: Iterable[Path], progress: "Progress" = lambda name, count: None) -> "Losses":
        """The same of transcripts, which are imported first: of the session that was compacted last among theirs."""
        from slicebase.history.compactions import compacted_sessions

        read = self.import_(paths, progress=progress).report.sessions
        newest = next((session for session in compacted_sessions(self.truth) if session in read), None)
        return self.lost(newest or min(read)) if read else Losses(None, [])

    def lost_context(
        self, session: str, *, tokens: int, now: int, as_of: int | None = None, record: bool = True
    ) -> "RecordedContext":
        """What a session's compactions lost as a context for the next prompt, with a manifest like any other."""
        from slicebase.verbs.contexts import lost_context

        found = self.lost(session)
        moment = now if as_of is None else as_of
        built = lost_context(self.truth, str(found.session), found.compactions, tokens, moment)
        recorded = record and bool(built.manifest.pieces)
        if recorded:
            self.truth.manifests.record(built.manifest, to_text(now), {})
        return RecordedContext(built, recorded)

    def manifest(self, manifest: str) -> "Manifest":
        return self.truth.manifests.get(ref_of("mf", manifest)).manifest

    def show(self, reference: str) -> dict[str, Any]:
        """What a reference names, as plain values."""
        from slicebase.history.show import SHOWN

        ref = parse_ref(reference)
        if ref.kind not in SHOWN:
            raise SlicebaseError(
                "bad-reference", f"{reference!r} cannot be shown", hint="`tt recall` shows files, rows and sections"
            )
        return {"ref": str(ref), **SHOWN[ref.kind](self.truth, ref.name)}

    def replay(self, manifest: str) -> "Replayed":
        """The same bytes from the pieces that a manifest pins; never a search."""
        from slicebase.context.manifest import replayed

        name = ref_of("mf", manifest)
        recorded = self.manifest(name)
        return replayed(name, recorded, *self.truth.manifests.texts_of(name, recorded))

    def purge(self, reference: str, *, now: int, reason: str = "", dry_run: bool = False) -> "PurgedTurns":
        """Takes the text of a turn, a session or a run away for good; `library.purge` does it for slice files."""
        from slicebase.verbs.purge import PurgedTurns, purge_run, purge_turns

        ref = parse_ref(reference)
        if ref.kind not in ("turn", "session", "run"):
            raise SlicebaseError("bad-reference", f"{reference!r} names no turn, session or run")
        mark = f"{to_text(now)} {reason}".strip()
        if ref.kind == "run":
            return PurgedTurns(purge_run(self.truth, ref.name, mark, dry_run=dry_run), ())
        return purge_turns(self.truth, self.turn_index, ref, mark, dry_run=dry_run)

    # Evidence: what was cited, and what rests on it

    def add(self, path: Path, stamp: "Stamp", *, title: str | None = None, copy: bool = False) -> "AddedDocument":
        """A local text document, by a pointer file, in stable chunks that can be cited."""
        from slicebase.verbs.evidence import add_document

        return add_document(self.library, path, stamp, title=title, copy=copy)

    def cite(self, reference: str, *, quote: str | None = None, span: tuple[int, int] | None = None) -> "Evidence":
        """Evidence for what stands behind a reference, by quote or span; it goes into the ledger."""
        from slicebase.runs.evidence import cite
        from slicebase.runs.records import Span

        chunk = self.chunks.holding(reference, quote) if quote else self.chunks.chunk(reference)
        evidence = cite(chunk, quote, Span(start=span[0], end=span[1]) if span else None)
        self.truth.ledger.keep(evidence)
        return evidence

    def why(self, reference: str, *, forward: bool = False) -> "Reason":
        """What a reference rests on, down to the text; forward, what rests on it."""
        from slicebase.verbs.why import Why

        why = Why(self.truth, self.library.folder, self.chunks)
        return why.forth(reference) if forward else why.back(reference)

    def seal(self, stamp: "Stamp") -> "Seal":
        """The heads of all that is stored, in a slice file that git can commit."""
        from slicebase.verbs.seal import seal

        return seal(self.truth, self.library.folder, stamp.file_id, stamp.time)

    def verify(self, progress: Callable[[str], None] = lambda what: None, *, seal: str | None = None) -> "Verdict":
        """Re-derives everything stored; with a seal (`latest`, or its id), also compares it with that."""
        from slicebase.verbs.seal import broken_seals, find_seal
        from slicebase.verbs.verify import Finding, verify

        sealed = find_seal(self.library.folder, seal) if seal else None
        verdict = verify(self.truth, self._text_now, progress, self.chunks.look_up)
        against = broken_seals(self.truth, self.library.folder, sealed) if sealed else ()
        return verdict._replace(findings=(*verdict.findings, *(Finding(*problem) for problem in against)))

    def _text_now(self, reference: str) -> str | None:
        """The text of a slice file's part as it is now; None where it is gone or has changed."""
        try:
            return self.library.look(0).pieces([reference])[0].text
        except SlicebaseError:
            return None


class SearchResults(NamedTuple):
    files: "Results"
    turns: "list[TurnView]"


class Losses(NamedTuple):
    """A session's compactions, judged, oldest first; no session where none was compacted."""

    session: str | None
    compactions: "list[Loss]"


class RecordedContext(NamedTuple):
    """A context, and whether its manifest was recorded."""

    context: "Context"
    recorded: bool


class TurnView(NamedTuple):
    """A stored turn as people look at it."""

    record: "TurnRecord"
    text: str | None  # None where it was purged


class Graph:
    """The conversation graph: what is stored, and slices of it."""

    def __init__(self, base: Slicebase) -> None:
        self._base = base
        self._truth = base.truth

    def sessions(self) -> "list[tuple[Session, int]]":
        """Every session with the number of its turns."""
        return list(self._truth.turns.sessions())

    def turns(self, session: str) -> list[TurnView]:
        name = ref_of("session", session).removeprefix("session:")
        self._truth.turns.session(name)  # an unknown session is an error, not an empty one
        return [self._view(stored.record) for stored in self._truth.turns.of_session(name)]

    def turn(self, turn: str) -> TurnView:
        return self._view(self._truth.turns.get(turn_name(turn)).record)

    def search(self, words: str, limit: int) -> list[TurnView]:
        """Turns that hold the words, best first."""
        from slicebase.verbs.contexts import ranked_turns

        if not words.strip():
            raise SlicebaseError("no-words", "there is no word to look for")
        found = ranked_turns(self._truth, self._base.turn_index, words, limit)
        return [self.turn(each.turn) for each in found]

    def _view(self, record: "TurnRecord") -> TurnView:
        from slicebase.graph.record import read_parts
        from slicebase.graph.turn import turn_text

        stored = self._truth.texts.get(f"session:{record.session}", record.content_hash)
        text = turn_text(read_parts(stored.data)) if stored and stored.data is not None else None
        return TurnView(record, text)

    def policy(self, name: str | None = None, assignments: Iterable[str] = ()) -> "SlicePolicyV1":
        """A policy by its name, its hash or the file that holds it, after assignments such as max_nodes=64."""
        from slicebase.graph.policy import DEFAULT, policy_with

        return policy_with(DEFAULT if name is None else self._truth.policies.named(name), assignments)

    def requested_policy(self, value: Any) -> "SlicePolicyV1":
        """What a request means: a name, a hash, an object (whole, or partial over the default), or nothing."""
        from slicebase.graph.policy import PRESETS

        return self._truth.policies.find(value) if isinstance(value, str) else PRESETS.resolve(value)

    def select(self, turn: str, policy: "SlicePolicyV1") -> "ContextSlice":
        """The context slice around a turn: the same graph and policy give the same bytes."""
        self._truth.policies.keep(policy)
        return self._truth.sessions.slice_around(turn_name(turn), policy)

    def explain(self, turn: str, policy: "SlicePolicyV1") -> "Explanation":
        """Why each turn of the slice is in it, and why the best of the others are not."""
        from slicebase.graph.select import explain

        name = turn_name(turn)
        return explain(self._truth.sessions.around(name, policy.max_radius + 1), name, policy)

    def check(self, export: bytes) -> "tuple[Difference, ...]":
        """Derives a stored SliceExport again: what differs, nothing where it is identical."""
        from slicebase.graph.export import compare, read_export

        stored = read_export(export)
        policy = self._truth.policies.find(stored.policy_params_hash)
        return compare(stored, self._truth.sessions.slice_around(stored.anchor_turn_id, policy).contents)


def ref_of(kind: str, text: str) -> str:
    """The whole reference of this kind that a text names, with its prefix or without."""
    ref = parse_ref(text, bare=kind)
    if ref.kind != kind:
        raise SlicebaseError("bad-reference", f"{text!r} is no reference of the kind {kind}")
    return str(ref)


def turn_name(text: str) -> str:
    """A turn's id from a reference or a bare id."""
    return ref_of("turn", text).removeprefix("turn:")
