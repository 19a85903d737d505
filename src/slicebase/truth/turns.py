"""Turns in the truth: they are added session by session, as importers read them, and found again."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import apsw
from msgspec.structs import replace

from slicebase.core.hashing import raw_digest
from slicebase.core.ids import uuid_bytes, uuid_of
from slicebase.errors import SlicebaseError
from slicebase.graph.record import (
    AnnotationRecord,
    LinkRecord,
    SessionRecord,
    TurnRecord,
    annotation_bytes,
    content_bytes,
    link_bytes,
    read_annotations,
    read_link,
    read_session,
    read_session_record,
    read_turn,
    record_bytes,
)
from slicebase.graph.turn import Annotation, Edge, Session, Turn
from slicebase.truth.chains import Chain, head_of
from slicebase.truth.database import Database
from slicebase.truth.facts import append_facts
from slicebase.truth.nodes import annotate_nodes, keep_nodes, link_node
from slicebase.truth.texts import Texts, keep_texts

_LOOKUP = 500  # ids per query
_FEW = 8  # ids: up to this number, each is searched in the records; for more, all records are read


class StoredTurn(NamedTuple):
    """A turn's number in its session, and its record."""

    seq: int
    record: TurnRecord


class AddedTurns(NamedTuple):
    """The result of adding a batch of turns."""

    turns: tuple[Turn, ...] = ()  # stored by this call
    known: int = 0  # stored before, from the same source record
    conflicts: tuple[str, ...] = ()  # stored before, from another source record: the first stays (ruling 15)
    edges: int = 0
    continues: int = 0
    waiting: int = 0  # edges whose parent has not arrived
    cycles: tuple[tuple[str, str], ...] = ()  # (child, parent) of edges left out because they close a cycle
    joined: tuple[str, ...] = ()  # stored turns whose parent arrived with this batch
    restated: tuple[Edge, ...] = ()  # parents of known turns that their stored records do not name


class LinkedTurns(NamedTuple):
    """The result of adding edges that are not in the record of their child."""

    edges: int = 0
    continues: int = 0
    waiting: int = 0  # the parent is not stored
    unknown: tuple[Edge, ...] = ()  # the child is not stored
    cycles: tuple[tuple[str, str], ...] = ()


Annotate = Callable[[AddedTurns], Iterable[AnnotationRecord]]


