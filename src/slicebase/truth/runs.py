"""Runs: the functions that write and read them. Each reads, calls the pure functions, and writes in one transaction.

The event that stops a run (a gate that refuses, or an exceeded budget) is stored first, and then raised as an error.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from slicebase.core.hashing import LARGEST_INTEGER, digest
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.runs.checks import Inputs, QuoteCondition
from slicebase.runs.event import Event, EventDraft, move_to_blobs
from slicebase.runs.evidence import Evidence, Lookup, resolve
from slicebase.runs.forks import fork, inheritance
from slicebase.runs.gate import (
    UNLIMITED,
    Thresholds,
    admit,
    budgets_of,
    check_before_logging,
    check_id,
    check_terms,
    compact,
    exceeded,
    is_due,
    start,
    state_of,
    stopped,
    with_inherited,
)
from slicebase.runs.items import Items
from slicebase.runs.manifests import ManifestsLogged
from slicebase.runs.records import RunStarted, StopReason
from slicebase.runs.state import ITEMS, RunState
from slicebase.runs.status import RunEntry, RunTally
from slicebase.truth.items import StoredItems
from slicebase.truth.ledger import Ledger
from slicebase.truth.run_log import Appender, RunLog, owner, run_closed
from slicebase.truth.snapshots import Snapshots, StoredSnapshot

FARTHEST_STEP = LARGEST_INTEGER // 2  # that an agent may name; as many numbers are left for the steps that follow
NO_BLOBS: Mapping[str, bytes] = MappingProxyType({})


class Logged(NamedTuple):
    """What a call wrote: the numbers of its first and last event, its snapshots, and the tally of the run after it."""

    first: int
    last: int
    snapshots: tuple[str, ...]
    tally: RunTally
    id: str = ""  # of the claim, conflict or failure that was logged
    ref: str = ""  # the reference of the claim that was logged; conflicts and failures have none
    redacted: Mapping[str, int] = {}  # secrets that were replaced, by rule
    interrupted_steps: tuple[int, ...] = ()  # that were closed as failures, since nobody held them any more

    def __repr__(self) -> str:
        named = f", id={self.id!r}" if self.id else ""
        return f"Logged(run={self.tally.run_id!r}, first={self.first}, last={self.last}{named})"


class StoredRuns:
    """The runs of a database."""

    def __init__(self, log: RunLog, snapshots: Snapshots, ledger: Ledger, manifests: ManifestsLogged) -> None:
        self.log = log
        self.snapshots = snapshots
        self.ledger = ledger
        self.manifests = manifests
        self.look_up: Callable[[Evidence], Lookup] | None = None  # finds the text that evidence cites, as it is now
        self._latest: StoredSnapshot | None = None  # the last snapshot that was read
        self._acts = 0  # how many acts the database had then: a purge, also by another process, may have changed it

    # Writing

    def start(self, run_id: str, terms: RunStarted, now: int) -> RunTally:
        """Starts a run with these terms."""
        return self.begin(run_id, [start(run_id, terms)], now)

    def fork(self, run_id: str, new_run_id: str, now: int) -> RunTally:
        """Starts a run that continues from the last snapshot of another run that passed.

        It inherits what this run has spent of its budgets, also after the snapshot.
        """
        with self.log.writing():  # so that no purge comes between what is read and what is written
            tally, latest = self.log.tally(run_id), self.latest(run_id)
            if latest is None:
                raise SlicebaseError(
                    "no-snapshot", f"run:{run_id} has no snapshot that passed", hint="`tt run compact` takes one"
                )
            inherited = inheritance(run_id, tally.seq, tally.spent, self.log.started(run_id))
            return self.begin(new_run_id, fork(new_run_id, latest.snapshot, inherited), now)

    def begin(self, run_id: str, drafts: Iterable[EventDraft], now: int) -> RunTally:
        """Creates a run with its first events, of which the first has terms that can be read again."""
        check_id(run_id)
        with self.log.appending(run_id, create=True) as appender:
            for draft in drafts:
                if appender.tally.seq == 0:
                    check_terms(draft.payload)
                appender.append(draft, to_text(now))
            appender.sign(1, to_text(now))
        return appender.tally

    def unpurged(self, session: str, acts: int, drafts: Iterable[EventDraft]) -> Iterator[EventDraft]:
        """Yields drafts that were made from a session when the database had so many acts.

        Inside the transaction that adds them, raises `conflict` if the session was purged since: they hold its texts.
        """
        if f"session:{session}" in self.log.purged_since(acts):
            hint = "the same command uses what is left of it"
            raise SlicebaseError("conflict", f"session:{session} was purged while it was read", hint=hint)
        yield from drafts

    def append(
        self,
        run_id: str,
        drafts: Iterable[EventDraft],
        now: int,
        thresholds: Thresholds | None = None,
        blobs: Mapping[str, bytes] = NO_BLOBS,
    ) -> Logged:
        """Logs events as the agent reports them (ruling 35). With thresholds, compacts the run whenever it is due.

        `blobs` is content that the events name by its hash.
        """
        with self.log.appending(run_id) as appender:
            writer = RunWriter(self, appender, to_text(now), thresholds)
            appender.keep_blobs(blobs)
            for number, draft in enumerate(drafts):
                try:
                    writer.add(draft)
                except SlicebaseError as error:
                    error.item = number
                    raise
                if appender.tally.stopped:
                    break
            writer.compact_when_due()
            writer.sign()
        return writer.outcome()

    def append_checked(self, run_id: str, make: Callable[[Items], EventDraft], now: int) -> Logged:
        """Logs one event. Refuses at once an event that the gate would refuse.

        The event is made from the items inside the transaction, so that an id which it gives is free (ruling 47). Only
        the item that it changes is read, not the state of the run.
        """
        with self.log.appending(run_id) as appender:
            items = self.items(run_id)
            draft = make(items)
            item_id = draft.payload.get(ITEMS[draft.type].id) if draft.type in ITEMS else None
            state = items.state(draft.type, item_id if isinstance(item_id, str) else None)
            check_before_logging(
                draft, state, self.ledger.readable, self.manifests, to_text(now), self._stored_condition
            )
            writer = RunWriter(self, appender, to_text(now))
            writer.add(draft)
            writer.sign()
        name = "" if item_id is None else str(item_id)
        ref = f"claim:{run_id}/{name}" if name and draft.type == "CLAIM" else ""
        return writer.outcome()._replace(id=name, ref=ref)

    def items(self, run_id: str) -> StoredItems:
        """Returns the items of a run, to be read one by one."""
        return StoredItems(self.log.items, run_id, partial(self.log.event, run_id))

    def compact(self, run_id: str, now: int) -> Logged:
        """Takes a snapshot. Stops the run if the snapshot does not pass (ruling 40)."""
        with self.log.appending(run_id) as appender:
            writer = RunWriter(self, appender, to_text(now))
            writer.compact()
        return writer.outcome()

    def stop(self, run_id: str, reason: StopReason, message: str, now: int) -> Logged:
        """Stops a run after a last snapshot, so that its final state is proven, too."""
        with self.log.appending(run_id) as appender:
            writer = RunWriter(self, appender, to_text(now))
            writer.close(reason, message)
        return writer.outcome()

    # Reading

    def blob(self, run_id: str, name: str) -> bytes:
        """Returns content that an event names by its hash. Raises `no-blob` or `purged` if it is not there."""
        self.log.tally(run_id)
        found = self.ledger.texts.get(owner(run_id), name)
        if found is None:
            raise SlicebaseError("no-blob", f"run:{run_id} has no content {name}")
        if found.data is None:
            raise SlicebaseError("purged", f"{name} of run:{run_id} was purged {found.purged}")
        return found.data

    def is_closed(self, run_id: str) -> bool:
        return self.log.tally(run_id).stopped is not None

    def check_open(self, run_id: str) -> None:
        """Raises `run-closed` if the run has stopped."""
        tally = self.log.tally(run_id)
        if tally.stopped is not None:
            raise run_closed(tally)

    def events(self, run_id: str) -> Iterator[Event]:
        """Returns the events of a run. Raises `no-run` at once, not at the first event."""
        self.log.tally(run_id)
        return (stored.event for stored in self.log.events(run_id))

    def terms(self, run_id: str) -> RunStarted | None:
        """Returns the terms of a run, or None where they were purged or cannot be read."""
        return self.entry(self.log.tally(run_id)).terms

    def entry(self, tally: RunTally) -> RunEntry:
        """Returns a run for a list. One run that cannot be read keeps nobody from seeing the others."""
        try:
            return RunEntry(tally, self.log.started(tally.run_id))
        except SlicebaseError as error:
            return RunEntry(tally, None, "purged" if error.code == "purged" else error.message)

    def latest(self, run_id: str) -> StoredSnapshot | None:
        """Returns the last snapshot of a run that passed, or None."""
        return self._previous(self.log.tally(run_id))

    def later(self, snapshot_id: str) -> str | None:
        """Returns the id of the last snapshot that passed in the run of this snapshot, if it is later than this one."""
        place = self.snapshots.place_of(snapshot_id)
        latest = self.latest(place[0]) if place else None
        return str(latest.snapshot["snapshot_id"]) if latest and place and latest.record.sequence > place[1] else None

    def state(self, run_id: str) -> RunState:
        """Returns the state of a run, including its newest events."""
        tally = self.log.tally(run_id)
        return state_of(self.inputs(tally, self._previous(tally)))

    def inputs(self, tally: RunTally, previous: StoredSnapshot | None) -> Inputs:
        """Returns the inputs of a compaction: the previous snapshot, and all events since."""
        return Inputs(
            started=self.log.started(tally.run_id),
            previous=previous.snapshot if previous else None,
            head=self.log.head_at(tally.run_id, tally.compacted),
            events=tuple(stored.event for stored in self.log.events(tally.run_id, after=tally.compacted)),
            evidence=self.ledger.readable,
            manifests=self.manifests,
            condition=self._condition,
            parts=previous.parts if previous else None,
        )

    def _stored_condition(self, record: Evidence) -> QuoteCondition:
        """Returns what has become of the stored quote."""
        stored = self.ledger.texts.get(record.corpus_id, record.quote_hash)
        if stored is None or (stored.data is not None and digest(stored.data) != record.quote_hash):
            return "broken"
        return "purged" if stored.data is None else "found"

    def _condition(self, record: Evidence) -> QuoteCondition:
        """Returns what has become of a quote and of the text that it cites. A turn never changes."""
        condition = self._stored_condition(record)
        is_turn = condition == "found" and record.chunk_id.startswith("turn:")
        if condition == "broken" or is_turn or self.look_up is None:
            return condition
        return _CONDITIONS[resolve(self.ledger[record.evidence_id], self.look_up(record)).status]

    def _previous(self, tally: RunTally) -> StoredSnapshot | None:
        if tally.sequence == 0:
            return None
        known, acts = self._latest.record if self._latest else None, self.log.acts()
        if known is None or (known.run_id, known.sequence, self._acts) != (tally.run_id, tally.sequence, acts):
            self._latest, self._acts = self.snapshots.get(tally.run_id, tally.sequence), acts
        return self._latest

    def remember(self, latest: StoredSnapshot, acts: int) -> None:
        """Keeps a snapshot in memory after its transaction, in which the database had so many acts, has ended."""
        self._latest, self._acts = latest, acts


_CONDITIONS: Mapping[str, QuoteCondition] = {
    "found": "found",
    "changed": "drifted",
    "gone": "drifted",
    "purged": "purged",
}


class RunWriter:
    """Writes events to the log of one run in one transaction, with the compactions and the stop that they cause."""

    def __init__(self, runs: StoredRuns, appender: Appender, now: str, thresholds: Thresholds | None = None) -> None:
        self._runs = runs
        self._appender = appender
        self._now = now
        self._thresholds = thresholds
        self._first = appender.tally.seq + 1
        self._started = runs.log.started(appender.tally.run_id)
        self._budgets = budgets_of(self._started.done_definition)
        self._acts = runs.log.acts()
        self._compacted: StoredSnapshot | None = None  # the last snapshot of this transaction that passed
        self._snapshots: list[str] = []
        self._stop: SlicebaseError | None = None
        self._last: int | None = None  # the last event before the signature

    def sign(self) -> None:
        """Appends who wrote these events, if they are to be signed."""
        self._last = self._appender.tally.seq
        self._appender.sign(self._first, self._now)

    def add(self, draft: EventDraft) -> None:
        """Appends an event of an agent. Then stops the run if a budget is exceeded, or compacts it if that is due."""
        if draft.step is not None and draft.step > FARTHEST_STEP:
            self._check_step(draft.step)
        self.add_own(admit(draft, self._started))

    def add_own(self, draft: EventDraft) -> None:
        """Appends an event that only Slicebase writes, or that was admitted. Then stops or compacts the run as needed.

        A step that begins has the number that follows the last one, however high that is.
        """
        self._append(draft)
        tally = self._appender.tally
        limited = self._budgets != UNLIMITED
        over = exceeded(self._budgets, with_inherited(tally.spent, self._started)) if limited else None
        if over:  # the event that exceeds the budget is kept
            self.close("BUDGET_EXCEEDED", over)
            self._stop = self._stop or SlicebaseError(
                "budget-exceeded", f"run:{tally.run_id} has stopped after event {tally.seq}: {over}"
            )
        else:
            self.compact_when_due()

    def _check_step(self, step: int) -> None:
        """Raises an error for a step so far away that none could follow, unless the run has come as far itself."""
        if step > self._runs.log.last_step(self._appender.tally.run_id):
            raise SlicebaseError("bad-event", f"the step is not a number from 0 to {FARTHEST_STEP}")

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
            spilled, blobs = move_to_blobs(draft)
            self._appender.append(spilled, self._now)
            self._appender.keep_blobs(blobs)

    def compact(self) -> None:
        self._appender.flush()
        tally = self._appender.tally
        previous = self._compacted or self._runs.latest(tally.run_id)
        compaction = compact(self._input_reader(tally, previous), self._now)
        recorded = self._appender.append(compaction.drafts[0], self._now)
        kept = self._runs.snapshots.keep(compaction, previous, recorded.seq)
        self._snapshots.append(compaction.snapshot["snapshot_id"])
        if compaction.passed:
            self._compacted = kept
            return
        for draft in compaction.drafts[1:]:
            self._appender.append(draft, self._now)
        self._stop = SlicebaseError(
            "gate-refused",
            f"snapshot {kept.record.sequence} of run:{tally.run_id} did not pass, and the run has stopped: "
            f"{compaction.diagnosis}",
            hint=f"`tt run fork {tally.run_id}` continues from the last snapshot that passed",
        )

    def _input_reader(self, tally: RunTally, previous: StoredSnapshot | None) -> Callable[[], Inputs]:
        """Returns a function that reads the inputs of a compaction.

        The first call uses the previous snapshot in memory. A retry reads it from the database.
        """
        in_memory = [previous]

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
        """Returns what the transaction wrote, or raises the error that stopped the run. Call it after the commit."""
        if self._compacted is not None:
            self._runs.remember(self._compacted, self._acts)
        if self._stop is not None:
            raise self._stop
        tally = self._appender.tally
        return Logged(self._first, tally.seq if self._last is None else self._last, tuple(self._snapshots), tally)
