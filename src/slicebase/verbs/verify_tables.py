"""Derives the tables that are kept beside the log of a run again from the log, for verify.

Of a purged event, the chain still has the type, the step and the time. What only its payload said is taken from where
it was written a second time: the status of a snapshot from its record. Whether a step is watched follows from the hash
of the payload, which can be only one of two. What was written nowhere else, such as a cost, is taken from the table
itself, as far as that can be true.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from slicebase.core.hashing import digest_of
from slicebase.runs.event import STEP_BEGUN, WATCHED, Event
from slicebase.runs.items import ItemName, ItemPlace, ItemPlaces
from slicebase.runs.status import RunTally, StepTally, step_after, tally_of
from slicebase.truth.run_log import StoredEvent, tally_row
from slicebase.truth.truth import Truth

Steps = Mapping[int | None, StepTally]


class DerivedTables(NamedTuple):
    """The row of a run, its steps and its items, as they follow from its log."""

    tally: tuple[Any, ...]
    steps: Steps
    items: Mapping[ItemName, ItemPlace]


def derived_tables(truth: Truth, run_id: str, row: tuple[Any, ...]) -> DerivedTables:
    """Returns the derived tables of a run. `row` is what its table says about the run."""
    log = _Log(truth, run_id, RunTally(*row))
    tally = tally_of(run_id, log.events())
    if log.is_purged and tally.cost <= row[_COST]:  # the purged events have cost something, nobody knows how much
        tally = tally._replace(cost=row[_COST])
    return DerivedTables(tally_row(tally), log.steps, log.items.places)


_WATCHED_HASH = digest_of(dict(WATCHED))
_COST = RunTally._fields.index("cost")


class _Log:
    """The log of a run, which notes what its events say about each step and each item."""

    def __init__(self, truth: Truth, run_id: str, tally: RunTally) -> None:
        self._stored = truth.runs.log.events(run_id)
        self._tally = tally
        self._snapshots = {record.event: record.status for record in truth.runs.snapshots.records(run_id)}
        self.is_purged = False  # whether an event has lost its payload
        self.steps: dict[int | None, StepTally] = {}
        self.items = ItemPlaces()

    def events(self) -> Iterator[Event]:
        """Yields the events. One without a payload has what is still known of it, and says nothing about an item."""
        for stored in self._stored:
            purged = stored.purged is not None and stored.payload is None
            event = self._remains(stored) if purged else stored.event
            if purged:
                self.is_purged = True
            else:
                self.items.add(event)
            after = step_after(self.steps.get(event.step), event)
            if after is not None:
                self.steps[event.step] = after
            yield event

    def _remains(self, stored: StoredEvent) -> Event:
        link = stored.link
        payload: dict[str, Any] = {}
        if link.type == "SNAPSHOT":
            payload = {"status": self._snapshots.get(link.seq)}
        elif link.type == "RUN_STOPPED":
            payload = {"reason": self._tally.stopped}
        elif link.type == STEP_BEGUN and link.payload_hash == _WATCHED_HASH:
            payload = dict(WATCHED)
        return Event(link.run_id, link.seq, link.type, link.step, link.time, payload, link.prev, link.hash)
