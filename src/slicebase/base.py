"""Slicebase: the one object that an application holds.

    with Slicebase.open(".") as memory:
        context = memory.context("how are codes compared?", tokens=800)

Its methods are the verbs, in the order of the path. Several threads may use one object: they take turns. A callback
that is passed to a verb runs inside it: it must neither close the object nor wait for another thread.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from slicebase.errors import SlicebaseError
from slicebase.moves.whole import WholeMemory
from slicebase.verbs.names import EVERYTHING, completes, existing
from slicebase.workspace.given_paths import each_path, given_folder, given_path
from slicebase.workspace.surroundings import Clock, Entropy, Surroundings, one_thread_at_a_time, part
from slicebase.workspace.workspace import StrPath, create_workspace, open_workspace

if TYPE_CHECKING:  # keeps start-up fast: a verb imports what it needs when it is called
    from slicebase.agents.agent_files import TextChange
    from slicebase.agents.hooks import ClientHooks
    from slicebase.agents.memory_tool import MemoryTool
    from slicebase.context.assemble import Context
    from slicebase.context.manifest import Manifest, Replayed
    from slicebase.core.times import Moment
    from slicebase.files.body.rows import Provenance
    from slicebase.files.check.file import ValidationReport
    from slicebase.history.account import Account
    from slicebase.history.follow import Followed
    from slicebase.history.imports import ImportProgress
    from slicebase.history.notes import CompactedNotes
    from slicebase.index.entries import Filters
    from slicebase.library.purge import PurgeReport
    from slicebase.runs.evidence import Evidence
    from slicebase.runs.narrative import Narrative
    from slicebase.verbs.doctor import Complaint
    from slicebase.verbs.evidence import AddedDocument, ChunkTexts
    from slicebase.verbs.found import SearchResults
    from slicebase.verbs.graph import Graph
    from slicebase.verbs.lost import Cost, Losses
    from slicebase.verbs.policies import Policies
    from slicebase.verbs.runs import Runs
    from slicebase.verbs.seal import Seal
    from slicebase.verbs.shown import ShownTurns
    from slicebase.verbs.status import Overview
    from slicebase.verbs.verify import Verdict
    from slicebase.verbs.why import Reason
    from slicebase.workspace.settings import Setting


@one_thread_at_a_time
@completes({"session": "session", "manifest": "mf", "run": "run", "reference": EVERYTHING}, new="import_.session")
class Slicebase(WholeMemory):
    """An open workspace, with the verbs that work on it. It is a context manager that closes itself."""

    is_new = False  # whether `open` created the workspace

    @classmethod
    def open(
        cls, start: StrPath = ".", root: StrPath | None = None, *, create: bool = True,
        clock: Clock = time.time, entropy: Entropy = os.urandom, redact: bool = True,
    ) -> Self:  # fmt: skip
        """Opens the workspace at `root`, or the nearest one from `start` upwards; creates a missing one in that folder.

        Not to `create` raises `no-workspace`. `clock` and `entropy` give time and random bytes; `redact` hides secrets.
        """
        begin, is_new = given_folder(start if root is None else root), False
        try:
            workspace = open_workspace(begin, None if root is None else begin)
        except SlicebaseError as error:
            if error.code != "no-workspace" or not create:
                raise
            workspace, is_new = create_workspace(begin), True
        base = cls(workspace, Surroundings(workspace, clock, entropy, redact=redact))
        base.is_new = is_new
        return base

    @classmethod
    def init(
        cls, folder: StrPath = ".", driver: str | None = None, *, adopt: bool = False, join: str | None = None,
        clock: Clock = time.time, entropy: Entropy = os.urandom, redact: bool = True,
    ) -> Self:  # fmt: skip
        """Makes the folder, which may be missing, a workspace and opens it; an existing workspace stays as it is.

        `driver` is git's command to merge slice files, `join` the id of a memory on a server; `adopt` accepts its own.
        """
        workspace = create_workspace(given_path(folder, "cannot-write"), adopt=adopt)
        around = Surroundings(workspace, clock, entropy, redact=redact)
        if driver or adopt or join is not None:
            from slicebase.verbs.install import install

            install(workspace, driver, adopting=around if adopt else None, join=join)
        return cls(workspace, around)

    def uninit(self, *, delete_data: bool = False, dry_run: bool = False) -> list[str]:
        """Removes what `init` set up, and the database on request; slice files stay. Returns what is removed."""
        from slicebase.verbs.install import uninstall

        self.close()
        return uninstall(self.workspace, delete_data=delete_data, dry_run=dry_run)

    def __repr__(self) -> str:
        return f"Slicebase({str(self.workspace.root)!r})"

    # The families of verbs

    @part
    def graph(self) -> "Graph":
        """The conversation graph: the stored turns, and context slices around them."""
        from slicebase.verbs.graph import Graph

        return Graph(self)

    @part
    def policies(self) -> "Policies":
        """The policies of slices, by their names."""
        from slicebase.verbs.policies import Policies

        return Policies(self)

    @part
    def runs(self) -> "Runs":
        """The verbs of runs."""
        from slicebase.verbs.runs import Runs

        return Runs(self)

    @part
    def hooks(self) -> "ClientHooks":
        """Our hooks in the settings of coding agents."""
        from slicebase.agents.hooks import ClientHooks

        return ClientHooks(self.workspace)

    @part
    def memory_tool(self) -> "MemoryTool":
        """The commands of Anthropic's memory tool, over the library."""
        from slicebase.agents.memory_tool import MemoryTool

        return MemoryTool(self.library)

    @part
    def compacted_notes(self) -> "CompactedNotes":
        """Notes on sessions that were compacted and whose agent does not know yet what was lost."""
        from slicebase.history.notes import CompactedNotes

        return CompactedNotes(self.workspace.cache)

    @property
    def chunks(self) -> "ChunkTexts":
        """The texts of chunks: of references that can be cited."""
        from slicebase.verbs.evidence import ChunkTexts

        return ChunkTexts(self)

    # The workspace

    def status(self) -> "Overview":
        """Returns what the workspace holds, in numbers, and what is wrong with it."""
        from slicebase.verbs.status import overview

        return overview(self)

    def config(self, environment: Mapping[str, str] | None = None) -> "list[Setting]":
        """Returns every setting, with the source of its value. `environment` is like `os.environ`."""
        from slicebase.workspace.settings import settings_with_sources

        return settings_with_sources(self.workspace.root, environment or {})

    def set(self, name: str, value: str | float | bool | None) -> None:
        """Sets one setting in slicebase.toml, at once and everywhere; None removes it, so that its default applies."""
        from slicebase.workspace.settings import set_setting

        self.surroundings.redaction.refuse("the value", value)
        set_setting(self.workspace, name, value)

    def agents_md(self, file: str = "AGENTS.md", *, remove: bool = False, dry_run: bool = False) -> "TextChange":
        """Writes or removes a marked block that tells agents how to use the memory here, also in CLAUDE.md and such."""
        from slicebase.agents.agent_files import keep_block

        return keep_block(self.workspace, file, remove=remove, dry_run=dry_run)

    def doctor(
        self, driver: str | None = None, *, fix: bool = False, home: StrPath | None = None
    ) -> "tuple[list[Complaint], list[Complaint]]":
        """Returns what is wrong and, with `fix`, what was fixed.

        `driver` is the command with which git should merge slice files, by default that of this interpreter. With
        `home`, the folder where Claude Code keeps its data, transcripts that it will soon delete are reported too.
        """
        from slicebase.verbs.doctor import doctor

        return doctor(self, driver, fix=fix, home=given_path(home) if home is not None else None)

    def search(
        self,
        query: str,
        filters: "Filters | None" = None,
        *,
        former_rows: bool = False,
        either: bool = False,
        limit: int = 10,
    ) -> "SearchResults":
        """Finds slice files and turns by their words, best first; filters that only files match leave turns out."""
        from slicebase.verbs.search import search

        return search(self, query, filters, former_rows=former_rows, either=either, limit=limit)

    def validate(self, paths: StrPath | Iterable[StrPath] = ()) -> "ValidationReport":
        """Checks files and folders against the format; without paths, the complete library."""
        from slicebase.library.check import validate

        return validate(each_path(paths) or [self.workspace.library], self.root, self.surroundings.redaction)

    # The path

    def import_(
        self,
        paths: StrPath | Iterable[StrPath],
        *,
        format: str | None = None,
        session: str | None = None,
        redact: bool = True,
        dry_run: bool = False,
        progress: "ImportProgress" = lambda name, count: None,
        stdin: Iterable[bytes] | None = None,
    ) -> "Account":
        """Imports files, folders, zips and `stdin`, which the path `-` names; returns an account of every record."""
        from slicebase.verbs.imports import import_conversations

        options: dict[str, Any] = {"session": session, "redact": redact, "dry_run": dry_run, "progress": progress}
        return import_conversations(self, each_path(paths), format_name=format, stdin=stdin, **options)

    def follow(self, transcript: StrPath) -> "Followed":
        """Imports what was added to a coding agent's transcript since the last call; the index is updated later."""
        from slicebase.history.follow import follow

        return follow(self.truth, self.workspace.cache, given_path(transcript), self.surroundings.redaction)

    def narrate_session(self, session: str) -> "Narrative":
        """Projects a stored session as a run, takes a snapshot of its state, and writes its narrative."""
        from slicebase.graph.session import shown_last
        from slicebase.verbs.session_runs import narrate_session

        leaf = shown_last(self.truth.turns.session(session)) or self.truth.turns.last_of(session)
        return narrate_session(self.runs, session, leaf)

    def export(self, session: str, to: StrPath) -> Path:
        """Writes a session as a conversation slice file, whose import gives the same ids and branches."""
        from slicebase.verbs.imports import export

        return export(self, session, given_path(to, "cannot-write"))

    def context(
        self,
        question: str,
        tokens: int = 4000,
        *,
        turns: int | None = None,
        policy: StrPath | None = None,
        as_of: "Moment | None" = None,
        record: bool = True,
        run: str | None = None,
        step: int | None = None,
    ) -> "Context":
        """Builds a cited context for a question, within a budget, and records the manifest that pins it.

        With `as_of`, only turns and rows dated up to that time are taken, and ages and relative dates are counted from
        it, else from now. Without `record`, or if the workspace is read-only, nothing is written and the manifest
        cannot be replayed by its id. With `run`, the context begins with the last snapshot of the run, and the manifest
        is bound to a step of the run, by default the next one.
        """
        from slicebase.verbs.contexts import context

        return context(
            self, question, tokens, turns=turns, policy=policy, as_of=as_of, record=record, run=run, step=step
        )

    def context_again(self, manifest: str, *, record: bool = True) -> "Context":
        """Asks the question of a manifest again, with the same budget and policy, of what is stored now."""
        from slicebase.verbs.again import context_again

        return context_again(self, self.manifest(manifest), record=record)

    def project_context(self, tokens: int = 4000, *, record: bool = True) -> "Context":
        """Builds a context of the library's files, people's own first, for the start of a session."""
        from slicebase.verbs.newest import project_context

        return project_context(self, tokens, record=record)

    def record(self, context: "Context") -> "Context":
        """Records the manifest of a context that was built without recording it, once it is clear that it is used."""
        from slicebase.verbs.record import recorded

        return recorded(self, context)

    def lost(self, session: str | None = None, *, prompt: str | None = None) -> "Losses":
        """Judges what each compaction of a session (default: the last) lost, and what of it a prompt asks for."""
        from slicebase.verbs.lost import lost

        return lost(self, session, prompt=prompt)

    def lost_everywhere(self) -> "list[Losses]":
        """Judges every session that was compacted, the newest first."""
        from slicebase.verbs.lost import lost_everywhere

        return lost_everywhere(self)

    def lost_in(
        self, paths: StrPath | Iterable[StrPath], *, progress: "ImportProgress" = lambda name, count: None
    ) -> "Losses":
        """Imports transcripts, then judges the one of their sessions that was compacted last."""
        from slicebase.verbs.lost import lost_in

        return lost_in(self, each_path(paths), progress)

    def lost_cost(self, session: str | None = None) -> "list[Cost]":
        """Returns what was looked up again after each compaction; by default, of the session compacted last."""
        from slicebase.verbs.lost import lost_cost

        return lost_cost(self, session)

    def lost_context(
        self, session: str | None = None, tokens: int = 4000, *,
        prompt: str | None = None, as_of: "Moment | None" = None, record: bool = True,
    ) -> "Context":  # fmt: skip
        """Builds a context of what compactions lost, if a prompt is given by what it asks; by default, of the last."""
        from slicebase.verbs.lost import lost_context

        return lost_context(self, session, tokens, prompt=prompt, as_of=as_of, record=record)

    def manifest(self, manifest: str) -> "Manifest":
        """Returns a recorded manifest by its id."""
        return self.truth.manifests.get(manifest).manifest

    def show(self, reference: str) -> dict[str, Any]:
        """Returns what a reference names, as plain values."""
        from slicebase.history.show import show

        return show(self.truth, existing(self, reference))

    def replay(self, manifest: str | None = None) -> "Replayed":
        """Renders a recorded context again, byte for byte, from the pieces that its manifest pins; never searches.

        Without a manifest, it is the context that was recorded last.
        """
        from slicebase.context.manifest import replayed

        name = manifest if manifest is not None else self.truth.manifests.newest()
        recorded = self.manifest(name)
        return replayed(name, recorded, *self.truth.manifests.texts_of(name, recorded))

    def purge(self, reference: str, *, reason: str = "", dry_run: bool = False) -> "PurgeReport":
        """Deletes the text of a turn, a session or a run permanently; `library.purge` does so for slice files."""
        from slicebase.verbs.purge import purge

        return purge(self, reference, reason=self.surroundings.redaction.value(reason), dry_run=dry_run)

    # Evidence and proofs

    def add(
        self, path: StrPath, *, title: str | None = None, copy: bool = False, provenance: "Provenance | None" = None
    ) -> "AddedDocument":
        """Adds a local text document by a pointer file, in stable chunks that can be cited."""
        from slicebase.verbs.evidence import add_document

        return add_document(self.library, given_path(path), title=title, copy=copy, provenance=provenance)

    def cite(
        self, reference: str, quote: str | None = None, *,
        span: tuple[int, int] | None = None, within: "bytes | ShownTurns | None" = None,
    ) -> "Evidence":  # fmt: skip
        """Adds a quote or a span of a text to the evidence ledger; `within` a bundle, only what that shows."""
        from slicebase.verbs.cite import cite_chunk

        return cite_chunk(self, reference, quote=quote, span=span, within=within)

    def why(self, reference: str, *, forward: bool = False) -> "Reason":
        """Returns what a reference rests on, down to the quoted text; with `forward`, what rests on it."""
        from slicebase.verbs.why import Why

        why = Why(self.truth, self.folder, self.chunks)
        return why.forward(reference) if forward else why.backward(reference)

    def seal(self) -> "Seal":
        """Writes the heads of all runs and sessions, and the versions of all files, to a slice file for git."""
        from slicebase.verbs.seal import seal

        stamp = self.library.stamp()
        return seal(self.truth, self.folder, stamp.file_id, stamp.time)

    def verify(self, seal: str | None = None, *, progress: Callable[[str], None] = lambda what: None) -> "Verdict":
        """Derives everything stored again and compares; with a seal (`latest` or its id), also compares with that."""
        from slicebase.verbs.verify import verify_workspace

        return verify_workspace(self, progress, seal)
