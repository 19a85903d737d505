"""Compaction as a gate: when it is due, how a run passes or stops, and which events a run accepts.

The module has three parts: budgets (ruling 38), compactions ("Stop semantics", ruling 40), and the events that the
verbs write (ruling 35).
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import UnsetType

from slicebase.core.hashing import LARGEST_INTEGER, check_depth
from slicebase.core.refs import prefixed
from slicebase.core.times import first_time, seconds_between
from slicebase.errors import SlicebaseError
from slicebase.runs.checks import Inputs, QuoteCondition, check
from slicebase.runs.event import STEP_BEGUN, STEP_ENDED, TERMINAL, TYPES, VERBOSE, Event, EventDraft, LogHead, append
from slicebase.runs.evidence import Evidence
from slicebase.runs.guards import GUARDS, LOOP_ALLOWED, read_guards
from slicebase.runs.manifests import ManifestsLogged
from slicebase.runs.parts import StateParts
from slicebase.runs.records import (
    DEFAULT_PROVENANCE_MODE,
    Budgets,
    CheckResult,
    DoneDefinition,
    FailureAction,
    Record,
    Refused,
    RunStarted,
    RunStopped,
    SnapshotLogged,
    StopReason,
)
from slicebase.runs.snapshot import Built, build, built, validated, whole_digest
from slicebase.runs.state import ITEMS, Json, RunState, fold, from_snapshot
from slicebase.runs.values import is_blank, same, shown_number

# Budgets of a run, which are part of its done definition, and what it has spent (ruling 38)

UNLIMITED = Budgets()


class Spent(NamedTuple):
    """What a run has spent: distinct steps of terminal events, seconds from first to last event, sum of `cost`."""

    steps: int = 0
    seconds: float = 0.0
    cost: float = 0.0


def budgets_of(done_definition: DoneDefinition) -> Budgets:
    """Returns the budgets in a done definition; those that are not given have no limit."""
    given = (done_definition.get("budgets") if isinstance(done_definition, dict) else None) or {}
    if not isinstance(given, dict):
        raise _bad_budgets("they are no object")
    return Budgets(**{name: _limit(name, value) for name, value in given.items()})


_LARGEST_DOUBLE = math.nextafter(math.inf, 0)
_LARGEST_LIMITS = {"max_steps": LARGEST_INTEGER, "max_seconds": _LARGEST_DOUBLE, "max_cost": _LARGEST_DOUBLE}


def _limit(name: str, value: Json) -> Any:
    """Returns the limit of a budget; None if it has none. The type of a number does not matter: 5.0 steps are 5."""
    if name not in _LARGEST_LIMITS:
        raise _bad_budgets(f"there is no budget {name}")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _bad_budgets(f"{name} is not a number")
    if not 0 <= value <= _LARGEST_LIMITS[name]:
        shown = value if isinstance(value, float) else "below 0" if value < 0 else "too large"
        raise _bad_budgets(f"{name} is {shown}")
    if name != "max_steps":
        return float(value)
    if value != int(value):
        raise _bad_budgets(f"max_steps is {value}, which is not a whole number")
    return int(value)


def _bad_budgets(problem: str) -> SlicebaseError:
    return SlicebaseError(
        "bad-run-budget",
        f"the budgets of the done definition cannot be read: {problem}",
        hint="budgets are max_steps, which is a whole number, max_seconds and max_cost, each of at least 0",
    )


def cost_of(payload: Mapping[str, Any]) -> float:
    """Returns the `cost` of a payload; 0 if it is missing, negative or not a number."""
    cost: Any = payload.get("cost")
    known = isinstance(cost, int | float) and not isinstance(cost, bool)
    return max(0.0, float(cost)) if known else 0.0


_MOST_COST = 1e300  # so that costs without measure do not become infinite, which JSON cannot say


def with_cost(total: float, payload: Mapping[str, Any]) -> float:
    """Returns a sum of costs with the one of another payload."""
    return min(total + cost_of(payload), _MOST_COST)


def with_inherited(own: Spent, started: RunStarted) -> Spent:
    """Returns what a run has spent together with what it has inherited: a fork does not begin with new budgets."""
    before = started.inherited
    if isinstance(before, UnsetType):
        return own
    return Spent(own.steps + before.steps, own.seconds + before.seconds, min(own.cost + before.cost, _MOST_COST))


class Meter:
    """Adds up what the events of a run spend."""

    def __init__(self) -> None:
        self._steps: set[int | None] = set()
        self._first: str | None = None
        self._last: str | None = None
        self._cost = 0.0

    def add(self, event: Event) -> None:
        self._last = event.time
        self._first = first_time(self._first, event.time)
        self._cost = with_cost(self._cost, event.payload)
        if event.type in TERMINAL:
            self._steps.add(event.step)

    @property
    def spent(self) -> Spent:
        return Spent(len(self._steps), seconds_between(self._first, self._last), self._cost)


def spent(events: Iterable[Event]) -> Spent:
    """Returns what the events of a run have spent."""
    meter = Meter()
    for event in events:
        meter.add(event)
    return meter.spent


def exceeded(budgets: Budgets, spent: Spent) -> str | None:
    """Returns in words which limits are exceeded; None if none is. The text is stored in the log."""
    return _in_words(budgets, spent, lambda used, limit: used > limit)


def exhausted(budgets: Budgets, spent: Spent) -> str | None:
    """Returns in words of which budgets nothing is left; None if something is left of each.

    A budget of 0 of which nothing was spent is not used up: a run that costs nothing can have it.
    """
    return _in_words(budgets, spent, lambda used, limit: used >= limit and used > 0)


def _in_words(budgets: Budgets, spent: Spent, is_reached: Callable[[float, float], bool]) -> str | None:
    limits = {
        "steps": (spent.steps, budgets.max_steps),
        "seconds": (spent.seconds, budgets.max_seconds),
        "cost": (spent.cost, budgets.max_cost),
    }
    found = [
        f"{name} {shown_number(used)} of {shown_number(limit)}"
        for name, (used, limit) in limits.items()
        if limit is not None and is_reached(used, limit)
    ]
    return ", ".join(found) or None


# Compaction ("Stop semantics", ruling 40)


class Thresholds(Record, frozen=True):
    """The counts at which a compaction is due ("MVP defaults")."""

    counted_events: int = 18
    steps: int = 8


DEFAULT_THRESHOLDS = Thresholds()


def is_due(counted: int, steps: int, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> bool:
    """Returns whether a compaction is due after so many counted events and distinct steps since the last snapshot."""
    return counted >= thresholds.counted_events or steps >= thresholds.steps


class Compaction(NamedTuple):
    """A snapshot and the events that record it. A snapshot that does not pass stops the run."""

    snapshot: dict[str, Json]
    digest: str  # the complete digest, of which the snapshot id has the first digits
    drafts: tuple[EventDraft, ...]
    parts: StateParts | None  # the canonical bytes of its state, for the next compaction

    @property
    def passed(self) -> bool:
        return bool(self.snapshot["validation"]["status"] == "PASS")

    @property
    def diagnosis(self) -> str:
        """The names of the failed checks with their messages."""
        failed = (result for result in self.snapshot["validation"]["checks"] if result["status"] == "FAIL")
        return "; ".join(f"{result['name']}: {result['message']}" for result in failed)


def compact(read: Callable[[], Inputs], created_at: str) -> Compaction:
    """Takes a snapshot and checks it, and tries once more if it fails.

    The inputs are read again for the second try. The same log gives the same snapshot, so a second try only helps if
    something went wrong while reading.
    """
    action: FailureAction
    for action in ("NONE", "RETRY"):
        inputs = read()
        new = built(state_of(inputs), created_at, inputs.parts)
        results = check(new.snapshot, inputs, new.parts)
        if all(result.status == "PASS" for result in results):
            return _with_events(new, validated(new.snapshot, results, action))
    return _with_events(new, validated(new.snapshot, results, "SYSTEM_ERROR"))


def state_of(inputs: Inputs) -> RunState:
    """Returns the state that a compaction of these inputs records."""
    before = from_snapshot(inputs.previous) if inputs.previous is not None else RunState(inputs.head.run_id)
    return fold(before, inputs.events)


def _with_events(new: Built, snapshot: dict[str, Json]) -> Compaction:
    logged = SnapshotLogged(
        snapshot_id=snapshot["snapshot_id"],
        sequence=snapshot["sequence"],
        status=snapshot["validation"]["status"],
        digest=whole_digest(snapshot, new.digest),
    )
    time = snapshot["created_at"]
    compaction = Compaction(snapshot, new.digest, (EventDraft.of("SNAPSHOT", logged, time=time),), new.parts)
    if compaction.passed:
        return compaction
    return compaction._replace(drafts=(*compaction.drafts, stopped("SYSTEM_ERROR", compaction.diagnosis, time=time)))


def stopped(reason: StopReason, message: str = "", time: str | None = None) -> EventDraft:
    """Returns the event that stops a run."""
    return EventDraft.of("RUN_STOPPED", RunStopped(reason=reason, message=message), time=time)


# Events that the verbs write, and a check of events before they are logged (ruling 35)

_RUN_ID = re.compile(r"[^\s/:]{1,128}")
NEVER_CHANGES = ("objective", "done_definition", "provenance_mode")


def start(run_id: str, started: RunStarted) -> EventDraft:
    """Returns the first event of a run. Raises an error if the id or the terms cannot be used."""
    check_id(run_id)
    check_depth(started.done_definition, "the definition of done")
    try:
        draft = EventDraft.of("RUN_STARTED", started)
    except TypeError as error:
        raise SlicebaseError("bad-run", f"these are not the terms of a run: {error}") from None
    check_terms(draft.payload)
    return draft


def check_id(run_id: str) -> None:
    """Raises an error for a text that cannot be the id of a run."""
    if not is_run_id(run_id):
        raise SlicebaseError(
            "bad-run",
            f"{run_id!r} cannot be the id of a run",
            hint="use 1 to 128 characters without spaces, slashes and colons, and not ev_, mf_ or sn_ at the beginning",
        )


def is_run_id(text: str) -> bool:
    """Returns whether a text can be the id of a run, and no verb would read it as another reference."""
    return _RUN_ID.fullmatch(text) is not None and text.isprintable() and not is_blank(text) and prefixed(text) is None


def check_terms(payload: Mapping[str, Json]) -> RunStarted:
    """Returns the terms in the payload of a RUN_STARTED event. Raises an error if no run can have them.

    What could be stored and not read again would make the run, and every list of runs, unreadable. Terms that the gate
    refuses would stop the run at its first snapshot, and they never change.
    """
    try:
        started = msgspec.convert(payload, RunStarted)
    except msgspec.ValidationError as error:
        hint = "the objective is a text, the definition of done a text or an object"
        raise SlicebaseError("bad-run", f"these are not the terms of a run: {error}", hint=hint) from None
    if is_blank(started.objective) or _says_nothing(started.done_definition):
        raise SlicebaseError("bad-run", "a run needs an objective and a definition of done")
    if is_blank(started.provenance_mode):
        raise SlicebaseError(
            "bad-run", "the provenance mode is empty", hint=f"the usual one is {DEFAULT_PROVENANCE_MODE}"
        )
    budgets_of(started.done_definition)
    if started.forked_from is None:  # a fork has the same terms, also if they were made before there were guards
        read_guards(started.done_definition)
    refused = _refused_terms(payload)
    if refused is not None:
        raise SlicebaseError("bad-run", f"the gate would refuse these terms: {refused.name}: {refused.message}")
    return started


_FIRST = LogHead("-")
_ANY_TIME = "1970-01-01T00:00:00.000Z"


def _refused_terms(payload: Mapping[str, Json]) -> CheckResult | None:
    """Returns the first of the gate's own checks that a run with these terms and no other event would fail."""
    event, _ = append(_FIRST, EventDraft(type="RUN_STARTED", payload=dict(payload)), _ANY_TIME)
    snapshot = build(fold(RunState(_FIRST.run_id), [event]), _ANY_TIME)
    started = msgspec.convert(event.payload, RunStarted)  # as it is read back, where 5.0 is 5
    results = check(snapshot, Inputs(started, None, _FIRST, (event,), {}, {}))
    return next((result for result in results if result.status == "FAIL"), None)


