"""A conversation that a program records while it happens, item by item.

Each item is a turn after the one before it. Nothing is removed: that items were taken back, that all were cleared, or
that a summary replaced them is a turn of its own, with a mark that no reader shows. What the items are now is read from
these marks, in their order. So an item that was taken back stays as a branch, and the next one begins another.

Items are in the shape of OpenAI's Responses interface, unless another reader is given.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from slicebase.core.hashing import digest_of
from slicebase.core.ids import turn_id
from slicebase.errors import SlicebaseError
from slicebase.graph.turn import KEPT_TURN, Parent, Part, Role, Session, Turn
from slicebase.history.annotate import Annotator
from slicebase.importers.blocks import Content, marked, no_flag
from slicebase.importers.json_stream import repaired
from slicebase.importers.responses import is_item, item_content
from slicebase.verbs.imports import index_new_turns
from slicebase.verbs.parts import Parts
from slicebase.workspace.surroundings import one_thread_at_a_time

Item = dict[str, Any]

_MARK: Final = "mark"  # the type of the part that says what a turn does, and has the item as it was given
ADDED: Final = "added"
TAKEN_BACK: Final = "taken-back"
CLEARED: Final = "cleared"
COMPACTED: Final = "compacted"


class Became(NamedTuple):
    """What a conversation has become: its items, and how many of those that were given the first one replaces."""

    items: list[Item]
    replaced: int = 0


class _Replaced(NamedTuple):
    """The turns of items that a summary replaced, and its own."""

    items: list[Turn]
    summary: Turn


class _Now(NamedTuple):
    """What a conversation is now."""

    items: list[Turn]  # the turns of the items that count, in order
    cleared: Turn | None  # what was cleared last, if nothing was added since
    replaced: list[_Replaced]  # since the last clearing
    time: int  # of the newest turn

    @property
    def last(self) -> Turn | None:
        """The turn that the next one follows: the newest, which may be a summary that kept items after it."""
        return max(reversed(self.items), key=lambda turn: turn.time, default=None)


@one_thread_at_a_time
class LiveConversation:
    """The items of one session."""

    def __init__(
        self, memory: Parts, session: str, format_name: str, read: Callable[[Item], Content] | None = None
    ) -> None:
        self.surroundings = memory.surroundings
        if not isinstance(session, str) or not session:
            raise SlicebaseError("bad-arguments", f"{session!r} cannot be the id of a session: a text can")
        self.surroundings.redaction.refuse("the session", session)
        self.session, self._format, self._read = session, format_name, read or _content
        self._memory, self._truth = memory, memory.truth
        self._time = 0  # of the newest turn: each turn is later than those before it

    def items(self) -> list[Item]:
        """Returns the items that count now, in their order, as they were given; without secrets."""
        return [_item(turn) for turn in self._now().items]

    def add(self, items: Iterable[Mapping[str, Any]]) -> None:
        """Adds items. A summary that follows a clearing follows what was cleared, so that its losses are known."""
        with self._truth.database.writing():
            self._add(self._now(), map(self._clean, items))
        index_new_turns(self._memory)

    def become(self, items: Iterable[Mapping[str, Any]]) -> Became:
        """Makes the items those that are given.

        Items that begin the conversation already are not added again. If others follow them, those are taken back. What
        a summary has replaced is replaced again where it is given.
        """
        with self._truth.database.writing():
            now = self._now()
            known = {_text_of(turn) for turn in chain(now.items, *(old for old, _ in now.replaced))}  # without secrets
            given = [dict(item) if json.dumps(item) in known else self._clean(item) for item in items]
            replaced = 0
            for old, summary in now.replaced:
                if old and _begins(given, old):
                    given[: len(old)] = [_item(summary)]
                    replaced += len(old) - bool(replaced)
            same = sum(1 for _ in _same(given, now.items))
            if same < len(now.items):
                mark, turn = (TAKEN_BACK, now.items[same]) if same else (CLEARED, now.last)
                self._store([self._turn("system", (), mark, None, turn)])
                now = self._now()
            self._add(now, given[same:])
        index_new_turns(self._memory)
        return Became(given, replaced)

    def take_back(self) -> Item | None:
        """Takes the last item back and returns it; None if there is none."""
        with self._truth.database.writing():
            items = self._now().items
            if not items:
                return None
            self._store([self._turn("system", (), TAKEN_BACK, None, items[-1])])
        return _item(items[-1])

    def clear(self) -> None:
        """Clears all items. The next one begins a new path."""
        with self._truth.database.writing():
            if (last := self._now().last) is not None:
                self._store([self._turn("system", (), CLEARED, None, last)])

    def compact(self, summary: str, item: Mapping[str, Any] | None = None, *, kept: int = 0) -> None:
        """Replaces items by a summary of them: all but the last `kept` ones. Does nothing if there are none.

        `item` is the item with the summary; by default, it is a message of the user.
        """
        text = self.surroundings.redaction.text(summary)
        shown = self._clean(item or {"role": "user", "content": text})
        with self._truth.database.writing():
            now = self._now()
            if now.last is not None:
                stay = (Part(KEPT_TURN, name=turn.id, hidden=True) for turn in now.items[len(now.items) - kept :])
                said = (Part("text", text=text, summary=True), *stay)
                self._store([self._turn("system", said, COMPACTED, shown, now.last)])
        index_new_turns(self._memory)

    def _clean(self, item: Mapping[str, Any]) -> Item:
        clean: Item = self.surroundings.redaction.value(dict(item))
        return clean

    def _add(self, now: _Now, items: Iterable[Item]) -> None:
        before = now.last or now.cleared
        turns: list[Turn] = []
        for item in items:
            role, parts = self._read(repaired(item)[0])
            is_summary = any(part.summary for part in parts)
            if not (now.items or turns or is_summary):
                before = None
            before = self._turn(role, parts, ADDED, item, before)
            turns.append(before)
        self._store(turns)

    def _now(self) -> _Now:
        now = _Now([], None, [], 0)
        for stored in self._truth.turns.of_session(self.session):
            now = _after(now, self._truth.with_content(stored.record))
        self._time = now.time
        return now

    def _turn(self, role: Role, parts: tuple[Part, ...], mark: str, item: Any, before: Turn | None) -> Turn:
        parents = (Parent(before.id),) if before else ()
        own = turn_id(self._format, self.session, self.surroundings.new_id())
        said = (*parts, Part(_MARK, name=mark, arguments=json.dumps(item), hidden=True))
        self._time = max(self.surroundings.now(), self._time + 1)
        return Turn(own, self.session, role, said, self._time, parents, digest_of([mark, json.dumps(item)]))

    def _store(self, turns: list[Turn]) -> None:
        if turns:
            self._truth.turns.add(Session(self.session, self._format), turns, Annotator(self._truth))


def _after(now: _Now, turn: Turn) -> _Now:
    """Returns what a conversation is after its next turn."""
    items, mark = now.items, _mark_of(turn)
    if mark == ADDED:
        items.append(turn)
    elif mark == TAKEN_BACK:  # its parent, and what is after that
        taken = next((place for place, item in enumerate(items) if item.id == turn.tree_parent), len(items) - 1)
        del items[max(taken, 0) :]
    elif mark == COMPACTED:
        stay = {part.name for part in turn.parts if part.type == KEPT_TURN}
        now.replaced.append(_Replaced([item for item in items if item.id not in stay], turn))
        items[:] = [turn, *(item for item in items if item.id in stay)]
    cleared = now.cleared
    if mark == CLEARED:
        cleared = now.last or cleared
        items.clear()
        now.replaced.clear()
    return _Now(items, None if items else cleared, now.replaced, max(now.time, turn.time))


def _same(given: Iterable[Item], turns: Iterable[Turn]) -> Iterator[Turn]:
    """Yields the turns that have the same items, as long as they do."""
    for item, turn in zip(given, turns, strict=False):
        if json.dumps(item) != _text_of(turn):
            return
        yield turn


def _begins(given: Sequence[Item], turns: Sequence[Turn]) -> bool:
    return len(list(_same(given, turns))) == len(turns)


def _content(item: Item) -> tuple[Role, tuple[Part, ...]]:
    """Returns the role and the parts of an item; without a type it is a message. One that is not known has no parts."""
    content = item_content(item if is_item(item) else {"type": "message", **item}, no_flag)
    role, parts = content or ("system", ())
    return ("system", marked(parts, summary=True)) if any(part.summary for part in parts) else (role, parts)


def _mark_of(turn: Turn) -> str | None:
    return next((part.name for part in turn.parts if part.type == _MARK), None)


def _text_of(turn: Turn) -> str:
    return str(next(part.arguments for part in turn.parts if part.type == _MARK))


def _item(turn: Turn) -> Item:
    item: Item = json.loads(_text_of(turn))
    return item
