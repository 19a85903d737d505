"""Start-up: short commands as processes, compared with a bare interpreter, and with the source of another version.

`python -m bench.start ../other/src` measures both versions in one run, alternately, so that a busy machine slows both.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from bench.library import write_library

SOURCE = Path(__file__).resolve().parent.parent / "src"
ROUNDS = 21
FILES = 200
SCRIPT = "from slicebase.cli.entry import main; main()"  # what the installed `tt` does
SAMPLE = SOURCE / "slicebase" / "samples" / "claude-code-session.jsonl"
HOOK = json.dumps({"session_id": "bench", "transcript_path": str(SAMPLE), "source": "startup"}).encode()
COMMANDS: dict[str, tuple[tuple[str, ...], bytes]] = {
    "tt --version": (("--version",), b""),
    "tt validate": (("validate",), b""),
    "tt search": (("search", "folder"), b""),
    "tt status": (("status",), b""),
    "hook SessionStart": (("hook", "run", "SessionStart"), HOOK),
    "hook UserPromptSubmit": (("hook", "run", "UserPromptSubmit"), HOOK),
    "tt run list": (("run", "list"), b""),
    "tt context": (("context", "how are folders locked?"), b""),
}


def once(folder: Path, source: Path | None, arguments: Sequence[str], data: bytes) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    code = SCRIPT if source is not None else "pass"
    start = perf_counter()
    subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=environment,
        input=data,
        capture_output=True,
        check=False,
    )
    return perf_counter() - start


def run(others: Sequence[Path] = ()) -> None:
    sources = [SOURCE, *others]
    with tempfile.TemporaryDirectory() as name:
        workspace = write_library(Path(name), FILES)
        print(f"start-up in a library of {FILES} files: milliseconds, and times a bare interpreter")
        for what, (arguments, data) in COMMANDS.items():
            for source in sources:
                once(workspace.root, source, arguments, data)  # writes the byte code that an installation has
            rounds = [
                [once(workspace.root, source, arguments, data) for source in (None, *sources)] for _ in range(ROUNDS)
            ]
            bare, *times = (
                statistics.quantiles(column)[0] for column in zip(*rounds, strict=True)
            )  # the lower quartile
            print(f"  {what:22}" + "".join(f" {time * 1000:8.1f} ms {time / bare:5.2f}×" for time in times))


if __name__ == "__main__":
    run([Path(argument).resolve() for argument in sys.argv[1:]])
