"""A session as a tree: which turn each turn follows, and the branch that a reader follows from any turn.

Turns have numbers from 0, in the order in which they are stored. A turn with several parents stands below one of them.
From a turn, a reader follows the branch that leads to the newest turn below it.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import gt
from typing import Final

NOTHING: Final = -1  # no turn: above a root, below a leaf


class TurnTree:
    """The tree of a session, in arrays that are indexed by the number of a turn."""

    def __init__(self, above: Sequence[int]) -> None:
        size = len(above)
        first, following, follow, newest = [NOTHING] * size, [NOTHING] * size, [NOTHING] * size, list(range(size))
        for number in range(size - 1, -1, -1):
            parent = above[number]
            if parent != NOTHING:
                following[number] = first[parent]
                first[parent] = number
                if newest[number] > newest[parent]:
                    newest[parent], follow[parent] = newest[number], number
        self.above = array("q", above)  # the turn that each turn follows
        self.first = array("q", first)  # the first child of each
        self.next = array("q", following)  # the next child of the same turn
        if any(map(gt, above, range(size))):  # a turn that was stored before the one that it follows
            newest, follow = self._from_below()
        self.newest = array("q", newest)  # the newest turn in the tree below each, itself included
        self.follow = array("q", follow)  # the child that a reader follows

    def __len__(self) -> int:
        return len(self.above)

    def _from_below(self) -> tuple[list[int], list[int]]:
        """Returns the newest turns and those that a reader follows, whatever order the numbers have."""
        newest, follow = list(range(len(self))), [NOTHING] * len(self)
        for number in reversed(self._from_roots()):
            parent = self.above[number]
            if parent != NOTHING and (follow[parent] == NOTHING or newest[number] > newest[follow[parent]]):
                newest[parent], follow[parent] = max(parent, newest[parent], newest[number]), number
        return newest, follow

    def _from_roots(self) -> list[int]:
        """Returns all turns that are below a root, each after the one that it follows."""
        order = list(self.roots())
        for number in order:  # it grows meanwhile
            order += self.children(number)
        return order

    def children(self, number: int) -> Iterator[int]:
        """Yields the turns that follow a turn, in their order."""
        child = self.first[number]
        while child != NOTHING:
            yield child
            child = self.next[child]

    def roots(self) -> Iterator[int]:
        """Yields the turns that follow none."""
        return (number for number, parent in enumerate(self.above) if parent == NOTHING)

    def up(self, number: int, most: int | None = None) -> list[int]:
        """Returns the turns above a turn, the nearest first."""
        return list(islice(self._along(self.above, number), most))

    def down(self, number: int, most: int | None = None) -> list[int]:
        """Returns the turns that a reader follows below a turn, the nearest first."""
        return list(islice(self._along(self.follow, number), most))

    def _along(self, way: "array[int]", number: int) -> Iterator[int]:
        number = way[number]
        while number != NOTHING:
            yield number
            number = way[number]

    def alternatives(self, number: int) -> list[int]:
        """Returns the turns in whose place a turn stands, itself included, in their order."""
        parent = self.above[number]
        return list(self.roots() if parent == NOTHING else self.children(parent))

    def has_cycle(self) -> bool:
        """Returns whether a turn is above itself, which no stored session has that is not damaged."""
        if not any(map(gt, self.above, range(len(self)))):
            return False  # each turn is stored after the one that it follows
        return len(self._from_roots()) < len(self)

    def path(self) -> tuple[int, int] | None:
        """Returns the two ends of the branch that leads to the newest turn; None where there are no turns."""
        if not len(self):
            return None
        last = len(self) - 1
        above = self.up(last)
        return (above[-1] if above else last), (self.down(last) or [last])[-1]
