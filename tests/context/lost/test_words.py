"""Sentences with their places, and finding them in a text with other wording."""

from collections import UserDict
from collections.abc import KeysView
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.lost.words import (
    Passages,
    StatementIndex,
    content_stems,
    content_weights,
    names,
    says,
    sentences,
)


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


def test_who_writes_without_capitals_ends_sentences_too() -> None:
    text = "cool, that works. one thing: keep it short, e.g. two lines, pictures etc. included. it is v2.1 now"
    assert texts(text) == [
        "cool, that works.", "one thing: keep it short, e.g. two lines, pictures etc. included.", "it is v2.1 now",
    ]  # fmt: skip


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
    ("statement", "least", "most"),
    [
        ("Retries are stopped after 600 seconds", 0.9, 1.0),
        ("Retries are stopped after 900 seconds", 0.5, 0.8),  # another figure
        ("`shop/models/order.py:117` stops retries (lines 4-9)", 0.9, 1.0),  # line numbers say nothing
        ("Nothing of this is there at all, neither words nor order", 0.0, 0.3),
        ("", 0.0, 0.0),
    ],
)
def test_a_statement_is_covered_by_its_words_names_and_figures(statement: str, least: float, most: float) -> None:
    assert least <= SUMMARY.coverage(statement) <= most


def test_a_statement_is_not_covered_by_words_that_are_far_apart() -> None:
    far = Passages("Retries are slow.\n" + "Something else is said.\n" * 20 + "It stops after seconds.")
    assert far.coverage("Retries stop after seconds") < 0.8


def test_code_in_a_summary_counts() -> None:
    assert Passages("Build:\n```\nmake dist VERSION=3\n```").coverage("run make dist with VERSION=3") > 0.6


def test_names_are_identifiers_paths_and_hashes() -> None:
    found = names("The open_repo of cmd/cli/state.go, ReadAll and 38cd6b4 of v1.2, plain words")
    assert found == {"open_repo", "state.go", "readall", "38cd6b4", "v1.2"}


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


class Counted(UserDict[str, int]):
    """A statement that counts how often it is compared with another one."""

    looks = 0

    def keys(self) -> KeysView[str]:
        Counted.looks += 1
        return super().keys()


def test_a_statement_is_compared_with_a_bounded_number_of_others() -> None:
    """The time of all comparisons was the square of the number of statements."""
    looks = []
    for size in (300, 1200):
        said = [Counted(content_weights(f"The limit of the basket is checked twice, case {at}")) for at in range(size)]
        index = StatementIndex(said)
        Counted.looks = 0
        for at in range(0, size, 30):
            assert at in index.like(said[at], 0.6, at)
        looks.append(Counted.looks / len(range(0, size, 30)))
    assert looks[1] <= looks[0] * 1.5
