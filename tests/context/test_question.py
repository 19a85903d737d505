import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.question import Question, When, analyse, dates
from slicebase.context.words import Word
from slicebase.core.times import from_text


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


def test_only_the_first_words_of_a_pasted_page_are_searched() -> None:
    page = " ".join(f"word{number}" for number in range(100_000))
    assert [word.text for word in asked(page).words] == [f"word{number}" for number in range(64)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 2026-01-31?", [When(2026, 1, 31)]),
        ("in 2026-01.", [When(2026, 1)]),
        ("on 13 October, 2023", [When(2023, 10, 13)]),
        ("on October 13th, 2023", [When(2023, 10, 13)]),
        ("the 5th of May", [When(None, 5, 5)]),
        ("in May", [When(None, 5)]),
        ("since March 2024", [When(2024, 3)]),
        ("Sept 3", [When(None, 9, 3)]),
        ("in 2023 and in August", [When(2023), When(None, 8)]),
        ("may I march on?", []),
        ("the sun and mar a jan", []),
        ("version 1.2.3, port 8080, 12345 rows", []),
        ("1st of nothing", []),
        ("", []),
    ],
)
def test_dates_are_read_in_digits_and_with_english_months(text: str, expected: list[When]) -> None:
    assert list(dates(text)) == expected


def test_only_a_few_dates_count() -> None:
    assert len(asked(" ".join(f"2026-01-{day:02}" for day in range(1, 31))).dates) == 8


def span(start: str, end: str) -> tuple[int, int]:
    return from_text(f"{start}T00:00:00Z"), from_text(f"{end}T00:00:00Z")


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        (When(2023), [span("2023-01-01", "2024-01-01")]),
        (When(2024, 2), [span("2024-02-01", "2024-03-01")]),
        (When(2023, 12), [span("2023-12-01", "2024-01-01")]),
        (When(2023, 12, 31), [span("2023-12-31", "2024-01-01")]),
        (When(None, 5), [span("2023-05-01", "2023-06-01"), span("2024-05-01", "2024-06-01")]),
        (When(None, 2, 29), [span("2024-02-29", "2024-03-01")]),
        (When(2023, 2, 30), []),
        (When(2023, 13), []),
        (When(0), []),
    ],
)
def test_a_date_means_spans_of_time(when: When, expected: list[tuple[int, int]]) -> None:
    assert list(when.spans(2023, 2024)) == expected


@given(st.text(alphabet="0123456789-JanuaryMyof st,.", max_size=60))
def test_any_text_has_dates_that_mean_spans(text: str) -> None:
    for when in dates(text):
        assert all(start < end for start, end in when.spans(2020, 2022))


def test_a_long_number_is_read_once() -> None:
    """Its time was the square of its length: 8 seconds for a word of 5,000 digits."""
    assert list(dates("9" * 200_000 + "x")) == []
    assert list(dates("x1" * 100_000)) == []
