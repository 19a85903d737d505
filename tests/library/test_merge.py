"""The merge driver in real repositories: whatever happens in it, git sees a merged file, a conflict or a failure."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from slicebase.cli.main import run
from slicebase.library.merge import merge_files
from slicebase.verbs.install import install
from slicebase.workspace.git import merge_command
from tests.library.samples import library, rows, text_of
from tests.paths import PROJECT

# Runs the driver, and lets an accident happen that the name of the file tells.
DRIVER = """
import os, resource, signal, sys
import slicebase.library.merge as merge
from slicebase.cli.main import run

def fail(*args):
    raise KeyError("a bug")

def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)

if "bug" in sys.argv[-1]:
    merge.merge_bytes = fail
elif "killed" in sys.argv[-1]:
    merge.merge_bytes = die
elif "large" in sys.argv[-1]:
    merge._LARGEST = 10
elif "full" in sys.argv[-1]:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
elif "quiet" in sys.argv[-1]:
    os.close(2)
sys.exit(run(sys.argv[1:]))
"""
A, B, C, D, E = (
    rows({"id": name, "text": f"text of {name}", "at": f"2026-01-01T00:00:0{at}Z"}) for at, name in enumerate("abcde")
)


def log(body: str, **fields: object) -> str:
    return text_of("x", body, type="jsonl", **fields)


def said(text: str, second: int) -> str:
    return json.dumps({"role": "user", "content": text, "ts": f"2026-01-01T00:00:{second:02}Z"}) + "\r\n"


def conversation(body: str) -> bytes:
    return text_of("x", type="conversation").replace("\n", "\r\n").encode() + body.encode()


class Repository:
    """A repository with a file per name, which two branches changed."""

    def __init__(self, root: Path, driver: str = "") -> None:
        root.mkdir()
        self.root = root
        self.environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src"), "GIT_EDITOR": "true"}
        self.git("init", "-q", "-b", "main")
        (root.parent / "driver.py").write_text(DRIVER)
        script = shlex.quote(str(root.parent / "driver.py"))
        self.workspace = library(root)
        install(self.workspace, driver or merge_command().replace("-P -m slicebase", script))

    def git(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        return subprocess.run(
            ["git", *identity, *arguments],
            cwd=self.root, env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def branches(self, **versions: tuple[str, str, str] | tuple[bytes, bytes, bytes]) -> None:
        for number, branch in enumerate(("base", "ours", "theirs")):
            self.git("checkout", "-q", "-b", branch, *(["base"] if number else []))
            for name, given in versions.items():
                data = given[number]
                (self.workspace.library / f"{name}.slice").write_bytes(
                    data if isinstance(data, bytes) else data.encode()
                )
            self.git("add", "-A")
            assert self.git("commit", "-q", "-m", branch).returncode == 0

    def data(self, name: str) -> bytes:
        return (self.workspace.library / f"{name}.slice").read_bytes()

    @property
    def unmerged(self) -> list[str]:
        found = self.git("diff", "--name-only", "--diff-filter=U").stdout.split()
        return [Path(path).stem for path in found]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "project")


def merge_theirs(repository: Repository) -> int:
    repository.git("checkout", "-q", "ours")
    return repository.git("merge", "theirs", "-m", "both").returncode


def rebase_theirs(repository: Repository) -> int:
    repository.git("checkout", "-q", "theirs")
    return repository.git("rebase", "ours").returncode


def pick_theirs(repository: Repository) -> int:
    repository.git("checkout", "-q", "ours")
    return repository.git("cherry-pick", "theirs").returncode


OPERATIONS = (merge_theirs, rebase_theirs, pick_theirs)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_driver_that_fails_leaves_both_versions_between_markers(
    operation: Callable[[Repository], int], repository: Repository
) -> None:
    both = log(A), log(A + B), log(A + C)
    accidents = ("bug", "killed", "large", "quiet") if operation is merge_theirs else ("bug",)
    quiet = log(A, title="Base"), log(A + B, title="Ours"), log(A + C, title="Theirs")
    repository.branches(fine=both, **{name: quiet if name == "quiet" else both for name in accidents})
    assert operation(repository) == 1
    assert repository.unmerged == sorted(accidents)
    for name in accidents:
        data = repository.data(name).decode()
        assert all(marker in data for marker in ("<<<<<<< ours\n", "=======\n", ">>>>>>> theirs\n")), name
        assert B in data, name
        assert C in data, name
    assert repository.data("fine").decode() == log(A + B + C)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_where_not_even_markers_can_be_written_git_stops_and_changes_nothing(
    operation: Callable[[Repository], int], repository: Repository
) -> None:
    ours, theirs = log(A + B), log(A + C)
    repository.branches(full=(log(A), ours, theirs))
    assert operation(repository) != 0
    repository.git("rebase", "--abort")
    assert repository.data("full").decode() == (theirs if operation is rebase_theirs else ours)
    assert repository.git("status", "--porcelain").stdout == ""
    assert not list(repository.root.glob(".merge_file_*"))


def test_broken_files_merge_by_lines_and_what_stands_at_the_same_place_is_a_conflict(repository: Repository) -> None:
    broken = b"---\nslice: {title: \xff\none\ntwo\nthree\n"
    repository.branches(
        apart=(broken, broken.replace(b"one", b"1"), broken.replace(b"three", b"3")),
        same=(broken, broken.replace(b"two", b"2"), broken.replace(b"two", b"II")),
    )
    assert merge_theirs(repository) == 1
    assert repository.unmerged == ["same"]
    assert repository.data("apart") == broken.replace(b"one", b"1").replace(b"three", b"3")
    assert b"<<<<<<< ours\n2\n=======\nII\n>>>>>>> theirs\n" in repository.data("same")


def test_conversations_and_logs_without_lines_get_the_lines_of_both_branches(repository: Repository) -> None:
    """One has CRLF line ends, the closing marker of the other is its last byte."""
    bare = log("").removesuffix("\n")
    repository.branches(
        talk=(conversation(""), conversation(said("b", 2)), conversation(said("a", 1))),
        bare=(bare, f"{bare}\n{A}", f"{bare}\n{B}"),
        half=(bare, bare.replace("Title of x", "New"), f"{bare}\n{B}"),
    )
    assert merge_theirs(repository) == 0
    assert repository.data("talk") == conversation(said("a", 1) + said("b", 2))
    assert repository.data("bare").decode() == log(A + B)
    assert repository.data("half").decode() == log(B).replace("Title of x", "New")


def test_without_the_interpreter_git_merges_the_lines_itself(tmp_path: Path) -> None:
    """A virtual environment was removed, or the package is not in it any more."""
    gone = (shlex.quote(sys.executable), "/gone/python"), ("-m slicebase", "-m not_installed")
    for number, (there, missing) in enumerate(gone):
        (tmp_path / str(number)).mkdir()
        repository = Repository(tmp_path / str(number) / "project", merge_command().replace(there, missing, 1))
        repository.branches(x=(log(A, title="Base"), log(A + B, title="Base"), log(A + C, title="Base")))
        assert merge_theirs(repository) == 1
        assert f"<<<<<<< ours\n{B}=======\n{C}>>>>>>> theirs\n" in repository.data("x").decode()


@pytest.mark.parametrize("is_installed", [True, False])
def test_a_text_about_conflict_markers_merges_like_any_other(is_installed: bool, tmp_path: Path) -> None:
    """What stands in a file does not say whether the program has merged it."""
    markers = "".join(f"{marker} ours\nx\n" for marker in ("<<<<<<<", "=======", ">>>>>>>"))
    driver = merge_command().replace("-m slicebase", "-m slicebase" if is_installed else "-m not_installed", 1)
    repository = Repository(tmp_path / "project", driver)
    base = text_of("x", f"one\n\n{markers}\ntwo\n")
    first, second, third = (text_of("y", markers, title=title) for title in ("Base", "Ours", "Theirs"))
    repository.branches(x=(base, base.replace("one", "1"), base.replace("two", "2")), y=(first, second, third))
    assert merge_theirs(repository) == 1
    assert repository.unmerged == ["y"]
    assert repository.data("x").decode() == text_of("x", f"1\n\n{markers}\n2\n")
    assert b'<<<<<<< ours\n  title: "Ours"\n=======\n  title: "Theirs"\n>>>>>>> theirs\n' in repository.data("y")


def test_a_conflict_has_the_status_that_the_command_of_git_asks_for(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("base", "ours", "theirs")]
    for options, status in (((), 1), (("--conflict-status", "9"), 9)):
        for name in names:
            Path(name).write_text(text_of("x", title=name))
        assert run(["merge-driver", *options, "--", *names, "x.slice"]) == status


def test_where_git_cannot_merge_the_lines_either_it_stops(tmp_path: Path) -> None:
    """git merges no lines of a file that it takes for a binary one."""
    driver = merge_command().replace(shlex.quote(sys.executable), "/gone/python", 1)
    repository = Repository(tmp_path / "project", driver)
    repository.branches(x=(log(A + "\0"), log(A + B + "\0"), log(A + C + "\0")))
    assert merge_theirs(repository) > 1
    assert repository.unmerged == []
    assert repository.data("x").decode() == log(A + B + "\0")


def test_an_octopus_uses_no_driver_and_stops_where_lines_conflict(repository: Repository) -> None:
    """That is git's choice: its strategy for many branches asks no merge driver."""
    repository.branches(x=(log(A), log(A + B), log(A + C)))
    repository.git("checkout", "-q", "-b", "third", "base")
    (repository.root / "other").write_text("x")
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "third")
    repository.git("checkout", "-q", "ours")
    assert repository.git("merge", "theirs", "third", "-m", "all").returncode > 1
    repository.git("merge", "--abort")
    assert repository.data("x").decode() == log(A + B)


