"""Identifiers: the parts of names that capital letters join."""

import re

from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.identifiers import humps_in, named_in
from slicebase.context.words import simplified, without_unspaced

NAMES = ["a", "B", "bC", "HTTPServer", "parseArgs", "Éa", "äB", "日本", "ＡＢc"]
MARKS = ["1", "_", "-", "/", ".", " ", "\n", "\x1c"]
TEXTS = st.lists(st.sampled_from(NAMES + MARKS), max_size=12).map("".join) | st.text(max_size=30)


@given(TEXTS)
def test_the_parts_of_names_are_those_of_every_word_that_has_a_capital_inside(text: str) -> None:
    """Said plainly: each word by itself, split before each capital that begins a part."""
    humps = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][^\W\d_A-Z])")
    words = re.findall(r"[^\W_]+", without_unspaced(simplified(text)))
    assert humps_in(text) == {part for word in words if humps.search(word) for part in humps.split(word)}
    assert humps_in(text) == named_in(text).humps


def test_parts_of_long_data_are_found_and_not_kept_in_memory() -> None:
    assert humps_in("x" * 5000 + "Y") == {"x" * 5000, "Y"}
