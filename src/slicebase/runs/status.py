"""The status of a run: its tally, the metrics for tuning the thresholds, and the report of `tt run status`."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from slicebase.core.hashing import digest_of
from slicebase.core.times import first_time, seconds_between
from slicebase.runs.event import STEP_BEGUN, STEP_ENDED, TERMINAL, TYPES, WATCHED, Event, LogHead
from slicebase.runs.gate import (
    DEFAULT_THRESHOLDS,
    Spent,
    Thresholds,
    budgets_of,
    is_due,
    spent,
    with_cost,
    with_inherited,
)
from slicebase.runs.guards import Guards, guards_of, loop_logged, near_limits
from slicebase.runs.loops import BOOKKEEPING, ContentOf, loops, no_content
from slicebase.runs.records import Budgets, DoneDefinition, Inherited, LoopLogged, Record, RunStarted, Spending
from slicebase.runs.state import RunState, chunks_cited_by, fold

# The tally: updated with every event, so that appending does not need to read the log


class RunTally(NamedTuple):
    """Counts since the last snapshot that passed (ruling 34), and over the complete run.

    `compacted` is the number of the event that recorded that snapshot, `sequence` the number of the snapshot.
    """

    run_id: str
    seq: int = 0
    hash: str | None = None
    started: str = ""
    updated: str = ""
    sequence: int = 0
    compacted: int = 0
    counted: int = 0
    steps: int = 0
    all_steps: int = 0
    cost: float = 0.0
    stopped: str | None = None

    def __repr__(self) -> str:
        return f"RunTally(run={self.run_id!r}, events={self.seq}, snapshots={self.sequence}, stopped={self.stopped!r})"

    @property
    def head(self) -> LogHead:
        return LogHead(self.run_id, self.seq, self.hash)

    @property
    def spent(self) -> Spent:
        return Spent(self.all_steps, seconds_between(self.started, self.updated), self.cost)


class RunEntry(NamedTuple):
    """A run in a list: its tally, and its terms, or the problem because of which they cannot be shown."""

    tally: RunTally
    terms: RunStarted | None
    problem: str | None = None  # the terms were purged, or are not terms of a run

    @property
    def id(self) -> str:
        """The id of the run."""
        return self.tally.run_id

    @property
    def subject(self) -> str:
        """The objective of the run, or in parentheses why it cannot be shown."""
        return self.terms.objective if self.terms is not None else f"({self.problem})"

    @property
    def stopped(self) -> str | None:
        """Why the run has stopped; None while it is open."""
        return self.tally.stopped

    def __repr__(self) -> str:
        return f"RunEntry(id={self.id!r}, events={self.tally.seq}, stopped={self.stopped!r})"


def advance(tally: RunTally, event: Event, step_last_at: int | None) -> RunTally:
    """Returns the tally after an event.

    `step_last_at` is the number of the last terminal event before it with the same step.
    """
    counts = event.type in TERMINAL
    tally = tally._replace(
        seq=event.seq,
        hash=event.hash,
        started=first_time(tally.started, event.time),
        updated=event.time,
        counted=tally.counted + counts,
        steps=tally.steps + (counts and (step_last_at is None or step_last_at <= tally.compacted)),
        all_steps=tally.all_steps + (counts and step_last_at is None),
        cost=with_cost(tally.cost, event.payload),
    )
    if event.type == "SNAPSHOT" and event.payload.get("status") == "PASS":
        return tally._replace(sequence=tally.sequence + 1, compacted=event.seq, counted=0, steps=0)
    if event.type == "RUN_STOPPED":
        return tally._replace(stopped=str(event.payload.get("reason")))
    return tally


def tally_of(run_id: str, events: Iterable[Event]) -> RunTally:
    """Returns the tally of a complete log."""
    tally = RunTally(run_id)
    last_at: dict[int | None, int] = {}
    for event in events:
        tally = advance(tally, event, last_at.get(event.step) if event.type in TERMINAL else None)
        if event.type in TERMINAL:
            last_at[event.step] = event.seq
    return tally


# Steps: their numbers are given in the log, so that everybody who writes to a run sees them (ruling 47)


_BITS = {name: 1 << place for place, name in enumerate(name for name, kind in TYPES.items() if kind.terminal)}


class StepTally(NamedTuple):
    """What a log says about a step: the numbers of two events, each 0 if there is none, and a set of types.

    `last` is its last terminal event. `begun` is the event with which a process began it; 0 again after its end.
    `logged` has one bit for each type of terminal event since then; 0 for a step that is not open.
    """

    last: int = 0
    begun: int = 0
    logged: int = 0

    @property
    def missing(self) -> tuple[str, ...]:
        """The types of terminal events that an open step has still to log."""
        return tuple(name for name, bit in _BITS.items() if not self.logged & bit)


def step_after(step: StepTally | None, event: Event) -> StepTally | None:
    """Returns the tally of an event's step after the event. A step without a tally has neither begun nor happened."""
    if event.step is None:
        return step
    before = step or StepTally()
    if event.type in TERMINAL:
        return before._replace(last=event.seq, logged=before.logged | _BITS[event.type] if before.begun else 0)
    if event.type == STEP_BEGUN:
        return before._replace(begun=event.seq if event.payload == WATCHED else 0, logged=0)
    return step._replace(begun=0, logged=0) if step and event.type == STEP_ENDED else step


