"""Writing and reading the bytes of a SliceExport (§6, rulings 3 and 4)."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slicebase.core.hashing import xxh64
from slicebase.errors import SlicebaseError
from slicebase.graph.export import ContextSlice, exported, read_export
from slicebase.graph.policy import DEFAULT, SlicePolicyV1
from slicebase.graph.turn import Annotation, Turn
from tests.graph.graphs import Graph, edge, golden, graph, graphs, policies, tid, turn

EXPORT = golden("export")["export"].encode()


def made(given: Graph, anchor: int = 1) -> ContextSlice:
    return given.plain.context_slice(tid(anchor), DEFAULT)


def test_the_fingerprint_is_the_hash_of_ruling_3s_array() -> None:
    slice_ = made(graph([turn(2), turn(1)], (1, 2)))
    text = (
        f'["{tid(1)}",["{tid(1)}","{tid(2)}"],[{{"parent":"{tid(1)}","child":"{tid(2)}","edge_type":"reply"}}],'
        f'"slice_policy_v1","{DEFAULT.params_hash}","1.0.0"]'
    )
    assert slice_.slice_id == xxh64(text.encode())


def test_salience_changes_the_export_hash_but_not_the_slice_id() -> None:
    """Ruling 3."""
    one, other = made(graph([turn(1, salience=0.5)])), made(graph([turn(1, salience=0.6)]))
    assert one.slice_id == other.slice_id
    assert one.export_hash != other.export_hash


def test_keys_are_in_the_order_of_section_6_1() -> None:
    value = json.loads(EXPORT)
    assert list(json.loads(made(graph([turn(1), turn(2)], (1, 2))).export)) == list(value)
    assert list(json.loads(made(graph([turn(1)])).export)["turns"][0]) == list(value["turns"][0])


def test_a_sessions_name_is_escaped_as_json_requires() -> None:
    name = 'a "b" \\ \n \x01 é 😀'
    slice_ = made(graph([turn(1, session_id=name)]))
    assert '"session_id":"a \\"b\\" \\\\ \\n \\u0001 é 😀"' in slice_.export.decode()
    assert slice_.contents.turns[0].session_id == name


def test_a_lone_surrogate_is_refused() -> None:
    """Ruling 1."""
    with pytest.raises(SlicebaseError) as caught:
        made(graph([turn(1, session_id="\ud800")]))
    assert caught.value.code == "lone-surrogate"


def test_edges_sort_by_parent_child_and_the_name_of_their_type() -> None:
    """§6.2, ruling 12: the same edge twice is one, two types between the same turns are two."""
    edges = (edge(2, 3), edge(1, 2, "reply"), edge(1, 2, "branch"), edge(1, 2, "reply"), edge(1, 3, "default"))
    found = made(Graph((turn(1), turn(2), turn(3)), edges)).contents.edges
    assert found == (edge(1, 2, "branch"), edge(1, 2, "reply"), edge(1, 3, "default"), edge(2, 3))


def test_a_record_and_its_annotation_become_the_eleven_fields() -> None:
    record = Turn(tid(1), "s", "tool", (), 1704067200999, (), "sha256:0")
    annotation = Annotation(tid(1), "rules/1", "debugging", 0.25, 3, 1, 0.5, 0.75, 2.0)
    assert exported(record, annotation) == turn(
        1,
        "debugging",
        0.25,
        role="tool",
        trajectory_depth=3,
        trajectory_sibling_order=1,
        trajectory_temporal=0.75,
        trajectory_complexity=2.0,
    )


def test_seconds_before_1970_are_rounded_down() -> None:
    """Ruling 4."""
    record = Turn(tid(1), "s", "user", (), -1, (), "sha256:0")
    annotation = Annotation(tid(1), "rules/1", "planning", 0.5, 0, 0, 0.5, 0.5, 1.0)
    assert exported(record, annotation).created_at == -1


def test_the_annotators_of_the_selected_turns_are_kept_next_to_the_export() -> None:
    """Ruling 17."""
    given = graph([turn(1), turn(2)], (1, 2))
    annotators = {tid(1): "rules/2"}
    plain = type(given.plain)(given.turns, given.edges, annotators)
    assert plain.context_slice(tid(1), DEFAULT).annotators == ("given/1", "rules/2")
    assert plain.context_slice(tid(1), replace(DEFAULT, max_nodes=1)).annotators == ("rules/2",)


@settings(max_examples=40)
@given(graphs(), policies(), st.data())
def test_an_export_comes_back_from_its_bytes(given: Graph, policy: SlicePolicyV1, data: st.DataObject) -> None:
    slice_ = given.plain.context_slice(data.draw(st.sampled_from(given.turns)).id, policy)
    read = read_export(slice_.export)
    assert read.to_bytes() == slice_.export
    assert read.fingerprint == read.slice_id == slice_.slice_id
    assert set(read.turns) <= set(given.turns)


def test_an_export_is_read_with_any_spaces_and_spelling() -> None:
    value = json.loads(EXPORT)
    value["turns"][0]["salience"] = 0.733270525932312  # the same number in binary32
    assert read_export(b"\xef\xbb\xbf" + json.dumps(value, indent=2).encode()).to_bytes() == EXPORT


def _without(value: dict[str, Any], *path: Any) -> None:
    for step in path[:-1]:
        value = value[step]
    del value[path[-1]]


def _with(new: Any, value: dict[str, Any], *path: Any) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = new


@pytest.mark.parametrize(
    ("path", "new", "code", "place"),
    [
        (("slice_id",), None, "wrong-type", "slice_id"),
        (("turns",), {}, "wrong-type", "turns"),
        (("turns", 1, "salience"), "high", "wrong-type", "turns[1].salience"),
        (("turns", 1, "created_at"), 1.5, "wrong-type", "turns[1].created_at"),
        (("turns", 1, "created_at"), 2**53, "out-of-range", "turns[1].created_at"),
        (("turns", 2, "trajectory_complexity"), 1e39, "not-finite", "turns[2].trajectory_complexity"),
        (("turns", 2, "role"), "human", "unknown-value", "turns[2].role"),
        (("turns", 2, "phase"), "dreaming", "unknown-value", "turns[2].phase"),
        (("turns", 2, "mood"), "good", "unknown-field", "turns[2]"),
        (("turns", 0, "id"), "one", "bad-uuid", "turns[0].id"),
        (("edges", 0, "edge_type"), "Reply", "unknown-value", "edges[0].edge_type"),
        (("edges", 0, "weight"), 1, "unknown-field", "edges[0]"),
        (("edges", 3, "parent"), "x", "bad-uuid", "edges[3].parent"),
        (("anchor_turn_id",), "x", "bad-uuid", "anchor_turn_id"),
    ],
)
def test_a_bad_export_is_refused_with_its_place(path: tuple[Any, ...], new: Any, code: str, place: str) -> None:
    value = json.loads(EXPORT)
    _with(new, value, *path)
    with pytest.raises(SlicebaseError) as caught:
        read_export(json.dumps(value, indent=1).encode())
    assert caught.value.code == code
    assert caught.value.message.startswith(f"{place}: ")
    assert caught.value.where.line is not None


def test_a_missing_field_is_refused_with_its_place() -> None:
    value = json.loads(EXPORT)
    _without(value, "turns", 1, "phase")
    with pytest.raises(SlicebaseError) as caught:
        read_export(json.dumps(value).encode())
    assert caught.value.code == "missing-field"
    assert caught.value.message.startswith("turns[1]: ")


@given(st.integers(0, len(EXPORT) - 1), st.integers(0, 255))
def test_any_changed_byte_gives_an_export_or_our_error(place: int, byte: int) -> None:
    data = EXPORT[:place] + bytes([byte]) + EXPORT[place + 1 :]
    try:
        assert isinstance(read_export(data).edges, tuple)
    except SlicebaseError as error:
        assert error.code
