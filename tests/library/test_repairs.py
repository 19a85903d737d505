"""Rows that a merge left in two parts of a log are read as one row, and the doctor removes the second."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.files.body.overflow import joined, parts_of
from slicebase.files.body.rows import read_rows
from slicebase.library.check import validate
from slicebase.library.logs import Logs
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
    assert {each.check for each in examine(scratch.workspace, DRIVER)} == {"repeated"}
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


def test_a_forgotten_part_never_hides_rows_that_another_part_has_and_loses_none(
    scratch: ScratchLibrary, merged: tuple[Path, str, str]
) -> None:
    """Nor does the doctor remove them from the file in which they are read."""
    _, log, _ = merged
    first = Logs(scratch.folder).whole(scratch.folder.find(log))[0]
    before = scratch.recall(log).text.count("number ")
    scratch.forget(str(first.id))
    assert scratch.recall(log).text.count("number ") == before
    (hit,) = scratch.search('"number 3"').hits
    assert hit.entry.id != first.id
    ((row_id, *_),) = [[row.id] for row in read_rows(first.body).rows if "number 3 " in row.text]
    assert Logs(scratch.folder).row(scratch.folder.find(log), row_id)[0].id == hit.entry.id
    files = {path: path.read_bytes() for path in scratch.folder.path.glob("*.slice")}
    remove_repeated(scratch.folder)
    assert {path: path.read_bytes() for path in files} == files
    scratch.restore(str(first.id))
    remove_repeated(scratch.folder)
    read_once(scratch, log)


def test_a_row_in_a_file_that_people_joined_is_left_there_and_the_hint_says_so(tmp_path: Path) -> None:
    scratch = ScratchLibrary(tmp_path)
    one, other = scratch.new("jsonl"), scratch.new("jsonl", "", "write=error")
    scratch.remember(one, "shared")
    scratch.path(other).write_bytes(scratch.path(other).read_bytes() + scratch.body(one).encode())
    scratch.connect(other, "part_of", one)
    scratch.connect(one, "has_part", other)
    (finding,) = validate([scratch.folder.path], scratch.workspace.root).findings
    assert finding.rule == "row-repeated"
    assert "doctor" not in str(finding.hint)
    assert repeating_files(scratch.folder) == []


@pytest.mark.parametrize("body_type", ["routine", "text"])
def test_archives_of_two_branches_are_read_and_found_once(tmp_path: Path, body_type: str) -> None:
    """A branch is a copy of the folder: what it archives has other ids."""
    scratch = ScratchLibrary(tmp_path, Settings(overflow_bytes=700))
    file = scratch.new(body_type, "", "overflow=archive")
    for number in range(5):
        scratch.remember(file, f"number{number} {LONG}")
    base = scratch.path(file).read_bytes()
    scratch.remember(file, f"ours {LONG * 5}")
    ours = scratch.file(file)
    (first,) = parts_of(ours)
    part = scratch.path(first).read_bytes()
    scratch.path(first).unlink()
    scratch.path(file).write_bytes(base)
    scratch.remember(file, f"theirs {LONG * 5}")
    (second,) = parts_of(scratch.file(file))
    scratch.path(first).write_bytes(part)
    scratch.path(file).write_bytes(joined(ours, second, "archive").to_bytes())
    read = scratch.routine if body_type == "routine" else lambda name: scratch.recall(name).text
    before = scratch.info(file).entry.hash

    def is_read_once() -> bool:
        return read(file).count("number0") == scratch.search("number0").total == 1

    assert is_read_once()
    for gone in (first, second):
        scratch.forget(gone)
        assert is_read_once()
        scratch.restore(gone)
    assert len(repeating_files(scratch.folder)) == 1
    remove_repeated(scratch.folder)
    assert is_read_once()
    assert scratch.info(file).entry.hash == before
    assert repeating_files(scratch.folder) == []
    assert not validate([scratch.folder.path], scratch.workspace.root).findings
