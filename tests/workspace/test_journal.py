"""A write of several files is made completely or not at all, wherever its process is killed."""

import json
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from slicebase.agents.memory_tool import MemoryTool
from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.library.check import validate
from slicebase.workspace.atomic import locked
from slicebase.workspace.journal import Journal, Replaced
from slicebase.workspace.settings import Settings
from slicebase.workspace.workspace import Workspace, create_workspace
from tests.codes import code_of
from tests.kills import Killed, killed_at
from tests.library.scratch import ScratchLibrary

SMALL = Settings(overflow_bytes=900)
LONG = "words and words and words and more words and more words"


def a_library(folder: Path) -> ScratchLibrary:
    """Opens a library whose ids are others than those of the files that are there."""
    library = ScratchLibrary(folder, SMALL)
    for _ in range(100):
        library.stamp()
    return library


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / ".slices").glob("*.slice"))}


def put(folder: Path, content: dict[str, bytes]) -> None:
    """Makes slice files as they were."""
    for name in files(folder).keys() - content.keys():
        (folder / ".slices" / name).unlink()
    for name, data in content.items():
        (folder / ".slices" / name).write_bytes(data)


# Every verb that writes several files


def divided(library: ScratchLibrary, overflow: str, body_type: str = "routine", entries: int = 9) -> str:
    file = library.new(body_type, "", f"overflow={overflow}")
    for number in range(entries):
        library.remember(file, f"number{number} {LONG}")
    return file


def a_forgotten_file(library: ScratchLibrary) -> str:
    file = divided(library, "split")
    library.forget(file)
    return file


def a_memory(library: ScratchLibrary) -> str:
    """Two memory files in a folder, of which one is divided."""
    for name in ("a", "b"):
        arguments = {"command": "create", "path": f"/memories/f/{name}.txt", "file_text": "start\n"}
        MemoryTool(library).execute(arguments)
    file = library.list_files()[0].id
    library.define(file, ["contract.write=append", "contract.overflow=archive"])
    for number in range(9):
        library.remember(file, f"fact{number} {LONG}")
    return file


def a_full(body_type: str, overflow: str) -> Callable[[ScratchLibrary], str]:
    def make(library: ScratchLibrary) -> str:
        file = library.new(body_type, "", f"overflow={overflow}")
        for number in count():
            before = files(library.workspace.root)
            library.remember(file, f"number{number} {LONG}")
            if len(files(library.workspace.root)) > len(before):
                break
        put(library.workspace.root, before)
        return file

    return make


def tool(**arguments: str) -> Callable[[ScratchLibrary, str], object]:
    return lambda library, file: MemoryTool(library).execute(arguments)


def remember(library: ScratchLibrary, file: str) -> object:
    return library.remember(file, f"the last {LONG}")


