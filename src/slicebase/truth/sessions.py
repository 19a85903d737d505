"""Sessions as graphs, read in a few queries and cached in a compact form.

A small session is read completely. For a slice of a large session without joins, only a window is read: one tree, from
the depth of the anchor minus the radius to that depth plus the radius. When the windows of a session together have as
many turns as the session, the complete session is read and cached. So a process that asks once never reads a large
session completely, and a process that asks often reads at most twice as much as necessary.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from slicebase.core.ids import uuid_bytes
from slicebase.core.times import from_text, is_up_to, whole_seconds
from slicebase.errors import SlicebaseError
from slicebase.graph.best_first import context_slice
from slicebase.graph.compact import CompactSession, compact
from slicebase.graph.export import ContextSlice
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.record import TurnRecord, read_annotations, read_link, read_turn
from slicebase.truth.database import Database
from slicebase.truth.places import place_of
from slicebase.truth.turns import Turns

KEPT_TURNS = 2_000_000  # in all cached sessions together; a turn takes about a hundred bytes

_Wanted = tuple[str, int | None]  # a session, and the time up to which its turns are read


class _Kept:
    """A cached graph, the size of the session when it was read (`stamp`), and the last seen state of the database."""

    __slots__ = ("graph", "seen", "stamp")

    def __init__(self, graph: CompactSession, stamp: tuple[int, ...], seen: tuple[int, int]) -> None:
        self.graph = graph
        self.stamp = stamp
        self.seen = seen


class Sessions:
    """The graphs of stored sessions, always up to date with the database."""

    def __init__(self, database: Database, turns: Turns, kept_turns: int = KEPT_TURNS) -> None:
        self._database = database
        self._connection = database.connection
        self._turns = turns
        self._limit = kept_turns
        self._kept: OrderedDict[_Wanted, _Kept] = OrderedDict()
        self._homes: dict[str, tuple[str, int]] = {}
        self._windows: dict[_Wanted, int] = {}  # turns read as windows

    def around(self, turn_id: str, radius: int, as_of: int | None = None) -> CompactSession:
        """Returns a graph with everything that a slice of this radius around the turn can reach; up to a time."""
        session, seq = self._home(turn_id)
        wanted = session, as_of
        kept = self._current(wanted)
        if kept is not None:
            return kept
        count, joins = self._shape(session)
        place = None if joins else place_of(self._connection, session, seq)
        if place is None or self._windows.get(wanted, 0) >= count:
            return self._keep(wanted)
        window = self._read_window(wanted, *place, radius)
        self._windows[wanted] = self._windows.get(wanted, 0) + len(window)
        return window

    def slice_around(self, turn_id: str, policy: SlicePolicyV1, as_of: int | None = None) -> ContextSlice:
        """Returns the context slice around a turn, of what there was at a time."""
        return context_slice(self.around(turn_id, policy.max_radius, as_of), turn_id, policy)

    def whole(self, session: str) -> CompactSession:
        """Returns the complete graph of a session."""
        return self._current((session, None)) or self._keep((session, None))

    def _home(self, turn_id: str) -> tuple[str, int]:
        """Returns the session of a turn and its number there. They never change, so they are cached."""
        if turn_id not in self._homes:
            if len(self._homes) > self._limit:
                self._homes.clear()
            seq, record = self._turns.get(turn_id)
            self._homes[turn_id] = record.session, seq
        return self._homes[turn_id]

    def _current(self, wanted: _Wanted) -> CompactSession | None:
        """Returns the cached graph, if nothing was written to the session since it was read."""
        kept = self._kept.get(wanted)
        if kept is None:
            return None
        now = self._database.state
        if now != kept.seen:
            if self._stamp(wanted[0]) != kept.stamp:
                del self._kept[wanted]
                return None
            kept.seen = now
        self._kept.move_to_end(wanted)
        return kept.graph

    def _keep(self, wanted: _Wanted) -> CompactSession:
        """Reads a session and caches its graph. Drops the graphs that were not used for longest."""
        self._windows.pop(wanted, None)
        seen, stamp = self._database.state, self._stamp(wanted[0])
        graph = self._read_complete(wanted)
        self._kept[wanted] = _Kept(graph, stamp, seen)
        while len(self._kept) > 1 and sum(len(kept.graph) for kept in self._kept.values()) > self._limit:
            self._kept.popitem(last=False)
        return graph

    def _stamp(self, session: str) -> tuple[int, ...]:
        """Returns a value that changes with every write to the session."""
        query = "SELECT coalesce(max(seq), 0) FROM {} WHERE session = ?"
        return tuple(
            int(next(self._connection.execute(query.format(table), (session,)))[0])
            for table in ("turns", "links", "annotations")
        )

    def _shape(self, session: str) -> tuple[int, int]:
        """Returns how many turns a session has, and how many of them are joins."""
        query = "SELECT turns, joins FROM shapes WHERE session = ?"
        return self._connection.execute(query, (session,)).fetchone() or (0, 0)

    def _read_complete(self, wanted: _Wanted) -> CompactSession:
        session, _ = wanted
        turns = self._connection.execute("SELECT record FROM turns WHERE session = ?", (session,))
        links = self._connection.execute("SELECT record FROM links WHERE session = ?", (session,))
        annotations = self._connection.execute(
            "SELECT record FROM annotations WHERE session = ? ORDER BY seq", (session,)
        )
        return _graph(wanted, turns, links, annotations)

    def _read_window(self, wanted: _Wanted, root: str, depth: int, radius: int) -> CompactSession:
        session, _ = wanted
        rows: list[Any] = self._connection.execute(
            """SELECT turns.seq, turns.record FROM places
               JOIN turns ON turns.session = places.session AND turns.seq = places.seq
               WHERE places.session = ? AND places.root = ? AND places.depth BETWEEN ? AND ?""",
            (session, uuid_bytes(root), depth - radius, depth + radius),
        ).fetchall()
        numbers: list[int] = [seq for seq, _ in rows]
        links = self._connection.execute("SELECT record FROM links WHERE session = ?", (session,))
        annotations = self._connection.execute(
            "SELECT record FROM annotations WHERE session = ? AND last >= ? AND first <= ? ORDER BY seq",
            (session, min(numbers), max(numbers)),
        )
        return _graph(wanted, ((record,) for _, record in rows), links, annotations)


def _graph(wanted: _Wanted, turns: Iterable[Any], links: Iterable[Any], annotations: Iterable[Any]) -> CompactSession:
    session, as_of = wanted
    records = [read_turn(record) for (record,) in turns]
    if as_of is not None:
        records = [record for record in records if is_up_to(from_text(record.time), as_of)]
    edges = [(parent, record.id, kind) for record in records for parent, kind in record.parents]
    for (record,) in links:
        link = read_link(record)
        edges.append((link.parent, link.child, link.type))
    return compact(session, _rows(records, annotations), edges)


def _rows(records: list[TurnRecord], annotations: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Yields the turns, each with its newest annotation (ruling 17), in the form that `compact` expects."""
    wanted = {record.id: record for record in records}
    newest = {row[0]: row for (stored,) in annotations for row in read_annotations(stored).rows(wanted)}
    for turn_id, record in wanted.items():
        if turn_id not in newest:
            raise SlicebaseError(
                "database-damaged", f"the turn {turn_id} has no annotation", hint="`tt verify` says what else is wrong"
            )
        _, annotator, *fields = newest[turn_id]
        yield turn_id, record.role, *fields, whole_seconds(from_text(record.time)), annotator
