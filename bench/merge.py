"""Merging slice files, compared with `git merge-file` on the same files: the processor time of each.

git compares lines only, and leaves a conflict where both sides append. The driver is the complete process that git
starts for a file.
"""

import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

from bench.files import WORDS
from slicebase.core.ids import ULID_RANDOM_BYTES, ulid
from slicebase.core.times import to_text
from slicebase.files.body.rows import row_line
from slicebase.files.create import new_file
from slicebase.files.merge import merge_bytes
from slicebase.files.model import Link

ROUNDS = 3
ADDED = 100
START = 1_700_000_000_000

Versions = tuple[bytes, bytes, bytes]


def made(body_type: str, body: bytes, links: int = 2) -> bytes:
    chance = random.Random(7)
    ids = [ulid(START + n, chance.randbytes(ULID_RANDOM_BYTES)) for n in range(links + 1)]
    file = new_file(
        id=ids[0], title="Decisions", summary="What we decided.", body_type=body_type, body=body,
        links=[Link("see_also", to) for to in ids[1:]], meta={"owner": "kim"},
    )  # fmt: skip
    return file.to_bytes()


def logs(rows: int) -> Versions:
    """Returns a log, and what two sides made of it: new rows at the end, and another title."""
    chance = random.Random(rows)

    def lines(count: int, first: int) -> bytes:
        return b"".join(
            row_line(
                {
                    "id": ulid(START + first + n, chance.randbytes(ULID_RANDOM_BYTES)),
                    "created_at": to_text(START + first + n),
                },
                {"text": " ".join(chance.choices(WORDS, k=20))},
            )
            for n in range(count)
        )

    base = lines(rows, 0)
    ours, theirs = (made("jsonl", base + lines(ADDED, rows + first)) for first in (0, 50))
    return made("jsonl", base), ours, theirs.replace(b"owner: kim", b"owner: ann")


def pages(paragraphs: int, *, alike: bool = False) -> Versions:
    """Returns a Markdown page to which both sides appended, and in which both changed paragraphs; many can be alike."""
    chance = random.Random(paragraphs)
    lines = [" ".join(chance.choices(WORDS[:3] if alike else WORDS, k=1 if alike else 12)) for _ in range(paragraphs)]
    ours, theirs = list(lines), list(lines)
    for at in range(0, paragraphs, 50):
        ours[at] = "Ours " + lines[at]
        theirs[at + 25] = "Theirs " + lines[at + 25]
    both = [*ours, "Appended by us."], [*theirs, "Appended by them."]
    base, one, other = (made("markdown", "\n\n".join(text).encode() + b"\n") for text in (lines, *both))
    return base, one, other


def linked(links: int) -> Versions:
    """Returns a file to which both sides added links."""
    whole = made("markdown", b"Text.\n", links)
    head, *items = whole.split(b"    - rel: ")
    *items, last = items
    last, tail = last[: last.index(b"  meta:")], last[last.index(b"  meta:") :]
    items.append(last)
    third = links // 3

    def of(*parts: list[bytes]) -> bytes:
        return b"    - rel: ".join([head, *(item for part in parts for item in part)]) + tail

    return of(items[:third]), of(items[: 2 * third]), of(items[:third], items[2 * third :])


CASES: tuple[tuple[str, Versions], ...] = (
    ("a log of 200 rows", logs(200)),
    ("… of 2,000", logs(2_000)),
    ("… of 20,000", logs(20_000)),
    ("a page of 200 paragraphs", pages(200)),
    ("… of 20,000", pages(20_000)),
    ("… of 20,000 alike", pages(20_000, alike=True)),
    ("a header with 600 links", linked(600)),
)


def best(merge: Callable[[], object], clock: Callable[[], float]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = clock()
        merge()
        times.append(clock() - start)
    return min(times) * 1000


def of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run() -> None:
    print(f"merge: three versions of a file, best of {ROUNDS}, ms of the processor")
    print(f"  {'':<26} {'KB':>7} {'git':>8} {'ours':>8} {'driver':>8} {'ours/git':>9}  conflicts")
    with tempfile.TemporaryDirectory() as folder:
        for what, versions in CASES:
            print(f"  {what:<26} {measured(versions, Path(folder))}")


def measured(versions: Versions, folder: Path) -> str:
    """Returns the figures of one merge."""
    base, ours, theirs = paths = [folder / name for name in ("base", "ours", "theirs")]
    for path, data in zip(paths, versions, strict=True):
        path.write_bytes(data)
    by_git = ["git", "merge-file", "-p", str(ours), str(base), str(theirs)]
    by_us = [sys.executable, "-P", "-m", "slicebase", "merge-driver", "--", *map(str, paths), "x.slice"]

    def drive() -> None:
        ours.write_bytes(versions[1])
        subprocess.run(by_us, capture_output=True, check=False)

    git = best(lambda: subprocess.run(by_git, capture_output=True, check=False), of_children)
    here = best(lambda: merge_bytes(*versions, "x.slice"), process_time)
    whole = best(drive, of_children)
    left = len(merge_bytes(*versions, "x.slice").conflicts)
    return f"{len(versions[1]) / 1000:7.0f} {git:8.1f} {here:8.1f} {whole:8.1f} {here / git:9.1f}  {left}"
