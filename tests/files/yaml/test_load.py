"""yaml-rs and the scanner return the same values, and both follow YAML 1.2 (ruling 22)."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import yaml_rs
from hypothesis import given
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.files.yaml.edit import same
from slicebase.files.yaml.emit import YamlLayout, inline, mapping_lines
from slicebase.files.yaml.load import load, load_plainly
from tests.files.strategies import Header, damaged, headers, keys, scalars, soup, values


def outcome(read: Callable[[str], Any], text: str) -> Any:
    """Returns a value, or the error's code and position."""
    try:
        return read(text)
    except SlicebaseError as error:
        return (error.code, error.where)


def agree(text: str) -> bool:
    quick, plain = outcome(load, text), outcome(load_plainly, text)
    return quick == plain if isinstance(quick, tuple) else same(quick, plain)


@given(soup)
def test_the_quick_reader_and_the_scanner_agree_on_anything(text: str) -> None:
    assert agree(text)


@given(damaged())
def test_the_quick_reader_and_the_scanner_agree_on_damaged_headers(text: str) -> None:
    assert agree(text)


@given(headers())
def test_the_quick_reader_and_the_scanner_agree_on_headers(header: Header) -> None:
    assert agree(header.text)


@given(st.dictionaries(keys, values, min_size=1, max_size=3))
def test_the_quick_reader_and_the_scanner_agree_on_what_we_write(wanted: dict[str, Any]) -> None:
    assert agree("\n".join(mapping_lines(wanted, 0, YamlLayout())))


@given(scalars)
def test_the_quick_reader_and_the_scanner_agree_on_scalars(value: Any) -> None:
    for text in (str(value), inline(value)):
        assert agree(f"k: {text}")
        assert agree(f"[{text}]")
        assert agree(f"{text}: 1")


@pytest.mark.parametrize("frame", ["k: {}", "- {}", "[{}]", "{}: 1"])
def test_the_quick_reader_and_the_scanner_agree_on_everything_like_a_number(frame: str) -> None:
    for length in (1, 2, 3):
        for characters in itertools.product("019_.-+eExobf", repeat=length):
            text = frame.format("".join(characters))
            assert agree(text), text


def test_the_quick_reader_and_the_scanner_agree_on_words() -> None:
    words = ".inf .Inf .iNf +.inf -.INF .nan .Nan +.nan inf nan true True tRue yes on null nUll ~ ~a 1e400 -0 -0.0 +0"
    for word in (*words.split(), "1" * 30, "1" * 5000, "0." + "1" * 30, "12:30", "2020-01-01", "1,000", "²", "١٢"):
        for frame in ("k: {}", "- {}", "[{}]", "{}: 1"):
            assert agree(frame.format(word)), word


@pytest.mark.parametrize(
    "text",
    [
        "k: >\n",
        "k: |\n\n",
        "a: |+\n  x\n\n",
        "k: {|x}",
        "k: {a: |\n  b}",
        "k: [[a],\n  b: |\n  c]",
        "k: {a\n b: c}",
        "k: {a:[b]}",
        "- - " * 8 + "x",
        "? a\n: b",
        "[[a]: b]",
    ],
)
def test_where_yaml_rs_reads_differently_the_scanner_decides(text: str) -> None:
    assert agree(text)


def test_nesting_that_would_overflow_yaml_rs_never_reaches_it() -> None:
    """Ruling 22: a text must never crash the process."""
    for text in ("- " * 30_000 + "x", "? " * 30_000, "[" * 30_000, "\n".join(" " * i + "-" for i in range(300))):
        assert outcome(load, text)[0] in ("yaml-nesting", "yaml-key")


@given(soup)
def test_what_the_scanner_takes_yaml_rs_takes_too_and_reads_the_same_text(text: str) -> None:
    """Apart from tabs and two defects of yaml-rs, which refuses some multi-line texts that YAML allows."""
    value = outcome(load_plainly, text)
    if isinstance(value, tuple) or "\t" in text or '"' in text or "'" in text or "|" in text or ">" in text:
        return
    theirs = yaml_rs.loads(text if text.endswith("\n") else text + "\n", parse_datetime=False)
    assert same(spelled(value), spelled(theirs))


def spelled(value: Any) -> Any:
    """Returns the shape of a value. Scalars that are not text count as equal, because readers differ (ruling 22)."""
    if isinstance(value, dict):
        return [
            (key if isinstance(key, str) and not _numeric(key) else 0, spelled(item)) for key, item in value.items()
        ]
    if isinstance(value, list):
        return [spelled(item) for item in value]
    return value if isinstance(value, str) and not _numeric(value) else 0


def _numeric(text: str) -> bool:
    return text.lower() in ("true", "false", "null", "~") or text[:1] in set("0123456789.+-_")
