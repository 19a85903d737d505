"""A run at a glance: what its status says without its complete log, so that a long run is shown as fast as others."""

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from slicebase.core.times import known_time
from slicebase.runs.gate import Thresholds
from slicebase.runs.guards import Guards
from slicebase.runs.records import Budgets, DoneDefinition, Inherited, Record, RunStarted, Spending
from slicebase.runs.state import Json, RunState
from slicebase.runs.status import Coverage, Incidents, Progress, RunTally, measure, status_of


class RunSummary(Record, frozen=True):
    """A run at a glance. The fields that its status has, too, have the same names and values."""

    run_id: str
    objective: str
    done_definition: DoneDefinition
    provenance_mode: str
    forked_from: str | None
    inherited: Inherited | None
    projected_from: str | None  # the session whose turns are its events
    stopped: str | None
    started: str | None  # times of its first and its last event that has one
    updated: str | None
    events: int
    snapshots: int
    next_compaction: Progress
    claims: dict[str, int]  # by status
    conflicts: dict[str, int]
    failures: dict[str, int]
    questions: int
    coverage: Coverage
    budgets: Budgets
    guards: Guards
    near_limits: tuple[str, ...]
    spent: Spending
    interrupted_steps: tuple[int, ...]


def summary_of(
    tally: RunTally, terms: RunStarted, state: RunState, thresholds: Thresholds, interrupted: tuple[int, ...] = ()
) -> RunSummary:
    """Returns a run at a glance. Neither its incidents nor its metrics are part of it: they need the complete log."""
    status = status_of(tally, terms, state, measure(()), Incidents(), thresholds, interrupted)
    shared = {name: getattr(status, name) for name in RunSummary.__struct_fields__ if hasattr(status, name)}
    own: dict[str, Any] = {
        "projected_from": None if terms.projected_from is UNSET else terms.projected_from,
        "started": known_time(tally.started),
        "updated": known_time(tally.updated),
        "conflicts": _by_status(state.conflicts.values()),
        "failures": _by_status(state.failures.values()),
        "questions": len(state.open_questions),
    }
    return RunSummary(**{**shared, **own})


def _by_status(items: Iterable[Json]) -> dict[str, int]:
    counts = {"open": 0, "resolved": 0}
    for item in items:
        status = str(item.get("status"))
        counts[status] = counts.get(status, 0) + 1
    return counts
