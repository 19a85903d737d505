"""A hostile clone: any path that a command writes may be a symbolic link, and no command writes outside of it.

Every command runs in a workspace in which one such path, or a folder above it, is a link out of the workspace. Nothing
outside may change or appear, and the command does its work or ends with one of our errors.
"""

import hashlib
import io
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from slicebase.cli.main import run
from slicebase.errors import Exit
from tests.amounts import EXPLORE
from tests.cli.test_main_captured import CALLS, LOG, TURN, Call, Filled, call, fill
from tests.workspace.test_workspace import git

FILES = 24
SECONDS = 20  # after which a command hangs
# They run as other processes or serve until stdin ends, and call the same verbs.
ELSEWHERE = {"demo", "mcp", "run", "hook", "hook find", "hook narrate", "hook read"}
WRITES = (
    call("config", "hooks.tokens", "900"),
    call("create", "--title", "A copy", "--summary", "Of a file.", "--from", "document.md", "--copy"),
    call("hook install", "claude-code"),
    call("hook uninstall", "claude-code"),
    call("agents-md"),
    call("doctor", "--fix"),
    call("init", "--adopt"),
    call("uninit", "--delete-data"),
)
ALL = tuple(each for each in CALLS if each.command not in ELSEWHERE and not each.cold) + WRITES
# What an export of the workspace has in its folder.
EXPORTED = (
    ".gitattributes", "README.md", "evidence.jsonl", "manifest.json", "manifests.jsonl", "runs", "runs/*", "schemas",
    "schemas/*", "sessions", "sessions/*", "slices", "slices/*", "texts", "texts/manifest", "texts/manifest/*",
    "texts/run", "texts/run/*", "texts/session", "texts/session/*",
)  # fmt: skip
# What commands write in a workspace, and one of the commands that write it.
WRITERS = {
    ".claude": "hook install",
    ".claude/settings.json": "hook install",
    ".git/config": "init",
    ".git/slicebase": "context",
    ".git/slicebase/exports.json": "export",
    ".git/slicebase/exports.lock": "export",
    ".git/slicebase/purge.lock": "purge",
    ".git/slicebase/slicebase.db": "context",
    ".git/slicebase/slicebase.id": "context",
    ".gitattributes": "init",
    ".slicebase": "list",
    ".slicebase/.gitignore": "init",
    ".slicebase/cache": "list",
    ".slicebase/slicebase.id": "context",
    ".slicebase/cache/chunks.db": "context",
    ".slicebase/cache/chunks.lock": "context",
    ".slicebase/cache/compacted": "hook run",
    ".slicebase/cache/compacted/*": "hook run",
    ".slicebase/cache/compacted.lock": "hook run",
    ".slicebase/cache/contexts": "hook run",
    ".slicebase/cache/contexts/*": "hook run",
    ".slicebase/cache/contexts.lock": "hook run",
    ".slicebase/cache/exchanged": "export",
    ".slicebase/cache/exchanged/*": "export",
    ".slicebase/cache/files.db": "search",
    ".slicebase/cache/files.lock": "search",
    ".slicebase/cache/imports.state": "import",
    ".slicebase/cache/transcripts": "hook run",
    ".slicebase/cache/transcripts/*": "hook run",
    ".slicebase/cache/turns.db": "import",
    ".slicebase/cache/turns.lock": "import",
    ".slicebase/hooks.json": "hook install",
    ".slicebase/journal.json": "forget",
    ".slicebase/library.lock": "remember",
    ".slicebase/payloads.lock": "create",
    ".slicebase/slicebase.db": "context",
    ".slices": "create",
    ".slices/*": "remember",
    ".slices/payloads": "create",
    ".slices/payloads/*": "create",
    "AGENTS.md": "agents-md",
    "slicebase.toml": "config",
    **dict.fromkeys((f"exported/{path}" for path in EXPORTED), "export"),
}
# Written by a command that names them.
NAMED = {"backup.tar.zst", "exported", "exported.html", "exported.slice", "ours.slice"}
# SQLite's, for a moment; and the database before the folder was a repository.
PASSING = (
    *(f"{path}{suffix}" for path in WRITERS if path.endswith(".db") for suffix in ("-wal", "-shm")),
    ".slices/.slicebase-writing", ".slicebase-writing", ".git/slicebase/slicebase.arriving",
)  # fmt: skip


def general(path: str) -> str:
    """Returns a path with `*` for a name that is generated."""
    folder, _, name = path.rpartition("/")
    filled = ("compacted", "contexts", "exchanged", "transcripts", "payloads", "schemas")
    generated = folder.endswith(filled) or name.endswith((".slice", ".jsonl"))
    generated &= path not in WRITERS
    return f"{folder}/*" if folder and generated and name != LOG else path


def to_a_file(link: Path, outside: Path) -> None:
    link.symlink_to(outside / "file")


def to_nothing(link: Path, outside: Path) -> None:
    link.symlink_to(os.path.relpath(outside / "nothing", link.parent))


def to_a_folder(link: Path, outside: Path) -> None:
    link.symlink_to(outside / "folder")


def by_a_chain(link: Path, outside: Path) -> None:
    step = link.with_name(f"{link.name}.step")
    step.symlink_to(outside / "link")
    link.symlink_to(step.name)


def to_a_device(link: Path, outside: Path) -> None:
    link.symlink_to("/dev/full")


def to_a_pipe(link: Path, outside: Path) -> None:
    link.symlink_to(outside / "pipe")


def to_itself(link: Path, outside: Path) -> None:
    link.symlink_to(link.name)


def a_pipe(link: Path, outside: Path) -> None:
    """No link, but a pipe that nobody writes to: an archive can hold one."""
    os.mkfifo(link)


