"""The paths of a workspace and its database."""

import os
import subprocess
from pathlib import Path

import pytest

from slicebase.base import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.truth.truth import Truth
from slicebase.workspace.workspace import create_workspace, each_path, find_root, open_workspace
from tests.codes import code_of


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def refusal(start: Path, root: Path | None = None) -> str:
    with pytest.raises(SlicebaseError) as caught:
        open_workspace(start, root)
    return caught.value.code


def test_the_nearest_workspace_upwards_is_found(tmp_path: Path) -> None:
    create_workspace(tmp_path)
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_root(inner) == tmp_path.resolve()
    create_workspace(tmp_path / "a")
    assert find_root(inner) == (tmp_path / "a").resolve()


def test_a_folder_without_a_workspace_is_an_error_with_a_hint(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "no-workspace"


def test_a_named_root_must_be_a_workspace_itself(tmp_path: Path) -> None:
    create_workspace(tmp_path)
    (tmp_path / "inner").mkdir()
    assert refusal(tmp_path, tmp_path / "inner") == "no-workspace"
    assert refusal(tmp_path, tmp_path / "nowhere") == "no-workspace"


def test_init_twice_changes_nothing(tmp_path: Path) -> None:
    create_workspace(tmp_path)
    (tmp_path / ".slicebase" / ".gitignore").write_text("# mine\n*\n")
    create_workspace(tmp_path)
    assert (tmp_path / ".slicebase" / ".gitignore").read_text() == "# mine\n*\n"


def test_outside_git_the_database_is_in_the_workspace(tmp_path: Path) -> None:
    assert create_workspace(tmp_path).database == tmp_path.resolve() / ".slicebase" / "slicebase.db"


def test_inside_git_the_database_is_in_the_git_directory_and_git_does_not_show_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    workspace = create_workspace(tmp_path)
    assert workspace.database == tmp_path.resolve() / ".git" / "slicebase" / "slicebase.db"
    Truth(workspace.database, create=True).close()
    (workspace.cache / "x").write_text("x")
    assert git(tmp_path, "status", "--porcelain", "--untracked-files=all") == ""


def test_worktrees_share_a_database(tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "start")
    git(main, "worktree", "add", "-q", "../other")
    assert create_workspace(tmp_path / "other").database == create_workspace(main).database


def test_a_workspace_in_a_subfolder_has_its_own_database(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "part" / "slicebase.db").mkdir(parents=True)
    databases = {create_workspace(folder).database for folder in (tmp_path, tmp_path / "part")}
    assert len(databases) == 2


def test_a_submodule_has_its_own_git_directory(tmp_path: Path) -> None:
    for name in ("outer", "inner"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q")
        git(tmp_path / name, "commit", "-q", "--allow-empty", "-m", "start")
    source = str(tmp_path / "inner")
    git(tmp_path / "outer", "-c", "protocol.file.allow=always", "submodule", "add", "-q", source, "sub")
    workspace = create_workspace(tmp_path / "outer" / "sub")
    assert ".git/modules/sub/slicebase" in workspace.database.as_posix()


def test_a_database_moves_when_its_folder_becomes_a_repository(tmp_path: Path) -> None:
    before = create_workspace(tmp_path)
    Truth(before.database, create=True).close()
    git(tmp_path, "init", "-q")
    after = open_workspace(tmp_path)
    assert after.database.exists()
    assert not before.database.exists()
    Truth(after.database).close()


def test_a_database_in_use_is_not_moved(tmp_path: Path) -> None:
    used = Truth(create_workspace(tmp_path).database, create=True)
    used.database.connection.execute("BEGIN IMMEDIATE")
    git(tmp_path, "init", "-q")
    assert refusal(tmp_path) == "locked"
    used.database.connection.execute("ROLLBACK")
    used.close()
    assert open_workspace(tmp_path).database.exists()


def test_two_databases_are_an_error_and_both_stay(tmp_path: Path) -> None:
    old = create_workspace(tmp_path).database
    Truth(old, create=True).close()
    git(tmp_path, "init", "-q")
    new = open_workspace(tmp_path).database
    Truth(old, create=True).close()
    assert refusal(tmp_path) == "two-databases"
    assert old.exists()
    assert new.exists()


@pytest.mark.parametrize("create", [True, False])
def test_a_folder_that_does_not_exist_is_not_opened_and_not_created(tmp_path: Path, create: bool) -> None:
    """Not even inside a workspace, and `~` is a name like any other."""
    create_workspace(tmp_path)
    for name in ("missing", "missing/inner", "~"):
        assert code_of(Slicebase.open, tmp_path / name, create=create) == "no-workspace"
        assert code_of(Slicebase.open, tmp_path, tmp_path / name, create=create) == "no-workspace"
    assert not (tmp_path / "missing").exists()


def test_init_creates_a_folder_but_none_above_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Slicebase.init("new").close()
    for path in ("a/b", "~", "~/b"):
        assert code_of(Slicebase.init, path) == "cannot-write"
    assert os.listdir(tmp_path) == ["new"]


def test_a_loop_of_links_and_a_deleted_folder_are_no_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert code_of(Slicebase.open, tmp_path / "loop") == "no-workspace"
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert code_of(Slicebase.open) == "no-workspace"


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every folder")
def test_a_folder_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "inner").mkdir(parents=True)
    closed.chmod(0)
    try:
        assert code_of(Slicebase.open, closed) == "cannot-read"
        assert code_of(Slicebase.open, closed / "inner") == "cannot-read"
    finally:
        closed.chmod(0o700)


@pytest.mark.parametrize("paths", ["", [""], ["a", ""]])
def test_an_empty_path_names_nothing(paths: str | list[str]) -> None:
    assert code_of(lambda: each_path(paths)) == "no-input"
