"""What can be said about a run: its status, its report, and how long loops are allowed in it."""

from functools import partial

from slicebase.context.constraints import forgotten_constraints
from slicebase.errors import SlicebaseError, refuse_out_of_range
from slicebase.runs.event import Event
from slicebase.runs.evidence import Evidence
from slicebase.runs.gate import Thresholds
from slicebase.runs.report import RunReport, report_of
from slicebase.runs.state import RunState
from slicebase.runs.status import RunStatus, incidents_of, measure, status_of
from slicebase.runs.summary import RunSummary, summary_of
from slicebase.runs.values import is_blank
from slicebase.truth.run_writer import Logged
from slicebase.truth.runs import StoredRuns
from slicebase.verbs.parts import Parts


def run_status(
    parts: Parts, stored: StoredRuns, run_id: str, thresholds: Thresholds, interrupted: tuple[int, ...]
) -> RunStatus:
    """Returns the status of a run, of one moment."""
    with parts.truth.database.reading():
        events = list(stored.events(run_id))
        return _status(stored, events, run_id, thresholds, interrupted, stored.state(run_id, events))


def run_summary(
    parts: Parts, stored: StoredRuns, run_id: str, thresholds: Thresholds, interrupted: tuple[int, ...]
) -> RunSummary:
    """Returns a run at a glance, of one moment: its last snapshot and the events since, not its complete log."""
    with parts.truth.database.reading():
        tally, terms = stored.log.tally(run_id), stored.log.started(run_id)
        return summary_of(tally, terms, stored.state(run_id), thresholds, interrupted)


def _status(
    stored: StoredRuns,
    events: list[Event],
    run_id: str,
    thresholds: Thresholds,
    interrupted: tuple[int, ...],
    state: RunState,
) -> RunStatus:
    content = partial(stored.content, run_id)
    incidents = incidents_of(events, forgotten_constraints(events), thresholds.counted_events, content)
    metrics = measure(events, incidents)
    terms = stored.log.started(run_id)
    return status_of(stored.log.tally(run_id), terms, state, metrics, incidents, thresholds, interrupted)


def run_report(parts: Parts, stored: StoredRuns, run_id: str, thresholds: Thresholds) -> RunReport:
    """Returns the report of a run, of one moment."""

    def find(evidence_id: str) -> Evidence | None:
        try:
            return stored.ledger[evidence_id]
        except (KeyError, SlicebaseError):  # a report of what is left is more than none
            return None

    with parts.truth.database.reading():
        events = list(stored.events(run_id))
        state, latest = stored.state(run_id, events), stored.latest(run_id)
        status = _status(stored, events, run_id, thresholds, (), state)
        last = str(latest.snapshot["snapshot_id"]) if latest else None
        return report_of(status, state, events, last, find)


def allow_loop(
    stored: StoredRuns, run_id: str, reason: str, steps: int | None, seconds: float | None, now: int
) -> Logged:
    """Allows loops in a run for so many further steps or seconds, or for what ends first."""
    if is_blank(reason) or (steps is None and seconds is None):
        raise SlicebaseError("bad-arguments", "loops are allowed for a reason, and for some steps or seconds")
    refuse_out_of_range("steps", 1 if steps is None else steps, 1)
    refuse_out_of_range("seconds", 0 if seconds is None else seconds, 0)
    until = None if seconds is None else now + round(seconds * 1000)
    return stored.allow_loops(run_id, reason, steps, until, now)
