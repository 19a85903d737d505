"""The doctor finds what is wrong, fixes what needs no decision, and never changes a file that cannot be read."""

import os
import shutil
import subprocess
import sys
from errno import EROFS
from pathlib import Path
from random import Random

import apsw
import pytest

from slicebase import Slicebase
from slicebase.index.turns import TurnIndex
from slicebase.library.finder import Finder
from slicebase.verbs.doctor import examine, fix_all
from slicebase.verbs.install import install
from slicebase.workspace.atomic import TEMPORARY, locked, own_temporary
from slicebase.workspace.workspace import LOCAL, Workspace
from tests.amounts import EXPLORE
from tests.conversations import store, turn
from tests.graph.slicers import KERNELS
from tests.library.samples import library, put
from tests.paths import PROJECT

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


@pytest.mark.skipif("native" not in KERNELS, reason="the kernel is not compiled")
@pytest.mark.parametrize(
    ("changed", "said"),
    [("native.pxd", "other sources"), ("native_survey.*.so", "cannot be loaded")],
    ids=["sources that were not compiled again", "a compiled file that is broken"],
)
def test_a_compiled_kernel_that_is_no_use_is_reported(
    workspace: Workspace, tmp_path: Path, changed: str, said: str
) -> None:
    """The package is one of links, but for its kernel."""
    copy, package = tmp_path / "other" / "slicebase", PROJECT / "src" / "slicebase"
    copy.mkdir(parents=True)
    for each in package.iterdir():
        if each.name != "graph":
            (copy / each.name).symlink_to(each)
    shutil.copytree(package / "graph", copy / "graph")
    (file,) = (copy / "graph").glob(changed)
    file.write_bytes(file.read_bytes()[:300] + b"# changed\n")

    def complaints(**variables: str) -> str:
        command = [sys.executable, "-m", "slicebase", "doctor"]
        named = {**os.environ, "PYTHONPATH": str(copy.parent), **variables}
        done = subprocess.run(command, check=False, cwd=workspace.root, env=named, capture_output=True, text=True)
        return done.stdout

    assert said in complaints()
    assert "kernel" not in complaints(SLICEBASE_KERNEL="plain")


def test_what_a_killed_writer_left_is_removed(workspace: Workspace) -> None:
    (workspace.library / TEMPORARY).write_text("half a fi")
    assert wrong(workspace) == ["litter"]
    fix_all(examine(workspace, DRIVER))
    assert wrong(workspace) == []
    assert not (workspace.library / TEMPORARY).exists()


def test_what_killed_writers_left_anywhere_is_removed_and_what_is_being_written_stays(workspace: Workspace) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (workspace.root / ".claude").mkdir()
    (workspace.cache / "transcripts").mkdir()
    folders = (workspace.root, workspace.root / ".claude", workspace.root / LOCAL, workspace.cache / "transcripts")
    left = [folder / name for folder in folders for name in (TEMPORARY, f"{TEMPORARY}-{gone.pid}-1")]
    left.append(workspace.library / TEMPORARY)
    written = [folder / own_temporary() for folder in folders]
    for path in (*left, *written):
        path.write_text("half a fi")
    assert wrong(workspace) == ["litter"] * len(left)
    fix_all(examine(workspace, DRIVER))
    assert wrong(workspace) == []
    assert [path for path in (*left, *written) if path.exists()] == written


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


def flip(path: Path, seed: int, count: int = 200) -> None:
    """Changes bytes all over a file, but for its header."""
    data = bytearray(path.read_bytes())
    for at in Random(seed).sample(range(100, len(data)), count):
        data[at] ^= 0xFF
    path.write_bytes(bytes(data))


def searchable(root: Path) -> Slicebase:
    memory = Slicebase.init(root)
    store(memory.truth, [turn(n, *([n - 1] if n else []), text=f"the stale lock number {n} " * 9) for n in range(200)])
    assert memory.context("stale lock").pieces
    memory.close()
    return memory


@pytest.mark.parametrize("seed", range(6 if EXPLORE else 2))
def test_flipped_bytes_in_the_index_of_turns_cost_nothing_but_a_rebuild(tmp_path: Path, seed: int) -> None:
    memory = searchable(tmp_path)
    flip(memory.workspace.turns, seed)
    wrong, fixed = memory.doctor()
    assert (wrong, [complaint.check for complaint in fixed]) == ([], ["index"])
    assert memory.context("stale lock").pieces


@pytest.mark.parametrize("seed", range(6 if EXPLORE else 2))
def test_a_search_survives_flipped_bytes_without_the_doctor(tmp_path: Path, seed: int) -> None:
    memory = searchable(tmp_path)
    flip(memory.workspace.turns, seed)
    memory.context("stale lock")
    memory.library.search("lock")


def test_a_damaged_index_inside_the_database_is_built_again(tmp_path: Path) -> None:
    memory = searchable(tmp_path)
    connection = apsw.Connection(str(memory.workspace.database))
    connection.pragma("writable_schema", True)
    connection.execute(
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX turns_by_id ON turns (hash)' WHERE name = 'turns_by_id'"
    )
    connection.close()
    connection = apsw.Connection(str(memory.workspace.database))
    connection.execute("REINDEX turns_by_id")  # by another column
    connection.pragma("writable_schema", True)
    connection.execute(
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX turns_by_id ON turns (turn)' WHERE name = 'turns_by_id'"
    )
    connection.close()
    wrong, fixed = memory.doctor()
    assert (wrong, [complaint.check for complaint in fixed]) == ([], ["database"])
    assert memory.verify().status == "VERIFIED"


def test_damage_in_the_database_is_reported_with_what_sqlite_finds(tmp_path: Path) -> None:
    memory = searchable(tmp_path)
    path = memory.workspace.database
    data = bytearray(path.read_bytes())
    for page in range(4, len(data) // 4096):
        data[page * 4096 : page * 4096 + 50] = b"\xff" * 50
    path.write_bytes(bytes(data))
    wrong, fixed = memory.doctor()
    assert "database" in [complaint.check for complaint in wrong]
    assert fixed == []
    assert memory.verify().status == "BROKEN"


def test_a_journal_that_cannot_be_settled_is_named_and_one_that_can_is_not(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.journal.mkdir()
    assert wrong(workspace) == ["journal"]
    workspace.journal.rmdir()
    workspace.journal.write_text("[]")
    with monkeypatch.context() as patch:
        patch.setattr("os.unlink", read_only)
        assert wrong(workspace) == ["journal"]
        with locked(workspace.lock):
            assert wrong(workspace) == []  # a process writes
    assert wrong(workspace) == []
    assert not workspace.journal.exists()


def read_only(*_: object, **__: object) -> None:
    raise OSError(EROFS, "Read-only file system")


def test_a_line_that_stands_in_a_file_and_in_its_archive_is_named(workspace: Workspace) -> None:
    line = '{"role":"user","content":"yes","ts":"2026-01-01T10:00:00Z"}\n'
    part = GOOD.replace("F", "G")
    for file, rel, other in ((GOOD, "has_part", part), (part, "part_of", GOOD)):
        put(workspace, file, line, type="conversation", links=[{"rel": rel, "to": other, "label": "archive"}])
    (found,) = examine(workspace, DRIVER)
    assert found.check == "repeated"
    assert found.place.endswith(f"{GOOD}.slice")
    assert f"{part}.slice" in found.message
