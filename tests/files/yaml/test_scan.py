"""The scanner: values, positions and refusals (ruling 22)."""

import contextlib
from typing import Any

import pytest
from hypothesis import given

from slicebase.errors import SlicebaseError
from slicebase.files.yaml.scalars import MAX_NESTING
from slicebase.files.yaml.scan import scan
from tests.files.strategies import Header, headers, soup

VALUES: list[tuple[str, Any]] = [
    ("", None),
    ("# only a comment", None),
    ("a: 1\nb: two words", {"a": 1, "b": "two words"}),
    ("a:\n  b:\n    c: d", {"a": {"b": {"c": "d"}}}),
    ("a:\n- b\n- c", {"a": ["b", "c"]}),
    ("a:\n  - b\n  -\n  - c: 1\n    d: 2", {"a": ["b", None, {"c": 1, "d": 2}]}),
    ("- - a\n  - b\n- c", [["a", "b"], "c"]),
    ("-\n  - a", [["a"]]),
    ("a: # why\n  b: c", {"a": {"b": "c"}}),
    ("a:\n\n  # why\n\n  b: c\n", {"a": {"b": "c"}}),
    ("a: b # not text\nc: d#text", {"a": "b", "c": "d#text"}),
    ("a: http://x:1/#y", {"a": "http://x:1/#y"}),
    ("'a b': c\n\"d\\te\": f\ng h : i", {"a b": "c", "d\te": "f", "g h": "i"}),
    ("1: a\ntrue: b\n~: c", {"1": "a", "true": "b", "~": "c"}),
    ("a: first\n  second\n\n  third", {"a": "first second\nthird"}),
    ("a: b\n  - c", {"a": "b - c"}),
    ("a: 'x\n  y'\nb: \"x\\\n  y\"", {"a": "x y", "b": "xy"}),
    ('a: "x\n y"', {"a": "x y"}),
    ('a: "x\\\ny"', {"a": "xy"}),
    ("a: |\n  x\n   y\n\nb: 1", {"a": "x\n y\n", "b": 1}),
    ("a: >-\n  x\n  y\n\n  z\n", {"a": "x y\nz"}),
    ("a: |+ # why\n  x\n\n", {"a": "x\n\n"}),
    ("a: |1\n  x\n", {"a": " x\n"}),
    ("a: |-\nb: >\nc: |+\n\n", {"a": "", "b": "", "c": "\n"}),
    ("a: [b, 'c, d', [e], {f: g}, ]", {"a": ["b", "c, d", ["e"], {"f": "g"}]}),
    ('a: {b: c, d, e: , "f":g, h: [1,\n  2] }', {"a": {"b": "c", "d": None, "e": None, "f": "g", "h": [1, 2]}}),
    ("a: [\n  b, # why\n  c\n]", {"a": ["b", "c"]}),
    ("a: ['b\nc'\n, d\n, {e\n: f\n}\n]", {"a": ["b c", "d", {"e": "f"}]}),
    ("a: [b: c, d]", {"a": [{"b": "c"}, "d"]}),
    ("a: [x:y, http://z]", {"a": ["x:y", "http://z"]}),
    ("a: -x\nb: ?x\nc: :x", {"a": "-x", "b": "?x", "c": ":x"}),
    ("a:\r\n  b: |\r\n    x\r\n    y\r\n", {"a": {"b": "x\ny\n"}}),
    ("a: b\t# a tab before a comment", {"a": "b"}),
    ("  a: 1\n  b: 2", {"a": 1, "b": 2}),
    ("a: x\x85y\u2028z", {"a": "x\x85y\u2028z"}),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_a_text_has_a_value(text: str, value: Any) -> None:
    assert scan(text).value == value


REFUSALS = [
    ("a: &x 1", "yaml-anchor", 1, 4),
    ("a: 1\nb: *x", "yaml-anchor", 2, 4),
    ("a:\n  - &x\n  - b", "yaml-anchor", 2, 5),
    ("&x a: b", "yaml-anchor", 1, 1),
    ("a: [b, *c]", "yaml-anchor", 1, 8),
    ("a: !!str 1", "yaml-tag", 1, 4),
    ("a: {b: !c d}", "yaml-tag", 1, 8),
    ("a: 1\nb: 2\n'a': 3", "yaml-duplicate-key", 3, 1),
    ("a: {b: 1, b: 2}", "yaml-duplicate-key", 1, 11),
    ("01: a\n'01': b", "yaml-duplicate-key", 2, 1),
    ("a: b\n--- \nc: d", "yaml-documents", 2, 1),
    ("a: b\n...", "yaml-documents", 2, 1),
    ("? a\n: b", "yaml-key", 1, 1),
    ("a:\n  : b", "yaml-key", 2, 3),
    ("a: {: b}", "yaml-key", 1, 5),
    ("[a]: b", "yaml-key", 1, 4),
    ("a: {[b]: c}", "yaml-key", 1, 5),
    ("a: [b\n  c: d]", "yaml-key", 1, 5),
    ("a: x\x01", "yaml-character", 1, 5),
    ("a: x\rb: y", "yaml-character", 1, 5),
    ("\ufeffa: b", "yaml-character", 1, 1),
    ("a: \ufffe", "yaml-character", 1, 4),
    ("%YAML 1.2", "yaml-syntax", 1, 1),
    ("a: @b", "yaml-syntax", 1, 4),
    ("a: `b`", "yaml-syntax", 1, 4),
    ("a: b: c", "yaml-syntax", 1, 5),
    ("a: - b", "yaml-syntax", 1, 4),
    ("a: ]", "yaml-syntax", 1, 4),
    ("a: 'b", "yaml-syntax", 1, 4),
    ('a: "b\\q"', "yaml-syntax", 1, 6),
    ("a: 'b' c", "yaml-syntax", 1, 7),
    ("a: 'b'# c", "yaml-syntax", 1, 7),
    ("a: 'b\nc'", "yaml-syntax", 2, 1),
    ("a: [b", "yaml-syntax", 1, 4),
    ("a: {b: [c}", "yaml-syntax", 1, 10),
    ("a: [b, , c]", "yaml-syntax", 1, 8),
    ("a: [\nb]", "yaml-syntax", 2, 1),
    ("a: |x\n  y", "yaml-syntax", 1, 4),
    ("a: |0\n  y", "yaml-syntax", 1, 4),
    ("a: |\n    \n  x", "yaml-syntax", 3, 1),
    ("a: 1\n  b: 2", "yaml-syntax", 2, 4),
    ("a:\n  b: 1\n c: 2", "yaml-syntax", 3, 2),
    ("a:\n  b: 1\n  - c", "yaml-syntax", 3, 3),
    ("- a\nb: 1", "yaml-syntax", 2, 1),
    (" a: 1\nb: 2", "yaml-syntax", 2, 1),
    ("a:\n\tb: 1", "yaml-syntax", 2, 1),
    ("a: b # c\n  d", "yaml-syntax", 2, 3),
]


@pytest.mark.parametrize(("text", "code", "line", "column"), REFUSALS)
def test_a_refusal_has_a_code_a_position_and_a_hint(text: str, code: str, line: int, column: int) -> None:
    """The list of ruling 22, and texts that no YAML reader can read."""
    with pytest.raises(SlicebaseError) as caught:
        scan(text, first_line=10)
    assert (caught.value.code, caught.value.where.line, caught.value.where.column) == (code, line + 9, column)


@pytest.mark.parametrize("frame", ["[{}]", "{{a: {}}}", "[a: {}]"])
def test_sixty_four_levels_are_read_and_one_more_is_refused(frame: str) -> None:
    """Ruling 22."""
    opening, closing = frame.format("\0").replace("{{", "{").replace("}}", "}").split("\0")
    levels = MAX_NESTING // (2 if "[a" in frame else 1)
    scan(opening * levels + "x" + closing * levels)
    with pytest.raises(SlicebaseError) as caught:
        scan(opening * (levels + 1) + "x" + closing * (levels + 1))
    assert caught.value.code == "yaml-nesting"


@pytest.mark.parametrize("step", ["- ", "-\n", "a:\n"])
def test_block_nesting_is_bounded_too(step: str) -> None:
    def nested(levels: int) -> str:
        inner = (" " * level if step.endswith("\n") else "" for level in range(levels))
        return "".join(indent + step for indent in inner) + " " * levels + "x"

    scan(nested(MAX_NESTING))
    with pytest.raises(SlicebaseError) as caught:
        scan(nested(20_000 if step == "- " else MAX_NESTING + 1))
    assert caught.value.code == "yaml-nesting"


def test_every_node_has_its_position() -> None:
    text = "a: one\nb:\n  - two # why\n  - {c: 'three', d: [4]}\ne: |\n  five\n\nf: six\n  seven\n"
    root = scan(text)
    spans = {entry.key: text[entry.value.start : entry.value.end] for entry in root.entries}
    assert spans == {
        "a": "one",
        "b": "- two # why\n  - {c: 'three', d: [4]}",
        "e": "|\n  five",
        "f": "six\n  seven",
    }
    items = root.entries[1].value.entries
    assert [text[item.start : item.after] for item in items] == ["-", "-"]
    inner = items[1].value.entries
    assert [(text[entry.start : entry.after], text[entry.value.start : entry.value.end]) for entry in inner] == [
        ("c:", "'three'"),
        ("d:", "[4]"),
    ]


@given(soup)
def test_any_text_gives_a_value_or_our_own_error(text: str) -> None:
    with contextlib.suppress(SlicebaseError):
        scan(text)


@given(headers())
def test_headers_in_any_style_are_read(header: Header) -> None:
    assert "slice" in scan(header.text).value


def test_positions_run_in_order_and_inside_their_parent() -> None:
    text = "a: [b, {c: d}]\ne:\n- f\n-\n- g: h\n  i:\n"

    def check(node: Any, low: int, high: int) -> None:
        assert low <= node.start <= node.end <= high
        for entry in node.entries:
            assert node.start <= entry.start <= entry.after <= max(entry.value.start, entry.after)
            check(entry.value, entry.start, node.end)

    check(scan(text), 0, len(text))
