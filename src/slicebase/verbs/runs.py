"""The verbs of runs (`memory.runs`): start a run, log what happens in it, compact it, read it.

A step of an agent is a `with` block (`Step`), and the calls of its tools can be recorded (`Recorder`).
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from slicebase.context.assemble import Context
from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.runs.event import Event, EventDraft, draft_of
from slicebase.runs.gate import DEFAULT_THRESHOLDS, Thresholds
from slicebase.runs.items import Items, free_id, logged_item
from slicebase.runs.narrative import NARRATIVE_TOKENS, Narrative, narrate
from slicebase.runs.records import (
    DEFAULT_PROVENANCE_MODE,
    ClaimLogged,
    ClaimStatus,
    ConflictLogged,
    DoneDefinition,
    FailureLogged,
    Pointer,
    QuestionLogged,
    RunStarted,
    StepAt,
    StopReason,
)
from slicebase.runs.snapshot import from_bytes, to_bytes
from slicebase.runs.state import Json
from slicebase.runs.status import RunEntry, RunStatus, RunTally, measure, status_of
from slicebase.truth.runs import NO_BLOBS, Logged, StoredRuns
from slicebase.verbs.evidence import ChunkTexts, Cites, cited
from slicebase.verbs.names import claim_id, completes
from slicebase.verbs.narrate import bind, keep_narrative, last_narrated
from slicebase.verbs.parts import Parts
from slicebase.workspace.doors import door
from slicebase.workspace.surroundings import at_once, one_thread_at_a_time
from slicebase.workspace.workspace import StrPath

if TYPE_CHECKING:  # keeps start-up fast: the commands need neither
    from slicebase.history.imports import ImportProgress
    from slicebase.verbs.recorder import Recorder
    from slicebase.verbs.run_files import FileRun
    from slicebase.verbs.step import Step

Compact = bool | Thresholds  # whether a run is compacted when that is due, by the settings or by these thresholds


@one_thread_at_a_time
@completes(
    {"run_id": "run", "session": "session", "leaf": "turn", "snapshot.run_id": ("run", "sn")},
    new="start.run_id from_session.run_id from_file.run_id from_file.session from_file.leaf",
)
class Runs:
    """The runs of a workspace."""

    def __init__(self, parts: Parts) -> None:
        self.surroundings = parts.surroundings
        self._parts = parts

    def __repr__(self) -> str:
        return f"Runs({str(self._parts.root)!r})"

    @property
    def _stored(self) -> StoredRuns:
        stored = self._parts.truth.runs
        stored.look_up = ChunkTexts(self._parts).look_up  # the gate marks cited text that has changed
        return stored

    @property
    def _now(self) -> int:
        return self.surroundings.now()

    def _thresholds(self, compact: Compact) -> Thresholds | None:
        if isinstance(compact, Thresholds):
            return compact
        if not compact:
            return None
        settings = self.surroundings.settings
        return Thresholds(counted_events=settings.compaction_events, steps=settings.compaction_steps)

    # Starting a run

    @door(names="run_id")
    def start(
        self,
        run_id: str,
        objective: str,
        done: DoneDefinition,
        *,
        budgets: Mapping[str, float] | None = None,
        provenance_mode: str = DEFAULT_PROVENANCE_MODE,
    ) -> RunTally:
        """Starts a run. Its objective and its done definition, a text or an object, never change.

        `budgets` limits it: max_steps, max_seconds, max_cost.
        """
        if budgets and done and isinstance(done, str | dict):
            done = {**(done if isinstance(done, dict) else {"text": done}), "budgets": dict(budgets)}
        terms = RunStarted(objective=objective, done_definition=done, provenance_mode=provenance_mode, forked_from=None)
        return self._stored.start(run_id, terms, self._now)

    @door(names="new_run_id", left="run_id")
    def fork(self, run_id: str, new_run_id: str) -> RunTally:
        """Starts a run that continues from the last snapshot of another run that passed."""
        return self._stored.fork(run_id, new_run_id, self._now)

    @door(names="run_id", left="session leaf")
    def from_session(
        self,
        session: str,
        run_id: str | None = None,
        *,
        leaf: str | None = None,
        objective: str | None = None,
        done: DoneDefinition | None = None,
        step_at: StepAt | None = None,
        compact: Compact = False,
    ) -> Logged:
        """Projects a stored conversation as a run; to an existing run it adds what is new in the conversation.

        By default a step is a call in a trajectory, and a prompt elsewhere.
        """
        from slicebase.verbs.session_runs import project_session, run_of  # start-up counts

        name, limits = run_id or run_of(session), self._thresholds(compact)
        return project_session(self._parts, self._stored, name, session, leaf, (objective, done), step_at, limits)

    @door(names="run_id session", left="path leaf")
    def from_file(
        self,
        path: StrPath,
        run_id: str | None = None,
        *,
        session: str | None = None,
        leaf: str | None = None,
        objective: str | None = None,
        done: DoneDefinition | None = None,
        compact: Compact = False,
        progress: "ImportProgress" = lambda name, count: None,
    ) -> "FileRun":
        """Imports a file and projects its conversation as a run, up to the last turn in the file.

        `session` names the session of a file that names none. Raises `session-differs` if the file is not what is
        stored there.
        """
        from slicebase.verbs.run_files import FileRun, import_one

        found = import_one(self._parts, Path(path), session=session, progress=progress)
        logged = self.from_session(
            found.session,
            run_id,
            leaf=leaf or found.last_turn,
            objective=objective,
            done=done,
            step_at=found.step_at,
            compact=compact,
        )
        return FileRun(found.session, found.account, logged)

    # Logging

    @door(left="run_id blobs")
    def log(
        self,
        run_id: str,
        events: Iterable[EventDraft | Mapping[str, Any]],
        *,
        compact: Compact = False,
        blobs: Mapping[str, bytes] = NO_BLOBS,
    ) -> Logged:
        """Logs events as an agent sends them; the gate refuses bad ones at the next compaction, not here.

        An event is an object with a type and, as needed, a step, a time and a payload. `blobs` is content that the
        payloads name by its hash.
        """
        drafts = [event if isinstance(event, EventDraft) else draft_of(event) for event in events]
        for name, data in blobs.items():
            self.surroundings.redaction.refuse(f"the content {name}", data)
            if digest(data) != name:
                raise SlicebaseError("bad-event", f"the content named {name} has another hash", hint=digest(data))
        return self._stored.append(run_id, drafts, self._now, self._thresholds(compact), blobs)

    @door(names="id", left="run_id cite")
    def claim(
        self,
        run_id: str,
        statement: str | None = None,
        *,
        id: str | None = None,
        status: ClaimStatus | None = None,
        cite: Cites = (),
        step: int | None = None,
    ) -> Logged:
        """Logs a claim or a new statement of one; without a statement, changes the status of an existing claim.

        A claim is a candidate until its status is given. A verified one needs something to cite.
        """
        id = claim_id(self._parts, run_id, id, is_new=statement is not None)
        pointers = self._pointers(run_id, cite)

        def changed(items: Items) -> EventDraft:
            before = logged_item(items, "CLAIM", id)
            payload = {**before, "status": status or before["status"]}
            if pointers:
                payload["evidence_refs"] = msgspec.to_builtins(pointers)
            return EventDraft(type="CLAIM", step=step, payload=payload)

        def stated(items: Items) -> EventDraft:
            name = free_id(items, "CLAIM", "c") if id is None else id
            claim = ClaimLogged(
                claim_id=name, statement=str(statement), status=status or "candidate", evidence_refs=pointers
            )
            return EventDraft.of("CLAIM", claim, step=step)

        return self._append(run_id, changed if statement is None else stated)

    @door(names="id", left="run_id a b")
    def conflict(
        self,
        run_id: str,
        description: str | None = None,
        *,
        id: str | None = None,
        a: Cites = (),
        b: Cites = (),
        step: int | None = None,
    ) -> Logged:
        """Logs a conflict between two sides of evidence; without a description, resolves the conflict with this id."""
        if description is None:
            return self._resolve(run_id, "CONFLICT", id)
        one, other = self._pointers(run_id, a), self._pointers(run_id, b)

        def stated(items: Items) -> EventDraft:
            name = free_id(items, "CONFLICT", "x") if id is None else id
            conflict = ConflictLogged(conflict_id=name, description=description, side_a_refs=one, side_b_refs=other)
            return EventDraft.of("CONFLICT", conflict, step=step)

        return self._append(run_id, stated)

    @door(names="id", left="run_id")
    def failure(
        self,
        run_id: str,
        why: str = "",
        *,
        category: str = "error",
        where: str = "",
        id: str | None = None,
        resolve: bool = False,
        step: int | None = None,
    ) -> Logged:
        """Logs a failure; with `resolve`, resolves the failure with this id."""
        if resolve:
            return self._resolve(run_id, "FAILURE", id)

        def stated(items: Items) -> EventDraft:
            name = free_id(items, "FAILURE", "f") if id is None else id
            failure = FailureLogged(failure_id=name, category=category, where=where, why=why)
            return EventDraft.of("FAILURE", failure, step=step)

        return self._append(run_id, stated)

    @door(left="run_id")
    def question(self, run_id: str, text: str, *, close: bool = False, step: int | None = None) -> Logged:
        """Logs an open question, or closes it."""
        question = QuestionLogged(question=text, status="closed" if close else "open")

        def stated(items: Items) -> EventDraft:
            if close and text not in items.state("QUESTION", text).open_questions:
                message = f"run:{run_id} has no open question {text!r}"
                raise SlicebaseError("no-item", message, hint="`tt run status` shows the open questions")
            return EventDraft.of("QUESTION", question, step=step)

        return self._append(run_id, stated)

    def bind(self, run_id: str, context: Context, *, step: int | None = None) -> Logged:
        """Logs the context that was given to the model in a step, by default the next one."""
        return bind(self._parts, run_id, context, step)

    def _append(self, run_id: str, make: Callable[[Items], EventDraft]) -> Logged:
        return self._stored.append_checked(run_id, make, self._now)

    def _resolve(self, run_id: str, type_: str, item_id: str | None) -> Logged:
        def resolved(items: Items) -> EventDraft:
            return EventDraft(type=type_, payload={**logged_item(items, type_, item_id), "status": "resolved"})

        return self._append(run_id, resolved)

    def _pointers(self, run_id: str, cites: Cites) -> tuple[Pointer, ...]:
        """Returns the pointers of what is cited; a quote is added to the ledger, unless the run is closed."""
        self._stored.check_open(run_id)
        return tuple(evidence.pointer for evidence in cited(self._parts, cites))

    # Compacting and stopping

    def compact(self, run_id: str) -> Logged:
        """Takes a snapshot; stops the run if the snapshot does not pass its checks."""
        return self._stored.compact(run_id, self._now)

    @door(left="run_id")
    def stop(self, run_id: str, reason: StopReason = "OBJECTIVE_ACHIEVED", *, message: str = "") -> Logged:
        """Takes a last snapshot and closes a run."""
        interrupted = self._parts.truth.steps.settle(run_id, self._now)
        return self._stored.stop(run_id, reason, message, self._now)._replace(interrupted_steps=interrupted)

    # Reading

    def list_runs(self) -> list[RunEntry]:
        """Returns every run with its terms, or why they cannot be shown, the last changed first."""
        return [self._stored.entry(tally) for tally in list(self._stored.log.tallies())]

    def has_snapshot(self, run_id: str) -> bool:
        """Returns whether a snapshot of the run has passed."""
        return self._stored.latest(run_id) is not None

    def snapshot(self, run_id: str, sequence: int | None = None) -> dict[str, Json]:
        """Returns a snapshot by its id, or by its run and number (by default, the last that passed)."""
        if run_id.startswith("sn_"):
            return self._stored.snapshots.find(run_id).snapshot
        run_id = run_id.removeprefix("run:")
        if sequence is not None:
            return self._stored.snapshots.get(run_id, sequence).snapshot
        latest = self._stored.latest(run_id)
        if latest is None:
            message = f"run:{run_id} has no snapshot that passed"
            raise SlicebaseError("no-snapshot", message, hint="`tt run compact` takes one")
        return from_bytes(to_bytes(latest.snapshot))  # a copy: what passed stays as it is, whatever the caller does

    def status(self, run_id: str, thresholds: Thresholds | None = None) -> RunStatus:
        """Returns the state of a run, and the figures that would justify other thresholds.

        Steps that nobody holds any more are closed as failures first, where the workspace can be written.
        """
        interrupted = self._parts.truth.steps.settle(run_id, self._now)
        limits = thresholds or self._thresholds(True) or DEFAULT_THRESHOLDS
        with self._parts.truth.database.reading():  # all figures are of one moment
            tally = self._stored.log.tally(run_id)
            state, metrics = self._stored.state(run_id), measure(self._stored.events(run_id))
            return status_of(tally, self._stored.log.started(run_id), state, metrics, limits, interrupted)

    def narrative(self, run_id: str, *, write: bool = True, tokens: int | None = None) -> Narrative:
        """Returns the narrative of a run's last snapshot that passed, and writes it as a slice file.

        A stored narrative has one size for all. With `tokens`, it has another one, and is not written.
        """
        folder = self._parts.folder
        with folder.writing() if write and tokens is None else nullcontext() as writer:
            snapshot = self.snapshot(run_id)
            previous = last_narrated(self._stored, folder, snapshot)
            narrative = narrate(snapshot, previous, NARRATIVE_TOKENS if tokens is None else tokens)
            return narrative._replace(is_new=writer is not None and keep_narrative(writer, narrative))

    def events(self, run_id: str) -> list[Event]:
        """Returns the events of a run, in order, each with its number, type, step, time and payload."""
        return list(self._stored.events(run_id))

    def blob(self, run_id: str, name: str) -> bytes:
        """Returns the content that an event names by its hash, such as the result of a recorded call."""
        return self._stored.blob(run_id, name)

    # Steps

    def next_step(self, run_id: str) -> int:
        """Returns the number that the next step will get, unless somebody else begins one before."""
        return self._stored.log.last_step(run_id) + 1

    def begin_step(self, run_id: str) -> int:
        """Logs that a step begins, and returns its number, which no other step of the run gets.

        It is for a program that logs the events of its steps itself. `step` also sees to it that each step ends.
        """
        return self._parts.truth.steps.begin(run_id, self._now, watched=False).number

    @at_once
    def step(self, run_id: str, *, compact: Compact = True) -> "Step":
        """Returns the next step of an agent, for a `with` block; the run is compacted after it if that is due."""
        from slicebase.verbs.step import Step

        return Step(self._parts, self, run_id, compact)

    @at_once
    def recorder(self, run_id: str, *, compact: Compact = True) -> "Recorder":
        """Returns a recorder, which logs every call of a tool as a step of the run."""
        from slicebase.verbs.recorder import Recorder

        return Recorder(self, run_id, compact)
