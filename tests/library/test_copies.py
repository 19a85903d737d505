"""Slice files made of notes: `tt create --from FOLDER`."""

from pathlib import Path
from typing import Any

import pytest

from slicebase.errors import SlicebaseError
from slicebase.library.folder import SliceFolder
from tests.kills import Killed, killed_at
from tests.library.scratch import ScratchLibrary


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "a.md").write_text("---\ntitle: Alpha\n---\n# One\n\nSee [[b]].\n")
    (folder / "b.txt").write_text("Plain words")
    (folder / "bad.md").write_bytes(b"\xff")
    return folder


def test_each_note_of_a_folder_anywhere_becomes_a_slice_file_with_its_text_and_links(
    tmp_path: Path, notes: Path
) -> None:
    library = ScratchLibrary(tmp_path / "root")
    report = library.create_from(notes)
    assert (report.added, report.links, len(report.skipped)) == (2, 1, 1)
    alpha, plain = sorted((library.file(entry.id) for entry in library.list_files()), key=lambda file: file.title or "")
    assert (alpha.title, alpha.body_type, alpha.body) == ("Alpha", "markdown", (notes / "a.md").read_bytes())
    assert (plain.title, plain.body_type, plain.body) == ("b", "text", b"Plain words\n")
    assert [(link.rel, link.to) for link in alpha.links] == [("see_also", plain.id)]
    assert alpha.meta["copied_from"] == "vault/a.md"
    assert "See [[b]]." in library.recall(alpha.id or "").text


def test_a_second_call_copies_only_what_is_new(tmp_path: Path, notes: Path) -> None:
    library = ScratchLibrary(tmp_path / "root")
    library.create_from(notes)
    (notes / "c.md").write_text("[[a]]")
    report = library.create_from(notes, glob="*.md")
    assert (report.added, report.unchanged, report.links) == (1, 1, 1)


def test_another_note_of_the_same_name_is_never_taken_for_one_that_was_copied(tmp_path: Path, notes: Path) -> None:
    library = ScratchLibrary(tmp_path / "root")
    library.create_from(notes, glob="a.md")
    other = tmp_path / "elsewhere" / "vault"
    other.mkdir(parents=True)
    (other / "a.md").write_text("Other words.\n")
    assert library.create_from(other).added == 1
    assert library.create_from(other).unchanged == 1
    assert b"Other words.\n" in {library.file(entry.id).body for entry in library.list_files()}


def test_a_note_that_changed_since_it_was_copied_is_named_and_not_counted_as_unchanged(
    tmp_path: Path, notes: Path
) -> None:
    library = ScratchLibrary(tmp_path / "root")
    library.create_from(notes, glob="a.md")
    (notes / "a.md").write_text("New words.\n")
    report = library.create_from(notes, glob="a.md")
    assert (report.added, report.unchanged) == (0, 0)
    assert [tuple(each) for each in report.skipped] == [("a.md", "it has changed since it was copied")]


def test_a_note_that_changes_or_goes_while_it_is_copied_is_named_and_does_not_stop_the_others(
    tmp_path: Path, notes: Path
) -> None:
    library = ScratchLibrary(tmp_path / "root")
    (notes / "c.md").write_text("See [[a]] and [[b]].\n")

    def meddle(done: int, total: int) -> None:
        if done == total == 4:  # all were read once
            (notes / "a.md").write_text("Other words.\n")
            (notes / "b.txt").unlink()

    library.index.progress = meddle
    report = library.create_from(notes)
    assert (report.added, report.links) == (1, 0)
    assert [each.path for each in report.skipped] == ["a.md", "b.txt", "bad.md"]
    (entry,) = library.list_files()
    assert library.file(entry.id).links == ()
    report = library.create_from(notes)
    assert (report.added, report.unchanged) == (1, 1)


