"""The nodes of the graph: what a context slice reads of a turn, in derived tables that answer one question at a time.

`nodes` has the newest annotation of each turn (ruling 17) and its parents in the same session (ruling 13), as numbers
of turns with the types of the edges. `families` has the children of each turn, phase by phase, in the order of salience
and id (ruling 10). So a slice reads the neighbours of the turns that it selects, however large a session is and
whatever its shape.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from struct import Struct
from typing import Any, Final, NamedTuple

from slicebase.core.hashing import LARGEST_INTEGER
from slicebase.core.ids import uuid_bytes
from slicebase.core.times import from_text
from slicebase.graph.compact import EDGE_BITS, TURN_KINDS
from slicebase.graph.record import AnnotationRecord, TurnRecord, read_annotations, read_link, read_turn
from slicebase.graph.turn import PHASES, Role, Turn
from slicebase.truth.connection import DatabaseConnection

FIELDS: Final = Struct("<qqfff")  # depth, sibling order, homogeneity, temporal, complexity
_PARENT: Final = Struct("<qB")  # the number of a parent in the session, and the types of the edges as bits
_KINDS: Final[Mapping[Any, int]] = {kind: number for number, kind in enumerate(TURN_KINDS)}
_Parents = Collection[tuple[str, str]]


class TurnNode(NamedTuple):
    """A row of `nodes` without its session. A turn that is not annotated has no salience, fields and annotator."""

    seq: int
    turn: bytes
    time: int
    kind: int  # role and phase, as an index into `TURN_KINDS`
    salience: float | None  # never -0.0, which SQLite does not know, and PostgreSQL would keep
    fields: bytes | None
    annotator: str | None
    parents: bytes

    @property
    def above(self) -> Iterator[tuple[int, int]]:
        """The numbers of the parents, each with the types of the edges as bits."""
        return _PARENT.iter_unpack(self.parents)

    def families(self) -> Iterator[tuple[int, int, float, bytes, int, int]]:
        """Yields the rows of `families` that the turn is in, without their session."""
        if self.salience is not None:
            for parent, _ in self.above:
                yield parent, self.kind % len(PHASES), 0.0 - self.salience, self.turn, self.seq, self.time


NODE_COLUMNS: Final = ", ".join(TurnNode._fields)


# Writing


def keep_nodes(
    connection: DatabaseConnection,
    session: str,
    turns: Sequence[Turn],
    numbers: Mapping[str, int],
    annotations: Iterable[AnnotationRecord],
) -> None:
    """Stores the nodes of turns that were just added, and counts them. `numbers` may have some of their parents."""
    if not turns:
        return
    number = _number(connection, session, len(turns))
    given = {row[0]: row for record in annotations for row in record.rows(numbers)}
    outside = {parent.id for turn in turns for parent in turn.parents if parent.id not in numbers}
    known = {**numbers, **_numbers(connection, session, outside)} if outside else numbers
    nodes = [
        _node(numbers[turn.id], turn.id, turn.time, turn.role, _packed_above(turn, known), given.get(turn.id))
        for turn in turns
    ]
    _insert(connection, number, nodes)


def annotate_nodes(
    connection: DatabaseConnection, record: AnnotationRecord, numbers: Iterable[int], new: Container[str] = ()
) -> None:
    """Gives a newer annotation to stored turns, except new ones. `numbers` are those of the record's turns."""
    session = _number(connection, record.session, 0)
    for seq, row in zip(numbers, record.rows(record.turns), strict=True):
        if row[0] not in new:
            node = _read(connection, session, seq)
            _replace(connection, session, node, _annotated(node, row))


def link_node(connection: DatabaseConnection, session: str, seq: int, parents: _Parents) -> None:
    """Gives a stored turn these parents, of which those count that are in its session."""
    number = _number(connection, session, 0)
    node = _read(connection, number, seq)
    known = _numbers(connection, session, {parent for parent, _ in parents})
    _replace(connection, number, node, node._replace(parents=_packed(parents, known)))


def refill_nodes(connection: DatabaseConnection, session: str) -> None:
    """Computes the nodes of a session again, from its records."""
    nodes = list(derived_nodes(connection, session))
    if not nodes:
        return
    number = _number(connection, session, 0)
    for table in ("nodes", "families"):
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (number,))
    connection.execute("UPDATE shapes SET turns = ? WHERE number = ?", (len(nodes), number))
    _insert(connection, number, nodes)


def _number(connection: DatabaseConnection, session: str, more: int) -> int:
    """Returns the number that stands for a session, which has so many more turns."""
    query = "UPDATE shapes SET turns = turns + ? WHERE session = ? RETURNING number"
    known = connection.execute(query, (more, session)).fetchall()
    query = "INSERT INTO shapes (session, turns) VALUES (?, ?) RETURNING number"
    rows: list[Any] = known or connection.execute(query, (session, more)).fetchall()
    return int(rows[0][0])


