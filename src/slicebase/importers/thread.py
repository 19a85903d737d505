"""The builder of an importer: what it has read and not handed on yet.

One session being read: its records become turns, asides or faults, with ids, times and parents.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from msgspec import Struct

from slicebase.core.ids import is_uuid, turn_id
from slicebase.errors import SlicebaseError
from slicebase.graph.turn import Edge, Parent, Part, Role, Session, Turn
from slicebase.importers.blocks import Flag, as_name
from slicebase.importers.json_stream import Essence, RecordLine, fingerprint
from slicebase.importers.parents import ParentLinks
from slicebase.importers.times import Clock
from slicebase.importers.values import BATCH_BYTES, BATCH_TURNS, REASONS, Batch, Note


class BuilderState(Struct):
    """What a builder knows of sessions when nothing lies on it."""

    titles: dict[str, str]
    facts: dict[str, dict[str, Any]]
    sent: dict[str, Session]
    session: str | None


class BatchBuilder:
    """Gathers turns, counts and notes, and hands them on as bounded batches, one session each."""

    def __init__(self, format_name: str) -> None:
        self.format = format_name
        self._session: str | None = None
        self._titles: dict[str, str] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        self._sent: dict[str, Session] = {}  # what was handed on of each session
        self._clear()

    def _clear(self) -> None:
        self._turns: list[Turn] = []
        self._links: list[Edge] = []
        self._others: Counter[str] = Counter()
        self._notes: list[Note] = []
        self._records = 0
        self._bytes = 0

    @property
    def state(self) -> BuilderState:
        return BuilderState(self._titles, self._facts, self._sent, self._session)

    def go_on(self, state: BuilderState) -> None:
        self._titles, self._facts, self._sent, self._session = state.titles, state.facts, state.sent, state.session

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
        for session in sessions or tuple(self._sent):
            told = self._sent.pop(session, None)
            if told is not None and told != (known := self._described(session)):
                yield Batch(known)
            self._sent.pop(session, None)
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
        self._sent[session] = known
        return known


Handle = Callable[[dict[str, Any], RecordLine], Iterator[Batch]]


def read_records(builder: BatchBuilder, lines: Iterable[RecordLine], handle: Handle) -> Iterator[Batch]:
    """For sources whose lines are records: counts each, and hands those that are objects to `handle`."""
    for line in lines:
        builder.record(line.size)
        if _is_sound(builder, line):
            yield from handle(line.piece.value, line)
        yield from builder.relieve()


def read_sessions(builder: BatchBuilder, lines: Iterable[RecordLine], handle: Handle) -> Iterator[Batch]:
    """For sources whose lines hold whole conversations: `handle` counts the records inside."""
    for line in lines:
        if line.kind is not None or line.piece.problem is not None or not isinstance(line.piece.value, dict):
            builder.record(line.size)
        if _is_sound(builder, line):
            yield from handle(line.piece.value, line)
        yield from builder.relieve()


def _is_sound(builder: BatchBuilder, line: RecordLine) -> bool:
    value, repairs, problem, detail = line.piece
    if line.kind is not None:
        builder.other(line.kind)
    elif problem is not None:
        builder.skip(problem, line.where, detail)
    elif not isinstance(value, dict):
        builder.skip("not-object", line.where)
    else:
        for reason in repairs:
            builder.note(reason, line.where)
        return True
    return False


Record = dict[str, Any]


class After(NamedTuple):
    """In place of a parent: the turn before it in its session."""


LAST: Final = After()


class TurnDraft(NamedTuple):
    """The turn in a record, in the source's own ids."""

    role: Role
    parts: tuple[Part, ...]
    source_id: Any = None
    parent: Any = LAST
    references: tuple[Any, ...] = ()
    time: Any = None
    source_hash: str | None = None  # where the record carries one, as our own exports do
    given: tuple[Parent, ...] | None = None  # parents with their types, instead of `parent` and `references`


class Aside(NamedTuple):
    """A record that is known to be no turn. What hangs on it hangs on its parent."""

    kind: str
    source_id: Any = None
    parent: Any = None


class Fault(NamedTuple):
    """A record that should be a turn and cannot be."""

    reason: str
    detail: str = ""
    source_id: Any = None
    parent: Any = None
    lost: bool = True


Build = Callable[[Record, Flag], TurnDraft | Aside | Fault]


class ThreadState(Struct):
    """What a thread knows, besides what it shares with the others of its file."""

    last: str | None
    hashes: dict[str, str]
    position: int


