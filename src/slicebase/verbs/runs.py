"""The verbs of runs (`base.runs`), and a step of an agent as a `with` block.

    with base.runs.step("my-run", clock) as step:
        step.plan(text="look at the log")
        step.act(tool="bash", text="make test")
        step.observe(text=output)

Each event is on disk as soon as its method returns. A step always ends with its three terminal events: those that the
block did not log are logged as empty. Then the run is compacted if that is due. An error that leaves the block is
logged as a failure, and propagates.

`narrate_session` does the work before a coding agent's compaction: a snapshot of the session as a run, and its
narrative.
"""

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from slicebase.context.assemble import Candidate
from slicebase.context.manifest import Manifest
from slicebase.errors import SlicebaseError
from slicebase.library.folder import SliceFolder
from slicebase.runs.event import EventDraft
from slicebase.runs.gate import DEFAULT_THRESHOLDS, Thresholds, manifest_events
from slicebase.runs.narrative import Narrative, narrate
from slicebase.runs.projection import StepAt, path_of, project, terms_of
from slicebase.runs.records import (
    DEFAULT_PROVENANCE_MODE,
    ClaimLogged,
    ClaimStatus,
    ConflictLogged,
    DoneDefinition,
    FailureLogged,
    ManifestLogged,
    Pointer,
    QuestionLogged,
    RunStarted,
    StopReason,
)
from slicebase.runs.state import ITEMS, Json
from slicebase.runs.status import RunStatus, RunTally, measure, status_of
from slicebase.truth.runs import Logged, Runs
from slicebase.truth.truth import Truth
from slicebase.verbs.narrate import (
    keep_narrative,
    last_narrated,
    manifest_entry,
    new_drafts,
    snapshot_candidate,
    steps_of,
    turns_of,
)

_WHY = 500  # characters of an error's message


class RunStep:
    """One step of a run, for a `with` block."""

    def __init__(
        self, runs: Runs, run_id: str, number: int, clock: Callable[[], int], thresholds: Thresholds | None
    ) -> None:
        self._runs = runs
        self._clock = clock
        self._thresholds = thresholds
        self._missing = ["PLAN_DONE", "ACT_DONE", "OBSERVE_DONE"]
        self.run_id = run_id
        self.number = number
        self.snapshots: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        self._runs.check_open(self.run_id)
        return self

    def plan(self, **payload: Any) -> Logged:
        return self._terminal("PLAN_DONE", payload)

    def act(self, **payload: Any) -> Logged:
        return self._terminal("ACT_DONE", payload)

    def observe(self, **payload: Any) -> Logged:
        return self._terminal("OBSERVE_DONE", payload)

    def log(self, type_: str, **payload: Any) -> Logged:
        """Logs any other event of the step."""
        return self._append([EventDraft(type=type_, step=self.number, payload=payload)])

    def context(self, manifest: ManifestLogged) -> Logged:
        """Logs the context that was given to the model in this step."""
        return self._append(list(manifest_events(manifest, self.number)))

    def _terminal(self, type_: str, payload: dict[str, Any]) -> Logged:
        logged = self._append([EventDraft(type=type_, step=self.number, payload=payload)])
        if type_ in self._missing:
            self._missing.remove(type_)
        return logged

    def _append(self, drafts: list[EventDraft], thresholds: Thresholds | None = None) -> Logged:
        return self._runs.append(self.run_id, drafts, self._clock(), thresholds)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        drafts = [EventDraft(type=name, step=self.number) for name in self._missing]
        if error is not None and isinstance(error, Exception) and not self._runs.is_closed(self.run_id):
            self._append([self._failure(error), *drafts])
        elif error is None:
            self.snapshots = self._append(drafts, self._thresholds).snapshots

    def _failure(self, error: Exception) -> EventDraft:
        failure = FailureLogged(
            failure_id=f"step-{self.number}",
            category=type(error).__name__,
            where=f"step {self.number}",
            why=str(error)[:_WHY],
        )
        return EventDraft.of("FAILURE", failure, step=self.number)