def test_branches_that_merged_each_other_merge_again(repository: Repository) -> None:
    """There are two bases then, which git merges first, with the same driver."""
    repository.branches(x=(log(A), log(A + B), log(A + C)))
    first, second = (repository.git("rev-parse", branch).stdout.strip() for branch in ("ours", "theirs"))
    for branch, other, row in (("ours", second, D), ("theirs", first, E)):
        repository.git("checkout", "-q", branch)
        assert repository.git("merge", other, "-m", "both").returncode == 0
        assert repository.data("x").decode() == log(A + B + C)
        (repository.workspace.library / "x.slice").write_text(log(A + B + C + row))
        repository.git("commit", "-q", "-a", "-m", "more")
    assert len(repository.git("merge-base", "--all", "ours", "theirs").stdout.split()) == 2
    assert merge_theirs(repository) == 0
    assert repository.data("x").decode() == log(A + B + C + D + E)


def test_a_file_that_is_not_of_git_is_never_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / name for name in ("base", "ours", "theirs")]
    for path, body in zip(paths, (A, A + B, A + C), strict=True):
        path.write_text(log(body))

    def full(*given: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("slicebase.library.merge.write_bytes", full)
    with pytest.raises(Exception, match="No space"):
        merge_files(paths[0], paths[1], paths[2], "x.slice")
    assert paths[1].read_text() == log(A + B)
