"""Groups the rows of a log by what they are versions of: a current row, and the rows that it replaced (ruling 27)."""

from collections.abc import Iterable
from typing import NamedTuple

from slicebase.files.body.rows import Row
from slicebase.files.body.supersession import active, distinct


class RowVersions(NamedTuple):
    """Rows that replace each other, the newest first."""

    current: tuple[Row, ...]  # more than one where two branches replaced the same row; none if no row is active
    former: tuple[Row, ...]

    @property
    def newest(self) -> Row:
        """The newest of the current rows, or of all where none is active."""
        return (self.current or self.former)[0]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, the current ones first."""
        return (*self.current, *self.former)


def row_versions(rows: Iterable[Row]) -> list[RowVersions]:
    """Returns the rows of a log by what they are versions of, the group that changed last first."""
    known = distinct(rows)
    leader: dict[str, str] = {}
    for row in known:
        for old in row.supersedes:
            leader[_leader_of(leader, row.id)] = _leader_of(leader, old)
    # Rows with the same id are versions of the same thing, whatever they say.
    groups: dict[str, list[Row]] = {}
    for row in sorted(known, key=lambda row: row.age_key, reverse=True):
        groups.setdefault(_leader_of(leader, row.id), []).append(row)
    holding = {row.line.raw for row in active(known)}
    found = [
        RowVersions(
            tuple(row for row in group if row.line.raw in holding),
            tuple(row for row in group if row.line.raw not in holding),
        )
        for group in groups.values()
    ]
    return sorted(found, key=lambda each: each.newest.age_key, reverse=True)


def _leader_of(leader: dict[str, str], name: str) -> str:
    """Returns the row that stands for all versions of a row; the way to it becomes shorter for the next one."""
    while (above := leader.get(name, name)) != name:
        leader[name] = leader.get(above, above)
        name = above
    return name
