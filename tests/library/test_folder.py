"""Slice files by complete id and by prefix: plain, renamed, broken and hostile ones."""

from pathlib import Path

import pytest

from slicebase.errors import SlicebaseError
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key
from slicebase.library.folder import SliceFolder
from slicebase.workspace import surroundings
from tests.codes import code_of
from tests.library.scratch import ScratchLibrary

HOSTILE = [
    "", ".", "..", "../up", "/etc/passwd", "a/b", "a\\b", ".hidden", "-option", "two words", "tab\there", "nul\0byte",
    "line\nbreak", "at@sign", "co:lon", "ha#sh", "x" * 201, "é" * 101, "zero\u200bwidth", "half\ud800",
]  # fmt: skip
READ = SliceFolder.read


@pytest.fixture
def scratch(tmp_path: Path) -> ScratchLibrary:
    return ScratchLibrary(tmp_path)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_an_id_that_is_not_a_safe_file_name_is_refused_before_it_becomes_a_path(
    scratch: ScratchLibrary, hostile: str
) -> None:
    assert code_of(lambda: scratch.folder.find(hostile)) == "bad-id"
    assert code_of(lambda: scratch.create("T", "S.", id=hostile or "/")) == "bad-id"
    assert list(scratch.folder.path.iterdir()) == []


def test_a_file_is_found_by_its_complete_id_and_by_a_prefix_that_only_it_has(scratch: ScratchLibrary) -> None:
    """Ruling 53."""
    one, two = "01JABCDEFG0000000000000001", "01JABCDEFG0000000000000012"
    for each in (one, two):
        scratch.create("T", "S.", id=each)
    assert scratch.folder.find(one).id == scratch.folder.find(f"file:{one}").id == one
    assert scratch.folder.find(two[:25]).id == two
    assert code_of(lambda: scratch.folder.find(one[:8])) == "ambiguous-id"
    assert code_of(lambda: scratch.folder.find(one[:7])) == "short-id"
    assert code_of(lambda: scratch.folder.find("0000")) == "no-file"


def test_an_id_that_is_a_prefix_of_another_is_found_by_itself(scratch: ScratchLibrary) -> None:
    for name in ("note", "note-of-2026"):
        scratch.create("T", "S.", id=name)
    assert scratch.folder.find("note").id == "note"
    assert scratch.folder.find("note-of-").id == "note-of-2026"
    assert code_of(lambda: scratch.folder.find("note-")) == "short-id"
    assert scratch.folder.get("note-") is None


def test_a_renamed_file_keeps_its_id(scratch: ScratchLibrary) -> None:
    """§ Required Fields: the id does not depend on the path."""
    log = scratch.new("jsonl")
    scratch.path(log).rename(scratch.folder.path / "decisions.slice")
    assert scratch.folder.find(log).name == ".slices/decisions.slice"
    scratch.remember(log[:20], "still here")
    assert "still here" in (scratch.folder.path / "decisions.slice").read_text()
    assert not scratch.path(log).exists()


def test_a_file_name_with_another_id_is_refused(scratch: ScratchLibrary) -> None:
    one, two = scratch.new(), scratch.new()
    scratch.path(one).replace(scratch.path(two))
    assert code_of(lambda: scratch.folder.find(two)) == "id-mismatch"


def test_a_broken_file_is_reported_and_never_rewritten_and_the_rest_works(scratch: ScratchLibrary) -> None:
    good, bad = scratch.new("jsonl"), scratch.new("jsonl")
    scratch.path(bad).write_bytes(b"<<<<<<< ours\nnot a slice file\n")
    scratch.remember(good, "a row")
    for attempt in (
        lambda: scratch.remember(bad, "a row"),
        lambda: scratch.define(bad, ["title=New"]),
        lambda: scratch.forget(bad),
        lambda: scratch.recall([bad]),
    ):
        assert code_of(attempt) == "no-frontmatter"
    assert scratch.path(bad).read_bytes() == b"<<<<<<< ours\nnot a slice file\n"
    assert [each.code for each in scratch.folder.all() if isinstance(each, SlicebaseError)] == ["no-frontmatter"]


@pytest.mark.parametrize("body_type", ["jsonl", "conversation", "routine"])
def test_nothing_is_added_to_a_body_with_an_unreadable_line(scratch: ScratchLibrary, body_type: str) -> None:
    log = scratch.new(body_type)
    broken = scratch.path(log).read_bytes() + b'{"half of a li'
    scratch.path(log).write_bytes(broken)
    assert code_of(lambda: scratch.remember(log, '{"role": "user", "content": "x"}')) == "broken-file"
    assert scratch.path(log).read_bytes() == broken


