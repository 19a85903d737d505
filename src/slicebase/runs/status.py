"""Where a run stands, for people and programs (`tt run status`)."""

from typing import Any

from slicebase.runs.budget import budgets_of
from slicebase.runs.gate import Thresholds, is_due
from slicebase.runs.metrics import Metrics
from slicebase.runs.records import Budgets, DoneDefinition, Record, RunStarted
from slicebase.runs.state import State
from slicebase.runs.tally import Tally


class Progress(Record, frozen=True):
    """Towards the next compaction."""

    counted_events: int
    event_threshold: int
    steps: int
    step_threshold: int
    due: bool


class Coverage(Record, frozen=True):
    sources_seen: int
    chunks_seen: int
    chunks_cited: int


class RunStatus(Record, frozen=True):
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
    metrics: Metrics


def status_of(tally: Tally, terms: RunStarted, state: State, metrics: Metrics, thresholds: Thresholds) -> RunStatus:
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
        budgets=budgets_of(terms.done_definition),
        metrics=metrics,
    )


def _open(items: Any) -> tuple[dict[str, Any], ...]:
    return tuple(dict(item) for item in items if item.get("status") == "open")
