"""One session being read: its records become turns, asides or faults, with ids, times and parents."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from msgspec import Struct

from slicebase.core.ids import is_uuid, turn_id
from slicebase.errors import SlicebaseError
from slicebase.graph.turn import Parent, Part, Role, Turn
from slicebase.importers.blocks import Flag, as_name
from slicebase.importers.collecting import Desk
from slicebase.importers.jsonvalues import Essence, fingerprint
from slicebase.importers.links import Links
from slicebase.importers.moments import Clock
from slicebase.importers.values import Batch

Record = dict[str, Any]


class After(NamedTuple):
    """In place of a parent: the turn before it in its session."""


LAST: Final = After()


class Draft(NamedTuple):
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


Build = Callable[[Record, Flag], Draft | Aside | Fault]


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
        desk: Desk,
        session: str,
        *,
        clock: Clock | None = None,
        links: Links | None = None,
        ids: dict[str, str] | None = None,
        calls: dict[str, str] | None = None,
    ) -> None:
        self.desk = desk
        self.session = session
        self.clock = clock or Clock()
        self.links = Links() if links is None else links
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
        """Takes a record that the desk has counted. Its source hash is over its essence (ruling 15)."""
        self._position += 1
        try:
            record, source_hash, repairs = fingerprint(record, essence)
        except SlicebaseError as error:
            self.desk.skip("no-canonical-form", where, error.message)
            return
        for reason in repairs:
            self.desk.note(reason, where)
        drafted = build(record, lambda reason, detail: self.desk.note(reason, where, detail))
        if isinstance(drafted, Draft):
            yield from self.desk.turn(self._turn(drafted, drafted.source_hash or source_hash, where))
            return
        if isinstance(drafted, Aside):
            self.pass_by(drafted)
            return
        self._bridge(drafted)
        self.desk.skip(drafted.reason, where, drafted.detail, lost=drafted.lost)

    def pass_by(self, aside: Aside) -> None:
        self._bridge(aside)
        self.desk.other(aside.kind)

    def id_of(self, source_id: Any) -> str | None:
        """The turn id of a source's id, which may stand elsewhere or nowhere (ruling 16)."""
        if isinstance(source_id, int) and not isinstance(source_id, bool):
            source_id = str(source_id)
        known = as_name(source_id)
        if known is None:
            return None
        if is_uuid(known):
            return known.lower()
        return self._ids.get(known) or turn_id(self.desk.format, self.session, known)

    def _turn(self, draft: Draft, source_hash: str, where: str) -> Turn:
        turn = self._own_id(draft.source_id, source_hash, where)
        time, guessed = self.clock.read(draft.time)
        if guessed:
            self.desk.note("no-time", where)
        parents, dropped = self._joined(turn, draft)
        for closing in dropped:
            self.desk.note("cycle", where, closing)
        self.last = turn
        self._calls.update((part.call_id, turn) for part in draft.parts if part.type == "tool_call" and part.call_id)
        return Turn(turn, self.session, draft.role, draft.parts, time, parents, source_hash)

    def _joined(self, turn: str, draft: Draft) -> tuple[tuple[Parent, ...], list[str]]:
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
            return turn_id(self.desk.format, self.session, self._position)
        if not is_uuid(str(source_id)):
            if self._hashes.setdefault(own, source_hash) != source_hash:
                self.desk.note("repeated-id", where, str(source_id)[:100])
                return turn_id(self.desk.format, self.session, self._position)
            self._ids.setdefault(str(source_id), own)
        return own

    def _bridge(self, aside: Aside | Fault) -> None:
        own = self.id_of(aside.source_id)
        if own is not None:
            for edge in self.links.bridge(own, self.id_of(aside.parent)):
                self.desk.link(edge)