def _numbers(connection: DatabaseConnection, session: str, turn_ids: Iterable[str]) -> dict[str, int]:
    """Returns the numbers of those turns that are stored in the session."""
    query = "SELECT seq FROM turns WHERE turn = ? AND session = ?"
    rows = ((turn, connection.execute(query, (uuid_bytes(turn), session)).fetchone()) for turn in turn_ids)
    return {turn: row[0] for turn, row in rows if row}


def _packed_above(turn: Turn, known: Mapping[str, int]) -> bytes:
    if len(turn.parents) == 1 and (seq := known.get(turn.parents[0].id)) is not None:  # as most turns
        return _PARENT.pack(seq, EDGE_BITS[turn.parents[0].type])
    return _packed([(parent.id, parent.type) for parent in turn.parents], known)


def _packed(parents: _Parents, known: Mapping[str, int]) -> bytes:
    bits: dict[int, int] = {}
    for parent, kind in parents:
        seq = known.get(parent)
        if seq is not None:
            bits[seq] = bits.get(seq, 0) | EDGE_BITS[kind]
    return b"".join([_PARENT.pack(*each) for each in sorted(bits.items())])


def _node(seq: int, turn: str, time: int, role: Role, parents: bytes, annotation: tuple[Any, ...] | None) -> TurnNode:
    if annotation is None:
        return TurnNode(seq, uuid_bytes(turn), time, _KINDS[role, PHASES[0]], None, None, None, parents)
    _, annotator, phase, salience, *fields = annotation
    rest = FIELDS.pack(*fields)
    return TurnNode(seq, uuid_bytes(turn), time, _KINDS[role, phase], salience + 0.0, rest, annotator, parents)


def _annotated(node: TurnNode, annotation: tuple[Any, ...]) -> TurnNode:
    _, annotator, phase, salience, *fields = annotation
    kind = _KINDS[TURN_KINDS[node.kind][0], phase]
    return node._replace(kind=kind, salience=salience + 0.0, fields=FIELDS.pack(*fields), annotator=annotator)


