"""Many files of a folder are written at once: each completely or not at all."""

import os
import threading
from pathlib import Path

import pytest

from slicebase.errors import SlicebaseError
from slicebase.workspace.atomic import TEMPORARY, write_all


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_are_created_and_replaced_with_the_permissions_that_they_had(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(0o600)
    many = {f"n{number}": b"%d" % number for number in range(100)}
    write_all(tmp_path, [("a", b"new"), *many.items()], within=tmp_path)
    assert files(tmp_path) == {"a": b"new", **many}
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_a_failure_leaves_all_files_as_they_were_and_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def fails(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(SlicebaseError) as caught:
        write_all(tmp_path, [("a", b"new"), ("b", b"new")], within=tmp_path)
    assert caught.value.code == "cannot-write"
    assert files(tmp_path) == {"a": b"old"}


@pytest.mark.parametrize(("number", "threads"), [(0, 0), (1, 0), (2, 2), (40, 16)])
def test_there_are_no_more_threads_than_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, threads: int
) -> None:
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def counted(thread: threading.Thread) -> None:
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", counted)
    write_all(tmp_path, [(f"n{each}", b"new") for each in range(number)], within=tmp_path)
    assert len(files(tmp_path)) == number
    assert len(started) <= threads
    assert bool(started) == bool(threads)


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / f"{TEMPORARY}-999999999-1-7").write_bytes(b"half")
    write_all(tmp_path, [("a", b"x")], within=tmp_path)
    assert files(tmp_path) == {"a": b"x"}


def test_no_file_is_written_through_a_link_that_leads_out(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "folder").symlink_to(outside)
    with pytest.raises(SlicebaseError) as caught:
        write_all(inside / "folder", [("a", b"x")], within=inside)
    assert caught.value.code == "outside-workspace"
    assert files(outside) == {}
