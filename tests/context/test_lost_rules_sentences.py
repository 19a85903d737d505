"""Sentences with their places, and finding them in a text with other wording."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicebase.context.lost_rules import Passages, content_stems, says, sentences


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in sentences(text)]


def test_prose_lists_headings_and_wrapped_lines_are_split_into_sentences() -> None:
    text = "# Plan\nUse UTC. Keep the\nlimit!\n\n- one entry\n2. another: a.go\n> quoted"
    assert texts(text) == ["Plan", "Use UTC.", "Keep the\nlimit!", "one entry", "another: a.go", "quoted"]


@pytest.mark.parametrize("text", ["a\n```go\nlet's use x.\n```\nb", "a\n~~~\nlet's use x.\n~~~\nb"])
def test_fenced_code_is_not_prose(text: str) -> None:
    assert texts(text) == ["a", "b"]


def test_an_open_fence_hides_the_rest() -> None:
    assert texts("before\n```\nUse x.") == ["before"]


@given(st.text(alphabet=st.sampled_from("aB. \n-*#`1)!?。>|"), max_size=60))
def test_a_sentence_stands_where_it_says(text: str) -> None:
    found = list(sentences(text))
    assert all(text[each.start : each.end] == each.text and each.text.strip() for each in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


def test_phrases_are_searched_word_by_word() -> None:
    assert says("OK, let's use SQLite", ("let's use",))
    assert not says("an outlet's user", ("let's use",))


def test_common_words_are_not_content_words() -> None:
    assert content_stems("We should use the limits that were decided") == content_stems("limit")


SUMMARY = Passages("1. Concepts:\n- Retries stop after 600 seconds\n- `make` builds\n\nFiles:\n- shop/models/order.py")


@pytest.mark.parametrize(
    ("sentence", "held"),
    [
        ("Retrying stops 600 seconds after the order", True),
        ("Retrying stops 900 seconds after the order", False),
        ("Nothing of this is there at all, neither words nor order", False),
        ("", False),
    ],
)
def test_a_sentence_is_found_by_most_of_its_words_and_all_its_numbers(sentence: str, held: bool) -> None:
    assert SUMMARY.hold(sentence, 0.6, with_figures=True) is held


def test_a_sentence_is_not_found_by_words_that_are_far_apart() -> None:
    far = Passages("Retries are slow.\n" + "Something else is said.\n" * 5 + "It stops after seconds.")
    assert not far.hold("Retries stop after seconds", 0.8, with_figures=False)


@pytest.mark.parametrize(
    ("literal", "quoted"),
    [
        ("models/order.py", True),
        ("order.py", True),
        ("rder.py", False),
        ("order", False),
        ("make", True),
        ("after", False),
    ],
)
def test_a_quotation_is_a_complete_name_and_a_plain_word_only_in_backticks(literal: str, quoted: bool) -> None:
    assert SUMMARY.quote([literal]) is quoted
