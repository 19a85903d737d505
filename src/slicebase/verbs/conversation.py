"""A conversation that a program records while it happens, item by item, in the shape of OpenAI's Responses interface.

Each item is a turn after the one before it. Nothing is removed: that an item was taken back, that all were cleared, or
that a summary replaced them is a turn of its own, with a mark that no reader shows. What the items are now is read from
these marks, in their order. So an item that was taken back stays as a branch, and the next one begins another.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from slicebase.core.hashing import digest_of
from slicebase.core.ids import turn_id
from slicebase.errors import SlicebaseError
from slicebase.graph.turn import Parent, Part, Role, Session, Turn
from slicebase.history.annotate import Annotator
from slicebase.importers.blocks import marked
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


class _Now(NamedTuple):
    """The turns of the items that count now, and the turn that the next one follows."""

    items: list[Turn]
    cleared: Turn | None  # what was cleared last, if nothing was added since

    @property
    def last(self) -> Turn | None:
        return self.items[-1] if self.items else None


@one_thread_at_a_time
class LiveConversation:
    """The items of one session."""

    def __init__(self, memory: Parts, session: str, format_name: str) -> None:
        self.surroundings = memory.surroundings
        if not isinstance(session, str) or not session:
            raise SlicebaseError("bad-arguments", f"{session!r} cannot be the id of a session: a text can")
        self.surroundings.redaction.refuse("the session", session)
        self.session, self._format = session, format_name
        self._memory, self._truth = memory, memory.truth

    def items(self) -> list[Item]:
        """Returns the items that count now, in their order, as they were given; without secrets."""
        return [_item(turn) for turn in self._now().items]

    def add(self, items: Iterable[Mapping[str, Any]]) -> None:
        """Adds items. A summary that follows a clearing follows what was cleared, so that its losses are known."""
        with self._truth.database.writing():
            now = self._now()
            before = now.last or now.cleared
            turns: list[Turn] = []
            for given in items:
                item = self.surroundings.redaction.value(dict(given))
                role, parts = _content(item)
                is_summary = any(part.summary for part in parts)
                if not (now.items or turns or is_summary):
                    before = None
                before = self._turn(role, parts, ADDED, item, before)
                turns.append(before)
            self._store(turns)
        index_new_turns(self._memory)

    def take_back(self) -> Item | None:
        """Takes the last item back and returns it; None if there is none."""
        with self._truth.database.writing():
            last = self._now().last
            if last is None:
                return None
            self._store([self._turn("system", (), TAKEN_BACK, None, last)])
        return _item(last)

    def clear(self) -> None:
        """Clears all items. The next one begins a new path."""
        with self._truth.database.writing():
            if (last := self._now().last) is not None:
                self._store([self._turn("system", (), CLEARED, None, last)])

    def compact(self, summary: str) -> None:
        """Replaces all items by a summary of them. Does nothing if there are none."""
        text = self.surroundings.redaction.text(summary)
        item = {"role": "user", "content": text}
        with self._truth.database.writing():
            if (last := self._now().last) is not None:
                self._store([self._turn("system", (Part("text", text=text, summary=True),), COMPACTED, item, last)])
        index_new_turns(self._memory)

    def _now(self) -> _Now:
        items: list[Turn] = []
        cleared: Turn | None = None
        for stored in self._truth.turns.of_session(self.session):
            turn = self._truth.with_content(stored.record)
            mark = _mark_of(turn)
            if mark in (CLEARED, COMPACTED):
                cleared = items[-1] if items else cleared
                items.clear()
            elif mark == TAKEN_BACK and items:
                items.pop()
            if mark in (ADDED, COMPACTED):
                items.append(turn)
        return _Now(items, None if items else cleared)

    def _turn(self, role: Role, parts: tuple[Part, ...], mark: str, item: Any, before: Turn | None) -> Turn:
        parents = (Parent(before.id),) if before else ()
        own = turn_id(self._format, self.session, self.surroundings.new_id())
        said = (*parts, Part(_MARK, name=mark, arguments=json.dumps(item), hidden=True))
        return Turn(
            own, self.session, role, said, self.surroundings.now(), parents, digest_of([mark, json.dumps(item)])
        )

    def _store(self, turns: list[Turn]) -> None:
        if turns:
            self._truth.turns.add(Session(self.session, self._format), turns, Annotator(self._truth))


def _content(item: Item) -> tuple[Role, tuple[Part, ...]]:
    """Returns the role and the parts of an item; without a type it is a message. One that is not known has no parts."""
    message, _ = repaired(item if is_item(item) else {"type": "message", **item})
    content = item_content(message, lambda reason, detail: None)
    role, parts = content or ("system", ())
    return ("system", marked(parts, summary=True)) if any(part.summary for part in parts) else (role, parts)


def _mark_of(turn: Turn) -> str | None:
    return next((part.name for part in turn.parts if part.type == _MARK), None)


def _item(turn: Turn) -> Item:
    text = next(part.arguments for part in turn.parts if part.type == _MARK)
    item: Item = json.loads(text)
    return item
