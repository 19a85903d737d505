"""Runs: the functions that write and read them. Each reads, calls the pure functions, and writes in one transaction."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache, partial
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

from slicebase.core.hashing import digest
from slicebase.core.times import from_text, to_text
from slicebase.errors import SlicebaseError
from slicebase.runs.checks import Inputs, QuoteCondition
from slicebase.runs.event import ChainLink, Event, EventDraft
from slicebase.runs.evidence import Evidence, Lookup, resolve
from slicebase.runs.forks import fork, inheritance
from slicebase.runs.gate import Thresholds, check_before_logging, check_id, check_terms, start, state_of
from slicebase.runs.guards import LOOP_ALLOWED
from slicebase.runs.items import Items
from slicebase.runs.loops import WINDOW, LoopGuard
from slicebase.runs.manifests import ManifestsLogged
from slicebase.runs.records import LoopAllowed, RunStarted, StopReason
from slicebase.runs.snapshot import from_bytes, to_bytes
from slicebase.runs.state import ITEMS, Json, RunState, fold
from slicebase.runs.status import RunEntry, RunTally
from slicebase.truth.items import StoredItems
from slicebase.truth.ledger import Ledger
from slicebase.truth.run_log import RunLog, owner, run_closed
from slicebase.truth.run_writer import Logged, RunWriter
from slicebase.truth.snapshots import Snapshots, StoredSnapshot

NO_BLOBS: Mapping[str, bytes] = MappingProxyType({})
_LONGEST_COMPARED = 256 * 1024  # bytes of an outcome outside its event in which times and the like are no difference
_MOST_KEPT = 4096  # conditions of quotes during a compaction


_MOST_STATES = 4


class _KnownState(NamedTuple):
    """The state of a run at a place in its log, when the database had so many acts."""

    tally: RunTally
    acts: int
    state: RunState

    def is_before(self, tally: RunTally, acts: int) -> bool:
        """Returns whether events alone lead from here to a later tally: no snapshot that passed, and no purge."""
        return self.acts == acts and self.tally.compacted == tally.compacted and self.tally.seq <= tally.seq


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
        self._states: dict[str, _KnownState] = {}  # of the last runs that were read: newer events are added to them
        # The guard of the last written run, the hash of its end, and how many acts the database had then
        self._loops: tuple[str | None, int, LoopGuard] | None = None

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
                raise _no_snapshot(run_id)
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

    # The loop guard: it is continued where this process wrote last, and else begins with the last events of the run

    def take_loop_guard(self, tally: RunTally) -> LoopGuard | None:
        """Returns the guard that has seen the run up to here, with no purge since.

        It is kept again only after its transaction: one that is rolled back leaves nothing behind.
        """
        known, self._loops = self._loops, None
        return known[2] if known and known[:2] == (tally.hash, self.log.acts()) else None

    def keep_loop_guard(self, tally: RunTally, acts: int, guard: LoopGuard) -> None:
        """Keeps the guard for the next transaction, if nobody else writes to the run before."""
        self._loops = tally.hash, acts, guard

    def read_loop_guard(self, run_id: str, before: int) -> LoopGuard:
        """Returns a guard that has seen the last events before the one with this number."""
        guard = LoopGuard(partial(self.content, run_id))
        for stored in self.log.events(run_id, after=before - WINDOW):
            if stored.link.seq < before and stored.payload is not None:  # a purge leaves nothing to compare
                guard.add(stored.event)
        return guard

    def content(self, run_id: str, name: str) -> str | None:
        """Returns the text of content outside an event, if it is there and not too long to be compared."""
        found = self.ledger.texts.get(owner(run_id), name)
        data = found.data if found else None
        return data.decode(errors="replace") if data is not None and len(data) <= _LONGEST_COMPARED else None

    def allow_loops(self, run_id: str, reason: str, steps: int | None, until: int | None, now: int) -> Logged:
        """Allows loops in a run for so many further steps, or until a time."""
        with self.log.appending(run_id) as appender:
            last = self.log.last_step(run_id) + steps if steps is not None else None
            allowed = LoopAllowed(reason=reason, until_step=last, until=None if until is None else to_text(until))
            writer = RunWriter(self, appender, to_text(now))
            writer.add_own(EventDraft.of(LOOP_ALLOWED, allowed))
            writer.sign()
        return writer.outcome()

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

    def latest(self, run_id: str, last: int | None = None) -> StoredSnapshot | None:
        """Returns the last snapshot of a run that passed, up to a time, or None."""
        found = self._previous(self.log.tally(run_id))
        if last is None or found is None or _is_until(last, found):
            return found
        passed = [record.sequence for record in self.snapshots.records(run_id) if record.status == "PASS"]
        earlier = (self.snapshots.get(run_id, sequence) for sequence in reversed(passed))
        return next(filter(partial(_is_until, last), earlier), None)

    def snapshot(self, run_id: str, sequence: int | None = None) -> dict[str, Json]:
        """Returns a snapshot by its id, or by its run and number (by default, the last that passed)."""
        if run_id.startswith("sn_"):
            return self.snapshots.find(run_id).snapshot
        if sequence is not None:
            return self.snapshots.get(run_id, sequence).snapshot
        latest = self.latest(run_id)
        if latest is None:
            raise _no_snapshot(run_id)
        return from_bytes(to_bytes(latest.snapshot))  # a copy: what passed stays as it is, whatever the caller does

    def later(self, snapshot_id: str) -> str | None:
        """Returns the id of the last snapshot that passed in the run of this snapshot, if it is later than this one."""
        place = self.snapshots.place_of(snapshot_id)
        latest = self.latest(place[0]) if place else None
        return str(latest.snapshot["snapshot_id"]) if latest and place and latest.record.sequence > place[1] else None

    def state(self, run_id: str, events: Sequence[Event] | None = None) -> RunState:
        """Returns the state of a run, including its newest events. `events` are all of them, if they are read."""
        with self.log.reading():
            tally, acts, known = self.log.tally(run_id), self.log.acts(), self._states.pop(run_id, None)
            if known and known.is_before(tally, acts) and self.log.head_at(run_id, known.tally.seq) == known.tally.head:
                later = (stored.event for stored in self.log.events(run_id, after=known.tally.seq))
                state = fold(known.state, later) if known.tally.seq < tally.seq else known.state
            else:
                state = state_of(self.inputs(tally, self._previous(tally), events))
        self._states[run_id] = _KnownState(tally, acts, state)
        if len(self._states) > _MOST_STATES:
            del self._states[next(iter(self._states))]
        return state

    def inputs(self, tally: RunTally, previous: StoredSnapshot | None, events: Sequence[Event] | None = None) -> Inputs:
        """Returns the inputs of a compaction: the previous snapshot, and all events since."""
        return Inputs(
            started=self.log.started(tally.run_id),
            previous=previous.snapshot if previous else None,
            head=self.log.head_at(tally.run_id, tally.compacted),
            events=tuple(self._since(tally) if events is None else events[tally.compacted :]),
            evidence=self.ledger.readable,
            manifests=self.manifests,
            condition=lru_cache(_MOST_KEPT)(self._condition),  # many claims may cite one text
            parts=previous.parts if previous else None,
            bound_before=partial(self.bound_steps, tally.run_id, tally.compacted),
        )

    def _since(self, tally: RunTally) -> Iterator[Event]:
        return (stored.event for stored in self.log.events(tally.run_id, after=tally.compacted))

    def bound_steps(self, run_id: str, last: int, wanted: Set[int]) -> set[int]:
        """Returns which of these steps have manifests up to an event. It is read backwards: most are near."""
        found, size = set[int](), WINDOW
        while last > 0 and not wanted <= found:
            first = max(0, last - size)
            links = (stored.link for stored in self.log.events(run_id, after=first))
            until = takewhile(partial(_is_up_to, last), links)
            found |= {link.step for link in until if link.type == "MANIFEST" and link.step is not None}
            last, size = first, size * 2
        return found & wanted

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


def _is_up_to(last: int, link: ChainLink) -> bool:
    return link.seq <= last


def _is_until(last: int, found: StoredSnapshot) -> bool:
    return from_text(found.snapshot["created_at"]) <= last


def _no_snapshot(run_id: str) -> SlicebaseError:
    return SlicebaseError("no-snapshot", f"run:{run_id} has no snapshot that passed", hint="`tt run compact` takes one")
