"""The beginning of a source: complete records, and what can be read of damaged ones."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.importers import heads as module
from slicebase.importers.elements import is_lines
from slicebase.importers.formats import recognise
from slicebase.importers.heads import head_of, heads
from slicebase.importers.values import ImportSource
from tests.importers.reading import chunks, jsonl
from tests.importers.test_elements import NESTED


@given(items=st.lists(st.fixed_dictionaries({"m": NESTED}), min_size=1, max_size=3), cut=st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_the_beginning_of_a_document_that_was_cut_off_is_closed(items: list[Any], cut: float) -> None:
    data = json.dumps({"m": items}).encode()
    (found,) = head_of(data[: max(1, int(len(data) * cut))], "x.json").records
    assert [item.keys() <= {"m"} for item in found.get("m", [])] == [True] * len(found.get("m", []))
    assert cut < 1 or found == {"m": items}


def test_no_more_is_read_than_the_first_records_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEAD_BYTES", 100)
    records = [{"long": "x" * 1000}, {"m": 1}, *({"m": "y" * 50} for _ in range(100))]
    for data in (jsonl(records), json.dumps(records, indent=1).encode()):
        first, second = heads(ImportSource("x.jsonl", chunks(data, 40)))
        assert first.records[:1] == records[:1]
        assert second.records == records[:20]
        assert len(first.data) < 2500
        assert len(second.data) < 4000 < len(data)


def test_a_source_without_a_complete_record_has_a_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RECORD", 1 << 16)
    assert [head.records for head in heads(ImportSource("x", [b"no JSON"]))] == [[]]
    assert [head.records for head in heads(ImportSource("x", []))] == []
    (head,) = heads(ImportSource("x.json", [b'{"m": 1, "text": "never closed']))
    assert head.records == [{"m": 1}]


def test_an_integer_that_python_does_not_read_is_still_json() -> None:
    data = b'{"n":\n' + b"9" * 5000 + b',\n"m": 1}\n'
    assert not is_lines(data, "s.jsonl")
    assert recognise(ImportSource("s.jsonl", iter([data]))) is None
    assert recognise(ImportSource("s.jsonl", iter([data[:-5]]))) is None
