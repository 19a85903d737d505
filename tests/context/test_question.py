import re

import pytest

from slicebase.context.question import Question, analyse
from slicebase.context.when import When
from slicebase.context.words import Word


def words(text: str) -> list[Word]:
    return [Word(word, word) for word in text.lower().split()]


def asked(text: str) -> Question:
    return analyse(text, words(text))


def test_words_that_only_ask_are_dropped_and_the_others_come_once() -> None:
    assert [word.text for word in asked("what did the fox and the other fox eat").words] == ["fox", "eat"]


def test_words_with_one_stem_are_one_word() -> None:
    assert analyse("", [Word("painted", "paint"), Word("painting", "paint")]).words == (Word("painted", "paint"),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("when did I move", True),
        ("can you list my trips", True),
        ("when did the fox move", False),
        ("what did you recommend for my trip", False),
        ("what was your advice to me", False),
        ("", False),
    ],
)
def test_a_question_is_about_its_author_unless_it_asks_what_the_other_one_said(text: str, expected: bool) -> None:
    assert asked(text).of_author == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("could you show me a login form", True),
        ("which libraries should I use", True),
        ("help me with the tests", True),
        ("when did I move", False),
        ("what would you say I have done", False),
        ("can you give me a summary of our conversations", False),
        ("the fox", False),
    ],
)
def test_a_question_asks_for_help_unless_it_looks_back(text: str, expected: bool) -> None:
    assert asked(text).wants_help == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what did Will say", ["will", "say"]),
        ("Did May agree?", ["may", "agree"]),
        ("Will's plan, and what May's was", ["will", "plan", "may"]),
        ("and “Will” Smith, or will they", ["will", "smith"]),
        ("Will it work? Will they?", ["work"]),
        ("What Will Happen To The Fox", ["happen", "fox"]),
        ("what may happen, in May", ["happen"]),
        ("what did May say in May", ["say"]),
        ("what did An tell Do? So they left", ["an", "tell", "do", "left"]),
    ],
)
def test_a_word_that_only_asks_counts_where_it_is_the_name_of_a_person(text: str, expected: list[str]) -> None:
    known = [Word(word, word) for word in re.findall(r"[a-z]+", text.lower()) if word != "s"]
    assert [word.text for word in analyse(text, known).words] == expected


def test_only_the_first_words_of_a_pasted_page_are_searched() -> None:
    page = " ".join(f"word{number}" for number in range(100_000))
    assert [word.text for word in asked(page).words] == [f"word{number}" for number in range(64)]


def test_only_a_few_dates_count() -> None:
    assert len(asked(" ".join(f"2026-01-{day:02}" for day in range(1, 31))).dates) == 8


def test_relative_dates_count_if_it_is_known_when_the_question_is_asked() -> None:
    assert asked("yesterday").dates == ()
    assert analyse("yesterday", words("yesterday"), 86_400_000 * 365).dates == (When(1970, 12, 31),)
