"""Large JSON documents, element by element."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.importers import elements, json_stream
from slicebase.importers.elements import is_lines, json_elements, json_records
from slicebase.importers.json_stream import json_lines
from slicebase.importers.values import ImportSource
from tests.importers.reading import chunks


def values(data: bytes, chunk: int = 5) -> list[Any]:
    lines = json_elements(
        ImportSource("f", chunks(data, chunk)), lambda value: isinstance(value, dict) and "m" in value
    )
    return [line.piece.problem or line.piece.value for line in lines]


NESTED = st.recursive(
    st.none() | st.text(alphabet='ab"\\[]{},\n', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.dictionaries(st.text(max_size=3), NESTED, max_size=3), max_size=5),
    st.integers(1, 40),
    st.sampled_from([None, 1]),
)
def test_an_array_in_any_chunks_gives_its_elements(items: list[Any], chunk: int, indent: int | None) -> None:
    assert values(json.dumps(items, indent=indent).encode(), chunk) == items


def test_objects_one_after_the_other_are_elements() -> None:
    assert values(b'{"m": 1} {"m": 2}\n{"m": 3}') == [{"m": 1}, {"m": 2}, {"m": 3}]


def test_text_between_elements_is_an_element() -> None:
    assert values(b'[{"m": 1}, 42, {"m": 2}, [3]]') == [{"m": 1}, 42, {"m": 2}, [3]]


def test_an_element_that_never_ends_does_not_hide_the_others() -> None:
    assert values(b'[{"m": 1, "x": {"y": 1}, {"m": 2}, {"m": 3}]') == ["not-json", {"m": 2}, {"m": 3}]


def test_too_many_closing_brackets_do_not_affect_the_elements() -> None:
    assert [value for value in values(b'[{"m": 1}}}, {"m": 2}]') if value != "not-json"] == [{"m": 1}, {"m": 2}]


def test_places_are_indexes() -> None:
    lines = json_elements(ImportSource("f.json", [b"[{},{}]"]), lambda _: False)
    assert [line.where for line in lines] == ["f.json[0]", "f.json[1]"]


def test_a_record_that_is_too_large_is_skipped_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "MAX_RECORD", 100)
    monkeypatch.setattr(json_stream, "MAX_RECORD", 100)
    large = json.dumps({"m": "x" * 500})
    data = f'[{{"m": 1}}, {large}, {{"m": 2}}]'.encode()
    assert values(data) == [{"m": 1}, "too-large"]  # the end of a string of that length cannot be found
    deep = json.dumps({"m": [{"x": "y" * 20}] * 20})
    for chunk in (5, 64, 4096):
        found = values(f'[{{"m": 1}}, {deep}, {{"m": 2}}]'.encode(), chunk)
        assert found in ([{"m": 1}, "too-large", {"m": 2}], [{"m": 1}, json.loads(deep), {"m": 2}])
    lines = json_lines(ImportSource("f", chunks(b'{"m":1}\n' + large.encode() + b'\n{"m":2}\n', 7)), lambda _: False)
    assert [line.piece.problem or line.piece.value for line in lines] == [{"m": 1}, "too-large", {"m": 2}]


@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        (b'{"a": 1}\n{"a": 2}\n', "x.json", True),
        (b'# note\n{"a": 1}\n', "x.txt", True),
        (b'{\n "a": [\n {"b": 1}\n]}', "x.json", False),
        (b'[\n{"a": 1},\n{"a": 2}\n]', "x.json", False),
        (b'[{"a": 1},\n{"a": 2}]', "x.json", False),
        (b"{", "x.jsonl", True),
        (b"", "x.json", False),
        (b'[{"a": 1},\n{"a": 2}]', "x.jsonl", False),
        (b'[{"a": 1}, {"a": 2}]', "x.jsonl", False),
        (b'{ "a": {\n "b": 1}\n}', "x.jsonl", False),
        (b'{"a": {"b": 1}\n{"a": 2}\n', "x.json", True),  # the first line lacks a bracket
        (b'{"a": "b\n{"a": 2}\n', "x.json", True),  # and here a quotation mark
        (b'{"a": 1}{"a": 2}', "x.jsonl", True),
        (b'{\n "a": ???', "x.jsonl", False),
    ],
)
def test_json_lines_are_distinguished_from_documents(head: bytes, name: str, *, expected: bool) -> None:
    assert is_lines(head, name) is expected


PRINTED: list[Callable[[list[Any]], str]] = [
    lambda items: "\n".join(map(json.dumps, items)),
    lambda items: "\n".join(json.dumps(item, indent=2) for item in items),
    lambda items: "\n".join(json.dumps(item, indent="\t").replace("\n\t", " ", 1) for item in items),
    json.dumps,
    lambda items: json.dumps(items, indent=1).replace("\n", "\r\n"),
    lambda items: "[" + ",\n".join(map(json.dumps, items)) + "]",
    lambda items: "[\n" + ",\n".join(map(json.dumps, items)) + "\n]\n",
    lambda items: "\ufeff\n\n" + json.dumps(items, indent=1),
]


@settings(max_examples=150, deadline=None)
@given(
    items=st.lists(st.fixed_dictionaries({"m": NESTED, "text": st.text(max_size=30)}), min_size=1, max_size=5),
    printed=st.sampled_from(PRINTED),
    name=st.sampled_from(["x.jsonl", "x.json", "x"]),
    head=st.sampled_from([20, 60, 64 << 10]),
)
def test_records_are_read_in_whichever_way_they_are_printed(
    items: list[Any], printed: Callable[[list[Any]], str], name: str, head: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elements, "HEAD_BYTES", head)
        lines = [*json_records(ImportSource(name, chunks(printed(items).encode(), 7)), lambda _: False)]
    assert [line.piece.value for line in lines if line.piece.problem is None] == items
    assert all(line.piece.problem is None for line in lines)
