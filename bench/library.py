"""The index and search of the library, compared with `grep -ri` and a loop that parses every file, in one run.

`python -m bench.library 100000` uses another number of files than 10,000. Several numbers show how the times grow.
"""

import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from slicebase.core.ids import ULID_RANDOM_BYTES, ulid
from slicebase.files.create import new_file
from slicebase.files.model import Link
from slicebase.files.slice_file import SliceFile
from slicebase.library.finder import Finder
from slicebase.workspace.workspace import Workspace, create_workspace

FILES = 10_000
FILE_BYTES = 2048
ROUNDS = 9
SCRIPT = "from slicebase.cli.entry import main; main()"  # what the installed `tt` does
PROJECT = Path(__file__).resolve().parent.parent
SECONDS = 6.0  # for the first index of 10,000 files
MILLISECONDS = 60.0  # for a scan that finds no change


def sentences() -> list[str]:
    """Returns real text: lines of the documents and comments of this project."""
    pages = [*PROJECT.glob("docs/**/*.md"), *PROJECT.glob("src/**/*.py")]
    lines = {line.strip(" #\"'|") for page in sorted(pages) for line in page.read_text().splitlines()}
    return sorted(line for line in lines if len(line.split()) > 4)


def write_library(folder: Path, files: int) -> Workspace:
    chance, lines = random.Random(1), sentences()
    workspace = create_workspace(folder)
    ids = [ulid(1_750_000_000_000 + n * 1000, chance.randbytes(ULID_RANDOM_BYTES)) for n in range(files)]
    for n, file_id in enumerate(ids):
        body = f"# {chance.choice(lines)}\n"
        while len(body) < FILE_BYTES - 500:
            body += f"\n## {' '.join(chance.choice(lines).split()[:4])}\n\n" if chance.random() < 0.2 else "\n"
            body += chance.choice(lines) + "\n"
        file = new_file(
            id=file_id,
            title=" ".join(chance.choice(lines).split()[:6]),
            summary=chance.choice(lines),
            body_type="markdown",
            body=body.encode(),
            links=[Link("depends_on", ids[n - 1]), Link("see_also", ids[n // 2])],
            meta={"author": chance.choice(["one", "two", "three"])},
        )
        (workspace.library / f"{file_id}.slice").write_bytes(file.to_bytes())
    return workspace


def words_by_frequency(workspace: Workspace) -> list[str]:
    """Returns words that few, some and many files have."""
    paths = sorted(workspace.library.iterdir())[:1000]
    counts: Counter[str] = Counter()
    for path in paths:
        counts.update(set(re.findall(r"\b[a-z]{5,}\b", path.read_text())))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return [next(word for word in ranked if counts[word] <= share * len(paths)) for share in (0.01, 0.1, 0.35)]


def parse_everything(workspace: Workspace, word: str) -> int:
    """Searches without an index: parses every file and searches its texts."""
    found = 0
    for path in workspace.library.iterdir():
        file = SliceFile.parse(path.read_bytes(), path.name)
        found += word in f"{file.title}\n{file.summary}\n{file.text_for_model()}".lower()
    return found


def seconds(action: Callable[[], object], rounds: int = 1) -> float:
    times = []
    for _ in range(rounds):
        start = perf_counter()
        action()
        times.append(perf_counter() - start)
    return statistics.median(times)


def command(workspace: Workspace, *words: str) -> Callable[[], object]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(PROJECT / "src")
    return lambda: subprocess.run(words, cwd=workspace.root, env=environment, capture_output=True, check=False)


def measure(files: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        workspace = write_library(Path(name), files)
        finder = Finder(workspace)
        size = sum(path.stat().st_size for path in workspace.library.iterdir()) / files
        print(f"library: {files:,} slice files of {size:,.0f} bytes")
        limit = f"  (at most {SECONDS:.0f} s)" if files == FILES else ""
        show("first index", seconds(finder.list_files), limit)
        finder.list_files()  # reads again the files that were written in the tick of the first scan
        index = sum(path.stat().st_size for path in workspace.cache.iterdir())
        print(f"  {'index on disk':34} {index / 1e6:10.1f} MB")
        limit = f"  (at most {MILLISECONDS:.0f} ms)" if files == FILES else ""
        show("a scan that finds nothing changed", seconds(lambda: finder.index.ask(bool), ROUNDS), limit)
        show("a scan that finds one file changed", seconds(lambda: change(workspace, finder), ROUNDS))
        for word in words_by_frequency(workspace):
            beside_grep(workspace, finder, word)


def change(workspace: Workspace, finder: Finder) -> None:
    path = next(workspace.library.iterdir())
    path.write_bytes(path.read_bytes() + b"x")
    finder.index.ask(bool)


def beside_grep(workspace: Workspace, finder: Finder, word: str) -> None:
    actions = (
        command(workspace, sys.executable, "-c", SCRIPT, "search", word),
        command(workspace, "grep", "-ri", word, ".slices"),
        command(workspace, sys.executable, "-c", "pass"),
    )
    actions[0]()  # writes the byte code that an installation has
    rounds = [[seconds(action) for action in actions] for _ in range(ROUNDS)]
    ours, theirs, bare = (statistics.median(times) for times in zip(*rounds, strict=True))
    hits = finder.search(word).total
    print(f"  a search for {word!r}, which {hits:,} files have")
    show("  tt search, as a process", ours, f"  {ours / (theirs + bare):.2f} of grep and a bare start")
    show("  grep -ri", theirs)
    show("  python -c pass", bare)
    show("  within a process", seconds(lambda: finder.search(word), ROUNDS))
    show("  parsing every file", seconds(lambda: parse_everything(workspace, word)))


def show(what: str, time: float, more: str = "") -> None:
    print(f"  {what:34} {time * 1000:10.1f} ms{more}")


def run(sizes: Sequence[int] = (FILES,)) -> None:
    if shutil.which("grep") is None:
        sys.exit("this benchmark compares with grep, which is not here")
    for files in sizes:
        measure(files)


if __name__ == "__main__":
    run([int(argument) for argument in sys.argv[1:]] or (FILES,))
