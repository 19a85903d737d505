"""The repository around a folder, and git as a program that runs nothing of what a repository configures."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from slicebase.cli.main import run
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