Attack = Callable[[Path, Path], None]
ATTACKS: tuple[Attack, ...] = (
    to_a_file,
    to_nothing,
    to_a_folder,
    by_a_chain,
    to_a_device,
    to_a_pipe,
    to_itself,
    a_pipe,
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    folder, home = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("home")
    git(folder, "init", "-q", "--template=")
    return fill(folder, home, FILES)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Files of the user, next to the clone."""
    folder = tmp_path / "outside"
    (folder / "folder").mkdir(parents=True)
    (folder / "file").write_bytes(b"mine\n")
    (folder / "folder" / "file").write_bytes(b"mine too\n")
    (folder / "link").symlink_to("folder/new")
    os.mkfifo(folder / "pipe")
    return folder


def state_of(folder: Path) -> dict[str, object]:
    """Returns everything in a folder, with what a write changes."""
    found: dict[str, object] = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.lstat()
        data = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else ""
        found[str(path)] = status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino, data
    return found


@contextmanager
def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Call, Any], int]]:
    """Yields a function that runs a command in a folder. A command that hangs is an error."""

    def stop(number: int, frame: object) -> None:
        raise AssertionError("the command hangs")

    def do(each: Call, names: Any) -> int:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(each.stdin or b"")))
        arguments = [argument.format_map(names) for argument in each.arguments]
        signal.alarm(SECONDS)
        try:
            return run([*each.command.split(), *arguments])
        finally:
            signal.alarm(0)

    before = signal.signal(signal.SIGALRM, stop)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder.parent))
    try:
        yield do
    finally:
        signal.signal(signal.SIGALRM, before)


def test_these_are_the_paths_that_commands_write(
    filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(filled.folder, clone)
    before, written = state_of(clone), set[str]()
    with in_folder(clone, monkeypatch) as do:
        for each in ALL:
            do(each, filled.names)
            now = state_of(clone)
            written |= {path for path in {*now, *before} if now.get(path) != before.get(path)}
            before = now
    ours = {general(os.path.relpath(path, clone)) for path in written} - NAMED - {".", ".git"}
    assert ours <= WRITERS.keys()


def a_part(path: str, of: int) -> int:
    """Returns which part of the calls or attacks a path gets, so that all paths together get all of them."""
    return sum(path.encode()) % of


def calls(path: str, attack: int) -> list[Call]:
    """Returns the calls that write a path, and another one."""
    if EXPLORE:
        return list(ALL)
    writer = WRITERS.get(path.removesuffix("-wal").removesuffix("-shm"), "remember")
    other = ALL[(sum(path.encode()) + attack * 13) % len(ALL)]
    return [*(each for each in ALL if each.command == writer), other]


@pytest.mark.parametrize("path", [*WRITERS, *PASSING])
def test_nothing_outside_a_hostile_clone_changes(
    path: str,
    filled: Filled,
    tmp_path: Path,
    outside: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = state_of(outside)
    for number, attack in enumerate(ATTACKS):
        if not EXPLORE and number != a_part(path, len(ATTACKS)):
            continue
        clone = tmp_path / f"clone-{number}"
        shutil.copytree(filled.folder, clone, symlinks=True)
        link = clone / path.replace("*", f"{LOG}.slice" if path == ".slices/*" else "x")
        link.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(link) if link.is_dir() else link.unlink(missing_ok=True)
        attack(link, outside)
        with in_folder(clone, monkeypatch) as do:
            for each in calls(path, number):
                assert do(each, filled.names) in set(Exit), each
                assert state_of(outside) == before, each
                capfd.readouterr()


# What commands only read.
READ = ("rules.toml", "document.md", ".claude/settings.local.json", ".slices/payloads/x", "base.slice", "theirs.slice")


@pytest.mark.parametrize("path", READ)
def test_no_command_waits_for_a_pipe_in_a_clone(
    path: str, filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(filled.folder, clone)
    (clone / "slicebase.toml").write_text('[redaction]\nrules = "rules.toml"\n')
    (clone / "rules.toml").write_text("")
    (clone / path).parent.mkdir(parents=True, exist_ok=True)
    (clone / path).unlink(missing_ok=True)
    os.mkfifo(clone / path)
    with in_folder(clone, monkeypatch) as do:
        for each in ALL if EXPLORE else ALL[READ.index(path) :: len(READ)]:
            assert do(each, filled.names) in set(Exit), each
            capfd.readouterr()


@pytest.mark.parametrize(
    ("path", "command"),
    [
        (".gitattributes", ["init"]),
        ("AGENTS.md", ["agents-md"]),
        (".claude/settings.json", ["hook", "status", "claude-code"]),
        ("rules.toml", ["create", "--title", "A", "--summary", "B.", "--body", "C"]),
        ("slicebase.toml", ["config"]),
        ("theirs.slice", ["merge-driver", "base.slice", "ours.slice", "theirs.slice", ".slices/merged.slice"]),
        ("big.json", ["slice", TURN, "--policy", "./big.json"]),
    ],
)
def test_a_huge_file_in_a_clone_is_refused_and_not_read_whole(
    path: str, command: list[str], filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(filled.folder, clone)
    if path == "rules.toml":
        (clone / "slicebase.toml").write_text('[redaction]\nrules = "rules.toml"\n')
    (clone / path).parent.mkdir(exist_ok=True)
    with open(clone / path, "wb") as file:
        file.truncate(1 << 40)  # it takes no space on the disk, and no machine has as much memory
    with in_folder(clone, monkeypatch) as do:
        assert do(call(command[0], *command[1:]), filled.names) in (Exit.REFUSED, Exit.USAGE)
