"""The reasons of turns that are looked at are those of a complete explanation."""

from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.graph.policy import SlicePolicyV1, policy_from
from slicebase.graph.reasons import Families, PassedOver
from slicebase.graph.select import explain, select
from tests.graph.graphs import Graph, graph, graphs, policies, tid, turn


@settings(max_examples=150)
@given(graphs(), policies(), st.data())
def test_the_reasons_are_those_of_an_explanation(given: Graph, policy: SlicePolicyV1, data: st.DataObject) -> None:
    anchor = data.draw(st.sampled_from(given.turns)).id
    seen = data.draw(st.lists(st.sampled_from(given.turns), unique_by=lambda turn: turn.id))
    complete = {
        each.candidate.turn_id: each for each in explain(given.plain, anchor, policy, most=len(given.turns)).left_out
    }
    expected = [complete[each.id] for each in seen if each.id in complete]
    for form in (given.plain, given.compact):
        families = Families(form, policy.max_siblings_per_node)
        left_out = PassedOver(families, select(families, anchor, policy), policy)
        assert left_out.reasons([each.id for each in seen]) == expected


@given(graphs(), st.integers(0, 4))
def test_families_that_are_sorted_once_have_the_same_siblings(given: Graph, limit: int) -> None:
    """Asked in any order: the first turn of a family that is asked for sorts it."""
    for form in (given.plain, given.compact):
        for turns in (given.turns, given.turns[::-1]):
            families = Families(form, limit)
            for each in turns:
                siblings = form.siblings(each.id, limit)
                assert list(families.siblings(each.id, limit)) == list(siblings)
                assert {other.id for other in given.turns if families.are_siblings(each.id, other.id)} == {*siblings}


def test_a_turn_that_no_selected_one_is_beside_has_no_reason() -> None:
    given = graph([turn(1), turn(2), turn(3), turn(4)], (1, 2), (2, 3), (3, 4))
    policy = policy_from({"max_nodes": 1})
    families = Families(given.plain, policy.max_siblings_per_node)
    left_out = PassedOver(families, select(families, tid(1), policy), policy)
    (only,) = left_out.reasons([tid(1), tid(2), tid(3), tid(4)])
    assert (only.candidate.turn_id, only.reason) == (tid(2), "budget")
