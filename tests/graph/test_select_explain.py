"""Why turns are in a slice and why others are not."""

from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.graph.policy import SlicePolicyV1, policy_from
from slicebase.graph.select import UnselectedReason, explain, select
from tests.graph.graphs import Graph, graph, graphs, policies, tid, turn


def reasons(given: Graph, anchor: int, policy: SlicePolicyV1) -> dict[str, UnselectedReason]:
    return {out.candidate.turn_id: out.reason for out in explain(given.plain, tid(anchor), policy).left_out}


def test_turns_that_wait_when_the_budget_is_used_up_are_left_out_for_the_budget() -> None:
    given = graph([turn(1), turn(2, "synthesis"), turn(3)], (1, 2), (1, 3))
    explanation = explain(given.plain, tid(1), policy_from({"max_nodes": 2}))
    (out,) = explanation.left_out
    assert (out.reason, out.candidate.turn_id, out.candidate.reached_from) == ("budget", tid(3), tid(1))
    assert [chosen.turn_id for chosen in explanation.selected] == [tid(1), tid(2)]


def test_neighbours_beyond_the_radius_are_left_out_for_the_radius() -> None:
    given = graph([turn(1), turn(2), turn(3), turn(4)], (1, 2), (2, 3), (3, 4))
    assert reasons(given, 2, policy_from({"max_radius": 0})) == {tid(1): "radius", tid(3): "radius"}
    assert reasons(given, 3, policy_from({"max_radius": 1})) == {tid(1): "radius"}


def test_siblings_at_the_radius_are_left_out_for_the_radius() -> None:
    given = graph([turn(1), turn(2), turn(3)], (1, 2), (1, 3))
    assert reasons(given, 2, policy_from({"max_radius": 0})) == {tid(1): "radius", tid(3): "radius"}


def test_siblings_beyond_the_limit_are_left_out_for_the_limit() -> None:
    turns = [turn(1), turn(2), turn(3, salience=0.4), turn(4, salience=0.3)]
    given = graph(turns, (1, 2), (1, 3), (1, 4))
    limited = policy_from({"max_siblings_per_node": 1, "max_radius": 1})
    assert reasons(given, 2, limited) == {tid(4): "sibling limit"}
    without = policy_from({"include_siblings": False, "max_radius": 1})
    assert reasons(given, 2, without) == {tid(3): "sibling limit", tid(4): "sibling limit"}


@settings(max_examples=40)
@given(graphs(), policies(), st.data())
def test_an_explanation_covers_the_selection_and_ranks_the_rest(
    given: Graph, policy: SlicePolicyV1, data: st.DataObject
) -> None:
    anchor = data.draw(st.sampled_from(given.turns)).id
    explanation = explain(given.plain, anchor, policy, most=5)
    assert explanation.selected == select(given.plain, anchor, policy)
    assert explanation == explain(given.compact, anchor, policy, most=5)
    out = [left_out.candidate for left_out in explanation.left_out]
    assert len(out) <= 5
    assert out == sorted(out)
    assert not {c.turn_id for c in out} & {c.turn_id for c in explanation.selected}
    if len(explanation.selected) < policy.max_nodes:
        assert all(left_out.reason != "budget" for left_out in explanation.left_out)
