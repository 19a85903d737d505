"""Finds the active rows of a log, the history of a row, and what is unclear in a log (§ Mutation Model, ruling 27).

Files that `part_of` joins are one log (ruling 32): pass the rows of all of them.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from slicebase.core.hashing import MAX_LEVELS, nests_deeper
from slicebase.files.body.lines import JsonLine
from slicebase.files.body.routine import plain
from slicebase.files.body.rows import Row
from slicebase.files.findings import Finding
from slicebase.files.links import reach, rings


class Versioned(Protocol):
    """What decides which rows hold: a row has it, and the head of a row."""

    @property
    def id(self) -> str: ...

    @property
    def supersedes(self) -> tuple[str, ...]: ...

    @property
    def status(self) -> str | None: ...

    @property
    def raw(self) -> bytes: ...

    @property
    def age_key(self) -> tuple[int, str, bytes]: ...


_Row = TypeVar("_Row", bound=Versioned)


def active(rows: Iterable[_Row]) -> tuple[_Row, ...]:
    """Returns the active rows, the oldest first: no row supersedes them, and their status is absent or `active`.

    In a cycle of rows that supersede each other, every row is superseded, but one version must be active: the newest
    row of the cycle, unless a row outside the cycle supersedes one of its rows.
    """
    return active_by_age(_by_age(rows))


def active_by_age(rows: list[_Row]) -> tuple[_Row, ...]:
    """Returns the active ones of rows that are given the oldest first."""
    superseded = {old for row in rows for old in row.supersedes} - _heads_of_cycles(rows)
    return tuple([row for row in rows if row.id not in superseded and row.status in (None, "active")])


def history(rows: Iterable[Row], row_id: str) -> tuple[Row, ...]:
    """Returns the versions of a row, the oldest first: the rows it replaced, itself, and the rows that replaced it."""
    rows = _by_age(rows)
    older, newer = _older(rows), _newer(rows)
    versions = reach(older, [row_id]) | reach(newer, [row_id])
    return tuple(row for row in rows if row.id in versions)


def newest(rows: Iterable[Row]) -> Row | None:
    """Returns the newest row, None if there are no rows."""
    return max(rows, key=lambda row: row.age_key, default=None)


_TOPICS: Final = ("topic", "key", "title")


def same_topic(rows: Iterable[Row], fields: Mapping[str, Any]) -> Row | None:
    """Returns the newest of some rows that is about the same topic as a new row, None if there is none.

    Rows that both have a `topic`, a `key` or a `title` are compared by these, other rows by their `text`, without
    differences of case and spacing. A topic may be any JSON value.
    """
    return newest(row for row in rows if shared_topic(row.line.value, fields))


def repeated_topic(rows: Iterable[Row]) -> tuple[Row, Row] | None:
    """Returns the first two of some rows that are about the same topic, None if there are no such rows."""
    seen: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        keys = [(name, words) for name in (*_TOPICS, "text") if (words := _words(row.line.value, name))]
        for former in (each for key in keys for each in seen.get(key, ())):
            if shared_topic(former.line.value, row.line.value):
                return former, row
        for key in keys:
            seen.setdefault(key, []).append(row)
    return None


def shared_topic(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """Returns the key by which two rows are about the same topic, None if they are not."""
    pairs = {name: (_words(one, name), _words(other, name)) for name in (*_TOPICS, "text")}
    shared = [name for name in _TOPICS if all(pairs[name])] or ["text"]
    return next((name for name in shared if all(pairs[name]) and len(set(pairs[name])) == 1), None)


def _words(fields: Mapping[str, Any], name: str) -> str:
    """Returns what a row states under a name, in the form in which it is compared: 42 is the same as "42" and 42.0."""
    value = fields.get(name)
    if value in (None, [], {}) or nests_deeper(value, MAX_LEVELS):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return plain(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True))


def supersession_findings(
    rows: Collection[Row], fix: Callable[[JsonLine], str | None] = lambda line: None
) -> Iterator[Finding]:
    """Yields what is unclear in the rows of a log. Of a row that is in two files, the first copy counts.

    `fix` returns what to do about the other, None if it may stay.
    """
    yield from _duplicates(rows, fix)
    yield from _unknown(rows)
    rows = distinct(rows)
    if any(row.supersedes for row in rows):
        yield from _cycles(rows)
        yield from _double_heads(rows)


def distinct(rows: Iterable[_Row]) -> tuple[_Row, ...]:
    """Returns rows without repetitions: a row that is in two files of a log, with the same bytes, is one row."""
    return tuple({row.raw: row for row in reversed([*rows])}.values())[::-1]


def _duplicates(rows: Iterable[Row], fix: Callable[[JsonLine], str | None]) -> Iterator[Finding]:
    """Yields a finding where an id is used again. The same row in another file is only repeated, as after a merge."""
    first: dict[str, Row] = {}
    seen: set[tuple[str, bytes]] = set()
    for row in rows:
        before, line = first.setdefault(row.id, row).line, row.line
        if before is not line:
            place = f"line {before.number}" + (f" of {before.file}" if before.file != line.file else "")
            if before.raw == line.raw and before.file != line.file and (line.file, line.raw) not in seen:
                hint = fix(line) or "it counts once: keep it, or remove it here"
                yield line.finding("row-repeated", f"the row is also on {place}", "_meta", "id", hint=hint)
            else:
                message = f"the id {row.id} is already used on {place}"
                yield line.finding("row-duplicate", message, "_meta", "id", hint="give the row an id of its own")
        seen.add((line.file, line.raw))


def _unknown(rows: Collection[Row]) -> Iterator[Finding]:
    known = {row.id for row in rows}
    for row in rows:
        for old in row.supersedes:
            if old not in known:
                stated = row.line.value["_meta"]["supersedes"]
                path = (stated.index(old),) if isinstance(stated, list) else ()
                message = f"the row supersedes {old}, which is not in this log"
                yield row.line.finding("supersedes-unknown", message, "_meta", "supersedes", *path)


_SHOWN: Final = 10  # rows of a cycle that a message names


def _cycles(rows: Iterable[Row]) -> Iterator[Finding]:
    by_age = _by_age(rows)
    by_id = {row.id: row for row in by_age}
    for cycle in _cycles_among(by_age):
        last = max((by_id[name] for name in cycle), key=lambda row: row.age_key)
        names = ", ".join(cycle[:_SHOWN]) + (f" and {len(cycle) - _SHOWN} more" if len(cycle) > _SHOWN else "")
        message = f"{names} supersede each other" if len(cycle) > 1 else "the row supersedes itself"
        yield last.line.finding("supersedes-cycle", message, "_meta", "supersedes")


def _double_heads(rows: Collection[Row]) -> Iterator[Finding]:
    """Yields a finding where two branches of a repository replaced the same row. Both rows stay, and people decide."""
    older, newer = _older(rows), _newer(rows)
    if all(len(replacements) == 1 for replacements in newer.values()):
        return
    joined = {name: [*older.get(name, ()), *newer.get(name, ())] for name in {*older, *newer}}
    heads = {row.id: row for row in active(rows) if row.supersedes}
    seen: set[str] = set()
    for name in heads:
        versions = reach(joined, [name], seen)
        seen |= versions
        rivals = [heads[version] for version in versions if version in heads]
        if len(rivals) > 1:
            rivals = _by_age(rivals)
            message = (
                f"{' and '.join(row.id for row in rivals)} replace the same row, and none of them replaces another"
            )
            hint = "append a row that supersedes them all"
            yield rivals[-1].line.finding("supersedes-fork", message, "_meta", "supersedes", hint=hint)


def _by_age(rows: Iterable[_Row]) -> list[_Row]:
    return sorted(rows, key=lambda row: row.age_key)


def _older(rows: Iterable[Versioned]) -> dict[str, list[str]]:
    graph: dict[str, list[str]] = {}
    for row in rows:
        if row.supersedes:
            graph.setdefault(row.id, []).extend(row.supersedes)
    return graph


def _newer(rows: Iterable[Row]) -> dict[str, list[str]]:
    graph: dict[str, list[str]] = {}
    for row in rows:
        for old in row.supersedes:
            graph.setdefault(old, []).append(row.id)
    return graph


def _cycles_among(by_age: Sequence[Versioned]) -> list[tuple[str, ...]]:
    """Returns the cycles of rows. If every row supersedes older rows only, as it should, the search is skipped."""
    older: set[str] = set()
    for row in by_age:
        if row.id in older or not older.issuperset(row.supersedes):
            return rings(_older(by_age))
        older.add(row.id)
    return []


def _heads_of_cycles(by_age: Sequence[Versioned]) -> set[str]:
    # A number stands for each cycle: to hash a cycle of thousands of rows for each of its rows would take long.
    cycle_of = {name: number for number, cycle in enumerate(_cycles_among(by_age)) for name in cycle}
    head = {cycle_of[row.id]: row.id for row in by_age if row.id in cycle_of}
    for row in by_age:
        for old in row.supersedes:
            if old in cycle_of and cycle_of.get(row.id) != cycle_of[old]:
                head.pop(cycle_of[old], None)
    return set(head.values())
