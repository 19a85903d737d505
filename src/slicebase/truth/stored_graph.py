"""A session as a graph that is read from the database turn by turn, as an expansion asks for neighbours.

Each turn is read once. A graph is for one slice or a few: it does not see what is written meanwhile.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from heapq import merge
from itertools import islice
from math import inf
from operator import itemgetter
from struct import Struct
from typing import Any, Final

from slicebase.core.hashing import LARGEST_INTEGER
from slicebase.core.ids import uuid_bytes, uuid_of
from slicebase.core.times import LAST_UNDATED, is_up_to, whole_seconds
from slicebase.errors import SlicebaseError
from slicebase.graph.compact import TURN_KINDS, TYPES_BY_BITS
from slicebase.graph.export import ExportedTurn, head_json, turn_json
from slicebase.graph.on_demand import WIDE_FAMILY, Near, Priority, RankedTurn
from slicebase.graph.select import no_turn
from slicebase.graph.turn import PHASES
from slicebase.truth.connection import DatabaseConnection
from slicebase.truth.failures import damaged
from slicebase.truth.node_rows import (
    NOT_OURS,
    annotation_in,
    as_node,
    checked_nears,
    compact_row,
    damaged_row,
    not_annotated,
    refuse_others,
)
from slicebase.truth.nodes import NODE_COLUMNS, TurnNode

_FAMILY: Final = "FROM families WHERE session = ?1 AND parent = ?2"
_FIRST_PAGE, _LAST_PAGE = 8, 512  # rows; each page is twice as long as the one before
_TIED = 32  # turns of one priority, from which on the database is asked for them in the order of their ids
_ALL: Final = LARGEST_INTEGER  # children
_EVERY: Final = 2**62  # siblings
_IN_ORDER: Final = "ORDER BY phase, negated, turn"
_ONE: Final = f"SELECT {NODE_COLUMNS} FROM nodes WHERE session = ? AND seq = ?"
# Many turns in one question: it takes about 6 µs, and 1 µs for each turn beside another one, or 3 µs for any others. So
# a few turns too many cost as much as a question, and only those are read that are probably needed.
_AHEAD: Final = 16
_BESIDE: Final = "BETWEEN ? AND ?"
_THESE: Final = f"IN ({','.join('?' * _AHEAD)})"
_SOME: Final = f"SELECT {NODE_COLUMNS} FROM nodes WHERE session = ? AND seq "
_FEW: Final = 4
_MOST_CHILDREN: Final = 128  # of turns that are read together
_WITHOUT_PARENT: Final = itemgetter(slice(1, None))
_BITS: Final = Struct("<I")
_BINARY32: Final = Struct("<f")


class StoredGraph:
    """A session in the database, or the part of it up to a time."""

    def __init__(
        self,
        connection: DatabaseConnection,
        session_id: str,
        as_of: int | None = None,
        on_read: Callable[[int], None] = lambda turns: None,
        *,
        is_compiled: bool = False,
    ) -> None:
        self._connection = connection
        self.session_id = session_id
        self.is_compiled = is_compiled
        self._as_of = as_of
        # Up to a time, only turns count that have a date (ruling 52).
        dated = f"AND time <= {as_of} AND time NOT BETWEEN 0 AND {LAST_UNDATED}"
        self._up_to = "" if as_of is None else dated
        self._children = f"SELECT turn, seq, phase, -negated {_FAMILY} {self._up_to} {_IN_ORDER} LIMIT ?3"
        self._children_of_some = "SELECT parent, turn, seq, phase, -negated FROM families WHERE session = ? AND parent"
        self._on_read = on_read  # called with the number of turns that were read
        row = connection.execute("SELECT number FROM shapes WHERE session = ?", (session_id,)).fetchone()
        self._session: int = row[0] if row else 0
        self._nodes: dict[int, TurnNode] = {}
        self._above: dict[int, list[tuple[int, int]]] = {}
        self._parents: dict[int, list[int]] = {}
        self._heads: dict[int, str] = {}  # by kind
        self._families: dict[int, list[Near]] = {}  # complete ones
        self._part: dict[tuple[int, int], list[Near]] = {}  # by how many were asked for
        self._asked: set[int] = set()  # the turns whose families were asked for, together with others or alone
        self._expanded: set[int] = set()
        self._siblings: dict[tuple[int, ...], tuple[int, list[str]]] = {}  # by parents: at most so many and one more

    # What `slicebase.graph.on_demand` reads

    def around(self, number: int, most: int) -> tuple[list[int], list[Near]]:
        if number not in self._asked:
            self._expect(number)
        self._expanded.add(number)
        parents, children = self._parents.get(number), self._families.get(number)
        return (
            self.parents_of(number) if parents is None else parents,
            self.children_of(number, most) if children is None else children,
        )

    def _expect(self, number: int) -> None:
        """Reads a turn and its children, together with those that were stored beside it.

        A conversation is mostly stored in its order: where three turns beside it were expanded, the following ones
        probably are, too. Others are read when they are asked for.
        """
        done = self._expanded
        if number - 1 in done and number - 2 in done and number - 3 in done:
            self._load_beside(number, number + _AHEAD)
        elif number + 1 in done and number + 2 in done and number + 3 in done:
            self._load_beside(number - _AHEAD, number)
        elif not self._asked:
            self._load_beside(number - 3, number + 3)
        else:
            self._asked.add(number)

    def near(self, number: int) -> Near:
        node = self._read(number)
        if node.salience is None:
            raise not_annotated(node)
        refuse_others([(node.turn, node.salience)])
        return Near(node.turn, number, node.kind % len(PHASES), node.salience)

    def parents_of(self, number: int) -> list[int]:
        parents = self._parents.get(number)
        if parents is None:
            parents = self._parents[number] = [parent for parent, _ in self.edges_to(number)]
        return parents

    def edges_to(self, number: int) -> list[tuple[int, int]]:
        above = self._above.get(number)
        if above is None:
            node = self._nodes.get(number) or self._read(number)
            try:
                above = list(node.above)
            except NOT_OURS as error:
                raise damaged_row(error) from None
            for parent, bits in above:
                if bits >= len(TYPES_BY_BITS):
                    raise damaged_row(f"the edge to the turn number {parent} has no type")
            if self._as_of is not None:
                above = [each for each in above if is_up_to(self._read(each[0]).time, self._as_of)]
            self._above[number] = above
        return above

    def children_of(self, number: int, most: int) -> list[Near]:
        family = self._families.get(number)
        if family is None:
            family = self._part.get((number, most))
        if family is None:
            rows: list[Any] = self._connection.execute(self._children, (self._session, number, most + 1)).fetchall()
            family = checked_nears(rows) if rows else []
            if len(family) <= most:
                self._families[number] = family
            else:
                self._part[number, most] = family
        return family

    def best_children(self, number: int, limit: int) -> list[Near]:
        few = self.children_of(number, WIDE_FAMILY)
        if len(few) > WIDE_FAMILY:  # each phase is in order
            query = f"SELECT turn, seq, phase, -negated {_FAMILY} AND phase = ?3 {self._up_to} {_IN_ORDER} LIMIT ?4"
            rows = (self._rows(query, number, phase, limit) for phase in range(len(PHASES)))
            few = checked_nears([row for family in rows for row in family])
        return sorted(few, key=lambda near: (-near.salience, near.turn))[:limit]

    def ranked_children(self, number: int, priority: Priority) -> Iterator[RankedTurn]:
        ranked = merge(*(self._ranked(number, phase, priority) for phase in range(len(PHASES))))
        yield from islice(ranked, _FEW)  # of many wide families, only the first ones are needed
        while some := list(islice(ranked, _AHEAD)):
            self._load([seq for _, _, seq in some])
            yield from some

    def turn_json(self, number: int, turn_id: str) -> str:
        node = self._read(number)
        salience, trajectory, _ = annotation_in(node)
        head = self._heads.get(node.kind) or self._head(node.kind)
        return turn_json(turn_id, head, salience, *trajectory, whole_seconds(node.time))

    def fields_of(self, number: int) -> tuple[int, float, bytes, int, str, list[tuple[int, int]]]:
        node = self._nodes.get(number) or self._read(number)
        annotation_in(node)
        _, _, time, kind, salience, fields, annotator, _ = node
        above = self._above.get(number)
        edges = self.edges_to(number) if above is None else above
        return kind, salience, fields, whole_seconds(time), annotator, edges  # type: ignore[return-value]

    def _head(self, kind: int) -> str:
        head = self._heads[kind] = head_json(self.session_id, *TURN_KINDS[kind])
        return head

    def annotator_of(self, number: int) -> str:
        return annotation_in(self._read(number))[2]

    def damage(self, problem: str) -> SlicebaseError:
        return damaged_row(problem)

    # The protocol of `slicebase.graph.select`

    def get_turn(self, turn_id: str) -> ExportedTurn:
        found, *fields, _ = compact_row(self._read(self.number_of(turn_id)))
        values: list[Any] = fields
        return ExportedTurn(found, self.session_id, *values)

    def parents(self, turn_id: str) -> list[str]:
        return sorted(uuid_of(self._read(parent).turn) for parent in self.parents_of(self.number_of(turn_id)))

    def children(self, turn_id: str) -> list[str]:
        return sorted(uuid_of(near.turn) for near in self.children_of(self.number_of(turn_id), _ALL))

    def siblings(self, turn_id: str, limit: int | None) -> list[str]:
        above = tuple(self.parents_of(self.number_of(turn_id)))
        known, ordered = self._siblings.get(above, (-1, []))
        most = _EVERY if limit is None else limit
        if known < most:
            families = (
                self.children_of(parent, _ALL) if limit is None else self.best_children(parent, limit + 1)
                for parent in above
            )
            found = {near for family in families for near in family}
            ranked = sorted(found, key=lambda near: (-near.salience, near.turn))[: most + 1]
            ordered = [uuid_of(near.turn) for near in ranked]
            self._siblings[above] = most, ordered
        return [each for each in ordered[: most + 1] if each != turn_id][:most]

    def number_of(self, turn_id: str) -> int:
        """Returns the number of a turn. Raises `no-turn` for one that is not in the session."""
        query = "SELECT seq FROM turns WHERE turn = ? AND session = ?"
        turn = uuid_bytes(turn_id)
        row = self._connection.execute(query, (turn, self.session_id)).fetchone()
        node = self._read(row[0]) if row else None
        if node is None or not is_up_to(node.time, self._as_of):
            raise no_turn(turn_id)
        if node.turn != turn:
            raise damaged_row(f"the node of the turn {turn_id} has the id of another one")
        return node.seq

    # Reading

    def _rows(self, query: str, parent: int, *values: Any) -> list[Any]:
        return self._connection.execute(query, (self._session, parent, *values)).fetchall()

    def _read(self, number: int) -> TurnNode:
        node = self._nodes.get(number)
        if node is None:
            row = self._connection.execute(_ONE, (self._session, number)).fetchone()
            if row is None:
                raise damaged(f"the turn number {number} of session {self.session_id!r} has no node")
            node = self._nodes[number] = as_node(row)
            self._on_read(1)
        return node

    def _load_beside(self, first: int, last: int) -> None:
        """Reads turns that are beside each other, and their children."""
        self._load_nodes(_BESIDE, first, last)
        self._load_families(_BESIDE, range(first, last + 1), first, last)

    def _load(self, numbers: Iterable[int]) -> None:
        """Reads those of these turns that were not read, and their children."""
        wanted = [number for number in numbers if number not in self._asked]
        if wanted:
            filled = (wanted * _AHEAD)[:_AHEAD]
            self._load_nodes(_THESE, *filled)
            self._load_families(_THESE, wanted[:_AHEAD], *filled)

    def _load_nodes(self, which: str, *numbers: int) -> None:
        rows: list[Any] = self._connection.execute(_SOME + which, (self._session, *numbers)).fetchall()
        self._nodes.update([(row[0], as_node(row)) for row in rows])
        self._on_read(len(rows))

    def _load_families(self, which: str, parents: Iterable[int], *numbers: int) -> None:
        """Reads the children of turns; where they are very many, only those of some of the turns."""
        order = "ORDER BY parent, phase, negated, turn"  # that of the table
        query = f"{self._children_of_some} {which} {self._up_to} {order} LIMIT {_MOST_CHILDREN}"
        rows: list[Any] = self._connection.execute(query, (self._session, *numbers)).fetchall()
        found: dict[int, list[Near]] = {}
        for (parent, *_), near in zip(rows, checked_nears(map(_WITHOUT_PARENT, rows)), strict=True):
            found.setdefault(parent, []).append(near)
        self._asked.update(parents)
        if len(rows) < _MOST_CHILDREN:
            self._families.update([(parent, found.get(parent, [])) for parent in parents])
        else:
            del found[rows[-1][0]]  # the last one may have more
            self._families |= found

    # Wide families

    def _ranked(self, parent: int, phase: int, priority: Priority) -> Iterator[RankedTurn]:
        """Yields the children of one phase in the order of §5.3.

        A higher salience never has a lower priority, but several can have the same, which go by id.
        """
        query = f"""SELECT negated, turn, seq {_FAMILY} AND phase = ?3 AND (negated, turn) > (?4, ?5) {self._up_to}
            ORDER BY negated, turn LIMIT ?6"""
        after: tuple[float, bytes] = (-inf, b"")
        size = _FIRST_PAGE
        held: list[RankedTurn] = []  # of one priority: others may follow that have the same
        first = 0.0  # the negated salience of the first of them
        while True:
            rows = self._rows(query, parent, phase, *after, size)
            refuse_others([(turn, -negated) for negated, turn, _ in rows])
            priorities = [-priority(phase, -negated) for negated, _, _ in rows]
            found = [(each, turn, seq) for each, (_, turn, seq) in zip(priorities, rows, strict=True)]
            ranked = sorted(held + found)
            if len(rows) < size:
                yield from ranked
                return
            after, size = rows[-1][:2], min(size * 2, _LAST_PAGE)
            end = ranked[-1][0]
            if not held or held[0][0] != end:
                first = rows[bisect_left(priorities, end)][0]
            held = ranked[bisect_left(ranked, (end,)) :]
            if len(held) < len(ranked) or len(held) < _TIED:
                yield from ranked[: -len(held)]
                continue
            held, last = [], -_least(-first, partial(priority, phase))
            for some in self._equal(parent, phase, first, last):
                yield from [(end, turn, seq) for turn, seq in some]
            after = (last, b"\xff" * 17)

    def _equal(self, parent: int, phase: int, first: float, last: float) -> Iterator[list[tuple[bytes, int]]]:
        """Yields the children of a phase between two saliences, by id, page by page."""
        others = f"SELECT 1 {_FAMILY} AND phase = ?3 AND negated > ?4 AND negated <= ?5 LIMIT 1"
        # With one salience, the table is in this order. With several, SQLite sorts what it returns.
        several = self._rows(others, parent, phase, first, last)
        between = "negated BETWEEN ?4 AND ?5" if several else "negated = ?4 AND ?4 >= ?5 - 1"
        query = f"""SELECT turn, seq {_FAMILY} AND phase = ?3 AND {between} AND turn > ?6 {self._up_to}
            ORDER BY turn LIMIT ?7"""
        turn, size = b"", _LAST_PAGE if several else _FIRST_PAGE
        while rows := self._rows(query, parent, phase, first, last, turn, size):
            refuse_others([(turn, -first) for turn, _ in rows])
            yield rows
            if len(rows) < size:
                return
            turn, size = rows[-1][0], min(size * 2, _LAST_PAGE)


def _least(salience: float, priority: Callable[[float], float]) -> float:
    """Returns the least salience that has the priority of this one.

    A higher one never has a lower priority, and binary32 numbers that are not negative have the order of their bits.
    """
    wanted = priority(salience)
    low, high = 0, _BITS.unpack(_BINARY32.pack(salience))[0]
    while low < high:
        middle = (low + high) // 2
        if priority(_BINARY32.unpack(_BITS.pack(middle))[0]) == wanted:
            high = middle
        else:
            low = middle + 1
    return float(_BINARY32.unpack(_BITS.pack(high))[0])
