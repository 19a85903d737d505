"""The checklist of §11, one test or more for each box, and the comparison of two exports."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slicebase.graph.export import Difference, SliceExport, checklist, compare, read_export
from slicebase.graph.policy import DEFAULT, SlicePolicyV1, policy_from
from tests.graph.graphs import edge, golden, tid

POLICY = policy_from(golden("export")["policy"])


@pytest.fixture
def export() -> SliceExport:
    return read_export(golden("export")["export"].encode())


def found(export: SliceExport, policy: SlicePolicyV1 | None = POLICY, expected: str | None = None) -> list[str]:
    return [finding.check for finding in checklist(export, policy, expected)]


def renamed(export: SliceExport) -> SliceExport:
    """Returns the export with the slice_id that matches its contents."""
    return replace(export, slice_id=export.fingerprint)


def test_a_good_export_has_no_findings(export: SliceExport) -> None:
    assert found(export, POLICY, export.slice_id) == []


def test_box_1_the_slice_id_matches_the_contents(export: SliceExport) -> None:
    assert found(replace(export, slice_id="0" * 16)) == ["slice-id"]
    assert found(replace(export, turns=export.turns[1:])) == ["slice-id", "edges", "edges", "edges"]


def test_box_1_the_slice_id_is_the_expected_one(export: SliceExport) -> None:
    (finding,) = checklist(export, POLICY, "0" * 16)
    assert (finding.check, finding.expected, finding.found) == ("slice-id", "0" * 16, export.slice_id)


def test_box_2_the_policy_is_known(export: SliceExport) -> None:
    assert found(renamed(replace(export, policy_id="slice_policy_v2"))) == ["policy-id"]


def test_box_3_the_budget_is_kept(export: SliceExport) -> None:
    smaller = policy_from({"max_nodes": len(export.turns) - 1})
    assert found(renamed(replace(export, policy_params_hash=smaller.params_hash)), smaller) == ["budget"]


def test_box_3_needs_the_policy_that_made_the_export(export: SliceExport) -> None:
    assert found(export, DEFAULT) == ["policy-params-hash"]
    assert found(export, None) == []


def test_box_4_the_anchor_is_among_the_turns(export: SliceExport) -> None:
    assert found(renamed(replace(export, anchor_turn_id=tid(999)))) == ["anchor"]


def test_box_5_edges_stay_inside(export: SliceExport) -> None:
    outside = edge(2, 999)
    (finding,) = checklist(renamed(replace(export, edges=(*export.edges, outside))), POLICY)
    assert finding.check == "edges"
    assert finding.found == {"parent": tid(2), "child": tid(999), "edge_type": "reply"}


def test_the_same_export_does_not_differ(export: SliceExport) -> None:
    assert compare(export, export) == ()


def test_a_comparison_reports_order_and_duplicates(export: SliceExport) -> None:
    reversed_ = replace(export, turns=export.turns[::-1], edges=export.edges[::-1])
    assert [each.place for each in compare(reversed_, export)] == ["the order of turns", "the order of edges"]
    twice = replace(export, turns=(*export.turns, export.turns[0]))
    assert [each.place for each in compare(twice, export)] == [f"turns[{export.turns[0].id}]#2"]


@settings(max_examples=40)
@given(st.permutations(range(8)), st.lists(st.integers(0, 11), max_size=14))
def test_nothing_differs_exactly_where_the_bytes_are_the_same(turns: list[int], edges: list[int]) -> None:
    export = read_export(golden("export")["export"].encode())
    other = replace(
        export, turns=tuple(export.turns[n] for n in turns), edges=tuple(export.edges[n] for n in edges) or export.edges
    )
    assert (compare(other, export) == ()) == (other.to_bytes() == export.to_bytes())


def test_a_comparison_names_fields_turns_and_edges(export: SliceExport) -> None:
    changed = replace(export.turns[0], salience=0.5)
    other = replace(export, turns=(changed, *export.turns[1:-1]), edges=export.edges[1:], slice_id="0" * 16)
    differences = {each.place: each for each in compare(export, other)}
    lost = export.edges[0]
    assert differences.keys() == {
        "slice_id",
        f"turns[{changed.id}].salience",
        f"turns[{export.turns[-1].id}]",
        f"edges[{lost.parent} {lost.child} {lost.edge_type}]",
    }
    place = f"turns[{changed.id}].salience"
    assert differences[place] == Difference(place, export.turns[0].salience, 0.5)
    assert differences[f"turns[{export.turns[-1].id}]"].derived is None
    assert {each.place for each in compare(other, export)} == differences.keys()
