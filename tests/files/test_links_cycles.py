"""Cycles in a directed graph."""

from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.links import reach, rings


def test_nodes_that_reach_each_other_are_a_cycle() -> None:
    assert rings({"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": ["e"], "e": []}) == [("a", "b", "c")]


def test_a_node_that_points_at_itself_is_a_cycle_of_one() -> None:
    assert rings({"a": ["a"], "b": ["a"]}) == [("a",)]


def test_a_chain_of_any_length_has_no_cycle() -> None:
    assert rings({str(n): [str(n + 1)] for n in range(50_000)}) == []


def test_reach_stops_at_what_it_must_avoid() -> None:
    graph = {"a": ["b"], "b": ["c"], "c": ["a"]}
    assert reach(graph, ["a"]) == {"a", "b", "c"}
    assert reach(graph, ["a"], without={"b"}) == {"a"}
    assert reach(graph, ["unknown"]) == {"unknown"}


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3)))
def test_two_nodes_share_a_ring_exactly_when_they_reach_each_other(graph: dict[str, list[str]]) -> None:
    ring_of = {node: ring for ring in rings(graph) for node in ring}
    for one in "abcdef":
        for other in "abcdef":
            there = other in reach(graph, graph.get(one, ()))
            back = one in reach(graph, graph.get(other, ()))
            assert (one in ring_of and ring_of[one] == ring_of.get(other)) == (there and back)
