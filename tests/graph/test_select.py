"""The expansion (§5), its ties and its invariants (§7), for the plain and the fast version."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slicebase.errors import SlicebaseError
from slicebase.graph.policy import DEFAULT, SlicePolicyV1, policy_from
from tests.graph.graphs import Graph, edge, graph, graphs, policies, tid, turn
from tests.graph.slicers import KERNELS, Fast, Plain, Slicer

FEW = settings(max_examples=30)
TWINS = st.sampled_from([Plain(), *map(Fast, KERNELS)])


def order(slicer: Slicer, given: Graph, anchor: int, policy: SlicePolicyV1 = DEFAULT) -> list[int]:
    return [int(candidate.turn_id[-12:], 16) for candidate in slicer.select(given, tid(anchor), policy)]


def test_the_anchor_comes_first_and_the_best_neighbour_next(slicer: Slicer) -> None:
    given = graph([turn(1, "exploration"), turn(2, "debugging"), turn(3, "synthesis")], (1, 2), (2, 3))
    assert order(slicer, given, 2) == [2, 3, 1]


def test_a_selected_turn_names_the_turn_it_was_reached_from(slicer: Slicer) -> None:
    given = graph([turn(1), turn(2), turn(3), turn(4)], (1, 2), (2, 3), (1, 4))
    found = {c.turn_id: (c.distance, c.reached_from, c.reached_as) for c in slicer.select(given, tid(2), DEFAULT)}
    assert found == {
        tid(2): (0, None, "anchor"),
        tid(1): (1, tid(2), "parent"),
        tid(3): (1, tid(2), "child"),
        tid(4): (0, tid(2), "sibling"),
    }


def test_equal_priorities_go_by_distance_and_then_by_id(slicer: Slicer) -> None:
    """§5.3, ruling 9. Without decay, distance does not change the priority."""
    flat = policy_from({"distance_decay": 1.0, "include_siblings": False})
    given = graph([turn(n) for n in (5, 1, 9, 3)], (5, 1), (1, 3), (5, 9))
    assert order(slicer, given, 5, flat) == [5, 1, 9, 3]


def test_priorities_that_rounding_makes_equal_go_by_id(slicer: Slicer) -> None:
    """Rulings 8 and 9: two base scores that differ in the last bit have the same priority farther from the anchor."""
    near, nearer = 0.5, 0.5 + 2.0**-24
    given = graph([turn(1), turn(2, salience=near), turn(3, salience=nearer)], (1, 2), (1, 3))
    assert order(slicer, given, 1, policy_from({"distance_decay": 0.0})) == [1, 2, 3]


def test_siblings_keep_the_distance_at_which_they_were_found(slicer: Slicer) -> None:
    """§4.1."""
    given = graph([turn(1), turn(2), turn(3)], (1, 2), (1, 3))
    distances = {c.turn_id: c.distance for c in slicer.select(given, tid(2), DEFAULT)}
    assert distances == {tid(2): 0, tid(1): 1, tid(3): 0}


def test_the_sibling_limit_takes_the_most_salient_before_visited_ones_are_dropped(slicer: Slicer) -> None:
    """Ruling 10: turn 4 is also a child of the anchor, and still uses the only place."""
    turns = [turn(1), turn(2), turn(3, salience=0.2), turn(4, salience=0.9)]
    given = graph(turns, (1, 2), (1, 3), (1, 4), (2, 4))
    limited = policy_from({"max_siblings_per_node": 1, "max_radius": 1})
    assert sorted(order(slicer, given, 2, limited)) == [1, 2, 4]


def test_siblings_come_from_all_parents(slicer: Slicer) -> None:
    """Ruling 10: both families are one list, and the limit counts for that list."""
    turns = [turn(1), turn(2), turn(3), turn(4, salience=0.8), turn(5, salience=0.6), turn(6, salience=0.7)]
    given = graph(turns, (1, 3), (2, 3), (1, 4), (2, 5), (2, 6))
    found = slicer.select(given, tid(3), policy_from({"max_siblings_per_node": 2, "max_radius": 1}))
    assert {c.turn_id for c in found if c.reached_as == "sibling" and c.reached_from == tid(3)} == {tid(4), tid(6)}


def test_equally_salient_siblings_go_by_id(slicer: Slicer) -> None:
    """Ruling 10."""
    given = graph([turn(n) for n in (1, 5, 4, 3, 2)], (1, 2), (1, 3), (1, 4), (1, 5))
    found = slicer.select(given, tid(5), policy_from({"max_siblings_per_node": 2, "max_radius": 1}))
    assert {c.turn_id for c in found if c.reached_from == tid(5)} == {tid(1), tid(2), tid(3)}


def test_no_siblings_where_the_policy_excludes_them(slicer: Slicer) -> None:
    given = graph([turn(1), turn(2), turn(3)], (1, 2), (1, 3))
    assert sorted(order(slicer, given, 2, policy_from({"include_siblings": False, "max_radius": 1}))) == [1, 2]


def test_the_first_discovery_sets_the_distance(slicer: Slicer) -> None:
    """Ruling 11: turn 4 is found from 3 at distance 2 before the shorter path through 2 is followed."""
    turns = [turn(1), turn(2, "exploration", 0.0), turn(3, "synthesis"), turn(4), turn(5, "synthesis")]
    given = graph(turns, (1, 2), (1, 3), (3, 5), (5, 4), (2, 4))
    policy = policy_from({"include_siblings": False})
    assert {c.turn_id: c.distance for c in slicer.select(given, tid(1), policy)}[tid(4)] == 3


def test_radius_zero_is_the_anchor_alone(slicer: Slicer) -> None:
    """§3.1."""
    given = graph([turn(1), turn(2), turn(3)], (1, 2), (1, 3))
    assert order(slicer, given, 2, policy_from({"max_radius": 0})) == [2]


def test_an_edge_out_of_the_session_is_not_followed(slicer: Slicer) -> None:
    """Ruling 13."""
    given = Graph((turn(1),), (edge(1, 2), edge(3, 1)))
    assert order(slicer, given, 1) == [1]
    assert slicer.context_slice(given, tid(1), DEFAULT).contents.edges == ()


def test_an_unknown_anchor_is_not_found(slicer: Slicer) -> None:
    for anchor in (tid(0), tid(2), tid(9), ""):
        with pytest.raises(SlicebaseError) as caught:
            slicer.select(graph([turn(1), turn(3)]), anchor, DEFAULT)
        assert caught.value.code == "no-turn"


@FEW
@given(graphs(), policies(), TWINS, st.data())
def test_the_anchor_is_always_included(
    given: Graph, policy: SlicePolicyV1, slicer: Slicer, data: st.DataObject
) -> None:
    """§7.1."""
    anchor = data.draw(st.sampled_from(given.turns)).id
    assert slicer.select(given, anchor, policy)[0].turn_id == anchor
    assert anchor in {turn.id for turn in slicer.context_slice(given, anchor, policy).contents.turns}


@FEW
@given(graphs(), policies(), TWINS, st.data())
def test_budget_and_radius_are_kept(given: Graph, policy: SlicePolicyV1, slicer: Slicer, data: st.DataObject) -> None:
    """§7.2, distances as ruling 11 has them."""
    selected = slicer.select(given, data.draw(st.sampled_from(given.turns)).id, policy)
    assert len(selected) <= policy.max_nodes
    assert all(candidate.distance <= policy.max_radius for candidate in selected)


@FEW
@given(graphs(), policies(), TWINS, st.data())
def test_the_same_graph_gives_the_same_bytes_in_whatever_order_it_came(
    given: Graph, policy: SlicePolicyV1, slicer: Slicer, data: st.DataObject
) -> None:
    """§7.3."""
    anchor = data.draw(st.sampled_from(given.turns)).id
    turns, edges = data.draw(st.permutations(given.turns)), data.draw(st.permutations([*given.edges, *given.edges[:2]]))
    shuffled = Graph(tuple(turns), tuple(edges))
    assert slicer.context_slice(given, anchor, policy) == slicer.context_slice(shuffled, anchor, policy)


@FEW
@given(graphs(), policies(), TWINS, st.data())
def test_edges_are_all_those_between_selected_turns(
    given: Graph, policy: SlicePolicyV1, slicer: Slicer, data: st.DataObject
) -> None:
    """§7.4, and none is missing."""
    export = slicer.context_slice(given, data.draw(st.sampled_from(given.turns)).id, policy).contents
    turns = {turn.id for turn in export.turns}
    assert set(export.edges) == {edge for edge in given.edges if {edge.parent, edge.child} <= turns}
    assert list(export.edges) == sorted(set(export.edges))


@FEW
@given(graphs(), policies(), TWINS, st.data())
def test_a_larger_budget_selects_the_same_turns_first(
    given: Graph, policy: SlicePolicyV1, slicer: Slicer, data: st.DataObject
) -> None:
    anchor = data.draw(st.sampled_from(given.turns)).id
    larger = replace(policy, max_nodes=policy.max_nodes + 5)
    selected = slicer.select(given, anchor, policy)
    assert slicer.select(given, anchor, larger)[: len(selected)] == selected
