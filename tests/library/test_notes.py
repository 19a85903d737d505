"""Notes in place: added, followed, and never touched."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.files.note import LARGEST_NOTE, NOTE_GONE, NoteTargets, note_targets
from slicebase.index import notes as index_notes
from slicebase.library import notes as library_notes
from slicebase.library.check import validate
from slicebase.library.folder import SliceFolder
from slicebase.library.notes import NotesReport
from slicebase.library.pointers import note_id
from slicebase.workspace import note_files
from tests.amounts import MORE
from tests.library.samples import everything
from tests.library.scratch import ScratchLibrary
from tests.paths import PROJECT


class Vault(ScratchLibrary):
    """A library with a folder of notes."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.root = root

    def put(self, **texts: str) -> None:
        for name, text in texts.items():
            path = self.root / "docs" / f"{name.replace('__', '/')}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def added(self) -> NotesReport:
        return self.add(self.root / "docs")

    @property
    def pointers(self) -> dict[str, Any]:
        """The pointers by the paths of their notes."""
        files = (self.folder.read(name) for name in self.folder.names())
        return {str(file.payload.uri).removeprefix("../docs/"): file for file in files if file.payload}

    def linked(self, name: str) -> list[str]:
        paths = {file.id: path for path, file in self.pointers.items()}
        return [paths[link.to] for link in self.pointers[name].links]

    @property
    def bytes(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.path.iterdir()}


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    vault = Vault(tmp_path / "root")
    vault.put(a="# Alpha\n\nAbout [[b]] and [c](sub/c.md).\n", b="# Beta\n\nSee [[Nowhere]].\n", sub__c="Gamma.\n")
    return vault


def test_every_note_becomes_a_pointer_with_hash_size_title_summary_and_links(vault: Vault) -> None:
    before = {path: path.read_bytes() for path in (vault.root / "docs").rglob("*.md")}
    assert vault.added()._replace(skipped=()) == NotesReport(added=3, links=2, unresolved=1)
    alpha = vault.pointers["a.md"]
    assert (alpha.kind, alpha.body_type, alpha.title, alpha.summary) == ("pointer", "none", "Alpha", "About b and c.")
    assert alpha.payload.size == len(before[vault.root / "docs" / "a.md"])
    assert vault.linked("a.md") == ["b.md", "sub/c.md"]
    assert {path: path.read_bytes() for path in (vault.root / "docs").rglob("*") if path.is_file()} == before


def test_a_second_look_changes_no_byte(vault: Vault) -> None:
    vault.added()
    before = vault.bytes
    assert vault.added() == NotesReport(unchanged=3, links=2, unresolved=1)
    assert vault.refresh_all() == NotesReport(unchanged=3, links=2, unresolved=1)
    assert vault.bytes == before


def test_a_note_is_recalled_cited_and_ranked_by_its_sections(vault: Vault) -> None:
    vault.put(a="# Alpha\n\nHerons eat fish.\n\n## Later\n\nMore.\n")
    vault.added()
    (found,) = vault.search("fish").hits[0].found
    assert found.ref.endswith("#alpha")
    page = vault.recall(found.ref)
    assert "Herons eat fish." in page.text
    assert "More." not in page.text
    assert "note docs/a.md" in page.excerpts[0].piece.label
    assert "More." in vault.recall(vault.pointers["a.md"].id).text


def test_a_reference_to_a_section_of_an_older_version_says_so(vault: Vault) -> None:
    vault.added()
    ref = vault.search("about").hits[0].found[0].ref
    vault.put(a="# Alpha\n\nChanged.\n")
    with pytest.raises(SlicebaseError) as caught:
        vault.recall(ref)
    assert caught.value.code == "drifted"
    assert "changed since it was added" in vault.recall(vault.pointers["a.md"].id).text
    vault.refresh_all()
    assert "changed since it was added" not in vault.recall(vault.pointers["a.md"].id).text


