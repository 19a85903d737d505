"""The verbs of runs (`memory.runs`): start a run, log what happens in it, compact it, read it.

A step of an agent is a `with` block (`Step`), and the calls of its tools can be recorded (`Recorder`).
"""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slicebase.context.assemble import Context
from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.runs.event import Event, EventDraft, draft_of
from slicebase.runs.gate import Thresholds
from slicebase.runs.guards import with_guards
from slicebase.runs.narrative import NARRATIVE_TOKENS, Narrative, narrate
from slicebase.runs.records import (
    DEFAULT_PROVENANCE_MODE,
    ClaimStatus,
    DoneDefinition,
    Pointer,
    RunStarted,
    StepAt,
    StopReason,
)
from slicebase.runs.state import Json
from slicebase.runs.status import RunEntry, RunStatus, RunTally
from slicebase.truth.run_writer import Logged
from slicebase.truth.runs import NO_BLOBS, StoredRuns
from slicebase.verbs.cite import Cites, cited
from slicebase.verbs.evidence import ChunkTexts
from slicebase.verbs.names import claim_id, completes
from slicebase.verbs.narrate import bind, keep_narrative, last_narrated
from slicebase.verbs.parts import Parts
from slicebase.verbs.run_items import (
    MakeEvent,
    claim_changed,
    claim_stated,
    conflict_stated,
    failure_stated,
    question_stated,
    resolved,
)
from slicebase.verbs.shown import Within
from slicebase.workspace.doors import door
from slicebase.workspace.surroundings import at_once, one_thread_at_a_time
from slicebase.workspace.workspace import StrPath

if TYPE_CHECKING:  # keeps start-up fast: the commands need neither
    from slicebase.history.imports import ImportProgress
    from slicebase.runs.report import RunReport
    from slicebase.runs.summary import RunSummary
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
        return self._usual

    @property
    def _usual(self) -> Thresholds:
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
        guards: Mapping[str, Any] | None = None,
        provenance_mode: str = DEFAULT_PROVENANCE_MODE,
    ) -> RunTally:
        """Starts a run. Its objective and its done definition, a text or an object, never change.

        `budgets` limits it: max_steps, max_seconds, max_cost. `guards` watches over it: loop ("warn", "stop" or "off"),
        require_manifest, and soft, the share of a budget after which a warning is given (0.8).
        """
        done = with_guards(done, budgets=dict(budgets or {}), guards=dict(guards or {}))
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

    @door(names="id", left="run_id cite within")
    def claim(
        self,
        run_id: str,
        statement: str | None = None,
        *,
        id: str | None = None,
        status: ClaimStatus | None = None,
        cite: Cites = (),
        within: Within = None,
        step: int | None = None,
    ) -> Logged:
        """Logs a claim or a new statement of one; without a statement, changes the status of an existing claim.

        A claim is a candidate until its status is given. A verified one needs something to cite. With `within`, the
        bytes of a bundle or a SliceExport, it can cite only what that shows.
        """
        id = claim_id(self._parts, run_id, id, is_new=statement is not None)
        pointers = self._pointers(run_id, cite, within)
        if statement is None:
            return self._append(run_id, claim_changed(id, status, pointers, step))
        return self._append(run_id, claim_stated(id, statement, status or "candidate", pointers, step))

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
            return self._append(run_id, resolved("CONFLICT", id))
        one, other = self._pointers(run_id, a), self._pointers(run_id, b)
        return self._append(run_id, conflict_stated(id, description, one, other, step))

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
            return self._append(run_id, resolved("FAILURE", id))
        return self._append(run_id, failure_stated(id, category, where, why, step))

    @door(left="run_id")
    def question(self, run_id: str, text: str, *, close: bool = False, step: int | None = None) -> Logged:
        """Logs an open question, or closes it."""
        return self._append(run_id, question_stated(run_id, text, step, close=close))

    def bind(self, run_id: str, context: Context, *, step: int | None = None) -> Logged:
        """Logs the context that was given to the model in a step, by default the next one."""
        return bind(self._parts, run_id, context, step)

    def _append(self, run_id: str, make: MakeEvent) -> Logged:
        return self._stored.append_checked(run_id, make, self._now)

    def _pointers(self, run_id: str, cites: Cites, within: Within = None) -> tuple[Pointer, ...]:
        """Returns the pointers of what is cited; a quote is added to the ledger, unless the run is closed."""
        self._stored.check_open(run_id)
        return tuple(evidence.pointer for evidence in cited(self._parts, cites, within))

    # Compacting and stopping

    def compact(self, run_id: str) -> Logged:
        """Takes a snapshot; stops the run if the snapshot does not pass its checks."""
        return self._stored.compact(run_id, self._now)

    @door(left="run_id")
    def allow_loop(self, run_id: str, reason: str, *, steps: int | None = None, seconds: float | None = None) -> Logged:
        """Allows loops for so many further steps or seconds, or for what ends first. The reason is logged."""
        from slicebase.verbs.run_status import allow_loop

        return allow_loop(self._stored, run_id, reason, steps, seconds, self._now)

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
        return self._stored.snapshot(run_id.removeprefix("run:"), sequence)

    def status(self, run_id: str, thresholds: Thresholds | None = None, *, settle: bool = True) -> RunStatus:
        """Returns the state of a run, and the figures that would justify other thresholds.

        Steps that nobody holds any more are closed as failures first, where the workspace can be written. Without
        `settle`, nothing is written.
        """
        steps = self._parts.truth.steps
        interrupted = steps.settle(run_id, self._now) if settle else steps.interrupted(run_id)
        from slicebase.verbs.run_status import run_status  # start-up counts: verbs that log need no figures

        return run_status(self._parts, self._stored, run_id, thresholds or self._usual, interrupted)

    def summary(self, run_id: str) -> "RunSummary":
        """Returns a run at a glance: the part of its status that does not need its complete log. Nothing is written."""
        from slicebase.verbs.run_status import run_summary

        interrupted = self._parts.truth.steps.interrupted(run_id)
        return run_summary(self._parts, self._stored, run_id, self._usual, interrupted)

    def report(self, run_id: str) -> "RunReport":
        """Returns the final report of a run, as a record and as Markdown."""
        from slicebase.verbs.run_status import run_report

        return run_report(self._parts, self._stored, run_id, self._usual)

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
