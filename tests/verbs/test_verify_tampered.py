"""Every table, every column: what somebody changes in the database is found by verify, alone or with the newest seal.

The cases are made from the schema. The table of what is found how is written into docs/verify.md; with RECORD_GOLDEN=1
this test writes it.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from slicebase import Slicebase
from slicebase.graph.policy import SlicePolicyV1
from slicebase.truth.chains import linked
from slicebase.truth.places import SMALL
from slicebase.truth.schema import CHAINS, SCHEMA
from slicebase.truth.truth import Truth
from slicebase.verbs.verify import Verdict
from tests.conversations import SESSION, annotate, chain, name, store, turn
from tests.paths import PROJECT

PAGE = PROJECT / "docs" / "verify.md"
BEGIN, END = "<!-- tampering: begin -->\n", "<!-- tampering: end -->\n"


def fill(folder: Path) -> None:
    """Makes a workspace in which every table has at least two rows, and seals it."""
    with Slicebase.init(folder) as memory:
        truth = memory.truth
        store(truth, [turn("a", text="the lock file is stale, so that nobody can write"), turn("b", "a"), turn("c"), turn("d", "b")])
        truth.turns.add(SESSION, [turn("orphan", "nobody"), turn("lost", "no-one")], annotate)
        big = [each.__class__(**{**{f: getattr(each, f) for f in each.__struct_fields__}, "session": "big"}) for each in chain(SMALL + 3)]
        truth.turns.add(type(SESSION)("big", "test", "A large session"), big, annotate)
        from slicebase.graph.turn import Edge

        truth.turns.link([Edge(name("c"), name("d"), "reference"), Edge(name("a"), name("c"), "reference")])
        for nodes in (7, 8):
            truth.policies.keep(SlicePolicyV1(max_nodes=nodes))
        memory.context("the lock file")
        memory.context("nobody can write")
        runs = memory.runs
        for run in ("r", "r2"):
            runs.start(run, "Find the cause.", "The cause is known.")
            for n in range(1, 4):
                with runs.step(run) as step:
                    step.plan("look")
                    step.log("ACT_DONE", output=f"{run} {n} " * 20_000)
                    step.claim(f"It is stale {n}.", cite=(f"turn:{name('a')}", "stale" if n == 1 else "lock file"))
                runs.compact(run)
        runs.narrative("r")
        memory.purge(f"turn:{name('d')}", reason="a test")
        memory.purge(f"turn:{name('b')}")
        memory.seal()


class Copy(NamedTuple):
    """A copy of the filled workspace."""

    root: Path

    @property
    def database(self) -> Path:
        return self.root / ".slicebase" / "slicebase.db"

    def verify(self, *, with_seal: bool) -> Verdict:
        seals = [path for path in (self.root / ".slices").iterdir() if b"slicebase: seal" in path.read_bytes()]
        assert seals
        hidden = [] if with_seal else [(path, path.rename(path.with_suffix(".hidden"))) for path in seals]
        try:
            with Slicebase.open(self.root) as memory:
                return memory.verify()
        finally:
            for path, away in hidden:
                away.rename(path)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    root = tmp_path_factory.mktemp("filled")
    fill(root)
    shutil.rmtree(root / ".slicebase" / "cache")  # the index is a witness of its own
    return Copy(root)
