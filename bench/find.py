"""Finding turns: whether every identifier of real sessions is found, and how long a search takes in a large history.

`python -m bench find` imports real sessions, and copies of them with other ids up to 60,000 turns. It compares `tt
search` with `tt --version` and, if it is installed, with fast-resume (PyPI), which indexes titles and the text of users
and assistants only. Nothing of it is installed here: FAST_RESUME names its command.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from time import perf_counter

from bench.start import SOURCE, once
from slicebase import Slicebase
from slicebase.context.identifiers import is_identifier, runs_of, trimmed
from slicebase.context.query import read
from slicebase.index.narrow import EVERY_TURN
from slicebase.index.turn_search import Bounds
from slicebase.verbs.turns import TurnReader, turn_hits

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FOLDERS = ("claude-code", "codex", "gemini")
TURNS = 60_000
LARGE = 50_000  # bytes of a session that is copied
SAMPLE = 600  # identifiers
ROUNDS = 11
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
QUERIES = {
    "an identifier": ("GIT_INDEX_FILE",),
    "two words": ("worktree", "hooks"),
    "a common word": ("file",),
    "quoted text": ('"git index"',),
    "a question": ("how are hooks installed in worktrees",),
}


def run() -> None:
    large = [path for path in sorted((DATA / "claude-code").rglob("*.jsonl")) if path.stat().st_size > LARGE]
    if not large:
        print("find: skipped, its data is not here")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Slicebase.init(folder / "real") as memory:
            memory.import_([DATA / each for each in FOLDERS if (DATA / each).exists()])
            _check(memory)
        _time(folder, [path.read_text() for path in large])


def _check(memory: Slicebase) -> None:
    """Prints for how many identifiers every turn that has one is found before all others."""
    reader = TurnReader(memory.truth)
    texts = {
        view.id: reader.text(view.id) or ""
        for session in memory.graph.sessions()
        for view in memory.graph.turns(session.id)
    }
    names = sorted({name for text in texts.values() for run in runs_of(text) if is_identifier(name := trimmed(run))})
    sampled = sorted(names, key=lambda name: sha256(name.encode()).digest())[:SAMPLE]
    right = sum(_is_found(memory, reader, name, texts) for name in sampled)
    print(f"find: {len(texts):,} turns; of {len(sampled)} of {len(names):,} identifiers, every turn that has it comes")
    print(f"  before all others for {right} ({right / len(sampled):.1%})")


def _is_found(memory: Slicebase, reader: TurnReader, name: str, texts: dict[str, str]) -> bool:
    begins = r"(?<![^\W_])" if name[0].isalnum() else ""  # inside a word, it is another one
    written = re.compile(begins + re.escape(name))
    having = {turn for turn, text in texts.items() if name in text and written.search(text)}
    query = f'"{name}"' if name[0] == "-" else name  # a dash would leave the word out
    found = turn_hits(memory, read(query), EVERY_TURN, reader, Bounds(len(having)))
    return {hit.turn for hit in found.hits[: len(having)]} == having


def _time(folder: Path, texts: list[str]) -> None:
    history = folder / "home" / ".claude" / "projects" / "bench"
    history.mkdir(parents=True)
    for number, text in enumerate(_copies(texts)):
        (history / f"{number}.jsonl").write_text(text)
    root = folder / "large"
    with Slicebase.init(root) as memory:
        memory.import_(history)
        memory.turn_index.file.discard()
        began = perf_counter()
        turns = sum(session.turns for session in memory.graph.sessions())
        size = sum(path.stat().st_size for path in history.iterdir()) / 1e6
        print(f"  {turns:,} turns ({size:.0f} MB) are indexed in {perf_counter() - began:.1f} s")
    other = os.environ.get("FAST_RESUME") or shutil.which("fr")
    if not other:
        print("  fast-resume: skipped, it is not installed")
    for arguments in ((), *QUERIES.values()):  # once, so that everything is warm
        once(root, SOURCE, ("search", *arguments) if arguments else ("--version",), b"")
        if other and arguments:
            _other(other, folder / "home", arguments)
    for what, arguments in QUERIES.items():
        rounds = [
            (
                once(root, SOURCE, ("--version",), b""),
                once(root, SOURCE, ("search", *arguments), b""),
                _other(other, folder / "home", arguments) if other else 0,
            )
            for _ in range(ROUNDS)
        ]
        version, ours, theirs = (statistics.median(column) for column in zip(*rounds, strict=True))
        beside = f"; fast-resume {theirs * 1000:.1f} ms" if other else ""
        print(
            f"  {what:16} {ours * 1000:7.1f} ms, {ours / version:.2f} × tt --version ({version * 1000:.1f} ms){beside}"
        )


def _copies(texts: list[str]) -> Iterator[str]:
    """Yields real sessions with other ids, again and again, as many as there should be turns."""
    turns, copy = 0, 0
    while turns < TURNS:
        for text in texts:
            yield UUID.sub(lambda match: _other_id(match[0], copy), text)  # noqa: B023 - it is called at once
            turns += text.count('"message":{')
        copy += 1


def _other_id(uuid: str, copy: int) -> str:
    digits = sha256(f"{copy} {uuid}".encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-8{digits[15:18]}-{digits[18:30]}"


def _other(command: str, home: Path, arguments: tuple[str, ...]) -> float:
    began = perf_counter()
    asked = [command, "--list", " ".join(arguments)]
    subprocess.run(asked, env={**os.environ, "HOME": str(home)}, capture_output=True, check=False)
    return perf_counter() - began


if __name__ == "__main__":
    TURNS = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    run()
