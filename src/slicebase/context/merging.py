"""Merging: the turns that a question found, and what the context slices around the best of them add."""

from collections.abc import Iterable, Sequence

from slicebase.context.ranking import Ranked
from slicebase.graph.select import FrontierTurn

ANCHORS = 8
CONSIDERED = 256  # turns that were found and are looked at
CHUNKS = 64  # parts of slice files: each is read from its file
# What a turn in the slice of an anchor is worth beside the anchor itself, before its priority there is weighed.
_SLICE_SHARE = 0.25


def merge(ranked: Sequence[Ranked], slices: Iterable[tuple[Ranked, Sequence[FrontierTurn]]]) -> list[Ranked]:
    """Turns by worth, best first, equal ones by id.

    A turn in a slice is worth a share of the slice's anchor, as its priority is to the anchor's; where it was found
    itself, or is in several slices, the highest worth counts.
    """
    best = {found.turn: found for found in ranked}
    for anchor, selected in slices:
        highest = max(candidate.priority for candidate in selected)
        for candidate in selected:
            share = candidate.priority / highest if highest > 0 else 0
            worth = round(anchor.score * _SLICE_SHARE * share)
            known = best.get(candidate.turn_id)
            if worth > 0 and (known is None or worth > known.score):
                best[candidate.turn_id] = Ranked(candidate.turn_id, worth, {"slice": worth})
    return sorted(best.values(), key=lambda found: (-found.score, found.turn))