def _says_nothing(done: DoneDefinition) -> bool:
    """Returns whether nothing can be seen in a definition of done. Budgets and guards do not say what is done."""
    if not isinstance(done, dict):
        return is_blank(done)
    return not any(_says(done[name]) for name in done if name not in ("budgets", GUARDS) and not is_blank(name))


def _says(value: Json) -> bool:
    """Returns whether something can be seen in a value: a number, true or false, or a text that is not blank."""
    if isinstance(value, dict | list):
        return any(map(_says, value.values() if isinstance(value, dict) else value))
    return value is not None and not is_blank(value)


_WRITTEN_BY = {
    **dict.fromkeys((STEP_BEGUN, STEP_ENDED), "`runs.step` and `runs.begin_step` write it"),
    "INHERITED": "`tt run fork` writes it",
    LOOP_ALLOWED: "`tt run allow-loop` writes it",
}


def admit(draft: EventDraft, started: RunStarted) -> EventDraft:
    """Returns the event to log for an agent's draft.

    This is the draft itself, or a REFUSED event for an attempt to change the run's terms. Raises an error for types
    that only Slicebase writes.
    """
    if draft.type == "RUN_STARTED":
        terms = msgspec.to_builtins(started)
        changed = tuple(name for name in NEVER_CHANGES if not same(draft.payload.get(name, terms[name]), terms[name]))
        refused = Refused(what=changed, attempted={name: draft.payload[name] for name in changed})
        return EventDraft.of("REFUSED", refused, step=draft.step, time=draft.time)
    if not TYPES.get(draft.type, VERBOSE).agent:
        raise SlicebaseError(
            "reserved-event",
            f"a {draft.type} event cannot be logged",
            hint=_WRITTEN_BY.get(draft.type, "`tt run compact` and `tt run stop` write it"),
        )
    return draft


