"""Compaction as a gate: when it is due, what it demands, and how a run stops ("Stop semantics", ruling 40)."""

from collections.abc import Callable
from typing import NamedTuple

from slicebase.runs.checks import Inputs, check
from slicebase.runs.event import Draft
from slicebase.runs.records import CheckResult, FailureAction, Record, RunStopped, SnapshotLogged, StopReason
from slicebase.runs.snapshot import build, snapshot_digest, validated
from slicebase.runs.state import Json, State, fold, from_snapshot


class Thresholds(Record, frozen=True):
    """When a compaction is due ("MVP defaults")."""

    counted_events: int = 18
    steps: int = 8


DEFAULT_THRESHOLDS = Thresholds()


def is_due(counted: int, steps: int, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> bool:
    """For the counted events and distinct steps since the last snapshot."""
    return counted >= thresholds.counted_events or steps >= thresholds.steps


class Compaction(NamedTuple):
    """A snapshot and the events that record it. One that did not pass stops the run."""

    snapshot: dict[str, Json]
    drafts: tuple[Draft, ...]

    @property
    def digest(self) -> str:
        """The whole digest behind the snapshot's id."""
        return str(self.drafts[0].payload["digest"])

    @property
    def passed(self) -> bool:
        return bool(self.snapshot["validation"]["status"] == "PASS")

    @property
    def diagnosis(self) -> str:
        """The checks that failed, with what they found."""
        failed = (result for result in self.snapshot["validation"]["checks"] if result["status"] == "FAIL")
        return "; ".join(f"{result['name']}: {result['message']}" for result in failed)


def compact(read: Callable[[], Inputs], created_at: str) -> Compaction:
    """Takes a snapshot, and a second time where the first fails.

    The inputs are read anew for the retry. The same log gives the same snapshot, so a retry mends what went wrong in
    reading, and nothing else.
    """
    action: FailureAction
    for action in ("NONE", "RETRY"):
        snapshot, results = _attempt(read(), created_at)
        if all(result.status == "PASS" for result in results):
            return _recorded(validated(snapshot, results, action))
    return _recorded(validated(snapshot, results, "SYSTEM_ERROR"))


def state_of(inputs: Inputs) -> State:
    """The state that a compaction of these inputs records."""
    before = from_snapshot(inputs.previous) if inputs.previous is not None else State(inputs.head.run_id)
    return fold(before, inputs.events)


def _attempt(inputs: Inputs, created_at: str) -> tuple[dict[str, Json], tuple[CheckResult, ...]]:
    snapshot = build(state_of(inputs), created_at)
    return snapshot, check(snapshot, inputs)


def _recorded(snapshot: dict[str, Json]) -> Compaction:
    logged = SnapshotLogged(
        snapshot_id=snapshot["snapshot_id"],
        sequence=snapshot["sequence"],
        status=snapshot["validation"]["status"],
        digest=snapshot_digest(snapshot),
    )
    time = snapshot["created_at"]
    compaction = Compaction(snapshot, (Draft.of("SNAPSHOT", logged, time=time),))
    if compaction.passed:
        return compaction
    return compaction._replace(drafts=(*compaction.drafts, stopped("SYSTEM_ERROR", compaction.diagnosis, time=time)))


def stopped(reason: StopReason, message: str = "", time: str | None = None) -> Draft:
    return Draft.of("RUN_STOPPED", RunStopped(reason=reason, message=message), time=time)
