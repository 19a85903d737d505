"""Other forms of words are found wherever the plain patterns find them."""

import re

from hypothesis import given
from hypothesis import strategies as st

from slicebase.context import forms
from slicebase.context.forms import for_index

NUMBERS = re.compile(r"(?<![\w.,])\d{1,3}(?:([,.'’_ \u00a0\u2009\u202f])\d{3})(?:\1\d{3})*(?!\w)")


@given(st.lists(st.sampled_from([*"1 ,.'_xé→’\u00a0\u202f", "12", "234", "1,000", "١٢٣"]), max_size=12).map("".join))
def test_numbers_in_groups_are_indexed_as_their_digits(text: str) -> None:
    digits = sorted({"".join(filter(str.isdigit, match[0])) for match in NUMBERS.finditer(text)})
    assert for_index(text, ()).removeprefix(text).split() == digits


def test_every_letter_that_has_another_form_is_noticed() -> None:
    """Case makes more letters equal than one would list by heart: the sign of the Ångström, the capital ß."""
    has, word = forms._has_foreign(), forms._foreign()
    letters = [chr(code) for code in range(0x80, 0xFFFF) if not 0xAC00 <= code <= 0xD7A3]
    assert all(has.search(letter) for letter in letters if word.search(letter))
    assert for_index("x → Müller", ()).endswith("\nmueller")
    assert for_index("x → 데이터베이스를", ()).endswith("데이터베이스")
