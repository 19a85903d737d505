"""The rows of a log for people to page through."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from time import sleep

import pytest

from slicebase import Slicebase, SlicebaseError
from slicebase.files.slice_file import SliceFile
from slicebase.library import log_rows as module
from slicebase.library.log_rows import LogRows, log_rows
from tests.library.samples import put, rows


@pytest.fixture
def memory(tmp_path: Path) -> Slicebase:
    return Slicebase.init(tmp_path)


def read(memory: Slicebase, name: str = "log") -> LogRows:
    return log_rows(memory.library.reader().logs, memory.folder.find(name))


def test_each_row_is_grouped_with_what_it_replaced_and_says_where_it_is(memory: Slicebase) -> None:
    body = rows({"id": "a", "text": "1"}, {"id": "b", "text": "2", "supersedes": ["a"]}, {"id": "c", "text": "3"})
    put(memory.workspace, "log", body + "no row\n", type="jsonl")
    found = read(memory)
    assert [[(line.row.id, line.holds) for line in group] for group in found.groups] == [
        [("c", True)],
        [("b", True), ("a", False)],
    ]
    assert (found.total, found.active, found.unreadable, found.forks) == (3, 2, 1, 0)
    first = memory.folder.find("log").body_line
    assert [line.line for group in found.groups for line in group] == [first + 2, first + 1, first]
    assert found.group_of("a", "log") == 1
    with pytest.raises(SlicebaseError) as error:
        found.group_of("nothing", "log")
    assert error.value.code == "no-row"


def test_the_parts_of_a_log_are_read_together(memory: Slicebase) -> None:
    put(memory.workspace, "log", rows({"id": "b", "text": "2", "supersedes": ["a"]}), type="jsonl")
    link = {"rel": "part_of", "to": "log"}
    put(memory.workspace, "old", rows({"id": "a", "text": "1"}), type="jsonl", links=[link])
    (group,) = read(memory).groups
    assert [(line.row.id, line.file) for line in group] == [("b", "log"), ("a", "old")]


def test_a_log_is_read_again_only_when_its_bytes_change(memory: Slicebase, monkeypatch: pytest.MonkeyPatch) -> None:
    put(memory.workspace, "log", rows({"id": "a", "text": "1"}), type="jsonl")
    assert read(memory) is read(memory)
    put(memory.workspace, "log", rows({"id": "b", "text": "1"}), type="jsonl")
    assert [line.row.id for group in read(memory).groups for line in group] == ["b"]
    monkeypatch.setattr(module, "_LARGEST", 1)
    kept = read(memory)
    put(memory.workspace, "other", rows({"id": "a", "text": "1"}), type="jsonl")
    read(memory, "other")
    assert read(memory) is not kept


def test_another_body_has_no_rows(memory: Slicebase) -> None:
    put(memory.workspace, "page", "text")
    with pytest.raises(SlicebaseError) as error:
        read(memory, "page")
    assert error.value.code == "write-mode"


def test_threads_that_want_a_log_at_once_read_it_once(memory: Slicebase, monkeypatch: pytest.MonkeyPatch) -> None:
    put(memory.workspace, "log", rows({"id": "a", "text": "read by many"}), type="jsonl")
    times, together, plain = list[int](), Barrier(4), module._read

    def counted(files: list[SliceFile]) -> LogRows:
        times.append(1)
        sleep(0.1)
        return plain(files)

    def one(_: int) -> LogRows:
        with Slicebase.open(memory.root) as own:
            file = own.folder.find("log")
            logs = own.library.reader().logs
            together.wait(20)
            return log_rows(logs, file)

    monkeypatch.setattr(module, "_read", counted)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(one, range(4)))
    assert len(times) == 1
    assert all(each is found[0] for each in found)
