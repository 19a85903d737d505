"""An agent loop without a model: it searches the files of a folder for a word, and proves what it claims.

    python examples/agent_loop.py FOLDER WORD

Each file is a step. Each match is cited and claimed. The run is compacted when that is due, and ends with a narrative.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from slicebase.base import Slicebase
from slicebase.files.body.entries import Stamp


def clock() -> int:
    """Returns the current time, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def look_for(base: Slicebase, run: str, word: str, path: Path) -> None:
    """Performs one step: plans to read a file, reads it, and claims what it contains."""
    with base.runs.step(run, clock) as step:
        step.plan(text=f"look for {word!r} in {path.name}")
        step.act(tool="read", text=path.name)
        text = path.read_text(encoding="utf-8")
        step.observe(tool="read", text=f"{len(text)} characters")
        if word not in text:
            return
        document = base.add(path, Stamp(clock(), os.urandom(10)), copy=True)
        chunk = next(chunk for chunk in document.chunks if word in chunk.text)
        at = chunk.text.index(word)
        evidence = base.cite(chunk.chunk_id, span=(at, at + len(word)))
        base.runs.claim(
            run, f"{path.name} holds {word!r}.", now=clock(), status="verified", evidence=[evidence.evidence_id]
        )


def main(folder: str, word: str) -> None:
    """Searches every file of a folder, and prints the narrative of the run."""
    with tempfile.TemporaryDirectory() as place, Slicebase.init(Path(place)) as base:
        done = {"text": "Every file was read.", "budgets": {"max_steps": 1000}}
        base.runs.start("search", f"Find {word!r} in {folder}.", done, now=clock())
        for path in sorted(Path(folder).iterdir()):
            if path.is_file():
                look_for(base, "search", word, path)
        found = base.runs.status("search").claims["verified"]
        base.runs.stop("search", "OBJECTIVE_ACHIEVED" if found else "NO_EVIDENCE", now=clock())
        narrative, _ = base.runs.narrative("search")
        print(narrative.body)
        print(f"verify: {base.verify().status}")


if __name__ == "__main__":
    main(*sys.argv[1:])
