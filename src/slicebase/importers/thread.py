"""From records to turns: a `Thread` makes turns of the records of a session, which a `BatchBuilder` collects.

A thread gives turns their ids, times and parents. A record that does not become a turn is a `NonTurn` or a `Fault`.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, Final, NamedTuple

from msgspec import Struct

from slicebase.core.ids import is_uuid, turn_id
from slicebase.errors import SlicebaseError
from slicebase.graph.turn import Parent, Part, Role, Turn
from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import Flag, as_name
from slicebase.importers.json_stream import Essence, RecordLine, fingerprint
from slicebase.importers.parents import ParentLinks
from slicebase.importers.seen import KeyedMessage, SeenMessage, SeenTurn
from slicebase.importers.times import SourceClock
from slicebase.importers.values import Batch

# Lines

SourceRecord = dict[str, Any]
Handle = Callable[[SourceRecord, RecordLine], Iterator[Batch]]


def read_records(builder: BatchBuilder, lines: Iterable[RecordLine], handle: Handle) -> Iterator[Batch]:
    """Reads a source whose lines are records: counts each line, and calls `handle` for those that are objects."""
    for line in lines:
        builder.record(line.size)
        if _is_sound(builder, line):
            yield from _handled(builder, line, handle)
        yield from builder.flush_if_full()


def read_sessions(builder: BatchBuilder, lines: Iterable[RecordLine], handle: Handle) -> Iterator[Batch]:
    """Reads a source whose lines are complete conversations: `handle` counts the records in them."""
    for line in lines:
        if line.kind is not None or line.piece.problem is not None or not isinstance(line.piece.value, dict):
            builder.record(line.size)
        if _is_sound(builder, line):
            yield from _handled(builder, line, handle)
        yield from builder.flush_if_full()


def _handled(builder: BatchBuilder, line: RecordLine, handle: Handle) -> Iterator[Batch]:
    """Calls `handle`. An error that it does not expect costs this record alone, and is reported with its place."""
    try:
        yield from handle(line.piece.value, line)
    except Exception as error:
        builder.give_up(line.where, error)


def _is_sound(builder: BatchBuilder, line: RecordLine) -> bool:
    """Returns whether a line holds an object, and reports lines that do not, and repairs."""
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


# Sessions


class After(NamedTuple):
    """The type of `LAST`, which stands for a parent: the turn before it in its session."""


LAST: Final = After()


class TurnDraft(NamedTuple):
    """The turn in a record, with the source's own ids."""

    role: Role
    parts: tuple[Part, ...]
    source_id: Any = None
    parent: Any = LAST
    references: tuple[Any, ...] = ()
    time: Any = None
    source_hash: str | None = None  # if the record has one, as our own exports do
    given: tuple[Parent, ...] | None = None  # parents with their types, instead of `parent` and `references`
    is_assumed: bool = False  # the record names no parent, though another copy of it does


class NonTurn(NamedTuple):
    """A record that is known not to be a turn. Its children become children of its parent."""

    kind: str
    source_id: Any = None
    parent: Any = None


class Fault(NamedTuple):
    """A record that should be a turn, but cannot be read as one. Its children become children of its parent."""

    reason: str
    detail: str = ""
    source_id: Any = None
    parent: Any = None
    lost: bool = True


Build = Callable[[SourceRecord, Flag], TurnDraft | NonTurn | Fault]


class Admitted(NamedTuple):
    """A record that became a turn."""

    turn: str
    record: SourceRecord  # as it was hashed: without what has no canonical form
    draft: TurnDraft
    answered: dict[str, str]  # the calls whose results it has, with their turns
    is_new: bool  # no record of this turn was read before


class _Placed(NamedTuple):
    """The parents of a turn, the calls that it answers with their turns, and whether it was read for the first time."""

    parents: tuple[Parent, ...]
    answered: dict[str, str]
    is_new: bool


class ThreadState(Struct):
    """The state of a thread, without what it shares with the other threads of its file."""

    last: str | None
    hashes: dict[str, str]
    position: int