def test_a_note_that_changed_is_followed_and_files_derived_from_it_are_stale(vault: Vault) -> None:
    vault.added()
    file_id = vault.pointers["a.md"].id
    derived = vault.create("Short", "s", body="x", links=[("derived_from", file_id)]).id
    vault.put(a="# Another\n\nText about [[c]].\n")
    assert [why.kind for each in vault.stale() for why in each.reasons] == ["note-changed"]
    assert vault.refresh_all(dry_run=True).changed == 1
    assert vault.pointers["a.md"].title == "Alpha"
    assert vault.refresh_all().changed == 1
    assert (vault.pointers["a.md"].id, vault.pointers["a.md"].title) == (file_id, "Another")
    assert vault.linked("a.md") == ["sub/c.md"]
    assert [each.entry.id for each in vault.stale()] == [derived]


def test_a_note_that_moved_keeps_its_id_and_is_linked_where_it_is(vault: Vault) -> None:
    vault.added()
    file_id = vault.pointers["b.md"].id
    (vault.root / "docs" / "b.md").rename(vault.root / "docs" / "sub" / "b.md")
    assert vault.refresh_all().moved == 1
    assert vault.pointers["sub/b.md"].id == file_id
    assert vault.linked("a.md") == ["sub/b.md", "sub/c.md"]
    (vault.root / "docs" / "sub" / "b.md").rename(vault.root / "docs" / "renamed.md")
    report = vault.added()
    assert (report.moved, report.added, report.gone) == (1, 0, 0)
    assert vault.pointers["renamed.md"].id == file_id
    assert vault.linked("a.md") == ["sub/c.md"]


def test_ids_follow_the_bytes_of_notes_that_were_swapped(vault: Vault) -> None:
    vault.added()
    ids = {name: file.id for name, file in vault.pointers.items()}
    docs = vault.root / "docs"
    (docs / "a.md").rename(docs / "x.md")
    (docs / "b.md").rename(docs / "a.md")
    (docs / "x.md").rename(docs / "b.md")
    assert vault.refresh_all(dry_run=True).moved == 2
    assert vault.refresh_all().moved == 2
    assert {name: file.id for name, file in vault.pointers.items()} == {
        "a.md": ids["b.md"], "b.md": ids["a.md"], "sub/c.md": ids["sub/c.md"]
    }  # fmt: skip
    assert vault.pointers["b.md"].title == "Alpha"
    assert vault.refresh_all().unchanged == 3


@pytest.mark.parametrize("verb", [Vault.added, Vault.refresh_all])
def test_a_note_whose_old_name_was_taken_by_a_new_file_keeps_its_id(
    vault: Vault, verb: Callable[[Vault], NotesReport]
) -> None:
    vault.added()
    file_id = vault.pointers["b.md"].id
    (vault.root / "docs" / "b.md").rename(vault.root / "docs" / "d.md")
    vault.put(b="Something else.\n")
    report = verb(vault)
    assert (report.moved, report.added, report.changed, report.gone) == (1, 1, 0, 0)
    assert vault.pointers["d.md"].id == file_id
    assert vault.pointers["b.md"].summary == "Something else."


def test_a_note_that_replaced_another_keeps_its_id_and_the_other_is_gone(vault: Vault) -> None:
    vault.added()
    first, second = vault.pointers["a.md"].id, vault.pointers["b.md"].id
    (vault.root / "docs" / "b.md").replace(vault.root / "docs" / "a.md")
    report = vault.refresh_all()
    assert (report.moved, report.gone, report.changed) == (1, 1, 0)
    files = {file.id: file for file in map(vault.folder.read, vault.folder.names())}
    assert str(getattr(files[first].archived, "reason", None)) == NOTE_GONE
    assert (files[second].archived, getattr(files[second].payload, "uri", None)) == (None, "../docs/a.md")
    assert (vault.refresh_all().unchanged, vault.added().unchanged) == (2, 2)
    vault.put(back="# Alpha\n\nAbout [[b]] and [c](sub/c.md).\n")
    assert vault.refresh_all().moved == 1
    assert vault.file(first).archived is None


