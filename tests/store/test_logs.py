"""Logs of several files, found by reading all of them and by asking the index (ruling 32)."""

from pathlib import Path

from slicebase.store.logs import Logs
from tests.store.libraries import Desk


def ids(logs: Logs, desk: Desk, file_id: str) -> list[str | None]:
    return [part.id for part in logs.of(desk.shelf.find(file_id))]


def test_files_that_part_of_or_has_part_joins_are_one_log_from_wherever_it_is_asked(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    one, two, three, other = (desk.new("jsonl") for _ in range(4))
    note = desk.new("markdown")
    desk.connect(two, "part_of", one, desk.stamp)
    desk.connect(two, "has_part", three, desk.stamp)
    desk.connect(note, "part_of", one, desk.stamp)
    desk.connect(other, "see_also", one, desk.stamp)
    plain, quick = Logs(desk.shelf), Logs(desk.shelf, desk.part_links)
    for file_id in (one, two, three, other, note):
        assert ids(plain, desk, file_id) == ids(quick, desk, file_id)
        assert set(ids(plain, desk, file_id)) == ({one, two, three} if file_id in (one, two, three) else {file_id})


def test_a_path_to_a_file_of_the_library_counts_as_its_id(tmp_path: Path) -> None:
    """Ruling 29."""
    desk = Desk(tmp_path)
    one, two = desk.new("jsonl"), desk.new("jsonl")
    desk.define(two, [f"links=[{{rel: part_of, to: ./{one}.slice}}]"], desk.stamp)
    for logs in (Logs(desk.shelf), Logs(desk.shelf, desk.part_links)):
        assert ids(logs, desk, one) == [one, two]


def test_a_part_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    one, two = desk.new("jsonl", '{"text": "x"}'), desk.new("jsonl")
    desk.connect(one, "has_part", two, desk.stamp)
    desk.path(two).write_bytes(b"broken")
    for logs in (Logs(desk.shelf), Logs(desk.shelf, desk.part_links)):
        assert ids(logs, desk, one) == [one]
