"""Where a workspace may write, and who may read what it keeps for itself."""

import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slicebase.base import Slicebase
from slicebase.cli.main import run
from slicebase.errors import SlicebaseError
from slicebase.history.inputs import LONG_SAMPLE
from slicebase.workspace.boundary import inside, opened_folder, private_database, private_folder, real_path
from tests.amounts import MORE
from tests.codes import code_of
from tests.workspace.test_workspace import git


def test_a_link_is_followed_inside_and_refused_outside(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "in").symlink_to("docs/file")
    (root / "out").symlink_to("../file")
    (root / "twin").symlink_to(tmp_path / "root-2")  # its name begins like the root's
    (root / "detour").symlink_to("../root/docs")
    assert inside(root, root / "in") == root / "docs" / "file"
    assert inside(root, root / "detour" / "new") == root / "docs" / "new"
    for name in ("out", "out/below", "twin", "../file", ".."):
        assert code_of(inside, root, root / name) == "outside-workspace"


def test_the_error_names_the_link_and_its_target(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "AGENTS.md").symlink_to("../secret")
    with pytest.raises(SlicebaseError) as caught:
        inside(tmp_path / "root", tmp_path / "root" / "AGENTS.md")
    assert str(tmp_path / "secret") in str(caught.value)
    assert str(tmp_path / "root" / "AGENTS.md") in str(caught.value)
    assert caught.value.hint


def test_of_our_own_files_none_is_a_link_not_even_one_that_stays_inside(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "loop").symlink_to("loop")
    assert code_of(lambda: inside(tmp_path, tmp_path / "link" / "a", linked=False)) == "not-a-file"
    for path in (tmp_path / "loop", tmp_path / "loop" / "a"):
        assert code_of(inside, tmp_path, path) == "not-a-file"
    assert inside(tmp_path, tmp_path / "real" / "a", linked=False) == tmp_path / "real" / "a"


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert inside(tmp_path / "link", tmp_path / "link" / "a", linked=False) == tmp_path / "real" / "a"


def test_a_link_that_appears_on_the_way_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "root" / "a").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError), opened_folder(tmp_path / "root", tmp_path / "root" / "a"):
        pass


def test_a_database_is_never_opened_to_be_narrowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing it would release the locks that SQLite holds in this process."""
    (tmp_path / "a.db").touch(0o644)
    monkeypatch.setattr(os, "close", lambda descriptor: pytest.fail("a file was closed"))
    private_database(tmp_path / "a.db")
    assert (tmp_path / "a.db").stat().st_mode & 0o777 == 0o600


def test_folders_are_private_from_the_first_below_the_root(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "a").mkdir(0o755)
    private_folder(tmp_path, tmp_path / "a" / "b" / "c")
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("", "a", "a/b", "a/b/c")] == [0o755, *[0o700] * 3]


# A complete workspace


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in folder.rglob("*")}


@pytest.mark.parametrize("repository", [False, True])
def test_what_belongs_to_this_machine_is_its_owners_alone(
    tmp_path: Path, repository: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if repository:
        git(tmp_path, "init", "-q")
    monkeypatch.chdir(tmp_path)
    before = os.umask(0)
    try:
        with Slicebase.init(tmp_path) as base:
            kept = base.library.create(title="A", summary="B.", body="text").id
            base.follow(LONG_SAMPLE)
            base.context("how are codes compared?")
            base.hooks.install("claude-code")
            base.search("codes")
            assert (base.workspace.database.parent / "slicebase.db-wal").exists()
            found = modes(tmp_path)  # while the databases are open
    finally:
        os.umask(before)
    ours = {name: mode for name, mode in found.items() if name.startswith((".slicebase", ".git/slicebase"))}
    folders = {name for name in ours if (tmp_path / name).is_dir()}
    assert {"slicebase.db", "slicebase.db-wal", "slicebase.db-shm"} <= {name.rpartition("/")[2] for name in ours}
    assert {name: mode for name, mode in ours.items() if mode != (0o700 if name in folders else 0o600)} == {}
    assert found[f".slices/{kept}.slice"] == 0o666, "what git shares has the permissions that the user chose"


def test_what_was_wider_is_narrowed_when_its_owner_opens_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (["init"], ["import", str(LONG_SAMPLE)], ["context", "codes"], ["search", "codes"]):
        assert run(command) == 0
    local = tmp_path / ".slicebase"
    for path in (local, *local.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    again = ["import", str(LONG_SAMPLE)]
    for command in (again, ["context", "codes"], ["search", "codes"], ["create", "--title", "A", "--summary", "B."]):
        assert run(command) == 0
    wide = {path.name for path in (local, *local.rglob("*")) if path.stat().st_mode & 0o077}
    assert wide == {".gitignore"}


STEPS = st.lists(st.sampled_from(["a", "b", "c", "d", "..", "out", "file"]), min_size=1, max_size=4).map("/".join)


@settings(max_examples=60 * MORE)
@given(st.dictionaries(st.sampled_from("abcd"), STEPS, max_size=4), STEPS)
@example({"a": "a", "b": "out", "c": "a/../b/file"}, "c")
def test_what_can_be_opened_by_a_real_path_is_behind_no_link(
    tmp_path_factory: pytest.TempPathFactory, links: dict[str, str], path: str
) -> None:
    """Also behind a loop, where links would otherwise lead out of the workspace."""
    root = real_path(tmp_path_factory.mktemp("links"))
    for folder in (root / "in", root / "out"):
        folder.mkdir()
        (folder / "file").touch()
    (root / "in" / "out").symlink_to("../out")
    for name, target in links.items():
        (root / "in" / name).symlink_to(target)
    found = real_path(root / "in" / path)
    try:
        os.stat(found)
    except OSError:
        return
    assert not [each for each in (found, *found.parents) if each.is_symlink()]
    if os.path.exists(root / "in" / path):
        assert os.path.samefile(found, root / "in" / path)
