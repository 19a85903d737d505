"""Exports are remembered, so that a purge names and searches them."""

import stat
import subprocess
from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.graph.turn import Session
from slicebase.library.exported import ExportedFile, exported_files
from slicebase.verbs.install import uninstall
from tests.cli.test_read_only import frozen
from tests.conversations import annotate, name
from tests.verbs.test_purge import say

LONG = "the customer Ada Example lives at Nowhere Street 4711 and her file is 0815"


@pytest.fixture
def memory(tmp_path: Path) -> Slicebase:
    memory = Slicebase.init(tmp_path / "w")
    for session, text in (("s", LONG), ("t", "Hello.")):
        memory.truth.turns.add(Session(session, "test"), [say(session, text, session=session)], annotate)
    return memory


@pytest.mark.parametrize("where", ["w/out.slice", "elsewhere.slice"])
@pytest.mark.parametrize("what", ["session:s", f"turn:{name('s')}"])
def test_a_purge_says_which_export_still_has_the_text(memory: Slicebase, tmp_path: Path, where: str, what: str) -> None:
    with memory:
        memory.export("s", tmp_path / where)
        planned, done = memory.purge(what, dry_run=True), memory.purge(what)
        for report in (planned, done):
            assert any(str(tmp_path / where) in place for place in report.beyond)
        shown = "out.slice" if where.startswith("w/") else str(tmp_path / where)
        assert {remnant.file for remnant in done.remnants} == {shown}


def test_an_export_that_is_too_short_to_be_looked_for_or_was_moved_is_named_by_provenance(
    memory: Slicebase, tmp_path: Path
) -> None:
    with memory:
        path = memory.export("t", tmp_path / "short.slice")
        (of_other,) = [memory.purge("session:s").beyond]
        assert not any("short.slice" in place for place in of_other)
        assert any("short.slice" in place for place in memory.purge("session:t").beyond)
        path.rename(tmp_path / "moved.slice")
        assert any("no longer there" in place for place in memory.purge("session:t").beyond)


def test_the_list_is_private_and_has_each_export_once(memory: Slicebase, tmp_path: Path) -> None:
    with memory:
        for _ in range(2):
            memory.export("s", tmp_path / "a.slice")
            (tmp_path / "a.slice").unlink()
        memory.export("t", tmp_path / "b.slice")
        places = [("s", str(tmp_path / "a.slice")), ("t", str(tmp_path / "b.slice"))]
        assert exported_files(memory.workspace) == places
        assert stat.S_IMODE(memory.workspace.exports.stat().st_mode) == 0o600


@pytest.mark.parametrize("data", [b"", b"{}", b"[[1, 2]]", b"\xff", b'[["s", "' + b"/x" * 2100 + b'"]]'])
def test_a_list_that_somebody_damaged_hinders_no_purge_and_no_export(
    memory: Slicebase, tmp_path: Path, data: bytes
) -> None:
    with memory:
        memory.workspace.exports.write_bytes(data)
        memory.export("s", tmp_path / "a.slice")
        assert ExportedFile("s", str(tmp_path / "a.slice")) in exported_files(memory.workspace)
        assert {remnant.file for remnant in memory.purge("session:s").remnants} == {str(tmp_path / "a.slice")}


def test_exports_from_before_the_folder_became_a_repository_are_known(memory: Slicebase, tmp_path: Path) -> None:
    memory.export("s", tmp_path / "a.slice")
    memory.close()
    subprocess.run(["git", "init", "-q", str(memory.root)], check=True)
    with Slicebase.open(memory.root) as moved:
        assert moved.workspace.exports != memory.workspace.exports
        moved.export("t", tmp_path / "b.slice")
        assert [each.what for each in exported_files(moved.workspace)] == ["s", "t"]
        assert {remnant.file for remnant in moved.purge("session:s").remnants} == {str(tmp_path / "a.slice")}


def test_the_list_is_removed_with_the_database(memory: Slicebase, tmp_path: Path) -> None:
    memory.export("s", tmp_path / "a.slice")
    memory.close()
    uninstall(memory.workspace, delete_data=True)
    assert not memory.workspace.exports.parent.exists()


def test_in_a_workspace_that_can_only_be_read_an_export_works_and_is_not_remembered(
    memory: Slicebase, tmp_path: Path
) -> None:
    memory.close()
    with frozen(memory.root) as call:
        assert call("export", "s", "--to", tmp_path / "a.slice").returncode == 0
    assert exported_files(memory.workspace) == []
