"""`tt demo` runs, and shows what it promises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slicebase.cli.workspace import commands_to_look

PROGRAMS = Path(sys.executable).parent
ELSEWHERE = os.pathsep.join(each for each in os.environ["PATH"].split(os.pathsep) if Path(each) != PROGRAMS)


def test_the_demo_shows_the_complete_path_and_ends_with_the_line_that_shows_a_sample_in_a_browser() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "slicebase", "demo"], env={**os.environ, "PATH": ELSEWHERE},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for shown in ("of 12 decisions", "identical", "gate-would-refuse", "VERIFIED", "BROKEN text-hash"):
        assert shown in done.stdout + done.stderr
    assert done.stdout.count("BROKEN") == 2, "one finding, and the verdict"
    assert done.stdout.splitlines()[-1] == f"$ {os.path.relpath(PROGRAMS / 'tt')} serve --sample"


def test_the_line_names_the_command_as_the_shell_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{PROGRAMS}{os.pathsep}{ELSEWHERE}")
    assert list(commands_to_look()) == ["tt serve --sample"]
