"""The paths of a workspace and its database."""

import os
import subprocess
from pathlib import Path

import pytest

from slicebase.base import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.truth.truth import Truth
from slicebase.workspace.given_paths import each_path
from slicebase.workspace.workspace import create_workspace, find_root, open_workspace
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


# A database that came with the repository


def clone_with_database(folder: Path, commit: bool = True) -> Path:
    """Creates a repository whose `.slicebase/slicebase.db` is committed, or only there."""
    made = create_workspace(folder / "source")
    with Slicebase.open(made.root) as base:
        base.runs.start("theirs", "Make you believe it.", "It is believed.")
    git(made.root, "init", "-q")
    if commit:
        git(made.root, "add", "-f", ".slicebase/slicebase.db", ".slices")
        git(made.root, "commit", "-qm", "start")
    git(folder, "clone", "-q", "source", "clone")
    (folder / "clone" / ".slices").mkdir(exist_ok=True)
    return folder / "clone"


def runs_of(root: Path) -> list[str]:
    with Slicebase.open(root) as base:
        return [run.id for run in base.runs.list_runs()]


def test_a_database_that_git_tracks_becomes_the_memory_only_when_it_is_adopted(tmp_path: Path) -> None:
    clone = clone_with_database(tmp_path)
    assert refusal(clone) == "database-not-ours"
    assert code_of(Slicebase.init, clone) == "database-not-ours"
    assert not (clone / ".git" / "slicebase").exists()
    Slicebase.init(clone, adopt=True).close()
    assert runs_of(clone) == ["theirs"]
    assert not (clone / ".slicebase" / "slicebase.db").exists()


def test_a_tracked_database_beside_an_own_one_is_left_alone(tmp_path: Path) -> None:
    clone = clone_with_database(tmp_path)
    tracked = (clone / ".slicebase" / "slicebase.db").read_bytes()
    (clone / ".slicebase" / "slicebase.db").unlink()
    assert runs_of(clone) == []
    git(clone, "checkout", "-q", ".slicebase")
    assert runs_of(clone) == []
    assert (clone / ".slicebase" / "slicebase.db").read_bytes() == tracked
    assert code_of(lambda: Slicebase.init(clone, adopt=True)) == "two-databases"


@pytest.mark.parametrize("place", ["git", "outside git", "in the git directory"])
def test_a_link_to_the_database_of_another_project_is_not_the_memory(tmp_path: Path, place: str) -> None:
    theirs = create_workspace(tmp_path / "theirs").database
    with Slicebase.open(tmp_path / "theirs") as base:
        base.runs.start("theirs", "Another project.", "It is done.")
    before = theirs.read_bytes(), theirs.stat().st_mtime_ns
    clone = tmp_path / "clone"
    (clone / ".slices").mkdir(parents=True)
    (clone / ".slicebase").mkdir()
    if place != "outside git":
        git(clone, "init", "-q")
    link = clone / (".git/slicebase" if place == "in the git directory" else ".slicebase") / "slicebase.db"
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(theirs)
    assert refusal(clone) == "database-not-ours"
    Slicebase.init(clone, adopt=True).close()
    assert runs_of(clone) == ["theirs"]
    assert not link.is_symlink()
    assert (theirs.read_bytes(), theirs.stat().st_mtime_ns) == before


def test_a_folder_or_a_device_is_never_adopted(tmp_path: Path) -> None:
    (tmp_path / ".slicebase").mkdir()
    for target in ("/dev/full", tmp_path / "none", tmp_path):
        (tmp_path / ".slicebase" / "slicebase.db").symlink_to(target)
        assert code_of(lambda: create_workspace(tmp_path, adopt=True)) == "database-not-ours"
        (tmp_path / ".slicebase" / "slicebase.db").unlink()


def test_a_database_in_use_elsewhere_is_not_adopted_by_a_link(tmp_path: Path) -> None:
    used = Truth(create_workspace(tmp_path / "theirs").database, create=True)
    used.database.connection.execute("BEGIN IMMEDIATE; INSERT INTO waiting VALUES (x'00', x'01'); COMMIT")
    create_workspace(tmp_path / "mine")
    (tmp_path / "mine" / ".slicebase" / "slicebase.db").symlink_to(used.database.path)
    assert code_of(lambda: create_workspace(tmp_path / "mine", adopt=True)) == "locked"
    used.close()


def test_a_workspace_is_opened_through_a_link_to_its_folder(tmp_path: Path) -> None:
    create_workspace(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    assert open_workspace(tmp_path / "link").root == tmp_path.resolve() / "real"
    assert create_workspace(tmp_path / "link").root == tmp_path.resolve() / "real"
    with Slicebase.open(tmp_path / "link") as base:
        base.library.create(title="A", summary="B.")
    assert runs_of(tmp_path / "link") == []


@pytest.mark.parametrize("name", [".slices", ".slicebase"])
def test_a_linked_folder_of_a_workspace_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "root" / "inner").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "root" / name).symlink_to(tmp_path / "outside")
    assert code_of(create_workspace, tmp_path / "root") == refusal(tmp_path / "root") == "outside-workspace"
    (tmp_path / "root" / name).unlink()
    (tmp_path / "root" / name).symlink_to("inner")
    assert code_of(create_workspace, tmp_path / "root") == refusal(tmp_path / "root") == "not-a-file"
    assert list((tmp_path / "outside").iterdir()) == []