@pytest.mark.parametrize("taken", [False, True])
def test_a_forgotten_note_stays_forgotten_under_another_name(vault: Vault, taken: bool) -> None:
    vault.added()
    file_id = vault.pointers["b.md"].id
    vault.forget(file_id, reason="old")
    (vault.root / "docs" / "b.md").rename(vault.root / "docs" / "d.md")
    if taken:
        vault.put(b="Something else.\n")
    report = vault.added()
    assert (report.added, report.moved, report.forgotten) == (int(taken), 0, 1)
    assert (vault.pointers["d.md"].id, vault.pointers["d.md"].archived.reason) == (file_id, "old")
    vault.put(d="Edited.\n")
    assert vault.added().added == 0


def test_a_note_that_went_is_archived_and_comes_back(vault: Vault) -> None:
    vault.added()
    text = (vault.root / "docs" / "b.md").read_text()
    (vault.root / "docs" / "b.md").unlink()
    assert vault.refresh_all().gone == 1
    assert vault.pointers["b.md"].archived.reason == NOTE_GONE
    assert vault.linked("a.md") == ["sub/c.md"]
    assert vault.refresh_all() == NotesReport(unchanged=2, links=1, unresolved=1)
    vault.put(b=text)
    assert vault.refresh_all().back == 1
    assert vault.pointers["b.md"].archived is None
    assert vault.linked("a.md") == ["b.md", "sub/c.md"]


def test_what_somebody_forgot_stays_forgotten_and_what_was_purged_is_not_added_again(vault: Vault) -> None:
    vault.added()
    vault.forget(vault.pointers["b.md"].id, reason="old")
    vault.purge(vault.pointers["sub/c.md"].id)
    report = vault.added()
    assert (report.forgotten, report.unchanged, report.added) == (1, 1, 0)
    assert [(each.path, each.reason) for each in report.skipped] == [("docs/sub/c.md", "it was purged")]
    assert (vault.root / "docs" / "sub" / "c.md").exists()


def test_a_link_to_a_note_that_is_added_later_is_made_then(vault: Vault) -> None:
    vault.added()
    vault.put(Nowhere="Here.\n")
    assert vault.added().added == 1
    assert vault.linked("b.md") == ["Nowhere.md"]


def test_notes_that_cannot_be_taken_are_named_and_do_not_stop_the_others(vault: Vault) -> None:
    docs = vault.root / "docs"
    (docs / "broken.md").write_bytes(b"\xff")
    (docs / "empty.md").write_bytes(b"")
    (docs / ("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8.md")).write_text("x")
    (docs / "link.md").symlink_to("a.md")
    report = vault.added()
    assert report.added == 4
    assert [each.path.rpartition("/")[2][:4] for each in report.skipped] == ["[red", "brok", "link"]
    assert vault.pointers["empty.md"].summary == "An empty note."
    (docs / "a.md").write_bytes(b"\xff")
    report = vault.refresh_all()
    assert [each.path for each in report.skipped] == ["docs/a.md"]
    assert vault.pointers["a.md"].title == "Alpha"


