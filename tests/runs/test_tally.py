"""Where a run stands, counted along the way."""

from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.runs.budget import spent
from slicebase.runs.event import Draft, Head, append_all
from slicebase.runs.gate import stopped
from slicebase.runs.state import State, fold
from slicebase.runs.tally import Tally, tally_of
from tests.runs.made import NOW, RUN, claim

some_drafts = st.lists(
    st.one_of(
        st.builds(lambda step: Draft(type="ACT_DONE", step=step, payload={"cost": 0.5}), st.integers(0, 4)),
        st.builds(lambda step: Draft(type="CHATTER", step=step, time="2026-01-01T00:00:05.000Z"), st.integers(0, 4)),
        st.sampled_from([Draft(type="SNAPSHOT", payload={"status": status}) for status in ("PASS", "FAIL")]),
        st.just(claim()),
    ),
    max_size=25,
)


@settings(max_examples=100, deadline=None)
@given(some_drafts)
def test_a_tally_agrees_with_the_fold_and_with_what_is_spent(drafts: list[Draft]) -> None:
    events, head = append_all(Head(RUN), drafts, NOW)
    tally, state = tally_of(RUN, events), fold(State(RUN), events)
    assert tally.head == head
    assert (tally.sequence, tally.counted, tally.steps) == (state.sequence, state.counted, len(state.steps))
    assert tally.spent == spent(events)


def test_a_tally_knows_that_a_run_has_stopped() -> None:
    events, _ = append_all(Head(RUN), [stopped("NO_EVIDENCE")], NOW)
    assert tally_of(RUN, events).stopped == "NO_EVIDENCE"
    assert Tally(RUN).stopped is None
