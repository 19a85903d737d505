"""The chunks of a library, while others change it."""

from pathlib import Path

from slicebase import Slicebase


def test_a_file_that_another_process_adds_to_the_index_meanwhile_is_left_out(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory, Slicebase.open(tmp_path) as other:
        memory.library.create("Old", "Text.", body="# Retries\n\nThey wait four seconds.\n")
        chunks, now = memory.library_chunks, memory.surroundings.now()
        assert len(chunks.ranked("retries", 10, now)) == 1
        new = other.library.create("New", "Text.", body="# Retries\n\nThey wait eight seconds.\n")
        found = other.library_chunks.ranked("retries", 10, now)
        assert len(found) == 2
        # `chunks` listed the files before the new one was there, and found it in the index that `other` has updated.
        candidates = [candidate for each in found if (candidate := chunks.candidate(each, now))]
        assert [candidate.corpus != f"file:{new.id}" for candidate in candidates] == [True]
        assert len(memory.context("retries", 500).pieces) == 2
