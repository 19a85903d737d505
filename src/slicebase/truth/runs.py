"""Runs: the verbs that write and read them. Each reads, asks the pure functions, and writes in one transaction.

What stops a run (a gate that refuses, a budget that is spent) is stored first, and raised when it is stored.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.runs.checks import Inputs
from slicebase.runs.event import Event, EventDraft, spill
from slicebase.runs.gate import (
    UNLIMITED,
    Thresholds,
    admit,
    budgets_of,
    compact,
    exceeded,
    fork,
    is_due,
    refuse_at_door,
    start,
    state_of,
    stopped,
)
from slicebase.runs.records import RunStarted, StopReason
from slicebase.runs.state import RunState
from slicebase.runs.status import RunTally
from slicebase.truth.ledger import Ledger
from slicebase.truth.run_log import Appender, RunLog, closed
from slicebase.truth.snapshots import Snapshots, StoredSnapshot


class Logged(NamedTuple):
    """What a call wrote: the numbers of its first and last event, its snapshots, and where the run stands now."""

    first: int
    last: int
    snapshots: tuple[str, ...]
    tally: RunTally


class Runs:
    def __init__(self, log: RunLog, snapshots: Snapshots, ledger: Ledger) -> None:
        self.log = log
        self.snapshots = snapshots
        self.ledger = ledger
        self._latest: StoredSnapshot | None = None  # of the run that was read last

    # Writing

    def start(self, run_id: str, terms: RunStarted, now: int) -> RunTally:
        return self.begin(run_id, [start(run_id, terms)], now)

    def fork(self, run_id: str, new_run_id: str, now: int) -> RunTally:
        """A run that goes on from another's last snapshot that passed."""
        latest = self.latest(run_id)
        if latest is None:
            raise SlicebaseError(
                "no-snapshot", f"run:{run_id} has no snapshot that passed", hint="`tt run compact` takes one"
            )
        return self.begin(new_run_id, fork(new_run_id, latest.snapshot), now)

    def begin(self, run_id: str, drafts: Iterable[EventDraft], now: int) -> RunTally:
        """A new run with its first events."""
        with self.log.appending(run_id, create=True) as appender:
            for draft in drafts:
                appender.append(draft, to_text(now))
        return appender.tally

    def append(
        self, run_id: str, drafts: Iterable[EventDraft], now: int, thresholds: Thresholds | None = None
    ) -> Logged:
        """Logs what an agent says, as it is (ruling 35). With thresholds, the run is compacted whenever that is due."""
        with self.log.appending(run_id) as appender:
            writing = _Writing(self, appender, to_text(now), thresholds)
            for draft in drafts:
                writing.take(draft)
                if appender.tally.stopped:
                    break
            writing.compact_when_due()
        return writing.outcome()

    def say(self, run_id: str, draft: EventDraft, now: int, thresholds: Thresholds | None = None) -> Logged:
        """Logs one event. What the gate would refuse is refused at once."""
        with self.log.appending(run_id) as appender:
            refuse_at_door(draft, self.state(run_id), self.ledger.records, to_text(now))
            writing = _Writing(self, appender, to_text(now), thresholds)
            writing.take(draft)
        return writing.outcome()

    def compact(self, run_id: str, now: int) -> Logged:
        """Takes a snapshot, or stops the run where it does not pass (ruling 40)."""
        with self.log.appending(run_id) as appender:
            writing = _Writing(self, appender, to_text(now))
            writing.compact()
        return writing.outcome()

    def stop(self, run_id: str, reason: StopReason, message: str, now: int) -> Logged:
        """Closes a run, behind a last snapshot, so that what it ends with is proven too."""
        with self.log.appending(run_id) as appender:
            writing = _Writing(self, appender, to_text(now))
            writing.close(reason, message)
        return writing.outcome()

    # Reading

    def is_closed(self, run_id: str) -> bool:
        return self.log.tally(run_id).stopped is not None

    def check_open(self, run_id: str) -> None:
        tally = self.log.tally(run_id)
        if tally.stopped is not None:
            raise closed(tally)

    def events(self, run_id: str) -> Iterator[Event]:
        self.log.tally(run_id)
        return (stored.event for stored in self.log.events(run_id))

    def terms(self, run_id: str) -> RunStarted | None:
        """What a run started with; None where that was purged."""
        try:
            return self.log.started(run_id)
        except SlicebaseError as error:
            if error.code != "purged":
                raise
            return None

    def latest(self, run_id: str) -> StoredSnapshot | None:
        """The last snapshot of a run that passed."""
        return self._previous(self.log.tally(run_id))

    def later(self, snapshot_id: str) -> str | None:
        """The last snapshot that passed of a snapshot's run, where that is a later one."""
        place = self.snapshots.place_of(snapshot_id)
        latest = self.latest(place[0]) if place else None
        return str(latest.snapshot["snapshot_id"]) if latest and place and latest.record.sequence > place[1] else None

    def state(self, run_id: str) -> RunState:
        """What a run knows, its newest events included."""
        tally = self.log.tally(run_id)
        return state_of(self.inputs(tally, self._previous(tally)))

    def inputs(self, tally: RunTally, previous: StoredSnapshot | None) -> Inputs:
        """What a compaction works from: the snapshot before, and everything since."""
        return Inputs(
            started=self.log.started(tally.run_id),
            previous=previous.snapshot if previous else None,
            head=self.log.head_at(tally.run_id, tally.compacted),
            events=tuple(stored.event for stored in self.log.events(tally.run_id, after=tally.compacted)),
            evidence=self.ledger.records,
        )

    def _previous(self, tally: RunTally) -> StoredSnapshot | None:
        if tally.sequence == 0:
            return None
        known = self._latest.record if self._latest else None
        if known is None or (known.run_id, known.sequence) != (tally.run_id, tally.sequence):
            self._latest = self.snapshots.get(tally.run_id, tally.sequence)
        return self._latest

    def remember(self, latest: StoredSnapshot | None) -> None:
        """Keeps a snapshot in memory once its transaction has ended; None forgets what is there."""
        self._latest = latest


