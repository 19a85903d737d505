"""The heads of rows are read as the rows are, whatever the lines say."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slicebase.files.body.heads import head_of, read_heads
from slicebase.files.body.lines import read_lines
from slicebase.files.body.rows import read_rows

TEXTS = st.text(st.sampled_from('ab 1é"\\\ud83d\x00\n'), max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
TIMES = st.sampled_from(["2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00Z", "2026-01-31", "yesterday", ""])
METAS = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["A", "B", "with space", ""]) | VALUES,
        "created_at": TIMES | VALUES,
        "supersedes": st.lists(st.sampled_from(["A", "B"]), max_size=3) | VALUES,
        "status": st.sampled_from(["active", "retracted"]) | VALUES,
        "links": VALUES,
    },
)
LINES = st.fixed_dictionaries({"_meta": METAS | VALUES}, optional={"text": VALUES, "n": VALUES}).map(
    lambda value: json.dumps(value).encode()
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\n\n", b" \n"])


def same(body: bytes) -> None:
    found, plain = read_heads(body, 5), read_rows(body, 5)
    assert found.heads == [head_of(row) for row in plain.rows]
    assert found.unreadable == sum(1 for line in body.split(b"\n") if line.strip()) - len(plain.rows)


@given(st.lists(st.tuples(LINES | st.binary(max_size=20), ENDS), max_size=6))
@example([(b'{"_meta": {"id": "A", "id": "B"}, "_meta": {"id": "C"}}', b"\n")])
def test_the_heads_of_a_body_are_those_of_its_rows(parts: list[tuple[bytes, bytes]]) -> None:
    same(b"".join(line + end for line, end in parts))


@pytest.mark.parametrize(
    "value",
    [
        b"1e999", b"-1E+400", b"1.5e+999", b"1e5", b"1" * 400, b"1" * 199 + b"e99", b"9" * 310 + b".5",
        b"1" + b"0" * 300 + b"e50", b"7" * 5000, b'"\\ud800"', b'"\\ud83d\\ude00"', b"NaN", b"01", b"1.",
        b'"\xff"', b'"\x01"', b"[" * 5000 + b"]" * 5000, b"[" * 90 + b"]" * 90, b"[1,]", b'{"a":1,}', b'"\\x"', b"tru",
    ],
)  # fmt: skip
def test_a_value_that_no_reader_of_heads_needs_still_decides_whether_its_line_is_a_row(value: bytes) -> None:
    line = b'{"n": ' + value + b', "_meta": {"id": "A", "x": ' + value + b"}}"
    same(line)
    same(b'{"_meta": {"id": "B"}}\n' + line + b'\n{"_meta": {"id": "C"}}')
    assert len(read_heads(line).heads) == len(read_lines(line).lines)
