"""The trees of stored sessions with their lanes, and what a row of them shows. Those that were used last are cached.

A tree takes about fifty bytes a turn. When turns were added, only those are read, unless one of them is above a turn
that was stored before it. Objects of one process that read the same database share a tree as long as one of them has
it: threads that want it at once read it once.
"""

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

from msgspec import Struct

from slicebase.core.ids import uuid_of
from slicebase.graph.compact import EDGE_BITS, TURN_KINDS
from slicebase.graph.lanes import Lanes
from slicebase.graph.tree import NOTHING, TurnTree
from slicebase.graph.turn import TREE_EDGES, Phase, Role
from slicebase.truth.chains import Chain, head_of
from slicebase.truth.connection import DatabaseConnection
from slicebase.truth.database import Database
from slicebase.truth.node_rows import NOT_OURS, damaged_row
from slicebase.truth.nodes import NODE_COLUMNS, TurnNode

_KEPT_TURNS: Final = 1_000_000  # in all cached trees together
_TREE_BITS: Final = sum(EDGE_BITS[kind] for kind in TREE_EDGES)


class StoredTree(Struct, frozen=True, weakref=True, eq=False):
    """The tree of a session and its lanes, and how many links it had when they were read."""

    tree: TurnTree
    lanes: Lanes
    links: int


_shared: Final[WeakValueDictionary[object, StoredTree]] = WeakValueDictionary()
_reading: Final = Lock()


class TreeNode(NamedTuple):
    """A turn of a tree: its number from 0, its id, its time, and what its newest annotation says of it."""

    number: int
    turn: str
    time: int
    role: Role
    phase: Phase
    salience: float | None


class StoredTrees:
    """The trees of a database, always up to date with it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: OrderedDict[str, StoredTree] = OrderedDict()

    @property
    def _connection(self) -> DatabaseConnection:
        return self._database.connection

    def of(self, session: str) -> StoredTree:
        """Returns the tree of a session. One that is not stored has no turns."""
        with self._database.reading():
            number, turns = self._shape(session)
            (links,) = next(
                self._connection.execute("SELECT coalesce(max(seq), 0) FROM links WHERE session = ?", (session,))
            )
            kept = self._kept.pop(session, None)
            if kept is None or kept.links != links or len(kept.tree) != turns:
                kept = self._shared(session, number, turns, links, kept)
        self._kept[session] = kept
        while len(self._kept) > 1 and sum(len(each.tree) for each in self._kept.values()) > _KEPT_TURNS:
            self._kept.popitem(last=False)
        return kept

    def nodes(self, session: str, first: int, limit: int) -> list[TreeNode]:
        """Returns turns of a session by their numbers, as many as there are."""
        query = f"SELECT {NODE_COLUMNS} FROM nodes WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq"
        return self._nodes(query, (self._shape(session)[0], first, first + limit))

    def some(self, session: str, numbers: Sequence[int]) -> list[TreeNode]:
        """Returns turns of a session by their numbers, in the order of the numbers."""
        shape = self._shape(session)[0]
        query = f"SELECT {NODE_COLUMNS} FROM nodes WHERE session = ? AND seq = ?"
        return [node for number in numbers for node in self._nodes(query, (shape, number + 1))]

    def _nodes(self, query: str, values: tuple[Any, ...]) -> list[TreeNode]:
        return [_node(TurnNode._make(row)) for row in self._connection.execute(query, values)]

    def _shape(self, session: str) -> tuple[int, int]:
        row = self._connection.execute("SELECT number, turns FROM shapes WHERE session = ?", (session,)).fetchone()
        return row or (0, 0)

    def _shared(self, session: str, number: int, turns: int, links: int, kept: StoredTree | None) -> StoredTree:
        """Returns the tree that another object of this process has read from the same rows, or reads it."""
        heads = (head_of(self._connection, Chain(table, session)) for table in ("turns", "links"))
        key = self._database.path, self._database.file_id, session, turns, *heads
        with _reading:
            found = _shared.get(key)
            if found is None:
                found = _shared[key] = self._read(number, turns, links, kept)
            return found

    def _read(self, session: int, turns: int, links: int, kept: StoredTree | None) -> StoredTree:
        above = array("q")
        if kept is not None and kept.links == links and not self._is_moved(session, len(kept.tree)):
            above = kept.tree.above[:]
        query = "SELECT seq, parents FROM nodes WHERE session = ? AND seq > ? ORDER BY seq"
        unpack = TurnNode(0, b"", 0, 0, None, None, None, b"")
        for seq, parents in self._connection.execute(query, (session, len(above))):
            if seq != len(above) + 1:
                raise damaged_row(f"the turn number {len(above) + 1} has no node")
            try:
                found = [number for number, bits in unpack._replace(parents=parents).above if bits & _TREE_BITS]
            except NOT_OURS as error:
                raise damaged_row(error) from None
            if not all(0 < number <= turns and number != seq for number in found):
                raise damaged_row(f"the turn number {seq} has parents that are no other turns of its session")
            above.append(self._lowest(session, found) - 1 if found else NOTHING)
        if len(above) != turns:
            raise damaged_row(f"{turns} turns have {len(above)} nodes")
        tree = TurnTree(above)
        if tree.has_cycle():
            raise damaged_row("a turn is above itself")
        return StoredTree(tree, Lanes(tree), links)

    def _is_moved(self, session: int, turns: int) -> bool:
        """Returns whether a turn that was stored before is below a newer one."""
        query = "SELECT EXISTS (SELECT 1 FROM families WHERE session = ? AND parent > ? AND seq <= ?)"
        return bool(next(self._connection.execute(query, (session, turns, turns)))[0])

    def _lowest(self, session: int, numbers: Sequence[int]) -> int:
        """Returns the one with the lowest id, which counts as the parent in the tree."""
        if len(numbers) == 1:
            return numbers[0]
        query = "SELECT turn FROM nodes WHERE session = ? AND seq = ?"
        return min(numbers, key=lambda number: next(self._connection.execute(query, (session, number)))[0])


def _node(node: TurnNode) -> TreeNode:
    try:
        role, phase = TURN_KINDS[node.kind]
    except NOT_OURS as error:
        raise damaged_row(error) from None
    return TreeNode(node.seq - 1, uuid_of(node.turn), node.time, role, phase, node.salience)
