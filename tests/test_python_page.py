"""Every Python program on a page runs as it is written, without a warning, and prints what the page shows."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.paths import PROJECT

SAMPLE = PROJECT / "src" / "slicebase" / "samples" / "long-session.jsonl"
BLOCKS = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


class Program(NamedTuple):
    code: str
    output: str


PAGE = (PROJECT / "docs" / "python.md").read_text()
PROGRAMS = [Program(code, output) for code, output in BLOCKS.findall(PAGE)]
# Other pages with a program.
OTHERS = ("README.md", "docs/agents.md", "docs/runs.md")


def run(program: Program, folder: Path) -> str:
    """Runs a program in a folder with the sample, as a user does, with warnings as errors."""
    shutil.copy(SAMPLE, folder / "session.jsonl")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SLICEBASE_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program.code],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(PROJECT / "src"), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_page_begins_with_the_program_that_was_promised_and_has_four_more_of_the_kind() -> None:
    assert PROGRAMS[0].code.splitlines() == [
        "from slicebase import Slicebase",
        "",
        'with Slicebase.open(".") as memory:',
        '    memory.import_("session.jsonl")',
        '    context = memory.context("how are codes compared?", tokens=800)',
        "    assert memory.replay(context.id).identical",
        '    log = memory.library.create("Decisions", "What was decided, and why.", type="jsonl")',
        '    memory.library.remember(log.id, "Codes are upper case.")',
        '    memory.runs.start("build", "Find out how codes are compared.", done="The answer is cited.")',
        '    with memory.runs.step("build") as step:',
        '        step.plan("look at the codes")',
        '        step.claim("Codes are upper case.", cite=(context.pieces[0].ref, "upper case"))',
        "    print(memory.verify().status)",
    ]
    assert len(PROGRAMS) >= 5
    assert len(PROGRAMS) == PAGE.count("```python\n")


@pytest.mark.parametrize("program", PROGRAMS, ids=range(1, len(PROGRAMS) + 1))
def test_a_program_of_the_page_prints_what_the_page_shows(program: Program, tmp_path: Path) -> None:
    assert program.output, "a program shows what it prints"
    assert run(program, tmp_path) == program.output


@pytest.mark.parametrize("page", OTHERS)
def test_the_program_of_another_page_runs(page: str, tmp_path: Path) -> None:
    ((code, output),) = BLOCKS.findall((PROJECT / page).read_text())
    assert run(Program(code, output), tmp_path) == (output or "VERIFIED\n")


def test_the_first_program_works_inside_a_git_repository(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    assert run(PROGRAMS[0], folder) == PROGRAMS[0].output
