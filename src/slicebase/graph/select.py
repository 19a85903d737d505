"""The expansion of SlicePolicy v1, step by step as in §5: the plain version, which people read and tests compare with.

`slicebase.graph.best_first` makes the same selection faster; a property test compares the two. This module also
explains why a turn is in a context slice and why others are not. `SessionGraph` holds a session in plain dictionaries:
it is small and simple, and the compact form is tested against it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Final, Literal, NamedTuple, Protocol

from slicebase.errors import SlicebaseError
from slicebase.graph.export import ContextSlice, ExportedTurn
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.turn import GIVEN, Edge, Phase

# The expansion

ReachedAs = Literal["anchor", "parent", "child", "sibling"]


class Scored(Protocol):
    """The fields of a turn that give its priority."""

    @property
    def phase(self) -> Phase: ...
    @property
    def salience(self) -> float: ...


class TurnGraph(Protocol):
    """The turns of one session (ruling 13), as the expansion reads them. Every method returns an id only once."""

    def get_turn(self, turn_id: str) -> Scored:
        """Returns a turn. Raises `no-turn` for an id that is not in the session."""

    def parents(self, turn_id: str) -> Sequence[str]:
        """Returns the parents, in order of TurnId."""

    def children(self, turn_id: str) -> Sequence[str]:
        """Returns the children, in order of TurnId."""

    def siblings(self, turn_id: str, limit: int | None) -> Sequence[str]:
        """Returns the other children of all parents, at most `limit` (ruling 10).

        They are sorted by salience, highest first, then by TurnId.
        """


def no_turn(turn_id: str) -> SlicebaseError:
    """Returns the error for an id that is not in the session."""
    return SlicebaseError(
        "no-turn", f"the turn {turn_id} is not in this session", hint="`tt turns` lists the turns of a session"
    )


class FrontierTurn(NamedTuple):
    """A turn on the frontier. The first three fields give the order in which turns leave it (§5.3, ruling 9)."""

    negated_priority: float
    distance: int
    turn_id: str
    reached_from: str | None
    reached_as: ReachedAs

    @property
    def priority(self) -> float:
        """The priority of §4."""
        return -self.negated_priority


class Expansion(NamedTuple):
    """The result of an expansion."""

    selected: tuple[FrontierTurn, ...]  # in the order in which they left the frontier
    waiting: tuple[FrontierTurn, ...]  # turns that were on the frontier when the budget was used up, best first


def select(graph: TurnGraph, anchor_id: str, policy: SlicePolicyV1) -> tuple[FrontierTurn, ...]:
    """Returns the selected turns, in the order in which they left the frontier."""
    return expand(graph, anchor_id, policy).selected


def expand(graph: TurnGraph, anchor_id: str, policy: SlicePolicyV1) -> Expansion:
    """Returns the selected turns, and the turns that were on the frontier at the end."""
    selected: list[FrontierTurn] = []
    visited: set[str] = set()
    frontier: list[FrontierTurn] = []

    def push(turn_ids: Iterable[str], distance: int, reached_from: str | None, reached_as: ReachedAs) -> None:
        for turn_id in turn_ids:
            if turn_id not in visited:
                visited.add(turn_id)  # when pushed, so that the first discovery sets the distance (ruling 11)
                priority = priority_of(graph, turn_id, distance, policy)
                heappush(frontier, FrontierTurn(-priority, distance, turn_id, reached_from, reached_as))

    # §5.1
    push([anchor_id], 0, None, "anchor")

    # §5.2
    while frontier and len(selected) < policy.max_nodes:
        candidate = heappop(frontier)
        selected.append(candidate)
        # No candidate beyond the radius is ever pushed, so none must be dropped here.
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
    """Returns the priority of a turn at a distance (§4)."""
    turn = graph.get_turn(turn_id)
    return policy.scoring.priority(turn.phase, turn.salience, distance)


# Explanations

UnselectedReason = Literal["budget", "radius", "sibling limit"]
BEST: Final = 10


class Unselected(NamedTuple):
    """A turn that could be reached but was not selected: from where, with which priority, and why not."""

    candidate: FrontierTurn
    reason: UnselectedReason


class Explanation(NamedTuple):
    """The selected turns, and the best of those that were not selected."""

    selected: tuple[FrontierTurn, ...]  # in the order of selection
    left_out: tuple[Unselected, ...]  # best first

    def __repr__(self) -> str:
        return f"Explanation(selected={len(self.selected)}, left_out={len(self.left_out)})"


def explain(graph: TurnGraph, anchor_id: str, policy: SlicePolicyV1, most: int = BEST) -> Explanation:
    """Returns every selected turn, and the best turns that were not selected, at most `most`.

    A turn that could be reached by several paths is shown with the one that gives it the highest priority.
    """
    selected, waiting = expand(graph, anchor_id, policy)
    visited = {candidate.turn_id for candidate in (*selected, *waiting)}
    expanded = {candidate.turn_id for candidate in selected if candidate.distance < policy.max_radius}
    out = [Unselected(candidate, "budget") for candidate in waiting]
    for here in selected:
        out += _beyond(graph, here, policy, visited, expanded)
    best: dict[str, Unselected] = {}
    for found in sorted(out):
        best.setdefault(found.candidate.turn_id, found)
    return Explanation(selected, tuple(best.values())[:most])


def _beyond(
    graph: TurnGraph, here: FrontierTurn, policy: SlicePolicyV1, visited: set[str], expanded: set[str]
) -> Iterator[Unselected]:
    """Yields the turns that the expansion of a selected turn did not push (§5.2)."""
    at_radius = here.turn_id not in expanded

    def left_out(
        turn_ids: Iterable[str], distance: int, reached_as: ReachedAs, reason: UnselectedReason
    ) -> Iterator[Unselected]:
        for turn_id in turn_ids:
            if turn_id not in visited:
                priority = priority_of(graph, turn_id, distance, policy)
                yield Unselected(FrontierTurn(-priority, distance, turn_id, here.turn_id, reached_as), reason)

    parents = graph.parents(here.turn_id)
    if at_radius:
        yield from left_out(parents, here.distance + 1, "parent", "radius")
        yield from left_out(graph.children(here.turn_id), here.distance + 1, "child", "radius")
    reason: UnselectedReason = "radius" if at_radius and policy.include_siblings else "sibling limit"
    if not expanded.issuperset(parents):  # all children of an expanded turn have been visited
        yield from left_out(graph.siblings(here.turn_id, None), here.distance, "sibling", reason)


# A session in dictionaries


class SessionGraph:
    """The turns of one session with their edges and, for each turn, its annotator.

    Edges that lead out of the session are ignored (ruling 13).
    """

    def __init__(
        self, turns: Iterable[ExportedTurn], edges: Iterable[Edge], annotators: Mapping[str, str] | None = None
    ) -> None:
        self._turns = {turn.id: turn for turn in turns}
        self._edges = {edge for edge in edges if edge.parent in self._turns and edge.child in self._turns}
        self._annotators = annotators or {}
        self._parents: dict[str, list[str]] = defaultdict(list)
        self._children: dict[str, list[str]] = defaultdict(list)
        for parent, child in sorted({(edge.parent, edge.child) for edge in self._edges}):
            self._parents[child].append(parent)
            self._children[parent].append(child)

    def get_turn(self, turn_id: str) -> ExportedTurn:
        if turn_id not in self._turns:
            raise no_turn(turn_id)
        return self._turns[turn_id]

    def parents(self, turn_id: str) -> list[str]:
        return self._parents.get(turn_id, [])

    def children(self, turn_id: str) -> list[str]:
        return self._children.get(turn_id, [])

    def siblings(self, turn_id: str, limit: int | None) -> list[str]:
        family = {child for parent in self.parents(turn_id) for child in self.children(parent)} - {turn_id}
        return sorted(family, key=lambda sibling: (-self._turns[sibling].salience, sibling))[:limit]

    def context_slice(self, anchor_id: str, policy: SlicePolicyV1) -> ContextSlice:
        """Returns the context slice around an anchor."""
        turns = {candidate.turn_id for candidate in select(self, anchor_id, policy)}
        edges = [edge for edge in self._edges if edge.parent in turns and edge.child in turns]  # §7.4
        chosen = [self._turns[turn_id] for turn_id in turns]
        annotators = {self._annotators.get(turn_id, GIVEN) for turn_id in turns}
        return ContextSlice.of(anchor_id, chosen, edges, policy.params_hash, annotators)
