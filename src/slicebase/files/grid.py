"""Places for drawings on a grid: the files around a file in columns, and trees from left to right.

The same links give the same places. A column to the right holds what a file links to, one to the left what links to
it, and further columns what is one link further away. What would make a column too long is left out, and all that only
it leads to: lines that pass behind other places say nothing.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from slicebase.files.explore import Walk, WalkStep

MOST_PLACES: Final = 150  # that a drawing can hold and people can read
LONGEST_COLUMN: Final = 24  # places of a column

_Node = TypeVar("_Node")


class DrawnPlace(NamedTuple):
    """A place of a drawing: its column, its row, and how many links it is away."""

    name: str
    column: int
    row: float
    distance: int


class Drawing(NamedTuple):
    """Places of a walk on a grid, the steps between them, and how many places are left out."""

    places: tuple[DrawnPlace, ...]
    steps: tuple[WalkStep, ...]
    left_out: int
    columns: int
    rows: float


def neighbourhood(walk: Walk) -> Drawing:
    """Returns where the places of a walk are drawn: the first ones of each side and distance."""
    shown = _sides(walk)
    columns: dict[tuple[int, int], list[str]] = {}
    for name, (side, distance) in shown.items():
        columns.setdefault((side, distance), []).append(name)
    placed: list[DrawnPlace] = []
    for (side, distance), names in columns.items():
        top = -(len(names) - 1) / 2
        placed += [DrawnPlace(name, side * distance, top + row, distance) for row, name in enumerate(names)]
    left, top = min(each.column for each in placed), min(each.row for each in placed)
    ordered = {each.name: each._replace(column=each.column - left, row=each.row - top) for each in placed}
    places = tuple(ordered[name] for name in shown)
    steps = tuple(step for step in walk.all() if step.here in shown and step.there in shown)
    width, height = max(each.column for each in places) + 1, max(each.row for each in places) + 1
    return Drawing(places, steps, len(walk.places()) - len(shown), width, height)


def _sides(walk: Walk) -> dict[str, tuple[int, int]]:
    """Returns the side of each place, -1 or 1 (0 for the start), and its distance, the nearest first."""
    sides: dict[str, tuple[int, int]] = {walk.start: (0, 0)}
    sizes: dict[tuple[int, int], int] = {}
    for here in list(walk.steps):  # breadth first, as it was walked
        if here not in sides:
            continue
        side, distance = sides[here]
        for step in walk.steps[here]:
            place = (side or (1 if step.outward else -1), distance + 1)
            if step.there not in sides and sizes.get(place, 0) < LONGEST_COLUMN:
                sides[step.there] = place
                sizes[place] = sizes.get(place, 0) + 1
    return dict(sorted(sides.items(), key=lambda each: each[1][1]))


# Trees


class DrawnNode(NamedTuple):
    """A node of a tree: its depth, its row, its parent by number (-1 for the root), and its children left out."""

    number: int
    depth: int
    row: float
    parent: int
    left_out: int


def tree_places(
    root: _Node, children_of: Callable[[_Node], Sequence[_Node]], most: int = MOST_PLACES
) -> list[tuple[_Node, DrawnNode]]:
    """Returns the nodes of a tree, each before its children, with their places; the nearest ones if there are many.

    A leaf has a row of its own; a parent is halfway between its first and its last child.
    """
    nodes: list[tuple[_Node, int, int]] = [(root, 0, -1)]
    below: list[list[int]] = []
    left_out: list[int] = []
    for number, (node, depth, _) in enumerate(nodes):  # the list grows during the loop
        children = children_of(node)
        room = max(0, most - len(nodes))
        below.append(list(range(len(nodes), len(nodes) + min(room, len(children)))))
        left_out.append(len(children) - len(below[number]))
        nodes += [(child, depth + 1, number) for child in children[:room]]
    rows = _rows(below)
    return [
        (node, DrawnNode(number, depth, rows[number], parent, left_out[number]))
        for number, (node, depth, parent) in enumerate(nodes)
    ]


def _rows(below: Sequence[Sequence[int]]) -> list[float]:
    rows = [0.0] * len(below)
    pending, order, next_row = [0], [], 0
    while pending:  # a leaf gets the next row in the order of reading
        number = pending.pop()
        order.append(number)
        if not below[number]:
            rows[number] = float(next_row)
            next_row += 1
        pending += reversed(below[number])
    for number in reversed(order):  # children before their parents
        if below[number]:
            rows[number] = (rows[below[number][0]] + rows[below[number][-1]]) / 2
    return rows
