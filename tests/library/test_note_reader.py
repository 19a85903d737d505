"""Notes that are read with the help of another process give the same pointers and the same index."""

import os
import sys
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from slicebase.library import note_reader
from slicebase.library.notes import NotesReport
from slicebase.workspace import processes
from tests.library.samples import everything
from tests.library.scratch import ScratchLibrary

KEY = "AKIA" + "Z7PQ4M2XW6RT5K3N"


def added(root: Path) -> tuple[NotesReport, dict[str, bytes], Any, dict[str, int]]:
    """Adds twenty notes, of which one holds a secret, one is no text and one has a secret in its name."""
    library = ScratchLibrary(root)
    docs = root / "docs"
    docs.mkdir()
    for number in range(20):
        (docs / f"n{number:02}.md").write_text(f"# Note {number}\n\nSee [[n{number + 1:02}]] about herons.\n")
    (docs / "n03.md").write_text(f"The key is {KEY}.\n")
    (docs / "n04.md").write_bytes(b"\xff\xfe\x00broken")
    (docs / f"{KEY}.md").write_text("A name.\n")
    for path in docs.iterdir():
        os.utime(path, (1_700_000_000, 1_700_000_000))
    report = library.add(docs)
    files = {path.name: path.read_bytes() for path in library.folder.path.iterdir()}
    found = everything(library, ["herons", "key"])[1:]
    return report, files, found, dict(library.surroundings.redaction.counts)


@pytest.fixture
def helped(monkeypatch: pytest.MonkeyPatch) -> list[Popen[bytes]]:
    """Returns the processes that help, also where only one can run."""
    started: list[Popen[bytes]] = []

    def serving(module: str) -> Popen[bytes]:
        started.append(start(module))
        return started[-1]

    start = processes.serving
    monkeypatch.setattr(note_reader, "LEAST_NOTES", 2)
    monkeypatch.setattr(note_reader, "processors", lambda: 2)
    monkeypatch.setattr(note_reader, "serving", serving)
    return started


def test_two_processes_give_what_one_gives(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = added(tmp_path / "alone")
    started = request.getfixturevalue("helped")
    read = []

    def heard(reader: note_reader.HelpedReader) -> note_reader.ReadNotes | None:
        read.append(received(reader))
        return read[-1]

    received = note_reader.HelpedReader._received
    monkeypatch.setattr(note_reader.HelpedReader, "_received", heard)
    assert added(tmp_path / "helped") == alone
    assert [process.returncode for process in started] == [0]
    assert [len(each.versions) + len(each.skipped) for each in read if each] == [10]
    assert (alone[0].added, len(alone[0].skipped)) == (19, 2)


def test_what_the_other_process_does_not_do_is_done_here(
    tmp_path: Path, helped: list[Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(note_reader, "processors", lambda: 1)
        alone = added(tmp_path / "alone")
    assert not helped

    def killed(reader: note_reader.HelpedReader) -> note_reader.ReadNotes | None:
        helped[-1].kill()
        helped[-1].wait()
        return received(reader)

    received = note_reader.HelpedReader._received
    with monkeypatch.context() as patch:
        patch.setattr(note_reader.HelpedReader, "_received", killed)
        assert added(tmp_path / "killed") == alone
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    assert added(tmp_path / "none") == alone


@pytest.mark.parametrize("words", ["Loading the usual modules", "INFO ready", "I12\n."])
def test_what_an_interpreter_prints_as_it_starts_is_no_answer(
    words: str, tmp_path: Path, helped: list[Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(note_reader, "processors", lambda: 1)
        alone = added(tmp_path / "alone")
    (tmp_path / "sitecustomize.py").write_text(f"print({words!r}, flush=True)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert added(tmp_path / "printing") == alone
    assert len(helped) == 1


def test_no_process_stays_after_an_error(tmp_path: Path, helped: list[Popen[bytes]]) -> None:
    library = ScratchLibrary(tmp_path / "root")
    docs = tmp_path / "root" / "docs"
    docs.mkdir()
    for number in range(6):
        (docs / f"{number}.md").write_text("A note.\n")

    def interrupted(done: int, total: int) -> None:
        raise KeyboardInterrupt

    library.index.progress = interrupted
    with pytest.raises(KeyboardInterrupt):
        library.add(docs)
    assert [process.returncode is not None for process in helped] == [True]
