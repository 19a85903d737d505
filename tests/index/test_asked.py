"""The times of `before:` and `after:`: the beginning of what they name."""

import pytest

from slicebase.context.query import read
from slicebase.core.times import from_text
from slicebase.index.asked import span_of
from tests.codes import code_of

NOW = from_text("2024-05-16T15:00:00Z")  # a Thursday


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-05-10", "2024-05-10"),
        ("2024/5", "2024-05-01"),
        ("2024", "2024-01-01"),
        ("today", "2024-05-16"),
        ("yesterday", "2024-05-15"),
        ("gestern", "2024-05-15"),
        ("Monday", "2024-05-13"),
        ('"last week"', "2024-05-06"),
        ('"two weeks ago"', "2024-04-29"),
        ('"3 May"', "2024-05-03"),
        ("June", "2023-06-01"),
        ("5.3.2024", "2024-03-05"),
        ('"5 March 2023"', "2023-03-05"),
    ],
)
def test_a_time_is_the_beginning_of_what_it_names(value: str, expected: str) -> None:
    assert span_of(read(f"x after:{value}"), NOW) == (from_text(f"{expected}T00:00:00Z"), None)


@pytest.mark.parametrize("value", ["03/05/2024", "sometime", '"the last week or so"', "2026-13-01", "1.2.3"])
def test_what_is_no_date_or_could_be_two_is_refused(value: str) -> None:
    assert code_of(lambda: span_of(read(f"x before:{value}"), NOW)) == "bad-time"
