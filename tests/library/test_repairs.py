"""Rows that a merge left in two parts of a log are read as one row, and the doctor removes the second."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.files.body.rows import read_rows
from slicebase.library.check import validate
from slicebase.library.folder import Logs
from slicebase.library.repairs import remove_repeated, repeating_files
from slicebase.verbs.doctor import examine, fix_all
from slicebase.verbs.install import install
from slicebase.workspace.settings import Settings
from tests.library.scratch import ScratchLibrary
from tests.paths import PROJECT

DRIVER = shlex.join([sys.executable, "-m", "slicebase", "merge-driver", "%O", "%A", "%B", "%P"])
LONG = "words and words and words and more words and more"


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=n", "-c", "user.email=e")
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src"), "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *who, *arguments], cwd=folder, env=environment, check=True, capture_output=True)


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A repository with two branches that archived the same rows of a log, merged by the real driver.

    Returns its folder, the log, and a file that is derived from it.
    """
    folder = tmp_path_factory.mktemp("merged")
    git(folder, "init", "-q", "-b", "main")
    scratch = ScratchLibrary(folder, Settings(overflow_bytes=1500))
    install(scratch.workspace, DRIVER)
    log = scratch.new("jsonl", "", "overflow=archive")
    for number in range(5):
        scratch.remember(log, f"number {number} {LONG}")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    for branch, count in (("other", 7), ("main", 5)):
        git(folder, "checkout", "-q", *(["-b"] if branch == "other" else []), branch)
        for number in range(count):
            scratch.remember(log, f"{branch} {number} {LONG}")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", branch)
    git(folder, "merge", "-q", "-m", "merged", "other")
    derived = scratch.new(links=(("derived_from", log),))
    return folder, log, derived


@pytest.fixture
def scratch(merged: tuple[Path, str, str], tmp_path: Path) -> ScratchLibrary:
    subprocess.run(["cp", "-r", f"{merged[0]}/.", str(tmp_path)], check=True)
    return ScratchLibrary(tmp_path, Settings(overflow_bytes=1500))


def read_once(scratch: ScratchLibrary, log: str) -> None:
    """Asserts that every verb finds each row once."""
    recalled = scratch.recall(log, rows="all").text
    for text in (*(f"number {number} " for number in range(5)), "main 4 ", "other 6 "):
        assert recalled.count(text) == 1
        results = scratch.search(f'"{text.strip()}"')
        assert results.total == len(results.hits) == 1
    with Slicebase.open(scratch.workspace.root) as memory:
        context = memory.context("number 3 words", tokens=4000)
        assert sum("number 3 " in piece.text for piece in context.pieces) == 1


def test_two_branches_that_archive_the_same_rows_merge_into_one_log(
    scratch: ScratchLibrary, merged: tuple[Path, str, str]
) -> None:
    _, log, derived = merged
    files = Logs(scratch.folder).whole(scratch.folder.find(log))
    rows = [row.line.raw for file in files for row in read_rows(file.body).rows]
    assert len(rows) > len(set(rows)) == 17
    report = validate([scratch.folder.path], scratch.workspace.root)
    assert {finding.rule for finding in report.findings} == {"row-repeated"}
    assert not scratch.stale()
    read_once(scratch, log)
    assert {each.check for each in examine(scratch.workspace, DRIVER)} == {"rows"}
    before = {path: path.read_bytes() for path in scratch.folder.path.glob("*.slice")}
    changed = {scratch.folder.path_of(old) for old, _ in repeating_files(scratch.folder)}
    assert fix_all(examine(scratch.workspace, DRIVER))
    assert {path for path, data in before.items() if path.read_bytes() != data} == changed
    assert examine(scratch.workspace, DRIVER) == []
    assert not validate([scratch.folder.path], scratch.workspace.root).findings
    files = Logs(scratch.folder).whole(scratch.folder.find(log))
    kept = [row.line.raw for file in files for row in read_rows(file.body).rows]
    assert sorted(kept) == sorted(set(rows))
    assert not scratch.stale()  # the repair changes no content
    read_once(scratch, log)
    scratch.remember(log, "A new one.")
    assert [each.entry.id for each in scratch.stale()] == [derived]


def test_the_rows_of_a_part_are_found_again_when_the_part_before_it_is_gone(
    scratch: ScratchLibrary, merged: tuple[Path, str, str]
) -> None:
    _, log, _ = merged
    assert scratch.search('"number 3"').total == 1
    first = Logs(scratch.folder).whole(scratch.folder.find(log))[0]
    scratch.folder.path_of(first).unlink()
    assert scratch.search('"number 3"').total == 1
    assert repeating_files(scratch.folder) == []


def test_rows_with_one_id_and_different_bytes_stay_an_error_and_stay_as_they_are(
    scratch: ScratchLibrary, merged: tuple[Path, str, str]
) -> None:
    ((old, _), *_) = repeating_files(scratch.folder)
    path = scratch.folder.path_of(old)
    path.write_bytes(path.read_bytes().replace(b"number 3 words", b"number 3 WORDS"))
    report = validate([scratch.folder.path], scratch.workspace.root)
    assert [finding.rule for finding in report.findings].count("row-duplicate") == 1
    remove_repeated(scratch.folder)
    assert b"number 3 WORDS" in path.read_bytes()
    assert b"number 2 words" not in path.read_bytes()
    report = validate([scratch.folder.path], scratch.workspace.root)
    assert [finding.rule for finding in report.findings] == ["row-duplicate", "derived-stale"]
