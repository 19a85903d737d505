"""Context slices of a session in memory: select alone, and the complete slice, compared with networkx.

networkx does the same expansion. A complete slice is select, edges, the bytes of the export, slice_id and export_hash.
Each anchor is used once, so that only what a long-lived process caches is warm: the session, and the order of turns
with many children. Times are processor times.
"""

import random
from collections.abc import Callable, Sequence
from statistics import quantiles
from time import process_time
from typing import Any, NamedTuple, get_args

import networkx

from slicebase.graph import best_first
from slicebase.graph.compact import CompactRow, CompactSession, compact
from slicebase.graph.policy import DEFAULT
from slicebase.graph.select import select
from slicebase.graph.turn import GIVEN, PHASES, EdgeType, Phase, Role

ANCHORS = 1000
NETWORKX_ANCHORS = 50
TREE = 500  # turns of a tree in a forest, on average
BRANCHING = 0.1
HEADER = (
    f"{'graph':>8} {'turns':>9} {'bytes/turn':>10} {'build s':>8} {'selected':>9} "
    f"{'select µs p50':>14} {'p99':>7} {'slice µs p50':>13} {'p99':>7} {'per turn':>9} {'networkx µs p50':>16}"
)


class Graph(NamedTuple):
    rows: list[CompactRow]
    edges: list[tuple[str, str, EdgeType]]


def graph_of(count: int, parent: Callable[[random.Random, int], int | None]) -> Graph:
    """Returns turns with random ids, phases and saliences. Each is a child of the turn that `parent` returns."""
    chance = random.Random(1)
    ids = [_uuid(chance) for _ in range(count)]
    above = [parent(chance, number) for number in range(count)]
    rows = [
        CompactRow(
            id=turn_id,
            role=chance.choice(get_args(Role)),
            phase=chance.choice(PHASES),
            salience=chance.random(),
            depth=number,
            sibling_order=0,
            homogeneity=chance.randrange(101) / 100,
            temporal=chance.randrange(101) / 100,
            complexity=chance.randrange(50) / 10,
            created_at=1_704_067_200 + number,
            annotator=GIVEN,
        )
        for number, turn_id in enumerate(ids)
    ]
    return Graph(rows, [(ids[over], ids[number], "reply") for number, over in enumerate(above) if over is not None])


def _uuid(chance: random.Random) -> str:
    digits = f"{chance.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def forest(count: int) -> Graph:
    """Returns conversations: mostly chains, where one turn in ten is a child of any earlier turn of its tree."""
    root = 0

    def parent(chance: random.Random, number: int) -> int | None:
        nonlocal root
        if number == 0 or chance.random() < 1 / TREE:
            root = number
            return None
        return chance.randrange(root, number) if chance.random() < BRANCHING else number - 1

    return graph_of(count, parent)


def star(count: int) -> Graph:
    return graph_of(count, lambda _, number: 0 if number else None)


