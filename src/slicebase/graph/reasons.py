"""Why some turns are not in a context slice: the reasons of `explain`, only for the turns that somebody looks at.

`slicebase.graph.select.explain` looks at everything that could be reached. This looks at the parents of the turns, and
at those of the selected ones: a slice can be drawn again while a person moves a slider. A property test compares both.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import (
    FrontierTurn,
    ReachedAs,
    TurnGraph,
    Unselected,
    UnselectedReason,
    priority_of,
)

_WAYS: Final[tuple[ReachedAs, ...]] = ("parent", "child", "sibling")  # in the order of §5.2


class PassedOver:
    """The turns that a selection left out."""

    def __init__(self, graph: TurnGraph, selected: Sequence[FrontierTurn], policy: SlicePolicyV1) -> None:
        self._graph = graph
        self._policy = policy
        self._places = {each.turn_id: place for place, each in enumerate(selected)}
        self._selected = selected
        self._below: dict[str, list[int]] = {}  # by turn: its children that are selected
        for place, each in enumerate(selected):
            for parent in graph.parents(each.turn_id):
                self._below.setdefault(parent, []).append(place)
        self._siblings: dict[int, frozenset[str]] = {}

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
        if not self._policy.include_siblings:
            return False
        if place not in self._siblings:
            limit = self._policy.max_siblings_per_node
            self._siblings[place] = frozenset(self._graph.siblings(self._selected[place].turn_id, limit))
        return turn_id in self._siblings[place]

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
