"""A workspace that can only be read: commands that only read work, and report that nothing was recorded."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.history.inputs import LONG_SAMPLE
from slicebase.history.notes import Compacted, CompactedNotes
from tests.cli.conftest import Tt
from tests.cli.test_bad_input import SAMPLE, TURN
from tests.paths import PROJECT
from tests.warm import warm_programs

COMPACTED = json.loads(LONG_SAMPLE.read_text().splitlines()[-1])["sessionId"]
Call = Callable[..., "subprocess.CompletedProcess[str]"]

# The superuser may write everywhere, unless this capability is dropped.
_POWERLESS = ["setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override"] if os.geteuid() == 0 else []


@contextmanager
def frozen(folder: Path) -> Iterator[Call]:
    """Makes a folder read-only, and yields a function that runs a command in it without the power to write."""
    if _POWERLESS and not shutil.which("setpriv"):
        pytest.skip("the superuser writes everywhere, and setpriv is missing")
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)

    def call(*arguments: object, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        command = [str(warm_programs(*_POWERLESS) / "tt"), *map(str, arguments)]
        return subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, input=stdin)

    yield call
    for path in paths:
        path.chmod(path.stat().st_mode | 0o200)


@pytest.fixture(scope="module")
def used(sample_lost: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with conversations, a file, a note of a compaction and a context, for copies."""
    folder = tmp_path_factory.mktemp("used") / "w"
    shutil.copytree(sample_lost, folder)
    with Slicebase.open(folder) as memory:
        memory.import_(SAMPLE)
        created = memory.library.create("Limits", "Of requests.").id
        CompactedNotes(memory.workspace.cache).put(COMPACTED, Compacted(created))
        assert memory.context("limit").recorded
    return folder


@pytest.fixture
def read_only(used: Path, tmp_path: Path) -> Iterator[Call]:
    shutil.copytree(used, tmp_path, dirs_exist_ok=True)
    with frozen(tmp_path) as call:
        yield call


@pytest.fixture
def clone(tt: Tt, tmp_path: Path) -> Iterator[Call]:
    """A read-only folder with slice files and without a database."""
    assert tt("create", "--title", "Limits", "--summary", "Of requests.", "--body", "The limit is 5.").exit == 0
    shutil.rmtree(tmp_path / ".slicebase")
    with frozen(tmp_path) as call:
        yield call


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


def test_the_hooks_after_a_compaction_show_what_was_lost(read_only: Call) -> None:
    given = {"session_id": COMPACTED, "transcript_path": str(LONG_SAMPLE)}
    done = read_only("hook", "run", "SessionStart", stdin=json.dumps({**given, "source": "compact"}))
    assert done.stderr == ""
    assert "Limits" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    done = read_only("hook", "run", "UserPromptSubmit", stdin=json.dumps(given))
    assert done.stderr == ""
    assert "what was lost" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    for event in ("PreCompact", "SessionEnd"):
        done = read_only("hook", "run", event, stdin=json.dumps(given))
        assert (done.stdout, done.stderr) == ("", "")


def test_after_a_compaction_that_could_not_be_noted_the_files_are_shown_again(read_only: Call) -> None:
    given = {"session_id": "unknown", "transcript_path": str(LONG_SAMPLE), "source": "compact"}
    done = read_only("hook", "run", "SessionStart", stdin=json.dumps(given))
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


# Without a database


def test_a_clone_without_a_database_is_read_as_if_nothing_was_imported(clone: Call) -> None:
    asked = clone("context", "limit", "--json")
    assert (asked.returncode, asked.stderr) == (0, "")
    assert json.loads(asked.stdout)["recorded"] is False
    assert "(not recorded)" in clone("context", "limit").stderr
    started = clone("hook", "run", "SessionStart", stdin=json.dumps({"session_id": "s", "source": "startup"}))
    assert "Limits" in json.loads(started.stdout)["hookSpecificOutput"]["additionalContext"]
    for command, status in (
        (["verify"], 0), (["turns"], 1), (["run", "list"], 0), (["status"], 0), (["lost"], 1), (["replay"], 4),
    ):  # fmt: skip
        done = clone(*command)
        assert "cannot-write" not in done.stderr
        assert done.returncode == status, (command, done.stderr)


def test_a_clone_without_a_database_refuses_to_write(clone: Call) -> None:
    for command in (["import", SAMPLE], ["run", "start", "-o", "Objective", "--done", "Done"]):
        done = clone(*command, "--json")
        assert done.returncode == 3
        assert json.loads(done.stderr)["code"] == "cannot-write"


def test_the_doctor_says_that_hooks_store_nothing(tt: Tt, tmp_path: Path) -> None:
    assert tt("hook", "install", "codex").exit == 0
    assert not [each for each in json.loads(tt("doctor", "--json").out)["complaints"] if each["check"] == "hooks"]
    with frozen(tmp_path) as call:
        done = call("doctor", "--json")
    assert [each["place"] for each in json.loads(done.stdout)["complaints"] if each["check"] == "hooks"] == ["codex"]
