"""Other forms of words are found wherever the plain patterns find them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.context import forms
from slicebase.context.forms import for_index, respelled
from slicebase.context.words import UNDECOMPOSED

NUMBERS = re.compile(r"(?<![\w.,])\d{1,3}(?:([,.'’_ \u00a0\u2009\u202f])\d{3})(?:\1\d{3})*(?!\w)")

# Without regard to case, `re` takes the i without a dot for one with it, and each sigma for the one that ends a word.
AS_WRITTEN = "ıςΐΰ"
LETTERS = f"(?:[{''.join({*forms._DIGRAPHS, *UNDECOMPOSED} - {*AS_WRITTEN})}]|(?-i:[{AS_WRITTEN}]))"
FOREIGN = re.compile(rf"\w*{LETTERS}\w*|[\uac00-\ud7a3]{{2,}}", re.IGNORECASE)


@given(st.lists(st.sampled_from([*"1 ,.'_xé→’\u00a0\u202f", "12", "234", "1,000", "١٢٣"]), max_size=12).map("".join))
def test_numbers_in_groups_are_indexed_as_their_digits(text: str) -> None:
    digits = sorted({"".join(filter(str.isdigit, match[0])) for match in NUMBERS.finditer(text)})
    assert for_index(text, ()).removeprefix(text).split() == digits


def test_every_letter_that_has_another_form_is_noticed() -> None:
    """Case makes more letters equal than one would list by heart: the sign of the Ångström, the capital ß."""
    letters = [chr(code) for code in range(0x80, 0xFFFF) if not 0xAC00 <= code <= 0xD7A3]
    assert all(forms._has_digraph().search(letter) for letter in letters if FOREIGN.search(letter))
    assert for_index("x → Müller", ()).endswith("\nmueller")
    assert for_index("x → Ærø", ()).endswith("\naero aeroe")
    assert for_index("x → 데이터베이스를", ()).endswith("데이터베이스")


@given(st.text("aAüÜßıiIŁþёάςΣΐ한국어는 .,_-1Åé泵\u212bẞ", max_size=20))
def test_words_with_other_forms_are_those_of_the_plain_pattern(text: str) -> None:
    found = [(match.start(), match[0]) for match in FOREIGN.finditer(text)]
    assert list(forms._foreign_words(text)) == found


@pytest.mark.parametrize("letter", ["x", "é", "泵", "1", "xY"])
def test_a_very_long_word_is_read_once_and_not_again_from_each_of_its_letters(letter: str) -> None:
    """A picture in base64 beside one accent: with a pattern that tries every beginning, this takes minutes."""
    text = f"é 한국 {letter * 150_000}"
    assert list(respelled(text)) == []
    assert [form for _, _, form in respelled(f"{text}ü")] == [f"{letter * 150_000}ue".lower()]
    assert len(for_index(text, ())) >= len(text)
