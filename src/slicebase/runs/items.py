"""The items of a run one by one: claims, conflicts, failures and questions, without the rest of the state.

A log says in at most two events what an item is now: the last one that states it, and the last one after it that
changes only its status. The store notes where these events are. So a verb that logs one item reads two events, not the
state of the run. Folding the two gives the same item as folding the complete log.
"""

from collections import Counter
from typing import NamedTuple, Protocol

from slicebase.core.hashing import canonical, raw_digest
from slicebase.errors import SlicebaseError
from slicebase.runs.event import Event
from slicebase.runs.state import ITEMS, ItemKey, Json, RunState, is_status_only, key_of


class ItemPlace(NamedTuple):
    """Where the log says what an item is, as the numbers of events.

    `number` counts the items of a type in order of first appearance. `stated` is the last event that states the item;
    of a question, the event that opened it, or 0 while it is closed. `changed` is the last event after that which
    changes only the status, or 0.
    """

    number: int
    stated: int
    changed: int = 0


ItemName = tuple[str, bytes]  # the type of the item, and the digest of its key


def name_of(event: Event) -> ItemName | None:
    """Returns the name of the item that an event is about, or None."""
    key = key_of(event)
    return None if key is None else (event.type, key_digest(key))


def key_digest(key: ItemKey) -> bytes:
    """Returns the digest of a key. It has one length for all keys, and says nothing about an id that is purged."""
    return raw_digest(key if isinstance(key, bytes) else canonical(key))


def place_after(before: ItemPlace | None, event: Event, count: int) -> ItemPlace | None:
    """Returns where an item is after an event about it. `count` is how many items of its type were there before."""
    if event.type == "QUESTION":
        if event.payload.get("status") == "closed":
            return before._replace(stated=0) if before else None
        return before if before and before.stated else _stated(before, event, count)
    if before and event.type in ITEMS and is_status_only(event):
        return before._replace(changed=event.seq) if "status" in event.payload else before
    return _stated(before, event, count)


def _stated(before: ItemPlace | None, event: Event, count: int) -> ItemPlace:
    return ItemPlace(before.number if before else count + 1, event.seq)


class ItemPlaces:
    """The places of all items of a log, whose events are added in order."""

    def __init__(self) -> None:
        self.places: dict[ItemName, ItemPlace] = {}
        self._counts: Counter[str] = Counter()

    def add(self, event: Event) -> None:
        name = name_of(event)
        if name is None:
            return
        after = place_after(self.places.get(name), event, self._counts[event.type])
        if after is not None:
            self._counts[event.type] += name not in self.places
            self.places[name] = after


# Reading and naming items


class Items(Protocol):
    """The items of a run."""

    def count(self, type_: str) -> int:
        """Returns how many items of a type the run has."""

    def has(self, type_: str, key: ItemKey) -> bool:
        """Returns whether the run has this item."""

    def state(self, type_: str, key: ItemKey | None) -> RunState:
        """Returns a state that has only this item, or nothing if the run does not have it."""


def logged_item(items: Items, type_: str, item_id: str | None) -> dict[str, Json]:
    """Returns a claim, conflict or failure as it was logged last."""
    kind, word = ITEMS[type_], type_.lower()
    if item_id is None:
        hint = f"give its id, or the text of a new {word}"
        raise SlicebaseError("bad-arguments", f"a {word} that is changed needs its id", hint=hint)
    state = items.state(type_, item_id)
    item = getattr(state, kind.collection).get(item_id)
    if item is None:
        message = f"run:{state.run_id} has no {word} {item_id}"
        raise SlicebaseError("no-item", message, hint="`tt run status` shows them")
    return {name: item[name] for name in kind.fields if name in item}


def free_id(items: Items, type_: str, prefix: str) -> str:
    """Returns an id that no item of this type has: the number of the next item, or a higher one if that is taken.

    It need not be the lowest that is free. So the steps double, and many ids in a row that somebody else has numbered
    cost a few looks, not one look each.
    """
    number, step = items.count(type_) + 1, 1
    while items.has(type_, f"{prefix}{number}"):
        number, step = number + step, step * 2
    return f"{prefix}{number}"


def step_failure_id(items: Items, step: int) -> str:
    """Returns the id of the failure of a step: `step-<number>`, unless another failure has it, of a fork's origin."""
    name = f"step-{step}"
    return name if not items.has("FAILURE", name) else free_id(items, "FAILURE", f"{name}-")