def test_a_file_that_is_a_link_is_refused(scratch: ScratchLibrary, tmp_path: Path) -> None:
    log = scratch.new("jsonl")
    outside = tmp_path.parent / f"{tmp_path.name}-outside.slice"
    scratch.path(log).rename(outside)
    scratch.path(log).symlink_to(outside)
    before = outside.read_bytes()
    assert code_of(lambda: scratch.remember(log, "a row")) == "not-a-file"
    assert code_of(lambda: scratch.recall([log])) == "not-a-file"
    assert outside.read_bytes() == before


def test_a_library_that_is_a_link_is_refused(scratch: ScratchLibrary, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    scratch.folder.path.rmdir()
    scratch.folder.path.symlink_to(elsewhere)
    assert code_of(scratch.new) == "not-a-file"
    assert code_of(scratch.folder.names) == "not-a-file"
    assert list(elsewhere.iterdir()) == []


def test_a_write_based_on_an_old_version_is_a_conflict(scratch: ScratchLibrary) -> None:
    """Ruling 24: the version of a file is the digest of all its bytes."""
    note = scratch.new("markdown", "one")
    seen = scratch.folder.version(scratch.file(note))
    scratch.remember(note, "two", if_version=seen)
    for attempt in (
        lambda: scratch.remember(note, "three", if_version=seen),
        lambda: scratch.define(note, ["title=New"], if_version=seen),
    ):
        assert code_of(attempt) == "conflict"
    assert "three" not in scratch.body(note)


def test_what_an_editor_wrote_meanwhile_is_not_overwritten(scratch: ScratchLibrary) -> None:
    note = scratch.new("markdown", "one")
    with scratch.folder.writing() as writer:
        old = writer.find(note)
        scratch.path(note).write_bytes(old.to_bytes() + b"by hand\n")
        assert code_of(lambda: writer.replace(old, set_key(old, "slice.title", "New"))) == "conflict"
        scratch.path(note).unlink()
        assert code_of(lambda: writer.replace(old, set_key(old, "slice.title", "New"))) == "conflict"
    assert not scratch.path(note).exists()


def test_a_new_file_never_replaces_another(scratch: ScratchLibrary) -> None:
    note = scratch.new()
    before = scratch.path(note).read_bytes()
    assert code_of(lambda: scratch.create("T", "S.", id=note)) == "file-exists"
    assert scratch.path(note).read_bytes() == before


def test_a_clone_without_its_local_folder_can_be_written(scratch: ScratchLibrary, tmp_path: Path) -> None:
    for path in sorted((tmp_path / ".slicebase").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (tmp_path / ".slicebase").rmdir()
    scratch.remember(scratch.new("jsonl"), "a row")
    assert (tmp_path / ".slicebase" / ".gitignore").read_text() == "*\n"


def test_a_library_without_a_folder_is_empty(tmp_path: Path) -> None:
    scratch = ScratchLibrary(tmp_path)
    scratch.folder.path.rmdir()
    assert SliceFolder(scratch.workspace).names() == []
    assert code_of(lambda: scratch.folder.find("01J")) == "no-file"


def test_files_with_other_names_are_read_once_until_they_change(
    scratch: ScratchLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was written just now is read each time: another write might leave the same times."""
    monkeypatch.setattr(surroundings, "_TICK", 0)
    folder, read = scratch.folder, list[str]()
    for number in range(4):
        file_id = scratch.create("T", "S.").id or ""
        folder.path.joinpath(f"{file_id}.slice").rename(folder.path / f"my file {number}.slice")
    names = {number: folder.read(f"my file {number}.slice").id or "" for number in range(4)}

    def counted(self: SliceFolder, name: str) -> SliceFile:
        read.append(name)
        return READ(self, name)

    monkeypatch.setattr(SliceFolder, "read", counted)
    for file_id in names.values():
        assert folder.find(file_id).id == file_id
        assert not folder.has("absent")
    asked = [f"{file_id}.slice" for file_id in names.values()]
    listed = [f"my file {number}.slice" for number in range(4)]
    assert sorted(read) == sorted([*asked, *listed, *listed, *(["absent.slice"] * 4)])
    path = folder.path / listed[0]
    path.write_bytes(path.read_bytes().replace(names[0].encode(), b"another-id"))
    assert folder.find("another-id").name.endswith(listed[0])
    assert not folder.has(names[0])
