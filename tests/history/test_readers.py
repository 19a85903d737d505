"""Files that are read ahead in other processes give the same result in the same order."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from slicebase.history import readers
from slicebase.history.annotate import Annotator
from slicebase.history.imports import import_inputs
from slicebase.history.inputs import inputs
from slicebase.importers.values import Options
from slicebase.truth.truth import Truth
from tests.history.test_follow import fresh, stored
from tests.importers.reading import jsonl
from tests.importers.test_claude_code import SESSION, record, uuid
from tests.importers.test_subagents import MAIN, STEPS

TOKEN = "ghp_" + "a1B2" * 9


def write(folder: Path) -> None:
    (folder / SESSION / "subagents").mkdir(parents=True)
    (folder / f"{SESSION}.jsonl").write_bytes(jsonl(MAIN))
    (folder / SESSION / "subagents" / "agent-a77.jsonl").write_bytes(jsonl(STEPS))
    for number in range(4):
        lines = [
            record(100 + 600 * number + each, None, "user", f"word {each}", sessionId=f"s{number}")
            for each in range(600)
        ]
        (folder / f"s{number}.jsonl").write_bytes(jsonl([*lines, record(9000 + number, None, "user", TOKEN)]))
    (folder / "chat.json").write_text('[{"role": "user", "content": "hello", "name": "Ann"}]')
    (folder / "broken.jsonl").write_bytes(jsonl([record(8000, None, "user", "x", sessionId="s9")]) + b"{\n")
    (folder / "other.json").write_text("{}")


def imported(folder: Path) -> tuple[dict[str, Any], Any]:
    with fresh() as (truth, _):
        account = import_inputs(truth, inputs([folder]), Options(), annotate=Annotator(truth))
        counts = account.added, account.known, account.edges, account.complete, account.report.redacted
        notes = [(note.reason, note.where, note.detail) for note in account.report.notes]
        return stored(truth), (counts, notes, account.content_left_out)


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "LEAST_BYTES", 0)
    monkeypatch.setattr(readers, "processors", lambda: 3)


def test_several_processes_give_what_one_gives(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    write(tmp_path)
    alone = imported(tmp_path)
    request.getfixturevalue("several")
    assert imported(tmp_path) == alone
    assert alone[1][0][4]["github-token"] == 4


@pytest.mark.usefixtures("several")
def test_what_a_process_does_not_finish_is_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    alone = imported(tmp_path)
    ends = iter(range(100))

    def cut(stream: Any) -> Any:
        for frame in frames(stream):
            if next(ends) == 3:
                return
            yield frame

    frames = readers._frames_of
    monkeypatch.setattr(readers, "_frames_of", cut)
    assert imported(tmp_path) == alone
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    assert imported(tmp_path) == alone


@pytest.mark.usefixtures("several")
@pytest.mark.filterwarnings("error")  # also of a thread that ends in an error
def test_what_an_interpreter_prints_as_it_starts_is_no_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "files")
    alone = imported(tmp_path / "files")
    (tmp_path / "sitecustomize.py").write_text("print('Loading the usual modules', flush=True)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert imported(tmp_path / "files") == alone


@pytest.mark.usefixtures("several")
def test_an_error_of_one_file_costs_that_file(tmp_path: Path, truth: Truth) -> None:
    write(tmp_path)
    (tmp_path / f"{TOKEN}.json").write_text('[{"role": "user", "content": "in a session with a secret for a name"}]')
    account = import_inputs(truth, inputs([tmp_path]), Options(), annotate=Annotator(truth))
    assert [error.code for error in account.unreadable] == ["holds-secret"]
    assert len(account.complete) == 8
    assert uuid(10) in truth.turns.find([uuid(10)])
    if os.geteuid():
        (tmp_path / "s2.jsonl").chmod(0)
        assert import_inputs(truth, inputs([tmp_path]), Options()).unreadable
