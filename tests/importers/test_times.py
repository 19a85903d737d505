"""Times as sources write them."""

from typing import Any

import pytest

from slicebase.importers.times import SourceClock, moment, start_of


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        ("2026-01-01T00:00:00Z", 1767225600000),
        ("2026-01-01T00:00:00.123456+01:00", 1767222000123),
        ("2026-01-01T00:00:00", 1767225600000),
        (1767225600, 1767225600000),
        (1767225600.25, 1767225600250),
        (1767225600250, 1767225600250),
        ("yesterday", None),
        ("", None),
        (None, None),
        (True, None),
        (0, None),
        (-1, None),
        (float("nan"), None),
        (float("inf"), None),
        (10**30, None),
        ([], None),
    ],
)
def test_texts_and_numbers(written: Any, milliseconds: int | None) -> None:
    assert moment(written) == milliseconds


def test_a_clock_keeps_its_time_where_a_record_has_none() -> None:
    clock = SourceClock(7)
    assert clock.read(None) == (7, True)
    assert clock.read(1767225600) == (1767225600000, False)
    assert clock.read("?") == (1767225600000, True)


def test_the_start_is_the_first_time_that_is_found() -> None:
    start, items = start_of([None, "?", 1767225600, 1], lambda item: item)
    assert start == 1767225600000
    assert list(items) == [None, "?", 1767225600, 1]
    assert start_of([None], lambda item: item)[0] == 0
