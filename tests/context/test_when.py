import pytest

from slicebase.context.when import DateRange, When
from slicebase.core.times import from_text


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


@pytest.mark.parametrize(
    ("given", "expected", "precision"),
    [
        (DateRange(When(2024, 3), When(2024, 5)), [span("2024-03-01", "2024-06-01")], "month"),
        (DateRange(When(2024, 3, 5), When(2024, 3, 5)), [span("2024-03-05", "2024-03-06")], "day"),
        (DateRange(When(2024, 3, 5), When(2024, 3, 9)), [span("2024-03-05", "2024-03-10")], "week"),
        (
            DateRange(When(None, 12, 24), When(None, 1, 2)),
            [span("2023-12-24", "2024-01-03"), span("2024-12-24", "2025-01-03")],
            "week",
        ),
        (DateRange(When(2020), When(2024)), [span("2020-01-01", "2025-01-01")], "year"),
        (DateRange(When(2024, 5), When(2024, 3)), [], "day"),
    ],
)
def test_a_range_has_both_its_ends(given: DateRange, expected: list[tuple[int, int]], precision: str) -> None:
    assert (list(given.spans(2023, 2024)), given.precision) == (expected, precision)


def test_a_day_with_two_readings_counts_like_a_month() -> None:
    assert [when.precision for when in (When(2024, 5, 3), When(2024, 5, 3, doubtful=True))] == ["day", "month"]
