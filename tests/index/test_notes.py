"""Notes in the index: every change of a note is noticed, and nothing outside or hidden is read."""

import os
from pathlib import Path

import pytest

from slicebase.files.note import NoteTargets
from slicebase.files.slice_file import SliceFile
from slicebase.index import file_reader
from slicebase.index import notes as index_notes
from slicebase.index.notes import AtHand, CleanNote, NotesAtHand
from slicebase.library.finder import Finder
from slicebase.workspace import note_files
from slicebase.workspace.note_files import read_note_bytes
from slicebase.workspace.workspace import Workspace
from tests.library.samples import everything, ids, put

ZERO = "sha256:" + "0" * 64


@pytest.fixture
def note(workspace: Workspace) -> Path:
    """The note of a pointer with the id `n`."""
    path = workspace.root / "docs" / "n.md"
    path.parent.mkdir()
    path.write_text("---\ntitle: x\n---\nA heron.\n\n# Food\n\nFish and frogs.\n")
    pointer(workspace, "n", "../docs/n.md")
    return path


def pointer(workspace: Workspace, name: str, uri: str, folder: str = "docs") -> None:
    payload = {"uri": uri, "hash": ZERO, "size": 1}
    put(workspace, name, type="none", kind="pointer", payload=payload, meta={"notes": folder})


def test_the_words_of_a_note_are_found_with_the_section_and_the_line_in_the_note(note: Path, finder: Finder) -> None:
    (hit,) = finder.search("frogs").hits
    assert hit.entry.note_state == "changed"  # the pointer states another hash
    assert hit.found[0].ref.startswith(f"sec:n@{(hit.entry.note or '')[7:19]}#food")
    assert hit.found[0].line == 8


def test_a_note_that_changes_goes_or_comes_back_is_noticed_although_its_pointer_is_the_same(
    note: Path, finder: Finder
) -> None:
    assert ids(finder, "heron") == ["n"]
    note.write_text("A stork.\n")
    assert (ids(finder, "heron"), ids(finder, "stork")) == ([], ["n"])
    note.unlink()
    assert ids(finder, "stork") == []
    assert [entry.note_state for entry in finder.list_files()] == ["missing"]
    note.write_text("A crane.\n")
    assert ids(finder, "crane") == ["n"]


