"""Large JSON documents, element by element."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.importers import elements, json_stream
from slicebase.importers.elements import is_lines, json_elements, json_records
from slicebase.importers.json_stream import json_lines
from slicebase.importers.values import ImportSource
from tests.importers.reading import chunks, jsonl


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
    ],
)
def test_json_lines_are_distinguished_from_documents(head: bytes, name: str, *, expected: bool) -> None:
    assert is_lines(head, name) is expected


def test_lines_and_documents_give_the_same_records() -> None:
    items = [{"m": number} for number in range(5)]
    for name, data in (("x.jsonl", jsonl(items)), ("x.json", json.dumps(items, indent=1).encode())):
        assert [
            line.piece.value for line in json_records(ImportSource(name, chunks(data, 3)), lambda _: False)
        ] == items
