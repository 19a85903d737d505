"""Where a run stands, kept up to date event by event, so that appending needs to read nothing else of its log."""

from collections.abc import Iterable
from typing import NamedTuple

from slicebase.runs.budget import Spent, cost_of, seconds_between
from slicebase.runs.event import TERMINAL, Event, Head


class Tally(NamedTuple):
    """Counts since the last snapshot that passed (ruling 34), and over the whole run.

    `compacted` is the number of the event that recorded that snapshot, `sequence` the snapshot's own.
    """

    run_id: str
    seq: int = 0
    hash: str | None = None
    started: str = ""
    updated: str = ""
    sequence: int = 0
    compacted: int = 0
    counted: int = 0
    steps: int = 0
    all_steps: int = 0
    cost: float = 0.0
    stopped: str | None = None

    @property
    def head(self) -> Head:
        return Head(self.run_id, self.seq, self.hash)

    @property
    def spent(self) -> Spent:
        return Spent(self.all_steps, seconds_between(self.started, self.updated), self.cost)


def advance(tally: Tally, event: Event, step_last_at: int | None) -> Tally:
    """The tally after an event. `step_last_at` is the number of the terminal event that had its step before."""
    counts = event.type in TERMINAL
    tally = tally._replace(
        seq=event.seq,
        hash=event.hash,
        started=tally.started or event.time,
        updated=event.time,
        counted=tally.counted + counts,
        steps=tally.steps + (counts and (step_last_at is None or step_last_at <= tally.compacted)),
        all_steps=tally.all_steps + (counts and step_last_at is None),
        cost=tally.cost + cost_of(event.payload),
    )
    if event.type == "SNAPSHOT" and event.payload.get("status") == "PASS":
        return tally._replace(sequence=tally.sequence + 1, compacted=event.seq, counted=0, steps=0)
    if event.type == "RUN_STOPPED":
        return tally._replace(stopped=str(event.payload.get("reason")))
    return tally


def tally_of(run_id: str, events: Iterable[Event]) -> Tally:
    """The tally of a whole log."""
    tally = Tally(run_id)
    last_at: dict[int | None, int] = {}
    for event in events:
        tally = advance(tally, event, last_at.get(event.step) if event.type in TERMINAL else None)
        if event.type in TERMINAL:
            last_at[event.step] = event.seq
    return tally
