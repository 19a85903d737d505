"""Restorations: nothing is replaced, nothing is believed, and a killed one is finished by the next."""

import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from slicebase import Slicebase, SlicebaseError
from slicebase.core.hashing import canonical, digest
from slicebase.moves.archive import Member, packed
from slicebase.truth.acts import RESTORE, Identity, acts
from tests.kills import Killed, killed_at
from tests.moves.memories import everything, filled, library, restored


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workspace `w` and a backup of it."""
    folder = tmp_path_factory.mktemp("kept")
    with filled(folder / "w") as memory:
        memory.backup(folder / "b.tar.zst")
    return folder


def refused(source: Path, folder: Path) -> str:
    with pytest.raises(SlicebaseError) as caught:
        restored(source, folder)
    return caught.value.code


def test_the_database_has_a_new_id_and_a_record_of_that_wherever_it_was_made(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLICEBASE_MACHINE", "another one")
    done = restored(kept / "b.tar.zst", tmp_path / "r")
    with Slicebase.open(tmp_path / "r") as memory:
        last = list(acts(memory.truth.database.connection))[-1]
        assert last.kind == RESTORE
        assert isinstance(last.record, Identity)
        assert (last.record.before, last.record.database) == (done.before, done.database)
        assert memory.verify().status == "VERIFIED"
        assert memory.seal().sessions > 0


def test_a_workspace_with_memory_is_refused_and_stays(kept: Path, tmp_path: Path) -> None:
    with Slicebase.init(tmp_path / "files") as memory:
        memory.library.create("Mine", "Mine.", body="mine")
        files = library(memory)
    assert refused(kept / "b.tar.zst", tmp_path / "files") == "has-memory"
    with Slicebase.open(tmp_path / "files") as memory:
        assert library(memory) == files
        assert not memory.workspace.database.exists()
    with Slicebase.init(tmp_path / "rows") as memory:
        memory.runs.start("r", "Find it.", "Found.")
    assert refused(kept / "b.tar.zst", tmp_path / "rows") == "has-memory"


def test_a_workspace_whose_database_is_lost_gets_it_back_and_that_of_another_one_is_refused(
    kept: Path, tmp_path: Path
) -> None:
    shutil.copytree(kept / "w", tmp_path / "w")
    with Slicebase.open(tmp_path / "w") as memory:
        database, rows = memory.workspace.database, everything(memory)
    for path in (tmp_path / "w" / ".slices").rglob("*.slice"):
        path.unlink()
    shutil.rmtree(tmp_path / "w" / ".slices" / "payloads")
    database.unlink()
    with Slicebase.init(tmp_path / "other") as memory:
        memory.runs.start("r", "Find it.", "Found.")
        memory.backup(tmp_path / "other.tar.zst")
    assert refused(tmp_path / "other.tar.zst", tmp_path / "w") == "database-not-ours"
    restored(kept / "b.tar.zst", tmp_path / "w")
    with Slicebase.open(tmp_path / "w") as memory:
        assert everything(memory) == rows


def test_in_a_repository_the_database_goes_into_its_git_directory(kept: Path, tmp_path: Path) -> None:
    assert os.system(f"git init -q {tmp_path}") == 0
    restored(kept / "b.tar.zst", tmp_path)
    assert (tmp_path / ".git" / "slicebase" / "slicebase.db").exists()
    with Slicebase.open(tmp_path) as memory:
        assert memory.verify().status == "VERIFIED"


def test_a_restoration_that_is_killed_anywhere_is_finished_by_the_next(kept: Path, tmp_path: Path) -> None:
    number, done = 1, False
    with Slicebase.open(kept / "w") as memory:
        files = library(memory)
    while not done:
        folder = tmp_path / str(number)
        try:
            with killed_at(number):
                restored(kept / "b.tar.zst", folder)
                done = True
        except Killed:
            pass
        except SlicebaseError as error:
            assert error.code == "has-memory", number
        if not (folder / ".slicebase" / "slicebase.db").exists():
            restored(kept / "b.tar.zst", folder)
        with Slicebase.open(folder) as memory:
            assert memory.verify().status == "VERIFIED"
            assert library(memory) == files
        number += 3
    assert number > 10


# What comes from outside


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    data = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for info in archive:
            found = archive.extractfile(info)
            assert found
            yield info.name, found.read()


def write(path: Path, files: dict[str, bytes]) -> Path:
    path.write_bytes(b"".join(packed(Member(name, len(data), [data]) for name, data in files.items())))
    return path


def test_every_byte_of_a_backup_that_is_changed_is_noticed(kept: Path, tmp_path: Path) -> None:
    """Whichever file it is in, and also where the digest in the manifest was changed with it."""
    files = dict(members(kept / "b.tar.zst"))
    for name, data in files.items():
        place = len(data) // 3
        changed = {**files, name: data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]}
        assert refused(write(tmp_path / "x.tar.zst", changed), tmp_path / "r") == "bad-move", name
        without = {each: data for each, data in files.items() if each != name}
        assert refused(write(tmp_path / "x.tar.zst", without), tmp_path / "r") == "bad-move", name
    with Slicebase.open(tmp_path / "r") as memory:
        assert not library(memory)
        assert not memory.workspace.database.exists()


def test_a_database_that_verify_calls_broken_is_not_put_in_place(kept: Path, tmp_path: Path) -> None:
    import apsw

    files = dict(members(kept / "b.tar.zst"))
    (tmp_path / "x.db").write_bytes(files["slicebase.db"])
    connection = apsw.Connection(str(tmp_path / "x.db"))
    connection.execute("DROP TRIGGER texts_fixed; UPDATE texts SET bytes = x'00' WHERE owner LIKE 'session:%'")
    connection.close()
    files["slicebase.db"] = (tmp_path / "x.db").read_bytes()
    listed = files["manifest.json"].replace(
        digest(dict(members(kept / "b.tar.zst"))["slicebase.db"])[7:].encode(),
        digest(files["slicebase.db"])[7:].encode(),
    )
    assert refused(write(tmp_path / "x.tar.zst", {**files, "manifest.json": listed}), tmp_path / "r") == "bad-move"
    assert not (tmp_path / "r" / ".slicebase" / "slicebase.db").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"x" * len(data),
        lambda data: data[:40_000] + b"\xff" * 4096 + data[44_096:],
        lambda data: data[:60] + b"\0\0\0\x63" + data[64:],
    ],
)
def test_a_database_that_sqlite_cannot_read_is_an_error_of_ours(
    damage: Callable[[bytes], bytes], kept: Path, tmp_path: Path
) -> None:
    files = dict(members(kept / "b.tar.zst"))
    old = files["slicebase.db"]
    manifest = json.loads(files["manifest.json"])
    for file in manifest["files"]:
        if file["path"] == "slicebase.db":
            file["sha256"] = digest(damage(old))[7:]
    files |= {"slicebase.db": damage(old), "manifest.json": json.dumps(manifest).encode()}
    assert refused(write(tmp_path / "x.tar.zst", files), tmp_path / "r") in (
        "database-damaged",
        "bad-move",
        "database-newer",
    )
    assert not (tmp_path / "r" / ".slicebase" / "slicebase.db").exists()


def test_what_is_no_backup_is_refused(kept: Path, tmp_path: Path) -> None:
    assert refused(tmp_path / "none.tar.zst", tmp_path / "r") == "no-input"
    whole = (kept / "b.tar.zst").read_bytes()
    for number, data in enumerate((b"", b"text", whole[:1000], whole[:-2000], b"\x28\xb5\x2f\xfd" + whole[100:])):
        (tmp_path / f"{number}.tar.zst").write_bytes(data)
        assert refused(tmp_path / f"{number}.tar.zst", tmp_path / "r") == "bad-move"
    manifest = canonical({"database": "x", "files": [], "format": "other", "heads": "x", "version": 1})
    for files in (
        {},
        {"manifest.json": manifest},
        {"a": b""},
        {"slices": b""},
        {"slicebase.db": b"", "manifest.json": manifest},
    ):
        assert refused(write(tmp_path / "x.tar.zst", files), tmp_path / "r") == "bad-move"
