"""A workspace that can only be read: commands that only read work, and report that nothing was recorded."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tt
from tests.cli.test_bad_input import SAMPLE, TURN
from tests.paths import PROJECT

Call = Callable[..., "subprocess.CompletedProcess[str]"]

# The superuser may write everywhere, unless this capability is dropped.
_POWERLESS = ["setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override"] if os.geteuid() == 0 else []


@pytest.fixture
def read_only(tt: Tt, tmp_path: Path) -> Iterator[Call]:
    if _POWERLESS and not shutil.which("setpriv"):
        pytest.skip("the superuser writes everywhere, and setpriv is missing")
    assert tt("import", SAMPLE).exit == 0
    assert tt("lost", "--sample").exit == 0
    assert tt("create", "--title", "Limits", "--summary", "Of requests.").exit == 0
    assert tt("context", "limit").exit == 0
    folders = [tmp_path, *(path for path in tmp_path.rglob("*"))]
    for path in folders:
        path.chmod(path.stat().st_mode & ~0o222)

    def call(*arguments: object, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        command = [*_POWERLESS, sys.executable, "-m", "slicebase", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
        return subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=tmp_path, env=environment, input=stdin
        )

    yield call
    for path in folders:
        path.chmod(path.stat().st_mode | 0o200)


@pytest.mark.parametrize("command", [["context", "limit"], ["lost", "--tokens", "400"]], ids=lambda each: each[0])
def test_every_context_is_returned_and_not_recorded(read_only: Call, command: list[str]) -> None:
    """Ruling 42."""
    done = read_only(*command, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["recorded"] is False
    assert result["manifest"]["pieces"]
    assert "(not recorded)" in read_only(*command).stderr


def test_a_question_can_be_asked_again(read_only: Call) -> None:
    recorded = json.loads(read_only("replay", "--json").stdout)["manifest_id"]
    assert read_only("context", "--again", recorded).returncode == 0


def test_the_hook_at_the_start_of_a_session_shows_the_library(read_only: Call) -> None:
    done = read_only("hook", "run", "SessionStart", stdin=json.dumps({"session_id": "s", "source": "startup"}))
    assert "Limits" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert done.stderr == ""


def test_commands_that_only_read_work(read_only: Call) -> None:
    for command in (
        ["verify"],
        ["replay"],
        ["turns"],
        ["slice", TURN, "--set", "max_nodes=9"],
        ["turns", "-s", "limit"],
    ):
        done = read_only(*command)
        assert done.returncode == 0, done.stderr


def test_commands_that_write_are_refused(read_only: Call) -> None:
    done = read_only("import", PROJECT / "tests" / "golden" / "tree_40_random.json", "--format", "graph", "--json")
    assert done.returncode == 3
    assert json.loads(done.stderr)["code"] == "cannot-write"
