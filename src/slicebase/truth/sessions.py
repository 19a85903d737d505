"""Sessions as graphs: large ones are read turn by turn, small ones and those that are asked for often are cached.

A slice of a large session reads only the neighbours of what it selects. When the slices of a session together have read
as many turns as it has, the complete session is read and cached in its compact form. So a process that asks once never
reads a large session completely, and a process that asks often reads at most twice as much as necessary.
"""

import os
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from slicebase.core.ids import uuid_of
from slicebase.core.times import is_up_to
from slicebase.errors import SlicebaseError
from slicebase.graph.compact import TYPES_BY_BITS, CompactSession, compact
from slicebase.graph.export import ContextSlice
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.selection import KERNEL, KernelName, context_slice, kernel_named, with_kernel
from slicebase.truth.chains import Chain, ChainHead, head_of
from slicebase.truth.database import Database
from slicebase.truth.failures import damaged
from slicebase.truth.node_rows import NOT_OURS, compact_row, damaged_row
from slicebase.truth.nodes import NODE_COLUMNS, SessionLengths, TurnNode, derived_nodes
from slicebase.truth.stored_graph import StoredGraph
from slicebase.truth.turns import Turns

SMALL = 512  # turns: up to this size, a session is read completely
_SMALL_ON_SERVER = 5_000  # there, each question takes a round trip
_FAR = 100  # hops: with a larger radius, the number of turns is the only limit of a slice
KEPT_TURNS = 2_000_000  # in all cached sessions together; a turn takes about a hundred bytes

_OF_A_SLICE = 100  # turns that a slice of a session reads, roughly: those that it selects and their neighbours

_OF_GRAPH = SessionLengths._fields  # the tables that a session's graph is made of
_LAST_USED = 4  # cached sessions in which a turn is looked for first
_Wanted = tuple[str, int | None]  # a session, and the time up to which its turns are read


class _Kept:
    """A cached graph, the size of the session when it was read (`stamp`), and the last seen state of the database."""

    __slots__ = ("graph", "seen", "stamp", "turns")

    def __init__(self, graph: CompactSession, stamp: tuple[int, ...], seen: tuple[int, ...]) -> None:
        self.graph = graph
        self.stamp = stamp
        self.seen = seen
        self.turns = len(graph)


def chosen_kernel() -> KernelName:
    """Returns the version that selects slices, as the environment tells."""
    return kernel_named(os.environ.get(KERNEL, "").strip().lower())


