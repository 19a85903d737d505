"""Graph files: how they are read, and everything that is refused (rulings 13 and 14)."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import astuple

from slicebase.core.hashing import digest_of
from slicebase.errors import SlicebaseError
from slicebase.graph.export import exported
from slicebase.graph.graph_file import GraphFile, read_graph
from slicebase.graph.turn import Annotation, Edge, Parent, Part
from tests.graph.graphs import GOLDEN_GRAPHS, edge, golden_graph, tid
from tests.paths import GOLDEN


def record(number: int, **others: Any) -> dict[str, Any]:
    return {
        "id": tid(number),
        "session_id": "s",
        "role": "user",
        "phase": "planning",
        "salience": 0.5,
        "trajectory_depth": 1,
        "trajectory_sibling_order": 2,
        "trajectory_homogeneity": 0.25,
        "trajectory_temporal": 0.75,
        "trajectory_complexity": 1.5,
        "created_at": 1704067200,
        **others,
    }


def link(parent: int, child: int, edge_type: str = "reply") -> dict[str, Any]:
    return {"parent": tid(parent), "child": tid(child), "edge_type": edge_type}


def read(turns: list[dict[str, Any]], edges: list[dict[str, Any]] | None = None) -> GraphFile:
    return read_graph(json.dumps({"turns": turns, "edges": edges or []}).encode())


def refused(turns: list[dict[str, Any]], edges: list[dict[str, Any]] | None = None) -> SlicebaseError:
    with pytest.raises(SlicebaseError) as caught:
        read(turns, edges)
    return caught.value


def test_a_record_gives_a_turn_and_its_annotation() -> None:
    """Rulings 15 and 17; created_at is whole seconds."""
    file = read([record(1, content="Hello")])
    (turn,) = file.turns
    assert (turn.id, turn.session, turn.role, turn.time, turn.parents) == (tid(1), "s", "user", 1704067200000, ())
    assert turn.parts == (Part("text", text="Hello"),)
    assert file.annotations == (Annotation(tid(1), "given/1", "planning", 0.5, 1, 2, 0.25, 0.75, 1.5),)


@pytest.mark.parametrize("name", GOLDEN_GRAPHS)
def test_golden_graphs_are_graph_files(name: str) -> None:
    file = read_graph((GOLDEN / f"{name}.json").read_bytes())
    expected = golden_graph(name)
    assert tuple(map(exported, file.turns, file.annotations)) == expected.turns
    assert set(file.edges) == set(expected.edges)
    assert (file.continues, file.outside) == ((), ())


def test_fractions_are_rounded_to_binary32() -> None:
    assert read([record(1, salience=0.1)]).annotations[0].salience == 0.10000000149011612


def test_content_may_be_parts() -> None:
    parts = [
        {"type": "text", "text": "Look:", "mood": "ignored"},
        {"type": "tool_call", "name": "ls", "arguments": {"path": ".", "depth": 1.5}},
    ]
    (turn,) = read([record(1, content=parts)]).turns
    assert turn.parts == (
        Part("text", text="Look:"),
        Part("tool_call", name="ls", arguments={"path": ".", "depth": 1.5}),
    )


def test_a_turns_parents_are_its_edges() -> None:
    """Ruling 12: the same edge twice is one edge."""
    edges = [link(2, 3), link(1, 3, "reference"), link(1, 3, "branch"), link(2, 3)]
    file = read([record(1), record(2), record(3)], edges)
    assert file.turns[2].parents == (Parent(tid(1), "branch"), Parent(tid(1), "reference"), Parent(tid(2), "reply"))
    assert file.edges == (edge(2, 3), edge(1, 3, "reference"), edge(1, 3, "branch"))


def test_an_edge_between_sessions_continues_one() -> None:
    """Ruling 13."""
    file = read([record(1), record(2, session_id="t"), record(3, session_id="t")], [link(1, 2), link(2, 3)])
    assert file.continues == (edge(1, 2),)
    assert file.edges == (edge(2, 3),)
    assert file.turns[1].parents == (Parent(tid(1), "reply"),)


def test_an_edge_to_a_turn_outside_the_file_is_left_to_the_store() -> None:
    file = read([record(1), record(2)], [link(1, 2), link(9, 1), link(2, 8, "branch")])
    assert [(each.place, each.edge) for each in file.outside] == [
        ("edges[1]", edge(9, 1)),
        ("edges[2]", edge(2, 8, "branch")),
    ]
    assert file.edges == (edge(1, 2),)
    assert file.turns[0].parents == (Parent(tid(9), "reply"),)


def test_ids_are_written_in_lower_case() -> None:
    upper = "ABCDEFAB-0000-0000-0000-000000000001"
    file = read([record(1), record(2, id=upper)], [{"parent": tid(1), "child": upper, "edge_type": "reply"}])
    assert file.turns[1].id == upper.lower()
    assert file.edges == (Edge(tid(1), upper.lower(), "reply"),)


def test_unknown_fields_are_ignored() -> None:
    turns, edges = [record(1, mood="good"), record(2)], [{**link(1, 2), "weight": 1}]
    file = read_graph(json.dumps({"name": "x", "turns": turns, "edges": edges, "cases": [1, {}]}).encode())
    assert (len(file.turns), file.edges) == (2, (edge(1, 2),))


def test_a_byte_order_mark_is_ignored() -> None:
    data = b"\xef\xbb\xbf" + json.dumps({"turns": [record(1)], "edges": []}).encode()
    assert len(read_graph(data).turns) == 1


def test_a_graph_file_without_turns_is_a_graph() -> None:
    assert read([]) == GraphFile((), (), (), (), ())


def test_the_source_hash_covers_the_record_and_its_edges_but_not_session_and_annotation() -> None:
    """Ruling 15 and docs/decisions/graph-files.md."""
    parts = [{"type": "tool_call", "name": "é", "arguments": {"b": 1, "a": 2.0}}]
    file = read([record(1), record(2, content=parts)], [link(1, 2, "reference"), link(1, 2, "branch")])
    assert file.turns[1].source_hash == digest_of(
        {
            "content": parts,
            "created_at": 1704067200,
            "id": tid(2),
            "parents": [[tid(1), "branch"], [tid(1), "reference"]],
            "role": "user",
        }
    )
    assert file.turns[0].source_hash == digest_of(
        {"created_at": 1704067200, "id": tid(1), "parents": [], "role": "user"}
    )


def test_a_copy_or_another_annotation_is_the_same_source() -> None:
    (one,) = read([record(1)]).turns
    (copy,) = read([record(1, session_id="t", salience=0.9, trajectory_temporal=0.1)]).turns
    (longer, _) = read([record(1), record(2)], [link(1, 2)]).turns
    assert one.source_hash == copy.source_hash == longer.source_hash


@pytest.mark.parametrize(
    "changed", [{"content": "x"}, {"content": ""}, {"role": "tool"}, {"created_at": 5}, {"id": tid(2)}]
)
def test_another_record_is_another_source(changed: dict[str, Any]) -> None:
    (one,), (other,) = read([record(1)]).turns, read([record(1, **changed)]).turns
    assert one.source_hash != other.source_hash


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("id", "one", "bad-uuid"),
        ("id", "00000000000000000000000000000001", "bad-uuid"),
        ("id", f"{tid(1)}\n", "bad-uuid"),
        ("id", 5, "wrong-type"),
        ("session_id", None, "wrong-type"),
        ("session_id", "", "out-of-range"),
        ("role", "human", "unknown-value"),
        ("role", "User", "unknown-value"),
        ("phase", "dreaming", "unknown-value"),
        ("salience", 1.0000001, "out-of-range"),
        ("salience", -0.1, "out-of-range"),
        ("salience", "0.5", "wrong-type"),
        ("salience", True, "wrong-type"),
        ("salience", None, "wrong-type"),
        ("trajectory_homogeneity", 1.5, "out-of-range"),
        ("trajectory_temporal", -1, "out-of-range"),
        ("trajectory_complexity", 1e39, "not-finite"),
        ("trajectory_complexity", [], "wrong-type"),
        ("trajectory_depth", 1.0, "wrong-type"),
        ("trajectory_depth", -1, "out-of-range"),
        ("trajectory_sibling_order", 2**53, "out-of-range"),
        ("trajectory_sibling_order", False, "wrong-type"),
        ("created_at", 1704067200.5, "wrong-type"),
        ("created_at", "2024-01-01", "wrong-type"),
        ("created_at", 10**12, "out-of-range"),
        ("content", 5, "wrong-type"),
        ("content", None, "wrong-type"),
    ],
)
def test_a_bad_field_is_refused_with_its_place(field: str, value: Any, code: str) -> None:
    """Ruling 14, limit by limit."""
    error = refused([record(1), record(2, **{field: value})])
    assert error.code == code
    assert error.message.startswith(f"turns[1].{field}: ")
    assert (error.where.line, error.where.file) == (1, None)


@pytest.mark.parametrize("field", sorted(record(1)))
def test_every_field_is_required(field: str) -> None:
    incomplete = record(2)
    del incomplete[field]
    error = refused([record(1), incomplete])
    assert error.code == "missing-field"
    assert error.message.startswith("turns[1]: ")


@pytest.mark.parametrize(
    ("part", "code", "place"),
    [
        ({"text": "x"}, "missing-field", "turns[0].content[0]"),
        ({"type": "text", "text": 5}, "wrong-type", "turns[0].content[0].text"),
        ({"type": "tool_call", "arguments": 2**53}, "integer-range", "turns[0].content"),
    ],
)
def test_a_bad_part_is_refused(part: dict[str, Any], code: str, place: str) -> None:
    error = refused([record(1, content=[part])])
    assert error.code == code
    assert error.message.startswith(f"{place}: ")


@pytest.mark.parametrize(
    ("changed", "code", "place"),
    [
        ({"edge_type": "Reply"}, "unknown-value", "edges[1].edge_type"),
        ({"edge_type": None}, "wrong-type", "edges[1].edge_type"),
        ({"parent": "x"}, "bad-uuid", "edges[1].parent"),
        ({"child": 5}, "wrong-type", "edges[1].child"),
    ],
)
def test_a_bad_edge_is_refused(changed: dict[str, Any], code: str, place: str) -> None:
    error = refused([record(1), record(2)], [link(1, 2), {**link(1, 2), **changed}])
    assert error.code == code
    assert error.message.startswith(f"{place}: ")


def test_two_turns_with_one_id_are_refused() -> None:
    error = refused([record(1), record(2), record(1, id=tid(1).upper())])
    assert error.code == "duplicate-turn"
    assert error.message.startswith("turns[2].id: ")


@pytest.mark.parametrize(
    ("edges", "place"),
    [
        ([(1, 1)], 0),
        ([(1, 2), (2, 1)], 1),
        ([(3, 1), (1, 2), (2, 3), (1, 4)], 2),
        ([(1, 9), (9, 1)], 1),  # through a turn that is not in the file
        ([(1, 5), (5, 2), (2, 1)], 2),  # through another session
    ],
)
def test_an_edge_that_closes_a_cycle_is_refused(edges: list[tuple[int, int]], place: int) -> None:
    turns = [record(1), record(2), record(3), record(4), record(5, session_id="t")]
    error = refused(turns, [link(*ends) for ends in edges])
    assert error.code == "cycle"
    assert error.message.startswith(f"edges[{place}]: ")


def test_a_file_may_name_children_before_their_parents() -> None:
    assert read([record(3), record(2), record(1)], [link(1, 2), link(2, 3)]).edges == (edge(1, 2), edge(2, 3))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "bad-json"),
        (b"{", "bad-json"),
        (b"[]", "wrong-type"),
        (b'{"turns": []}', "missing-field"),
        (b'{"edges": []}', "missing-field"),
        (b'{"turns": {}, "edges": []}', "wrong-type"),
        (b'{"turns": [], "edges": []} x', "bad-json"),
        (b'{"turns": [], "edges": [], "x": NaN}', "bad-json"),
        (b'{"turns": [], "edges": [], "x": "\xff"}', "bad-json"),
        (b'{"turns": [], "edges": [], "x": ' + b"[" * 100_000, "bad-json"),
    ],
)
def test_bytes_that_are_not_a_graph_file_are_refused(data: bytes, code: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        read_graph(data)
    assert caught.value.code == code


def test_a_lone_surrogate_is_refused() -> None:
    """Ruling 1."""
    assert refused([record(1, content="\ud800")]).code == "lone-surrogate"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_not_finite_are_refused(number: str) -> None:
    text = json.dumps({"turns": [record(1, salience="?")], "edges": []}).replace('"?"', number)
    with pytest.raises(SlicebaseError) as caught:
        read_graph(text.encode())
    assert caught.value.code in ("not-finite", "bad-json")
    assert caught.value.where.line == 1


def test_places_have_line_and_column() -> None:
    value = {"é": "ü", "turns": [record(1), record(2, salience=2)], "edges": []}
    lines = json.dumps(value, indent=2, ensure_ascii=False).split("\n")
    with pytest.raises(SlicebaseError) as caught:
        read_graph("\n".join(lines).encode())
    line, column = caught.value.where.line, caught.value.where.column
    assert line is not None
    assert column is not None
    assert lines[line - 1][column - 1 :] == "2,"
    assert lines[line - 1].strip().startswith('"salience"')


@settings(max_examples=60)
@given(st.data())
def test_any_change_to_a_value_gives_a_graph_or_our_error(data: st.DataObject) -> None:
    value: Any = deepcopy({"turns": [record(1), record(2, content="x")], "edges": [link(1, 2)]})
    within = data.draw(st.sampled_from([*value["turns"], *value["edges"]]))
    key = data.draw(st.sampled_from(sorted(within)))
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    within[key] = data.draw(scalars | st.sampled_from([[], {}]))
    try:
        file = read_graph(json.dumps(value).encode())
    except SlicebaseError as error:
        assert error.where.line == 1
    else:
        assert [astuple(turn)[0] for turn in file.turns] == [note.turn for note in file.annotations]
