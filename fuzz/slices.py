"""Random conversation graphs, and whether every version selects the same slices from them, to the byte.

Everything is decided by the random numbers that are passed in, so that a seed gives the same graphs again.
"""

from collections.abc import Callable
from random import Random
from typing import Final, get_args

from slicebase.graph import best_first, selection
from slicebase.graph.binary32 import binary32
from slicebase.graph.compact import compact
from slicebase.graph.export import ExportedTurn
from slicebase.graph.policy import PhaseWeights, SlicePolicyV1
from slicebase.graph.select import SessionGraph, select
from slicebase.graph.selection import kernel_named, with_kernel
from slicebase.graph.turn import GIVEN, PHASES, Edge, EdgeType, Role

_MOST: Final = 400  # turns
_LARGEST: Final = (2**32 - 1, 2**53 - 1)  # of a radius, and of the other limits
_TYPES: Final = get_args(EdgeType)


# Shapes: the parents of each turn, by number

_Shape = Callable[[Random, int], list[list[int]]]


def _forest(random: Random, count: int) -> list[list[int]]:
    tree = random.choice((3, 30, count))
    return [
        [] if n == 0 or random.random() < 1 / tree else [max(0, n - 1 - int(random.expovariate(1)))]
        for n in range(count)
    ]


def _chain(_: Random, count: int) -> list[list[int]]:
    return [[n - 1] if n else [] for n in range(count)]


def _star(random: Random, count: int) -> list[list[int]]:
    hubs = random.randrange(1, 4)
    return [[] if n == 0 else [random.randrange(min(n, hubs))] for n in range(count)]


def _diamonds(_: Random, count: int) -> list[list[int]]:
    """Each fourth turn has two children, which have a child together."""
    return [
        [] if n == 0 else [n - 1] if n % 3 == 1 else [n - 2] if n % 3 == 2 else [n - 2, n - 1] for n in range(count)
    ]


def _joins(random: Random, count: int) -> list[list[int]]:
    return [random.sample(range(n), min(n, random.randrange(1, 5))) if n else [] for n in range(count)]


def _families(random: Random, count: int) -> list[list[int]]:
    """Wide families that share children: all turns have some of the same few parents."""
    hubs = random.randrange(2, 6)
    return [
        [] if n == 0 else random.sample(range(min(n, hubs)), min(n, random.randrange(1, hubs))) for n in range(count)
    ]


_SHAPES: Final[tuple[_Shape, ...]] = (_forest, _chain, _star, _diamonds, _joins, _families)
# Saliences: any, few, neighbours in binary32 that priorities make equal, and all the same.
_SALIENCES: Final[tuple[Callable[[Random], float], ...]] = (
    lambda random: random.random(),
    lambda random: random.randrange(5) / 4,
    lambda random: 0.5 + random.randrange(16) * 2.0**-24,
    lambda random: 0.5,
)


def _turns(random: Random, count: int) -> list[ExportedTurn]:
    salience, phases = random.choice(_SALIENCES), random.sample(PHASES, random.randrange(1, len(PHASES) + 1))
    numbers = random.sample(range(4 * count), count)  # ids do not follow the order of the conversation
    session = random.choice(("s", 'a "quoted" \\ Über\n'))
    return [
        ExportedTurn(
            f"{number:08x}-0000-4000-8000-{number:012x}", session, random.choice(get_args(Role)),
            random.choice(phases), binary32(salience(random)),
            random.randrange(1 << random.choice((3, 9, 20, 40))), random.randrange(9),
            binary32(random.random()), binary32(random.choice((0.0, 1.0, random.random() / 1000, 0.1))),
            binary32(random.uniform(-1, 1) * 10.0 ** random.randrange(-40, 38)),
            random.choice((0, 1, -1)) * random.randrange(1 << 40),
        )
        for number in numbers
    ]  # fmt: skip


def _policy(random: Random, count: int) -> SlicePolicyV1:
    weights = {phase: random.choice((0.0, 0.3, 0.9, 1.0, -0.4, random.randrange(10**6) / 1e6)) for phase in PHASES}
    return SlicePolicyV1(
        max_nodes=random.choice((1, 2, 7, 30, 256, count, _LARGEST[1])),
        max_radius=random.choice((0, 1, 3, 10, count, _LARGEST[0])),
        phase_weights=PhaseWeights(**weights),
        salience_weight=random.choice((0.0, 0.3, 1.0)),
        distance_decay=random.choice((0.0, 0.333333, 0.9, 1.0)),
        include_siblings=random.random() < 0.8,
        max_siblings_per_node=random.choice((0, 1, 5, 60, _LARGEST[1])),
    )


def check_slices(random: Random) -> None:
    """Selects slices of a random graph with every version, and compares them."""
    count = random.choice((1, 2, 10, 60, 120, _MOST))
    turns = _turns(random, count)
    edges = [
        Edge(turns[above].id, turns[below].id, random.choice(_TYPES))
        for below, parents in enumerate(random.choice(_SHAPES)(random, count))
        for above in parents
        for _ in range(random.choice((1, 1, 1, 2)))
    ]
    plain = SessionGraph(turns, edges)
    rows = [(t.id, t.role, t.phase, t.salience, t.trajectory_depth, t.trajectory_sibling_order,
             t.trajectory_homogeneity, t.trajectory_temporal, t.trajectory_complexity, t.created_at, GIVEN)
            for t in turns]  # fmt: skip
    session = compact(turns[0].session_id, rows, [(edge.parent, edge.child, edge.edge_type) for edge in edges])
    with_kernel(session, kernel_named(""), wide=random.choice((0, 3, best_first.WIDE)))
    for _ in range(4):
        anchor, policy = random.choice(turns).id, _policy(random, count)
        expected, wide = plain.context_slice(anchor, policy), random.choice((0, 3, best_first.WIDE))
        order = select(plain, anchor, policy)
        assert best_first.select(session, anchor, policy, wide) == order, "the version on arrays selects others"
        assert best_first.context_slice(session, anchor, policy) == expected, "the version on arrays writes others"
        assert selection.select(session, anchor, policy) == order, "the compiled version selects others"
        assert selection.context_slice(session, anchor, policy) == expected, "the compiled version writes others"
        assert selection.exports(session, [(anchor, policy)]) == [expected.export], "a batch has others"
