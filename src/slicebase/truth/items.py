"""Where the items of runs are in their logs: a derived table, so that a claim costs the same in a log of any length."""

from collections.abc import Callable, Iterable
from typing import Any

from slicebase.runs.event import Event
from slicebase.runs.items import ItemName, ItemPlace, ItemPlaces, key_digest, name_of, place_after
from slicebase.runs.state import ItemKey, RunState, fold
from slicebase.truth.connection import DatabaseConnection


class ItemTable:
    """The places of the items of all runs."""

    def __init__(self, connection: DatabaseConnection) -> None:
        self._connection = connection

    def count(self, run_id: str, type_: str) -> int:
        """Returns how many items of a type a run has."""
        query = "SELECT coalesce(max(number), 0) FROM items WHERE run = ? AND type = ?"
        return int(next(self._connection.execute(query, (run_id, type_)))[0])

    def find(self, run_id: str, name: ItemName) -> ItemPlace | None:
        """Returns where an item is, or None if the run does not have it."""
        query = "SELECT number, stated, changed FROM items WHERE run = ? AND type = ? AND key = ?"
        row: Any = self._connection.execute(query, (run_id, *name)).fetchone()
        return ItemPlace(*row) if row else None

    def of(self, run_id: str) -> dict[ItemName, ItemPlace]:
        """Returns where all items of a run are."""
        query = "SELECT type, key, number, stated, changed FROM items WHERE run = ?"
        rows: Iterable[Any] = self._connection.execute(query, (run_id,))
        return {(type_, key): ItemPlace(*place) for type_, key, *place in rows}

    def write(self, run_id: str, places: dict[ItemName, ItemPlace]) -> None:
        before = "DELETE FROM items WHERE run = ? AND type = ? AND key = ?"
        self._connection.executemany(before, [(run_id, *name) for name in places])
        rows = [(run_id, *name, *place) for name, place in places.items()]
        self._connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?)", rows)

    def refill(self, run_id: str, events: Iterable[Event]) -> None:
        """Computes the places of a run again, from its complete log: a purge may have changed its ids."""
        found = ItemPlaces()
        for event in events:
            found.add(event)
        self._connection.execute("DELETE FROM items WHERE run = ?", (run_id,))
        self.write(run_id, found.places)


class AppendedItems:
    """The places of the items of one run, with events that are not yet in the database."""

    def __init__(self, table: ItemTable, run_id: str) -> None:
        self._table = table
        self._run_id = run_id
        self._places: dict[ItemName, ItemPlace] = {}
        self._counts: dict[str, int] = {}  # items of each type of which one was added

    def add(self, event: Event) -> None:
        name = name_of(event)
        if name is None:
            return
        before = self._places.get(name) or self._table.find(self._run_id, name)
        after = place_after(before, event, 0 if before else self._count(event.type))
        if after is not None and after != before:
            self._places[name] = after
            if before is None:
                self._counts[event.type] = after.number

    def _count(self, type_: str) -> int:
        return self._counts.get(type_) or self._table.count(self._run_id, type_)

    def write(self) -> None:
        """Writes the places into the database."""
        self._table.write(self._run_id, self._places)
        self._places = {}


class StoredItems:
    """The items of one run, as they are in the database."""

    def __init__(self, table: ItemTable, run_id: str, read: Callable[[int], Event]) -> None:
        self._table = table
        self._run_id = run_id
        self._read = read  # an event by its number

    def count(self, type_: str) -> int:
        """Returns how many items of a type the run has."""
        return self._table.count(self._run_id, type_)

    def has(self, type_: str, key: ItemKey) -> bool:
        """Returns whether the run has this item."""
        return self._table.find(self._run_id, (type_, key_digest(key))) is not None

    def event(self, type_: str, key: ItemKey) -> Event | None:
        """Returns the last event that states this item, or None if the run does not have it."""
        place = self._table.find(self._run_id, (type_, key_digest(key)))
        return self._read(place.stated) if place and place.stated else None

    def state(self, type_: str, key: ItemKey | None) -> RunState:
        """Returns a state that has only this item, or nothing if the run does not have it."""
        place = None if key is None else self._table.find(self._run_id, (type_, key_digest(key)))
        numbers = (place.stated, place.changed) if place else ()
        return fold(RunState(self._run_id), [self._read(seq) for seq in numbers if seq])
