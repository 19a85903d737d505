"""Turns in the truth: they are added session by session, as importers read them, and found again."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from slicebase.core.ids import uuid_bytes
from slicebase.errors import SlicebaseError
from slicebase.graph.record import (
    AnnotationRecord,
    LinkRecord,
    SessionRecord,
    TurnRecord,
    read_annotations,
    read_link,
    read_session,
    read_session_record,
    read_turn,
)
from slicebase.graph.turn import Annotation, Edge, Session, Turn
from slicebase.truth.connection import DatabaseConnection
from slicebase.truth.database import Database
from slicebase.truth.failures import LostTurns, damaged
from slicebase.truth.texts import Texts

if TYPE_CHECKING:
    from slicebase.truth.arrivals import Arrivals
    from slicebase.truth.turn_writer import AddedTurns, Annotate, LinkedTurns

_LOOKUP = 500  # ids per query
_LAST = 2**63 - 1
_FEW = 8  # ids: up to this number, each is searched in the records; for more, all records are read


class StoredTurn(NamedTuple):
    """A turn's number in its session, and its record."""

    seq: int
    record: TurnRecord


class Turns:
    """The turns of a database, with their links and annotations."""

    def __init__(self, database: Database, texts: Texts) -> None:
        self._database = database
        self._texts = texts
        self.lost = LostTurns(database)

    @property
    def _connection(self) -> DatabaseConnection:
        return self._database.connection

    def add(
        self,
        session: Session,
        turns: Iterable[Turn],
        annotate: "Annotate | None" = None,
        arriving: "Arrivals | None" = None,
        *,
        known: int = 0,
    ) -> "AddedTurns":
        """Stores the turns of one session that are new, in one transaction with their annotations.

        `arriving` says which turns the caller's transaction adds before and after these.
        `known` is how many turns beside these the caller knows to be stored.
        """
        from slicebase.truth.nodes import keep_nodes  # imported here for a fast start: most commands only read
        from slicebase.truth.turn_writer import TurnWriter, append_annotations, place_turn

        with self._database.writing():
            writer = TurnWriter(self, self._database, session, arriving)
            added = writer.add(list(turns), known)
            records = list(annotate(added)) if annotate and added.turns else []
            keep_nodes(self._connection, session.id, added.turns, writer.known, records)
            for record in records:
                append_annotations(self._database, record, self._numbers(record, writer.numbers), writer.numbers)
            for child in added.joined:
                place_turn(self, self._database, child)
            return added

    def link(self, edges: Iterable[Edge]) -> "LinkedTurns":
        """Appends edges to stored turns. Skips an edge that is already stored."""
        from slicebase.truth.turn_writer import link_turns  # imported here for a fast start: most commands only read

        with self._database.writing():
            return link_turns(self, self._database, list(edges))

    def annotate(self, annotations: AnnotationRecord) -> None:
        """Appends annotations. The newest annotation of a turn counts (ruling 17)."""
        from slicebase.truth.turn_writer import (
            append_annotations,  # imported here for a fast start: most commands only read
        )

        with self._database.writing():
            append_annotations(self._database, annotations, self._numbers(annotations, {}))

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
            self.lost.refuse()
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

    def counts_of_all(self) -> dict[str, int]:
        """Returns the number of turns of every session, also of those without turns, by their names."""
        query = """
            SELECT DISTINCT sessions.session, coalesce(shapes.turns, 0) FROM sessions
            LEFT JOIN shapes ON shapes.session = sessions.session ORDER BY sessions.session"""
        return dict(self._connection.execute(query))

    def counts(self) -> dict[str, int]:
        """Returns the number of turns of every session."""
        return dict(self._connection.execute("SELECT session, turns FROM shapes"))

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
            raise damaged(f"session:{record.id} has lost its text")
        return read_session(stored.data)

    def of_session(self, session: str) -> Iterator[StoredTurn]:
        """Yields the turns of a session."""
        query = "SELECT seq, record FROM turns WHERE session = ? ORDER BY seq"
        for seq, record in self._connection.execute(query, (session,)):
            yield StoredTurn(seq, read_turn(record))

    def between(self, session: str, first: int, last: int) -> Iterator[StoredTurn]:
        """Yields the turns of a session with these numbers and those between them."""
        query = "SELECT seq, record FROM turns WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq"
        for seq, record in self._connection.execute(query, (session, first, last)):
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
        query = "SELECT record FROM turns WHERE session = ? AND instr(record, ?) > 0 ORDER BY seq"
        found = (row for turn in turn_ids for row in self._connection.execute(query, (session, turn.encode())))
        yield from {record.id: record for (row,) in found for record in (read_turn(row),)}.values()

    def system_turns(self) -> Iterator[TurnRecord]:
        """Yields the turns with the role `system` of every session."""
        query = """SELECT record FROM turns WHERE instr(record, '"role":"system"') > 0 ORDER BY session, seq"""
        for (record,) in self._connection.execute(query):
            yield read_turn(record)

    def links_of(self, session: str) -> Iterator[LinkRecord]:
        """Yields the links whose child is in a session."""
        query = "SELECT record FROM links WHERE session = ? ORDER BY seq"
        for (record,) in self._connection.execute(query, (session,)):
            yield read_link(record)

    def annotations_of(self, session: str, first: int = 0, last: int = _LAST) -> Iterator[AnnotationRecord]:
        """Yields the annotations of a session, oldest first; at least those of the turns with these numbers."""
        query = "SELECT record FROM annotations WHERE session = ? AND last >= ? AND first <= ? ORDER BY seq"
        for (record,) in self._connection.execute(query, (session, first, last)):
            yield read_annotations(record)

    def annotation_of(self, turn_id: str) -> Annotation:
        """Returns the newest annotation of a stored turn."""
        seq, record = self.get(turn_id)
        query = "SELECT record FROM annotations WHERE session = ? AND last >= ? AND first <= ? ORDER BY seq DESC"
        for (stored,) in self._connection.execute(query, (record.session, seq, seq)):
            for row in read_annotations(stored).rows((turn_id,)):
                return Annotation(*row)
        raise damaged(f"the turn {turn_id} has no annotation")

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


def _chunks(values: Iterable[bytes], size: int) -> Iterator[tuple[bytes, ...]]:
    remaining = iter(values)
    while chunk := tuple(islice(remaining, size)):
        yield chunk
