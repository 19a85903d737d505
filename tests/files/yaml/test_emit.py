"""Writing YAML that every common reader reads back the same."""

import math
from typing import Any

import pytest
import yaml
import yaml_rs
from hypothesis import given
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.files.model import Contract, Link
from slicebase.files.yaml.edit import same
from slicebase.files.yaml.emit import YamlLayout, inline, list_lines, mapping_lines, plain_value
from slicebase.files.yaml.load import load, load_plainly
from tests.files.strategies import keys, scalars, texts, values

UNMISTAKABLE = (
    "word", "two words", "01JARCH00000000000000001", "./security/", "../a/b.slice", "sha256:e3b0c4", "http://x/y#z",
    "é", "it's", "a, b", "1 day", "R & D", "why?", "(x)", "/abs", "a [b] {c}", "2026-W05",
    "05ce3f25-3b45-539e-8730-509ea3dc8613",
    "naïve", "off-by-one", "nobody",
)  # fmt: skip
MISTAKABLE = (
    "", "no", "On", "YES", "y", "1", "1.5", "0x1F", "010", "1_000", "12:30:45", "2026-01-31", "~", "null", "Null",
    ".inf", "2026-01-31T12:00:00.000Z", "- a", "-a", "? b", "a: b", "a:", "a #b", "#a", "&a", "*a", "!a", "|", ">",
    "'a'", '"a"', "%a", "@a", "`a`", "[a]", "{a}", " a", "a ", "a\tb", "a\x85b", "a\u2028b", "=", "<<", "---", "...",
    "1e3", "01E50000000000000000000001",
)  # fmt: skip


@pytest.mark.parametrize("text", UNMISTAKABLE)
def test_a_text_that_no_reader_mistakes_is_not_quoted(text: str) -> None:
    assert inline(text, flow=False) == text


@pytest.mark.parametrize("text", MISTAKABLE)
def test_a_text_that_some_reader_mistakes_is_quoted(text: str) -> None:
    assert inline(text, flow=False).startswith('"')


def readers(text: str) -> list[Any]:
    return [
        load(text),
        load_plainly(text),
        yaml_rs.loads(text, parse_datetime=False),
        yaml.load(text, yaml.CSafeLoader),
    ]


@given(texts | st.sampled_from(["no", "1", "01", "2026-01-31", "1_0", "0x1F", "12:30", "=", "~", "1e3", ".5"]))
def test_every_reader_reads_a_text_back(text: str) -> None:
    """Our two, yaml-rs, and PyYAML, which follows YAML 1.1 and makes dates."""
    for written in (f"k: {inline(text, flow=False)}\n", f"k: [{inline(text)}]\n", f"k: {{k: {inline(text)}}}\n"):
        for value in readers(written):
            assert text in (value["k"], *(value["k"] if isinstance(value["k"], list) else ()), *_values(value["k"]))


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else []


@given(texts)
def test_a_text_keeps_the_quotes_it_had(text: str) -> None:
    for like in ("single", "double"):
        written = inline(text, flow=False, like=like)
        assert load_plainly(f"k: {written}") == {"k": text}
    assert inline(text, like="double")[0] == '"'


@given(st.dictionaries(keys, values, max_size=3), st.sampled_from([YamlLayout(), YamlLayout(4, 0), YamlLayout(1, 3)]))
def test_whole_values_are_read_back(wanted: dict[str, Any], layout: YamlLayout) -> None:
    text = "\n".join(mapping_lines(wanted, 0, layout))
    assert same(load_plainly(text) or {}, wanted)
    assert same(load(text) or {}, wanted)
    assert same(load_plainly(f"k: {inline(wanted)}"), {"k": wanted})
    assert same(load_plainly("\n".join(list_lines([wanted, [wanted]], 0, layout))), [wanted, [wanted]])


@given(st.dictionaries(texts, st.lists(scalars, max_size=2), max_size=3))
def test_pyyaml_reads_back_what_has_no_exponent_that_it_misses(wanted: dict[str, Any]) -> None:
    text = "\n".join(mapping_lines(wanted, 0, YamlLayout())) + "\n"
    assert same(yaml.load(text, yaml.CSafeLoader) or {}, wanted)


@pytest.mark.parametrize(
    ("value", "written"),
    [(None, "null"), (True, "true"), (0, "0"), (-3, "-3"), (1.0, "1.0"), (1e20, "1.0e+20"), (1.5e-7, "1.5e-07"),
     (math.inf, ".inf"), (-math.inf, "-.inf"), (math.nan, ".nan"), ({}, "{}"), ([], "[]")],
)  # fmt: skip
def test_values_that_are_not_text(value: Any, written: str) -> None:
    assert inline(value, flow=False) == written


def test_several_lines_are_a_literal_block_where_that_is_safe() -> None:
    assert mapping_lines({"k": "a\n\n b\n"}, 2, YamlLayout()) == ["  k: |", "    a", "", "     b"]
    assert mapping_lines({"k": "a\nb"}, 0, YamlLayout(4)) == ["k: |-", "    a", "    b"]
    for fragile in (" a\nb", "\na", "a \nb", "a\n\n", "a\n\tb\x00", "\n"):
        assert len(mapping_lines({"k": fragile}, 0, YamlLayout())) == 1


def test_typed_parts_are_written_without_what_is_absent() -> None:
    assert plain_value(Link("see_also", "x")) == {"rel": "see_also", "to": "x"}
    assert plain_value(Contract("p", ("a",))) == {"purpose": "p", "exclude": ["a"]}


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"x", "not-json-value"),
        ({1: 2}, "not-json-value"),
        ([object()], "not-json-value"),
        ("\ud800", "lone-surrogate"),
    ],
)
def test_what_yaml_cannot_hold_is_refused(value: Any, code: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        plain_value(value)
    assert caught.value.code == code