class Thread:
    """The records of one session in the source's order.

    Threads of one file may share its clock, its links, the ids that are no UUIDs, and the calls without a result.
    """

    def __init__(
        self,
        builder: BatchBuilder,
        session: str,
        *,
        clock: Clock | None = None,
        links: ParentLinks | None = None,
        ids: dict[str, str] | None = None,
        calls: dict[str, str] | None = None,
    ) -> None:
        self.builder = builder
        self.session = session
        self.clock = clock or Clock()
        self.links = ParentLinks() if links is None else links
        self.last: str | None = None
        self._ids = {} if ids is None else ids  # turn ids of source ids that are no UUIDs
        self._hashes: dict[str, str] = {}  # of turns with such an id
        self._calls = {} if calls is None else calls  # of each tool call without a result yet: its turn
        self._position = -1

    @property
    def state(self) -> ThreadState:
        return ThreadState(self.last, self._hashes, self._position)

    def go_on(self, state: ThreadState) -> None:
        self.last, self._hashes, self._position = state.last, state.hashes, state.position

    def admit(self, record: Record, where: str, essence: Essence, build: Build) -> Iterator[Batch]:
        """Takes a record that the builder has counted. Its source hash is over its essence (ruling 15)."""
        self._position += 1
        try:
            record, source_hash, repairs = fingerprint(record, essence)
        except SlicebaseError as error:
            self.builder.skip("no-canonical-form", where, error.message)
            return
        for reason in repairs:
            self.builder.note(reason, where)
        drafted = build(record, lambda reason, detail: self.builder.note(reason, where, detail))
        if isinstance(drafted, TurnDraft):
            yield from self.builder.turn(self._turn(drafted, drafted.source_hash or source_hash, where))
            return
        if isinstance(drafted, Aside):
            self.pass_by(drafted)
            return
        self._bridge(drafted)
        self.builder.skip(drafted.reason, where, drafted.detail, lost=drafted.lost)

    def pass_by(self, aside: Aside) -> None:
        self._bridge(aside)
        self.builder.other(aside.kind)

    def id_of(self, source_id: Any) -> str | None:
        """The turn id of a source's id, which may stand elsewhere or nowhere (ruling 16)."""
        if isinstance(source_id, int) and not isinstance(source_id, bool):
            source_id = str(source_id)
        known = as_name(source_id)
        if known is None:
            return None
        if is_uuid(known):
            return known.lower()
        return self._ids.get(known) or turn_id(self.builder.format, self.session, known)

    def _turn(self, draft: TurnDraft, source_hash: str, where: str) -> Turn:
        turn = self._own_id(draft.source_id, source_hash, where)
        time, guessed = self.clock.read(draft.time)
        if guessed:
            self.builder.note("no-time", where)
        parents, dropped = self._joined(turn, draft)
        for closing in dropped:
            self.builder.note("cycle", where, closing)
        self.last = turn
        self._calls.update((part.call_id, turn) for part in draft.parts if part.type == "tool_call" and part.call_id)
        return Turn(turn, self.session, draft.role, draft.parts, time, parents, source_hash)

    def _joined(self, turn: str, draft: TurnDraft) -> tuple[tuple[Parent, ...], list[str]]:
        if draft.given is not None:
            return self.links.adopt(turn, draft.given)
        parent = self.last if draft.parent is LAST else self.id_of(draft.parent)
        return self.links.join(turn, parent, [*self._known(draft.references), *self._called(draft.parts)])

    def _called(self, parts: Iterable[Part]) -> list[str]:
        """The turns of the calls whose results these are: a result names its call, whatever it hangs on."""
        results = (part.call_id for part in parts if part.type == "tool_result" and part.call_id)
        return [turn for call in results if (turn := self._calls.pop(call, None)) is not None]

    def _known(self, source_ids: Iterable[Any]) -> list[str]:
        return [known for source_id in source_ids if (known := self.id_of(source_id)) is not None]

    def _own_id(self, source_id: Any, source_hash: str, where: str) -> str:
        own = self.id_of(source_id)
        if own is None:
            return turn_id(self.builder.format, self.session, self._position)
        if not is_uuid(str(source_id)):
            if self._hashes.setdefault(own, source_hash) != source_hash:
                self.builder.note("repeated-id", where, str(source_id)[:100])
                return turn_id(self.builder.format, self.session, self._position)
            self._ids.setdefault(str(source_id), own)
        return own

    def _bridge(self, aside: Aside | Fault) -> None:
        own = self.id_of(aside.source_id)
        if own is not None:
            for edge in self.links.bridge(own, self.id_of(aside.parent)):
                self.builder.link(edge)
