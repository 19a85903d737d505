"""Lanes: where the turns of a session stand when its tree is drawn row by row, as tools draw the history of git.

Each turn is a row, in the order in which turns are stored, so a session that grows gets new rows at its end. A branch
keeps one lane from the turn that it leaves to its end; then another one can have the lane. A row can be drawn by
itself: it has the lines that cross its upper and its lower edge, as the bits of a number.
"""

from array import array
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import accumulate
from operator import add, xor
from typing import Final, NamedTuple

from slicebase.graph.tree import NOTHING, TurnTree

MOST_LANES: Final = 24  # branches beside these share the last lane
_SHARED: Final = MOST_LANES - 1


class LaneRow(NamedTuple):
    """The row of a turn. A lane is a number from 0; several lanes are the bits of a number."""

    lane: int
    above: int  # lanes with a line across the upper edge
    below: int  # lanes with a line across the lower edge
    forks: int  # lanes that leave the turn downwards
    joins: int  # lanes that come to the turn from above: a branch that was stored before the turn that it leaves


class Branch(NamedTuple):
    """A branch: its first and its last turn, and the rows between which it has its lane."""

    first: int
    last: int
    top: int
    bottom: int


class Lanes:
    """The lanes of a tree. A new object is needed when the tree has grown."""

    def __init__(self, tree: TurnTree) -> None:
        self._tree = tree
        size = len(tree)
        self._lane = bytearray(size)
        self._forks: dict[int, int] = {}
        self._joins: dict[int, int] = {}
        self.branches = 0
        turned = array("I", [0]) * (size + 2)  # lanes whose line begins or ends at the upper edge of a row
        shared = array("i", [0]) * (size + 2)  # how many more lines the shared lane has
        begins: dict[int, int] = {}
        for branch, lane in _assigned(tree):
            self.branches += 1
            begins[branch.first] = lane
            if lane == _SHARED:
                shared[branch.top + 1] += 1
                shared[branch.bottom + 1] -= 1
            else:
                turned[branch.top + 1] ^= 1 << lane
                turned[branch.bottom + 1] ^= 1 << lane
            parent = tree.above[branch.first]
            if parent != NOTHING:
                ways = self._forks if parent < branch.first else self._joins
                ways[parent] = ways.get(parent, 0) | 1 << lane
        self.width = 1 + max(begins.values(), default=0)
        self._lines = array("I", accumulate(turned, xor))
        if self.width == MOST_LANES:
            counts = accumulate(shared, add)
            self._lines = array(
                "I", [line | (count > 0) << _SHARED for line, count in zip(self._lines, counts, strict=True)]
            )
        lanes = self._lane
        for number, parent in enumerate(tree.above):
            lanes[number] = begins[number] if number in begins else lanes[parent]

    def row(self, number: int) -> LaneRow:
        """Returns the row of a turn."""
        above, below = self._lines[number], self._lines[number + 1]
        return LaneRow(self._lane[number], above, below, self._forks.get(number, 0), self._joins.get(number, 0))


def branches_of(tree: TurnTree) -> Iterator[Branch]:
    """Yields the branches of a tree by their first turns. A branch goes on with the turn that a reader follows."""
    last, follow = list(range(len(tree))), tree.follow.tolist()
    for number in range(len(tree) - 1, -1, -1):
        following = follow[number]
        if following > number:  # one that was stored before it begins a branch of its own
            last[number] = last[following]
    for number, parent in enumerate(tree.above):
        if parent == NOTHING:
            yield Branch(number, last[number], number, last[number])
        elif parent > number or follow[parent] != number:
            yield Branch(number, last[number], min(parent, number), max(parent, last[number]))


def _assigned(tree: TurnTree) -> Iterator[tuple[Branch, int]]:
    """Yields the branches with their lanes: each has the first lane that is free where it begins."""
    free: list[int] = []
    ends: list[tuple[int, int]] = []  # the last row of each lane that is taken
    opened = 0
    for branch in sorted(branches_of(tree), key=lambda branch: (branch.top, branch.first)):
        while ends and ends[0][0] < branch.top:
            heappush(free, heappop(ends)[1])
        if free:
            lane = heappop(free)
        elif opened < _SHARED:
            lane, opened = opened, opened + 1
        else:
            yield branch, _SHARED
            continue
        heappush(ends, (branch.bottom, lane))
        yield branch, lane
