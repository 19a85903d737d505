"""`make soak`: every kind of try for its share of SOAK_SECONDS. Exit status 1 if anything was lost or a false alarm.

`python -m soak KIND…` runs only these kinds. SOAK_SEED gives the same tries again, SOAK_TRY is the only one of them to
run, and SOAK_RECORD=1 writes the table into docs/reliability.md.
"""

import os
import sys
import time
from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple

from slicebase.workspace.machine import MACHINE
from soak.figures import Figures, Outcome, record, table
from soak.full_disk import limited_sizes, small_disk
from soak.ground import Ground
from soak.kills import killed_after_a_time, killed_at_a_change
from soak.power import copied, copied_and_cut
from soak.together import many_writers


class Kind(NamedTuple):
    """A kind of try: how the table calls it, the try, and its share of the time."""

    what: str
    run: Callable[[Ground, Random, int], Outcome]
    share: float


KINDS: Final = {
    "killed": Kind("killed after a random time", killed_after_a_time, 0.2),
    "killed-at": Kind("killed at a change of a file", killed_at_a_change, 0.25),
    "limit": Kind("files cannot grow", limited_sizes, 0.15),
    "disk": Kind("the disk is full", small_disk, 0.1),
    "together": Kind("many writers", many_writers, 0.15),
    "power": Kind("power loss: files of one moment", copied, 0.1),
    "power-cut": Kind("power loss: the end of the log is lost", copied_and_cut, 0.05),
}


def main(names: list[str]) -> int:
    if unknown := set(names) - set(KINDS):
        sys.exit(f"no kind {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    os.environ.setdefault(MACHINE, "soak")
    seconds = float(os.environ.get("SOAK_SECONDS", "180"))
    seed = int(os.environ.get("SOAK_SEED") or int.from_bytes(os.urandom(4), "big"))
    chosen = {name: KINDS[name] for name in names or KINDS}
    shares = sum(kind.share for kind in chosen.values())
    print(f"{len(chosen)} kinds of tries, {seconds:.0f} seconds, SOAK_SEED={seed}")
    with Ground(seconds) as ground:
        figures = [_soaked(ground, name, seed, seconds * kind.share / shares) for name, kind in chosen.items()]
    print(table(figures), end="")
    if os.environ.get("SOAK_RECORD") == "1":
        record(figures)
    return 0 if all(each.is_good for each in figures) else 1


def _soaked(ground: Ground, name: str, seed: int, seconds: float) -> Figures:
    """Tries one kind again and again, for some seconds."""
    kind, only = KINDS[name], os.environ.get("SOAK_TRY")
    figures, end = Figures(kind.what), time.monotonic() + seconds
    number = int(only or 0)
    while True:
        began = time.monotonic()
        outcome = kind.run(ground, Random(f"{seed}/{name}/{number}"), number)
        if outcome.skipped:
            print(f"{name}: skipped, {outcome.skipped}")
            return figures
        figures.add(outcome, time.monotonic() - began)
        for problem in outcome.problems:
            print(f"{name}: {problem}\n    again: SOAK_SEED={seed} SOAK_TRY={number} python -m soak {name}", flush=True)
        number += 1
        if only or time.monotonic() > end:
            return figures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
