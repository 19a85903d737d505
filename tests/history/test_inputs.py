"""Inputs of an import: files, folders and zips."""

import os
import zipfile
from pathlib import Path

import pytest

from slicebase.errors import SlicebaseError
from slicebase.history.inputs import inputs


def names(*paths: Path) -> list[str]:
    return [Path(each.name).name for each in inputs(paths)]


def test_a_folder_is_searched_in_a_fixed_order_for_what_may_be_a_conversation(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.json", "c.txt", "inner/d.slice"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    assert names(tmp_path) == ["a.json", "b.jsonl", "d.slice"]


def test_a_file_that_is_named_may_have_any_ending(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("{}")
    assert [each.named for each in inputs([tmp_path / "c.txt"])] == [True]


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text("{}")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.json").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    assert names(folder) == []


def test_the_members_of_a_zip_are_read_without_unpacking(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", "[1]")
        archive.writestr("../../escape.json", "[2]")
        archive.writestr("picture.png", "x")
    found = list(inputs([tmp_path / "export.zip"]))
    assert [b"".join(each.chunks()) for each in found] == [b"[2]", b"[1]"]
    assert os.listdir(tmp_path) == ["export.zip"]


def test_a_member_that_explodes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slicebase.history.inputs._SUSPECT_BYTES", 1 << 20)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"\0" * (4 << 20))
    (bomb,) = inputs([tmp_path / "bomb.zip"])
    with pytest.raises(SlicebaseError) as caught:
        list(bomb.chunks())
    assert caught.value.code == "bad-zip"


def test_a_broken_zip_and_a_missing_file_are_errors(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04 no more")
    for path, code in (
        (tmp_path / "x.zip", "bad-zip"),
        (tmp_path / "none", "no-input"),
        (Path("/dev/null"), "no-input"),
    ):
        with pytest.raises(SlicebaseError) as caught:
            list(inputs([path]))
        assert caught.value.code == code


def test_a_zip_whose_bytes_are_damaged_is_an_error_when_read(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", os.urandom(1000).hex())
    data = bytearray(path.read_bytes())
    data[200:210] = b"damaged..."
    path.write_bytes(bytes(data))
    (found,) = inputs([path])
    with pytest.raises(SlicebaseError) as caught:
        list(found.chunks())
    assert caught.value.code == "bad-zip"
