"""No byte is lost: real processes write together, and are killed at random moments."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from slicebase.errors import SlicebaseError
from slicebase.files.body.rows import read_rows
from slicebase.files.slice_file import SliceFile
from slicebase.library.check import validate
from slicebase.library.repairs import finish_overflows
from slicebase.workspace.atomic import TEMPORARY, clean
from slicebase.workspace.workspace import LOCAL
from tests.library.scratch import ScratchLibrary
from tests.paths import PROJECT


def hammer(*arguments: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": f"{PROJECT / 'src'}:{PROJECT}"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.library.hammer", *arguments],
        env=environment, cwd=PROJECT, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    texts: list[str] = json.loads(done.stdout)
    return texts


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory if there is one: the time of 800 flushes says nothing about the processes."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def test_eight_processes_with_50_writes_each_leave_400_intact_rows(quick_folder: Path) -> None:
    scratch = ScratchLibrary(quick_folder)
    log = scratch.new("jsonl")
    texts = hammer("together", str(quick_folder), log, "8", "50")
    rows = scratch.rows(log)
    assert sorted(row.text for row in rows) == sorted(texts)
    assert len({row.id for row in rows}) == 400


@pytest.mark.parametrize("overflow", ["summarize", "split", "archive"])
def test_killed_writers_leave_files_that_parse_and_every_acknowledged_write(tmp_path: Path, overflow: str) -> None:
    """40 kills for each mode of overflow, which writes two files at a time; `make soak` kills more."""
    (tmp_path / "slicebase.toml").write_text("overflow.bytes = 3000\n")
    scratch = ScratchLibrary(tmp_path)
    log = scratch.new("jsonl", "", f"overflow={overflow}")
    acknowledged = hammer("killed", str(tmp_path), log, "20", "7")
    assert len(acknowledged) > 20
    files = list(scratch.folder.all())
    rows = [row for file in files if isinstance(file, SliceFile) for row in read_rows(file.body).rows]
    assert not any(isinstance(file, SlicebaseError) for file in files)
    assert set(acknowledged) <= {row.text for row in rows}
    # A row whose move was interrupted is in two files, with the same bytes.
    assert len({row.line.raw for row in rows}) == len({row.text for row in rows})
    finish_overflows(scratch.folder)
    assert not validate([scratch.folder.path], tmp_path).counts["error"]
    scratch.remember(log, "and the library still works")
    assert {path.suffix for path in scratch.folder.path.iterdir()} == {".slice"}


def test_killed_writers_of_a_text_leave_every_acknowledged_paragraph(tmp_path: Path) -> None:
    scratch = ScratchLibrary(tmp_path)
    note = scratch.new("text")
    acknowledged = hammer("killed", str(tmp_path), note, "20", "8")
    assert len(acknowledged) > 20
    assert set(acknowledged) <= set(scratch.body(note).split())


def test_what_killed_writers_leave_is_one_temporary_file_that_cleaning_removes(tmp_path: Path) -> None:
    scratch = ScratchLibrary(tmp_path)
    log = scratch.new("jsonl")
    (scratch.folder.path / TEMPORARY).write_text("half of somethi")
    lock = tmp_path / LOCAL / "library.lock"
    assert clean(scratch.folder.path, lock, within=tmp_path) == [scratch.folder.path / TEMPORARY]
    assert [path.name for path in scratch.folder.path.iterdir()] == [f"{log}.slice"]
    assert clean(scratch.folder.path, lock, within=tmp_path) == []


def test_git_sees_nothing_of_the_lock(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    scratch = ScratchLibrary(tmp_path)
    log = scratch.new("jsonl")
    scratch.remember(log, "a row")
    status = subprocess.run(["git", "status", "--porcelain", "-uall"], cwd=tmp_path, capture_output=True, check=True)
    assert status.stdout.decode() == f"?? .slices/{log}.slice\n"
