"""The repository around a folder, and git as a program that runs nothing of what a repository configures."""

import os
import shutil
import string
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.base import Slicebase
from slicebase.cli.main import run
from slicebase.workspace import backlink
from slicebase.workspace.repository import repository_of, run_git
from tests.codes import code_of
from tests.workspace.test_workspace import git

COMMANDS = (["init"], ["status"], ["list"], ["doctor", "--fix"], ["config"], ["verify"], ["uninit", "--delete-data"])


def trap(folder: Path, name: str) -> tuple[Path, Path]:
    """Returns a program, and the file that it creates when it runs."""
    program, sprung = folder / f"{name}.sh", folder / f"{name}.ran"
    program.write_text(f"#!/bin/sh\ntouch {sprung}\nexit 1\n")
    program.chmod(0o755)
    return program, sprung


CONFIGURED = (
    "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "diff.external", "filter.x.clean",
    "filter.x.smudge", "filter.x.process", "merge.x.driver", "gpg.program", "credential.helper", "pager.config",
    "alias.ls-files", "alias.grep", "diff.x.textconv", "diff.x.command", "trailer.x.command", "interactive.diffFilter",
)  # fmt: skip


def test_no_command_runs_a_program_that_a_repository_configures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "unpacked"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    (folder / "a.slice").write_text("text")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "start")
    program, sprung = trap(tmp_path, "trap")
    for name in CONFIGURED:
        git(folder, "config", name, str(program))
    shutil.rmtree(folder / ".git" / "hooks", ignore_errors=True)
    (folder / ".git" / "hooks").mkdir()
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"):
        shutil.copy(program, folder / ".git" / "hooks" / hook)
    (folder / "slicebase").mkdir()
    (folder / "slicebase" / "__init__.py").write_text(f"open({str(sprung)!r}, 'w')")
    monkeypatch.chdir(folder)
    for command in COMMANDS:
        run(command)
        assert not sprung.exists(), command
    subprocess.run(["git", "ls-files", "--modified"], check=False, capture_output=True)
    assert sprung.exists(), "the trap works"


def test_a_folder_of_a_clone_that_looks_like_a_bare_repository_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, sprung = trap(tmp_path, "trap")
    bare = tmp_path / "clone" / "folder"
    bare.mkdir(parents=True)
    git(bare, "init", "-q", "--bare", ".")
    git(bare, "config", "core.bare", "false")
    git(bare, "config", "core.worktree", str(bare))
    git(bare, "config", "core.fsmonitor", str(program))
    monkeypatch.chdir(bare)
    assert repository_of(bare) is None
    for command in COMMANDS:
        run(command)
    assert not sprung.exists()
    assert code_of(run_git, bare, "rev-parse", "--git-dir") == "no-git"


def test_a_worktree_whose_repository_moved_is_an_error_in_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "start")
    git(main, "worktree", "add", "-q", str(other))
    monkeypatch.chdir(other)
    assert run(["create", "--title", "A", "--summary", "B."]) == 0
    before = sorted(os.listdir(other))
    main.rename(tmp_path / "moved")
    for command in (*COMMANDS, ["search", "A"], ["remember", "x", "text"], ["context", "A"]):
        capfd.readouterr()
        assert run([*command, "--json"]) == 4, command
        printed = capfd.readouterr().err
        assert '"no-repository"' in printed
        assert "git worktree repair" in printed
    assert run(["--help"]) == run(["validate", *map(str, (other / ".slices").iterdir())]) == 0
    assert sorted(os.listdir(other)) == before
    git(tmp_path / "moved", "worktree", "repair", str(other))
    assert run(["list"]) == 0


def test_nothing_is_created_in_a_worktree_without_its_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    monkeypatch.chdir(tmp_path)
    assert run(["init"]) == run(["create", "--title", "A", "--summary", "B."]) == 4
    assert os.listdir(tmp_path) == [".git"]


@pytest.mark.parametrize("text", ["", "gitdir: \0", "gitdir: nowhere", "\xff", "gitdir: ."])
def test_a_git_file_that_names_no_repository_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_bytes(text.encode("latin-1"))
    assert code_of(repository_of, tmp_path) == "no-repository"


# The way back from a git directory


def project(folder: Path, *options: str) -> Path:
    """Returns a repository with a commit, and with a memory that has a run."""
    folder.mkdir()
    git(folder, "init", "-q", *options)
    git(folder, "commit", "-q", "--allow-empty", "-m", "start")
    remember(folder)
    return folder


def remember(folder: Path) -> None:
    with Slicebase.init(folder) as memory:
        memory.runs.start(f"run-{len(memory.runs.list_runs())}", "rotate the key", "it is rotated")


def runs_in(folder: Path) -> int:
    with Slicebase.open(folder, create=False) as memory:
        return len(memory.runs.list_runs())


def unpacked(folder: Path) -> Path:
    """Returns a folder as an archive leaves it, with a library."""
    (folder / ".slices").mkdir(parents=True)
    return folder


