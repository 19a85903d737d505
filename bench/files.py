"""Parsing and validating slice files, compared with python-frontmatter and PyYAML's C loader, which only parse."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import frontmatter
from frontmatter import default_handlers
from yaml import CSafeLoader

from slicebase.core.ids import ULID_RANDOM_BYTES, ulid
from slicebase.files.create import new_file
from slicebase.files.model import Contract, Link
from slicebase.files.slice_file import SliceFile
from slicebase.library.check import validate

FILES = 10_000
ROUNDS = 3
WORDS = (
    "queue", "table", "writer", "reader", "index", "token", "budget", "retry", "cache", "schema", "branch", "anchor",
    "policy", "export", "digest", "ledger", "claim", "conflict", "snapshot", "context", "evidence", "deploy", "lease",
)  # fmt: skip


def write_files(folder: Path) -> None:
    """Writes typical files of about 2 KB: a header of about thirty lines, and a page of Markdown."""
    chance = random.Random(1)
    ids = [ulid(1_700_000_000_000 + n, chance.randbytes(ULID_RANDOM_BYTES)) for n in range(FILES)]

    def words(count: int) -> str:
        return " ".join(chance.choices(WORDS, k=count))

    for n, file_id in enumerate(ids):
        topics = words(2), words(3)
        file = new_file(
            id=file_id,
            title=words(4).capitalize(),
            summary=f"{words(12).capitalize()}. {words(8).capitalize()}.",
            body_type="markdown",
            body="".join(f"\n## {words(3)}\n\n{words(40)}.\n" for _ in range(4)).encode(),
            contract=Contract(
                purpose=f"{words(9).capitalize()}: {words(3)}.",
                exclude=topics,
                format=f"One section per {words(1)}.",
                write="replace",
                overflow="summarize",
            ),
            links=[
                Link("depends_on", ids[n - 1]),
                Link("routes_to", ids[n - 2], topics[0]),
                Link("routes_to", f"./{ids[n - 3]}.slice", topics[1]),
            ],
            meta={"author": words(1), "priority": chance.randrange(5), "reviewed": chance.random() < 0.5},
            updated_at="2026-01-31T12:00:00.000Z",
        )
        (folder / file.name).write_bytes(file.to_bytes())


def best(parse: Callable[[Any], object], inputs: list[Any]) -> float:
    """Returns the processor time per input in seconds, in the best of a few rounds."""
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        for item in inputs:
            parse(item)
        times.append(process_time() - start)
    return min(times) / len(inputs)


def run() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / ".slices"
        folder.mkdir()
        write_files(folder)
        data = [path.read_bytes() for path in sorted(folder.iterdir())]
        validated = best(check, [folder]) / FILES
    texts = [item.decode() for item in data]
    assert default_handlers.SafeLoader is CSafeLoader
    size = sum(map(len, data)) / len(data)

    theirs = best(frontmatter.loads, texts)
    ours = best(SliceFile.parse, data)
    typed = best(fields, data)

    print(f"files: {FILES:,} slice files of {size:,.0f} bytes, best of {ROUNDS}, per file")
    for what, seconds in (
        ("python-frontmatter, CSafeLoader", theirs),
        ("SliceFile.parse", ours),
        ("… and id, title, links", typed),
        ("tt validate, from the disk", validated),
    ):
        print(f"  {what:<32} {seconds * 1e6:8.1f} µs {theirs / seconds:7.1f} ×")


def check(folder: Path) -> None:
    assert validate([folder]).findings == ()


def fields(data: bytes) -> object:
    file = SliceFile.parse(data)
    return file.id, file.title, file.links
