"""Staging folders: gone afterwards, private, and those of killed processes are removed by the next."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slicebase.errors import SlicebaseError
from slicebase.workspace.stage import folder_locked, place_database, stage, staging
from slicebase.workspace.workspace import create_workspace


def test_a_staging_folder_is_private_empty_and_gone_afterwards(tmp_path: Path) -> None:
    create_workspace(tmp_path)
    left = tmp_path / ".slicebase" / "staging-999999999-1"
    left.mkdir()
    (left / "half").write_text("of a conversation")
    with staging(tmp_path) as folder:
        assert not left.exists()
        assert list(folder.iterdir()) == []
        assert folder.stat().st_mode & 0o077 == 0
        path = stage(folder, "a/b", [b"one", b"two"])
        assert path.read_bytes() == b"onetwo"
        assert path.stat().st_mode & 0o077 == 0
    assert not folder.exists()


@pytest.mark.parametrize("name", ["a", "a/b"])
def test_a_staged_file_replaces_nothing_and_follows_no_link(name: str, tmp_path: Path) -> None:
    create_workspace(tmp_path)
    with staging(tmp_path) as folder:
        stage(folder, "a", [b"one"])
        with pytest.raises(SlicebaseError) as caught:
            stage(folder, name, [b"two"])
        assert caught.value.code == "bad-move"
        (folder / "link").symlink_to(tmp_path)
        with pytest.raises(SlicebaseError):
            stage(folder, "link/x", [b"out"])
    assert not (tmp_path / "x").exists()


def test_a_database_is_placed_only_where_none_is(tmp_path: Path) -> None:
    (tmp_path / "copy").write_bytes(b"database")
    place_database(tmp_path / "copy", tmp_path / "new" / "slicebase.db")
    assert (tmp_path / "new" / "slicebase.db").read_bytes() == b"database"
    assert (tmp_path / "new" / "slicebase.db").stat().st_mode & 0o077 == 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "slicebase.db-wal").write_bytes(b"the last writes of a database that is gone")
    for folder in ("new", "other"):
        with pytest.raises(SlicebaseError) as caught:
            place_database(tmp_path / "copy", tmp_path / folder / "slicebase.db")
        assert caught.value.code == "file-exists"
    assert sorted(os.listdir(tmp_path / "new")) == ["slicebase.db"]
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "slicebase.db").touch()
    place_database(tmp_path / "copy", tmp_path / "empty" / "slicebase.db")
    assert (tmp_path / "empty" / "slicebase.db").read_bytes() == b"database"


_HOLD = """
import sys
from pathlib import Path
from slicebase.workspace.stage import folder_locked
with folder_locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_one_process_at_a_time_holds_a_folder_and_leaves_nothing_in_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        waiting = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert waiting.poll() is None
        process.communicate(b"\n")
        assert waiting.communicate(b"\n")[0] == b"held\n"
    with folder_locked(tmp_path):
        assert list(tmp_path.iterdir()) == []