def test_a_pointer_that_cannot_be_written_is_named_and_not_counted(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.added()
    pointers = vault.pointers
    vault.put(b="# Beta\n\nChanged.\n", d="# Delta\n")
    (vault.root / "docs" / "a.md").rename(vault.root / "docs" / "moved.md")
    (vault.root / "docs" / "sub" / "c.md").unlink()
    real = SliceFolder.writing

    def changed(folder: SliceFolder) -> Any:
        """Somebody edits every pointer, and takes the name of the new one, before this call writes."""
        for pointer in pointers.values():
            path = vault.path(pointer.id)
            path.write_bytes(path.read_bytes().replace(b"summary: ", b"summary: Edited. "))
        vault.path(note_id(vault.last, "docs/d.md")).write_text("somebody else was here\n")
        return real(folder)

    monkeypatch.setattr(SliceFolder, "writing", changed)
    report = vault.added()
    assert (report.added, report.changed, report.moved, report.gone, report.unchanged) == (0, 0, 0, 0, 0)
    assert [each.path for each in report.skipped] == [f"docs/{name}.md" for name in ("b", "d", "moved", "sub/c")]


def _too_large(path: Path) -> None:
    path.touch()
    os.truncate(path, LARGEST_NOTE + 1)


@pytest.mark.parametrize(
    "become",
    [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("a.md"), _too_large, lambda path: path.write_bytes(b"\xff")],
)
def test_a_note_that_became_something_else_is_passed_over_once_and_nobody_calls_it_fresh(
    vault: Vault, become: Callable[[Path], object]
) -> None:
    vault.added()
    path = vault.root / "docs" / "b.md"
    path.unlink()
    become(path)
    for report in (vault.refresh_all(), vault.added()):
        assert (report.unchanged, report.changed, report.gone) == (2, 0, 0)
        assert [each.path for each in report.skipped] == ["docs/b.md"]
    (reason,) = [why.detail for each in vault.stale() for why in each.reasons]
    assert "refresh" not in reason
    page = vault.recall(vault.pointers["b.md"].id)
    assert "cannot be read" in page.excerpts[0].piece.label
    assert "FRESH" not in page.excerpts[0].piece.label


def test_notes_behind_a_folder_that_became_a_symbolic_link_are_all_gone_and_move_together(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the index knows of each: one note is touched, and the stamps of the others would be the same."""
    monkeypatch.setattr("slicebase.workspace.note_files._GRANULE", -(10**18))  # every stamp is certain
    vault.added()
    ids = {file.id for file in vault.pointers.values()}
    (vault.root / "docs" / "a.md").touch()
    (vault.root / "docs").rename(vault.root / "real")
    (vault.root / "docs").symlink_to("real")
    assert vault.refresh_all().gone == 3
    assert vault.added().moved == 3
    assert {file.id for file in vault.pointers.values()} == ids
    assert set(vault.pointers) == {"../real/a.md", "../real/b.md", "../real/sub/c.md"}


def test_an_interrupted_call_is_finished_by_the_next_one_without_duplicates(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_notes, "_BATCH", 1)
    written: list[object] = []
    real = SliceFolder.writing

    def killed(folder: Any) -> Any:
        written.append(folder)
        if len(written) == 2:
            raise KeyboardInterrupt
        return real(folder)

    monkeypatch.setattr(SliceFolder, "writing", killed)
    with pytest.raises(KeyboardInterrupt):
        vault.added()
    assert len(vault.pointers) == 1
    first = next(iter(vault.pointers.values())).id
    assert vault.added().added == 2
    assert first in {file.id for file in vault.pointers.values()}
    assert len(vault.bytes) == 3
    assert vault.linked("a.md") == ["b.md", "sub/c.md"]


def test_two_pointers_to_one_note_as_two_branches_leave_them_become_one(vault: Vault) -> None:
    vault.added()
    name, data = sorted(vault.bytes.items())[0]
    other = vault.stamp().file_id
    (vault.folder.path / f"{other}.slice").write_bytes(data.replace(name[:26].encode(), other.encode()))
    assert vault.refresh_all().gone == 1
    assert vault.file(other).archived
    assert vault.refresh_all().gone == 0


def test_no_secret_of_a_note_is_stored_and_it_is_counted(vault: Vault) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    vault.put(a=f"# Key {token}\n\nUse {token}.\n")
    assert vault.added().redacted == {"github-token": 2}
    assert token in (vault.root / "docs" / "a.md").read_text()
    ours = [path for name in (".slices", ".slicebase") for path in (vault.root / name).rglob("*") if path.is_file()]
    assert not any(token.encode() in path.read_bytes() for path in ours)
    assert token not in vault.recall(vault.pointers["a.md"].id).text


def test_a_note_that_is_added_is_redacted_and_searched_for_links_once(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index takes over what was read, and says the same as one that reads for itself."""
    monkeypatch.setattr(note_files, "_GRANULE", -(10**12))  # every stamp is certain
    read: list[str] = []

    def seen(text: str) -> NoteTargets:
        read.append(text)
        return note_targets(text)

    monkeypatch.setattr(index_notes, "note_targets", seen)
    vault.added()
    assert read == []
    vault.put(a="# Another\n\nAbout [[b]].\n")
    (vault.root / "docs" / "b.md").rename(vault.root / "docs" / "d.md")
    vault.added()
    assert read == ["# Another\n\nAbout [[b]].\n"]  # the index saw the change before anybody followed it
    before = everything(vault, ["alpha", "about", "see"])
    vault.index.database.discard()
    assert everything(vault, ["alpha", "about", "see"]) == before


def test_two_processes_that_add_the_same_folder_create_no_pointer_twice(vault: Vault) -> None:
    vault.put(**{f"n{number}": f"# Note {number}\n" for number in range(50)})
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
    call = [sys.executable, "-m", "slicebase", "--root", str(vault.root), "add", str(vault.root / "docs")]
    both = [subprocess.Popen(call, env=environment, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    assert len(vault.bytes) == 53


ACTIONS = st.lists(
    st.tuples(st.sampled_from("ABCD"), st.sampled_from(["write", "move", "remove", "follow"]), st.sampled_from("ABCD")),
    max_size=8,
)
FOLDERS = {"A": "docs", "B": "docs", "C": "wiki", "D": "wiki", "Z": "wiki"}


@settings(max_examples=4 * MORE)
@given(ACTIONS)
@example([("A", "write", "B"), ("B", "write", "A"), ("A", "follow", "A"), ("A", "move", "B"), ("A", "write", "C"),
          ("C", "follow", "A"), ("A", "follow", "A")])  # fmt: skip
def test_after_any_changes_the_pointers_are_those_of_a_new_workspace(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, str, str]]
) -> None:
    """Two folders are followed, each by itself, and notes move from one to the other."""
    root = tmp_path_factory.mktemp("any") / "root"
    vault = Vault(root)
    (root / "docs").mkdir()

    def path_of(name: str, root: Path = root) -> Path:
        return root / FOLDERS[name] / f"{name}.md"

    vault.put(**{"../wiki/Z": "Stays."})
    for number, (name, action, other) in enumerate(actions):
        if action == "write":
            path_of(name).write_text(f"# {name} {number}\n\nSee [[{other}]].\n")
        elif action == "move" and path_of(name).exists():
            path_of(name).replace(path_of(other))
        elif action == "remove":
            path_of(name).unlink(missing_ok=True)
        elif action == "follow":
            vault.add(root / FOLDERS[name])
    fresh = Vault(tmp_path_factory.mktemp("fresh") / "root")
    for folder in ("docs", "wiki"):
        shutil.copytree(root / folder, fresh.root / folder)
    for library in (vault, vault, fresh, fresh):
        library.added()
        library.add(library.root / "wiki")

    before = everything(vault, ["see", "stays"])
    vault.index.database.discard()
    assert everything(vault, ["see", "stays"]) == before

    def told(library: Vault) -> dict[str, Any]:
        live = {name: file for name, file in library.pointers.items() if not file.archived}
        return {name: (file.title, file.payload, sorted(library.linked(name))) for name, file in live.items()}

    assert told(vault) == told(fresh)
    live = [file for name in vault.folder.names() if not (file := vault.folder.read(name)).archived]
    assert len(live) == len(told(fresh))
    assert vault.refresh_all().unchanged == len(live)
    assert not validate([vault.folder.path], root).counts["error"]


@settings(max_examples=5 * MORE)
@given(st.lists(st.tuples(st.sampled_from(["write", "move", "forget", "follow"]), st.sampled_from("ABC"),
                          st.sampled_from("ABC")), max_size=8))  # fmt: skip
@example([("write", "A", "B"), ("follow", "A", "A"), ("forget", "A", "A"), ("move", "A", "B"), ("write", "A", "B")])
def test_one_call_does_all_that_there_is_to_do_whatever_was_forgotten(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, str, str]]
) -> None:
    vault = Vault(tmp_path_factory.mktemp("any") / "root")
    vault.put(Z="Stays.")
    for number, (action, name, other) in enumerate(actions):
        path = vault.root / "docs" / f"{name}.md"
        pointer = vault.pointers.get(path.name)
        if action == "write":
            path.write_text(f"# {name} {number}\n")
        elif action == "move" and path.exists():
            path.replace(path.with_name(f"{other}.md"))
        elif action == "forget" and pointer:
            vault.forget(pointer.id)
        elif action == "follow":
            vault.added()
    vault.added()
    report = vault.added()
    assert (report.added, report.changed, report.moved, report.gone, report.back) == (0, 0, 0, 0, 0)
