"""The database: importing graph files, slices cold from disk, and complete contexts.

Cold means a new connection for each slice; the file cache of the system is warm. Times are processor times, except for
the import, which also waits for the disk.
"""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

from bench._floor import measure as measure_floor
from bench.select import (
    Graph,
    bushy,
    chain,
    comb,
    diamonds,
    forest,
    joined,
    microseconds,
    percentile,
    star,
    tree,
)
from slicebase.base import Slicebase
from slicebase.graph.graph_file import read_graph
from slicebase.graph.policy import DEFAULT, FOCUSED, SlicePolicyV1, policy_from
from slicebase.history.account import Account
from slicebase.history.graph_files import store_graph
from slicebase.importers.values import Options
from slicebase.index.upkeep import update_turn_index
from slicebase.truth.truth import Truth
from slicebase.verbs.contexts import Request, build_context

ANCHORS = 200
QUESTIONS = 60
SIZES = {
    "forest": (forest, (100_000, 1_000_000)),
    "joined": (joined, (1_000_000,)),
    "chain": (chain, (1_000_000,)),
    "star": (star, (100_000, 1_000_000)),
    "bushy": (bushy, (1_000_000,)),
    "tree": (tree, (1_000_000,)),
    "comb": (comb, (1_000_000,)),
    "diamonds": (diamonds, (1_000_000,)),
}
# Runs a command, and prints what it took. A process counts the memory of the one that started it as its own peak: so
# this one is between, and small.
USED_BY = """
import json, subprocess, sys
from resource import RUSAGE_CHILDREN, getrusage
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = getrusage(RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime, used.ru_stime, used.ru_maxrss]))
"""
IMPORTED = (100_000, 1_000_000)  # turns of one file
POLICIES = {"default": DEFAULT, "endless": policy_from({"max_radius": 2**32 - 1})}
CONTEXT_SIZES = (5_900, 100_000)
PER_FILE = 100_000  # turns
WORDS = 30  # per turn, on average


def vocabulary() -> list[str]:
    """Returns words, of which `text` uses the first ones most often: frequencies fall as in a natural language."""
    chance = random.Random(3)
    return [
        "".join(chance.choice("abcdefghiklmnoprstuvw") for _ in range(chance.randint(2, 10))) for _ in range(20_000)
    ]


def text(chance: random.Random, words: list[str]) -> str:
    count = chance.randint(WORDS // 3, WORDS * 5 // 3)
    return " ".join(words[min(int(chance.paretovariate(0.6)) - 1, len(words) - 1)] for _ in range(count))


def graph_files(graph: Graph, session: str, words: list[str] | None = None, size: int = PER_FILE) -> Iterator[bytes]:
    """Yields the graph as graph files of this size. With words, each turn has a text of its own."""
    chance = random.Random(4)
    for first in range(0, len(graph.rows), size):
        rows = graph.rows[first : first + size]
        here = {row.id for row in rows}
        turns = []
        for row in rows:
            turn: dict[str, Any] = {
                "id": row.id, "session_id": session, "role": row.role, "phase": row.phase, "salience": row.salience,
                "trajectory_depth": row.depth, "trajectory_sibling_order": row.sibling_order,
                "trajectory_homogeneity": row.homogeneity, "trajectory_temporal": row.temporal,
                "trajectory_complexity": row.complexity, "created_at": row.created_at,
                "content": text(chance, words) if words else "a few words of content",
            }  # fmt: skip
            turns.append(turn)
        edges = [{"parent": p, "child": c, "edge_type": kind} for p, c, kind in graph.edges if c in here]
        yield json.dumps({"turns": turns, "edges": edges}).encode()


def load(truth: Truth, graph: Graph, words: list[str] | None = None) -> float:
    """Imports the graph, and returns how many turns were imported per second."""
    spent = 0.0
    for data in graph_files(graph, "bench", words):
        start = perf_counter()
        with truth.database.bulk():
            store_graph(truth, read_graph(data), "bench", Account(), Options())
        spent += perf_counter() - start
    return len(graph.rows) / spent


def measure_import(size: int, folder: Path) -> None:
    """Imports one file with the command, which also fills the index, and shows what the process took."""
    path, workspace = folder / f"{size}.json", folder / f"import-{size}"
    path.write_bytes(next(graph_files(forest(size), "bench", vocabulary(), size)))
    workspace.mkdir()
    command = [sys.executable, "-m", "slicebase", "import", str(path)]
    start = perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", USED_BY, *command], cwd=workspace, check=True, capture_output=True, text=True
    )
    spent, (user, system, peak) = perf_counter() - start, json.loads(done.stdout)
    shown = f"{user + system:>12.1f} {system:>9.1f} {peak >> 10:>8,}"
    print(f"{size:>9,} {path.stat().st_size >> 20:>8,} {spent:>8.1f} {shown}", flush=True)
    parts = measure_floor([path], workspace)
    listed = ", ".join(f"{name} {seconds:.1f}" for name, seconds in parts.items())
    print(f"          the same in C alone: {sum(parts.values()):.1f} seconds of processor ({listed})")


