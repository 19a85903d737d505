"""Terms in texts: where they begin, where they end, and that long texts take no longer than they are long."""

import re
from collections import deque
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.match import Match, TermPattern
from slicebase.context.query import read

TEXTS = st.text("aAbB_1. -", max_size=40)


def pattern(query: str, match: Match = Match.ANY_CASE) -> TermPattern:
    [term] = read(query).terms
    return TermPattern(term, match)


def begun(text: str, letters: str) -> list[tuple[int, int]]:
    """Returns the spans of the words, and of the parts of names, that begin with these letters: the plain twin."""
    found, end = [], 0
    for start in range(len(text)):
        before = text[:start][-1:]
        is_part = before.isalpha() and not before.isupper() and text[start].isupper()
        if start >= end and text[start:].lower().startswith(letters) and (not before.isalnum() or is_part):
            end = start + len(re.match(r"\w*", text[start:])[0])  # type: ignore[index]  # it matches anything
            found.append((start, end))
    return found


@given(TEXTS, st.sampled_from(["a", "ab", "b"]))
def test_a_beginning_is_found_with_the_rest_of_its_word(text: str, letters: str) -> None:
    assert [*pattern(f"{letters}*").places(text)] == begun(text, letters)


POINTED = st.text('aאب\u05b0\u0640\u064b_ "*-', max_size=12)


@given(POINTED, POINTED, st.sampled_from(Match))
def test_a_search_for_points_and_vowels_ends(typed: str, text: str, match: Match) -> None:
    query = read(typed)
    for term in (*query.terms, *query.excluded):
        sought = TermPattern(term, match)
        assert all(start < end for start, end in sought.places(text))
        sought.is_in(text)


def test_a_beginning_inside_a_word_is_none_however_long_the_word_is() -> None:
    assert [*pattern("aa*").places("xaaab aab")] == [(6, 9)]


def seconds(query: str, text: str) -> float:
    best = float("inf")
    for _ in range(3):
        start = process_time()
        for match in Match:
            sought = pattern(query, match)
            deque(sought.places(text), maxlen=0)
            sought.is_in(text)
        best = min(best, process_time() - start)
    return best


@pytest.mark.growth
@pytest.mark.parametrize("query", ["aa*", '"aa b"', '"aa"', "aa-b", "a.a*"])
@pytest.mark.parametrize("unit", ["a", "a.", "a ", "aa-"])
def test_the_time_of_a_text_grows_like_the_text(query: str, unit: str) -> None:
    """Four times the text takes about four times as long: to read on from every letter would take sixteen times."""
    short, long = (seconds(query, "x" + unit * (length // len(unit))) for length in (8_000, 32_000))
    assert long < 10 * max(short, 0.001)
