"""Times in slice files."""

import pytest

from slicebase.files.body.lines import judge_time, read_time


@pytest.mark.parametrize(
    "text",
    ["2026-01-15T10:00:00Z", "2026-01-15T12:00:00+02:00", "2026-01-15T10:00:00.000Z", "2026-01-15t10:00:00z"],
)
def test_rfc_3339_is_read_without_a_problem(text: str) -> None:
    assert read_time(text) == 1_768_471_200_000
    assert judge_time(text)[1] is None


@pytest.mark.parametrize("text", ["2026-01-15T10:00:00", "2026-01-15T10", "20260115T100000Z", "2026-W03-4T10:00"])
def test_other_iso_8601_is_read_as_utc_with_a_hint(text: str) -> None:
    """§ Row Envelope requires ISO-8601, which allows more forms than we write (ruling 6)."""
    assert read_time(text) == 1_768_471_200_000
    problem = judge_time(text)[1]
    assert problem is not None
    assert problem.rule == "time-form"


@pytest.mark.parametrize(
    "value", ["yesterday", "", "2026-02-30T00:00:00Z", "12:00", 1_768_471_200, None, ["x"], "٢٠٢٦-01-01"]
)
def test_a_value_that_is_not_a_time_is_an_error(value: object) -> None:
    assert read_time(value) is None
    problem = judge_time(value)[1]
    assert problem is not None
    assert problem.rule == "time"
