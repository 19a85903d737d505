"""A session as a graph that is read from the database turn by turn, as an expansion asks for neighbours.

Each turn is read once. A graph is for one slice or a few: it does not see what is written meanwhile.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from heapq import merge
from itertools import islice
from struct import Struct
from typing import Any, Final

import apsw

from slicebase.core.ids import uuid_bytes, uuid_of
from slicebase.core.times import LAST_UNDATED, is_up_to, whole_seconds
from slicebase.errors import SlicebaseError
from slicebase.graph.compact import TURN_KINDS, TYPES_BY_BITS, CompactRow
from slicebase.graph.export import ExportedTurn, head_json, turn_json
from slicebase.graph.on_demand import WIDE_FAMILY, Near, Priority, RankedTurn
from slicebase.graph.select import no_turn
from slicebase.graph.turn import PHASES
from slicebase.truth.nodes import FIELDS, NODE_COLUMNS, TurnNode

_FAMILY: Final = "FROM families WHERE session = ?1 AND parent = ?2"
_FIRST_PAGE, _LAST_PAGE = 8, 512  # rows; each page is twice as long as the one before
_ALL: Final = -2  # children: one more is -1, which is no limit for SQLite
_ONE: Final = f"SELECT {NODE_COLUMNS} FROM nodes WHERE session = ? AND seq = ?"
_SOME: Final = f"SELECT {NODE_COLUMNS} FROM nodes WHERE session = ? AND seq BETWEEN ? AND ?"
_AHEAD: Final = 16  # turns that are read together where turns beside each other are asked for
_BITS: Final = Struct("<I")
_BINARY32: Final = Struct("<f")


@contextmanager
def readable() -> Iterator[None]:
    """Raises `database-damaged` where a row of the derived tables holds what no record gives."""
    try:
        yield
    except (struct.error, IndexError) as error:  # checking each value would take longer than to read it
        raise damaged(f"a row that slices are read from is damaged: {error}") from None


class StoredGraph:
    """A session in the database, or the part of it up to a time."""

    def __init__(
        self,
        connection: apsw.Connection,
        session_id: str,
        as_of: int | None = None,
        on_read: Callable[[int], None] = lambda turns: None,
    ) -> None:
        self._connection = connection
        self.session_id = session_id
        self._as_of = as_of
        # Up to a time, only turns count that have a date (ruling 52).
        dated = f"AND time <= {as_of} AND time NOT BETWEEN 0 AND {LAST_UNDATED}"
        self._up_to = "" if as_of is None else dated
        self._children = f"SELECT turn, seq, phase, -negated {_FAMILY} {self._up_to} LIMIT ?3"
        self._on_read = on_read  # called with the number of turns that were read
        row = connection.execute("SELECT number FROM shapes WHERE session = ?", (session_id,)).fetchone()
        self._session: int = row[0] if row else 0
        self._nodes: dict[int, TurnNode] = {}
        self._above: dict[int, list[tuple[int, int]]] = {}
        self._families: dict[tuple[int, int], list[Near]] = {}

    # What `slicebase.graph.on_demand` reads

    def near(self, number: int) -> Near:
        node = self._read(number)
        if node.salience is None:
            raise _no_annotation(node)
        return Near(node.turn, number, node.kind % len(PHASES), node.salience)

    def parents_of(self, number: int) -> list[int]:
        return [parent for parent, _ in self.edges_to(number)]

    def edges_to(self, number: int) -> list[tuple[int, int]]:
        if number not in self._above:
            with readable():
                above = list(self._read(number).above)
            if any(bits >= len(TYPES_BY_BITS) for _, bits in above):
                raise damaged(f"the turn number {number} of session {self.session_id!r} has an edge of no type")
            if self._as_of is not None:
                above = [each for each in above if is_up_to(self._read(each[0]).time, self._as_of)]
            self._above[number] = above
        return self._above[number]

    def children_of(self, number: int, most: int) -> list[Near]:
        if (number, most) not in self._families:
            self._families[number, most] = _near(self._rows(self._children, number, most + 1))
        return self._families[number, most]

    def best_children(self, number: int, limit: int) -> list[Near]:
        few = self.children_of(number, WIDE_FAMILY)
        if len(few) > WIDE_FAMILY:  # each phase is in order
            query = f"SELECT turn, seq, phase, -negated {_FAMILY} AND phase = ?3 {self._up_to} LIMIT ?4"
            rows = (self._rows(query, number, phase, limit) for phase in range(len(PHASES)))
            few = [Near._make(row) for family in rows for row in family]
        return sorted(few, key=lambda near: (-near.salience, near.turn))[:limit]

    def ranked_children(self, number: int, priority: Priority) -> Iterator[RankedTurn]:
        return merge(*(self._ranked(number, phase, priority) for phase in range(len(PHASES))))

    def turn_json(self, number: int) -> str:
        with readable():
            turn_id, role, phase, *numbers, _ = compact_row(self._read(number))
        values: list[Any] = numbers
        return turn_json(turn_id, head_json(self.session_id, role, phase), *values)

    def annotator_of(self, number: int) -> str:
        return str(self._read(number).annotator)

    # The protocol of `slicebase.graph.select`

    def get_turn(self, turn_id: str) -> ExportedTurn:
        number = self.number_of(turn_id)
        with readable():
            found, *fields, _ = compact_row(self._read(number))
        values: list[Any] = fields
        return ExportedTurn(found, self.session_id, *values)

    def parents(self, turn_id: str) -> list[str]:
        return sorted(uuid_of(self._read(parent).turn) for parent in self.parents_of(self.number_of(turn_id)))

    def children(self, turn_id: str) -> list[str]:
        return sorted(uuid_of(near.turn) for near in self.children_of(self.number_of(turn_id), _ALL))

    def siblings(self, turn_id: str, limit: int | None) -> list[str]:
        number = self.number_of(turn_id)
        families = (
            self.children_of(parent, _ALL) if limit is None else self.best_children(parent, limit + 1)
            for parent in self.parents_of(number)
        )
        found = {near for family in families for near in family if near.number != number}
        ordered = sorted(found, key=lambda near: (-near.salience, near.turn))
        return [uuid_of(near.turn) for near in islice(ordered, limit)]

    def number_of(self, turn_id: str) -> int:
        """Returns the number of a turn. Raises `no-turn` for one that is not in the session."""
        query = "SELECT seq FROM turns WHERE turn = ? AND session = ?"
        row = self._connection.execute(query, (uuid_bytes(turn_id), self.session_id)).fetchone()
        if row is None or not is_up_to(self._read(row[0]).time, self._as_of):
            raise no_turn(turn_id)
        return int(row[0])

    # Reading

    def _rows(self, query: str, parent: int, *values: Any) -> list[Any]:
        return self._connection.execute(query, (self._session, parent, *values)).fetchall()

    def _read(self, number: int) -> TurnNode:
        nodes = self._nodes
        if number not in nodes:
            if number - 1 in nodes:  # a conversation is mostly stored in its order
                wanted: tuple[int, ...] = (number, number + _AHEAD)
            elif number + 1 in nodes:
                wanted = (number - _AHEAD, number)
            else:
                wanted = (number,)
            query = _ONE if len(wanted) == 1 else _SOME
            rows: list[Any] = self._connection.execute(query, (self._session, *wanted)).fetchall()
            nodes |= {row[0]: TurnNode._make(row) for row in rows}
            self._on_read(len(rows))
            if number not in nodes:
                raise damaged(f"the turn number {number} of session {self.session_id!r} has no node")
        return nodes[number]

    # Wide families

    def _ranked(self, parent: int, phase: int, priority: Priority) -> Iterator[RankedTurn]:
        """Yields the children of one phase in the order of §5.3.

        A higher salience never has a lower priority, but several can have the same, which go by id.
        """
        query = f"""SELECT negated, turn, seq {_FAMILY} AND phase = ?3 AND (negated, turn) > (?4, ?5) {self._up_to}
            ORDER BY negated, turn LIMIT ?6"""
        after: tuple[float, bytes] = (-2.0, b"")
        size = _FIRST_PAGE
        while True:
            rows = self._rows(query, parent, phase, *after, size)
            ranked = sorted((-priority(phase, -negated), turn, seq) for negated, turn, seq in rows)
            if len(rows) < size:
                yield from ranked
                return
            # Others may follow that have the priority of the last one.
            end = ranked[-1][0]
            yield from (each for each in ranked if each[0] != end)
            first = next(negated for negated, _, _ in rows if -priority(phase, -negated) == end)
            last = -_least(-first, partial(priority, phase))
            yield from ((end, turn, seq) for turn, seq in self._equal(parent, phase, first, last))
            after, size = (last, b"\xff" * 17), min(size * 2, _LAST_PAGE)

    def _equal(self, parent: int, phase: int, first: float, last: float) -> Iterator[tuple[bytes, int]]:
        """Yields the children of a phase between two saliences, by id."""
        others = f"SELECT 1 {_FAMILY} AND phase = ?3 AND negated > ?4 AND negated <= ?5 LIMIT 1"
        # With one salience, the table is in this order. With several, SQLite sorts what it returns.
        several = self._rows(others, parent, phase, first, last)
        between = "negated BETWEEN ?4 AND ?5" if several else "negated = ?4 AND ?4 >= ?5 - 1"
        query = f"""SELECT turn, seq {_FAMILY} AND phase = ?3 AND {between} AND turn > ?6 {self._up_to}
            ORDER BY turn LIMIT ?7"""
        turn, size = b"", _FIRST_PAGE
        while rows := self._rows(query, parent, phase, first, last, turn, size):
            yield from rows
            if len(rows) < size:
                return
            turn, size = rows[-1][0], min(size * 2, _LAST_PAGE)


def _near(rows: Iterable[Any]) -> list[Near]:
    near = list(map(Near._make, rows))
    if any(not 0 <= each.phase < len(PHASES) for each in near):
        raise damaged("a row of the children of a turn has a phase that there is not")
    return near


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


def compact_row(node: TurnNode) -> CompactRow:
    """Returns a turn in the form that `compact` expects."""
    if node.salience is None or node.fields is None or node.annotator is None:
        raise _no_annotation(node)
    fields: tuple[int, int, float, float, float] = FIELDS.unpack(node.fields)
    role, phase = TURN_KINDS[node.kind]
    seconds = whole_seconds(node.time)
    return CompactRow(uuid_of(node.turn), role, phase, node.salience, *fields, seconds, node.annotator)


def _no_annotation(node: TurnNode) -> SlicebaseError:
    return damaged(f"the turn {uuid_of(node.turn)} has no annotation")


def damaged(message: str) -> SlicebaseError:
    """Returns the error for a derived table that does not follow from the records."""
    return SlicebaseError("database-damaged", message, hint="`tt verify` says what else is wrong")
