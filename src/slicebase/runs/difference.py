"""The difference between two snapshots of a run: what was added, what changed, and what is gone, for each kind."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from slicebase.runs.state import ITEMS, Json
from slicebase.runs.values import same

QUESTIONS: Final = "open_questions"
# `since` and `changed` are numbers of snapshots: an item that only they differ in is the same one.
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {kind.collection: kind.fields for kind in ITEMS.values()}
_IDS: Final[Mapping[str, str]] = {kind.collection: kind.id for kind in ITEMS.values()}


class ChangedItem(NamedTuple):
    """An item that both snapshots have, with other values in these fields."""

    before: Json
    after: Json
    fields: tuple[str, ...]


class ItemsDiffer(NamedTuple):
    """What differs between two lists of items of one kind; `same` is how many do not differ."""

    added: tuple[Json, ...]
    changed: tuple[ChangedItem, ...]
    gone: tuple[Json, ...]
    same: int


def items_differ(before: Mapping[str, Json], after: Mapping[str, Json], collection: str) -> ItemsDiffer:
    """Returns what differs in a collection of the state: claims, conflicts, failures or open_questions."""
    name_of: Callable[[Json], Any] = _question if collection == QUESTIONS else _named(_IDS[collection])
    old, new = (_by_name(each["state"][collection], name_of) for each in (before, after))
    added = tuple(item for name, item in new.items() if name not in old)
    gone = tuple(item for name, item in old.items() if name not in new)
    fields = _FIELDS.get(collection, ())
    both = [(old[name], item) for name, item in new.items() if name in old]
    changed = tuple(
        ChangedItem(one, other, names) for one, other in both if (names := tuple(_differing(one, other, fields)))
    )
    return ItemsDiffer(added, changed, gone, len(both) - len(changed))


def _differing(one: Json, other: Json, fields: Iterable[str]) -> Iterable[str]:
    return (name for name in fields if not same(one.get(name), other.get(name)))


def _by_name(items: Iterable[Json], name_of: Callable[[Json], Any]) -> dict[Any, Json]:
    return {name_of(item): item for item in items}


def _question(item: Json) -> str:
    return str(item)


def _named(field: str) -> Callable[[Json], str]:
    return lambda item: str(item.get(field))