# Metrics that justify other thresholds ("Tuning metric"): loops, repeated failures, stalls, forgotten constraints, cost


class Forgotten(Record, frozen=True):
    """An action that a constraint forbids, by the numbers of both events; one of the done definition has no claim."""

    claim_id: str | None
    stated: int
    action: int
    statement: str


class Incidents(Record, frozen=True):
    """What went wrong in a run, and where: by the numbers of events."""

    loops: tuple[LoopLogged, ...] = ()
    stalls: tuple[int, ...] = ()
    forgotten_constraints: tuple[Forgotten, ...] = ()


class Metrics(Record, frozen=True):
    """The metrics of a run.

    A cycle is an action with its observation; it is repeated if an earlier cycle is equal, word for word. A loop is
    what the loop guard finds. A failure is repeated if an earlier one has the same category and place. A stall is a
    compaction with counted events before it, but without a newly cited chunk, or as many counted events as make a
    compaction due. A forgotten constraint is an action that is forbidden by what was recorded before.
    """

    events: int
    counted_events: int
    steps: int
    compactions: int
    cycles: int
    repeated_cycles: int
    loop_rate: float
    loops: int
    failures: int
    repeated_failures: int
    no_evidence_stalls: int
    forgotten_constraints: int
    refused_changes: int
    verified_claims: int
    seconds: float
    cost: float
    seconds_per_verified_claim: float | None
    cost_per_verified_claim: float | None


def incidents_of(
    events: Sequence[Event],
    forgotten: tuple[Forgotten, ...] = (),
    counted: int = DEFAULT_THRESHOLDS.counted_events,
    content: ContentOf = no_content,
) -> Incidents:
    """Returns what went wrong in a complete log; `counted` is how many counted events without a citation are a stall.

    Loops are found whether the guard was on or not.
    """
    return Incidents(
        loops=tuple(map(loop_logged, loops(events, content))),
        stalls=tuple(_stalls(events, counted)),
        forgotten_constraints=forgotten,
    )


def measure(log: Iterable[Event], incidents: Incidents | None = None) -> Metrics:
    """Returns the metrics of a complete log."""
    events = list(log)
    places = incidents or incidents_of(events)
    used = spent(events)
    cycles = _cycles(events)
    failures = [(event.payload.get("category"), event.payload.get("where")) for event in events if _is_failure(event)]
    verified = sum(claim.get("status") == "verified" for claim in fold(RunState(""), events).claims.values())
    repeated = len(cycles) - len(set(cycles))
    return Metrics(
        events=len(events),
        counted_events=sum(event.type in TERMINAL for event in events),
        steps=used.steps,
        compactions=sum(event.type == "SNAPSHOT" for event in events),
        cycles=len(cycles),
        repeated_cycles=repeated,
        loop_rate=round(repeated / len(cycles), 6) if cycles else 0.0,
        loops=len(places.loops),
        failures=len(failures),
        repeated_failures=len(failures) - len({digest_of(failure) for failure in failures}),
        no_evidence_stalls=len(places.stalls),
        forgotten_constraints=len(places.forgotten_constraints),
        refused_changes=sum(event.type == "REFUSED" for event in events),
        verified_claims=verified,
        seconds=used.seconds,
        cost=used.cost,
        seconds_per_verified_claim=_per(used.seconds, verified),
        cost_per_verified_claim=_per(used.cost, verified),
    )


def _cycles(events: Iterable[Event]) -> list[tuple[str, str]]:
    """Returns actions with their observations, paired in order: parallel calls return results in the order of calls."""
    cycles: list[tuple[str, str]] = []
    acts: deque[str] = deque()
    for event in events:
        if event.type == "ACT_DONE":
            acts.append(_content(event.payload))
        elif event.type == "OBSERVE_DONE" and acts:
            cycles.append((acts.popleft(), _content(event.payload)))
    return cycles


