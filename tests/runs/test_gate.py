"""Compaction as a gate: trigger, retry, SYSTEM_ERROR ("Stop semantics", "Compaction trigger", ruling 40)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.runs.event import EventDraft
from slicebase.runs.gate import DEFAULT_THRESHOLDS, Thresholds, compact, is_due, stopped
from slicebase.runs.snapshot import typed
from slicebase.runs.state import RunState, fold
from tests.runs.made import FULL, NOW, RUN, claim, compacted, conflict, cycle, inputs, log


def due(*drafts: EventDraft, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> bool:
    state = fold(RunState(RUN), log(*drafts))
    return is_due(state.counted, len(state.steps), thresholds)


def steps(count: int) -> list[EventDraft]:
    return [draft for step in range(count) for draft in cycle(step)]


def test_a_compaction_is_due_at_18_counted_events() -> None:
    assert not due(*steps(5), *cycle(5)[:2])
    assert due(*steps(6))


def test_a_compaction_is_due_at_8_steps() -> None:
    acts = [EventDraft(type="ACT_DONE", step=step) for step in range(8)]
    assert not due(*acts[:7], *acts[:7])
    assert due(*acts)


def test_thresholds_can_be_changed() -> None:
    assert due(*cycle(1), thresholds=Thresholds(counted_events=3))
    assert due(*cycle(1), *cycle(2), thresholds=Thresholds(steps=2))
    assert not due(*steps(7), thresholds=Thresholds(counted_events=100))


@given(st.lists(st.tuples(st.integers(0, 18), st.sampled_from(["TOKEN", "CLAIM", "SOURCE", "act_done"])), max_size=30))
def test_events_that_are_not_terminal_change_nothing(verbose: list[tuple[int, str]]) -> None:
    counted = steps(6)
    for count in (17, 18):
        mixed = counted[:count]
        for place, name in verbose:
            mixed.insert(min(place, len(mixed)), EventDraft(type=name, step=99 + place))
        assert due(*mixed) == (count == 18)


def test_a_compaction_that_passes_records_its_snapshot() -> None:
    compaction = compacted(*FULL)
    assert compaction.passed
    assert compaction.snapshot["validation"]["failure_action_taken"] == "NONE"
    (recorded,) = compaction.drafts
    assert recorded.type == "SNAPSHOT"
    assert recorded.payload["snapshot_id"] == compaction.snapshot["snapshot_id"]
    assert recorded.payload["status"] == "PASS"
    typed(compaction.snapshot)


def test_after_a_first_failure_the_inputs_are_read_again() -> None:
    bad, good = inputs(*FULL)._replace(evidence={}), inputs(*FULL)
    answers = iter([bad, good])
    compaction = compact(lambda: next(answers), NOW)
    assert compaction.passed
    assert compaction.snapshot["validation"]["failure_action_taken"] == "RETRY"
    assert [draft.type for draft in compaction.drafts] == ["SNAPSHOT"]


def test_a_second_failure_stops_the_run_with_a_diagnosis() -> None:
    answers = iter([inputs(claim(refs=[]))] * 2)
    compaction = compact(lambda: next(answers), NOW)
    assert not compaction.passed
    validation = compaction.snapshot["validation"]
    assert (validation["status"], validation["failure_action_taken"]) == ("FAIL", "SYSTEM_ERROR")
    snapshot, stop = compaction.drafts
    assert (snapshot.type, snapshot.payload["status"]) == ("SNAPSHOT", "FAIL")
    assert (stop.type, stop.payload["reason"]) == ("RUN_STOPPED", "SYSTEM_ERROR")
    assert "verified_claims_cited" in stop.payload["message"]
    assert next(answers, None) is None


def test_a_diagnosis_names_every_check_that_failed() -> None:
    compaction = compacted(claim(refs=[]), conflict(side_a=[]))
    assert "verified_claims_cited" in compaction.diagnosis
    assert "conflicts_two_sided" in compaction.diagnosis


def test_a_failed_compaction_gives_the_reason_that_stopped_the_run() -> None:
    state = fold(RunState(RUN), log(stopped("HUMAN_REQUESTED", "lunch")))
    assert state.stopped == "HUMAN_REQUESTED"


@pytest.mark.parametrize("count", [0, 1])
def test_a_compaction_may_be_asked_for_at_any_time(count: int) -> None:
    assert compacted(*cycle(1)[:count]).passed
