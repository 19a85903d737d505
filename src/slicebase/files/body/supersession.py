"""Which rows hold, which were replaced by what, and where that is unclear (§ Mutation Model, ruling 27).

Files that `part_of` joins are one log (ruling 32): pass the rows of all of them.
"""

from collections.abc import Collection, Iterable, Iterator

from slicebase.files.body.rows import Row
from slicebase.files.findings import Finding
from slicebase.files.links import reach, rings


def active(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows that hold, oldest first: superseded by none, with the status `active` or without one.

    In a ring of rows that supersede each other every row is superseded, and still one version has to be the
    active one: the newest of the ring, unless a row outside it supersedes one of them.
    """
    rows = _by_age(rows)
    superseded = {old for row in rows for old in row.supersedes} - _heads_of_rings(rows)
    return tuple(row for row in rows if row.id not in superseded and row.status in (None, "active"))


def history(rows: Iterable[Row], row_id: str) -> tuple[Row, ...]:
    """Every version on the way to and from a row, oldest first: what it replaced, itself, what replaced it."""
    rows = _by_age(rows)
    older, newer = _older(rows), _newer(rows)
    versions = reach(older, [row_id]) | reach(newer, [row_id])
    return tuple(row for row in rows if row.id in versions)


def newest(rows: Iterable[Row]) -> Row | None:
    return max(rows, key=lambda row: row.age_key, default=None)


def supersession_findings(rows: Collection[Row]) -> Iterator[Finding]:
    """What is unclear in the rows of a log."""
    yield from _duplicates(rows)
    yield from _unknown(rows)
    if any(row.supersedes for row in rows):
        yield from _rings(rows)
        yield from _double_heads(rows)


def _duplicates(rows: Iterable[Row]) -> Iterator[Finding]:
    first: dict[str, Row] = {}
    for row in rows:
        before = first.setdefault(row.id, row).line
        if before is not row.line:
            place = f"line {before.number}" + (f" of {before.file}" if before.file != row.line.file else "")
            message = f"the id {row.id} stands already on {place}"
            yield row.line.finding("row-duplicate", message, "_meta", "id", hint="a row's id is its own")


def _unknown(rows: Collection[Row]) -> Iterator[Finding]:
    known = {row.id for row in rows}
    for row in rows:
        for old in row.supersedes:
            if old not in known:
                stated = row.line.value["_meta"]["supersedes"]
                path = (stated.index(old),) if isinstance(stated, list) else ()
                message = f"the row supersedes {old}, which is not in this log"
                yield row.line.finding("supersedes-unknown", message, "_meta", "supersedes", *path)


def _rings(rows: Iterable[Row]) -> Iterator[Finding]:
    by_age = _by_age(rows)
    by_id = {row.id: row for row in by_age}
    for ring in _rings_among(by_age):
        last = max((by_id[name] for name in ring), key=lambda row: row.age_key)
        message = f"{', '.join(ring)} supersede each other" if len(ring) > 1 else "the row supersedes itself"
        yield last.line.finding("supersedes-cycle", message, "_meta", "supersedes")


def _double_heads(rows: Collection[Row]) -> Iterator[Finding]:
    """Two branches of a repository may each replace the same row: both heads stay, and people decide."""
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
            message = f"{' and '.join(row.id for row in rivals)} replace the same row, and none replaces the other"
            hint = "append a row that supersedes them all"
            yield rivals[-1].line.finding("supersedes-fork", message, "_meta", "supersedes", hint=hint)


def _by_age(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.age_key)


def _older(rows: Iterable[Row]) -> dict[str, list[str]]:
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


def _rings_among(by_age: list[Row]) -> list[tuple[str, ...]]:
    """Where every row supersedes older ones only, as it should be, there is no ring to look for."""
    older: set[str] = set()
    for row in by_age:
        if row.id in older or not older.issuperset(row.supersedes):
            return rings(_older(by_age))
        older.add(row.id)
    return []


def _heads_of_rings(by_age: list[Row]) -> set[str]:
    ring_of = {name: ring for ring in _rings_among(by_age) for name in ring}
    head = {ring_of[row.id]: row.id for row in by_age if row.id in ring_of}
    for row in by_age:
        for old in row.supersedes:
            if old in ring_of and ring_of.get(row.id) != ring_of[old]:
                head.pop(ring_of[old], None)
    return set(head.values())
