"""The workspace in a git repository: what is set up, what is removed, and how git then merges slice files."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from slicebase.verbs.install import install, uninstall
from slicebase.workspace import git
from slicebase.workspace.workspace import Workspace, open_workspace
from tests.library.samples import library, put, rows, text_of
from tests.paths import PROJECT

DRIVER = git.merge_command()


class Repository:
    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.root = workspace.root

    def git(self, *arguments: str, fails: bool = False) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )
        assert bool(done.returncode) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-m", message)

    def text(self, name: str = "a") -> str:
        return (self.workspace.library / f"{name}.slice").read_text()

    def both(self, base: str, ours: str, theirs: str, *, conflict: bool = False) -> str:
        """Merges two branches that each change the file `a`. Returns the merged text."""
        path = self.workspace.library / "a.slice"
        path.write_text(base)
        self.commit("base")
        self.git("checkout", "-b", "theirs")
        path.write_text(theirs)
        self.commit("theirs")
        self.git("checkout", "main")
        path.write_text(ours)
        self.commit("ours")
        self.git("merge", "theirs", "-m", "merged", fails=conflict)
        return path.read_text()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    root = tmp_path / "project"
    root.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    made = library(root)
    install(made, DRIVER)
    return Repository(made)


# ---- merging


def test_rows_that_two_branches_append_are_all_there(repository: Repository) -> None:
    one, two, three = (
        rows({"id": name, "text": name, "at": f"2026-01-01T00:00:0{at}Z"}) for at, name in enumerate("xyz")
    )
    merged = repository.both(
        text_of("a", one, type="jsonl"), text_of("a", one + three, type="jsonl"), text_of("a", one + two, type="jsonl")
    )
    assert merged == text_of("a", one + two + three, type="jsonl")


def test_keys_and_links_that_two_branches_change_are_merged(repository: Repository) -> None:
    base = text_of("a", "x\n", meta={"one": 1, "two": 2}, links=[{"rel": "is_a", "to": "b"}])
    ours = text_of(
        "a", "x\n", meta={"one": 10, "two": 2}, links=[{"rel": "is_a", "to": "b"}, {"rel": "is_a", "to": "c"}]
    )
    theirs = text_of(
        "a", "x\n", meta={"one": 1, "two": 20}, links=[{"rel": "is_a", "to": "b"}, {"rel": "is_a", "to": "d"}]
    )
    repository.both(base, ours, theirs)
    from slicebase.library.finder import Finder

    file = Finder(repository.workspace).info("a").file
    assert file.meta == {"one": 10, "two": 20}
    assert sorted(link.to or "" for link in file.links) == ["b", "c", "d"]
    assert repository.git("status", "--porcelain") == ""


def test_a_key_that_two_branches_change_differently_is_a_conflict_of_git(repository: Repository) -> None:
    row = rows({"id": "r", "text": "x"})
    merged = repository.both(
        text_of("a", "", title="Base", type="jsonl"),
        text_of("a", row, title="Ours", type="jsonl"),
        text_of("a", "", title="Theirs", type="jsonl"),
        conflict=True,
    )
    assert '<<<<<<< ours\n  title: "Ours"\n=======\n  title: "Theirs"\n>>>>>>> theirs\n' in merged
    assert merged.endswith(row)
    assert repository.git("status", "--porcelain") == "UU .slices/a.slice\n"


def test_without_the_driver_the_same_rows_would_conflict(repository: Repository) -> None:
    """Shows why the driver exists."""
    uninstall(repository.workspace)
    one, two = rows({"id": "x", "text": "x"}), rows({"id": "y", "text": "y"})
    merged = repository.both(
        text_of("a", "", type="jsonl"), text_of("a", one, type="jsonl"), text_of("a", two, type="jsonl"), conflict=True
    )
    assert "<<<<<<<" in merged


def test_a_file_that_cannot_be_read_is_merged_as_git_would(repository: Repository) -> None:
    base, ours, theirs = (
        "broken\none\ntwo\nthree\n".replace(*pair) for pair in (("", ""), ("one", "1"), ("three", "3"))
    )
    assert repository.both(base, ours, theirs) == "broken\n1\ntwo\n3\n"


def test_a_rebase_and_a_cherry_pick_merge_as_well(repository: Repository) -> None:
    one, two = rows({"id": "x", "text": "x"}), rows({"id": "y", "text": "y", "at": "2026-02-01T00:00:00Z"})
    put(repository.workspace, "a", "", type="jsonl")
    repository.commit("base")
    repository.git("checkout", "-b", "side")
    put(repository.workspace, "a", one, type="jsonl")
    repository.commit("one")
    repository.git("checkout", "main")
    put(repository.workspace, "a", two, type="jsonl")
    repository.commit("two")
    repository.git("cherry-pick", "side")
    assert repository.text() == text_of("a", one + two, type="jsonl")
    repository.git("checkout", "side")
    repository.git("rebase", "main")
    assert repository.text() == text_of("a", one + two, type="jsonl")


def test_code_of_the_repository_is_never_run(repository: Repository) -> None:
    """git runs the driver inside the repository, which can contain a module with our name."""
    (repository.root / "slicebase").mkdir()
    (repository.root / "slicebase" / "__init__.py").write_text("raise SystemExit('the wrong code')")
    one, two = rows({"id": "x", "text": "x"}), rows({"id": "y", "text": "y"})
    repository.both(text_of("a", "", type="jsonl"), text_of("a", one, type="jsonl"), text_of("a", two, type="jsonl"))
    assert repository.text() == text_of("a", one + two, type="jsonl")


# ---- setting up and removing


def test_setting_up_twice_changes_nothing(repository: Repository) -> None:
    attributes = (repository.root / ".gitattributes").read_text()
    config = (repository.root / ".git" / "config").read_text()
    assert install(repository.workspace, DRIVER) == []
    assert (repository.root / ".gitattributes").read_text() == attributes
    assert (repository.root / ".git" / "config").read_text() == config


def test_other_attributes_stay(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitattributes").write_bytes(b"*.png binary # \xff")
    made = library(tmp_path)
    install(made, DRIVER)
    assert (tmp_path / ".gitattributes").read_bytes().startswith(b"*.png binary # \xff\n")
    assert git.has_attributes(tmp_path)
    uninstall(made)
    assert (tmp_path / ".gitattributes").read_bytes() == b"*.png binary # \xff\n"


def test_outside_a_repository_there_is_nothing_to_set_up(tmp_path: Path) -> None:
    made = library(tmp_path)
    assert install(made, DRIVER) == []
    assert not (tmp_path / ".gitattributes").exists()


def test_uninstalling_leaves_slice_files_settings_and_data(repository: Repository) -> None:
    workspace = repository.workspace
    put(workspace, "a")
    (workspace.root / "slicebase.toml").write_text("")
    workspace.database.parent.mkdir(parents=True)
    workspace.database.write_bytes(b"data")
    before = sorted(str(path) for path in workspace.root.rglob("*"))
    would = uninstall(workspace, dry_run=True)
    assert sorted(str(path) for path in workspace.root.rglob("*")) == before
    assert uninstall(workspace) == would
    assert git.driver_of(workspace.root) is None
    assert sorted(path.name for path in workspace.root.iterdir()) == [".git", ".slices", "slicebase.toml"]
    assert workspace.database.read_bytes() == b"data"
    assert uninstall(workspace) == []
    assert len(uninstall(workspace, delete_data=True)) == 1
    assert not workspace.database.exists()


def test_another_workspace_of_the_repository_keeps_its_driver(repository: Repository) -> None:
    inner = library(repository.root / "inner")
    install(inner, DRIVER)
    uninstall(inner)
    assert git.driver_of(repository.root) == DRIVER
    uninstall(repository.workspace)
    assert git.driver_of(repository.root) is None


def test_worktrees_share_the_driver(repository: Repository, tmp_path: Path) -> None:
    put(repository.workspace, "a")
    repository.commit("base")
    repository.git("worktree", "add", str(tmp_path / "other"))
    other = open_workspace(tmp_path / "other")
    assert git.driver_of(other.root) == DRIVER
    assert install(other, DRIVER) == []


def test_a_stored_conflict_is_json_free_text(repository: Repository) -> None:
    """A row with two versions between markers is readable: each version is one line of JSON."""
    base, ours, theirs = (rows({"id": "r", "text": text}) for text in ("base", "ours", "theirs"))
    merged = repository.both(
        *(text_of("a", body, type="jsonl") for body in (base, ours, theirs)), conflict=True
    )  # fmt: skip
    inside = [line for line in merged.split("---\n")[-1].splitlines() if line.startswith("{")]
    assert [json.loads(line)["text"] for line in inside] == ["ours", "theirs"]
