"""The ground of a soak: prepared workspaces to copy, and how long each work takes when nothing disturbs it."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple, Self

from slicebase import Slicebase
from soak.checks import check, check_purged, check_tidy
from soak.figures import Outcome
from soak.moments import Moments
from soak.works import WORKS, prepared
from soak.writers import Acknowledge, Writer

_DISK: Final = 24 << 20  # bytes of the small disk


class Measured(NamedTuple):
    """What a work takes when nothing disturbs it: seconds, changes of files, and bytes of the largest file."""

    seconds: float
    changes: int
    largest: int


class Ground(ExitStack):
    """Folders for tries. Each try gets a copy of a prepared workspace, half of them in a repository."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.together = max(0.5, min(4.0, seconds / 40))  # seconds that many writers work

    def __enter__(self) -> Self:
        super().__enter__()
        self._folder = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        self._measured: dict[str, Measured] = {}
        self._copies = 0
        for kind in ("plain", "git"):
            (self._folder / kind).mkdir()
            if kind == "git":
                subprocess.run(["git", "init", "-q", "--template=", self._folder / kind], check=True)
            prepared(self._folder / kind)
        return self

    def copy(self, random: Random, within: Path | None = None) -> Path:
        """Returns a new copy of a prepared workspace."""
        self._copies += 1
        folder = (within or self._folder) / f"try{self._copies}"
        shutil.copytree(self._folder / random.choice(("plain", "git")), folder)
        return folder

    def done(self, folder: Path, outcome: Outcome) -> Outcome:
        """Ends a try: removes its folder, unless something is wrong and SOAK_KEEP asks for the folder."""
        if outcome.problems and (kept := os.environ.get("SOAK_KEEP")):
            shutil.copytree(folder, Path(kept) / folder.name, dirs_exist_ok=True)
        remove(folder)
        return outcome

    def measured(self, name: str) -> Measured:
        """Returns what a work takes. It is done once, and counted while it is done."""
        if name not in self._measured:
            folder, counted = self.copy(Random(0)), list[Moments]()
            writer = Writer(_then(working(name, folder), lambda say: say("moments", counted[0].count)),
                            lambda pipe: counted.append(Moments(0, pipe)))  # fmt: skip
            began = time.monotonic()
            assert writer.end() == 0, writer.errors
            sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
            self._measured[name] = Measured(time.monotonic() - began, writer.said[-1][1], max(sizes))
            shutil.rmtree(folder)
        return self._measured[name]

    def small_disk(self) -> Path | None:
        """Returns a folder with a small disk of its own, or None where none can be mounted."""
        folder = self._folder / "disk"
        if not folder.exists():
            folder.mkdir()
            command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(folder)]
            try:
                if os.getuid() or subprocess.run(command, capture_output=True, check=False).returncode:
                    return None
            except OSError:
                return None
            self.callback(subprocess.run, ["umount", "-l", str(folder)], check=False)
        return folder if os.path.ismount(folder) else None


def working(name: str, folder: Path, n: str = "1") -> Callable[[Acknowledge], None]:
    """Returns the function of a writer that does a work in a folder."""

    def work(acknowledge: Acknowledge) -> None:
        with Slicebase.open(folder) as memory:
            WORKS[name](memory, acknowledge, n)

    return work


def _then(first: Callable[[Acknowledge], Any], second: Callable[[Acknowledge], Any]) -> Callable[[Acknowledge], None]:
    def both(acknowledge: Acknowledge) -> None:
        first(acknowledge)
        second(acknowledge)

    return both


def repeat(name: str, folder: Path, before: Writer, outcome: Outcome) -> None:
    """Does an interrupted work again, after what has to hold after the interruption was checked."""
    outcome.acknowledged += len(before.acknowledged)
    check(folder, before.acknowledged, outcome)
    again = Writer(working(name, folder))
    if again.end():
        outcome.unfinished.append(f"{name} cannot be repeated: {again.errors or again.status}")
    outcome.acknowledged += len(again.acknowledged)
    check(folder, [*before.acknowledged, *again.acknowledged], outcome)
    check_tidy(folder, outcome)
    check_purged(folder, again.acknowledged, outcome)


def remove(folder: Path) -> None:
    """Removes the folder of a try."""
    shutil.rmtree(folder, ignore_errors=True)
