"""Patterns in linear time: what is accepted, what is refused, and what a match is."""

import random
import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.secrets.issuers import ISSUED
from slicebase.secrets.pattern import OneOf, PatternError, Sequence, Some, compiled, heads, longest, parsed
from slicebase.secrets.scan import table
from tests.secrets.samples import drawn


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("abc", "abc"),
        (r"a\.b", "a.b"),
        ("[a-c_-]{3}", "b_-"),
        (r"\d{2,4}", "1234"),
        (r"k_\w{3,}", "k_a_bcd"),
        ("(?:ab|c)d?", "cd"),
        ("x=(?P<secret>[a-z]{2,})={0,2}", "x=abc=="),
    ],
)
def test_a_pattern_matches_what_the_same_expression_matches(source: str, text: str) -> None:
    assert compiled(parsed(source)).fullmatch(text)
    assert re.fullmatch(source, text)


@pytest.mark.parametrize(
    "source",
    [
        "", "a*", "a+", ".", "^a", "a$", "a|b", "(a)", "(?=a)", "(?<!a)", "(?:ab){2}", "(?:a", "a)", "[^a]", "[a", "a{",
        "a{2", "a{3,2}", "a{0}", "a{70000}", "a{2,}b", "a{2,}b{2,}", "(?:a{2,}|b)c", "(?:a{2,}|b)", r"\s", r"\1", "\\",
        "é", "[é]",
    ],
)  # fmt: skip
def test_a_pattern_that_could_go_back_is_refused(source: str) -> None:
    with pytest.raises(PatternError):
        parsed(source)


def test_a_repetition_gives_nothing_back() -> None:
    assert compiled(parsed("[a-z]{2,9}z")).match("aaaz") is None


def test_the_first_characters_are_enumerated() -> None:
    assert heads(parsed("gh[po]_[a-z]{4}"), 4) == frozenset({"ghp_", "gho_"})
    assert heads(parsed("(?:ab|c)d?e{3}"), 3) == frozenset({"abd", "abe", "cde", "cee"})
    assert heads(parsed("[a-z]{3}x"), 3) is None
    assert longest(parsed("ab{2,5}c{3,}")) == 9


@given(st.text(alphabet="ab1_-[]{}(),?:|\\P<secret>.*+", max_size=30))
def test_any_text_is_a_pattern_or_an_error(source: str) -> None:
    try:
        items = parsed(source)
    except PatternError:
        return
    text = drawn(items, random.Random(0))
    assert compiled(items).match(text + "") is not None or "{" in source or "?" in source


def letter(item: Some | OneOf) -> str:
    return min(item.characters) if isinstance(item, Some) and len(item.characters) == 1 else "?"


def branches(items: Sequence) -> list[OneOf]:
    found = []
    for item in items:
        if isinstance(item, OneOf):
            found.append(item)
            for branch in item.branches:
                found += branches(branch)
    return found


@pytest.mark.parametrize("source", sorted({rule.source for rule in table(ISSUED)}))
def test_no_branch_hides_a_later_one(source: str) -> None:
    """The first branch that fits is taken for good, so a branch must not begin like a later, longer one."""
    for group in branches(parsed(source)):
        texts = ["".join(map(letter, branch)) for branch in group.branches]
        fixed = [text for text in texts if "?" not in text]
        assert not [pair for pair in combinations(fixed, 2) if pair[1].startswith(pair[0])]
