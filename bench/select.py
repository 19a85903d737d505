"""Context slices of a session in memory: the plain and the compiled version, networkx and rustworkx, in one run.

networkx and rustworkx do the same expansion (`slicebase.graph.select`) on their graphs, and their selections are
compared with ours. A complete slice is select, edges, the bytes of the export, slice_id and export_hash. Each anchor is
used once by each version, so that only what a long-lived process caches is warm: the session, and the order of turns
with many children. Times are processor times. The digest is that of all exports: both versions have the same.
"""

import random
from collections.abc import Callable, Sequence
from hashlib import sha256
from statistics import quantiles
from time import process_time
from typing import Any, NamedTuple, get_args

import networkx
import rustworkx

from slicebase.graph import selection
from slicebase.graph.binary32 import binary32
from slicebase.graph.compact import CompactRow, CompactSession, compact
from slicebase.graph.policy import DEFAULT, SlicePolicyV1, policy_from
from slicebase.graph.select import select
from slicebase.graph.selection import KernelName, kernel_named, with_kernel
from slicebase.graph.turn import GIVEN, PHASES, EdgeType, Phase, Role

ANCHORS = 1000
LIBRARY_ANCHORS = 20
TREE = 500  # turns of a tree in a forest, on average
BRANCHING = 0.1
HEADER = (
    f"{'graph':>14} {'turns':>9} {'bytes/turn':>10} {'build s':>8} {'selected':>9} {'plain µs p50':>13} {'p99':>6} "
    f"{'compiled p50':>13} {'p99':>6} {'times':>6} {'select alone':>13} {'networkx':>9} {'rustworkx':>10}  digest"
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
            salience=binary32(chance.random()),
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
    """Returns a chain in which every third turn has two children, which have a child together."""
    graph = graph_of(count, lambda _, number: (number - 1 if number % 3 == 1 else number - 2) if number else None)
    ids = [row.id for row in graph.rows]
    more: list[tuple[str, str, EdgeType]] = [(ids[n - 1], ids[n], "reply") for n in range(3, count, 3)]
    return Graph(graph.rows, [*graph.edges, *more])


def joins(count: int) -> Graph:
    """Returns a forest in which one turn in five also refers to an earlier one nearby."""
    graph, chance = forest(count), random.Random(6)
    ids = [row.id for row in graph.rows]
    more: list[tuple[str, str, EdgeType]] = [
        (ids[n - chance.randrange(2, 50)], ids[n], "reference") for n in range(50, count) if chance.random() < 0.2
    ]
    return Graph(graph.rows, [*graph.edges, *more])


ENDLESS = policy_from({"max_radius": 2**32 - 1})
GRAPHS: dict[str, tuple[Callable[[int], Graph], tuple[int, ...], SlicePolicyV1]] = {
    "forest": (forest, (10_000, 100_000, 1_000_000), DEFAULT),
    "endless forest": (forest, (100_000,), ENDLESS),
    "chain": (chain, (100_000,), DEFAULT),
    "star": (star, (10_000, 100_000), DEFAULT),
    "bushy": (bushy, (100_000,), DEFAULT),
    "diamonds": (diamonds, (100_000,), DEFAULT),
    "joins": (joins, (100_000,), DEFAULT),
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
            self._graph.nodes[turn_id]["family"] = sorted(self._graph.successors(turn_id), key=self._by_salience)

    def _by_salience(self, turn_id: str) -> tuple[float, str]:
        return -self.get_turn(turn_id).salience, turn_id

    def get_turn(self, turn_id: str) -> Scored:
        turn: Scored = self._graph.nodes[turn_id]["turn"]
        return turn

    def parents(self, turn_id: str) -> list[str]:
        return list(self._graph.predecessors(turn_id))

    def children(self, turn_id: str) -> list[str]:
        return list(self._graph.successors(turn_id))

    def siblings(self, turn_id: str, limit: int | None) -> list[str]:
        enough = None if limit is None else limit + 1
        families = [self._graph.nodes[parent]["family"][:enough] for parent in self.parents(turn_id)]
        others = families[0] if len(families) == 1 else {each for family in families for each in family}
        ranked = others if len(families) == 1 else sorted(others, key=self._by_salience)
        return [sibling for sibling in ranked if sibling != turn_id][:limit]


class OnRustworkx(OnNetworkx):
    """The same on rustworkx, which numbers the turns."""

    def __init__(self, graph: Graph) -> None:
        self._graph = rustworkx.PyDiGraph(multigraph=False)
        numbers = self._graph.add_nodes_from([row.id for row in graph.rows])
        self._numbers = {row.id: number for row, number in zip(graph.rows, numbers, strict=True)}
        self._scored = {row.id: Scored(row.phase, row.salience) for row in graph.rows}
        self._graph.add_edges_from_no_data(
            [(self._numbers[above], self._numbers[below]) for above, below, _ in graph.edges]
        )
        self._families = {turn_id: sorted(self.children(turn_id), key=self._by_salience) for turn_id in self._numbers}

    def get_turn(self, turn_id: str) -> Scored:
        return self._scored[turn_id]

    def parents(self, turn_id: str) -> list[str]:
        return list(self._graph.predecessors(self._numbers[turn_id]))

    def children(self, turn_id: str) -> list[str]:
        return list(self._graph.successors(self._numbers[turn_id]))

    def siblings(self, turn_id: str, limit: int | None) -> list[str]:
        enough = None if limit is None else limit + 1
        families = [self._families[parent][:enough] for parent in self.parents(turn_id)]
        others = sorted({each for family in families for each in family}, key=self._by_salience)
        return [sibling for sibling in others if sibling != turn_id][:limit]


def microseconds(call: Callable[[str], Any], anchors: Sequence[str]) -> list[float]:
    times = []
    for anchor in anchors:
        start = process_time()
        call(anchor)
        times.append((process_time() - start) * 1e6)
    return times


def percentile(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100)[percent - 1]


class Measured(NamedTuple):
    """Times of complete slices, in microseconds, and the digest of the exports."""

    times: list[float]
    digest: str


def measured(session: CompactSession, kernel: KernelName, anchors: Sequence[str], policy: SlicePolicyV1) -> Measured:
    with_kernel(session, kernel)
    digest = sha256()

    def complete(anchor: str) -> None:
        found = selection.context_slice(session, anchor, policy)
        digest.update(found.export_hash.encode())

    return Measured(microseconds(complete, anchors), digest.hexdigest()[:12])


def beside(library: OnNetworkx, session: CompactSession, anchors: Sequence[str], policy: SlicePolicyV1) -> float:
    """Returns the median of the times in which a library selects the same."""
    for anchor in anchors:
        assert select(library, anchor, policy) == selection.select(session, anchor, policy), "the selections differ"
    return percentile(microseconds(lambda anchor: select(library, anchor, policy), anchors), 50)


def measure(name: str, graph: Graph, policy: SlicePolicyV1) -> str:
    ids = [row.id for row in graph.rows]
    start = process_time()
    session = compact(name, graph.rows, graph.edges)
    built = process_time() - start
    chance = random.Random(2)
    warm, anchors = (chance.sample(ids, ANCHORS) for _ in range(2))
    fastest = kernel_named("")
    for kernel in ("plain", fastest):
        measured(session, kernel, warm, policy)
    plain, ours = (measured(session, kernel, anchors, policy) for kernel in ("plain", fastest))
    assert plain.digest == ours.digest, "the versions differ"
    alone = microseconds(lambda anchor: selection.select(session, anchor, policy), anchors)
    selected = [len(selection.select(session, anchor, policy)) for anchor in anchors]
    theirs = [
        beside(library(graph), session, anchors[:LIBRARY_ANCHORS], policy) for library in (OnNetworkx, OnRustworkx)
    ]
    ratio = percentile(plain.times, 50) / percentile(ours.times, 50)
    return (
        f"{name:>14} {len(ids):>9,} {session.nbytes / len(ids):>10.0f} {built:>8.2f} {percentile(selected, 50):>9.0f} "
        f"{percentile(plain.times, 50):>13.0f} {percentile(plain.times, 99):>6.0f} "
        f"{percentile(ours.times, 50):>13.0f} {percentile(ours.times, 99):>6.0f} {ratio:>6.1f} "
        f"{percentile(alone, 50):>13.0f} {theirs[0]:>9.0f} {theirs[1]:>10.0f}  {ours.digest}"
    )


def run() -> None:
    print(f"Context slices in memory; compiled: {kernel_named('')}\n")
    print(HEADER)
    for name, (make, sizes, policy) in GRAPHS.items():
        for size in sizes:
            print(measure(name, make(size), policy), flush=True)
