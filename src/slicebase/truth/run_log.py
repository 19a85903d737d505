"""The logs of runs: chains of events, durable when a call returns, with one writer at a time.

The events of a run are written inside one transaction that holds the write lock, so a second writer continues from the
head that the first one wrote. Payloads are texts of the run, so that they can be purged while the chain stays provable
(ruling 19).
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import msgspec

from slicebase.core.hashing import LARGEST_INTEGER
from slicebase.errors import SlicebaseError
from slicebase.runs.event import (
    CLIENT,
    STEP_BEGUN,
    STEP_ENDED,
    TERMINAL,
    ChainLink,
    Event,
    EventDraft,
    LogHead,
    PurgedEvent,
    hashed_event,
    is_too_deep,
    read_payload,
)
from slicebase.runs.items import ItemName, ItemPlace, name_of
from slicebase.runs.records import RunStarted
from slicebase.runs.status import RunTally, StepTally, advance, step_after
from slicebase.truth.acts import purged_since
from slicebase.truth.chains import Chain, head_of, read_stored
from slicebase.truth.database import Database
from slicebase.truth.items import AppendedItems, ItemTable
from slicebase.truth.texts import hash_bytes, keep_texts

_BATCH = 1000  # events that are kept in memory before they are written
TALLY = "run, seq, hash, started, updated, sequence, compacted, counted, steps, all_steps, cost, stopped"
_OF_STEPS = frozenset({*TERMINAL, STEP_BEGUN, STEP_ENDED})


class StoredEvent(NamedTuple):
    """An event in the database: what the chain covers, and its payload or the time at which that was purged."""

    link: ChainLink
    payload: bytes | None
    purged: str | None = None

    @property
    def event(self) -> Event:
        """The event with its payload. Raises `purged` where the payload was purged."""
        link = self.link
        place = f"event {link.seq} of run:{link.run_id}"
        if self.purged is not None and self.payload is None:
            raise SlicebaseError("purged", f"{place} was purged {self.purged}")
        data = self.payload or b""
        try:
            payload = read_payload(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            payload = None
        if payload is None or is_too_deep(data, payload):
            raise SlicebaseError("broken-record", f"{place} cannot be read", hint="`tt verify` says more")
        values = (link.run_id, link.seq, link.type, link.step, link.time, payload, link.prev, link.hash)
        return Event(*values) if self.purged is None else PurgedEvent(*values, link.payload_hash)


class RunLog:
    """The events of all runs, and the tally of each run."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.items = ItemTable(database.connection)
        self.signature: Mapping[str, Any] | None = None  # who writes, while `signing`

    @contextmanager
    def signing(self, signature: Mapping[str, Any]) -> Iterator[None]:
        """Signs what is started, claimed or logged inside, in the transaction that writes it. One thread at a time."""
        self.signature = signature
        try:
            yield
        finally:
            self.signature = None

    def tally(self, run_id: str) -> RunTally:
        """Returns the state of a run: the head of its log, and its counts."""
        row = self._database.connection.execute(f"SELECT {TALLY} FROM runs WHERE run = ?", (run_id,)).fetchone()
        if row is None:
            raise SlicebaseError("no-run", f"there is no run {run_id}", hint="`tt run list` shows them")
        return _read_tally(row)

    def tallies(self) -> Iterator[RunTally]:
        """Yields the tally of every run, the last updated run first."""
        query = f"SELECT {TALLY} FROM runs ORDER BY updated DESC, run"
        yield from map(_read_tally, self._database.connection.execute(query))

    def exists(self, run_id: str) -> bool:
        query = "SELECT 1 FROM runs WHERE run = ?"
        return self._database.connection.execute(query, (run_id,)).fetchone() is not None

    def started(self, run_id: str) -> RunStarted:
        """Returns the terms of a run, from its first event. Raises `broken-record` if they are not terms of a run."""
        first = next(self.events(run_id, limit=1), None)
        if first is None:
            raise SlicebaseError("no-run", f"there is no run {run_id}", hint="`tt run list` shows them")
        try:
            return msgspec.convert(first.event.payload, RunStarted)
        except msgspec.ValidationError as error:
            message = f"the first event of run:{run_id} has no terms of a run: {error}"
            raise SlicebaseError("broken-record", message, hint="`tt verify` says more") from None

    def events(self, run_id: str, after: int = 0, limit: int = LARGEST_INTEGER) -> Iterator[StoredEvent]:
        """Yields the events of a run whose numbers are higher than `after`, at most so many."""
        query = """
            SELECT events.record, events.hash, texts.bytes, texts.purged FROM events
            LEFT JOIN texts ON texts.owner = ? AND texts.hash = events.payload
            WHERE events.run = ? AND events.seq > ? ORDER BY events.seq LIMIT ?"""
        values = owner(run_id), run_id, after, limit
        for record, event_hash, data, purged in self._database.connection.execute(query, values):
            yield StoredEvent(read_link(record, event_hash), data, purged)

    def link(self, run_id: str, seq: int) -> ChainLink:
        """Returns what the chain covers of one event, by its number."""
        query = "SELECT record, hash FROM events WHERE run = ? AND seq = ?"
        row: Any = self._database.connection.execute(query, (run_id, seq)).fetchone()
        if row is None:
            message = f"run:{run_id} has no event {seq}"
            raise SlicebaseError("broken-record", message, hint="`tt verify` says more")
        return read_link(*row)

    def types(self, run_id: str, size: int) -> list[tuple[int, str, int]]:
        """Counts the events of a run by type, in parts of so many events: (number of the part from 0, type, count)."""
        query = f"""
            SELECT (seq - 1) / ?, {self._database.dialect.item.format("record", 3)}, count(*) FROM events
            WHERE run = ? GROUP BY 1, 2 ORDER BY 1, 2"""
        rows: list[Any] = self._database.connection.execute(query, (size, run_id)).fetchall()
        return [(part, str(type_), count) for part, type_, count in rows]

    def event(self, run_id: str, seq: int) -> Event:
        """Returns one event of a run by its number."""
        stored = next(self.events(run_id, after=seq - 1, limit=1), None)
        if stored is None or stored.link.seq != seq:
            message = f"run:{run_id} has no event {seq}, which is noted for an item"
            raise SlicebaseError("broken-record", message, hint="`tt verify` says more")
        return stored.event

    def refill_items(self, run_id: str) -> None:
        """Notes again where the items of a run are. What was purged completely says nothing about them."""
        self.items.refill(run_id, (stored.event for stored in self.events(run_id) if stored.payload is not None))

    def refill(
        self, tally: tuple[Any, ...], steps: Mapping[int | None, StepTally], items: dict[ItemName, ItemPlace]
    ) -> None:
        """Writes the derived tables of a run again: its row, its steps and its items."""
        run_id, connection = tally[0], self._database.connection
        for table in ("runs", "steps", "items"):
            connection.execute(f"DELETE FROM {table} WHERE run = ?", (run_id,))
        marks = ", ".join("?" * len(tally))
        connection.execute(f"INSERT INTO runs ({TALLY}) VALUES ({marks})", tally)
        rows = [(run_id, step, *each) for step, each in steps.items()]
        connection.executemany("INSERT INTO steps VALUES (?, ?, ?, ?, ?)", rows)
        self.items.write(run_id, items)

    def last_step(self, run_id: str) -> int:
        """Returns the highest step that has begun or has a terminal event, or 0."""
        query = "SELECT coalesce(max(step), 0) FROM steps WHERE run = ?"
        return int(next(self._database.connection.execute(query, (run_id,)))[0])

    def step(self, run_id: str, step: int) -> StepTally | None:
        """Returns what the log says about a step, or None if that has neither begun nor happened."""
        query = "SELECT last, begun, logged FROM steps WHERE run = ? AND step = ?"
        row: Any = self._database.connection.execute(query, (run_id, step)).fetchone()
        return StepTally(*row) if row else None

    def open_steps(self, run_id: str) -> dict[int, StepTally]:
        """Returns the steps that a process has begun and not ended."""
        query = "SELECT step, last, begun, logged FROM steps WHERE run = ? AND begun > 0 ORDER BY step"
        rows: list[Any] = self._database.connection.execute(query, (run_id,)).fetchall()
        return {step: StepTally(*tally) for step, *tally in rows}

    def head_at(self, run_id: str, seq: int) -> LogHead:
        """Returns the head of the log as it was after the event with this number."""
        query = "SELECT hash FROM events WHERE run = ? AND seq = ?"
        row = self._database.connection.execute(query, (run_id, seq)).fetchone()
        return LogHead(run_id, seq, f"sha256:{row[0].hex()}") if row else LogHead(run_id)

    def reading(self) -> AbstractContextManager[None]:
        """Keeps one view of the database inside the block, even if another process writes meanwhile."""
        return self._database.reading()

    def acts(self) -> int:
        """Returns how many acts the database has: every purge is one."""
        return head_of(self._database.connection, Chain("acts")).length

    def purged_since(self, acts: int) -> set[str]:
        """Returns the owners of what was purged since the database had so many acts."""
        return purged_since(self._database.connection, acts)

    def writing(self) -> AbstractContextManager[object]:
        """Runs one transaction."""
        return self._database.writing()

    @contextmanager
    def appending(self, run_id: str, *, create: bool = False) -> Iterator["Appender"]:
        """Runs a transaction that appends to the log of a run: everything is stored, or nothing."""
        with self._database.writing():
            known = self.exists(run_id)
            if create and known:
                raise SlicebaseError("run-exists", f"there is already a run {run_id}", hint="choose another id")
            appender = Appender(self, self._database, RunTally(run_id) if create else self.tally(run_id))
            yield appender
            appender.flush()


