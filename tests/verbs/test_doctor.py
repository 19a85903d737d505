"""The doctor finds what is wrong, fixes what needs no decision, and never changes a file that cannot be read."""

import subprocess
from pathlib import Path

import pytest

from slicebase.index.turns import TurnIndex
from slicebase.library.finder import Finder
from slicebase.verbs.doctor import examine, fix_all
from slicebase.verbs.install import install
from slicebase.workspace.atomic import TEMPORARY
from slicebase.workspace.workspace import Workspace
from tests.library.samples import library, put

DRIVER = "true %O %A %B %P"
GOOD = "01JF5Z9V7W8X9Y0Z1A2B3C4D5E"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    made = library(tmp_path)
    install(made, DRIVER)
    put(made, GOOD)
    return made


def wrong(workspace: Workspace) -> list[str]:
    return [complaint.check for complaint in examine(workspace, DRIVER)]


def test_a_sound_workspace_has_no_complaints(workspace: Workspace) -> None:
    Finder(workspace).list_files()
    assert wrong(workspace) == []


def test_what_a_killed_writer_left_is_removed(workspace: Workspace) -> None:
    (workspace.library / TEMPORARY).write_text("half a fi")
    assert wrong(workspace) == ["litter"]
    fix_all(examine(workspace, DRIVER))
    assert wrong(workspace) == []
    assert not (workspace.library / TEMPORARY).exists()


def test_a_damaged_index_is_deleted(workspace: Workspace) -> None:
    finder = Finder(workspace)
    finder.list_files()
    finder.index.database.path.write_bytes(b"no database" * 500)
    assert wrong(workspace) == ["index"]
    fix_all(examine(workspace, DRIVER))
    assert wrong(workspace) == []


def test_a_damaged_index_of_turns_is_deleted(workspace: Workspace) -> None:
    for path in (workspace.turns, workspace.chunks):
        TurnIndex(path).close()
        path.write_bytes(b"no database" * 500)
    assert wrong(workspace) == ["index", "index"]
    fix_all(examine(workspace, DRIVER))
    assert wrong(workspace) == []


def test_a_file_is_renamed_to_its_id(workspace: Workspace) -> None:
    (workspace.library / f"{GOOD}.slice").rename(workspace.library / "renamed.slice")
    assert wrong(workspace) == ["name"]
    fix_all(examine(workspace, DRIVER))
    assert wrong(workspace) == []
    assert (workspace.library / f"{GOOD}.slice").exists()


def test_two_files_with_one_id_are_left_to_a_person(workspace: Workspace) -> None:
    put(workspace, GOOD, "another", name="other")
    before = sorted(path.read_bytes() for path in workspace.library.iterdir())
    complaints = examine(workspace, DRIVER)
    assert {complaint.check for complaint in complaints} == {"name", "format"}
    assert fix_all(complaints) == []
    assert sorted(path.read_bytes() for path in workspace.library.iterdir()) == before


def test_a_broken_file_is_reported_with_its_place_and_left_as_it_is(workspace: Workspace) -> None:
    path = workspace.library / "broken.slice"
    path.write_text("---\nslice: [\n---\n")
    (complaint,) = examine(workspace, DRIVER)
    assert (complaint.check, complaint.place, complaint.fix) == ("format", ".slices/broken.slice:2", None)
    fix_all(examine(workspace, DRIVER))
    assert path.read_text() == "---\nslice: [\n---\n"


def test_a_merge_that_was_left_unfinished_is_one_complaint(workspace: Workspace) -> None:
    path = workspace.library / f"{GOOD}.slice"
    path.write_text(
        path.read_text().replace("slice:\n", "slice:\n<<<<<<< ours\n  a: 1\n=======\n  a: 2\n>>>>>>> theirs\n")
    )
    assert wrong(workspace) == ["merge"]


def test_conflict_markers_in_a_text_are_reported_although_the_file_can_be_read(workspace: Workspace) -> None:
    path = workspace.library / f"{GOOD}.slice"
    path.write_text(path.read_text() + "\n<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n")
    assert wrong(workspace) == ["merge"]


def test_a_missing_merge_driver_is_set_up(workspace: Workspace) -> None:
    (workspace.root / ".gitattributes").unlink()
    assert wrong(workspace) == ["merge-driver"]
    fix_all(examine(workspace, DRIVER))
    assert wrong(workspace) == []


def test_a_missing_ignore_rule_is_created(workspace: Workspace) -> None:
    (workspace.root / ".slicebase" / ".gitignore").unlink()
    assert wrong(workspace) == ["ignore"]
    fix_all(examine(workspace, DRIVER))
    assert wrong(workspace) == []


def test_local_files_do_not_belong_in_git(workspace: Workspace) -> None:
    (workspace.root / ".slicebase" / "x").write_text("x")
    subprocess.run(["git", "add", "-f", ".slicebase/x"], cwd=workspace.root, check=True)
    assert wrong(workspace) == ["tracked"]


def test_settings_and_a_database_that_cannot_be_used_are_reported(workspace: Workspace) -> None:
    (workspace.root / "slicebase.toml").write_text("[")
    workspace.database.parent.mkdir(parents=True)
    workspace.database.write_bytes(b"no database" * 500)
    assert wrong(workspace) == ["settings", "database"]
