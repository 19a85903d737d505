"""Logs of several files, found by reading all files and by asking the index (ruling 32)."""

from pathlib import Path

from slicebase.library.logs import Logs
from tests.library.scratch import ScratchLibrary


def ids(logs: Logs, scratch: ScratchLibrary, file_id: str) -> list[str | None]:
    return [part.id for part in logs.of(scratch.folder.find(file_id))]


def test_files_that_part_of_or_has_part_joins_are_one_log_whichever_file_is_asked_for(tmp_path: Path) -> None:
    scratch = ScratchLibrary(tmp_path)
    one, two, three, other = (scratch.new("jsonl") for _ in range(4))
    note = scratch.new("markdown")
    scratch.connect(two, "part_of", one)
    scratch.connect(two, "has_part", three)
    scratch.connect(note, "part_of", one)
    scratch.connect(other, "see_also", one)
    plain, quick = Logs(scratch.folder), Logs(scratch.folder, scratch.part_links)
    for file_id in (one, two, three, other, note):
        assert ids(plain, scratch, file_id) == ids(quick, scratch, file_id)
        assert set(ids(plain, scratch, file_id)) == ({one, two, three} if file_id in (one, two, three) else {file_id})


def test_a_path_to_a_file_of_the_library_counts_as_its_id(tmp_path: Path) -> None:
    """Ruling 29."""
    scratch = ScratchLibrary(tmp_path)
    one, two = scratch.new("jsonl"), scratch.new("jsonl")
    scratch.define(two, [f"links=[{{rel: part_of, to: ./{one}.slice}}]"])
    for logs in (Logs(scratch.folder), Logs(scratch.folder, scratch.part_links)):
        assert ids(logs, scratch, one) == [one, two]


def test_a_part_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    scratch = ScratchLibrary(tmp_path)
    one, two = scratch.new("jsonl", '{"text": "x"}'), scratch.new("jsonl")
    scratch.connect(one, "has_part", two)
    scratch.path(two).write_bytes(b"broken")
    for logs in (Logs(scratch.folder), Logs(scratch.folder, scratch.part_links)):
        assert ids(logs, scratch, one) == [one]
