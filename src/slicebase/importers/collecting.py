"""The desk of an importer: what it has read and not handed on yet."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from slicebase.graph.turn import Edge, Session, Turn
from slicebase.importers.jsonlines import Line
from slicebase.importers.values import BATCH_BYTES, BATCH_TURNS, REASONS, Batch, Note


class DeskState(Struct):
    """What a desk knows of sessions when nothing lies on it."""

    titles: dict[str, str]
    facts: dict[str, dict[str, Any]]
    told: dict[str, Session]
    session: str | None


class Desk:
    """Gathers turns, counts and notes, and hands them on as bounded batches, one session each."""

    def __init__(self, format_name: str) -> None:
        self.format = format_name
        self._session: str | None = None
        self._titles: dict[str, str] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        self._told: dict[str, Session] = {}  # what was handed on of each session
        self._clear()

    def _clear(self) -> None:
        self._turns: list[Turn] = []
        self._links: list[Edge] = []
        self._others: Counter[str] = Counter()
        self._notes: list[Note] = []
        self._records = 0
        self._bytes = 0

    @property
    def state(self) -> DeskState:
        return DeskState(self._titles, self._facts, self._told, self._session)

    def go_on(self, state: DeskState) -> None:
        self._titles, self._facts, self._told, self._session = state.titles, state.facts, state.told, state.session

    def record(self, size: int = 0) -> None:
        """A record was read. It must end as one turn, one `other`, or one note that says skipped."""
        self._records += 1
        self._bytes += size

    def other(self, kind: str) -> None:
        self._others[kind] += 1

    def note(self, reason: str, where: str, detail: str = "", *, lost: bool = False) -> None:
        self._notes.append(Note(REASONS[reason].action, reason, where, detail, lost))

    def skip(self, reason: str, where: str, detail: str = "", *, lost: bool = True) -> None:
        self.note(reason, where, detail, lost=lost)

    def link(self, edge: Edge) -> None:
        self._links.append(edge)

    def title(self, session: str, title: str) -> None:
        self._titles[session] = title

    def facts(self, session: str) -> dict[str, Any]:
        """What is known of a session, to be written to."""
        return self._facts.setdefault(session, {})

    def turn(self, turn: Turn) -> Iterator[Batch]:
        """Takes a turn; yields the batch before it where that is full or of another session."""
        if turn.session != self._session:
            yield from self._flush_turns()
            self._session = turn.session
        self._turns.append(turn)
        if len(self._turns) >= BATCH_TURNS or self._bytes >= BATCH_BYTES:
            yield self._batch()

    def relieve(self) -> Iterator[Batch]:
        """Hands on counts and notes of a source that holds many records and few turns."""
        if len(self._notes) >= BATCH_TURNS or self._bytes >= BATCH_BYTES:
            yield self._batch()

    def flush(self) -> Iterator[Batch]:
        """Everything that lies here."""
        if self._turns or self._records or self._notes or self._links:
            yield self._batch()

    def close(self, *sessions: str) -> Iterator[Batch]:
        """Everything that is left, and what was learnt of sessions (all, unless named) after their last batch."""
        yield from self.flush()
        for session in sessions or tuple(self._told):
            told = self._told.pop(session, None)
            if told is not None and told != (known := self._described(session)):
                yield Batch(known)
            self._told.pop(session, None)
            self._titles.pop(session, None)
            self._facts.pop(session, None)
        self._session = None

    def _flush_turns(self) -> Iterator[Batch]:
        if self._turns:
            yield self._batch()

    def _batch(self) -> Batch:
        session = self._session if self._turns else None
        batch = Batch(
            session=None if session is None else self._described(session),
            turns=tuple(self._turns),
            links=tuple(self._links),
            records=self._records,
            others=dict(self._others),
            notes=tuple(self._notes),
        )
        self._clear()
        return batch

    def _described(self, session: str) -> Session:
        known = Session(session, self.format, self._titles.get(session), dict(self._facts.get(session, {})))
        self._told[session] = known
        return known


Handle = Callable[[dict[str, Any], Line], Iterator[Batch]]


def read_records(desk: Desk, lines: Iterable[Line], handle: Handle) -> Iterator[Batch]:
    """For sources whose lines are records: counts each, and hands those that are objects to `handle`."""
    for line in lines:
        desk.record(line.size)
        if _is_sound(desk, line):
            yield from handle(line.piece.value, line)
        yield from desk.relieve()


def read_sessions(desk: Desk, lines: Iterable[Line], handle: Handle) -> Iterator[Batch]:
    """For sources whose lines hold whole conversations: `handle` counts the records inside."""
    for line in lines:
        if line.kind is not None or line.piece.problem is not None or not isinstance(line.piece.value, dict):
            desk.record(line.size)
        if _is_sound(desk, line):
            yield from handle(line.piece.value, line)
        yield from desk.relieve()


def _is_sound(desk: Desk, line: Line) -> bool:
    value, repairs, problem, detail = line.piece
    if line.kind is not None:
        desk.other(line.kind)
    elif problem is not None:
        desk.skip(problem, line.where, detail)
    elif not isinstance(value, dict):
        desk.skip("not-object", line.where)
    else:
        for reason in repairs:
            desk.note(reason, line.where)
        return True
    return False
