"""An agent loop without a model: `agent_loop.py FOLDER WORD` searches files for a word, and proves what it claims."""

import sys
import tempfile
from pathlib import Path

from slicebase import Slicebase


def main(folder: str, word: str) -> None:
    """Reads each file in a step, claims and cites what it finds, and prints the narrative of the run."""
    with tempfile.TemporaryDirectory() as place, Slicebase.init(place) as memory:
        memory.runs.start("search", f"Find {word!r} in {folder}.", "Every file was read.", budgets={"max_steps": 1000})
        for path in sorted(each for each in Path(folder).iterdir() if each.is_file()):
            with memory.runs.step("search") as step:
                step.plan(f"look for {word!r} in {path.name}")
                line = next((line for line in path.read_text().splitlines() if word in line), None)
                if line is not None:
                    cited = (memory.add(path, copy=True).ref, line)
                    step.claim(f"{path.name} holds {word!r}.", cite=cited, status="verified")
        memory.runs.stop("search")
        print(memory.runs.narrative("search").text, f"verify: {memory.verify().status}", sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