def check_before_logging(
    draft: EventDraft,
    state: RunState,
    evidence: Mapping[str, Evidence],
    manifests: ManifestsLogged,
    now: str,
    condition: Callable[[Evidence], QuoteCondition] = lambda evidence: "found",
) -> None:
    """Raises an error if the gate would refuse the state with this event as its only change.

    The checks are the gate's own. They run on a small run that has only the item of this event.
    """
    base = build(RunState(state.run_id, "-", "-", "-", **_only_item(draft, state)), now)
    head = LogHead(state.run_id)
    event, _ = append(head, draft, now)
    snapshot = build(fold(from_snapshot(base), [event]), now)
    started = RunStarted(objective="-", done_definition="-")
    for result in check(snapshot, Inputs(started, base, head, (event,), evidence, manifests, condition)):
        if result.status == "FAIL":
            raise SlicebaseError("gate-would-refuse", f"{result.name}: {result.message}")


def _only_item(draft: EventDraft, state: RunState) -> dict[str, Any]:
    """Returns the current version of the item that a draft changes, in its collection."""
    kind = ITEMS.get(draft.type)
    if kind is None:
        return {}
    item_id = draft.payload.get(kind.id)
    items = getattr(state, kind.collection)
    known = isinstance(item_id, str) and item_id in items
    return {kind.collection: {item_id: items[item_id]} if known else {}}
