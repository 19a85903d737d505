"""Snapshots in the truth: whole, or as what they add to the one before.

A snapshot is kept whole when the additions since the last whole one would weigh more than it does. Reading one then
costs at most twice its size, and all of them together grow with what is new, not with what is known.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from slicebase.core.hashing import canonical, raw_digest
from slicebase.errors import SlicebaseError
from slicebase.runs.gate import Compaction
from slicebase.runs.snapshot import delta, from_bytes, patched, to_bytes
from slicebase.runs.state import Json
from slicebase.truth.database import Database
from slicebase.truth.run_log import owner
from slicebase.truth.texts import Texts, keep_texts


class SnapshotRecord(Struct, frozen=True):
    """What stands in the table; the snapshot's JSON is a text of the run."""

    body: str  # the text's digest
    digest: str  # the whole digest behind the snapshot's id
    event: int  # the number of the event that recorded it
    run_id: str
    sequence: int
    status: str
    weight: int  # bytes of additions since the last whole one; 0 for a whole one


_RECORD = msgspec.json.Decoder(SnapshotRecord)


class StoredSnapshot(NamedTuple):
    record: SnapshotRecord
    snapshot: dict[str, Json]


class Snapshots:
    def __init__(self, database: Database, texts: Texts) -> None:
        self._database = database
        self._texts = texts

    def keep(self, compaction: Compaction, previous: StoredSnapshot | None, event: int) -> StoredSnapshot:
        """Stores a compaction's snapshot, which follows `previous` and is recorded by this event."""
        snapshot = compaction.snapshot
        body, weight = to_bytes(snapshot), 0
        status = snapshot["validation"]["status"]
        if previous is not None and status == "PASS":  # one that failed may have any shape
            addition = to_bytes(delta(previous.snapshot, snapshot))
            if previous.record.weight + len(addition) <= len(body):
                body, weight = addition, previous.record.weight + len(addition)
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
        row = (record.run_id, record.sequence, snapshot["snapshot_id"], data, raw_digest(data))
        with self._database.writing() as connection:
            keep_texts(connection, owner(record.run_id), {body_hash: body})
            connection.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?)", row)
        return StoredSnapshot(record, snapshot)

    def records(self, run_id: str) -> Iterator[SnapshotRecord]:
        query = "SELECT record FROM snapshots WHERE run = ? ORDER BY seq"
        for (record,) in self._database.connection.execute(query, (run_id,)):
            yield _RECORD.decode(record)

    def get(self, run_id: str, sequence: int) -> StoredSnapshot:
        """A snapshot by its number: the last whole one up to it, and the additions behind that."""
        query = "SELECT record FROM snapshots WHERE run = ? AND seq <= ? ORDER BY seq DESC"
        records: list[SnapshotRecord] = []
        for (data,) in self._database.connection.execute(query, (run_id, sequence)):
            records.append(_RECORD.decode(data))
            if records[-1].weight == 0:
                break
        if not records or records[0].sequence != sequence:
            raise SlicebaseError("no-snapshot", f"run:{run_id} has no snapshot {sequence}")
        snapshot: dict[str, Json] = {}
        for record in reversed(records):
            snapshot = self.read(record, snapshot)
        return StoredSnapshot(records[0], snapshot)

    def read(self, record: SnapshotRecord, previous: dict[str, Json]) -> dict[str, Json]:
        """The snapshot of a record; one that was kept as an addition needs the one before it."""
        body = self._body(record)
        return body if record.weight == 0 else patched(previous, body)

    def find(self, snapshot_id: str) -> StoredSnapshot:
        place = self.place_of(snapshot_id)
        if place is None:
            raise SlicebaseError("no-snapshot", f"there is no snapshot {snapshot_id}")
        return self.get(*place)

    def place_of(self, snapshot_id: str) -> tuple[str, int] | None:
        """A snapshot's run, and its number in there."""
        query = "SELECT run, seq FROM snapshots WHERE snapshot = ?"
        row: Any = self._database.connection.execute(query, (snapshot_id,)).fetchone()
        return (row[0], row[1]) if row else None

    def _body(self, record: SnapshotRecord) -> dict[str, Json]:
        stored = self._texts.get(owner(record.run_id), record.body)
        place = f"snapshot {record.sequence} of run:{record.run_id}"
        if stored is None:
            raise SlicebaseError("broken-record", f"{place} has lost its text", hint="`tt verify` says more")
        if stored.data is None:
            raise SlicebaseError("purged", f"{place} was purged {stored.purged}")
        return from_bytes(stored.data)


def snapshot_record_bytes(record: SnapshotRecord) -> bytes:
    return canonical(msgspec.to_builtins(record))


def read_snapshot_record(data: bytes) -> SnapshotRecord:
    return _RECORD.decode(data)
