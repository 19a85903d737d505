"""`tt slice --batch`: slices each second, warm, as a process prints them, by the compiled and the plain version.

Two batches of one session, a short and a long one, are compared: the difference has neither the start of the process
nor the reading of the session. Every anchor is used once in each half. The digest is that of the short batch's output.
"""

import json
import os
import random
import resource
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

from bench.select import forest
from bench.store import load
from slicebase.base import Slicebase
from slicebase.graph.selection import KERNEL, KernelName, kernel_named

TURNS = 50_000
SHORT: dict[KernelName, int] = {"native": 20_000, "plain": 2_000}  # requests; the long batch has three times as many


class Spent(NamedTuple):
    processor: float
    wall: float
    digest: str


def spent(root: Path, requests: Path, kernel: KernelName) -> Spent:
    """Returns the seconds of a process that prints a batch."""
    command = [sys.executable, "-m", "slicebase", "--root", str(root), "slice", "--batch", str(requests)]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    digest = sha256()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, KERNEL: kernel}) as process:
        assert process.stdout
        while data := process.stdout.read(1 << 20):
            digest.update(data)
    wall, after = perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(processor, wall, digest.hexdigest()[:12])


def run() -> None:
    print(f"\nBatches of slices, default policy, a session of {TURNS:,} turns, {os.cpu_count()} cores\n")
    print(f"{'version':>8} {'requests':>9} {'slices/s of a core':>19} {'slices/s':>9}  digest of the output")
    with TemporaryDirectory() as folder:
        root = Path(folder)
        with Slicebase.init(root) as base:
            graph = forest(TURNS)
            load(base.truth, graph)
        lines = [json.dumps({"anchor_turn_id": row.id}) + "\n" for row in random.Random(5).sample(graph.rows, TURNS)]
        for kernel in dict.fromkeys((kernel_named(""), kernel_named("plain"))):
            size = SHORT[kernel]
            short, long = root / "short.jsonl", root / "long.jsonl"
            short.write_text("".join(lines[:size]))
            long.write_text("".join(lines[:size]) * 3)
            one, three = (spent(root, path, kernel) for path in (short, long))
            of_a_core = 2 * size / (three.processor - one.processor)
            in_all = 2 * size / (three.wall - one.wall)
            print(f"{kernel:>8} {2 * size:>9,} {of_a_core:>19,.0f} {in_all:>9,.0f}  {one.digest}", flush=True)