class _Writing:
    """Events that go into one run's log in one transaction, with the compactions and the stop that follow from them."""

    def __init__(self, runs: Runs, appender: Appender, now: str, thresholds: Thresholds | None = None) -> None:
        self._runs = runs
        self._appender = appender
        self._now = now
        self._thresholds = thresholds
        self._first = appender.tally.seq + 1
        self._started = runs.log.started(appender.tally.run_id)
        self._budgets = budgets_of(self._started.done_definition)
        self._previous = runs.latest(appender.tally.run_id)
        self._snapshots: list[str] = []
        self._stop: SlicebaseError | None = None

    def take(self, draft: EventDraft) -> None:
        self._append(admit(draft, self._started))
        tally = self._appender.tally
        over = exceeded(self._budgets, tally.spent) if self._budgets != UNLIMITED else None
        if over:  # the event that exceeds is kept
            self.close("BUDGET_EXCEEDED", over)
            self._stop = self._stop or SlicebaseError(
                "budget-exceeded", f"run:{tally.run_id} has stopped behind event {tally.seq}: {over}"
            )
        else:
            self.compact_when_due()

    def compact_when_due(self) -> None:
        tally = self._appender.tally
        limits = None if tally.stopped else self._thresholds
        if limits is not None and is_due(tally.counted, tally.steps, limits):
            self.compact()

    def _append(self, draft: EventDraft) -> None:
        try:
            self._appender.append(draft, self._now)
        except SlicebaseError as error:
            if error.code != "payload-too-large":
                raise
            spilled, blobs = spill(draft)
            self._appender.append(spilled, self._now)
            self._appender.keep_blobs(blobs)

    def compact(self) -> None:
        self._appender.flush()
        tally = self._appender.tally
        compaction = compact(self._reading(tally), self._now)
        recorded = self._appender.append(compaction.drafts[0], self._now)
        kept = self._runs.snapshots.keep(compaction, self._previous, recorded.seq)
        self._snapshots.append(compaction.snapshot["snapshot_id"])
        if compaction.passed:
            self._previous = kept
            return
        for draft in compaction.drafts[1:]:
            self._appender.append(draft, self._now)
        self._stop = SlicebaseError(
            "gate-refused",
            f"snapshot {kept.record.sequence} of run:{tally.run_id} did not pass, and the run has stopped: "
            f"{compaction.diagnosis}",
            hint=f"`tt run fork {tally.run_id}` goes on from the last snapshot that passed",
        )

    def _reading(self, tally: RunTally) -> Callable[[], Inputs]:
        """Reads a compaction's inputs: with the snapshot before from memory, for a retry from the database."""
        in_memory = [self._previous]

        def read() -> Inputs:
            if in_memory:
                return self._runs.inputs(tally, in_memory.pop())
            stored = self._runs.snapshots.get(tally.run_id, tally.sequence) if tally.sequence else None
            return self._runs.inputs(tally, stored)

        return read

    def close(self, reason: StopReason, message: str) -> None:
        if self._appender.tally.compacted < self._appender.tally.seq:
            self.compact()
        if self._stop is None:
            self._appender.append(stopped(reason, message), self._now)

    def outcome(self) -> Logged:
        """After the transaction: what it wrote, or what stopped the run."""
        self._runs.remember(self._previous)
        if self._stop is not None:
            raise self._stop
        return Logged(self._first, self._appender.tally.seq, tuple(self._snapshots), self._appender.tally)
