"""Every golden vector: the order of selection, turns, edges, both hashes, and one export to the byte."""

import pytest
from msgspec import to_builtins

from slicebase.graph.policy import policy_from
from tests.graph.graphs import GOLDEN_GRAPHS, golden, golden_graph
from tests.graph.slicers import Slicer


def test_all_golden_graphs_are_here() -> None:
    assert len(GOLDEN_GRAPHS) == 9


@pytest.mark.parametrize("name", GOLDEN_GRAPHS)
def test_a_golden_graph_gives_its_slices(name: str, slicer: Slicer) -> None:
    graph = golden_graph(name)
    for case in golden(name)["cases"]:
        policy = policy_from(case["policy"])
        selected = slicer.select(graph, case["anchor_turn_id"], policy)
        made = slicer.context_slice(graph, case["anchor_turn_id"], policy)
        assert [candidate.turn_id for candidate in selected] == case["selection_order"]
        assert [turn.id for turn in made.contents.turns] == case["turn_ids"]
        assert to_builtins(list(made.contents.edges)) == case["edges"]
        assert (made.policy_params_hash, made.slice_id) == (case["policy_params_hash"], case["slice_id"])


def test_the_golden_export_is_the_same_to_the_byte(slicer: Slicer) -> None:
    """Ruling 4."""
    vector = golden("export")
    graph = golden_graph(vector["graph"])
    made = slicer.context_slice(graph, vector["anchor_turn_id"], policy_from(vector["policy"]))
    assert made.export.decode() == vector["export"]
    assert made.export_hash == vector["export_hash"]