def pointing(folder: Path, target: Path) -> None:
    (folder / ".git").write_text(f"gitdir: {os.path.relpath(target, folder)}\n")


def fake_worktree(folder: Path, target: Path) -> None:
    """A worktree's git directory that the archive brings, and that says what it likes."""
    (folder / "mine").mkdir()
    (folder / "mine" / "commondir").write_text(os.path.relpath(target, folder / "mine"))
    (folder / "mine" / "gitdir").write_text(str(folder / ".git"))
    (folder / ".git").write_text("gitdir: mine\n")


def through_a_link(folder: Path, target: Path) -> None:
    (folder / "x").symlink_to(target)
    (folder / ".git").write_text("gitdir: x")


FORGED: dict[str, Callable[[Path, Path], None]] = {
    "a file": pointing,
    "a link": lambda folder, target: (folder / ".git").symlink_to(target),
    "a link to a worktree's file": lambda folder, target: (folder / ".git").symlink_to(target.parents[1] / "tree/.git"),
    "a file that names a worktree": lambda folder, target: pointing(folder, target / "worktrees" / "tree"),
    "a worktree of its own": fake_worktree,
    "a link in between": through_a_link,
}


@pytest.mark.parametrize("how", FORGED)
def test_a_folder_that_names_the_repository_of_another_project_does_not_get_its_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    other, folder = project(tmp_path / "other"), unpacked(tmp_path / "unpacked")
    git(other, "worktree", "add", "-q", str(tmp_path / "tree"))
    FORGED[how](folder, other / ".git")
    assert code_of(repository_of, folder) == "no-repository"
    monkeypatch.chdir(folder)
    for command in (["init"], ["run", "list"], ["run", "start", "--objective", "O", "--done", "D"], ["status"]):
        assert run(command) == 4
    assert runs_in(other) == 1


@pytest.mark.parametrize("bare", [True, False])
def test_a_git_directory_without_a_way_back_is_open_only_to_the_folder_that_knows_the_memory(
    tmp_path: Path, bare: bool
) -> None:
    folder, shared = unpacked(tmp_path / "unpacked"), tmp_path / "shared.git"
    if bare:
        git(project(tmp_path / "other"), "clone", "-q", "--bare", ".", str(shared))
    else:
        other = project(tmp_path / "other", f"--separate-git-dir={shared}")
        assert runs_in(other) == 1
        other = other.rename(tmp_path / "moved")
        assert runs_in(other) == 1
    pointing(folder, shared)
    assert code_of(runs_in, folder) == ("no-repository" if bare else "database-not-ours")
    if not bare:
        git(shared, "config", "core.worktree", str(tmp_path / "moved"))
        assert code_of(runs_in, folder) == "no-repository"
        assert runs_in(other) == 1


def test_what_git_itself_sets_up_works(tmp_path: Path) -> None:
    main = project(tmp_path / "main")
    git(main, "worktree", "add", "-q", "../tree")
    remember(tmp_path / "tree")
    (tmp_path / "tree").rename(tmp_path / "moved")
    assert code_of(repository_of, tmp_path / "moved") == "no-repository"
    git(main, "worktree", "repair", str(tmp_path / "moved"))
    (tmp_path / "link").symlink_to("moved")
    (main / ".git" / "worktrees" / "tree" / "gitdir").write_text("../../../../moved/.git\n")  # as newer versions do
    assert runs_in(tmp_path / "moved") == runs_in(tmp_path / "link") == runs_in(main) == 2
    git(main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(main), "a part; \\ of it")
    remember(main / "a part; \\ of it")
    git(main, "mv", "a part; \\ of it", 'a "new" name')
    assert runs_in(main / 'a "new" name') == 1
    main.rename(tmp_path / "elsewhere")
    assert runs_in(tmp_path / "elsewhere" / 'a "new" name') == 1


def test_a_bare_repository_inside_of_its_folder_works(tmp_path: Path) -> None:
    """A known set-up for several worktrees: `.git` names `.bare`, and each branch is a folder."""
    git(project(tmp_path / "main"), "clone", "-q", "--bare", ".", str(tmp_path / "many" / ".bare"))
    pointing(tmp_path / "many", tmp_path / "many" / ".bare")
    git(tmp_path / "many", "worktree", "add", "-q", "--detach", "one")
    remember(tmp_path / "many")
    remember(tmp_path / "many" / "one")
    assert runs_in(tmp_path / "many") == 2


@settings(max_examples=15)
@given(st.text(alphabet=string.ascii_letters + string.punctuation + " \t\né", min_size=1, max_size=30))
def test_a_worktree_is_read_from_a_configuration_as_git_reads_it(name: str) -> None:
    with TemporaryDirectory() as folder:
        git(Path(folder), "init", "-q", "--bare", ".")
        git(Path(folder), "config", "core.worktree", name)
        read, is_bare = backlink._configured(Path(folder))
        assert is_bare
        assert read == git(Path(folder), "config", "core.worktree").removesuffix("\n")
