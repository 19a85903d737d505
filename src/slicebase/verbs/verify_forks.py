"""Derives again what forks have inherited from the runs that they continue, for verify.

A fork has its terms and its budgets from these runs, and its first events are the state of one of their snapshots. Each
run is read once, and each snapshot, however many forks continue from it.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import zip_longest

import msgspec
from msgspec import UnsetType

from slicebase.core.hashing import digest_of
from slicebase.errors import SlicebaseError
from slicebase.runs.forks import fork_terms, forked_state, inheritance
from slicebase.runs.gate import Meter
from slicebase.runs.records import Inherited, RunStarted
from slicebase.runs.snapshot import snapshot_digest
from slicebase.truth.truth import Truth
from slicebase.verbs.verify_chains import VerifyFinding

_Stated = tuple[str, str]  # the type of an event, and the hash of its payload


class ForkProof:
    """Checks the forks of a database."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._runs = truth.runs
        self._inherited: dict[tuple[str, int], Inherited | None] = {}  # by run and its number of events then
        self._states: dict[str, tuple[RunStarted, list[_Stated]] | None] = {}  # by the id of a snapshot

    def check(self, run_id: str, started: RunStarted) -> Iterator[VerifyFinding]:
        """Yields what is wrong with what a fork has inherited. What was purged or is broken is reported itself."""
        stated, place = started.inherited, f"run:{run_id} event 1"
        origin = self._runs.snapshots.place_of(started.forked_from or "")
        if isinstance(stated, UnsetType) or origin is None or origin[0] != stated.run:
            yield VerifyFinding("BROKEN", "fork", place, str(origin and origin[0]), str(stated))
            return
        moments = self._possible_moments(stated.run, started.forked_from or "")
        if moments is not None and stated.events not in moments:
            expected = f"forked after event {moments.start} to {moments.stop - 1} of run:{stated.run}"
            yield VerifyFinding("BROKEN", "fork", place, expected, f"after event {stated.events}")
            return
        derived = self._inheritance(stated.run, stated.events)
        if derived is not None and derived != stated:
            yield VerifyFinding("BROKEN", "fork", place, str(derived), str(stated))
            return
        yield from self._state(run_id, started, stated)

    # What was spent

    def _possible_moments(self, run_id: str, snapshot: str) -> range | None:
        """Returns how many events a run can have had when it was forked from its snapshot; None if it is broken.

        The chain and the record of the snapshot say that, also after a purge.
        """
        try:
            taken = self._runs.snapshots.event_of(snapshot)
            return None if taken is None else range(taken, self._runs.log.tally(run_id).seq + 1)
        except SlicebaseError:
            return None

    def _inheritance(self, run_id: str, events: int) -> Inherited | None:
        """Returns what a fork inherits from a run that has so many events; None where that cannot be derived."""
        if (run_id, events) not in self._inherited:
            self._read(run_id, {events, *self._moments.get(run_id, ())})
        return self._inherited[run_id, events]

    def _read(self, run_id: str, moments: set[int]) -> None:
        """Derives what forks inherit at each of these moments, in one pass over the log of the run."""
        self._inherited.update({(run_id, moment): None for moment in moments})
        meter, count = Meter(), 0
        try:
            terms = self._runs.log.started(run_id)
            for event in self._runs.events(run_id):
                meter.add(event)
                count += 1
                if count in moments:
                    self._inherited[run_id, count] = inheritance(run_id, count, meter.spent, terms)
        except SlicebaseError:
            return

    @cached_property
    def _moments(self) -> Mapping[str, set[int]]:
        """The numbers of events after which each run was forked."""
        moments: dict[str, set[int]] = {}
        for tally in list(self._runs.log.tallies()):
            terms = self._runs.terms(tally.run_id)
            if terms is not None and not isinstance(terms.inherited, UnsetType):
                moments.setdefault(terms.inherited.run, set()).add(terms.inherited.events)
        return moments

    # The state

    def _state(self, run_id: str, started: RunStarted, stated: Inherited) -> Iterator[VerifyFinding]:
        """Compares the first events of a fork with the snapshot that it continues.

        The chain has the hashes of the events as they were, so that this also holds for a fork of which words were
        purged. Of a snapshot of which words were purged, nothing can be derived.
        """
        name = started.forked_from or ""
        if name not in self._states:
            self._states[name] = self._state_of(name, stated)
        known = self._states[name]
        if known is None:
            return
        terms, expected = known
        if msgspec.structs.replace(terms, inherited=stated) != started:
            yield VerifyFinding("BROKEN", "fork", f"run:{run_id} event 1", f"the terms of {name}", "others")
        links = (stored.link for stored in self._runs.log.events(run_id, after=1))
        for seq, (event, link) in enumerate(zip_longest(expected, links), 2):
            if event is None:
                return
            if link is None or (link.type, link.payload_hash) != event:
                found = f"{link.type} {link.payload_hash}" if link else "no event"
                yield VerifyFinding("BROKEN", "fork", f"run:{run_id} event {seq}", " ".join(event), found)
                return

    def _state_of(self, name: str, stated: Inherited) -> tuple[RunStarted, list[_Stated]] | None:
        """Returns the terms and the first events of forks of a snapshot; None if it is not what its record says."""
        try:
            found = self._runs.snapshots.find(name)
        except SlicebaseError:
            return None
        if snapshot_digest(found.snapshot) != found.record.digest:
            return None
        drafts = forked_state(found.snapshot)
        return fork_terms(found.snapshot, stated), [(draft.type, digest_of(draft.payload)) for draft in drafts]