class Turns:
    """The turns of a database, with their links and annotations."""

    def __init__(self, database: Database, texts: Texts) -> None:
        self._database = database
        self._texts = texts

    @property
    def _connection(self) -> apsw.Connection:
        return self._database.connection

    def add(self, session: Session, turns: Iterable[Turn], annotate: Annotate | None = None) -> AddedTurns:
        """Stores the turns of one session that are new, in one transaction with their annotations."""
        with self._database.writing():
            writer = _TurnWriter(self, self._database, session)
            added = writer.add(list(turns))
            records = list(annotate(added)) if annotate and added.turns else []
            keep_nodes(self._connection, session.id, added.turns, writer.numbers, records)
            for record in records:
                self._annotate(record, writer.numbers)
            for child in added.joined:
                self.place(child)
            return added

    def link(self, edges: Iterable[Edge]) -> LinkedTurns:
        """Appends edges to stored turns. Skips an edge that is already stored."""
        with self._database.writing():
            return _link(self, self._database, list(edges))

    def annotate(self, annotations: AnnotationRecord) -> None:
        """Appends annotations. The newest annotation of a turn counts (ruling 17)."""
        with self._database.writing():
            self._annotate(annotations, {})

    def _annotate(self, annotations: AnnotationRecord, new: Mapping[str, int]) -> None:
        numbers = self._numbers(annotations, new)
        row = (min(numbers), max(numbers), annotation_bytes(annotations))
        self._database.append(Chain("annotations", annotations.session), [row])
        annotate_nodes(self._connection, annotations, numbers, new)

    def place(self, turn_id: str) -> None:
        """Updates the parents of a stored turn in the tables that slices read."""
        seq, record = self.get(turn_id)
        link_node(self._connection, record.session, seq, self.parents_of(turn_id))

    def _numbers(self, annotations: AnnotationRecord, known: Mapping[str, int]) -> list[int]:
        """Returns the numbers of the annotated turns in their session."""
        missing = [turn_id for turn_id in annotations.turns if turn_id not in known]
        found = {turn_id: stored.seq for turn_id, stored in self.find(missing).items()} if missing else {}
        return [known[turn_id] if turn_id in known else found[turn_id] for turn_id in annotations.turns]

    def find(self, turn_ids: Iterable[str]) -> dict[str, StoredTurn]:
        """Returns those of these turns that are stored, by id."""
        found: dict[str, StoredTurn] = {}
        for chunk in _chunks(map(uuid_bytes, turn_ids), _LOOKUP):
            marks = ",".join("?" * len(chunk))
            for seq, record in self._connection.execute(
                f"SELECT seq, record FROM turns WHERE turn IN ({marks})", chunk
            ):
                stored = StoredTurn(seq, read_turn(record))
                found.setdefault(stored.record.id, stored)
        return found

    def get(self, turn_id: str) -> StoredTurn:
        """Returns a stored turn. Raises `no-turn` where it is not stored."""
        stored = self.find([turn_id]).get(turn_id)
        if stored is None:
            raise SlicebaseError("no-turn", f"there is no turn {turn_id}", hint="`tt turns` lists what is stored")
        return stored

    def sessions(self) -> Iterator[tuple[Session, int]]:
        """Yields every session with the number of its turns."""
        query = """
            SELECT newest.record, coalesce(shapes.turns, 0) FROM sessions AS newest
            LEFT JOIN shapes ON shapes.session = newest.session
            WHERE newest.seq = (SELECT max(seq) FROM sessions WHERE session = newest.session)
            ORDER BY newest.session"""
        for record, count in self._connection.execute(query):
            yield self._with_facts(read_session_record(record)), count

    def names(self, beginning: str) -> list[str]:
        """Returns the names of the sessions that begin with a text."""
        query = "SELECT DISTINCT session FROM sessions WHERE session >= ? AND session < ? ORDER BY session"
        after = beginning[:-1] + chr(ord(beginning[-1]) + 1)
        return [name for (name,) in self._connection.execute(query, (beginning, after))]

    def session(self, session: str) -> Session:
        """Returns what is known about a session. Raises `no-session` where it is not stored."""
        record = self.newest_record(session)
        if record is None:
            raise SlicebaseError("no-session", f"there is no session {session!r}", hint="`tt turns` lists them")
        return self._with_facts(record)

    def newest_record(self, session: str) -> SessionRecord | None:
        """Returns the newest record of a session, or None where it is not stored."""
        query = "SELECT record FROM sessions WHERE session = ? ORDER BY seq DESC LIMIT 1"
        row = self._connection.execute(query, (session,)).fetchone()
        return read_session_record(row[0]) if row else None

    def records_of(self, session: str) -> Iterator[SessionRecord]:
        """Yields all records of a session, oldest first."""
        query = "SELECT record FROM sessions WHERE session = ? ORDER BY seq"
        for (record,) in self._connection.execute(query, (session,)):
            yield read_session_record(record)

    def _with_facts(self, record: SessionRecord) -> Session:
        """Returns a session with its title and facts; of a purged one, with what is left of them."""
        stored = self._texts.get(f"session:{record.id}", record.content_hash)
        if stored is None or stored.data is None:
            hint = "`tt verify` says what else is wrong"
            raise SlicebaseError("database-damaged", f"session:{record.id} has lost its text", hint=hint)
        return read_session(stored.data)

    def of_session(self, session: str) -> Iterator[StoredTurn]:
        """Yields the turns of a session."""
        query = "SELECT seq, record FROM turns WHERE session = ? ORDER BY seq"
        for seq, record in self._connection.execute(query, (session,)):
            yield StoredTurn(seq, read_turn(record))

    def last_of(self, session: str) -> str | None:
        """Returns the id of the turn of a session that was stored last."""
        query = "SELECT record FROM turns WHERE session = ? ORDER BY seq DESC LIMIT 1"
        row = self._connection.execute(query, (session,)).fetchone()
        return read_turn(row[0]).id if row else None

    def mentioning(self, session: str, turn_ids: Collection[str]) -> Iterator[TurnRecord]:
        """Yields at least the turns of a session whose records contain one of these ids. For many ids, yields all."""
        if len(turn_ids) > _FEW:
            yield from (stored.record for stored in self.of_session(session))
            return
        query = "SELECT record FROM turns WHERE session = ? AND instr(record, ?) ORDER BY seq"
        found = (row for turn in turn_ids for row in self._connection.execute(query, (session, turn.encode())))
        yield from {record.id: record for (row,) in found for record in (read_turn(row),)}.values()

    def system_turns(self) -> Iterator[TurnRecord]:
        """Yields the turns with the role `system` of every session."""
        query = """SELECT record FROM turns WHERE instr(record, '"role":"system"') ORDER BY session, seq"""
        for (record,) in self._connection.execute(query):
            yield read_turn(record)

    def links_of(self, session: str) -> Iterator[LinkRecord]:
        """Yields the links whose child is in a session."""
        query = "SELECT record FROM links WHERE session = ? ORDER BY seq"
        for (record,) in self._connection.execute(query, (session,)):
            yield read_link(record)

    def annotations_of(self, session: str) -> Iterator[AnnotationRecord]:
        """Yields the annotations of a session, oldest first."""
        query = "SELECT record FROM annotations WHERE session = ? ORDER BY seq"
        for (record,) in self._connection.execute(query, (session,)):
            yield read_annotations(record)

    def annotation_of(self, turn_id: str) -> Annotation:
        """Returns the newest annotation of a stored turn."""
        seq, record = self.get(turn_id)
        query = "SELECT record FROM annotations WHERE session = ? AND last >= ? AND first <= ? ORDER BY seq DESC"
        for (stored,) in self._connection.execute(query, (record.session, seq, seq)):
            for row in read_annotations(stored).rows((turn_id,)):
                return Annotation(*row)
        raise SlicebaseError("database-damaged", f"the turn {turn_id} has no annotation")

    def parents_of(self, turn_id: str) -> set[tuple[str, str]]:
        """Returns the parents and edge types of a turn, from its record and from links; empty if it is not stored."""
        stored = self.find([turn_id]).get(turn_id)
        if stored is None:
            return set()
        query = "SELECT record FROM links WHERE child = ?"
        links = (read_link(record) for (record,) in self._connection.execute(query, (uuid_bytes(turn_id),)))
        return {*stored.record.parents, *((link.parent, link.type) for link in links)}

    def descends(self, turn_id: str, ancestor: str, new: Mapping[str, Turn]) -> bool:
        """Returns whether `ancestor` is the turn or an ancestor of it, through stored turns and these new ones."""
        seen: set[str] = set()
        pending = [turn_id]
        while pending:
            current = pending.pop()
            if current == ancestor:
                return True
            if current not in seen:
                seen.add(current)
                turn = new.get(current)
                pending += [p.id for p in turn.parents] if turn else [parent for parent, _ in self.parents_of(current)]
        return False


