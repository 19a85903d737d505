"""Writes the events of one run in one transaction: the compactions, the stop and the warnings that they cause.

The event that stops a run (a gate that refuses, or an exceeded budget), or that is a loop, is stored first, and then
raised as an error.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from slicebase.core.hashing import LARGEST_INTEGER
from slicebase.errors import SlicebaseError
from slicebase.runs.checks import Inputs
from slicebase.runs.event import Event, EventDraft, move_to_blobs
from slicebase.runs.gate import (
    UNLIMITED,
    Thresholds,
    admit,
    budgets_of,
    compact,
    exceeded,
    is_due,
    stopped,
    with_inherited,
)
from slicebase.runs.guards import LOOP_ALLOWED, allows, guards_of, loop_logged, near_limits
from slicebase.runs.loops import LOOKED_AT
from slicebase.runs.records import StopReason
from slicebase.runs.status import RunTally
from slicebase.truth.run_log import Appender
from slicebase.truth.snapshots import StoredSnapshot

if TYPE_CHECKING:
    from slicebase.truth.runs import StoredRuns

LOOP_FOUND = "loop-found"  # the error of a run whose guard stops loops
FARTHEST_STEP = LARGEST_INTEGER // 2  # that an agent may name; as many numbers are left for the steps that follow


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
    warnings: tuple[str, ...] = ()  # of loops, and of budgets that are nearly spent

    def __repr__(self) -> str:
        named = f", id={self.id!r}" if self.id else ""
        return f"Logged(run={self.tally.run_id!r}, first={self.first}, last={self.last}{named})"


class RunWriter:
    """Writes events to the log of one run in one transaction, with the compactions and the stop that they cause."""

    def __init__(
        self,
        runs: "StoredRuns",
        appender: Appender,
        now: str,
        thresholds: Thresholds | None = None,
        *,
        watch: bool = True,
    ) -> None:
        self._runs = runs
        self._appender = appender
        self._now = now
        self._thresholds = thresholds
        self._first = appender.tally.seq + 1
        self._started = runs.log.started(appender.tally.run_id)
        self._budgets = budgets_of(self._started.done_definition)
        self._guards = guards_of(self._started.done_definition)
        # What was done before it was projected can neither be stopped nor done otherwise.
        self._watches = self._guards.loop != "off" and not self._started.projected_from
        self._notes_loops = watch  # an event that closes what was interrupted is looked at, and completes no loop
        self._loops = runs.take_loop_guard(appender.tally) if self._watches else None
        self._unseen: list[Event] = []  # that the guard has still to look at
        self._acts = runs.log.acts()
        self._compacted: StoredSnapshot | None = None  # the last snapshot of this transaction that passed
        self._snapshots: list[str] = []
        self._warnings: list[str] = []
        self._stop: SlicebaseError | None = None
        self._loop: SlicebaseError | None = None
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
        before = self._appender.tally
        self._watch(self._append(draft))
        tally = self._appender.tally
        limited = self._budgets != UNLIMITED
        over = exceeded(self._budgets, with_inherited(tally.spent, self._started)) if limited else None
        if over:  # the event that exceeds the budget is kept
            self.close("BUDGET_EXCEEDED", over)
            self._stop = self._stop or SlicebaseError(
                "budget-exceeded", f"run:{tally.run_id} has stopped after event {tally.seq}: {over}"
            )
            return
        if limited:
            self._warn_of_limits(before, tally)
        self.compact_when_due()

    def _warn_of_limits(self, before: RunTally, after: RunTally) -> None:
        """Warns once of each budget that is nearly spent: by the event with which it comes to that."""
        near, known = (
            near_limits(self._budgets, with_inherited(tally.spent, self._started), self._guards.soft)
            for tally in (after, before)
        )
        self._warnings += [f"run:{after.run_id}: {near[name]}" for name in near if name not in known]

    def _watch(self, event: Event) -> None:
        """Notes a loop that an event completes or continues, unless loops are allowed now."""
        if not self._watches or event.type not in LOOKED_AT:
            return
        if not self._notes_loops:
            if self._loops is not None:
                self._loops.add(event)
            return
        self._unseen.append(event)
        if self._loops is None:
            if event.type != "OBSERVE_DONE" or not any(each.payload for each in self._unseen):
                return  # it cannot complete a loop: the log need not be read
            self._loops = self._runs.read_loop_guard(event.run_id, before=self._unseen[0].seq)
        self._loops.content = self._content
        loop = [self._loops.add(each) for each in self._unseen][-1]
        self._unseen.clear()
        if loop is None or self._allows(event):
            return
        self._append(EventDraft.of("LOOP", loop_logged(loop), step=event.step))
        if self._guards.loop == "stop":
            hint = f"try something else, or `tt run allow-loop {event.run_id} --steps N --reason TEXT`"
            self._loop = SlicebaseError(LOOP_FOUND, f"run:{event.run_id}: {loop.message}", hint=hint)
        else:
            self._warnings.append(f"run:{event.run_id}: {loop.message}")

    def _content(self, name: str) -> str | None:
        self._appender.flush()  # what is compared may be in this transaction
        return self._runs.content(self._appender.tally.run_id, name)

    def _allows(self, event: Event) -> bool:
        self._appender.flush()  # what allows loops may be in this transaction
        allowed = self._runs.items(event.run_id).event(LOOP_ALLOWED, "")
        return allowed is not None and allows(allowed, event.step, self._now)

    def _check_step(self, step: int) -> None:
        """Raises an error for a step so far away that none could follow, unless the run has come as far itself."""
        if step > self._runs.log.last_step(self._appender.tally.run_id):
            raise SlicebaseError("bad-event", f"the step is not a number from 0 to {FARTHEST_STEP}")

    def compact_when_due(self) -> None:
        tally = self._appender.tally
        limits = None if tally.stopped else self._thresholds
        if limits is not None and is_due(tally.counted, tally.steps, limits):
            self.compact()

    def _append(self, draft: EventDraft) -> Event:
        try:
            return self._appender.append(draft, self._now)
        except SlicebaseError as error:
            if error.code != "payload-too-large":
                raise
            spilled, blobs = move_to_blobs(draft)
            event = self._appender.append(spilled, self._now)
            self._appender.keep_blobs(blobs)
            return event

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
            hint=f"`tt run fork {tally.run_id}` continues from the last snapshot that passed"
            if previous
            else "no snapshot of it has passed: start another run",
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
        tally = self._appender.tally
        if self._loops is not None:
            self._runs.keep_loop_guard(tally, self._acts, self._loops)
        if error := self._stop or self._loop:
            raise error
        last = tally.seq if self._last is None else self._last
        return Logged(self._first, last, tuple(self._snapshots), tally, warnings=tuple(self._warnings))