class Sessions:
    """The graphs of stored sessions, always up to date with the database."""

    def __init__(self, database: Database, turns: Turns, kept_turns: int = KEPT_TURNS) -> None:
        self._database = database
        self._connection = database.connection
        self._turns = turns
        self._limit = kept_turns
        self._kept: OrderedDict[_Wanted, _Kept] = OrderedDict()
        self._homes: dict[str, str] = {}
        self._read: Counter[_Wanted] = Counter()  # turns that slices have read of sessions that are not cached

    @contextmanager
    def around(self, turn_id: str, as_of: int | None = None) -> Iterator[CompactSession | StoredGraph]:
        """Gives the graph of a turn's session, up to a time, from which slices are selected.

        Inside the block it is one state of the session, even if another process writes meanwhile.
        """
        with self._database.reading():
            graph = self._around(turn_id, as_of)
            with _having(graph, turn_id, as_of):
                yield graph

    def _around(self, turn_id: str, as_of: int | None) -> CompactSession | StoredGraph:
        kernel = chosen_kernel()  # first: a name that is wrong is an error everywhere
        session = self._home(turn_id)
        wanted = session, as_of
        kept = self._current(wanted)
        if kept is not None:
            return kept
        count = self._count(session)
        small = _SMALL_ON_SERVER if self._database.is_shared else SMALL
        if count <= small or self._read[wanted] >= count:
            return self._keep(wanted)

        def counted(turns: int) -> None:
            self._read[wanted] += turns

        return StoredGraph(self._connection, session, as_of, counted, is_compiled=kernel == "native")

    @contextmanager
    def around_many(
        self, requests: Sequence[tuple[str, SlicePolicyV1]]
    ) -> Iterator[list[CompactSession | StoredGraph | SlicebaseError]]:
        """Gives the graph of each turn's session, from which slices by these policies are selected, or the error.

        A session is read completely where that takes less time than its slices. Inside the block, it is in one state.
        """
        with self._database.reading():
            homes = [self._home_or_error(turn) for turn, _ in requests]
            counts = Counter(home for home in homes if isinstance(home, str))
            graphs: dict[str, CompactSession | StoredGraph | SlicebaseError] = {}
            for home, (turn, policy) in zip(homes, requests, strict=True):
                if isinstance(home, str) and isinstance(graphs.get(home), StoredGraph | None):
                    try:
                        graphs[home] = self._worth_reading(home, policy, counts[home]) or self._around(turn, None)
                    except SlicebaseError as error:
                        graphs[home] = error
            yield [graphs[home] if isinstance(home, str) else home for home in homes]

    def _home_or_error(self, turn_id: str) -> str | SlicebaseError:
        for (session, _), kept in islice(reversed(self._kept.items()), _LAST_USED):
            if kept.graph.has(turn_id):  # faster than to look it up
                return session
        try:
            return self._home(turn_id)
        except SlicebaseError as error:
            return error

    def slice_around(self, turn_id: str, policy: SlicePolicyV1, as_of: int | None = None) -> ContextSlice:
        """Returns the context slice around a turn, of what there was at a time."""
        with self._database.reading():
            wanted = self._home(turn_id), as_of
            if self._may_select_all(wanted[0], policy):
                graph: CompactSession | StoredGraph = self._current(wanted) or self._keep(wanted)
            else:
                graph = self._around(turn_id, as_of)
            with _having(graph, turn_id, as_of):
                return context_slice(graph, turn_id, policy)

    def kept_slice_around(self, turn_id: str, policy: SlicePolicyV1) -> ContextSlice | None:
        """Returns what `slice_around` returns, if the session is cached, was used lately and nothing was written since.

        Otherwise it is None: this never reads a session.
        """
        for (_, as_of), kept in islice(reversed(self._kept.items()), _LAST_USED):
            if as_of is None and kept.graph.has(turn_id):
                is_current = self._database.state == kept.seen
                return context_slice(kept.graph, turn_id, policy) if is_current else None
        return None

    def _may_select_all(self, session: str, policy: SlicePolicyV1) -> bool:
        return policy.max_radius > _FAR and policy.max_nodes >= self._count(session)

    def _worth_reading(self, session: str, policy: SlicePolicyV1, count: int) -> CompactSession | None:
        """Returns the complete session, if it is cached or reading it takes less time than so many slices."""
        wanted = session, None
        in_parts = self._read[wanted] + count * _OF_A_SLICE
        if in_parts >= self._count(session) or self._may_select_all(session, policy):
            return self._current(wanted) or self._keep(wanted)
        return self._current(wanted)

    def whole(self, session: str) -> CompactSession:
        """Returns the complete graph of a session."""
        return self._current((session, None)) or self._keep((session, None))

    def heads(self, session: str, at: SessionLengths | None = None) -> tuple[ChainHead, ...]:
        """Returns the heads of the chains that a session's graph is made of, or those that they had at these lengths.

        A chain that is shorter than that has an empty head.
        """
        return tuple(
            head_of(self._connection, Chain(table, session), None if at is None else getattr(at, table))
            for table in _OF_GRAPH
        )

    def lengths(self, session: str) -> SessionLengths:
        """Returns how many rows the chains have that a session's graph is made of."""
        return SessionLengths._make(head.length for head in self.heads(session))

    def at(self, session: str, lengths: SessionLengths) -> CompactSession:
        """Returns the complete graph of a session as it was when its chains had these lengths."""
        if lengths == self.lengths(session):
            return self.whole(session)
        return _compact(session, list(derived_nodes(self._connection, session, lengths)))

    def _home(self, turn_id: str) -> str:
        """Returns the session of a turn. It never changes, so it is cached."""
        if turn_id not in self._homes:
            if len(self._homes) > self._limit:
                self._homes.clear()
            self._homes[turn_id] = self._turns.get(turn_id).record.session
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
        self._read.pop(wanted, None)
        seen, stamp = self._database.state, self._stamp(wanted[0])
        graph = self._read_complete(wanted, stamp[0])
        self._kept[wanted] = _Kept(graph, stamp, seen)
        turns = sum([kept.turns for kept in self._kept.values()])
        while len(self._kept) > 1 and turns > self._limit:
            _, dropped = self._kept.popitem(last=False)
            turns -= dropped.turns
        return graph

    def _stamp(self, session: str) -> tuple[int, ...]:
        """Returns a value that changes with every write to the session."""
        lengths = ", ".join(f"(SELECT coalesce(max(seq), 0) FROM {table} WHERE session = ?1)" for table in _OF_GRAPH)
        return tuple(map(int, next(self._connection.execute(f"SELECT {lengths}", (session,)))))

    def _count(self, session: str) -> int:
        """Returns how many turns a session has."""
        row = self._connection.execute("SELECT turns FROM shapes WHERE session = ?", (session,)).fetchone()
        return int(row[0]) if row else 0

    def _read_complete(self, wanted: _Wanted, turns: int) -> CompactSession:
        """Reads a session of so many turns. Raises `database-damaged` where the derived table has others."""
        session, as_of = wanted
        query = f"SELECT {NODE_COLUMNS} FROM nodes WHERE session = (SELECT number FROM shapes WHERE session = ?)"
        nodes = list(map(TurnNode._make, self._connection.execute(query, (session,))))
        if len(nodes) != turns:
            raise damaged(f"session {session!r} has {turns} turns, but {len(nodes)} nodes")
        if as_of is not None:
            nodes = [node for node in nodes if is_up_to(node.time, as_of)]
        return _compact(session, nodes)


@contextmanager
def _having(graph: CompactSession | StoredGraph, turn_id: str, as_of: int | None) -> Iterator[None]:
    """Raises `database-damaged` for `no-turn` where the graph of a session lacks one of its stored turns."""
    try:
        yield
    except SlicebaseError as error:
        if error.code == "no-turn" and as_of is None and not _has(graph, turn_id):
            raise damaged(f"the turn {turn_id} has no node") from None
        raise


def _has(graph: CompactSession | StoredGraph, turn_id: str) -> bool:
    try:
        graph.number_of(turn_id)
    except SlicebaseError as error:
        return error.code != "no-turn"
    return True


def _compact(session: str, nodes: Sequence[TurnNode]) -> CompactSession:
    ids = {node.seq: uuid_of(node.turn) for node in nodes}
    edges = (
        (ids[parent], ids[node.seq], kind)
        for node in nodes
        for parent, bits in node.above
        if parent in ids
        for kind in TYPES_BY_BITS[bits]
    )
    try:
        graph = compact(session, map(compact_row, nodes), edges)
    except (SlicebaseError, *NOT_OURS) as error:  # checking each value would take longer than to read it
        raise error if getattr(error, "code", "") == "database-damaged" else damaged_row(error) from None
    return with_kernel(graph, chosen_kernel())