def _content(payload: Mapping[str, Any]) -> str:
    return digest_of({name: value for name, value in payload.items() if name not in BOOKKEEPING})


def _is_failure(event: Event) -> bool:
    return event.type == "FAILURE" and "where" in event.payload and event.payload.get("status") != "resolved"


def _stalls(events: Iterable[Event], limit: int) -> Iterator[int]:
    """Yields the events with which a stall is complete: a compaction, or the last of so many counted events."""
    counted = idle = 0  # since the last compaction, and since the last citation or stall, too
    cited: set[str] = set()
    found = False  # a citation or a stall since the last compaction
    for event in events:
        counted, idle = counted + (event.type in TERMINAL), idle + (event.type in TERMINAL)
        chunks = set(chunks_cited_by(event))
        if chunks - cited:
            found, idle = True, 0
        cited |= chunks
        if event.type == "SNAPSHOT":
            if counted and not found:
                yield event.seq
            counted, idle, found = 0, 0, False
        elif idle >= limit:
            yield event.seq
            found, idle = True, 0


def _per(amount: float, claims: int) -> float | None:
    return round(amount / claims, 6) if claims else None


# The report


class Progress(Record, frozen=True):
    """The progress towards the next compaction."""

    counted_events: int
    event_threshold: int
    steps: int
    step_threshold: int
    due: bool


class Coverage(Record, frozen=True):
    """How many sources and chunks a run has seen and cited."""

    sources_seen: int
    chunks_seen: int
    chunks_cited: int


class RunStatus(Record, frozen=True):
    """The status of a run, for people and programs."""

    run_id: str
    objective: str
    done_definition: DoneDefinition
    provenance_mode: str
    forked_from: str | None
    stopped: str | None
    events: int
    snapshots: int
    next_compaction: Progress
    claims: dict[str, int]
    open_conflicts: tuple[dict[str, Any], ...]
    open_questions: tuple[str, ...]
    open_failures: tuple[dict[str, Any], ...]
    coverage: Coverage
    budgets: Budgets
    guards: Guards
    near_limits: tuple[str, ...]  # budgets that are nearly spent, in words
    spent: Spending  # of the budgets, with what was inherited
    inherited: Inherited | None  # what the run that this one continues had spent
    interrupted_steps: tuple[int, ...]  # that nobody holds any more, and that have not ended
    incidents: Incidents
    metrics: Metrics

    def __repr__(self) -> str:
        counts = f"events={self.events}, snapshots={self.snapshots}"
        return f"RunStatus(run={self.run_id!r}, {counts}, claims={self.claims}, stopped={self.stopped!r})"


def status_of(
    tally: RunTally,
    terms: RunStarted,
    state: RunState,
    metrics: Metrics,
    incidents: Incidents,
    thresholds: Thresholds,
    interrupted: tuple[int, ...] = (),
) -> RunStatus:
    """Returns the status of a run."""
    total = with_inherited(tally.spent, terms)
    budgets, guards = budgets_of(terms.done_definition), guards_of(terms.done_definition)
    counts = dict.fromkeys(("verified", "candidate", "retracted"), 0)
    for claim in state.claims.values():
        counts[str(claim.get("status"))] = counts.get(str(claim.get("status")), 0) + 1
    return RunStatus(
        run_id=tally.run_id,
        objective=terms.objective,
        done_definition=terms.done_definition,
        provenance_mode=terms.provenance_mode,
        forked_from=terms.forked_from,
        stopped=tally.stopped,
        events=tally.seq,
        snapshots=tally.sequence,
        next_compaction=Progress(
            counted_events=tally.counted,
            event_threshold=thresholds.counted_events,
            steps=tally.steps,
            step_threshold=thresholds.steps,
            due=is_due(tally.counted, tally.steps, thresholds),
        ),
        claims=counts,
        open_conflicts=_open(state.conflicts.values()),
        open_questions=tuple(str(question) for question in state.open_questions.values()),
        open_failures=_open(state.failures.values()),
        coverage=Coverage(
            sources_seen=len(state.sources_seen),
            chunks_seen=len(state.chunks_seen),
            chunks_cited=len(state.chunks_cited),
        ),
        budgets=budgets,
        guards=guards,
        near_limits=tuple(near_limits(budgets, total, guards.soft).values()),
        spent=Spending(steps=total.steps, seconds=total.seconds, cost=total.cost),
        inherited=terms.inherited or None,
        interrupted_steps=interrupted,
        incidents=incidents,
        metrics=metrics,
    )


def _open(items: Any) -> tuple[dict[str, Any], ...]:
    return tuple(deepcopy(item) for item in items if item.get("status") == "open")  # the state keeps its own
