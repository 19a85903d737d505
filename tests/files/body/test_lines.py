"""The reader that jsonl, conversation and routine bodies share."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.body.lines import locate, read_lines


def test_each_object_comes_with_the_number_of_its_line_in_the_file() -> None:
    lines, findings = read_lines(b'{"a":1}\n\n  \r\n{"b":2}\r\n', first_line=10)
    assert [(line.number, line.value, line.raw) for line in lines] == [
        (10, {"a": 1}, b'{"a":1}'),
        (13, {"b": 2}, b'{"b":2}'),
    ]
    assert findings == ()


@pytest.mark.parametrize(
    ("line", "rule", "column"),
    [
        (b'{"a":1', "json-line", 7),
        ('{"é":nul}'.encode(), "json-line", 6),
        (b'{"a":1} x', "json-line", 9),
        (b"  [1]", "json-object", 3),
        (b'"text"', "json-object", 1),
        (b"17", "json-object", 1),
        ('{"é":"'.encode() + b'\xff"}', "not-utf8", 7),
        (b'{"a":NaN}', "json-line", 1),
        (b'{"a":1e999}', "json-line", 1),
        (b'{"a":"\\ud800"}', "json-line", 1),
        (b"[" * 20_000, "json-line", 1),
        (b'{"a":' * 20_000, "json-line", 1),
        (b"9" * 5_000, "json-line", 1),
    ],
)
def test_a_line_that_is_not_a_json_object_is_a_finding_at_its_position(line: bytes, rule: str, column: int) -> None:
    lines, findings = read_lines(b'{"ok":1}\n' + line + b'\n{"ok":2}\n')
    assert [(finding.rule, finding.line, finding.column) for finding in findings] == [(rule, 2, column)]
    assert [line.value for line in lines] == [{"ok": 1}, {"ok": 2}]


def test_a_body_of_another_type_does_not_give_a_finding_for_each_line() -> None:
    lines, findings = read_lines(b"prose\n" * 1000 + b"{}\n")
    assert len(lines) == 1
    assert len(findings) == 101
    assert (findings[-1].line, findings[-1].message[:3]) == (101, "900")


@given(st.binary(max_size=200))
def test_any_bytes_give_lines_or_findings(body: bytes) -> None:
    lines, findings = read_lines(body)
    numbers = [line.number for line in lines] + [finding.line for finding in findings]
    assert len(numbers) == len(set(numbers)) == sum(1 for line in body.split(b"\n") if line.strip())


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150)
@given(st.dictionaries(st.text(max_size=3), _values, min_size=1, max_size=3), st.data(), st.booleans())
def test_the_column_of_a_path_is_where_its_value_starts(
    value: dict[str, object], data: st.DataObject, spaced: bool
) -> None:
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()), separators=(" , ", " : ") if spaced else (",", ":"))
    path: list[str | int] = []
    here: object = value
    while isinstance(here, dict | list) and here and data.draw(st.booleans()):
        step = (
            data.draw(st.sampled_from(sorted(here)))
            if isinstance(here, dict)
            else data.draw(st.integers(0, len(here) - 1))
        )
        path.append(step)
        here = here[step]
    found, _ = json.JSONDecoder().raw_decode(text, locate(text.encode(), *path) - 1)
    assert found == here


def test_the_column_of_an_absent_path_is_where_its_container_starts() -> None:
    assert locate(b' {"_meta": {"id": "x"}}', "_meta", "created_at") == 12
    assert locate(b' {"_meta": {"id": "x"}}', "text") == 2
    assert locate(b'{"to": 5}', "to", "deeper") == 8
    assert locate(b'{"a": [1, 22]}', "a", 7) == 7


def test_of_a_key_given_twice_the_last_one_counts() -> None:
    assert read_lines(b'{"a":1,"a":2}').lines[0].value == {"a": 2}
    assert locate(b'{"a":1,"a":2}', "a") == 12