class _TurnWriter:
    """Adds turns to one session inside a transaction."""

    def __init__(self, turns: Turns, database: Database, session: Session) -> None:
        self._turns = turns
        self._database = database
        self._connection = database.connection
        self._session = session
        self.numbers: dict[str, int] = {}  # the numbers of the added turns in their session

    def add(self, offered: list[Turn]) -> AddedTurns:
        stored = self._turns.find(turn.id for turn in offered)
        new, known, conflicts = _classify(offered, stored)
        restated = tuple(edge for turn in known if turn.id in stored for edge in _restated(turn, stored[turn.id]))
        self._keep_facts()
        if not new:
            return AddedTurns(known=len(known), conflicts=conflicts, restated=restated)
        awaited = _awaited(self._connection, new)
        cycles = self._cut_cycles(new, awaited)
        edges, continues, waiting = self._resolve(new)
        self._insert(new)
        self._connection.executemany("DELETE FROM waiting WHERE parent = ?", [(uuid_bytes(turn),) for turn in awaited])
        joined = tuple(sorted({child for children in awaited.values() for child in children}))
        return AddedTurns(
            tuple(new.values()), len(known), conflicts, edges, continues, waiting, cycles, joined, restated
        )

    def _keep_facts(self) -> None:
        newest = self._turns.newest_record(self._session.id)
        before = self._turns.session(self._session.id) if newest else None
        append_facts(self._database, self._session, newest, before)

    def _cut_cycles(self, new: dict[str, Turn], awaited: Mapping[str, list[str]]) -> tuple[tuple[str, str], ...]:
        """Removes the parents that would make an awaited turn its own ancestor (ruling 14). Returns those edges."""
        cycles = []
        for turn_id in awaited:
            turn = new[turn_id]
            closing = [parent for parent in turn.parents if self._turns.descends(parent.id, turn_id, new)]
            if closing:
                cycles += [(turn_id, parent.id) for parent in closing]
                kept = tuple(parent for parent in turn.parents if parent not in closing)
                new[turn_id] = replace(turn, parents=kept)
        return tuple(cycles)

    def _resolve(self, new: Mapping[str, Turn]) -> tuple[int, int, int]:
        """Returns the numbers of edges, of `continues`, and of edges whose parent is missing, which it records."""
        stored = self._turns.find({parent.id for turn in new.values() for parent in turn.parents} - new.keys())
        homes = {turn_id: there.record.session for turn_id, there in stored.items()}
        found = [homes.get(p.id, t.session if p.id in new else None) for t in new.values() for p in t.parents]
        waiting = [
            (uuid_bytes(parent.id), uuid_bytes(turn.id))
            for turn in new.values()
            for parent in turn.parents
            if parent.id not in homes and parent.id not in new
        ]
        self._connection.executemany("INSERT OR IGNORE INTO waiting VALUES (?, ?)", waiting)
        edges = found.count(self._session.id)
        return edges, len(found) - edges - len(waiting), len(waiting)

    def _insert(self, new: Mapping[str, Turn]) -> None:
        """Writes the records and the contents of new turns."""
        chain = Chain("turns", self._session.id)
        first = head_of(self._connection, chain).length + 1
        self.numbers = {turn_id: seq for seq, turn_id in enumerate(new, first)}
        rows, texts = [], {}
        for turn in new.values():
            text = content_bytes(turn.role, turn.parts)
            text_hash = raw_digest(text)
            rows.append((uuid_bytes(turn.id), record_bytes(turn, "sha256:" + text_hash.hex())))
            texts[text_hash] = text
        self._database.append(chain, rows)
        keep_texts(self._connection, f"session:{self._session.id}", texts)


