"""Places the nodes of a graph in rows so that edges point down, cross rarely and run straight.

The method is the layered drawing of Sugiyama, Tagawa and Toda (1981), with rows short enough to try every order.
An edge that passes a row gets a bend there: a narrow node that keeps the edge away from the row's boxes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import chain, pairwise, permutations

Edge = tuple[str, str]  # from the importing node to the imported one
Graph = Mapping[str, frozenset[str]]  # the nodes that each node imports

SWEEPS = 1600  # enough for every centre to come to rest
KEPT = 24  # orders of a row that are tried with the next row: all of them in a row of four
STRAIGHT = (64.0, 2.0, 1.0)  # the pull of a link with no, one and two boxes at its ends: long edges run straight


@dataclass(frozen=True)
class Layout:
    """Rows of nodes from the top with the centre of each node, and each edge as the nodes that it runs through."""

    rows: tuple[tuple[str, ...], ...]
    centres: Mapping[str, float]
    chains: Mapping[Edge, tuple[str, ...]]


def graph_of(nodes: Iterable[str], edges: Iterable[Edge]) -> Graph:
    """Returns the edges as a table of nodes."""
    below: dict[str, set[str]] = {node: set() for node in nodes}
    for start, end in edges:
        below[start].add(end)
    return {node: frozenset(ends) for node, ends in below.items()}


def reachable(graph: Graph) -> Graph:
    """Returns for each node all nodes that a path leads to. Raises CycleError when a path leads back."""
    found: dict[str, frozenset[str]] = {}
    for node in TopologicalSorter(graph).static_order():
        found[node] = graph[node].union(*(found[end] for end in graph[node]))
    return found


def reduced(graph: Graph) -> list[Edge]:
    """Returns the edges that no path of other edges implies (the transitive reduction)."""
    far = reachable(graph)
    return sorted(
        (start, end)
        for start, ends in graph.items()
        for end in ends
        if not any(end in far[other] for other in ends - {end})
    )


def rows_of(floors: Sequence[Sequence[str]], graph: Graph) -> list[list[str]]:
    """Returns rows from the top: floors in order, and in a floor each node above those that it imports."""
    rows: list[list[str]] = []
    order = list(TopologicalSorter(graph).static_order())
    for floor in floors:
        height: dict[str, int] = {}
        for node in (node for node in order if node in floor):
            height[node] = 1 + max((height[end] for end in graph[node] if end in height), default=0)
        levels = range(max(height.values(), default=0), 0, -1)
        rows += ([node for node in floor if height[node] == level] for level in levels)
    return rows


def place(floors: Sequence[Sequence[str]], graph: Graph, edges: Sequence[Edge], box: float, bend: float) -> Layout:
    """Returns the places of all nodes, where a box takes the width `box` and a bend the width `bend`."""
    rows = rows_of(floors, graph)
    row_of = {node: number for number, row in enumerate(rows) for node in row}
    boxes = set(row_of)
    chains: dict[Edge, tuple[str, ...]] = {}
    for start, end in edges:
        bends = {number: f"{start}>{end}@{number}" for number in range(row_of[start] + 1, row_of[end])}
        for number, name in bends.items():
            rows[number].append(name)
        chains[start, end] = (start, *bends.values(), end)
    links = list(chain.from_iterable(pairwise(nodes) for nodes in chains.values()))
    ordered = untangled(rows, links)
    width = {node: box if node in boxes else bend for row in ordered for node in row}
    return Layout(tuple(map(tuple, ordered)), centred(ordered, links, width, boxes), chains)


def untangled(rows: Sequence[Sequence[str]], links: Sequence[Edge]) -> list[list[str]]:
    """Returns the rows in the order with the fewest crossings, and among those the one with the straightest links.

    Links join neighbouring rows only, so what is best above a row is found once for each order of that row.
    """
    best: list[tuple[int, float, list[tuple[str, ...]]]] = [(0, 0.0, [()])]
    for row in rows:
        extended = [
            min(
                (crossed + crossings(above[-1], order, links), bent + slant(above[-1], order, links), [*above, order])
                for crossed, bent, above in best
            )
            for order in permutations(row)
        ]
        best = sorted(extended)[:KEPT]
    return [list(row) for row in best[0][2][1:]]


def crossings(upper: Sequence[str], lower: Sequence[str], links: Sequence[Edge]) -> int:
    """Returns how many pairs of links between two rows cross."""
    ends = [(upper.index(start), lower.index(end)) for start, end in links if start in upper and end in lower]
    return sum((a - c) * (b - d) < 0 for number, (a, b) in enumerate(ends) for c, d in ends[:number])


def slant(upper: Sequence[str], lower: Sequence[str], links: Sequence[Edge]) -> float:
    """Returns how far the links between two rows lean to the side, in places of a centred row."""
    shift = (len(upper) - len(lower)) / 2
    return sum(
        abs(upper.index(start) - lower.index(end) - shift) for start, end in links if start in upper and end in lower
    )


def centred(
    rows: Sequence[Sequence[str]], links: Sequence[Edge], width: Mapping[str, float], boxes: set[str]
) -> dict[str, float]:
    """Returns the centre of each node: as near to its neighbours above and below as the row leaves room."""
    pulls: dict[str, list[tuple[str, float]]] = {node: [] for row in rows for node in row}
    for start, end in links:
        pull = STRAIGHT[(start in boxes) + (end in boxes)]
        pulls[start].append((end, pull))
        pulls[end].append((start, pull))
    centres = dict.fromkeys(pulls, 0.0)
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            weights = [sum(pull for _, pull in pulls[name]) or 1.0 for name in row]
            forces = [sum(pull * centres[node] for node, pull in pulls[name]) for name in row]
            wanted = [force / weight for force, weight in zip(forces, weights, strict=True)]
            gaps = [(width[left] + width[right]) / 2 for left, right in pairwise(row)]
            centres.update(zip(row, spread(wanted, weights, gaps), strict=True))
    return {node: round(centre, 3) for node, centre in centres.items()}  # sums differ in the last digits by version


def spread(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Returns the positions nearest to the wanted ones (least squares) that keep order and gaps."""
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    groups: list[tuple[float, float, int]] = []  # mean, weight, members: the pool-adjacent-violators algorithm
    for want, weight, offset in zip(wanted, weights, offsets, strict=False):
        mean, heavy, members = want - offset, weight, 1
        while groups and groups[-1][0] >= mean:
            other, load, count = groups.pop()
            mean, heavy, members = (mean * heavy + other * load) / (heavy + load), heavy + load, members + count
        groups.append((mean, heavy, members))
    means = [mean for mean, _, members in groups for _ in range(members)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
