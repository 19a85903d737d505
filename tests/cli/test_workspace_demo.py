"""`tt demo` runs, and shows what it promises."""

import os
import subprocess
import sys
from pathlib import Path


def test_the_demo_shows_the_complete_path() -> None:
    done = subprocess.run([sys.executable, "-m", "slicebase", "demo"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for shown in ("of 12 decisions", "identical", "gate-would-refuse", "VERIFIED", "BROKEN text-hash"):
        assert shown in done.stdout + done.stderr
    assert done.stdout.count("BROKEN") == 2, "one finding, and the verdict"


def test_the_demo_ends_with_the_line_that_shows_a_sample_in_a_browser() -> None:
    """By the name of the command where the shell finds it, else by its path from here."""
    programs = Path(sys.executable).parent
    elsewhere = os.pathsep.join(each for each in os.environ["PATH"].split(os.pathsep) if Path(each) != programs)
    for path, typed in ((f"{programs}{os.pathsep}{elsewhere}", "tt"), (elsewhere, os.path.relpath(programs / "tt"))):
        done = subprocess.run(
            [sys.executable, "-m", "slicebase", "demo"], env={**os.environ, "PATH": path},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.splitlines()[-1] == f"$ {typed} serve --sample"
