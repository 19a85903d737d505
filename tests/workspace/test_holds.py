"""Files that a process holds: they are free when it ends, however it ends, and nobody else takes them before."""

import errno
import fcntl
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from slicebase.workspace.holds import HeldFile, is_free, remove_free
from tests.codes import code_of


def test_a_file_is_held_until_it_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "steps" / "a"
    held = HeldFile(path)
    assert not is_free(path)
    assert not remove_free(path)
    held.remove()
    held.remove()
    assert is_free(path)
    assert not path.exists()


def test_a_file_of_an_object_that_is_dropped_is_free_and_can_be_held_again(tmp_path: Path) -> None:
    path = tmp_path / "a"
    HeldFile(path)
    assert path.exists()
    assert is_free(path)
    held = HeldFile(path)
    assert not is_free(path)
    held.release()
    assert remove_free(path)
    assert not path.exists()
    assert remove_free(path)


def test_only_one_object_holds_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slicebase.workspace.holds._PATIENCE", 0.01)
    held = HeldFile(tmp_path / "a")
    assert code_of(HeldFile, tmp_path / "a") == "locked"
    held.remove()


def test_what_cannot_be_known_counts_as_held(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert not is_free(tmp_path / "link")
    assert code_of(HeldFile, tmp_path / "link") == "not-a-file"
    (tmp_path / "file").touch()
    assert code_of(HeldFile, tmp_path / "file" / "a") == "cannot-write"


def test_a_file_that_is_deleted_while_it_is_taken_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody can find the file without a lock, between its creation and its lock."""
    path, stat = tmp_path / "a", os.stat
    deleted: list[Path] = []

    def stat_after_deletion(name: Path, **options: Any) -> os.stat_result:
        if name == path and not deleted:
            deleted.append(path)
            path.unlink()
        return stat(name, **options)

    monkeypatch.setattr(os, "stat", stat_after_deletion)
    held = HeldFile(path)
    monkeypatch.undo()
    assert deleted
    assert not is_free(path)
    held.remove()


def test_on_a_disk_without_locks_nothing_seems_to_be_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    held = HeldFile(tmp_path / "a")
    held.release()
    assert not is_free(tmp_path / "a")
    assert not remove_free(tmp_path / "a")


def test_a_process_that_is_killed_holds_nothing_and_a_forked_one_never_did(tmp_path: Path) -> None:
    """The child of the holder goes on, and the file is free nevertheless."""
    path, (reading, writing) = tmp_path / "a", os.pipe()
    holder = os.fork()
    if holder == 0:
        held = HeldFile(path)
        child = os.fork()
        if child == 0:
            held.remove()  # does nothing: the file is its parent's
            os.write(writing, b"%d\n" % os.getpid())
        time.sleep(60)
        os._exit(0)
    child = int(os.read(reading, 100))
    try:
        assert path.exists()
        assert not is_free(path)
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)
        assert is_free(path)
    finally:
        os.kill(child, signal.SIGKILL)