def test_edits_of_a_note_that_leave_size_and_times_the_same_are_noticed(
    note: Path, finder: Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within the granule of the disk's clock, a stamp proves nothing."""
    coarse = f"8 {os.stat(note).st_ctime_ns} {os.stat(note).st_ctime_ns} 1"
    monkeypatch.setattr(note_files, "stamp_of", lambda status: coarse)
    for word in ("stork0", "stork1", "stork2"):
        note.write_text(f"A {word}")
        assert ids(finder, word) == ["n"]


def test_notes_that_have_not_changed_are_not_read_again(
    note: Path, finder: Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(note_files, "_GRANULE", -(10**12))  # every stamp is certain
    assert ids(finder, "heron") == ["n"]
    finder.list_files()
    read: list[object] = []
    monkeypatch.setattr(file_reader, "index_note", lambda *given: read.append(given))
    assert ids(finder, "heron") == ["n"]
    assert read == []


def test_an_index_that_is_built_again_gives_the_same_results(note: Path, workspace: Workspace, finder: Finder) -> None:
    before = everything(finder, ["heron", "frogs"])
    note.write_text("Other words.\n")
    finder.list_files()
    note.write_text("---\ntitle: x\n---\nA heron.\n\n# Food\n\nFish and frogs.\n")
    assert everything(finder, ["heron", "frogs"]) == before
    finder.index.database.discard()
    assert everything(finder, ["heron", "frogs"]) == before


def test_a_hostile_library_reads_nothing_outside_nothing_hidden_and_waits_for_nothing(
    workspace: Workspace, finder: Finder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.md").write_text("heron")
    docs = workspace.root / "docs"
    (docs / ".git").mkdir(parents=True)
    (docs / ".git" / "config").write_text("heron")
    (docs / "link.md").symlink_to(outside / "secret.md")
    (docs / "folder").symlink_to(outside)
    os.mkfifo(docs / "pipe.md")
    (docs / "binary.md").write_bytes(b"heron\0")
    for number, uri in enumerate(("link.md", "folder/secret.md", "pipe.md", "binary.md", ".git/config", "")):
        pointer(workspace, f"p{number}", f"../docs/{uri}")
    pointer(workspace, "up", os.path.relpath(outside / "secret.md", workspace.library), ".")
    assert ids(finder, "heron") == []
    assert len(finder.list_files()) == 7


def test_the_index_keeps_no_secret_of_a_note_and_reads_it_again_when_the_rules_change(
    note: Path, workspace: Workspace, finder: Finder
) -> None:
    note.write_text("The badge-1234 and ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8.\n")
    assert ids(finder, "badge") == ["n"]
    files = [path for path in workspace.cache.iterdir() if path.is_file()]
    assert not any(b"a1B2c3D4e5F6" in path.read_bytes() for path in files)
    (workspace.root / "rules.toml").write_text("[[rule]]\nname = 'number'\npattern = 'badge-[0-9]{4}'\n")
    (workspace.root / "slicebase.toml").write_text("[redaction]\nrules = 'rules.toml'\n")
    assert ids(Finder(workspace), "1234") == []


# What a writer has at hand. Here it is not what is on the disk, so that its use can be seen.


def at_hand(workspace: Workspace, state: str = "on") -> AtHand:
    notes = NotesAtHand()
    digest = read_note_bytes(workspace.root, "docs/n.md").digest
    notes.keep(digest, state, CleanNote("An albatross.\n", NoteTargets((), ())))
    return AtHand({}, notes)


def test_a_note_at_hand_is_taken_for_the_same_bytes_and_the_same_redaction(
    note: Path, workspace: Workspace, finder: Finder
) -> None:
    finder.index.ask(lambda connection: None, at_hand(workspace))
    assert (ids(finder, "albatross"), ids(finder, "heron")) == (["n"], [])


def test_a_note_that_changed_since_it_was_read_is_read_again(note: Path, workspace: Workspace, finder: Finder) -> None:
    given = at_hand(workspace)
    note.write_text("A crane.\n")
    finder.index.ask(lambda connection: None, given)
    assert (ids(finder, "albatross"), ids(finder, "crane")) == ([], ["n"])


def test_a_note_that_was_read_before_the_rules_changed_is_redacted_by_the_new_ones(
    note: Path, workspace: Workspace, finder: Finder
) -> None:
    note.write_text("The badge-1234 of a heron.\n")
    given = at_hand(workspace)
    (workspace.root / "rules.toml").write_text("[[rule]]\nname = 'number'\npattern = 'badge-[0-9]{4}'\n")
    (workspace.root / "slicebase.toml").write_text("[redaction]\nrules = 'rules.toml'\n")
    finder.index.ask(lambda connection: None, given)
    assert [ids(finder, word) for word in ("albatross", "1234", "heron")] == [[], [], ["n"]]


def test_notes_at_hand_take_no_more_memory_than_they_may(
    note: Path, workspace: Workspace, finder: Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_notes, "_MOST_AT_HAND", 10)
    finder.index.ask(lambda connection: None, at_hand(workspace))
    assert (ids(finder, "albatross"), ids(finder, "heron")) == ([], ["n"])


@pytest.mark.parametrize("is_changed", [False, True])
def test_a_file_at_hand_is_taken_for_the_same_bytes_only(
    workspace: Workspace, finder: Finder, is_changed: bool
) -> None:
    path = put(workspace, "f", "text")
    file = SliceFile.parse(path.read_bytes(), ".slices/f.slice")
    meant = SliceFile(file.name, file.head, file.body, file.header, {"slice": {"id": "f", "title": "Meant"}})
    if is_changed:
        put(workspace, "f", "other text")
    finder.index.ask(lambda connection: None, AtHand({"f.slice": meant}, NotesAtHand()))
    assert [entry.title for entry in finder.list_files()] == ["Title of f" if is_changed else "Meant"]
