"""What may not be read: every command ends with one of our errors, or works without it. None ends with a traceback.

Root may read everything. So a command runs in a thread that has given up these two capabilities, which are of a thread.
"""

import ctypes
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Final, TypeVar

import pytest

from slicebase.cli.main import run
from slicebase.errors import Exit, SlicebaseError
from slicebase.history.inputs import LONG_SAMPLE, SAMPLE
from slicebase.truth.sqlite import open_database
from slicebase.workspace.repository import repository_of
from tests.amounts import EXPLORE
from tests.cli.test_main_captured import LOG, Filled, fill
from tests.workspace.test_boundary_clone import ALL, a_part
from tests.workspace.test_workspace import git

FILES = 24
LINUX: Final = sys.platform == "linux"
# Paths that are made unreadable, with the folders that are made read-only.
UNREADABLE: Final = {
    "database": (".git/slicebase/slicebase.db", ""),
    "database of another user": (".git/slicebase/slicebase.db", ".git/slicebase"),
    "folder of the database": (".git/slicebase", ""),
    "repository": (".git", ""),
    "library": (".slices", ""),
    "slice file": (f".slices/{LOG}.slice", ""),
    "payloads": (".slices/payloads", ""),
    "local folder": (".slicebase", ""),
    "cache": (".slicebase/cache", ""),
    "index": (".slicebase/cache/files.db", ""),
    "settings": ("slicebase.toml", ""),
    "attributes": (".gitattributes", ""),
    "agents": ("AGENTS.md", ""),
    "agent": (".claude", ""),
}

_Value = TypeVar("_Value")
_VERSION_3: Final = 0x20080522
_OVERRIDES: Final = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH


def without_privileges(do: Callable[[], _Value]) -> _Value:
    """Calls a function in a thread for which permissions count, also if this process is root's."""
    results: list[_Value | BaseException] = []

    def work() -> None:
        try:
            _give_up_capabilities()
            results.append(do())
        except BaseException as error:
            results.append(error)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    (result,) = results
    if isinstance(result, BaseException):
        raise result
    return result


def _give_up_capabilities() -> None:
    if os.geteuid() != 0 or not LINUX:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, of 32 capabilities each
    assert libc.capget(header, sets) == 0
    sets[0] &= ~_OVERRIDES
    sets[1] &= ~_OVERRIDES
    assert libc.capset(header, sets) == 0, os.strerror(ctypes.get_errno())


pytestmark = pytest.mark.skipif(os.geteuid() == 0 and not LINUX, reason="permissions do not count for root")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    folder, home = tmp_path_factory.mktemp("workspace"), tmp_path_factory.mktemp("home")
    git(folder, "init", "-q", "--template=")
    found = fill(folder, home, FILES)
    (folder / "slicebase.toml").write_text("[hooks]\ntokens = 900\n")
    (folder / ".claude").mkdir()
    (folder / ".claude" / "settings.json").write_text("{}\n")
    for name in (".gitattributes", "AGENTS.md"):
        (folder / name).write_text("")
    (folder / ".slices" / "payloads").mkdir(exist_ok=True)
    return found


@pytest.fixture
def clone(filled: Filled, tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "clone"
    shutil.copytree(filled.folder, folder)
    try:
        yield folder
    finally:
        for path, _ in UNREADABLE.values():
            if (folder / path).is_dir():
                (folder / path).chmod(0o700)


@pytest.mark.parametrize("case", UNREADABLE)
def test_no_command_ends_with_a_traceback_where_something_may_not_be_read(
    case: str, filled: Filled, clone: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path, read_only = UNREADABLE[case]
    monkeypatch.chdir(clone)
    monkeypatch.setenv("HOME", str(clone.parent))
    for each in ALL if EXPLORE else ALL[a_part(case, 8) :: 8]:
        if (clone / path).exists():
            (clone / path).chmod(0)
        if read_only:
            (clone / read_only).chmod(0o500)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(each.stdin or b"")))
        arguments = [*each.command.split(), *(argument.format_map(filled.names) for argument in each.arguments)]
        assert without_privileges(partial(run, arguments)) in set(Exit), each
        capfd.readouterr()


READS: Final = ("status", "verify", "context", "run list", "seal", "turns", "lost", "list", "search")


@pytest.mark.parametrize("command", READS)
def test_a_command_says_what_may_not_be_read(
    command: str, filled: Filled, clone: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = ".slices" if command in ("list", "search") else ".git/slicebase/slicebase.db"
    (clone / path).chmod(0)
    monkeypatch.chdir(clone)
    each = next(each for each in ALL if each.command == command)
    assert without_privileges(partial(run, [*command.split(), *each.arguments])) == Exit.REFUSED
    assert "cannot-read" in capfd.readouterr().err


def test_a_database_that_may_not_be_read_is_named(clone: Path) -> None:
    path = clone / ".git/slicebase/slicebase.db"
    for folder_mode in (0o700, 0o500):
        path.chmod(0)
        path.parent.chmod(folder_mode)
        with pytest.raises(SlicebaseError) as caught:
            without_privileges(lambda: open_database(path))
        assert (caught.value.code, caught.value.where.file) == ("cannot-read", str(path))
        path.parent.chmod(0o700)


def test_a_repository_that_may_not_be_read_is_named(clone: Path) -> None:
    (clone / ".git").chmod(0)
    with pytest.raises(SlicebaseError) as caught:
        without_privileges(lambda: repository_of(clone))
    assert caught.value.code == "cannot-read"


@pytest.mark.skipif(not LINUX, reason="capabilities are Linux's")
def test_a_database_that_its_owner_made_read_only_stays_so_and_is_read(tmp_path: Path) -> None:
    where = ["--root", str(tmp_path)]
    assert run(["init", str(tmp_path)]) == 0
    assert run([*where, "import", str(SAMPLE)]) == 0
    database = tmp_path / ".slicebase" / "slicebase.db"
    database.chmod(0o444)
    assert without_privileges(lambda: run([*where, "verify"])) == 0
    assert without_privileges(lambda: run([*where, "import", str(LONG_SAMPLE)])) == Exit.REFUSED
    assert database.stat().st_mode & 0o777 == 0o400
    database.chmod(0o600)
    assert without_privileges(lambda: run([*where, "import", str(LONG_SAMPLE)])) == 0
