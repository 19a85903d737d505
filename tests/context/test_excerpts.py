"""Excerpts: which part of a long text is shown."""

import re
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.context.excerpts import excerpt, forms_of
from slicebase.context.words import Word
from slicebase.core.hashing import tokens
from tests.context.rendered import words

LONG = "word " * 2000


def test_a_text_that_fits_is_shown_whole() -> None:
    text = "a" * 400
    assert excerpt(text, None, tokens(text)) == (0, 400)
    assert excerpt(text, None, tokens(text) - 1) != (0, 400)


def test_an_excerpt_is_where_most_different_words_of_the_question_are() -> None:
    often = "pump " * 50
    text = f"{'x ' * 500}{often}{'y ' * 1000}the pump and the valve {'z ' * 1000}"
    start, end = excerpt(text, forms_of(words("pump valve")), 40)
    assert "pump and the valve" in text[start:end]


def test_of_equal_places_the_first_is_shown() -> None:
    text = f"{'x ' * 500}the pump here {'y ' * 1000}the pump there {'z ' * 500}"
    start, end = excerpt(text, forms_of(words("pump")), 40)
    assert "pump here" in text[start:end]


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        (Word("据库", "据库"), "我们的数据库每天备份"),
        (Word("invoice", "invoic"), "call fetchInvoiceTotals"),
        (Word("bought", "bought", (), ("bui",)), "they buy boats"),
        (Word("invoice", "invoic"), "call fetch_invoice_totals"),
        (Word("db", "db"), "the name is main_db_url"),
        (Word("koln", "koln"), "she lives in Köln"),
        (Word("wide", "wide"), "the letters are ＷＩＤＥ"),
        (Word("mueller", "mueller"), "she is called Müller"),
        (Word("1500", "1500"), "it costs 1,500 euros"),
        (Word("lodz", "lodz"), "she lives in ﬁne Łódź"),
        (Word("thor", "thor"), "he is called Þór"),
        (Word("file", "file"), "he wrote the ﬁle"),
        (Word("データ", "データ"), "she wrote ﾃﾞｰﾀ"),
        (Word("mueller", "mueller"), "she is called Mu\u0308ller"),
        (Word("koln", "koln"), "she lives in Ko\u0308ln"),
    ],
)
def test_an_excerpt_has_the_words_that_the_index_finds(asked: Word, there: str) -> None:
    """In scripts without spaces, in parts of names, with accents and strokes, in full and half width."""
    text = f"{'x ' * 500}{there}{' y' * 500}"
    start, end = excerpt(text, forms_of([asked]), 40)
    assert there in text[start:end]


def test_the_beginning_is_shown_if_it_has_half_as_many_words() -> None:
    text = f"The pump: {'x ' * 500}the pump and valve {'y ' * 500}the pump, valve and lever {'z ' * 500}"
    assert excerpt(text, forms_of(words("pump valve")), 40)[0] == 0
    start, end = excerpt(text, forms_of(words("pump valve lever")), 40)
    assert "lever" in text[start:end]


def test_a_word_counts_in_every_form() -> None:
    text = f"{'x ' * 500}Two Pumps here {'y ' * 500}"
    start, end = excerpt(text, forms_of(words("pumps")), 40)
    assert "Pumps" in text[start:end]
    assert forms_of(()) is None


def test_words_count_together_only_if_they_are_near() -> None:
    text = f"{'a ' * 300}pump {'b ' * 3000}valve {'c ' * 3000}pump valve {'d ' * 300}"
    start, end = excerpt(text, forms_of(words("pump valve")), 60)
    assert "pump valve" in text[start:end]


def test_an_excerpt_begins_and_ends_at_breaks() -> None:
    text = "\n\n".join(f"paragraph {number} of the text" for number in range(200))
    start, end = excerpt(text, forms_of(words("97")), 100)
    assert "97" in text[start:end]
    assert text[start - 2 : start] == "\n\n"
    assert text[end : end + 2] == "\n\n"
    assert text[start:end] == text[start:end].strip()


def test_an_excerpt_of_the_beginning_begins_there() -> None:
    start, end = excerpt(f"First line\n\n{LONG}", forms_of(words("first")), 100)
    assert start == 0
    assert end > 200


@given(
    st.text(alphabet=st.sampled_from("ab \n—語"), max_size=600),
    st.sets(st.sampled_from(["a", "b", "ab", "ba"])).map(" ".join),
    st.integers(1, 60),
)
def test_an_excerpt_is_a_span_within_the_limit(text: str, terms: str, limit: int) -> None:
    start, end = excerpt(text, forms_of(words(terms)), limit)
    assert 0 <= start <= end <= len(text)
    assert tokens(text[start:end]) <= limit
    if tokens(text) > limit:
        assert end > start


# An accent, a flag, a family, a hand with a colour, a heart with a variation, a line end of two; then Hindi, the
# flag of Wales, Thai, Korean in letters, and Japanese of half width.
CHARACTERS = ["e\u0301\u0323", "\U0001f1ef\U0001f1f5", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
              "\U0001f44b\U0001f3fd", "\u2764\ufe0f", "\r\n", "x", "\u0928\u093f",
              "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f", "\u0e17\u0e33",
              "\u1112\u1161\u11ab", "\uff76\uff9e"]  # fmt: skip


@settings(max_examples=40)
@given(st.lists(st.sampled_from(CHARACTERS), min_size=30, max_size=60), st.integers(5, 40), st.sampled_from(CHARACTERS))
def test_no_excerpt_begins_or_ends_inside_what_is_seen_as_one_character(
    characters: list[str], limit: int, asked: str
) -> None:
    ends = {0, *accumulate(map(len, characters))}
    start, end = excerpt("".join(characters), re.compile(re.escape(asked)), limit)
    assert {start, end} <= ends


def test_a_long_row_of_flags_is_cut_between_two() -> None:
    text = "\U0001f1ef\U0001f1f5" * 50
    assert {end % 2 for limit in range(2, 99) for end in excerpt(text, None, limit)} == {0}
