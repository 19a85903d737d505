"""The expansion of SlicePolicy v1, step by step as §5 has it: the twin that is read, tested against and explained.

`slicebase.graph.best_first` makes the same selection faster; a property test compares the two.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Literal, NamedTuple, Protocol

from slicebase.errors import SlicebaseError
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.turn import Phase

Way = Literal["anchor", "parent", "child", "sibling"]


class Scored(Protocol):
    """What a priority is made of."""

    @property
    def phase(self) -> Phase: ...
    @property
    def salience(self) -> float: ...


class TurnGraph(Protocol):
    """The turns of one session (ruling 13), as the expansion sees them. Ids come without duplicates."""

    def get_turn(self, turn_id: str) -> Scored:
        """Refuses an id that is not in the session with `no-turn`."""

    def parents(self, turn_id: str) -> Sequence[str]:
        """In order of TurnId."""

    def children(self, turn_id: str) -> Sequence[str]:
        """In order of TurnId."""

    def siblings(self, turn_id: str, limit: int | None) -> Sequence[str]:
        """The other children of all parents, highest salience first, then TurnId, cut at the limit (ruling 10)."""


def no_turn(turn_id: str) -> SlicebaseError:
    return SlicebaseError("no-turn", f"the turn {turn_id} is not in this session", hint="`tt turns` lists them")


class Candidate(NamedTuple):
    """A turn on the frontier. The first three fields are the order in which turns leave it (§5.3, ruling 9)."""

    negated_priority: float
    distance: int
    turn_id: str
    reached_from: str | None
    way: Way

    @property
    def priority(self) -> float:
        return -self.negated_priority


class Expansion(NamedTuple):
    selected: tuple[Candidate, ...]  # in the order in which they left the frontier
    waiting: tuple[Candidate, ...]  # what was still on the frontier when the budget was spent, best first


def select(graph: TurnGraph, anchor_id: str, policy: SlicePolicyV1) -> tuple[Candidate, ...]:
    """The selected turns, in the order in which they left the frontier."""
    return expand(graph, anchor_id, policy).selected


def expand(graph: TurnGraph, anchor_id: str, policy: SlicePolicyV1) -> Expansion:
    selected: list[Candidate] = []
    visited: set[str] = set()
    frontier: list[Candidate] = []

    def push(turn_ids: Iterable[str], distance: int, reached_from: str | None, way: Way) -> None:
        for turn_id in turn_ids:
            if turn_id not in visited:
                visited.add(turn_id)  # when pushed, so that the first discovery sets the distance (ruling 11)
                priority = priority_of(graph, turn_id, distance, policy)
                heappush(frontier, Candidate(-priority, distance, turn_id, reached_from, way))

    # §5.1
    push([anchor_id], 0, None, "anchor")

    # §5.2
    while frontier and len(selected) < policy.max_nodes:
        candidate = heappop(frontier)
        selected.append(candidate)
        # No candidate beyond the radius is ever pushed, so none has to be dropped here.
        distance = candidate.distance
        if distance + 1 > policy.max_radius:
            continue
        here = candidate.turn_id
        push(graph.parents(here), distance + 1, here, "parent")
        push(graph.children(here), distance + 1, here, "child")
        if policy.include_siblings:
            push(graph.siblings(here, policy.max_siblings_per_node), distance, here, "sibling")

    return Expansion(tuple(selected), tuple(sorted(frontier)))


def priority_of(graph: TurnGraph, turn_id: str, distance: int, policy: SlicePolicyV1) -> float:
    turn = graph.get_turn(turn_id)
    return policy.scoring.priority(turn.phase, turn.salience, distance)
