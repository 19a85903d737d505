"""Freshness: § Staleness, rulings 24 and 26."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.core.ids import ulid
from slicebase.files.freshness import (
    Label,
    age_in_milliseconds,
    age_in_words,
    annotation,
    changed_at,
    derivation,
    label,
    label_at,
    staleness,
)

DAY = 86_400_000
NOW = 1_772_352_000_000


@pytest.mark.parametrize(("days", "percent"), [(0, 0), (45, 29), (90, 50), (180, 75)])
def test_staleness_has_the_specifications_figures(days: int, percent: int) -> None:
    """§ Time-Based Staleness, with a half-life of 90 days."""
    assert round(staleness(days) * 100) == percent


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_staleness_grows_with_age_and_stays_between_0_and_1(one: float, other: float) -> None:
    younger, older = sorted((one, other))
    assert 0 <= staleness(younger) <= staleness(older) <= 1


def test_a_time_in_the_future_is_fresh() -> None:
    assert staleness(-3) == 0
    assert annotation(NOW, NOW + DAY) == "[FRESH - just now]"


@pytest.mark.parametrize(
    ("stale", "name"),
    [
        (0.0, "FRESH"),
        (0.2499, "FRESH"),
        (0.25, "AGING"),
        (0.4999, "AGING"),
        (0.5, "STALE"),
        (0.7499, "STALE"),
        (0.75, "DECAYED"),
        (1.0, "DECAYED"),
    ],
)
def test_labels_change_at_the_quarters(stale: float, name: str) -> None:
    """Ruling 26."""
    assert label(stale) == Label(name)


def test_the_half_life_can_be_set() -> None:
    assert label_at(NOW, NOW - 10 * DAY) == Label.FRESH
    assert label_at(NOW, NOW - 10 * DAY, half_life=5) == Label.DECAYED


def test_age_is_counted_from_the_newer_of_the_update_and_the_newest_row() -> None:
    """Ruling 26."""
    made = ulid(1_000, bytes(10))
    assert changed_at(made, updated_at=5_000, newest_row=4_000, file_time=9_000) == 5_000
    assert changed_at(made, updated_at=4_000, newest_row=5_000, file_time=9_000) == 5_000
    assert changed_at(made, newest_row=0, file_time=9_000) == 0


def test_otherwise_age_is_counted_from_the_ulid_or_else_from_the_files_own_time() -> None:
    """Ruling 26."""
    assert changed_at(ulid(1_000, bytes(10)), file_time=9_000) == 1_000
    assert changed_at(ulid(1_000, bytes(10)), created_at=2_000, file_time=9_000) == 2_000
    assert changed_at("own-name", created_at=2_000, newest_row=1_000) == 1_000
    assert changed_at("own-name", file_time=9_000) == 9_000
    assert changed_at("own-name") is None


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (2, "[FRESH - 2 days ago]"),
        (60, "[AGING - 2 months ago]"),
        (95, "[STALE - 3 months ago] ⚠️"),
        (800, "[DECAYED - 2 years ago] ⚠️"),
    ],
)
def test_a_search_result_is_annotated_as_the_specification_prints_it(days: int, text: str) -> None:
    """§ Time-Based Staleness."""
    assert annotation(NOW, NOW - days * DAY) == text


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (0, "just now"),
        (59_999, "just now"),
        (60_000, "1 minute ago"),
        (7_200_000, "2 hours ago"),
        (DAY - 1, "23 hours ago"),
        (DAY, "1 day ago"),
        (29 * DAY, "29 days ago"),
        (30 * DAY, "1 month ago"),
        (364 * DAY, "12 months ago"),
        (365 * DAY, "1 year ago"),
    ],
)
def test_an_age_is_shown_in_its_largest_unit(milliseconds: int, words: str) -> None:
    assert age_in_words(milliseconds) == words


def test_a_derived_file_is_stale_once_its_sources_hash_differs() -> None:
    """§ Hash-Based Staleness."""
    assert derivation("sha256:aa", "sha256:aa") == "fresh"
    assert derivation("sha256:aa", "sha256:bb") == "stale"
    assert derivation("sha256:aa", None) == "unknown"


def test_an_age_is_a_number_with_a_unit_or_a_label() -> None:
    day = 86_400_000
    assert [age_in_milliseconds(age) for age in ("12h", "30d", "1.5w", "3mo", "1Y")] == [
        day // 2, 30 * day, round(10.5 * day), 90 * day, 365 * day,
    ]  # fmt: skip
    assert age_in_milliseconds("stale", 90) == 90 * day
    assert [age_in_milliseconds(age) for age in ("", "x", "FRESH", "3", "-1d", "9" * 40 + "d")] == [None] * 6
