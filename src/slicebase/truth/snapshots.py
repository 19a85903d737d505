"""Snapshots in the truth: stored complete, or as what they add to the previous snapshot.

A snapshot is stored complete when the additions since the last complete one would be larger than the snapshot. So
reading a snapshot costs at most twice its size. An addition has the items and the coverage that are new or changed, and
everything else as it is: all snapshots together grow with what is new and with the number of open questions, which are
written into each of them, and not with the size of the rest of the state.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from slicebase.core.hashing import LARGEST_INTEGER, canonical, digest, raw_digest
from slicebase.errors import SlicebaseError
from slicebase.runs.gate import Compaction
from slicebase.runs.parts import StateParts
from slicebase.runs.snapshot import apply_deltas, delta, from_bytes, size_of, to_bytes
from slicebase.runs.state import Json
from slicebase.truth.chains import Chain, read_stored
from slicebase.truth.database import Database
from slicebase.truth.run_log import owner
from slicebase.truth.texts import Texts, keep_texts


class SnapshotRecord(Struct, frozen=True):
    """The record of a snapshot in the table. The JSON of the snapshot is a text of the run."""

    body: str  # the text's digest
    digest: str  # the complete digest, from which the id of the snapshot is derived
    event: int  # the number of the event that recorded it
    run_id: str
    sequence: int
    status: str
    weight: int  # bytes of additions since the last complete one; 0 for a complete one


_RECORD = msgspec.json.Decoder(SnapshotRecord)


class StoredSnapshot(NamedTuple):
    """A snapshot and its record."""

    record: SnapshotRecord
    snapshot: dict[str, Json]
    parts: StateParts | None = None  # the canonical bytes of its state, if it was made in this process


class Snapshots:
    """The snapshots of a database."""

    def __init__(self, database: Database, texts: Texts) -> None:
        self._database = database
        self._texts = texts

    def keep(self, compaction: Compaction, previous: StoredSnapshot | None, event: int) -> StoredSnapshot:
        """Stores the snapshot of a compaction. It follows `previous`, and the event of this number records it."""
        snapshot = compaction.snapshot
        body, weight = None, 0
        status = snapshot["validation"]["status"]
        if previous is not None and status == "PASS":  # a snapshot that failed can have any form
            addition = to_bytes(delta(previous.snapshot, snapshot))
            if previous.record.weight + len(addition) <= size_of(snapshot, compaction.parts):
                body, weight = addition, previous.record.weight + len(addition)
        body = body or to_bytes(snapshot)
        body_hash = raw_digest(body)
        record = SnapshotRecord(
            body=f"sha256:{body_hash.hex()}",
            digest=compaction.digest,
            event=event,
            run_id=snapshot["run_id"],
            sequence=snapshot["sequence"],
            status=status,
            weight=weight,
        )
        data = snapshot_record_bytes(record)
        with self._database.writing() as connection:
            keep_texts(connection, owner(record.run_id), {body_hash: body})
            self._database.append(Chain("snapshots", record.run_id), [(snapshot["snapshot_id"], data)])
        return StoredSnapshot(record, snapshot, compaction.parts)

    def records(self, run_id: str) -> Iterator[SnapshotRecord]:
        """Yields the records of the snapshots of a run."""
        query = "SELECT record FROM snapshots WHERE run = ? ORDER BY seq"
        for (record,) in self._database.connection.execute(query, (run_id,)):
            yield read_snapshot_record(record)

    def newest_first(self, run_id: str, limit: int, before: int | None = None) -> list[tuple[str, SnapshotRecord]]:
        """Returns the last snapshots of a run, or those before one of this number: ids and records."""
        query = "SELECT snapshot, record FROM snapshots WHERE run = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
        last = LARGEST_INTEGER if before is None else before
        rows: list[Any] = self._database.connection.execute(query, (run_id, last, limit)).fetchall()
        return [(str(name), read_snapshot_record(record)) for name, record in rows]

    def get(self, run_id: str, sequence: int) -> StoredSnapshot:
        """Returns a snapshot by its number, from the last complete one and the additions after it."""
        records = self._chain(run_id, sequence)
        complete, *additions = [self._body(record) for record in reversed(records)]
        return StoredSnapshot(records[0], apply_deltas(complete, additions) if additions else complete)

    def check(self, run_id: str, sequence: int) -> None:
        """Raises what `get` raises for a snapshot whose texts are lost, purged or changed. It parses none of them."""
        for record in self._chain(run_id, sequence):
            self._data(record)

    def _chain(self, run_id: str, sequence: int) -> list[SnapshotRecord]:
        """Returns the records that a snapshot is made of, from its own back to the last complete one."""
        query = "SELECT record FROM snapshots WHERE run = ? AND seq <= ? ORDER BY seq DESC"
        records: list[SnapshotRecord] = []
        for (data,) in self._database.connection.execute(query, (run_id, max(0, min(sequence, LARGEST_INTEGER)))):
            records.append(read_snapshot_record(data))
            if records[-1].weight == 0:
                break
        if not records or records[0].sequence != sequence:
            raise SlicebaseError("no-snapshot", f"run:{run_id} has no snapshot {sequence}")
        return records

    def read(self, record: SnapshotRecord, previous: dict[str, Json]) -> dict[str, Json]:
        """Returns the snapshot of a record. A snapshot that is stored as an addition needs the previous one."""
        body = self._body(record)
        return body if record.weight == 0 else apply_deltas(previous, [body])

    def find(self, snapshot_id: str) -> StoredSnapshot:
        """Returns a snapshot by its id."""
        place = self.place_of(snapshot_id)
        if place is None:
            raise SlicebaseError("no-snapshot", f"there is no snapshot {snapshot_id}")
        return self.get(*place)

    def place_of(self, snapshot_id: str) -> tuple[str, int] | None:
        """Returns the run of a snapshot and its number there, or None."""
        query = "SELECT run, seq FROM snapshots WHERE snapshot = ?"
        row: Any = self._database.connection.execute(query, (snapshot_id,)).fetchone()
        return (row[0], row[1]) if row else None

    def event_of(self, snapshot_id: str) -> int | None:
        """Returns the number of the event that recorded a snapshot, also a purged one, or None."""
        query = "SELECT record FROM snapshots WHERE snapshot = ?"
        row: Any = self._database.connection.execute(query, (snapshot_id,)).fetchone()
        return read_snapshot_record(row[0]).event if row else None

    def _body(self, record: SnapshotRecord) -> dict[str, Json]:
        return from_bytes(self._data(record))

    def _data(self, record: SnapshotRecord) -> bytes:
        stored = self._texts.get(owner(record.run_id), record.body)
        place = f"snapshot {record.sequence} of run:{record.run_id}"
        if stored is None:
            raise SlicebaseError("broken-record", f"{place} has lost its text", hint="`tt verify` says more")
        if stored.data is None:
            raise SlicebaseError("purged", f"{place} was purged {stored.purged}")
        if stored.purged is None and digest(stored.data) != record.body:  # the gate relies on what passed
            message = f"{place} has another text than the one that was stored"
            raise SlicebaseError("broken-record", message, hint="`tt verify` says more")
        return stored.data


def snapshot_record_bytes(record: SnapshotRecord) -> bytes:
    return canonical(msgspec.to_builtins(record))


def read_snapshot_record(data: bytes) -> SnapshotRecord:
    """Reads the record of a snapshot. Raises `broken-record` for any other bytes."""
    return read_stored(_RECORD, data)
