"""The soak: each kind of try holds once here, and many times in `make soak`. Its own parts do what they say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from soak.__main__ import KINDS
from soak.checks import check_unique
from soak.figures import BEGIN, END, PAGE, Figures, Outcome, record, table
from soak.works import WORKS
from tests.paths import PROJECT

HERE = {**os.environ, "PYTHONPATH": f"{PROJECT / 'src'}:{PROJECT}", "SOAK_SECONDS": "0", "SOAK_SEED": "5"}


def python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    environment = {**HERE, **variables}
    return subprocess.run(
        command, env=environment, cwd=PROJECT, capture_output=True, text=True, timeout=120, check=False
    )


def test_each_kind_of_try_holds() -> None:
    done = python("-m", "soak")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SOAK_SEED=5" in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(KINDS)
    assert all(" | 1 | " in row or "skipped" in done.stdout for row in rows)


@pytest.mark.parametrize("work", range(1, len(WORKS), 6), ids=list(WORKS)[1::6])  # `make soak` does them all
def test_each_work_can_be_killed_and_repeated(work: int) -> None:
    done = python("-m", "soak", "killed-at", SOAK_TRY=str(work))
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_unknown_kind_is_refused() -> None:
    assert "there are killed" in python("-m", "soak", "nothing").stderr


DIES = """
import os
from pathlib import Path
from soak.moments import Moments
Moments({last})
descriptor = os.open({path!r}, os.O_WRONLY | os.O_CREAT)
os.write(descriptor, b"12345678")
os.fsync(descriptor)
os.replace({path!r}, {path!r} + ".new")
"""


@pytest.mark.parametrize(
    ("last", "names", "size"), [(1, {"file"}, 4), (2, {"file"}, 8), (3, {"file"}, 8), (4, {"file.new"}, 8)]
)
def test_a_process_dies_at_one_change_of_a_file(tmp_path: Path, last: int, names: set[str], size: int) -> None:
    done = python("-c", DIES.format(last=last, path=str(tmp_path / "file")))
    assert done.returncode == (0 if last == 4 else -9), done.stderr
    assert {path.name for path in tmp_path.iterdir()} == names
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [size]


def test_one_id_for_two_writers_is_a_false_alarm() -> None:
    outcome = Outcome()
    check_unique([["claim", "r", "c1", "one"], ["claim", "r", "c2", "two"], ["row", "row:a/1", "text"]], outcome)
    assert not outcome.problems
    check_unique([["claim", "r", "c1", "one"], ["claim", "r", "c1", "two"]], outcome)
    assert len(outcome.problems) == 1


def test_the_table_is_written_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    kept = "| power | 2 | 0 | 0 | 0 | 0 | 0 | 0 | 1 |\n"
    page.write_text(f"before\n{BEGIN}{table([])}| killed | 7 | old |\n{kept}{END}after\n")
    figures = Figures("killed")
    figures.add(Outcome(acknowledged=1200, lost=["a row"]), 2.4)
    record([figures], page)
    assert not figures.is_good
    assert "| killed | 1 | 1,200 | 1 | 0 | 0 | 0 | 0 | 2 |\n" in table([figures])
    assert page.read_text() == f"before\n{BEGIN}{table([figures])}{kept}{END}after\n"


def test_the_page_quotes_a_run_without_losses() -> None:
    quoted = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    rows = [line.strip("| ").split(" | ") for line in quoted.splitlines()[2:]]
    assert [row[0] for row in rows] == [kind.what for kind in KINDS.values()]
    assert all(row[3:6] == ["0", "0", "0"] for row in rows)
