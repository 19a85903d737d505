"""A user's program is typed: `mypy --strict`, as a user runs it, accepts what is right and finds what is wrong."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import PROJECT

PROGRAM = PROJECT / "tests" / "user_program.py"
SAMPLE = PROJECT / "src" / "slicebase" / "samples" / "long-session.jsonl"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}  # before a version that is installed
# Each line ends with the code of the error that mypy finds in it.
WRONG = """\
from pathlib import Path

from slicebase import Filters, Slicebase, aio
from slicebase import Slicebas  # attr-defined


def called(memory: Slicebase) -> None:
    memory.context(5)  # arg-type
    context = memory.context("a question", tokens="800")  # arg-type
    context.idd  # attr-defined
    memory.no_such_verb()  # attr-defined
    memory.import_(5)  # arg-type
    memory.library.remember("id", "text", superseds="row")  # call-arg
    memory.runs.start("run", "objective")  # call-arg
    number: int = memory.verify().status  # assignment
    Filters(kinds="context")  # call-arg

    @memory.runs.recorder("run")
    def read(path: Path) -> str:
        return path.read_text()

    read("a path")  # arg-type
    with memory.runs.step("run") as step:
        step.claim("It is so.", cite=("turn:x", 5))  # arg-type
        step.claim("It is so.", status="proven")  # arg-type


async def awaited(memory: aio.Slicebase) -> None:
    memory.context("a question").text  # attr-defined
    memory.verify()  # unused-coroutine
    with memory.runs.step("run"):  # attr-defined
        pass
    (await memory.context("a question")).idd  # attr-defined
    await memory.context(5)  # arg-type
"""


def mypy(path: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Runs mypy on a program in a folder of its own, with an empty configuration."""
    (folder / "mypy.ini").write_text("[mypy]\n")
    options = ["--strict", "--config-file", "mypy.ini", "--python-executable", sys.executable, "--no-error-summary"]
    options += ["--cache-dir", str(PROJECT / ".mypy_cache" / "user")]  # what did not change is not checked again
    return subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(path)],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for both programs, so that the second one uses the cache of the first."""
    return tmp_path_factory.mktemp("user")


def test_a_program_that_is_right_has_no_errors(folder: Path) -> None:
    (folder / "program.py").write_text(PROGRAM.read_text())
    done = mypy(folder / "program.py", folder)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_each_mistake_is_found_at_its_line(folder: Path) -> None:
    (folder / "wrong.py").write_text(WRONG)
    done = mypy(folder / "wrong.py", folder)
    found = {
        (int(line), code)
        for line, code in re.findall(r"^.*?wrong\.py:(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.MULTILINE)
    }
    expected = {
        (number, line.rpartition("# ")[2]) for number, line in enumerate(WRONG.splitlines(), 1) if "  # " in line
    }
    assert found >= expected, done.stdout
    assert {number for number, _ in found} == {number for number, _ in expected}, done.stdout


def test_the_program_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(PROGRAM), str(tmp_path), str(SAMPLE)]
    done = subprocess.run(command, env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.endswith("\ndone\n")
    assert "\nno-run\n" in done.stdout
