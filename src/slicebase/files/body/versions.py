"""Groups the rows of a log by what they are versions of: a current row, and the rows that it replaced (ruling 27)."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from msgspec import Struct

from slicebase.files.body.supersession import Versioned, active_by_age, distinct

_Row = TypeVar("_Row", bound=Versioned)


class RowVersions(Struct, Generic[_Row], frozen=True, gc=False):
    """Rows that replace each other, the newest first."""

    current: tuple[_Row, ...]  # more than one where two branches replaced the same row; none if no row is active
    former: tuple[_Row, ...]

    @property
    def newest(self) -> _Row:
        """The newest of the current rows, or of all where none is active."""
        return (self.current or self.former)[0]

    @property
    def rows(self) -> tuple[_Row, ...]:
        """All rows, the current ones first."""
        return (*self.current, *self.former)


def row_versions(rows: Iterable[_Row]) -> list[RowVersions[_Row]]:
    """Returns the rows of a log by what they are versions of, the group that changed last first."""
    known = distinct(rows)
    leader: dict[str, str] = {}
    for row in known:
        for old in row.supersedes:
            leader[_leader_of(leader, row.id)] = _leader_of(leader, old)
    # Rows with the same id are versions of the same thing, whatever they say.
    groups: dict[str, list[_Row]] = {}
    by_age = sorted(known, key=lambda row: row.age_key)
    for row in reversed(by_age):
        groups.setdefault(_leader_of(leader, row.id), []).append(row)
    holding = {row.raw for row in active_by_age(by_age)}
    found = [_divided(group, holding) for group in groups.values()]
    return sorted(found, key=lambda each: each.newest.age_key, reverse=True)


def _divided(group: list[_Row], holding: set[bytes]) -> RowVersions[_Row]:
    if len(group) == 1:  # as most
        return RowVersions((group[0],), ()) if group[0].raw in holding else RowVersions((), (group[0],))
    current = tuple([row for row in group if row.raw in holding])
    return RowVersions(current, tuple([row for row in group if row.raw not in holding]))


def _leader_of(leader: dict[str, str], name: str) -> str:
    """Returns the row that stands for all versions of a row; the way to it becomes shorter for the next one."""
    while (above := leader.get(name, name)) != name:
        leader[name] = leader.get(above, above)
        name = above
    return name
