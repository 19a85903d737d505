"""A graph file that is read in pieces gives what its complete text gives, or is left to the reader of that text."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.graph.graph_file import read_graph
from slicebase.graph.graph_stream import GivenTurn, Outline, outline, turns_of
from slicebase.graph.json_pieces import UnusualFileError
from tests.amounts import MORE
from tests.graph.graphs import GOLDEN_GRAPHS
from tests.graph.test_graph_file import link, record
from tests.paths import GOLDEN

PARTS = [
    {"type": "text", "text": "}], [{"},
    {"type": "tool_call", "name": "run", "arguments": {"a": [{}, {"b": "\\"}], "c": 'x"},{"'}},
]
CONTENTS = st.text('ab"\\{}[],: \n☃', max_size=12) | st.lists(st.sampled_from(PARTS), max_size=3)
OTHERS = st.sampled_from([1, -2.5, None, True, "a,b}", [], [[1], {}], {"turns": [{}], "x": "]"}])


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    """Draws graph files: mostly ones that are accepted, with members in any order and others among them."""
    count = draw(st.integers(0, 8))
    turns = [
        record(
            number,
            session_id=draw(st.sampled_from(["s", "t", "ü"])),
            salience=draw(st.sampled_from([0.1, 0.5, 1])),
            **({"content": draw(CONTENTS)} if draw(st.booleans()) else {}),
        )
        for number in draw(st.permutations(range(count)))
    ]
    for turn in turns[:1]:
        turn["id"] = turn["id"].upper()
    below = st.tuples(st.integers(0, count + 1), st.integers(1, 3), st.sampled_from(["reply", "branch", "reference"]))
    edges = [link(above, above + more, kind) for above, more, kind in draw(st.lists(below, max_size=8))]
    members = [("turns", turns), ("edges", edges), *draw(st.dictionaries(st.text("xyé", max_size=3), OTHERS)).items()]
    return dict(draw(st.permutations(members)))


def text_of(data: st.DataObject, file: dict[str, Any]) -> bytes:
    indent = data.draw(st.sampled_from([None, 1]))
    separators = (",", ":") if data.draw(st.booleans()) else None
    return json.dumps(file, indent=indent, separators=separators, ensure_ascii=data.draw(st.booleans())).encode()


def in_chunks(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def read_in_pieces(data: bytes, size: int) -> tuple[Outline, list[GivenTurn]]:
    source = outline(in_chunks(data, size))
    return source, [given for piece in turns_of(in_chunks(data, size), source) for given in piece]


def same_as_whole(data: bytes, size: int) -> None:
    source, found = read_in_pieces(data, size)
    file = read_graph(data)
    assert tuple(turn for _, turn, _ in found) == file.turns
    assert tuple(annotation for _, _, annotation in found) == file.annotations
    assert [place for place, _, _ in found] == list(range(len(file.turns)))
    assert source.outside == file.outside


@settings(max_examples=60 * MORE)
@given(files(), st.sampled_from([1, 7, 60, 10_000]), st.data())
def test_any_graph_file_in_pieces_is_the_whole_one(file: dict[str, Any], size: int, data: st.DataObject) -> None:
    text = text_of(data, file)
    try:
        read_graph(text)
    except SlicebaseError:
        with pytest.raises(UnusualFileError):
            read_in_pieces(text, size)
    else:
        same_as_whole(text, size)


@settings(max_examples=150 * MORE)
@given(files(), st.sampled_from([5, 10_000]), st.data())
def test_a_damaged_file_is_never_read_otherwise_than_whole(
    file: dict[str, Any], size: int, data: st.DataObject
) -> None:
    """What cannot be read in pieces may still be a graph file; what can be read is one."""
    text = bytearray(text_of(data, file))
    place = data.draw(st.integers(0, len(text) - 1))
    insert = data.draw(st.sampled_from([b"", b",", b"}", b"]", b'"', b"\\", b"0", b" ", b"\xff", b"{", b"[", b"1e99"]))
    text[place : place + data.draw(st.integers(0, 2))] = insert
    try:
        read_in_pieces(bytes(text), size)
    except UnusualFileError:
        return
    same_as_whole(bytes(text), size)


@pytest.mark.parametrize("name", GOLDEN_GRAPHS)
def test_a_golden_graph_in_pieces_is_the_whole_one(name: str) -> None:
    same_as_whole((GOLDEN / f"{name}.json").read_bytes(), 1000)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"turns": []}',
        b'{"turns": [], "edges": [], "turns": []}',
        b'{"turns": [], "edges": []} x',
        b'{"turns": [], "edges": [],}',
        b'{"turns": [], "edges": [], "x": [1,]}',
        b'{"turns": [], "edges": [], "x": tru}',
        b'\xef\xbb\xbf\xef\xbb\xbf{"turns": [], "edges": []}',
    ],
)
def test_what_is_not_a_graph_file_is_left_to_the_other_reader(data: bytes) -> None:
    with pytest.raises(UnusualFileError):
        read_in_pieces(data, 4)


@pytest.mark.parametrize(
    ("turns", "edges"),
    [
        ([record(1), record(1)], []),
        ([record(1), record(2)], [link(2, 1), link(1, 2)]),
        ([record(1)], [link(1, 1)]),
        ([record(1, trajectory_complexity=1e300)], []),
        ([record(1, content=[{"type": "tool_call", "arguments": 2**60}])], []),
        ([record(1, id="x")], []),
        ([record(1), 5], []),
        ([record(1)], [{}]),
    ],
)
def test_an_error_is_left_to_the_reader_that_finds_its_place(turns: list[Any], edges: list[Any]) -> None:
    with pytest.raises(UnusualFileError):
        read_in_pieces(json.dumps({"turns": turns, "edges": edges}).encode(), 50)


def test_a_file_that_changes_between_the_two_readings_is_not_read() -> None:
    before, after = (json.dumps({"turns": [record(1, content=text)], "edges": []}).encode() for text in "ab")
    with pytest.raises(UnusualFileError):
        list(turns_of([after], outline([before])))
