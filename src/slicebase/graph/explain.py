"""Why a turn is in a context slice, and why the best of the others are not."""

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import Candidate, TurnGraph, Way, expand, priority_of

Reason = Literal["budget", "radius", "sibling limit"]
BEST: Final = 10


class LeftOut(NamedTuple):
    """A turn that was in reach: where from, with which priority, and what kept it out."""

    candidate: Candidate
    reason: Reason


class Explanation(NamedTuple):
    selected: tuple[Candidate, ...]  # in the order of selection
    left_out: tuple[LeftOut, ...]  # best first


def explain(graph: TurnGraph, anchor_id: str, policy: SlicePolicyV1, most: int = BEST) -> Explanation:
    """Every selected turn, and the `most` best that stayed out.

    A turn that stayed out in several ways is shown with the way that gave it the highest priority.
    """
    selected, waiting = expand(graph, anchor_id, policy)
    visited = {candidate.turn_id for candidate in (*selected, *waiting)}
    expanded = {candidate.turn_id for candidate in selected if candidate.distance < policy.max_radius}
    out = [LeftOut(candidate, "budget") for candidate in waiting]
    for here in selected:
        out += _beyond(graph, here, policy, visited, expanded)
    best: dict[str, LeftOut] = {}
    for found in sorted(out):
        best.setdefault(found.candidate.turn_id, found)
    return Explanation(selected, tuple(best.values())[:most])


def _beyond(
    graph: TurnGraph, here: Candidate, policy: SlicePolicyV1, visited: set[str], expanded: set[str]
) -> Iterator[LeftOut]:
    """What the expansion of a selected turn passed over (§5.2)."""
    at_radius = here.turn_id not in expanded

    def left_out(turn_ids: Iterable[str], distance: int, way: Way, reason: Reason) -> Iterator[LeftOut]:
        for turn_id in turn_ids:
            if turn_id not in visited:
                priority = priority_of(graph, turn_id, distance, policy)
                yield LeftOut(Candidate(-priority, distance, turn_id, here.turn_id, way), reason)

    parents = graph.parents(here.turn_id)
    if at_radius:
        yield from left_out(parents, here.distance + 1, "parent", "radius")
        yield from left_out(graph.children(here.turn_id), here.distance + 1, "child", "radius")
    reason: Reason = "radius" if at_radius and policy.include_siblings else "sibling limit"
    if not expanded.issuperset(parents):  # all children of an expanded turn have been visited
        yield from left_out(graph.siblings(here.turn_id, None), here.distance, "sibling", reason)
