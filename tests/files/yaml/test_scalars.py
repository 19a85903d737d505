"""The meaning of scalars (ruling 22)."""

import math
from typing import Any

import pytest

from slicebase.files.yaml.scalars import BadEscapeError, join_block, resolve, unquote_double, unquote_single

NO_CORE_VALUES = (
    "no No on off yes y 010 1_000 12:30:45 0b11 0X1F 2026-01-31 0o8 1.2.3 tRue nULL 01.5 -010 = << 1e 0x - + . _1"
)


@pytest.mark.parametrize("text", NO_CORE_VALUES.split())
def test_a_scalar_that_is_not_a_core_value_is_text(text: str) -> None:
    """Ruling 22."""
    assert resolve(text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("~", None), ("null", None), ("NULL", None), ("true", True), ("False", False), ("0", 0), ("-7", -7),
        ("+7", 7), ("0o17", 15), ("0x1F", 31), ("1.5", 1.5), (".5", 0.5), ("1.", 1.0), ("1e3", 1000.0),
        ("-.inf", -math.inf),
    ],
)  # fmt: skip
def test_core_values(text: str, value: Any) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


def test_nan_is_a_number() -> None:
    value = resolve(".nan")
    assert isinstance(value, float)
    assert math.isnan(value)


def test_a_number_with_more_digits_than_python_reads_stays_text() -> None:
    assert resolve("1" * 5000) == "1" * 5000


def test_single_quotes_double_their_quote_and_fold_their_lines() -> None:
    assert unquote_single("it''s  \n  two\n\n\n lines ") == "it's two\n\nlines "


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("a\\tb\\x41\\u00e9\\U0001F600\\/", "a\tbAé😀/"),
        ("\\ud83d\\ude00", "😀"),  # a surrogate pair, as JSON writes it
        ("fold  \n  ed", "fold ed"),
        ("kept\n\n\nbreaks", "kept\n\nbreaks"),
        ("joined \\\n   line", "joined line"),
        ("\\ \n x", "  x"),
    ],
)
def test_double_quotes_unescape_and_fold(inside: str, text: str) -> None:
    assert unquote_double(inside) == text


@pytest.mark.parametrize("escape", ["\\q", "\\x4", "\\ud800", "\\ude00\\ud83d", "\\U00110000"])
def test_an_escape_that_yaml_does_not_define_is_refused_with_its_position(escape: str) -> None:
    with pytest.raises(BadEscapeError) as caught:
        unquote_double("ab" + escape)
    assert caught.value.offset == 2


@pytest.mark.parametrize(
    ("lines", "folded", "chomping", "text"),
    [
        (["a", "b", ""], False, "", "a\nb\n"),
        (["a", "b", ""], False, "-", "a\nb"),
        (["a", "b", ""], False, "+", "a\nb\n\n"),
        (["", "a"], False, "", "\na\n"),
        (["a", "b", "", "c"], True, "-", "a b\nc"),
        (["a", " more", "b"], True, "-", "a\n more\nb"),
        (["", "a"], True, "-", "\na"),
        (["", ""], True, "+", "\n\n"),
        (["", ""], False, "", ""),
    ],
)
def test_block_scalars_keep_fold_and_chomp(lines: list[str], folded: bool, chomping: str, text: str) -> None:
    assert join_block(lines, folded=folded, chomping=chomping) == text


@pytest.mark.parametrize(
    "inside", ["x" + " " * 60_000 + "y", "x" + " \t" * 30_000 + "\n y", "x" + "\n" * 60_000 + " y"]
)
def test_the_time_for_white_space_is_linear_in_its_length(inside: str) -> None:
    assert unquote_double(inside)[0] == unquote_single(inside)[0] == "x"


@pytest.mark.parametrize("digits", ["0x" + "f" * 5000, "0o" + "7" * 9000, "9" * 5000])
def test_a_number_that_python_does_not_print_is_text(digits: str) -> None:
    assert resolve(digits) == digits
    assert isinstance(resolve("0x" + "f" * 3500), int)
    assert repr(resolve("0x" + "f" * 3500))
