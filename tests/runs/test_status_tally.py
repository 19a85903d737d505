"""The tally of a run, updated with every event."""

from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.runs.event import EventDraft, LogHead
from slicebase.runs.gate import spent, stopped
from slicebase.runs.state import RunState, fold
from slicebase.runs.status import RunTally, tally_of
from tests.runs.made import NOW, RUN, append_all, claim

some_drafts = st.lists(
    st.one_of(
        st.builds(lambda step: EventDraft(type="ACT_DONE", step=step, payload={"cost": 0.5}), st.integers(0, 4)),
        st.builds(
            lambda step: EventDraft(type="CHATTER", step=step, time="2026-01-01T00:00:05.000Z"), st.integers(0, 4)
        ),
        st.sampled_from([EventDraft(type="SNAPSHOT", payload={"status": status}) for status in ("PASS", "FAIL")]),
        st.just(claim()),
    ),
    max_size=25,
)


@settings(max_examples=100, deadline=None)
@given(some_drafts)
def test_a_tally_agrees_with_the_fold_and_with_what_is_spent(drafts: list[EventDraft]) -> None:
    events, head = append_all(LogHead(RUN), drafts, NOW)
    tally, state = tally_of(RUN, events), fold(RunState(RUN), events)
    assert tally.head == head
    assert (tally.sequence, tally.counted, tally.steps) == (state.sequence, state.counted, len(state.steps))
    assert tally.spent == spent(events)


def test_a_tally_knows_that_a_run_has_stopped() -> None:
    events, _ = append_all(LogHead(RUN), [stopped("NO_EVIDENCE")], NOW)
    assert tally_of(RUN, events).stopped == "NO_EVIDENCE"
    assert RunTally(RUN).stopped is None