class Appender:
    """Appends events to one run inside a transaction. They are in the database after `flush`."""

    def __init__(self, log: RunLog, database: Database, tally: RunTally) -> None:
        self._log = log
        self._database = database
        self._connection = database.connection
        self._events: list[tuple[Any, ...]] = []
        self._payloads: dict[bytes, bytes] = {}
        self._blobs: dict[bytes, bytes] = {}
        self._steps: dict[int, StepTally] = {}
        self._items = AppendedItems(ItemTable(database.connection), tally.run_id)
        self.tally = tally

    def append(self, draft: EventDraft, now: str) -> Event:
        """Adds a draft to the log as the next event of the run, and returns that event."""
        tally = self.tally
        if tally.stopped is not None:
            raise run_closed(tally)
        sealed = hashed_event(tally.head, draft, now)
        event, payload_hash = sealed.event, hash_bytes(sealed.payload_hash)
        self._events.append((tally.run_id, event.seq, payload_hash, sealed.record, hash_bytes(event.hash)))
        self._payloads[payload_hash] = sealed.payload
        step = self._step_of(event)
        self.tally = advance(tally, event, step.last or None if step else None)
        after = step_after(step, event)
        if after is not None and after != step and event.step is not None:
            self._steps[event.step] = after
        self._note_item(event, payload_hash)
        if len(self._events) >= _BATCH:
            self.flush()
        return event

    def sign(self, first: int, now: str) -> None:
        """Appends who wrote the events from `first` on: several may write to one run. A stopped run takes no more."""
        signature, last = self._log.signature, self.tally.seq
        if signature is not None and self.tally.stopped is None and last >= first:
            payload = {**signature, "events": {"first": first, "last": last}}
            self.append(EventDraft(type=CLIENT, payload=payload), now)

    def _step_of(self, event: Event) -> StepTally | None:
        """Returns the tally of the step before an event that may change it."""
        if event.type not in _OF_STEPS or event.step is None:
            return None
        if event.step in self._steps:
            return self._steps[event.step]
        return self._log.step(event.run_id, event.step)

    def _note_item(self, event: Event, payload_hash: bytes) -> None:
        """Notes the item of an event. Raises `purged` for one that was purged before: it would be stored as purged."""
        if name_of(event) is None:
            return
        query = "SELECT 1 FROM texts WHERE owner = ? AND hash = ? AND purged IS NOT NULL"
        if self._connection.execute(query, (owner(event.run_id), payload_hash)).fetchone() is not None:
            message = f"a {event.type} with these words was purged from run:{event.run_id}, and stays purged"
            hint = "choose other words" if event.type == "QUESTION" else "choose another id, or other words"
            raise SlicebaseError("purged", message, hint=hint)
        self._items.add(event)

    def keep_blobs(self, blobs: Mapping[str, bytes]) -> None:
        """Stores content that events name by its hash."""
        self._blobs.update((hash_bytes(name), data) for name, data in blobs.items())

    def flush(self) -> None:
        """Writes the appended events, their payloads, their blobs and the tally into the database."""
        if not self._events and not self._blobs:
            return
        run_id = self.tally.run_id
        keep_texts(self._connection, owner(run_id), {**self._payloads, **self._blobs})
        self._database.append_hashed(Chain("events", run_id), self._events)
        self._append_blobs(run_id)
        steps = [(run_id, step, *tally) for step, tally in self._steps.items()]
        self._connection.executemany("DELETE FROM steps WHERE run = ? AND step = ?", [row[:2] for row in steps])
        self._connection.executemany("INSERT INTO steps VALUES (?, ?, ?, ?, ?)", steps)
        self._items.write()
        self._connection.execute("DELETE FROM runs WHERE run = ?", (run_id,))
        self._connection.execute(
            f"INSERT INTO runs ({TALLY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", tally_row(self.tally)
        )
        self._events, self._payloads, self._blobs, self._steps = [], {}, {}, {}

    def _append_blobs(self, run_id: str) -> None:
        """Records which content was stored for the run, so that none of it can be missing unnoticed."""
        query = "SELECT 1 FROM blobs WHERE run = ? AND text = ?"
        new = [key for key in self._blobs if self._connection.execute(query, (run_id, key)).fetchone() is None]
        if new:
            self._database.append(Chain("blobs"), [(run_id, key) for key in new])


def run_closed(tally: RunTally) -> SlicebaseError:
    """Returns the error for a write to a run that has stopped."""
    return SlicebaseError(
        "run-closed",
        f"run:{tally.run_id} has stopped ({tally.stopped})",
        hint=f"`tt run fork {tally.run_id}` continues from its last snapshot that passed",
    )


def owner(run_id: str) -> str:
    """Returns the owner under which the texts of a run are stored."""
    return f"run:{run_id}"


_LINK = msgspec.json.Decoder(tuple[str, int, str | None, str, int | None, str, str])


def read_link(record: bytes, event_hash: bytes) -> ChainLink:
    """Returns the chain link of a stored record and its hash."""
    return ChainLink(*read_stored(_LINK, record), f"sha256:{event_hash.hex()}")


def tally_row(tally: RunTally) -> tuple[Any, ...]:
    """Returns a tally as a row of the table of runs."""
    return (tally.run_id, tally.seq, hash_bytes(tally.hash or ""), *tally[3:])


def _read_tally(row: tuple[Any, ...]) -> RunTally:
    return RunTally(row[0], row[1], f"sha256:{row[2].hex()}", *row[3:])
