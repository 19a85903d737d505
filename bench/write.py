"""Writes to a library, and the search after each, beside a search that finds nothing new to read.

Times are of the processor, since a flush depends on the disk. `unchecked` is the same write without the reading again
and the rules that stand before every write.
"""

import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

from bench.library import show, write_library
from slicebase.base import Slicebase

FILES = 1_000
WRITES = 40
ROUNDS = 4
ROWS = 500  # in the log that is written to
ROW = '{"text": "Sessions live in PostgreSQL.", "why": "one backup", "_meta": {"provenance": {"author": "dom"}}}'


def unchecked(old: object, new: Any, **others: object) -> Any:
    return new.to_bytes()


def once(action: Callable[[], object], *, is_checked: bool = True) -> float:
    """Returns the time of one call, as the mean of many."""
    with nullcontext() if is_checked else patch("slicebase.library.folder.checked_bytes", unchecked):
        start = process_time()
        for _ in range(WRITES):
            action()
        return (process_time() - start) / WRITES


def beside(action: Callable[[], object], other: Callable[[], float]) -> tuple[float, float]:
    """Returns the best times of two actions that take turns, so that both meet the same library and machine."""
    pairs = [(once(action), other()) for _ in range(ROUNDS)]
    return min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)


def run(files: int = FILES) -> None:
    with tempfile.TemporaryDirectory() as name:
        write_library(Path(name), files)
        with Slicebase.open(Path(name)) as base:
            measure(base, files)


def measure(base: Slicebase, files: int) -> None:
    library, numbers = base.library, count()
    log = library.create("Decisions", "One per row.", type="jsonl").id
    library.remember(log, "\n".join([ROW] * ROWS))
    note = library.create("Note", "A note.", body="# Note\n").id
    writes: dict[str, Callable[[], object]] = {
        "create": lambda: library.create("A title", "What it is about.", body="# Body\n\nSome words.\n"),
        "remember, a row": lambda: library.remember(log, ROW),
        "remember, a paragraph": lambda: library.remember(note, "A paragraph."),
        "define": lambda: library.define(note, f"meta.number=n{next(numbers)}"),
    }

    def search() -> object:
        return library.search("PostgreSQL")

    search()
    again = min(once(search) for _ in range(ROUNDS))
    print(f"write: a library of {files:,} files, a log of {ROWS} rows")
    show("a search that finds nothing new", again)
    for what, write in writes.items():
        with_check, without = beside(write, lambda write=write: once(write, is_checked=False))  # type: ignore[misc]
        show(what, with_check, f"  {with_check / without:.2f} of unchecked, {with_check / again:.2f} of the search")
        both = min(once(lambda write=write: (write(), search())) for _ in range(ROUNDS))  # type: ignore[misc]
        after = both - with_check
        show("  and a search after it", after, f"  {after / again:.2f} of the search")


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