def _insert(connection: DatabaseConnection, session: int, nodes: Iterable[TurnNode]) -> None:
    rows = list(nodes)
    connection.executemany("INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [(session, *node) for node in rows])
    families = [(session, *row) for node in rows for row in node.families()]
    connection.executemany("INSERT INTO families VALUES (?, ?, ?, ?, ?, ?, ?)", families)


def _replace(connection: DatabaseConnection, session: int, old: TurnNode, new: TurnNode) -> None:
    connection.execute("DELETE FROM nodes WHERE session = ? AND seq = ?", (session, old.seq))
    query = "DELETE FROM families WHERE session = ? AND parent = ? AND phase = ? AND negated = ? AND turn = ?"
    connection.executemany(query, [(session, *row[:4]) for row in old.families()])
    _insert(connection, session, [new])


def _read(connection: DatabaseConnection, session: int, seq: int) -> TurnNode:
    query = f"SELECT {NODE_COLUMNS} FROM nodes WHERE session = ? AND seq = ?"
    return TurnNode._make(next(connection.execute(query, (session, seq))))


# Comparing with the records


def derived_differences(connection: DatabaseConnection, passed_over: Set[str]) -> Iterator[tuple[str, str, str]]:
    """Yields the differences between the derived tables and the records: name, expected value, found value."""
    known = " UNION ".join(f"SELECT session FROM {table}" for table in ("turns", "shapes"))
    sessions: list[Any] = connection.execute(f"{known} ORDER BY session").fetchall()
    for (session,) in sessions:
        if session not in passed_over:
            yield from _session_differences(connection, session)
    for table in ("nodes", "families"):
        query = f"SELECT count(*) FROM {table} WHERE session NOT IN (SELECT number FROM shapes)"
        (count,) = next(connection.execute(query))
        if count:
            yield table, "rows of known sessions", f"{count} others"
    if not passed_over:
        yield from _waiting_differences(connection)


def _session_differences(connection: DatabaseConnection, session: str) -> Iterator[tuple[str, str, str]]:
    wanted = {node.seq: node for node in derived_nodes(connection, session)}
    shape = connection.execute("SELECT turns, number FROM shapes WHERE session = ?", (session,)).fetchone()
    if (shape[0] if shape else None) != (len(wanted) or None):
        yield f"shape of {session}", f"{len(wanted)} turns", str(shape and shape[0])
    if shape is None:
        return
    families = {row for node in wanted.values() for row in node.families()}
    for table, expected in (("nodes", set(wanted.values())), ("families", families)):
        columns = NODE_COLUMNS if table == "nodes" else "parent, phase, negated, turn, seq, time"
        there = set(connection.execute(f"SELECT {columns} FROM {table} WHERE session = ?", shape[1:]))
        if there != expected:
            missing, others = len(expected - there), len(there - expected)
            yield f"{table} of {session}", f"{missing} that are missing", f"{others} others"


def differing_turns(connection: DatabaseConnection, session: str, numbers: Collection[int]) -> list[str]:
    """Returns those of these turns of a session whose rows in the derived tables do not follow from the records.

    It reads only these turns, with their links, the annotations of the session and the families that they are in.
    """
    these = f"seq IN ({', '.join(map(str, sorted(numbers)))})"
    rows: Any = connection.execute(
        f"SELECT seq, record FROM turns WHERE session = ? AND {these}", (session,)
    ).fetchall()
    records = {seq: read_turn(stored) for seq, stored in rows}
    wanted = {node.seq: node for node in _nodes_of(connection, session, records)}
    (number,) = connection.execute("SELECT number FROM shapes WHERE session = ?", (session,)).fetchone() or (0,)
    query = f"SELECT {NODE_COLUMNS} FROM nodes WHERE session = ? AND {these}"
    there: dict[int, Any] = {row[0]: row for row in connection.execute(query, (number,))}
    others = {seq for seq in numbers if wanted.get(seq) != there.get(seq)}

    families = {row for node in wanted.values() for row in node.families()}
    ids = {node.turn: node.seq for node in wanted.values()}
    query = "SELECT parent, phase, negated, turn, seq, time FROM families WHERE session = ? AND parent = ?"
    found = {
        row
        for parent in {row[0] for row in families} | wanted.keys()
        for row in connection.execute(query, (number, parent))
        if row[4] in wanted or row[3] in ids
    }
    for _, _, _, turn, seq, _ in families ^ found:
        others |= {seq, ids.get(turn, seq)}
    return sorted(records[seq].id for seq in others if seq in records)


def _nodes_of(connection: DatabaseConnection, session: str, records: Mapping[int, TurnRecord]) -> Iterator[TurnNode]:
    """Yields the nodes of these turns as they follow from their records, links and annotations."""
    ids = {record.id for record in records.values()}
    query = "SELECT record FROM annotations WHERE session = ? AND last >= ? AND first <= ? ORDER BY seq"
    newest: dict[str, tuple[Any, ...]] = {}
    for (stored,) in connection.execute(query, (session, min(records, default=0), max(records, default=0))):
        newest |= {row[0]: row for row in read_annotations(stored).rows(ids)}
    for seq, record in records.items():
        query = "SELECT record FROM links WHERE child = ?"
        links = [read_link(stored) for (stored,) in connection.execute(query, (uuid_bytes(record.id),))]
        parents = [*record.parents, *((link.parent, link.type) for link in links)]
        packed = _packed(parents, _numbers(connection, session, {parent for parent, _ in parents}))
        yield _node(seq, record.id, from_text(record.time), record.role, packed, newest.get(record.id))


class SessionLengths(NamedTuple):
    """How many rows the chains of a session have, of which its graph is made. They only grow."""

    turns: int
    links: int
    annotations: int


_COMPLETE: Final = SessionLengths(*[LARGEST_INTEGER] * 3)


def derived_nodes(connection: DatabaseConnection, session: str, at: SessionLengths = _COMPLETE) -> Iterator[TurnNode]:
    """Yields the nodes of a session as they follow from its records, or from the first ones of each chain."""

    def records(table: str, columns: str, most: int) -> Any:
        query = f"SELECT {columns} FROM {table} WHERE session = ? AND seq <= ? ORDER BY seq"
        return connection.execute(query, (session, most))

    turns = {}
    for seq, stored in records("turns", "seq, record", at.turns):
        record = read_turn(stored)
        turns[record.id] = seq, record, list(record.parents)
    for (stored,) in records("links", "record", at.links):
        link = read_link(stored)
        if link.child in turns:
            turns[link.child][2].append((link.parent, link.type))
    newest: dict[str, tuple[Any, ...]] = {}
    for (stored,) in records("annotations", "record", at.annotations):
        newest |= {row[0]: row for row in read_annotations(stored).rows(turns)}
    numbers = {turn: seq for turn, (seq, _, _) in turns.items()}
    for turn, (seq, record, parents) in turns.items():
        packed = _packed(parents, numbers)
        yield _node(seq, turn, from_text(record.time), record.role, packed, newest.get(turn))


def _waiting_differences(connection: DatabaseConnection) -> Iterator[tuple[str, str, str]]:
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
