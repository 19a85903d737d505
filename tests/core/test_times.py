"""Times: the form that is stored is read by a short way, which agrees with the way for any form."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slicebase.core.times import EARLIEST, LATEST, _any_time, from_text, to_text
from slicebase.errors import SlicebaseError

MOMENTS = st.integers(EARLIEST, LATEST)


def plain(text: str) -> int | str:
    try:
        return _any_time(text)
    except SlicebaseError as error:
        return error.code


def read(text: str) -> int | str:
    try:
        return from_text(text)
    except SlicebaseError as error:
        return error.code


@given(MOMENTS)
@example(EARLIEST)
@example(LATEST)
@example(-1)
def test_a_time_that_was_written_is_read_back(moment: int) -> None:
    assert from_text(to_text(moment)) == plain(to_text(moment)) == moment


@given(MOMENTS, st.integers(0, 23), st.sampled_from("0123456789 .:-TtZz+²٣é"))
def test_a_time_with_another_character_is_read_as_by_the_plain_way(moment: int, place: int, other: str) -> None:
    text = to_text(moment)
    changed = text[:place] + other + text[place + 1 :]
    assert read(changed) == plain(changed)


@pytest.mark.parametrize(
    "text",
    ["2026-02-30T10:00:00.000Z", "2026-01-31T24:00:00.000Z", "2026-01-31T10:60:00.000Z", "2026-01-31T10:00:60.000Z"],
)
def test_a_time_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(SlicebaseError) as raised:
        from_text(text)
    assert raised.value.code == "bad-time"