VERBS: dict[str, tuple[Callable[[ScratchLibrary], str], Callable[[ScratchLibrary, str], object]]] = {
    "forget": (lambda library: divided(library, "archive"), ScratchLibrary.forget),
    "restore": (a_forgotten_file, ScratchLibrary.restore),
    "split": (a_full("routine", "split"), remember),
    "archive": (a_full("text", "archive"), remember),
    "archive of rows": (a_full("jsonl", "archive"), remember),
    "delete": (a_memory, tool(command="delete", path="/memories/f")),
    "rename": (a_memory, tool(command="rename", old_path="/memories/f", new_path="/memories/g")),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_is_killed_anywhere_has_done_everything_or_nothing(verb: str, tmp_path: Path) -> None:
    make, act = VERBS[verb]
    file = make(ScratchLibrary(tmp_path, SMALL))
    before = files(tmp_path)
    act(a_library(tmp_path), file)
    after = files(tmp_path)
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    assert len(changed) > 1
    for number in count(1):
        put(tmp_path, before)
        try:
            with killed_at(number):
                act(a_library(tmp_path), file)
        except Killed:
            reader = a_library(tmp_path)
            reader.list_files() if number % 2 else reader.folder.names()
            assert files(tmp_path) in (before, after)
            if files(tmp_path) == before:
                act(reader, file)
                assert files(tmp_path) == after
        else:
            assert number > len(changed)
            break


# The journal itself


OLD, NEW = {"a.slice": b"old a"}, {"a.slice": b"new a", "b.slice": b"new b"}
WRITE = [Replaced("b.slice", None, b"new b"), Replaced("a.slice", b"old a", b"new a")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = create_workspace(tmp_path)
    (workspace.library / "a.slice").write_bytes(b"old a")
    return workspace


def cut_off(workspace: Workspace) -> Journal:
    """Returns the journal of a write that was killed after the first of its two files."""
    journal = Journal(workspace)
    with pytest.raises(Killed), killed_at(3):
        journal.write(WRITE)
    assert files(workspace.root) == {**OLD, "b.slice": b"new b"}
    return journal


def test_a_write_that_fails_is_undone_before_the_error_is_reported(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace

    def fails(source: str, to: str, **folders: int) -> None:
        if (to, files(workspace.root).get("b.slice")) == ("a.slice", b"new b"):
            raise OSError(28, "No space left on device")
        real(source, to, **folders)

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(SlicebaseError) as caught:
        Journal(workspace).write(WRITE)
    assert caught.value.code == "disk-full"
    assert files(workspace.root) == OLD
    assert not workspace.journal.exists()


@pytest.mark.parametrize(("number", "code", "left"), [(2, "cannot-write", OLD), (5, "not-flushed", NEW)])
def test_a_write_that_the_disk_does_not_confirm_stays_if_it_has_begun(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, number: int, code: str, left: dict[str, bytes]
) -> None:
    real, calls = os.fsync, count(1)

    def fails(descriptor: int) -> None:
        if next(calls) == number:  # of the journal, its folder, the two files, and their folder
            raise OSError(5, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(SlicebaseError) as caught:
        Journal(workspace).write(WRITE)
    assert caught.value.code == code
    assert files(workspace.root) == left
    assert not workspace.journal.exists()


@pytest.mark.parametrize("name", ["a.slice", "b.slice"])
def test_nothing_is_undone_after_somebody_has_edited_one_of_the_files(workspace: Workspace, name: str) -> None:
    journal = cut_off(workspace)
    (workspace.library / name).write_bytes(b"edited")
    journal.settle_if_free()
    assert files(workspace.root) == {**OLD, "b.slice": b"new b", name: b"edited"}
    assert not workspace.journal.exists()


def test_a_reader_leaves_a_write_alone_that_goes_on(workspace: Workspace) -> None:
    journal = cut_off(workspace)
    with locked(workspace.lock):
        journal.settle_if_free()
        assert len(files(workspace.root)) == 2
    journal.settle_if_free()
    assert files(workspace.root) == OLD


@pytest.mark.parametrize("name", ["", ".slices", ".slices/a.slice"])
def test_who_checks_files_checks_no_half_of_a_write(workspace: Workspace, name: str) -> None:
    cut_off(workspace)
    assert validate([workspace.root / name]).files == 1
    assert files(workspace.root) == OLD


def test_a_journal_that_somebody_made_reaches_no_file_outside_of_the_library(workspace: Workspace) -> None:
    outside = workspace.root / "note.md"
    outside.write_bytes(b"text")
    entries = [("../note.md", None, digest(b"text")), ("c.slice", None, digest(b"y"))]
    names = ("a\0.slice", "", "..", "payloads")  # not one that a slice file can have
    others = [json.dumps([(name, None, digest(b"y")), ("a.slice", None, digest(b"old a"))]) for name in names]
    for made in (json.dumps(entries), "{", "[[1, 2]]", *others):
        workspace.journal.write_text(made)
        Journal(workspace).settle_if_free()
        assert outside.read_bytes() == b"text"
        assert files(workspace.root) == OLD
        assert not workspace.journal.exists()


def test_a_journal_that_cannot_be_read_now_is_kept(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = cut_off(workspace)
    real = os.open

    def fails(path: object, *given: int, **options: int) -> int:
        if path == workspace.journal:
            raise PermissionError(13, "Permission denied")
        return real(path, *given, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", fails)
        journal.settle_if_free()
        assert code_of(journal.settle) == "cannot-read"
    journal.settle_if_free()
    assert files(workspace.root) == OLD
