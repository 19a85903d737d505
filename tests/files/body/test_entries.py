"""The ids of new rows and files."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from slicebase.core.ids import is_ulid, ulid, ulid_time
from slicebase.files.body.entries import Stamp

_moments = st.integers(0, 2**47)
_chance = st.binary(min_size=10, max_size=10)


@given(_moments, _chance)
def test_ids_of_one_write_grow_and_none_is_the_files(moment: int, chance: bytes) -> None:
    stamp = Stamp(moment, chance)
    ids = list(islice(stamp.ids(), 5))
    assert ids == sorted(set(ids))
    assert all(is_ulid(each) and ulid_time(each) == moment for each in (*ids, stamp.file_id))
    assert stamp.file_id not in ids


@given(_moments, _chance, _chance, st.integers(0, 999))
def test_a_row_of_the_same_moment_follows_the_one_before_it(moment: int, one: bytes, two: bytes, ahead: int) -> None:
    before = ulid(moment + ahead, one)
    assert next(Stamp(moment, two).ids(before)) > before


@given(_moments, _chance, _chance, _chance)
def test_two_branches_that_append_behind_the_same_row_do_not_meet(
    moment: int, row: bytes, one: bytes, two: bytes
) -> None:
    before = ulid(moment, row)
    if one != two:
        assert next(Stamp(moment, one).ids(before)) != next(Stamp(moment, two).ids(before))


def test_a_row_from_the_far_future_does_not_change_the_time_of_new_ids() -> None:
    before = ulid(5_000_000, b"0123456789")
    assert ulid_time(next(Stamp(1000, b"0123456789").ids(before))) == 1000
    assert ulid_time(next(Stamp(1000, b"0123456789").ids("no ulid"))) == 1000
