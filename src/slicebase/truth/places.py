"""The places of turns in their trees, for sessions that are too large to be read completely for one context slice.

A place is the root and the depth of a turn. In a session without joins, a context slice of radius r around a turn of
depth d contains only turns of the same tree with depths from d − r to d + r: parents and children are one step away,
and a sibling has the depth of the turn that it was reached from. Depths are computed here from the edges, because the
`trajectory_depth` of a source is only a claim.
"""

from collections.abc import Iterator, Mapping, Set
from itertools import chain
from typing import Any

import apsw

from slicebase.core.ids import uuid_bytes, uuid_of
from slicebase.graph.record import read_link, read_turn
from slicebase.graph.turn import Turn

SMALL = 512  # turns: up to this size, a session is read completely


def keep_places(
    connection: apsw.Connection, session: str, new: Mapping[str, Turn], numbers: Mapping[str, int], *, rejoined: bool
) -> None:
    """Updates the shape of a session for new turns, and its places if it is large."""
    row = connection.execute("SELECT turns, joins FROM shapes WHERE session = ?", (session,)).fetchone()
    before, joins = row or (0, 0)
    count = before + len(new)
    forked = (turn.parents for turn in new.values() if len(turn.parents) > 1)
    new_joins = sum(len({parent.id for parent in parents}) > 1 for parents in forked)
    if joins or new_joins or count <= SMALL:
        _keep_shape(connection, session, count, joins + new_joins)
    elif 0 < before <= SMALL or rejoined:
        refill_places(connection, session)
    else:
        _keep_shape(connection, session, count, 0)
        _extend(connection, session, new, numbers)


def refill_places(connection: apsw.Connection, session: str) -> None:
    """Computes the shape and the places of a session again, from its turns and links."""
    connection.execute("DELETE FROM places WHERE session = ?", (session,))
    numbers, joins, places = _counted(connection, session)
    _keep_shape(connection, session, len(numbers), joins)
    _insert(connection, session, numbers, places)


def place_of(connection: apsw.Connection, session: str, seq: int) -> tuple[str, int] | None:
    """Returns the root and the depth of a turn, by its number in a large session without joins, or None."""
    query = "SELECT root, depth FROM places INDEXED BY places_by_seq WHERE session = ? AND seq = ?"
    row = connection.execute(query, (session, seq)).fetchone()
    return (uuid_of(row[0]), row[1]) if row else None


def _keep_shape(connection: apsw.Connection, session: str, count: int, joins: int) -> None:
    connection.execute("INSERT OR REPLACE INTO shapes VALUES (?, ?, ?)", (session, count, joins))
    if joins:  # from now on, the session is read completely
        connection.execute("DELETE FROM places WHERE session = ?", (session,))


def _extend(connection: apsw.Connection, session: str, new: Mapping[str, Turn], numbers: Mapping[str, int]) -> None:
    """Stores the places of new turns, which are children of each other or of stored turns."""
    parents = {turn.id: turn.parents[0].id if turn.parents else None for turn in new.values()}
    outside = {parent for parent in parents.values() if parent is not None and parent not in parents}
    above = {parent: place for parent in outside if (place := _stored_place(connection, session, parent))}
    places = {}
    for turn_id, (root, depth) in places_of(parents).items():
        parent = parents[root]
        stored_root, stored_depth = above.get(parent, (root, -1)) if parent is not None else (root, -1)
        places[turn_id] = (stored_root, stored_depth + 1 + depth)
    _insert(connection, session, numbers, places)


def _stored_place(connection: apsw.Connection, session: str, turn_id: str) -> tuple[str, int] | None:
    row = connection.execute("SELECT session, seq FROM turns WHERE turn = ?", (uuid_bytes(turn_id),)).fetchone()
    return place_of(connection, session, row[1]) if row and row[0] == session else None