class RunVerbs:
    """The runs of a workspace. Every write takes the time; with `thresholds`, a run is compacted whenever it is due."""

    def __init__(self, truth: Truth, folder: SliceFolder) -> None:
        self._truth = truth
        self._runs = truth.runs
        self._folder = folder

    # Starting a run

    def start(
        self,
        run_id: str,
        objective: str,
        done_definition: DoneDefinition,
        *,
        now: int,
        provenance_mode: str = DEFAULT_PROVENANCE_MODE,
    ) -> RunTally:
        """Starts a run. Its objective and done definition never change."""
        terms = RunStarted(
            objective=objective, done_definition=done_definition, provenance_mode=provenance_mode, forked_from=None
        )
        return self._runs.start(run_id, terms, now)

    def fork(self, run_id: str, new_run_id: str, *, now: int) -> RunTally:
        """Starts a run that continues from the last snapshot of another run that passed."""
        return self._runs.fork(run_id, new_run_id, now)

    def from_session(
        self,
        session: str,
        run_id: str,
        *,
        now: int,
        leaf: str | None = None,
        objective: str | None = None,
        done_definition: DoneDefinition | None = None,
        step_at: StepAt | None = None,
        thresholds: Thresholds | None = None,
        open_end: bool = False,
    ) -> Logged:
        """Projects a stored conversation as a run; to an existing run it adds what is new in the conversation.

        By default a step is a call in a trajectory, and a prompt elsewhere. `open_end` is for a conversation that
        continues: what its next turns may still change is left for the next call.
        """
        turns = path_of(turns_of(self._truth, session), leaf)
        terms = terms_of(turns, objective, done_definition)
        steps = step_at or steps_of(self._truth.turns.session(session).format)
        drafts = project(turns, started=terms, evidence=self._truth.ledger, step_at=steps, open_end=open_end)
        if not self._runs.log.exists(run_id):
            self._runs.begin(run_id, drafts[:1], now)
        return self._runs.append(run_id, new_drafts(self._runs, run_id, drafts), now, thresholds)

    # Logging

    def log(
        self, run_id: str, drafts: Iterable[EventDraft], *, now: int, thresholds: Thresholds | None = None
    ) -> Logged:
        """Logs events as an agent sends them; the gate refuses bad ones at the next compaction, not here."""
        return self._runs.append(run_id, drafts, now, thresholds)

    def claim(
        self,
        run_id: str,
        statement: str | None = None,
        *,
        now: int,
        claim_id: str | None = None,
        status: ClaimStatus | None = None,
        evidence: Sequence[str] = (),
    ) -> Logged:
        """Logs a claim or a new statement of one; without a statement, changes the status of an existing claim."""
        if statement is None:
            changed = self._item(run_id, "CLAIM", claim_id)
            payload = {**changed, "status": status or changed["status"]}
            if evidence:
                payload["evidence_refs"] = msgspec.to_builtins(self._pointers(evidence))
            return self._runs.say(run_id, EventDraft(type="CLAIM", payload=payload), now)
        claim = ClaimLogged(
            claim_id=claim_id or self._free_id(run_id, "CLAIM", "c"),
            statement=statement,
            status=status or "candidate",
            evidence_refs=self._pointers(evidence),
        )
        return self._runs.say(run_id, EventDraft.of("CLAIM", claim), now)

    def conflict(
        self,
        run_id: str,
        description: str | None = None,
        *,
        now: int,
        conflict_id: str | None = None,
        side_a: Sequence[str] = (),
        side_b: Sequence[str] = (),
    ) -> Logged:
        """Logs a conflict between two sides of evidence; without a description, resolves the conflict with this id."""
        if description is None:
            return self._resolve(run_id, "CONFLICT", conflict_id, now)
        conflict = ConflictLogged(
            conflict_id=conflict_id or self._free_id(run_id, "CONFLICT", "x"),
            description=description,
            side_a_refs=self._pointers(side_a),
            side_b_refs=self._pointers(side_b),
        )
        return self._runs.say(run_id, EventDraft.of("CONFLICT", conflict), now)

    def failure(
        self,
        run_id: str,
        *,
        now: int,
        category: str = "",
        where: str = "",
        why: str = "",
        failure_id: str | None = None,
        resolve: bool = False,
    ) -> Logged:
        """Logs a failure; with `resolve`, resolves the failure with this id."""
        if resolve:
            return self._resolve(run_id, "FAILURE", failure_id, now)
        failure = FailureLogged(
            failure_id=failure_id or self._free_id(run_id, "FAILURE", "f"), category=category, where=where, why=why
        )
        return self._runs.say(run_id, EventDraft.of("FAILURE", failure), now)

    def question(self, run_id: str, text: str, *, now: int, close: bool = False) -> Logged:
        """Logs an open question, or closes it."""
        if close and text not in self._runs.state(run_id).open_questions:
            hint = "`tt run status` shows the open questions"
            raise SlicebaseError("no-item", f"run:{run_id} has no open question {text!r}", hint=hint)
        question = QuestionLogged(question=text, status="closed" if close else "open")
        return self._runs.say(run_id, EventDraft.of("QUESTION", question), now)

    def bind(self, run_id: str, manifest: Manifest, *, now: int, step: int | None = None) -> Logged:
        """Logs the context that was given to the model in a step, by default the next one."""
        return self._runs.append(run_id, manifest_events(manifest_entry(manifest), step or self.next_step(run_id)), now)

    def remembered(self, run_id: str) -> tuple[Candidate, ...]:
        """Returns what a context for a run begins with: the narrative of its last snapshot that passed."""
        latest = self._runs.latest(run_id)
        return (snapshot_candidate(latest.snapshot),) if latest else ()

    def _resolve(self, run_id: str, type_: str, item_id: str | None, now: int) -> Logged:
        payload = {**self._item(run_id, type_, item_id), "status": "resolved"}
        return self._runs.say(run_id, EventDraft(type=type_, payload=payload), now)

    def _item(self, run_id: str, type_: str, item_id: str | None) -> dict[str, Json]:
        """Returns a claim, conflict or failure as it was logged last."""
        kind = ITEMS[type_]
        item = getattr(self._runs.state(run_id), kind.collection).get(item_id)
        if item is None:
            raise SlicebaseError(
                "no-item", f"run:{run_id} has no {kind.id} {item_id}", hint="`tt run status` shows them"
            )
        return {name: item[name] for name in kind.fields if name in item}

    def _free_id(self, run_id: str, type_: str, prefix: str) -> str:
        items = getattr(self._runs.state(run_id), ITEMS[type_].collection)
        number = len(items) + 1
        while f"{prefix}{number}" in items:
            number += 1
        return f"{prefix}{number}"

    def _pointers(self, evidence: Iterable[str]) -> tuple[Pointer, ...]:
        pointers = []
        for evidence_id in evidence:
            record = self._truth.ledger.get(evidence_id)
            if record is None:
                raise SlicebaseError(
                    "no-evidence", f"the ledger has no {evidence_id}", hint="`tt cite` adds evidence to it"
                )
            pointers.append(record.pointer)
        return tuple(pointers)

    # Compacting and stopping

    def compact(self, run_id: str, *, now: int) -> Logged:
        """Takes a snapshot; stops the run if the snapshot does not pass its checks."""
        return self._runs.compact(run_id, now)

    def stop(self, run_id: str, reason: StopReason, *, now: int, message: str = "") -> Logged:
        """Takes a last snapshot and closes a run."""
        return self._runs.stop(run_id, reason, message, now)

    # Reading

    def list_runs(self) -> list[tuple[RunTally, RunStarted | None]]:
        """Returns every run with its terms (None if they were purged), the last changed first."""
        return [(tally, self._runs.terms(tally.run_id)) for tally in list(self._runs.log.tallies())]

    def snapshot(self, run_id: str, sequence: int | None = None) -> dict[str, Json]:
        """Returns a snapshot by its id, or by its run and number (by default, the last that passed)."""
        if run_id.startswith("sn_"):
            return self._runs.snapshots.find(run_id).snapshot
        if sequence is not None:
            return self._runs.snapshots.get(run_id, sequence).snapshot
        latest = self._runs.latest(run_id)
        if latest is None:
            raise SlicebaseError(
                "no-snapshot", f"run:{run_id} has no snapshot that passed", hint="`tt run compact` takes one"
            )
        return latest.snapshot

    def status(self, run_id: str, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> RunStatus:
        """Returns the state of a run, and the figures that would justify other thresholds."""
        tally = self._runs.log.tally(run_id)
        events = self._runs.events(run_id)
        return status_of(tally, self._runs.log.started(run_id), self._runs.state(run_id), measure(events), thresholds)

    def narrative(self, run_id: str, *, write: bool = True) -> tuple[Narrative, bool]:
        """Returns the narrative of a run's last snapshot that passed, and whether its slice file is new."""
        snapshot = self.snapshot(run_id)
        narrative = narrate(snapshot, last_narrated(self._runs, self._folder, snapshot))
        return narrative, keep_narrative(self._folder, narrative) if write else False

    def next_step(self, run_id: str) -> int:
        """Returns the number of the next step."""
        return self._runs.log.last_step(run_id) + 1

    def step(
        self, run_id: str, clock: Callable[[], int], *, thresholds: Thresholds | None = DEFAULT_THRESHOLDS
    ) -> RunStep:
        """Returns the next step of an agent, for a `with` block."""
        return RunStep(self._runs, run_id, self.next_step(run_id), clock, thresholds)


# Errors after which a session continues as another run: the conversation was rewound, or its run was stopped.
_NEEDS_NEW_RUN: Final = frozenset({"run-differs", "run-closed", "gate-refused"})


def run_of(session: str) -> str:
    """Returns the id of the run that a session is projected to, unless another one is named."""
    return "from-" + "-".join(session.replace("/", "-").split())


def narrate_session(runs: RunVerbs, session: str, leaf: str | None, now: int) -> Narrative:
    """Projects a session as a run, compacts and narrates it.

    If its run cannot continue, another one is started, whose id also names the leaf.
    """
    name = run_of(session)
    try:
        return _narrated(runs, session, name, now)
    except SlicebaseError as error:
        if error.code not in _NEEDS_NEW_RUN or leaf is None:
            raise
        return _narrated(runs, session, f"{name}-{leaf[:8]}", now)


def _narrated(runs: RunVerbs, session: str, run_id: str, now: int) -> Narrative:
    logged = runs.from_session(session, run_id, now=now, open_end=True)
    if logged.last >= logged.first or not runs.remembered(run_id):
        runs.compact(run_id, now=now)
    return runs.narrative(run_id)[0]
