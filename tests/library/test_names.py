"""Ids without a prefix, and rows by a part of their id."""

from pathlib import Path

import pytest

from tests.codes import code_of
from tests.library.scratch import ScratchLibrary

ROW = '{"_meta": {"id": "%s", "created_at": "2026-01-01T00:00:00Z"}, "text": "%s"}'


@pytest.fixture
def scratch(tmp_path: Path) -> ScratchLibrary:
    return ScratchLibrary(tmp_path)


def test_a_row_is_found_by_its_id_alone_and_by_a_part_of_it(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl")
    rows = scratch.remember(log, '{"text": "one"}\n{"text": "two"}').refs
    ids = [row.split("/")[1] for row in rows]
    for given in (rows[0], ids[0], ids[0][:25] if ids[0][:25] != ids[1][:25] else ids[0]):
        assert [each.piece.ref for each in scratch.recall(given).excerpts] == [rows[0]]


def test_rows_that_begin_alike_are_ambiguous_in_their_file(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", "\n".join(ROW % (name, "x") for name in ("row-alike-1", "row-alike-2", "row")))
    assert code_of(scratch.recall, f"row:{log}/row-alike") == "ambiguous-id"
    assert code_of(scratch.recall, f"row:{log}/row-a") == "short-id"
    assert code_of(scratch.recall, f"row:{log}/gone") == "no-row"
    assert scratch.recall(f"row:{log}/row-alike-2").excerpts[0].piece.ref == f"row:{log}/row-alike-2"
    assert scratch.recall(f"row:{log[:25]}/row").excerpts[0].piece.ref == f"row:{log}/row"


def test_a_file_comes_before_a_row_whose_id_begins_alike(scratch: ScratchLibrary) -> None:
    """Rows of a file are often written in the moment in which it is created."""
    scratch.create("T", "S.", id="alike-file-and-row")
    scratch.new("jsonl", ROW % ("alike-file-and-rows", "x"))
    assert scratch.recall("alike-file").excerpts[0].piece.ref == "file:alike-file-and-row"
    assert scratch.recall("alike-file-and-rows").excerpts[0].piece.ref.startswith("row:")


def test_what_names_nothing_is_a_missing_file(scratch: ScratchLibrary) -> None:
    assert code_of(scratch.recall, "nothing-like-it") == "no-file"
    assert code_of(scratch.recall, "turn:nothing") == "bad-reference"


def test_a_complete_id_is_completed_without_reading_other_files(
    scratch: ScratchLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A context does so for each of its pieces."""
    for name in ("first-note", "second-note", "third-note"):
        scratch.create("T", "S.", id=name)
    asked: list[str] = []
    monkeypatch.setattr(scratch.folder, "beginning", asked.append)
    assert scratch.recall("file:second-note").excerpts[0].piece.ref == "file:second-note"
    assert asked == []
