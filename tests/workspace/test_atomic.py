"""Atomic writes: a file is written completely or not at all."""

import errno
import multiprocessing
import os
import resource
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

from slicebase.errors import SlicebaseError
from slicebase.workspace.atomic import TEMPORARY, clean, locked, read_bytes, read_chunks, remove, write_bytes
from tests.codes import code_of
from tests.paths import PROJECT


def test_a_written_file_is_read_back(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a", [b"one ", b"", b"two"], within=tmp_path)
    assert read_bytes(tmp_path / "a") == b"one two"
    write_bytes(tmp_path / "a", [b"three"], within=tmp_path)
    assert read_bytes(tmp_path / "a") == b"three"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(0o640)
    write_bytes(tmp_path / "a", [b"new"], within=tmp_path)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_the_file_that_a_killed_writer_left_does_not_stop_the_next_writer(tmp_path: Path) -> None:
    (tmp_path / TEMPORARY).write_bytes(b"a much longer text than the one that follows")
    write_bytes(tmp_path / "a", [b"new"], within=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_temporary_name_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    (tmp_path / TEMPORARY).symlink_to(victim)
    write_bytes(tmp_path / "a", [b"new"], within=tmp_path)
    assert victim.read_bytes() == b"mine"
    assert not (tmp_path / "a").is_symlink()


def test_links_folders_and_pipes_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "folder", "pipe"):
        assert code_of(read_bytes, tmp_path / name) == "not-a-file"


def test_a_linked_folder_is_followed_inside_and_never_out(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "root" / "real").mkdir(parents=True)
    root = tmp_path / "root"
    (root / "in").symlink_to("real")
    (root / "out").symlink_to(tmp_path / "outside")
    write_bytes(root / "in" / "a", [b"x"], within=root)
    assert (root / "real" / "a").read_bytes() == b"x"
    assert code_of(lambda: write_bytes(root / "out" / "a", [b"x"], within=root)) == "outside-workspace"
    assert code_of(lambda: remove(root / "out" / "a", within=root)) == "outside-workspace"
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_link_is_removed_and_not_its_target(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"mine")
    (tmp_path / "link").symlink_to("kept")
    assert remove(tmp_path / "link", within=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_private_file_is_its_owners_alone_from_the_beginning(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_bytes(tmp_path / "a", [b"x"], within=tmp_path, private=True)
        with locked(tmp_path / "lock"):
            pass
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_file_that_changes_while_it_is_read_is_a_conflict(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * (3 << 20))
    chunks = read_chunks(path)
    next(chunks)
    with path.open("ab") as file:
        file.write(b"more")
    assert code_of(lambda: list(chunks)) == "conflict"


def test_removing_returns_whether_the_file_existed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    assert remove(tmp_path / "a", within=tmp_path)
    assert not remove(tmp_path / "a", within=tmp_path)


def test_cleaning_removes_only_the_temporary_file_of_a_writer(tmp_path: Path) -> None:
    (tmp_path / TEMPORARY).write_bytes(b"half")
    (tmp_path / ".other").write_bytes(b"mine")
    assert clean(tmp_path, tmp_path / "lock", within=tmp_path) == [tmp_path / TEMPORARY]
    assert clean(tmp_path / "absent", tmp_path / "lock", within=tmp_path) == []
    assert (tmp_path / ".other").exists()


# ---- the lock


def test_a_writer_that_waits_too_long_reports_that_another_holds_the_lock(tmp_path: Path) -> None:
    def wait() -> None:
        with locked(tmp_path / "lock", patience=0.01):
            pass

    with locked(tmp_path / "lock"):
        assert code_of(wait) == "locked"
    wait()


def test_threads_keep_each_other_out(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def write() -> None:
        for _ in range(20):
            with locked(tmp_path / "lock"):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 80
    assert max(most) == 1


def _hold_and_die(lock: Path) -> None:
    with locked(lock):
        os._exit(1)


def test_a_writer_that_dies_releases_the_lock(tmp_path: Path) -> None:
    holder = multiprocessing.get_context("spawn").Process(target=_hold_and_die, args=(tmp_path / "lock",))
    holder.start()
    holder.join()
    with locked(tmp_path / "lock", patience=0):
        pass


# ---- a full disk


@pytest.mark.parametrize("step", ["open", "write", "fchmod", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_an_error_at_any_step_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, number: int
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    real = getattr(os, step)

    def failing(*arguments: Any, **named: Any) -> Any:
        if step == "open" and arguments[0] != TEMPORARY:
            return real(*arguments, **named)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, step, failing)
    expected = "cannot-write" if number == errno.EIO else "disk-full"
    assert code_of(lambda: write_bytes(path, [b"new"], within=tmp_path)) == expected
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_a_folder_that_cannot_be_flushed_is_another_error_than_a_write_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new version is in place, and the caller must not think that it is not."""
    real = os.fsync

    def failing(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.ENOSPC, "no space")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    assert code_of(lambda: write_bytes(tmp_path / "a", [b"new"], within=tmp_path)) == "not-flushed"
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_source_of_chunks_that_stops_half_way_leaves_the_old_file_alone(tmp_path: Path) -> None:
    def chunks() -> Any:
        yield b"first"
        raise KeyboardInterrupt

    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write_bytes(tmp_path / "a", chunks(), within=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def _write_with_little_room(path: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        write_bytes(path, [b"x" * 600, b"y" * 600], within=path.parent)
    except SlicebaseError as error:
        os._exit(0 if error.code == "disk-full" else 2)
    os._exit(1)


def test_a_file_that_outgrows_a_real_limit_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    writer = multiprocessing.get_context("spawn").Process(target=_write_with_little_room, args=(tmp_path / "a",))
    writer.start()
    writer.join()
    assert writer.exitcode == 0
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_really_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """Uses a small disk in memory, in its own namespace, where the system allows it."""
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from tests.library.scratch import ScratchLibrary
        from slicebase.errors import SlicebaseError
        scratch = ScratchLibrary(Path(sys.argv[1]))
        log = scratch.new("text", "the old text")
        (Path(sys.argv[1]) / "filler").write_bytes(b"x" * 100_000)
        before = scratch.path(log).read_bytes()
        try:
            scratch.remember(log, "y" * 200_000)
        except SlicebaseError as error:
            assert error.code == "disk-full", error.code
            assert scratch.path(log).read_bytes() == before
            assert [each.name for each in scratch.folder.path.iterdir()] == [f"{log}.slice"]
            scratch.remember(log, "a short text")
            print("held")
        """
    )
    mount = 'mount -t tmpfs -o size=256k tmpfs "$1" 2>/dev/null || exit 77; exec "$2" -c "$3" "$1"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount]
    command += ["sh", str(tmp_path), sys.executable, program]
    environment = {**os.environ, "PYTHONPATH": f"{PROJECT / 'src'}:{PROJECT}"}
    try:
        done = subprocess.run(command, capture_output=True, env=environment, cwd=PROJECT, check=False)
    except FileNotFoundError:
        pytest.skip("this system has no `unshare`")
    if done.returncode == 77 or b"unshare" in done.stderr:
        pytest.skip("this system does not allow mounting a small disk")
    assert done.stdout == b"held\n", done.stderr.decode()