def _classify(
    offered: list[Turn], stored: Mapping[str, StoredTurn]
) -> tuple[dict[str, Turn], list[Turn], tuple[str, ...]]:
    """Returns the new turns, the known turns, and the ids of turns that differ from the stored ones."""
    new: dict[str, Turn] = {}
    known: list[Turn] = []
    conflicts = []
    for turn in offered:
        there = stored[turn.id].record if turn.id in stored else new.get(turn.id)
        if there is None:
            new[turn.id] = turn
        elif there.source_hash == turn.source_hash:
            known.append(turn)
        else:
            conflicts.append(turn.id)
    return new, known, tuple(conflicts)


def _restated(turn: Turn, stored: StoredTurn) -> Iterator[Edge]:
    there = {parent for parent, _ in stored.record.parents}
    return (Edge(parent.id, turn.id, parent.type) for parent in turn.parents if parent.id not in there)


def _awaited(connection: apsw.Connection, new: Iterable[str]) -> dict[str, list[str]]:
    """Returns the new turns that stored turns name as parents, each with the ids of those children."""
    if connection.execute("SELECT 1 FROM waiting LIMIT 1").fetchone() is None:
        return {}
    awaited = {}
    for turn_id in new:
        rows = connection.execute("SELECT child FROM waiting WHERE parent = ?", (uuid_bytes(turn_id),))
        if children := [uuid_of(child) for (child,) in rows]:
            awaited[turn_id] = children
    return awaited


def _link(turns: Turns, database: Database, edges: list[Edge]) -> LinkedTurns:
    stored = turns.find({end for edge in edges for end in (edge.child, edge.parent)})
    homes = {turn_id: there.record.session for turn_id, there in stored.items()}
    added, unknown, cycles = [], [], []
    for edge in edges:
        if edge.child not in homes:
            unknown.append(edge)
        elif (edge.parent, edge.edge_type) in turns.parents_of(edge.child):
            continue
        elif turns.descends(edge.parent, edge.child, {}):
            cycles.append((edge.child, edge.parent))
        else:
            _insert_link(database, edge, homes)
            added.append((homes[edge.child], homes.get(edge.parent)))
            turns.place(edge.child)
    inside = sum(child == parent for child, parent in added)
    waiting = sum(parent is None for _, parent in added)
    return LinkedTurns(inside, len(added) - inside - waiting, waiting, tuple(unknown), tuple(cycles))


def _insert_link(database: Database, edge: Edge, homes: Mapping[str, str]) -> None:
    session = homes[edge.child]
    record = link_bytes(LinkRecord(edge.child, edge.parent, session, edge.edge_type))
    database.append(Chain("links", session), [(uuid_bytes(edge.child), record)])
    if edge.parent not in homes:
        ends = (uuid_bytes(edge.parent), uuid_bytes(edge.child))
        database.connection.execute("INSERT OR IGNORE INTO waiting VALUES (?, ?)", ends)


def _chunks(values: Iterable[bytes], size: int) -> Iterator[tuple[bytes, ...]]:
    remaining = iter(values)
    while chunk := tuple(islice(remaining, size)):
        yield chunk