def test_a_file_that_cannot_be_written_is_named_and_not_counted(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, other = ScratchLibrary(tmp_path / "root"), ScratchLibrary(tmp_path / "other")
    other.create_from(notes)
    ids = {entry.title: entry.id for entry in other.list_files()}  # the same in every library at this time
    real = SliceFolder.writing

    def taken(folder: SliceFolder) -> Any:
        library.path(ids["b"]).write_text("somebody else was here\n")
        return real(folder)

    monkeypatch.setattr(SliceFolder, "writing", taken)
    report = library.create_from(notes)
    assert (report.added, report.links) == (1, 0)
    assert [each.path for each in report.skipped] == ["b.txt", "bad.md"]
    assert library.file(ids["Alpha"]).links == ()


@pytest.fixture
def linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Notes that link to each other, and that are written in several batches."""
    monkeypatch.setattr("slicebase.library.copies._BATCH", 2)
    folder = tmp_path / "linked"
    folder.mkdir()
    for number in range(5):
        (folder / f"n{number}.md").write_text(f"# n{number}\n\nSee [[n4]], [[n0]] and [[n{(number + 1) % 5}]].\n")
    return folder


def links(library: ScratchLibrary) -> dict[str | None, list[str | None]]:
    """Returns the titles of the files, and of those that they link to; None for one that is not there."""
    files = {entry.id: library.file(entry.id) for entry in library.list_files()}
    titles = {file_id: file.title for file_id, file in files.items()}
    return {file.title: [titles.get(link.to or "") for link in file.links] for file in files.values()}


def killed(root: Path, folder: Path, number: int) -> ScratchLibrary:
    """Returns a library into which a killed process has copied a part of a folder, at a later time."""
    with pytest.raises(Killed), killed_at(number):
        ScratchLibrary(root).create_from(folder)
    library = ScratchLibrary(root)
    library.stamp()
    return library


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_a_call_that_is_killed_anywhere_is_finished_by_the_next_one(tmp_path: Path, linked: Path, number: int) -> None:
    whole = ScratchLibrary(tmp_path / "whole")
    whole.create_from(linked)
    library = killed(tmp_path / "root", linked, number)
    report = library.create_from(linked)
    assert (report.added, report.unchanged) == (6 - number, number - 1)
    assert links(library) == links(whole)


@pytest.mark.parametrize("gone", [False, True])
def test_calls_that_are_killed_after_each_other_are_finished(tmp_path: Path, linked: Path, gone: bool) -> None:
    library = killed(tmp_path / "root", linked, 2)
    for copied in (2, 3):
        with pytest.raises(Killed), killed_at(3):  # after it removed a temporary file, and wrote one note
            library.create_from(linked)
        assert len(library.list_files()) == copied
    if gone:
        (linked / "n4.md").unlink()  # which n2 links to, by an id of another time than its own
    library.create_from(linked)
    whole = ScratchLibrary(tmp_path / "whole")
    whole.create_from(linked)
    assert links(library) == links(whole)


def test_what_a_killed_call_did_not_copy_and_has_gone_is_not_linked_to(tmp_path: Path, linked: Path) -> None:
    library = killed(tmp_path / "root", linked, 3)
    (linked / "n4.md").unlink()
    library.create_from(linked)
    assert links(library) == {"n0": ["n1"], "n1": ["n0", "n2"], "n2": ["n0", "n3"], "n3": ["n0"]}


def test_the_copy_of_a_note_that_has_gone_links_to_no_other_that_has(tmp_path: Path, linked: Path) -> None:
    library = killed(tmp_path / "root", linked, 2)
    for name in ("n0.md", "n1.md", "n4.md"):  # the first is copied already, and links to the others
        (linked / name).unlink()
    library.create_from(linked)
    assert links(library) == {"n0": [], "n2": ["n3"], "n3": []}


def test_a_file_that_cannot_be_read_is_still_linked_to(tmp_path: Path, linked: Path) -> None:
    library = ScratchLibrary(tmp_path / "root")
    library.create_from(linked)
    (last,) = (entry.id for entry in library.list_files() if entry.title == "n4")
    library.path(last).write_bytes(b"<<<<<<< ours\n")
    library.create_from(linked)
    assert links(library)["n0"] == [None, "n1"]


def test_no_secret_is_copied(tmp_path: Path, notes: Path) -> None:
    library = ScratchLibrary(tmp_path / "root")
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (notes / "a.md").write_text(f"# Key {token}\n\n{token}\n")
    assert library.create_from(notes).redacted == {"github-token": 2}
    assert not any(token.encode() in path.read_bytes() for path in (tmp_path / "root").rglob("*") if path.is_file())


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SlicebaseError) as caught:
        ScratchLibrary(tmp_path / "root").create_from(tmp_path / "none")
    assert caught.value.code == "no-input"