def measure_slices(name: str, graph: Graph, folder: Path) -> None:
    path = folder / f"{name}-{len(graph.rows)}.db"
    truth = Truth(path, create=True)
    rate = load(truth, graph)
    truth.close()
    first, *anchors = [row.id for row in random.Random(5).sample(graph.rows, ANCHORS + 1)]

    def cold(anchor: str, policy: SlicePolicyV1) -> None:
        opened = Truth(path)
        opened.sessions.slice_around(anchor, policy)
        opened.close()

    shown = f"{name:>8} {len(graph.rows):>9,} {rate:>16,.0f} {path.stat().st_size / len(graph.rows):>12.0f}"
    cold(first, DEFAULT)  # imports modules
    for policy in POLICIES.values():
        times = microseconds(partial(cold, policy=policy), anchors)
        shown += f" {percentile(times, 50) / 1000:>15.2f} {percentile(times, 99) / 1000:>7.2f}"
    print(shown, flush=True)


def measure_contexts(size: int, folder: Path) -> None:
    words = vocabulary()
    base = Slicebase.init(folder / f"context-{size}")
    rate = load(base.truth, forest(size), words)
    start = process_time()
    update_turn_index(base.turn_index, base.truth)
    filled = size / (process_time() - start)
    chance = random.Random(6)
    questions = [text(chance, words) for _ in range(QUESTIONS)]
    index, truth = base.turn_index, base.truth
    times = microseconds(
        lambda asked: build_context(truth, index, None, Request(asked[:60], 4000, None, 0, FOCUSED)), questions
    )
    print(
        f"{size:>9,} {rate:>16,.0f} {filled:>16,.0f} {percentile(times, 50) / 1000:>15.1f} "
        f"{percentile(times, 99) / 1000:>7.1f}",
        flush=True,
    )
    base.close()


def run() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        print("\nOne graph file, imported by the command\n")
        print(f"{'turns':>9} {'MiB':>8} {'seconds':>8} {'of processor':>12} {'of system':>9} {'peak MiB':>8}")
        for size in IMPORTED:
            measure_import(size, folder)
        print("\nGraph files into SQLite, and slices of one session cold from disk: default policy, and any radius\n")
        header = f"{'graph':>8} {'turns':>9} {'turns/s imported':>16} {'bytes/turn':>12}"
        print(header + "".join(f" {name + ' ms p50':>15} {'p99':>7}" for name in POLICIES))
        for graph, (make, sizes) in SIZES.items():
            for size in sizes:
                measure_slices(graph, make(size), folder)
        print("\nContexts of 4,000 tokens, start-up excluded\n")
        header = f"{'turns':>9} {'turns/s imported':>16} {'turns/s indexed':>16} {'context ms p50':>15} {'p99':>7}"
        print(header)
        for size in CONTEXT_SIZES:
            measure_contexts(size, folder)
