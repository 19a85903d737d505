"""The chunks of a library, while others change it."""

from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.files.body.overflow import parts_of
from slicebase.workspace.settings import Settings
from tests.library.scratch import ScratchLibrary


def test_a_file_that_another_process_adds_to_the_index_meanwhile_is_left_out(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory, Slicebase.open(tmp_path) as other:
        memory.library.create("Old", "Text.", body="# Retries\n\nThey wait four seconds.\n")
        chunks, now = memory.library_chunks, memory.surroundings.now()
        assert len(chunks.ranked("retries", 10, now)) == 1
        new = other.library.create("New", "Text.", body="# Retries\n\nThey wait eight seconds.\n")
        found = other.library_chunks.ranked("retries", 10, now)
        assert len(found) == 2
        # `chunks` listed the files before the new one was there, and found it in the index that `other` has updated.
        candidates = chunks.candidates(found, now)
        assert [candidate.corpus != f"file:{new.id}" for candidate in candidates] == [True]
        assert len(memory.context("retries", 500).pieces) == 2


def test_what_the_last_file_had_is_in_no_context_when_the_file_is_gone(tmp_path: Path) -> None:
    """A folder without slice files is not read; the index still forgets what it has of them."""
    with Slicebase.init(tmp_path) as memory:
        file = memory.library.create("Old", "Text.", body="# Retries\n\nThey wait four seconds.\n")
        assert len(memory.context("retries", 500).pieces) == 1
        (tmp_path / ".slices" / f"{file.id}.slice").unlink()
        assert not memory.context("retries", 500).pieces
        assert not len(memory.library_chunks)


@pytest.mark.parametrize("body_type", ["text", "routine"])
def test_each_part_of_a_divided_file_is_in_a_context_with_its_own_text(tmp_path: Path, body_type: str) -> None:
    """Also in the context of what was changed last, with which a session starts."""
    scratch = ScratchLibrary(tmp_path, Settings(overflow_bytes=1200))
    file = scratch.new(body_type, "", "overflow=archive")
    for number in range(9):
        scratch.remember(file, f"number{number} {'of some words ' * 12}")
    archives = parts_of(scratch.file(file))
    assert archives
    with Slicebase.open(tmp_path) as memory:
        for context in (memory.context("number words", tokens=9000), memory.project_context(9000)):
            texts = {piece.ref: piece.text for piece in context.pieces}
            assert texts.keys() == {f"file:{name}" for name in (file, *archives)}
            assert all(sum(f"number{number} " in text for text in texts.values()) == 1 for number in range(9))
            assert "number8 " in texts[f"file:{file}"]
        assert not [each for each in memory.verify().findings if each.status in ("BROKEN", "DRIFTED")]
