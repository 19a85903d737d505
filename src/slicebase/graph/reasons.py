"""Why some turns are not in a context slice: the reasons of `explain`, only for the turns that somebody looks at.

`slicebase.graph.select.explain` looks at everything that could be reached. This looks at the parents of the turns, and
at those of the selected ones: a slice can be drawn again while a person moves a slider. A property test compares both.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import (
    FrontierTurn,
    ReachedAs,
    Scored,
    TurnGraph,
    Unselected,
    UnselectedReason,
    priority_of,
)

_WAYS: Final[tuple[ReachedAs, ...]] = ("parent", "child", "sibling")  # in the order of §5.2


class Families:
    """A graph that sorts each family once. A slice of a wide one asks for the siblings of thousands of its turns."""

    def __init__(self, graph: TurnGraph, limit: int) -> None:
        self._graph = graph
        self._limit = limit  # the siblings of a turn at most
        self._ranks: dict[tuple[str, ...], dict[str, int]] = {}

    def get_turn(self, turn_id: str) -> Scored:
        return self._graph.get_turn(turn_id)

    def parents(self, turn_id: str) -> Sequence[str]:
        return self._graph.parents(turn_id)

    def children(self, turn_id: str) -> Sequence[str]:
        return self._graph.children(turn_id)

    def siblings(self, turn_id: str, limit: int | None) -> Sequence[str]:
        if limit != self._limit:
            return self._graph.siblings(turn_id, limit)
        return [other for other in self._ranked(turn_id) if other != turn_id][:limit]

    def are_siblings(self, turn_id: str, other: str) -> bool:
        """Returns whether another turn is among the siblings of a turn."""
        ranks = self._ranked(turn_id)
        rank, own = ranks.get(other, self._limit + 1), ranks.get(turn_id, self._limit + 1)
        return other != turn_id and rank - (own < rank) < self._limit

    def _ranked(self, turn_id: str) -> dict[str, int]:
        """Returns the first turns of a family in their order (ruling 10): one more than a turn has siblings."""
        family = tuple(self._graph.parents(turn_id))
        if family not in self._ranks:
            others = list(self._graph.siblings(turn_id, self._limit + 1))
            place = bisect_left(others, self._key(turn_id), key=self._key)
            first = [*others[:place], turn_id, *others[place:]][: self._limit + 1] if family else []
            self._ranks[family] = {each: rank for rank, each in enumerate(first)}
        return self._ranks[family]

    def _key(self, turn_id: str) -> tuple[float, str]:
        return -self._graph.get_turn(turn_id).salience, turn_id


class PassedOver:
    """The turns that a selection left out."""

    def __init__(self, graph: Families, selected: Sequence[FrontierTurn], policy: SlicePolicyV1) -> None:
        self._graph = graph
        self._policy = policy
        self._places = {each.turn_id: place for place, each in enumerate(selected)}
        self._selected = selected
        self._below: dict[str, list[int]] = {}  # by turn: its children that are selected
        for place, each in enumerate(selected):
            for parent in graph.parents(each.turn_id):
                self._below.setdefault(parent, []).append(place)

    def reasons(self, turn_ids: Iterable[str]) -> list[Unselected]:
        """Returns those of these turns that could be reached and were not selected, with the reason of each."""
        found = (self._reason(turn_id) for turn_id in turn_ids if turn_id not in self._places)
        return [each for each in found if each is not None]

    def _reason(self, turn_id: str) -> Unselected | None:
        """Returns why a turn was not selected; None if no selected turn is beside it."""
        near = [(place, way) for way in _WAYS for place in self._near(turn_id, way)]
        pushed = [(place, way) for place, way in near if self._pushes(place, way, turn_id)]
        if pushed:  # the first discovery sets the distance (ruling 11)
            place, way = min(pushed, key=lambda each: (each[0], _WAYS.index(each[1])))
            return Unselected(self._candidate(turn_id, place, way), "budget")
        return min((self._beyond(turn_id, place, way) for place, way in near if self._counts(place, way)), default=None)

    def _near(self, turn_id: str, way: ReachedAs) -> Iterable[int]:
        """Returns the places of the selected turns of which a turn is a parent, a child or a sibling."""
        if way == "parent":
            return self._below.get(turn_id, ())
        above = self._graph.parents(turn_id)
        if way == "child":
            return [self._places[parent] for parent in above if parent in self._places]
        return {place for parent in above for place in self._below.get(parent, ())}

    def _is_expanded(self, place: int) -> bool:
        return self._selected[place].distance < self._policy.max_radius

    def _pushes(self, place: int, way: ReachedAs, turn_id: str) -> bool:
        """Returns whether a selected turn put a turn on the frontier."""
        if not self._is_expanded(place):
            return False
        if way != "sibling":
            return True
        return self._policy.include_siblings and self._graph.are_siblings(self._selected[place].turn_id, turn_id)

    def _counts(self, place: int, way: ReachedAs) -> bool:
        return way == "sibling" or not self._is_expanded(place)

    def _beyond(self, turn_id: str, place: int, way: ReachedAs) -> Unselected:
        at_radius = not self._is_expanded(place) and (way != "sibling" or self._policy.include_siblings)
        reason: UnselectedReason = "radius" if at_radius else "sibling limit"
        return Unselected(self._candidate(turn_id, place, way), reason)

    def _candidate(self, turn_id: str, place: int, way: ReachedAs) -> FrontierTurn:
        here = self._selected[place]
        distance = here.distance + (way != "sibling")
        priority = priority_of(self._graph, turn_id, distance, self._policy)
        return FrontierTurn(-priority, distance, turn_id, here.turn_id, way)
