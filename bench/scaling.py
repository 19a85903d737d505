"""How slices grow with a session: warm in both versions and on other libraries, and cold from the disk, in one run.

With `--write`, the pictures in docs/images are drawn again from the figures of this run.
"""

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from bench._plot import Series, plot
from bench.select import ANCHORS, OnNetworkx, OnRustworkx, forest, measured, microseconds, percentile
from bench.store import load
from slicebase.graph.atlas import AnchorChoice, chosen_anchors, survey
from slicebase.graph.compact import compact
from slicebase.graph.policy import DEFAULT
from slicebase.graph.select import select
from slicebase.graph.selection import kernel_named, with_kernel
from slicebase.truth.truth import Truth

IMAGES = Path(__file__).parent.parent / "docs" / "images"
SIZES = (1_000, 10_000, 100_000, 1_000_000)
STORED = (1_000, 10_000, 100_000, 300_000)  # a million takes minutes to store: `bench store` does
SURVEYED = (1_000, 10_000, 100_000)
FEW = 100  # anchors where each takes long


def run(options: Sequence[str] = ()) -> None:
    slices: dict[str, list[tuple[float, float]]] = {}
    atlas: dict[str, list[tuple[float, float]]] = {}
    for size in SIZES:
        for name, figure in _warm(size):
            slices.setdefault(name, []).append((size, figure))
    for size in STORED:
        slices.setdefault("cold, from disk", []).append((size, _cold(size)))
    for size in SURVEYED:
        atlas.setdefault("every turn, one thread", []).append((size, _surveyed(size)))
    for title, series in (("slices", slices), ("atlas", atlas)):
        for name, points in series.items():
            print(f"{title:>7} {name:>26}  " + "  ".join(f"{size:>9,.0f}: {figure:>9.3g}" for size, figure in points))
    if "--write" in options:
        _draw("slices.svg", "A context slice, by the size of its session", "µs of processor time, p50", slices)
        _draw("atlas-time.svg", "An atlas, by the size of its session", "seconds", atlas)


def _draw(name: str, title: str, unit: str, series: Series) -> None:
    (IMAGES / name).write_text(plot(title, f"{unit}; turns in the session, conversations with branches", series))


def _warm(size: int) -> list[tuple[str, float]]:
    graph = forest(size)
    session = compact("s", *graph)
    chance = random.Random(2)
    ids = [row.id for row in graph.rows]
    warm, anchors = (chance.sample(ids, min(ANCHORS, size)) for _ in range(2))
    found = []
    for kernel, name in ((kernel_named("auto"), "compiled"), (kernel_named("plain"), "plain")):
        measured(session, kernel, warm, DEFAULT)
        found.append((name, percentile(measured(session, kernel, anchors, DEFAULT).times, 50)))
    for library in (OnNetworkx, OnRustworkx):
        there = library(graph)
        times = microseconds(lambda anchor, there=there: select(there, anchor, DEFAULT), anchors[:FEW])  # type: ignore[misc]
        found.append((f"{library.__name__.removeprefix('On').lower()}, selection", percentile(times, 50)))
    return found


def _cold(size: int) -> float:
    graph = forest(size)
    with TemporaryDirectory() as folder:
        path = Path(folder, "slicebase.db")
        truth = Truth(path, create=True)
        load(truth, graph)
        truth.close()
        first, *anchors = [row.id for row in random.Random(5).sample(graph.rows, FEW + 1)]
        cold = partial(_slice_of, path)
        cold(first)  # imports modules
        return percentile(microseconds(cold, anchors), 50)


def _slice_of(path: Path, anchor: str) -> None:
    truth = Truth(path)
    truth.sessions.slice_around(anchor, DEFAULT)
    truth.close()


def _surveyed(size: int) -> float:
    session = with_kernel(compact("s", *forest(size)), kernel_named("auto"))
    start = perf_counter()
    survey(session, chosen_anchors(session, AnchorChoice()), DEFAULT)
    return perf_counter() - start


if __name__ == "__main__":
    run()
