"""The rows of a log by what they are versions of (ruling 27)."""

import json

from hypothesis import given
from hypothesis import strategies as st

from slicebase.files.body.rows import Row, read_rows
from slicebase.files.body.supersession import active, distinct
from slicebase.files.body.versions import RowVersions, row_versions

Spec = tuple[str, int, list[str]]  # id, day, what it supersedes


def rows(*specs: Spec, status: str | None = None) -> tuple[Row, ...]:
    def line(row_id: str, day: int, supersedes: list[str]) -> str:
        meta = {"id": row_id, "created_at": f"2026-01-{day:02}T00:00:00Z", "supersedes": supersedes}
        return json.dumps({"_meta": meta | ({"status": status} if status else {}), "text": row_id})

    return read_rows("\n".join(line(*spec) for spec in specs).encode()).rows


def ids(found: RowVersions[Row]) -> tuple[list[str], list[str]]:
    return [row.id for row in found.current], [row.id for row in found.former]


def test_a_row_comes_with_the_rows_that_it_replaced_the_newest_first() -> None:
    found = row_versions(rows(("A", 1, []), ("B", 2, ["A"]), ("X", 3, []), ("C", 4, ["B"])))
    assert [ids(each) for each in found] == [(["C"], ["B", "A"]), (["X"], [])]


def test_rows_that_replace_the_same_row_are_both_current() -> None:
    (found,) = row_versions(rows(("A", 1, []), ("B", 2, ["A"]), ("C", 3, ["A"])))
    assert ids(found) == (["C", "B"], ["A"])


def test_a_group_without_an_active_row_has_no_current_one() -> None:
    (found,) = row_versions(rows(("A", 1, []), status="retracted"))
    assert ids(found) == ([], ["A"])
    assert found.newest.id == "A"


def test_rows_that_join_two_histories_are_one_group() -> None:
    (found,) = row_versions(rows(("A", 1, []), ("B", 1, []), ("C", 2, ["A", "B"])))
    assert ids(found) == (["C"], ["B", "A"])


SPECS = st.lists(
    st.tuples(st.sampled_from("ABCDEF"), st.integers(1, 9), st.lists(st.sampled_from("ABCDEFG"), max_size=3)),
    max_size=8,
)


@given(SPECS)
def test_every_row_is_in_one_group_and_the_current_ones_are_the_active_ones(specs: list[Spec]) -> None:
    given_rows = rows(*specs)
    found = row_versions(given_rows)
    grouped = [row.line.raw for each in found for row in each.rows]
    assert sorted(grouped) == sorted(row.line.raw for row in distinct(given_rows))
    assert {row.line.raw for each in found for row in each.current} == {
        row.line.raw for row in active(distinct(given_rows))
    }
    group_of = {row.id: number for number, each in enumerate(found) for row in each.rows}
    for row in given_rows:
        assert {group_of[old] for old in row.supersedes if old in group_of} <= {group_of[row.id]}
