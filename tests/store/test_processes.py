"""Never lose a byte: real processes that write together, die at random moments, and run out of disk."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from slicebase.files.slice_file import SliceFile
from slicebase.store.atomic import TEMPORARY
from tests.paths import PROJECT
from tests.store.libraries import Desk


def hammer(*arguments: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": f"{PROJECT / 'src'}:{PROJECT}"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.hammer", *arguments],
        env=environment, cwd=PROJECT, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    texts: list[str] = json.loads(done.stdout)
    return texts


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """In memory where there is such a place: what 1,600 flushes cost says nothing about the processes."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def test_eight_processes_with_200_writes_each_leave_1600_intact_rows(quick_folder: Path) -> None:
    desk = Desk(quick_folder)
    log = desk.new("jsonl")
    texts = hammer("together", str(quick_folder), log, "8", "200")
    rows = desk.rows(log)
    assert sorted(row.text for row in rows) == sorted(texts)
    assert len({row.id for row in rows}) == 1600


@pytest.mark.parametrize("body_type", ["jsonl", "text"])
def test_killed_writers_leave_files_that_parse_and_every_acknowledged_write(tmp_path: Path, body_type: str) -> None:
    desk = Desk(tmp_path)
    log = desk.new(body_type)
    acknowledged = hammer("killed", str(tmp_path), log, "60", "7")
    body = desk.body(log)
    written = [row.text for row in desk.rows(log)] if body_type == "jsonl" else body.split()
    assert set(acknowledged) <= set(written)
    assert len(written) == len(set(written))
    for path in desk.shelf.folder.glob("*.slice"):
        SliceFile.parse(path.read_bytes())


def test_what_killed_writers_leave_is_one_temporary_file_that_cleaning_removes(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    log = desk.new("jsonl")
    (desk.shelf.folder / TEMPORARY).write_text("half of somethi")
    assert desk.shelf.clean() == [desk.shelf.folder / TEMPORARY]
    assert [path.name for path in desk.shelf.folder.iterdir()] == [f"{log}.slice"]
    assert desk.shelf.clean() == []


def test_git_sees_nothing_of_the_lock(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    desk = Desk(tmp_path)
    log = desk.new("jsonl")
    desk.remember(log, "a row", desk.stamp)
    status = subprocess.run(["git", "status", "--porcelain", "-uall"], cwd=tmp_path, capture_output=True, check=True)
    assert status.stdout.decode() == f"?? .slices/{log}.slice\n"
