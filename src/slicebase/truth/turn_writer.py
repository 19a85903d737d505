"""Adds turns, links and annotations to the truth, inside a transaction: decides what is new, and keeps what waits."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from slicebase.core.hashing import raw_digest
from slicebase.core.ids import uuid_bytes, uuid_of
from slicebase.graph.record import (
    AnnotationRecord,
    LinkRecord,
    annotation_bytes,
    content_bytes,
    link_bytes,
    record_bytes,
)
from slicebase.graph.session import COPY_FACT
from slicebase.graph.turn import Edge, Session, Turn
from slicebase.truth.chains import Chain, head_of
from slicebase.truth.connection import DatabaseConnection
from slicebase.truth.database import Database
from slicebase.truth.facts import append_facts
from slicebase.truth.nodes import annotate_nodes, link_node
from slicebase.truth.texts import keep_texts

if TYPE_CHECKING:
    from slicebase.truth.arrivals import Arrivals
    from slicebase.truth.turns import StoredTurn, Turns


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


class TurnWriter:
    """Adds turns to one session inside a transaction."""

    def __init__(
        self, turns: "Turns", database: Database, session: Session, arriving: "Arrivals | None" = None
    ) -> None:
        self._turns = turns
        self._database = database
        self._connection = database.connection
        self._session = session
        self._arriving = arriving
        self._above: dict[str, int] = {}  # the numbers of parents in the same session that are not added now
        self.numbers: dict[str, int] = {}  # the numbers of the added turns in their session

    def add(self, offered: list[Turn], stored_beside: int = 0) -> AddedTurns:
        """Adds those of some turns that are new. Beside these, so many are known to be stored."""
        arriving = self._arriving
        stored = self._turns.find(turn.id for turn in offered if arriving is None or not arriving.place(turn.id))
        new, known, conflicts = _classify(offered, stored)
        restated = tuple(edge for turn in known if turn.id in stored for edge in _restated(turn, stored[turn.id]))
        is_whole = bool(known) and not (new or conflicts)
        holder = _holder([stored[turn.id] for turn in known]) if is_whole else None
        self._keep_facts(is_copy=not new, holder=None if new or not offered else holder or "")
        count = len(known) + stored_beside
        if not new:
            return AddedTurns(known=count, conflicts=conflicts, restated=restated)
        awaited = _awaited(self._connection, new) if arriving is None else {}
        cycles = self._cut_cycles(new, awaited)
        edges, continues, waiting = self._resolve(new)
        self._insert(new)
        self._connection.executemany("DELETE FROM waiting WHERE parent = ?", [(uuid_bytes(turn),) for turn in awaited])
        joined = tuple(sorted({child for children in awaited.values() for child in children}))
        turns = tuple(new.values())
        return AddedTurns(turns, count, conflicts, edges, continues, waiting, cycles, joined, restated)

    @property
    def known(self) -> dict[str, int]:
        """The numbers of the added turns, and of their parents in the same session."""
        return {**self._above, **self.numbers}

    def _keep_facts(self, *, is_copy: bool, holder: str | None) -> None:
        """Keeps what is known about the session. `holder` is the session that has all turns of this batch, if one has.

        It is empty if none has, and None if some are new, or there are none.
        """
        newest = self._turns.newest_record(self._session.id)
        before = self._turns.session(self._session.id) if newest else None
        copied = None if holder is None or self._has_turns() else self._holder_of_all(holder, before)
        append_facts(self._database, self._session, newest, before, is_copy=is_copy, copied=copied)

    def _has_turns(self) -> bool:
        return head_of(self._connection, Chain("turns", self._session.id)).length > 0

    def _holder_of_all(self, holder: str, before: Session | None) -> str:
        """Returns the session that has the turns of this batch and of those before it; empty if none has all."""
        earlier = before.facts.get(COPY_FACT, holder) if before else holder
        if not (holder and earlier):
            return ""
        if self._goes_on_from(holder, earlier):
            return holder
        return earlier if self._goes_on_from(earlier, holder) else ""

    def _goes_on_from(self, session: str, other: str) -> bool:
        """Returns whether a session goes on from another, also by sessions between them, or is the same."""
        passed: set[str] = set()
        while session != other and session not in passed:
            passed.add(session)
            named = [parent for stored in self._turns.between(session, 1, 1) for parent, _ in stored.record.parents]
            homes = {stored.record.session for stored in self._turns.find(named).values()} - passed
            session = min(homes, default="")
        return session == other

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
        homes = self._homes({parent.id for turn in new.values() for parent in turn.parents} - new.keys())
        found = [homes.get(p.id, t.session if p.id in new else None) for t in new.values() for p in t.parents]
        waiting = [
            (uuid_bytes(parent.id), uuid_bytes(turn.id))
            for turn in new.values()
            for parent in turn.parents
            if parent.id not in homes and parent.id not in new
        ]
        self._connection.executemany("INSERT INTO waiting VALUES (?, ?) ON CONFLICT DO NOTHING", waiting)
        edges = found.count(self._session.id)
        return edges, len(found) - edges - len(waiting), len(waiting)

    def _homes(self, parents: Set[str]) -> dict[str, str]:
        """Returns the sessions of those parents that are stored or arriving, and keeps their numbers."""
        places: dict[str, tuple[str, int]] = {}
        if self._arriving is not None:
            places = {parent: place for parent in parents if (place := self._arriving.place(parent))}
        stored = self._turns.find(parents - places.keys())
        places |= {parent: (there.record.session, there.seq) for parent, there in stored.items()}
        self._above = {parent: seq for parent, (session, seq) in places.items() if session == self._session.id}
        return {parent: session for parent, (session, _) in places.items()}

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
    offered: list[Turn], stored: "Mapping[str, StoredTurn]"
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


def _holder(known: "list[StoredTurn]") -> str | None:
    """Returns the session that has all of some stored turns: as its own, or before its own.

    In a session that it goes on from, all turns are its own up to the last one that is above: results of calls that
    were made at once, for example, are beside the path.
    """
    last = known[-1].record
    by_id = {stored.record.id: stored.record for stored in known}
    above: set[str] = set()
    pending = [last.id]
    while pending:
        record = by_id.get(pending.pop())
        if record is not None and record.id not in above:
            above.add(record.id)
            pending += [parent for parent, _ in record.parents]
    ends: dict[str, int] = {}
    for seq, record in known:
        if record.id in above:
            ends[record.session] = max(seq, ends.get(record.session, 0))
    has_all = all(record.session == last.session or seq <= ends.get(record.session, 0) for seq, record in known)
    return last.session if has_all else None


def _restated(turn: Turn, stored: "StoredTurn") -> Iterator[Edge]:
    there = {parent for parent, _ in stored.record.parents}
    return (Edge(parent.id, turn.id, parent.type) for parent in turn.parents if parent.id not in there)


def _awaited(connection: DatabaseConnection, new: Iterable[str]) -> dict[str, list[str]]:
    """Returns the new turns that stored turns name as parents, each with the ids of those children."""
    if connection.execute("SELECT 1 FROM waiting LIMIT 1").fetchone() is None:
        return {}
    awaited = {}
    for turn_id in new:
        rows = connection.execute("SELECT child FROM waiting WHERE parent = ?", (uuid_bytes(turn_id),))
        if children := [uuid_of(child) for (child,) in rows]:
            awaited[turn_id] = children
    return awaited


def link_turns(turns: "Turns", database: Database, edges: list[Edge]) -> LinkedTurns:
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
            place_turn(turns, database, edge.child)
    inside = sum(child == parent for child, parent in added)
    waiting = sum(parent is None for _, parent in added)
    return LinkedTurns(inside, len(added) - inside - waiting, waiting, tuple(unknown), tuple(cycles))


def _insert_link(database: Database, edge: Edge, homes: Mapping[str, str]) -> None:
    session = homes[edge.child]
    record = link_bytes(LinkRecord(edge.child, edge.parent, session, edge.edge_type))
    database.append(Chain("links", session), [(uuid_bytes(edge.child), record)])
    if edge.parent not in homes:
        ends = (uuid_bytes(edge.parent), uuid_bytes(edge.child))
        database.connection.execute("INSERT INTO waiting VALUES (?, ?) ON CONFLICT DO NOTHING", ends)


def append_annotations(
    database: Database, annotations: AnnotationRecord, numbers: list[int], new: Container[str] = ()
) -> None:
    """Appends annotations of turns with these numbers, whose nodes get them, too; those of new turns have them."""
    row = (min(numbers), max(numbers), annotation_bytes(annotations))
    database.append(Chain("annotations", annotations.session), [row])
    annotate_nodes(database.connection, annotations, numbers, new)


def place_turn(turns: "Turns", database: Database, turn_id: str) -> None:
    """Updates the parents of a stored turn in the tables that slices read."""
    seq, record = turns.get(turn_id)
    link_node(database.connection, record.session, seq, turns.parents_of(turn_id))
