"""Backups: one moment of a workspace in one file, however much others write."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import zstandard

from slicebase import Slicebase, SlicebaseError
from tests.moves.memories import everything, filled, library, purge_something, restored


def unpacked(path: Path, to: Path) -> Path:
    data = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    (to.parent / "plain.tar").write_bytes(data)
    with tarfile.open(to.parent / "plain.tar") as archive:
        archive.extractall(to, filter="data")
    return to


def test_a_backup_is_an_ordinary_archive_with_the_files_that_its_manifest_lists(tmp_path: Path) -> None:
    with filled(tmp_path / "w") as memory:
        memory.backup(tmp_path / "b.tar.zst")
        folder = unpacked(tmp_path / "b.tar.zst", tmp_path / "u")
        for name, data in library(memory).items():
            assert (folder / "slices" / name).read_bytes() == data
    check = "jq -r '.files[] | .sha256 + \"  \" + .path' manifest.json | sha256sum --check --quiet"
    subprocess.run(check, shell=True, cwd=folder, check=True)
    assert (tmp_path / "b.tar.zst").stat().st_mode & 0o777 == 0o600


def test_a_backup_replaces_no_file_and_leaves_none_behind(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path / "w") as memory:
        (tmp_path / "taken.tar.zst").write_bytes(b"mine")
        for name, code in (("taken.tar.zst", "file-exists"), ("b.db", "bad-move")):
            with pytest.raises(SlicebaseError) as caught:
                memory.backup(tmp_path / name)
            assert caught.value.code == code
        assert (tmp_path / "taken.tar.zst").read_bytes() == b"mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken.tar.zst", "w"]
    assert not [path for path in (tmp_path / "w" / ".slicebase").iterdir() if path.name.startswith("staging")]


_WRITER = """
import sys
from slicebase import Slicebase
with Slicebase.open(sys.argv[1]) as memory:
    memory.runs.start("busy", "Write.", "Never.")
    log = memory.library.create("Log", "A log.", type="jsonl").id
    print("started", flush=True)
    for number in range(100_000):
        memory.runs.log("busy", [{"type": "note", "payload": {"n": number}}])
        memory.library.remember(log, f"Row {number} of many.")
"""


def test_a_backup_while_another_process_writes_is_one_moment(tmp_path: Path) -> None:
    """What was written before it is in it; the log knows every row; and the files are those of the moment."""
    with Slicebase.init(tmp_path / "w") as memory:
        writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path / "w")], stdout=subprocess.PIPE)
        try:
            assert writer.stdout
            assert writer.stdout.readline() == b"started\n"
            before = []
            for number in range(3):
                before.append(memory.truth.runs.log.tally("busy").seq)
                memory.backup(tmp_path / f"{number}.tar.zst")
        finally:
            writer.kill()
            writer.communicate()
    for number in range(3):
        done = restored(tmp_path / f"{number}.tar.zst", tmp_path / f"r{number}")
        assert done.verdict.status == "VERIFIED"
        with Slicebase.open(tmp_path / f"r{number}") as copy:
            events = copy.truth.runs.log.tally("busy").seq
            (log,) = [entry.id for entry in copy.library.list_files()]
            rows = len(copy.library.folder.find(log).body.splitlines())
            assert events >= before[number]
            assert events - 2 <= rows <= events


def test_what_was_purged_is_in_no_later_backup_and_a_purge_names_the_earlier_one(tmp_path: Path) -> None:
    with filled(tmp_path / "w") as memory:
        memory.backup(tmp_path / "before.tar.zst")
        memory.runs.start("gone", "An unmistakable objective of this run, in many words.", "It is gone.")
        report = memory.purge("run:gone")
        assert any("before.tar.zst" in place for place in report.beyond)
        memory.backup(tmp_path / "after.tar.zst")
    folder = unpacked(tmp_path / "after.tar.zst", tmp_path / "u")
    assert b"An unmistakable objective" not in (folder / "slicebase.db").read_bytes()


def test_a_backup_of_everything_is_restored_as_it_was(tmp_path: Path) -> None:
    with filled(tmp_path / "w") as memory:
        purge_something(memory)
        made = memory.backup(tmp_path / "b.tar.zst")
        rows, files = everything(memory), library(memory)
    done = restored(tmp_path / "b.tar.zst", tmp_path / "r")
    assert (done.heads, done.before, done.files) == (made.heads, made.database, len(files))
    with Slicebase.open(tmp_path / "r") as copy:
        assert everything(copy) == rows
        assert library(copy) == files
