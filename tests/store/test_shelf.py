"""Slice files by id: whole, by their beginning, renamed, broken, hostile."""

from pathlib import Path

import pytest

from slicebase.errors import SlicebaseError
from slicebase.files.yaml.edit import set_key
from slicebase.store.shelf import Shelf
from tests.codes import code_of
from tests.store.libraries import Desk

HOSTILE = [
    "", ".", "..", "../up", "/etc/passwd", "a/b", "a\\b", ".hidden", "-option", "two words", "tab\there", "nul\0byte",
    "line\nbreak", "at@sign", "co:lon", "ha#sh", "x" * 201, "é" * 101, "zero\u200bwidth", "half\ud800",
]  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_an_id_that_is_no_safe_file_name_is_refused_before_it_becomes_a_path(desk: Desk, hostile: str) -> None:
    assert code_of(lambda: desk.shelf.find(hostile)) == "bad-id"
    assert code_of(lambda: desk.create("T", "S.", desk.stamp, file_id=hostile or "/")) == "bad-id"
    assert list(desk.shelf.folder.iterdir()) == []


def test_a_file_is_found_by_its_whole_id_and_by_a_beginning_that_only_it_has(desk: Desk) -> None:
    """Ruling 21."""
    one, two = desk.new(), desk.new()
    common = next(one[:end] for end in range(26, 0, -1) if one[:end] == two[:end])
    assert desk.shelf.find(one).id == desk.shelf.find(f"file:{one}").id == one
    assert desk.shelf.find(two[: len(common) + 1]).id == two
    assert code_of(lambda: desk.shelf.find(common)) == "ambiguous-id"
    assert code_of(lambda: desk.shelf.find("0000")) == "no-file"


def test_an_id_that_is_the_beginning_of_another_is_found_by_itself(desk: Desk) -> None:
    for name in ("note", "note-2"):
        desk.create("T", "S.", desk.stamp, file_id=name)
    assert desk.shelf.find("note").id == "note"
    assert desk.shelf.find("note-").id == "note-2"


def test_a_renamed_file_keeps_its_id(desk: Desk) -> None:
    """§ Required Fields: the id does not depend on the path."""
    log = desk.new("jsonl")
    desk.path(log).rename(desk.shelf.folder / "decisions.slice")
    assert desk.shelf.find(log).name == ".slices/decisions.slice"
    desk.remember(log[:20], "still here", desk.stamp)
    assert "still here" in (desk.shelf.folder / "decisions.slice").read_text()
    assert not desk.path(log).exists()


def test_a_name_that_says_another_id_is_refused(desk: Desk) -> None:
    one, two = desk.new(), desk.new()
    desk.path(one).replace(desk.path(two))
    assert code_of(lambda: desk.shelf.find(two)) == "id-mismatch"


def test_a_broken_file_is_reported_and_never_rewritten_and_the_rest_works(desk: Desk) -> None:
    good, bad = desk.new("jsonl"), desk.new("jsonl")
    desk.path(bad).write_bytes(b"<<<<<<< ours\nnot a slice file\n")
    desk.remember(good, "a row", desk.stamp)
    for attempt in (
        lambda: desk.remember(bad, "a row", desk.stamp),
        lambda: desk.define(bad, ["title=New"], desk.stamp),
        lambda: desk.forget(bad, desk.stamp),
        lambda: desk.recall([bad], now=0),
    ):
        assert code_of(attempt) == "no-frontmatter"
    assert desk.path(bad).read_bytes() == b"<<<<<<< ours\nnot a slice file\n"
    assert [each.code for each in desk.shelf.all() if isinstance(each, SlicebaseError)] == ["no-frontmatter"]


@pytest.mark.parametrize("body_type", ["jsonl", "conversation", "routine"])
def test_a_body_with_a_line_that_nobody_can_read_is_not_added_to(desk: Desk, body_type: str) -> None:
    log = desk.new(body_type)
    broken = desk.path(log).read_bytes() + b'{"half of a li'
    desk.path(log).write_bytes(broken)
    assert code_of(lambda: desk.remember(log, '{"role": "user", "content": "x"}', desk.stamp)) == "broken-file"
    assert desk.path(log).read_bytes() == broken


def test_a_file_that_is_a_link_is_refused(desk: Desk, tmp_path: Path) -> None:
    log = desk.new("jsonl")
    outside = tmp_path.parent / f"{tmp_path.name}-outside.slice"
    desk.path(log).rename(outside)
    desk.path(log).symlink_to(outside)
    before = outside.read_bytes()
    assert code_of(lambda: desk.remember(log, "a row", desk.stamp)) == "not-a-file"
    assert code_of(lambda: desk.recall([log], now=0)) == "not-a-file"
    assert outside.read_bytes() == before


def test_a_library_that_is_a_link_is_refused(desk: Desk, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    desk.shelf.folder.rmdir()
    desk.shelf.folder.symlink_to(elsewhere)
    assert code_of(desk.new) == "not-a-file"
    assert code_of(desk.shelf.names) == "not-a-file"
    assert list(elsewhere.iterdir()) == []


def test_a_write_based_on_an_old_version_is_a_conflict(desk: Desk) -> None:
    """Ruling 24: the version of a file is the digest of all of it."""
    note = desk.new("markdown", "one")
    seen = desk.file(note).version
    desk.remember(note, "two", desk.stamp, if_version=seen)
    for attempt in (
        lambda: desk.remember(note, "three", desk.stamp, if_version=seen),
        lambda: desk.define(note, ["title=New"], desk.stamp, if_version=seen),
    ):
        assert code_of(attempt) == "conflict"
    assert "three" not in desk.body(note)


def test_what_an_editor_wrote_meanwhile_is_not_overwritten(desk: Desk) -> None:
    note = desk.new("markdown", "one")
    with desk.shelf.writing() as pen:
        old = pen.find(note)
        desk.path(note).write_bytes(old.to_bytes() + b"by hand\n")
        assert code_of(lambda: pen.replace(old, set_key(old, "slice.title", "New"))) == "conflict"
        desk.path(note).unlink()
        assert code_of(lambda: pen.replace(old, set_key(old, "slice.title", "New"))) == "conflict"
    assert not desk.path(note).exists()


def test_a_new_file_never_takes_the_place_of_another(desk: Desk) -> None:
    note = desk.new()
    before = desk.path(note).read_bytes()
    assert code_of(lambda: desk.create("T", "S.", desk.stamp, file_id=note)) == "file-exists"
    assert desk.path(note).read_bytes() == before


def test_a_clone_without_its_local_folder_can_be_written(desk: Desk, tmp_path: Path) -> None:
    for path in sorted((tmp_path / ".slicebase").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (tmp_path / ".slicebase").rmdir()
    desk.remember(desk.new("jsonl"), "a row", desk.stamp)
    assert (tmp_path / ".slicebase" / ".gitignore").read_text() == "*\n"


def test_a_library_without_a_folder_is_empty(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.shelf.folder.rmdir()
    assert Shelf(desk.workspace).names() == []
    assert code_of(lambda: desk.shelf.find("01J")) == "no-file"