def bushy(count: int) -> Graph:
    """Returns a tree in which every turn that has children has a thousand."""
    return graph_of(count, lambda _, number: (number - 1) // 1000 if number else None)


def joined(count: int) -> Graph:
    """Returns a forest with one more edge, so that one turn has two parents."""
    graph = forest(count)
    return Graph(graph.rows, [*graph.edges, (graph.rows[3].id, graph.rows[50].id, "reference")])


def chain(count: int) -> Graph:
    return graph_of(count, lambda _, number: number - 1 if number else None)


def tree(count: int) -> Graph:
    """Returns a tree in which every turn has two children."""
    return graph_of(count, lambda _, number: (number - 1) // 2 if number else None)


def comb(count: int) -> Graph:
    """Returns a chain in which every turn has nine more children, which have none."""
    return graph_of(count, lambda _, number: (number - number % 10 if number % 10 else number - 10) if number else None)


def diamonds(count: int) -> Graph:
    """Returns a chain that is divided in two and joined again, over and over."""
    rows = chain(count).rows
    ids = [row.id for row in rows]
    edges: list[tuple[str, str, EdgeType]] = []
    for first, second, third, joint in zip(ids[::3], ids[1::3], ids[2::3], ids[3::3], strict=False):
        edges += [(first, second, "reply"), (first, third, "branch")]
        edges += [(second, joint, "reply"), (third, joint, "reference")]
    return Graph(rows, edges)


GRAPHS = {
    "forest": (forest, (10_000, 100_000, 1_000_000)),
    "star": (star, (10_000,)),
    "chain": (chain, (100_000,)),
}


class Scored(NamedTuple):
    phase: Phase
    salience: float


class OnNetworkx:
    """The graph that the expansion reads, on networkx. Children are sorted by salience in advance."""

    def __init__(self, graph: Graph) -> None:
        self._graph: Any = networkx.DiGraph()
        self._graph.add_nodes_from((row.id, {"turn": Scored(row.phase, row.salience)}) for row in graph.rows)
        self._graph.add_edges_from((parent, child) for parent, child, _ in graph.edges)
        for turn_id in self._graph:
            family = sorted(self._graph.successors(turn_id), key=lambda child: (-self.get_turn(child).salience, child))
            self._graph.nodes[turn_id]["family"] = family

    def get_turn(self, turn_id: str) -> Scored:
        turn: Scored = self._graph.nodes[turn_id]["turn"]
        return turn

    def parents(self, turn_id: str) -> list[str]:
        return list(self._graph.predecessors(turn_id))

    def children(self, turn_id: str) -> list[str]:
        return list(self._graph.successors(turn_id))

    def siblings(self, turn_id: str, limit: int | None) -> list[str]:
        enough = None if limit is None else limit + 1
        families = (self._graph.nodes[parent]["family"][:enough] for parent in self.parents(turn_id))
        return [sibling for family in families for sibling in family if sibling != turn_id][:limit]


def microseconds(call: Callable[[str], Any], anchors: Sequence[str]) -> list[float]:
    times = []
    for anchor in anchors:
        start = process_time()
        call(anchor)
        times.append((process_time() - start) * 1e6)
    return times


def percentile(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100)[percent - 1]


def measure(name: str, graph: Graph) -> str:
    ids = [row.id for row in graph.rows]
    start = process_time()
    session = compact(name, graph.rows, graph.edges)
    built = process_time() - start
    chance = random.Random(2)
    warm, one, other = (chance.sample(ids, ANCHORS) for _ in range(3))
    for anchor in warm:
        best_first.context_slice(session, anchor, DEFAULT)
    selected = [len(_select(session, anchor)) for anchor in other]
    selects = microseconds(lambda anchor: _select(session, anchor), one)
    slices = microseconds(lambda anchor: best_first.context_slice(session, anchor, DEFAULT).export_hash, other)
    beside = OnNetworkx(graph)
    theirs = microseconds(lambda anchor: select(beside, anchor, DEFAULT), other[:NETWORKX_ANCHORS])
    per_turn = [time / size for time, size in zip(slices, selected, strict=True)]
    return (
        f"{name:>8} {len(ids):>9,} {session.nbytes / len(ids):>10.0f} {built:>8.2f} {percentile(selected, 50):>9.0f} "
        f"{percentile(selects, 50):>14.0f} {percentile(selects, 99):>7.0f} "
        f"{percentile(slices, 50):>13.0f} {percentile(slices, 99):>7.0f} {percentile(per_turn, 50):>9.1f} "
        f"{percentile(theirs, 50):>16.0f}"
    )


def _select(session: CompactSession, anchor: str) -> list[best_first.Entry]:
    return best_first.expand(session, session.number_of(anchor), DEFAULT)


def run() -> None:
    print("Context slices in memory, default policy\n")
    print(HEADER)
    for name, (make, sizes) in GRAPHS.items():
        for size in sizes:
            print(measure(name, make(size)), flush=True)