class Thread:
    """The records of one session in the source's order.

    `fallback` is the session of a source that names none. Threads of one file may share its clock, its links, the ids
    that are not UUIDs, and the calls without a result.
    """

    def __init__(
        self,
        builder: BatchBuilder,
        session: str | None,
        fallback: str = "",
        *,
        clock: SourceClock | None = None,
        links: ParentLinks | None = None,
        ids: dict[str, str] | None = None,
        calls: dict[str, str] | None = None,
    ) -> None:
        self.builder = builder
        self.session = session or fallback
        self.is_named = session is not None
        self.clock = clock or SourceClock()
        self.links = ParentLinks() if links is None else links
        self.last: str | None = None
        self.ids = {} if ids is None else ids  # turn ids of source ids that are not UUIDs
        self._hashes: dict[str, str] = {}  # source hashes of turns with such an id
        self.calls = {} if calls is None else calls  # tool calls without a result yet, with their turns
        self._position = -1

    @property
    def state(self) -> ThreadState:
        """The state from which another thread can continue."""
        return ThreadState(self.last, self._hashes, self._position)

    def restore(self, state: ThreadState) -> None:
        """Continues from the state of another thread."""
        self.last, self._hashes, self._position = state.last, state.hashes, state.position

    def admit(
        self, record: SourceRecord, where: str, essence: Essence, build: Build, above: Any = LAST
    ) -> Generator[Batch, None, Admitted | None]:
        """Adds a record that the builder has counted, and yields the batches that this completes.

        The source hash of the record covers the fields that `essence` returns (ruling 15). Returns what became of it,
        or None for a record that is not a turn. `above` is the parent of a message that was seen before, which is
        not built again: its turn is stored.
        """
        self._position += 1
        if isinstance(record, KeyedMessage) and record.seen is not None:
            self._admit_seen(record, record.seen, where, above)
            return None
        noted = self.builder.noted
        try:
            record, source_hash, repairs = fingerprint(record, essence)
        except SlicebaseError as error:
            self.builder.skip("no-canonical-form", where, error.message)
            return None
        for reason in repairs:
            self.builder.note(reason, where)
        drafted = build(record, lambda reason, detail: self.builder.note(reason, where, detail))
        if isinstance(drafted, TurnDraft):
            turn, answered, is_new = self._turn(drafted, drafted.source_hash or source_hash, where)
            if isinstance(record, KeyedMessage) and is_new and noted == self.builder.noted:
                record.memory.keep_turn(record, _seen(turn, drafted))
            yield from self.builder.turn(turn, is_assumed=drafted.is_assumed)
            return Admitted(turn.id, record, drafted, answered, is_new)
        if isinstance(drafted, NonTurn):
            self.add_non_turn(drafted)
            return None
        self.bridge(drafted)
        self.builder.skip(drafted.reason, where, drafted.detail, lost=drafted.lost)
        return None

    def _admit_seen(self, message: KeyedMessage, seen: SeenMessage, where: str, above: Any) -> None:
        """Gives a message that was seen before its place among the others; or says that it has another place now."""
        self.builder.seen(self.session)
        known = seen.turn
        if known is None or known.session != self.session:  # another message counted instead of it, the last time
            message.memory.fits = False
            return
        if known.source_id is not None and not is_uuid(str(known.source_id)):
            self.ids.setdefault(str(known.source_id), known.turn)  # it would be computed from the session and the id
        draft = TurnDraft("system", (), known.source_id, above)
        turn = self._own_id(known.source_id, known.source_hash, where)
        if not self.is_named:
            self.builder.unnamed.add(self.session)
        self.clock.now = known.time
        placed = self._placed(turn, draft, known.calls, known.results, where)
        parents = {parent.id for parent in placed.parents}
        message.memory.fits &= turn == known.turn and parents <= set(known.parents)
        message.memory.keep_turn(message, known)

    def add_turn(self, draft: TurnDraft, source_hash: str, where: str) -> Iterator[Batch]:
        """Adds a turn that was held back, and counts its record, which has an id but no place in the order."""
        self.builder.record()
        turn, _, _ = self._turn(draft, source_hash, where)
        yield from self.builder.turn(turn)

    def bridge(self, record: "NonTurn | Fault") -> None:
        """Makes the children of a record that is not a turn children of its parent."""
        own = self.id_of(record.source_id)
        if own is not None:
            for edge in self.links.bridge(own, self.id_of(record.parent)):
                self.builder.link(edge)

    def add_non_turn(self, record: NonTurn) -> None:
        """Adds a record that is known not to be a turn."""
        self.bridge(record)
        self.builder.other(record.kind)

    def id_of(self, source_id: Any) -> str | None:
        """Returns the turn id of a source's id (ruling 16). The turn may be elsewhere, or not exist."""
        if isinstance(source_id, int) and not isinstance(source_id, bool):
            source_id = str(source_id)
        known = as_name(source_id)
        if known is None:
            return None
        if is_uuid(known):
            return known.lower()
        return self.ids.get(known) or turn_id(self.builder.format, self.session, known)

    def _turn(self, draft: TurnDraft, source_hash: str, where: str) -> tuple[Turn, dict[str, str], bool]:
        """Returns the turn of a record, the calls that it answers, and whether it is the first record of that turn.

        A record that is repeated in its file states no parents again: those of the first may have been repaired.
        """
        turn = self._own_id(draft.source_id, source_hash, where)
        if not self.is_named:
            self.builder.unnamed.add(self.session)
        time, guessed = self.clock.read(draft.time)
        if guessed:
            self.builder.note("no-time", where)
        placed = self._placed(turn, draft, _calls(draft.parts), _results(draft.parts), where)
        made = Turn(turn, self.session, draft.role, draft.parts, time, placed.parents, source_hash)
        return made, placed.answered, placed.is_new

    def _placed(
        self, turn: str, draft: TurnDraft, calls: Iterable[str], results: Iterable[str], where: str
    ) -> "_Placed":
        """Adds a turn with its calls and results to the links of the session."""
        is_new = turn not in self.links
        answered = {call: asked for call in results if (asked := self.calls.pop(call, None)) is not None}
        parents, dropped = self._joined(turn, draft, answered.values()) if is_new else ((), [])
        for closing in dropped:
            self.builder.note("cycle", where, closing)
        self.last = turn
        if is_new:
            self.calls.update((call, turn) for call in calls)
        return _Placed(parents, answered, is_new)

    def _joined(self, turn: str, draft: TurnDraft, called: Iterable[str]) -> tuple[tuple[Parent, ...], list[str]]:
        if draft.given is not None:
            given = [(self.id_of(parent.id), parent.type) for parent in draft.given]
            return self.links.adopt(turn, [Parent(known, kind) for known, kind in given if known is not None])
        parent = self.last if draft.parent is LAST else self.id_of(draft.parent)
        return self.links.join(turn, parent, [*self._known(draft.references), *called])

    def _known(self, source_ids: Iterable[Any]) -> list[str]:
        return [known for source_id in source_ids if (known := self.id_of(source_id)) is not None]

    def _own_id(self, source_id: Any, source_hash: str, where: str) -> str:
        own = self.id_of(source_id)
        if own is None:
            return turn_id(self.builder.format, self.session, self._position)
        if not is_uuid(str(source_id)):
            if self._hashes.setdefault(own, source_hash) != source_hash:
                self.builder.note("repeated-id", where, str(source_id))
                return turn_id(self.builder.format, self.session, self._position)
            self.ids.setdefault(str(source_id), own)
        return own


def _seen(turn: Turn, draft: TurnDraft) -> SeenTurn | None:
    """Returns what is kept of a message's turn; None if that is not enough to place it again."""
    if draft.references or draft.given is not None:
        return None
    if isinstance(draft.source_id, bool) or not isinstance(draft.source_id, str | int | None):
        return None
    parents = tuple(parent.id for parent in turn.parents)
    calls, results = tuple(_calls(turn.parts)), tuple(_results(turn.parts))
    return SeenTurn(turn.id, turn.session, turn.source_hash, draft.source_id, turn.time, calls, results, parents)


def _calls(parts: Iterable[Part]) -> Iterator[str]:
    return (part.call_id for part in parts if part.type == "tool_call" and part.call_id)


def _results(parts: Iterable[Part]) -> Iterator[str]:
    """Yields the calls whose results are in some parts. A result names its call."""
    return (part.call_id for part in parts if part.type == "tool_result" and part.call_id)