def _counted(connection: apsw.Connection, session: str) -> tuple[dict[str, int], int, dict[str, tuple[str, int]]]:
    """Returns the numbers of a session's turns, how many are joins, and their places if it needs them.

    All of it is computed from the records.
    """
    parents: dict[str, set[str]] = {}
    numbers: dict[str, int] = {}
    for seq, record in connection.execute("SELECT seq, record FROM turns WHERE session = ?", (session,)):
        turn = read_turn(record)
        numbers[turn.id] = seq
        parents[turn.id] = {parent for parent, _ in turn.parents}
    for (record,) in connection.execute("SELECT record FROM links WHERE session = ?", (session,)):
        link = read_link(record)
        parents[link.child].add(link.parent)
    joins = sum(len(above) > 1 for above in parents.values())
    if joins or len(parents) <= SMALL:
        return numbers, joins, {}
    return numbers, joins, places_of({turn_id: next(iter(above), None) for turn_id, above in parents.items()})


def places_of(parents: Mapping[str, str | None]) -> dict[str, tuple[str, int]]:
    """Returns the root and the depth of each turn of a forest. A turn whose parent is not among the turns is a root."""
    places: dict[str, tuple[str, int]] = {}
    for turn_id in parents:
        path = []
        current: str | None = turn_id
        while current is not None and current in parents and current not in places:
            path.append(current)
            current = parents[current]
        root, depth = places[current] if current is not None and current in places else (path[-1], -1)
        for offset, step in enumerate(reversed(path), 1):
            places[step] = (root, depth + offset)
    return places


def _insert(
    connection: apsw.Connection, session: str, numbers: Mapping[str, int], places: Mapping[str, tuple[str, int]]
) -> None:
    rows = ((session, uuid_bytes(root), depth, numbers[turn_id]) for turn_id, (root, depth) in places.items())
    connection.executemany("INSERT INTO places VALUES (?, ?, ?, ?)", rows)


def derived_differences(connection: apsw.Connection, passed_over: Set[str]) -> Iterator[tuple[str, str, str]]:
    """Yields the differences between the derived tables and the records: name, expected value, found value."""
    known = " UNION ".join(f"SELECT session FROM {table}" for table in ("turns", "shapes", "places"))
    sessions: list[Any] = connection.execute(f"{known} ORDER BY session").fetchall()
    for (session,) in sessions:
        if session in passed_over:
            continue
        numbers, joins, places = _counted(connection, session)
        query = "SELECT turns, joins FROM shapes WHERE session = ?"
        shape = connection.execute(query, (session,)).fetchone()
        if shape != ((len(numbers), joins) if numbers else None):
            yield f"shape of {session}", f"{len(numbers)} turns, {joins} joins", str(shape)
        wanted = {(uuid_bytes(root), depth, numbers[turn_id]) for turn_id, (root, depth) in places.items()}
        query = "SELECT root, depth, seq FROM places WHERE session = ?"
        there = set(connection.execute(query, (session,)))
        if there != wanted:
            yield f"places of {session}", f"{len(wanted - there)} that are missing", f"{len(there - wanted)} others"
    if not passed_over:
        yield from _waiting_differences(connection)


def _waiting_differences(connection: apsw.Connection) -> Iterator[tuple[str, str, str]]:
    """Yields the difference between the missing parents by the records and those in the table."""
    stored = "SELECT 1 FROM turns WHERE turn = ?"
    claims = (
        (parent, turn.id)
        for (record,) in connection.execute("SELECT record FROM turns")
        for turn in [read_turn(record)]
        for parent, _ in turn.parents
    )
    links = (
        (link.parent, link.child)
        for (record,) in connection.execute("SELECT record FROM links")
        for link in [read_link(record)]
    )
    wanted = {
        (uuid_bytes(parent), uuid_bytes(child))
        for parent, child in chain(claims, links)
        if connection.execute(stored, (uuid_bytes(parent),)).fetchone() is None
    }
    there = set(connection.execute("SELECT parent, child FROM waiting"))
    if there != wanted:
        yield "waiting", f"{len(wanted - there)} that are missing", f"{len(there - wanted)} others"
