"""Inputs of an import: files, folders, zips and stdin."""

import io
import os
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.history.inputs import discover, inputs
from slicebase.workspace.given_paths import each_path


def names(*paths: Path) -> list[str]:
    return [Path(each.name).name for each in inputs(paths)]


def test_a_folder_is_searched_in_a_fixed_order_for_what_may_be_a_conversation(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.json", "c.txt", "inner/d.slice", "inner/e.TRAJ"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    assert names(tmp_path) == ["a.json", "b.jsonl", "d.slice", "e.TRAJ"]


def test_a_file_that_is_named_may_have_any_ending(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("{}")
    assert [each.named for each in inputs([tmp_path / "c.txt"])] == [True]


def test_links_in_a_folder_are_not_followed_and_those_that_lead_out_of_it_are_left_out_by_name(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.json").write_text("{}")
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "a.json").write_text("{}")
    (folder / "loop").symlink_to(folder)  # what these two lead to is read at its own place
    (folder / "again.json").symlink_to(folder / "inner" / "a.json")
    for name, target in {"file.json": "outside/b.json", "project": "outside", "nowhere.json": "gone"}.items():
        (folder / name).symlink_to(tmp_path / target)
    (folder / "picture.png").symlink_to(tmp_path / "outside")  # a folder, whatever its name
    found = list(inputs([folder]))
    assert [Path(each.name).name for each in found if each.file] == ["a.json"]
    links = [each for each in found if not each.file]
    assert sorted(Path(each.name).name for each in links) == ["file.json", "nowhere.json", "picture.png", "project"]
    for each in links:
        with pytest.raises(SlicebaseError) as caught:
            list(each.chunks())
        assert caught.value.code == "no-input"


def test_what_is_found_on_a_machine_is_what_is_read_there(tmp_path: Path) -> None:
    projects = tmp_path / "home" / ".claude" / "projects"
    (projects / "-one").mkdir(parents=True)
    (projects / "-one" / "a.jsonl").write_text("{}")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.jsonl").write_text("{}")
    (projects / "-two").symlink_to(tmp_path / "elsewhere")
    (projects / "-one" / "c.jsonl").symlink_to(tmp_path / "elsewhere" / "b.jsonl")
    (found,) = discover(tmp_path / "home", {})
    assert found.files == len([each for each in inputs([found.folder]) if each.file]) == 1


def test_a_folder_of_an_agent_that_cannot_be_read_is_found_and_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".claude").symlink_to(".claude")  # a loop: this is an error for root, too
    closed = tmp_path / ".codex" / "sessions" / "2026"
    closed.mkdir(parents=True)
    list_folder = os.scandir

    def scandir(path: str) -> Any:
        if str(path) == str(closed):
            raise PermissionError(13, "Permission denied", path)
        return list_folder(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = discover(tmp_path, {})
    assert [(each.folder, each.files) for each in found] == [(tmp_path / ".claude", 0), (closed.parent, 0)]
    for each in inputs([each.folder for each in found]):
        with pytest.raises(SlicebaseError):
            list(each.chunks())


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


def error_of(path: Path) -> SlicebaseError:
    """Returns the error of a path that is one unreadable input, which does not affect the inputs after it."""
    bad, *others = inputs([path, Path(__file__)])
    assert [each.name for each in others] == [__file__]
    assert bad.named
    with pytest.raises(SlicebaseError) as caught:
        list(bad.chunks())
    assert caught.value.where.file == str(path) == bad.name
    return caught.value


def test_a_path_that_cannot_be_read_is_an_input_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04 no more")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    for name, code in (
        ("x.zip", "bad-zip"),
        ("none", "no-input"),
        ("none/x.json", "no-input"),
        ("x.zip/y.json", "no-input"),
        ("pipe", "no-input"),
        ("loop", "no-input"),
        ("dangling", "no-input"),
        ("a" * 300, "no-input"),
        ("nul\0", "no-input"),
    ):
        assert error_of(tmp_path / name).code == code


def test_a_folder_or_a_zip_without_anything_to_import_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "heron.png").write_bytes(b"x")
    with zipfile.ZipFile(tmp_path / "pictures.zip", "w") as archive:
        archive.writestr("heron.png", "x")
    for name in ("empty", "pictures", "pictures.zip"):
        assert error_of(tmp_path / name).code == "no-input"


def test_a_folder_that_cannot_be_listed_is_reported_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "open" / "closed").mkdir(parents=True)
    (tmp_path / "open" / "a.json").write_text("{}")
    (tmp_path / "open" / "closed").chmod(0)
    if os.access(tmp_path / "open" / "closed", os.R_OK):
        pytest.skip("root can read everything")
    try:
        good, bad = inputs([tmp_path / "open"])
        assert (Path(good.name).name, Path(bad.name).name, bad.named) == ("a.json", "closed", False)
        with pytest.raises(SlicebaseError) as caught:
            list(bad.chunks())
        assert caught.value.code == error_of(tmp_path / "open" / "closed").code == "no-input"
    finally:
        (tmp_path / "open" / "closed").chmod(0o700)


@pytest.fixture(scope="module")
def zips() -> list[bytes]:
    """Returns a small zip of each compression."""
    made = []
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", compression) as archive:
            archive.writestr("a.json", '{"a": 1}' * 20)
            archive.writestr("b.traj", "x" * 100)
        made.append(stream.getvalue())
    return made


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_zip_raises_only_our_error(tmp_path: Path, zips: list[bytes], data: st.DataObject) -> None:
    packed = bytearray(data.draw(st.sampled_from(zips)))
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "x.zip"
    path.write_bytes(packed[: data.draw(st.integers(1, len(packed)))])
    for each in inputs([path]):
        with suppress(SlicebaseError):
            list(each.chunks())


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


def test_stdin_is_read_as_often_as_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    data = [b"x" * 700_000, b"y" * 700_000, b"z"]
    found = list(inputs([Path("-"), tmp_path / "a.json"], iter(data)))
    assert [(each.name, each.given, each.named) for each in found] == [
        ("stdin", "-", True),
        (str(tmp_path / "a.json"), str(tmp_path / "a.json"), True),
    ]
    first, second = found[0].chunks(), found[0].chunks()
    assert next(first) == next(second)
    assert b"".join(found[0].chunks()) == b"".join(data)
    assert (found[0].size, found[0].file) == (1_400_001, None)


def test_without_stdin_a_hyphen_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_text("{}")
    assert [b"".join(each.chunks()) for each in inputs([Path("-")])] == [b"{}"]
    assert [b"".join(each.chunks()) for each in inputs([tmp_path / "-"], [b"[]"])] == [b"{}"]


@pytest.mark.parametrize(("path", "expected"), [("./-", b"{}"), (".//-", b"{}"), ("-", b"[]")])
def test_a_file_is_named_by_its_folder_where_its_name_would_be_stdin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, expected: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_text("{}")
    assert [b"".join(each.chunks()) for each in inputs(each_path(path), [b"[]"])] == [expected]


@pytest.mark.parametrize("data", [b"", b"a zip"])
def test_stdin_without_bytes_or_with_a_zip_is_an_error_with_its_name(data: bytes) -> None:
    if data:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("a.json", "{}")
        data = packed.getvalue()
    (found,) = inputs([Path("-")], [data])
    with pytest.raises(SlicebaseError) as raised:
        list(found.chunks())
    assert (raised.value.code, str(raised.value.where)) == ("no-input", "stdin")
