"""Derives runs and evidence again from their stored bytes, for verify.

It checks one run at a time: its events and their chain, its tally, then every snapshot, which is folded again from the
log and compared. After the first problem of a run, the rest of the run cannot be proven and is not reported.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from slicebase.core.hashing import raw_digest
from slicebase.errors import SlicebaseError
from slicebase.runs.checks import Inputs, check
from slicebase.runs.event import ChainLink, Event, LogHead, PurgedEvent, check_chain
from slicebase.runs.evidence import Evidence, Lookup, resolve
from slicebase.runs.parts import StateParts, parts_of
from slicebase.runs.snapshot import same_content, snapshot_digest, whole_digest, without_id
from slicebase.runs.state import Json, RunState, fold
from slicebase.runs.status import StepTally
from slicebase.truth.ledger import read_record, record_id
from slicebase.truth.run_log import TALLY, StoredEvent, owner, read_link
from slicebase.truth.snapshots import SnapshotRecord, read_snapshot_record
from slicebase.truth.texts import hash_bytes
from slicebase.truth.truth import Truth
from slicebase.verbs.verify_chains import UNREADABLE_RECORD, VerifyFinding, VerifyStatus
from slicebase.verbs.verify_forks import ForkProof
from slicebase.verbs.verify_tables import derived_tables

_TABLES = ("events", "snapshots", "runs", "steps", "items")


class RunProof:
    """Checks runs and evidence.

    `reported` takes the owner and digest of a text and the place of its use; it returns whether the text is reported
    already.
    """

    def __init__(self, truth: Truth, reported: Callable[[str, str, str], bool], count: Callable[[str], None]) -> None:
        self._truth = truth
        self._connection = truth.database.connection
        self._reported = reported
        self._count = count
        self._unreadable: set[str] = set()  # runs with a broken text
        self._forks = ForkProof(truth)

    def blobs(self) -> Iterator[VerifyFinding]:
        """Yields the blobs that are missing."""
        for run_id, text_hash in self._rows("SELECT run, text FROM blobs ORDER BY seq"):
            key = (owner(run_id), f"sha256:{text_hash.hex()}")
            place = f"run:{run_id} blob {key[1]}"
            if not self._reported(*key, place) and self._truth.texts.get(*key) is None:
                yield VerifyFinding("BROKEN", "blob-missing", place, key[1], "no text")

    def manifests(self) -> Iterator[VerifyFinding]:
        """Yields the manifests that runs name and that are not stored."""
        known = set(self._truth.manifests.names())
        for tally in list(self._truth.runs.log.tallies()):
            for stored in self._truth.runs.log.events(tally.run_id):
                name = _manifest_of(stored) if stored.link.type == "MANIFEST" else None
                if name is not None and name not in known:
                    place = f"run:{tally.run_id} event {stored.link.seq}"
                    yield VerifyFinding("UNVERIFIABLE", "manifest-unknown", place, name, "no such manifest")

    def runs(self) -> Iterator[VerifyFinding]:
        """Yields what is wrong with the runs."""
        tables = " UNION ".join(f"SELECT run FROM {table}" for table in _TABLES)
        for (run_id,) in self._rows(f"{tables} ORDER BY run"):
            self._count("runs")
            yield from self.run(run_id)

    def run(self, run_id: str) -> Iterator[VerifyFinding]:
        """Yields what is wrong with one run."""
        try:
            yield from self._run(run_id)
        except UNREADABLE_RECORD as error:  # the other runs are checked nevertheless
            yield VerifyFinding("BROKEN", "event-form", f"run:{run_id}", "a run that can be read", str(error))

    def _run(self, run_id: str) -> Iterator[VerifyFinding]:
        problems = self._log(run_id)
        yield from problems
        if not problems and run_id not in self._unreadable:
            yield from self._tally(run_id)
            yield from self._started(run_id)

    def _rows(self, query: str, *values: str) -> list[Any]:
        return self._connection.execute(query, values).fetchall()

    # The log

    def _log(self, run_id: str) -> list[VerifyFinding]:
        """Checks the records one by one, and their chain."""
        problems: list[VerifyFinding] = []
        for broken in check_chain(LogHead(run_id), self._links(run_id, problems)):
            place = f"run:{run_id} event {broken.seq}"
            problems.append(VerifyFinding("BROKEN", "chain", place, broken.expected, broken.found))
        return problems

    def _links(self, run_id: str, problems: list[VerifyFinding]) -> Iterator[ChainLink]:
        """Yields what the chain covers, up to the first record that cannot be read."""
        expected: str | None = "RUN_STARTED"
        query = "SELECT seq, payload, record, hash FROM events WHERE run = ? ORDER BY seq"
        for seq, payload, record, stored_hash in self._connection.execute(query, (run_id,)):
            place = f"run:{run_id} event {seq}"
            if raw_digest(record) != stored_hash:
                problems.append(
                    VerifyFinding("BROKEN", "event-hash", place, stored_hash.hex(), raw_digest(record).hex())
                )
                return
            try:
                link = read_link(record, stored_hash)
            except SlicebaseError as error:
                problems.append(VerifyFinding("BROKEN", "event-form", place, "an event of this version", str(error)))
                return
            if (link.run_id, link.seq, hash_bytes(link.payload_hash)) != (run_id, seq, payload):
                key = str((link.run_id, link.seq, link.payload_hash))
                problems.append(VerifyFinding("BROKEN", "event-key", place, key, str((run_id, seq, payload.hex()))))
            if expected and seq == 1 and link.type != expected:
                problems.append(VerifyFinding("BROKEN", "run-start", place, expected, link.type))
            expected = None
            problems.extend(self._payload(link, place))
            yield link
        if expected:
            problems.append(VerifyFinding("BROKEN", "run-start", f"run:{run_id}", expected, "no event"))

    def _payload(self, link: ChainLink, place: str) -> Iterator[VerifyFinding]:
        key = (owner(link.run_id), link.payload_hash)
        if self._reported(*key, place):
            self._unreadable.add(link.run_id)
        elif self._truth.texts.get(*key) is None:
            yield VerifyFinding("BROKEN", "payload-missing", place, link.payload_hash, "no text")

    def _tally(self, run_id: str) -> Iterator[VerifyFinding]:
        """Checks that the tables that are kept beside the log agree with the log."""
        found = self._connection.execute(f"SELECT {TALLY} FROM runs WHERE run = ?", (run_id,)).fetchone()
        if found is None:
            yield VerifyFinding("BROKEN", "derived", f"run:{run_id} standing", "a row", "none")
            return
        rows = self._rows("SELECT step, last, begun, logged FROM steps WHERE run = ?", run_id)
        kept = {step: StepTally(*tally) for step, *tally in rows}
        derived = derived_tables(self._truth, run_id, found)
        if found != derived.tally:
            yield VerifyFinding("BROKEN", "derived", f"run:{run_id} standing", _shown(derived.tally), _shown(found))
            return
        if kept != derived.steps:
            yield VerifyFinding("BROKEN", "derived", f"run:{run_id} steps", str(len(derived.steps)), str(len(rows)))
        places = self._truth.runs.log.items.of(run_id)
        if places != derived.items:
            yield VerifyFinding("BROKEN", "derived", f"run:{run_id} items", str(len(derived.items)), str(len(places)))

    # The terms

    def _started(self, run_id: str) -> Iterator[VerifyFinding]:
        """Checks the terms of a run, and then what was made with them."""
        try:
            started = self._truth.runs.log.started(run_id)
        except SlicebaseError as error:
            if error.code == "broken-record":  # purged texts are reported as texts
                yield VerifyFinding("BROKEN", "run-start", f"run:{run_id} event 1", "the terms of a run", error.message)
            return
        if started.forked_from is not None:
            yield from self._forks.check(run_id, started)
        yield from self._snapshots(run_id)

    # Snapshots

    def _snapshots(self, run_id: str) -> Iterator[VerifyFinding]:
        proven = _Proven(LogHead(run_id), RunState(run_id))
        number, weight, is_whole = 0, 0, True
        events = _Window(self._truth, run_id)
        query = "SELECT seq, snapshot, record FROM snapshots WHERE run = ? ORDER BY seq"
        for seq, name, data in self._rows(query, run_id):
            place, number = f"run:{run_id} snapshot {seq}", number + 1
            record = read_snapshot_record(data)
            if (record.run_id, record.sequence, seq, "sn_" + record.digest[7:39]) != (run_id, number, number, name):
                yield VerifyFinding(
                    "BROKEN", "record-key", place, f"{record.run_id} {record.sequence}", f"{run_id} {seq}"
                )
                return
            if self._reported(owner(run_id), record.body, place):
                return
            if record.weight and proven.snapshot is None:
                yield VerifyFinding("BROKEN", "snapshot-text", place, "a complete snapshot", "an addition")
                return
            try:
                snapshot = self._truth.runs.snapshots.read(record, proven.snapshot or {})
                since = events.until(record.event)
            except SlicebaseError as error:
                if error.code != "purged":
                    yield VerifyFinding("BROKEN", "snapshot-text", place, record.body, error.message)
                return
            is_whole = is_whole and self._is_whole(record, since)
            weight = weight + self._size(record) if record.weight else 0
            if is_whole and weight != record.weight:
                yield VerifyFinding("BROKEN", "snapshot-text", place, f"weight {weight}", f"weight {record.weight}")
                return
            folded = _Folded.of(proven, since[:-1], snapshot) if is_whole else None
            found = list(self._one(snapshot, record, proven, folded, since, place))
            yield from found
            if found:
                return
            if record.status == "PASS":
                proven = proven.followed_by(snapshot, folded, since[-1])
        yield from self._recorded(run_id, number, events)

    def _one(
        self,
        snapshot: dict[str, Json],
        record: SnapshotRecord,
        proven: "_Proven",
        folded: "_Folded | None",
        since: list[Event],
        place: str,
    ) -> Iterator[VerifyFinding]:
        """Compares a snapshot with its record, its event, and the log that it was folded from.

        After a purge of some strings, only the names can be compared.
        """
        if folded is None:
            named = since[-1].payload.get("snapshot_id") if since else None
            if named != snapshot["snapshot_id"]:
                yield VerifyFinding("BROKEN", "snapshot-event", place, snapshot["snapshot_id"], str(named))
            return
        parts = parts_of(snapshot.get("state"), proven.parts)
        if (derived := snapshot_digest(snapshot, parts)) != record.digest:
            yield VerifyFinding("BROKEN", "snapshot-id", place, record.digest, derived)
            return
        logged = {"snapshot_id": snapshot["snapshot_id"], "sequence": record.sequence, "status": record.status}
        recorded = since[-1] if since else None
        whole = whole_digest(snapshot, record.digest)
        if recorded is None or recorded.payload != {**logged, "digest": whole}:
            yield VerifyFinding("BROKEN", "snapshot-event", place, whole, str(recorded and recorded.payload))
            return
        started = self._truth.runs.log.started(record.run_id)
        runs = self._truth.runs
        events = tuple(since[:-1])
        inputs = Inputs(started, proven.snapshot, proven.head, events, runs.ledger.readable, runs.manifests)
        inputs = inputs._replace(bound_before=partial(runs.bound_steps, record.run_id, proven.head.seq))
        if not same_content(snapshot, parts, folded.snapshot, folded.parts):
            derived = snapshot_digest(folded.snapshot, folded.parts)
            yield VerifyFinding("BROKEN", "snapshot-fold", place, derived, record.digest)
        if record.status == "PASS":  # what failed then may pass now, with evidence that was added later
            failed = [result.name for result in check(snapshot, inputs, parts) if result.status == "FAIL"]
            if failed or snapshot["validation"]["status"] != "PASS":
                yield VerifyFinding("BROKEN", "snapshot-checks", place, "PASS", ", ".join(failed))

    def _is_whole(self, record: SnapshotRecord, since: list[Event]) -> bool:
        """Returns whether nothing was purged from a snapshot, and from the events that it was folded from."""
        body = self._truth.texts.get(owner(record.run_id), record.body)
        return body is not None and body.purged is None and not any(isinstance(each, PurgedEvent) for each in since)

    def _size(self, record: SnapshotRecord) -> int:
        body = self._truth.texts.get(owner(record.run_id), record.body)
        return len(body.data or b"") if body else 0

    def _recorded(self, run_id: str, number: int, events: "_Window") -> Iterator[VerifyFinding]:
        missing = sum(event.type == "SNAPSHOT" for event in events.rest())
        if missing:
            yield VerifyFinding(
                "BROKEN", "snapshot-missing", f"run:{run_id}", f"{number + missing} snapshots", str(number)
            )

    # Evidence

    def evidence(self, look_up: Callable[[Evidence], Lookup | None]) -> Iterator[VerifyFinding]:
        """Yields what is wrong with the evidence ledger."""
        query = "SELECT evidence, chunk, record FROM evidence ORDER BY evidence"
        for name, chunk, data in self._rows(query):
            if record_id(data) != name:
                yield VerifyFinding("BROKEN", "evidence-id", name, name, record_id(data))
                continue
            record = read_record(name, data)
            if record.chunk_id != chunk:
                yield VerifyFinding("BROKEN", "evidence-key", name, record.chunk_id, chunk)
            elif not self._reported(record.corpus_id, record.quote_hash, name):
                yield from self.quote(record, look_up)

    def quote(self, record: Evidence, look_up: Callable[[Evidence], Lookup | None]) -> Iterator[VerifyFinding]:
        """Yields what is wrong with the quote of some evidence."""
        stored = self._truth.texts.get(record.corpus_id, record.quote_hash)
        if stored is None:
            yield VerifyFinding("BROKEN", "quote-missing", record.evidence_id, record.quote_hash, "no text")
            return
        now = look_up(record) if stored.data is not None else None  # a purged quote is reported as a text
        if now is None:
            return
        resolution = resolve(self._truth.ledger[record.evidence_id], now)
        if resolution.status in ("changed", "gone"):
            # A turn never changes: a quote that is not in it now never was.
            broken = record.chunk_id.startswith("turn:") and resolution.status == "changed"
            status: VerifyStatus = "BROKEN" if broken else "DRIFTED"
            yield VerifyFinding(
                status, "quote", f"{record.evidence_id} {record.chunk_id}", record.quote_hash, resolution.status
            )


def _manifest_of(stored: StoredEvent) -> str | None:
    """Returns the manifest that an event names, or None where that cannot be read."""
    try:
        name = stored.event.payload.get("manifest_id")
    except SlicebaseError:
        return None
    return name if isinstance(name, str) else None


class _Proven(NamedTuple):
    """What was derived of a run so far: the last snapshot that passed, and the state and the head of the log before it.

    The snapshot has the objects of the state, so that the next one shares with it what does not change.
    """

    head: LogHead
    state: RunState
    recorded: tuple[Event, ...] = ()  # the event of the snapshot, which is not in the state yet
    snapshot: dict[str, Json] | None = None
    parts: StateParts | None = None

    def followed_by(self, snapshot: dict[str, Json], folded: "_Folded | None", event: Event) -> "_Proven":
        """Returns what is proven after a snapshot that passed, and that is the one that was folded."""
        head = LogHead(event.run_id, event.seq, event.hash)
        if folded is None:  # something was purged: nothing is folded any more
            return _Proven(head, self.state, snapshot=snapshot)
        return _Proven(head, folded.state, (event,), {**snapshot, "state": folded.snapshot["state"]}, folded.parts)


class _Folded(NamedTuple):
    """A snapshot as it follows from the log: its state, its values without an id, and the parts of those."""

    state: RunState
    snapshot: dict[str, Json]
    parts: StateParts | None

    @classmethod
    def of(cls, proven: _Proven, events: list[Event], stored: Mapping[str, Json]) -> "_Folded":
        state = fold(proven.state, (*proven.recorded, *events))
        snapshot = without_id(state, stored.get("created_at", ""))
        return cls(state, snapshot, parts_of(snapshot["state"], proven.parts))


class _Window:
    """The events of a run, read once from beginning to end."""

    def __init__(self, truth: Truth, run_id: str) -> None:
        self._events = (stored.event for stored in truth.runs.log.events(run_id))

    def until(self, seq: int) -> list[Event]:
        """Returns the next events up to this number."""
        events: list[Event] = []
        for event in self._events:
            events.append(event)
            if event.seq >= seq:
                break
        return events

    def rest(self) -> Iterator[Event]:
        """Yields the events that are left."""
        try:
            yield from self._events
        except SlicebaseError:  # purged: reported as a text
            return


def _shown(row: Any) -> str:
    return ", ".join(value.hex() if isinstance(value, bytes) else str(value) for value in row or ())
