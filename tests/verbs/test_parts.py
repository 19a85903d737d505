"""Parts are made when they are asked for: a verb builds only what it uses."""

import subprocess
import sys
from pathlib import Path

import pytest

from slicebase.base import Slicebase
from tests.paths import PROJECT

NOW = 1_772_000_000_000


def test_a_run_and_its_proof_reach_the_folder_without_library_and_indexes(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as base:
        base.runs.start("r", "Objective", "Done")
        base.runs.compact("r")
        base.runs.narrative("r")
        base.why("run:r")
        assert base.verify().status == "VERIFIED"
        assert not {"library", "finder", "library_chunks", "turn_index"} & vars(base).keys()


@pytest.mark.parametrize("command", [["run", "list"], ["run", "start", "--objective", "o", "--done", "d"]])
def test_a_command_of_runs_imports_neither_library_nor_index(tmp_path: Path, command: list[str]) -> None:
    Slicebase.init(tmp_path).close()
    code = (
        "import sys; from slicebase.cli.main import run; status = run(sys.argv[1:]);"
        "print([name for name in sys.modules if name.startswith(('slicebase.index.', 'slicebase.library.library'))]);"
        "sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=tmp_path, env={"PYTHONPATH": str(PROJECT / "src")}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]"


def test_what_was_closed_is_made_again(tmp_path: Path) -> None:
    base = Slicebase.init(tmp_path)
    base.runs.start("r", "Objective", "Done")
    base.close()
    assert [tally.run_id for tally, _ in base.runs.list_runs()] == ["r"]
    base.close()
