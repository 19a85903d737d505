"""A file with the parts that overflow created is one object, in every verb (ruling 32)."""

from pathlib import Path

import pytest

from slicebase.files.body.overflow import ordered
from slicebase.files.create import new_file
from slicebase.files.model import Link
from slicebase.files.slice_file import SliceFile
from slicebase.library.check import validate
from slicebase.library.folder import Logs
from slicebase.workspace.settings import Settings
from tests.codes import code_of
from tests.library.scratch import ScratchLibrary

LIMIT, COUNT = 900, 16
LONG = "words and words and words and more words, and then as many words again, and some words"
LINES = {
    "jsonl": '{{"text": "number {0}. {1}"}}',
    "text": "number {0}. {1}",
    "markdown": "number {0}. {1}",
    "routine": '{{"instruction": "number {0}. {1}"}}',
    "conversation": '{{"role": "user", "content": "number {0}. {1}"}}',
}


@pytest.fixture
def scratch(tmp_path: Path) -> ScratchLibrary:
    return ScratchLibrary(tmp_path, Settings(overflow_bytes=LIMIT))


def filled(scratch: ScratchLibrary, body_type: str, overflow: str, count: int = COUNT) -> str:
    log = scratch.new(body_type, "", f"overflow={overflow}")
    for number in range(count):
        scratch.remember(log, LINES[body_type].format(number, LONG))
    return log


def whole(scratch: ScratchLibrary, file_id: str) -> list[SliceFile]:
    return Logs(scratch.folder).whole(scratch.folder.find(file_id))


@pytest.mark.parametrize("overflow", ["split", "archive"])
@pytest.mark.parametrize("body_type", LINES)
def test_every_type_moves_to_parts_and_is_read_in_the_order_it_was_written(
    scratch: ScratchLibrary, body_type: str, overflow: str
) -> None:
    log = filled(scratch, body_type, overflow)
    files = whole(scratch, log)
    assert len(files) > 2
    text = "".join(file.body.decode() for file in files)
    places = [text.index(f"number {number}. ") for number in range(COUNT)]
    assert places == sorted(places)
    assert all(text.count(f"number {number}. ") == 1 for number in range(COUNT))
    recalled = scratch.recall(log).text
    places = [recalled.index(f"number {number}. ") for number in range(COUNT)]
    assert places == sorted(places)
    report = validate([scratch.folder.path], scratch.workspace.root)
    assert not report.counts["error"] + report.counts["warning"]


@pytest.mark.parametrize("overflow", ["split", "archive"])
def test_a_routine_is_compiled_with_all_its_parts_in_order(scratch: ScratchLibrary, overflow: str) -> None:
    log = filled(scratch, "routine", overflow)
    lines = [line for line in scratch.routine(log).splitlines() if "number" in line]
    assert lines == [f"{number + 1}. number {number}. {LONG}" for number in range(COUNT)]
    part = whole(scratch, log)[-1 if overflow == "split" else 0]
    assert "1. number" in scratch.routine(part.id or "")


def test_a_broken_step_in_a_part_stops_the_routine(scratch: ScratchLibrary) -> None:
    log = filled(scratch, "routine", "split")
    path = scratch.path(whole(scratch, log)[-1].id or "")
    path.write_bytes(path.read_bytes() + b"no json\n")
    assert code_of(scratch.routine, log) == "broken-file"


@pytest.mark.parametrize("overflow", ["split", "archive"])
def test_a_row_is_found_by_its_file_wherever_overflow_moved_it(scratch: ScratchLibrary, overflow: str) -> None:
    log = scratch.new("jsonl", "", f"overflow={overflow}")
    ids = [scratch.remember(log, f"number {number}. {LONG}").refs[0].rpartition("/")[2] for number in range(COUNT)]
    for at in (0, 6, 11):
        assert f"number {at}. " in scratch.recall(f"row:{log}/{ids[at]}").text
    note = scratch.new()
    scratch.connect(note, "see_also", f"row:{log}/{ids[0]}")
    scratch.remember(log, "The newest.", supersedes=[ids[0], ids[11]])
    assert "number 0. " not in scratch.recall(log).text


def test_what_is_forgotten_and_restored_is_the_whole(scratch: ScratchLibrary) -> None:
    log = filled(scratch, "jsonl", "split")
    first, *_, last = whole(scratch, log)
    before = {file.id: scratch.path(file.id or "").read_bytes() for file in whole(scratch, log)}
    scratch.forget(last.id or "", reason="alone")
    assert scratch.forget(log, reason="all").changed
    assert scratch.search("words").total == 0
    assert code_of(scratch.remember, log, "x") == "archived"
    assert scratch.restore(log).changed
    assert scratch.file(last.id or "").archived
    assert f"number {COUNT - 1}. " not in scratch.recall(log).text
    scratch.restore(last.id or "")
    assert {file_id: scratch.path(file_id or "").read_bytes() for file_id in before} == before
    assert first.id == log


@pytest.mark.parametrize("overflow", ["split", "archive"])
def test_a_purge_takes_all_parts_and_a_second_one_what_was_left(scratch: ScratchLibrary, overflow: str) -> None:
    log = filled(scratch, "text", overflow)
    files = whole(scratch, log)
    kept = scratch.path(files[1].id or "").read_bytes()
    change = scratch.purge(log)
    assert change.purge
    assert set(change.purge.files) == {file.id for file in files}
    assert not any(b"words" in path.read_bytes() for path in scratch.folder.path.glob("*.slice"))
    scratch.path(files[1].id or "").write_bytes(kept)  # as if the purge had been killed before this part
    scratch.purge(log)
    assert not any(b"words" in path.read_bytes() for path in scratch.folder.path.glob("*.slice"))


def test_the_contract_of_the_whole_governs_its_parts(scratch: ScratchLibrary) -> None:
    log = filled(scratch, "jsonl", "split")
    part = whole(scratch, log)[-1].id or ""
    scratch.define(log, ["contract.overflow=archive"])
    assert [scratch.remember(log, f"more {number} {LONG}").overflow for number in range(COUNT)].count("archive")
    texts = [text for file in whole(scratch, log) for text in file.body.decode().splitlines()]
    assert [line.split('"text":"')[1].split()[1].rstrip(".") for line in texts] == [*map(str, range(COUNT))] * 2
    scratch.define(log, ["contract.write=supersede"])
    assert code_of(scratch.remember, log, f"number 3. {LONG}") == "topic-exists"
    scratch.define(log, ["contract.write=error"])
    assert code_of(scratch.remember, part, "x") == "write-mode"


def test_a_body_with_parts_is_not_replaced_in_one_of_them(scratch: ScratchLibrary) -> None:
    note = filled(scratch, "text", "split")
    scratch.define(note, ["contract.write=replace"])
    assert code_of(scratch.remember, note, "A summary.") == "write-mode"
    for part in whole(scratch, note)[1:]:
        scratch.forget(part.id or "")
    scratch.remember(note, "A summary.")
    assert scratch.body(note) == "A summary.\n"


def test_parts_of_parts_and_parts_of_each_other_come_to_an_end() -> None:
    def file(name: str, *links: Link) -> SliceFile:
        return new_file(id=name, title="T", summary="S.", body_type="text", links=links)

    chain = [file(f"{at:05}", Link("part_of", f"{at - 1:05}", "overflow")) for at in range(1, 1200)]
    assert [each.id for each in ordered(file("00000"), chain)] == [f"{at:05}" for at in range(1200)]
    one = file("a", Link("has_part", "b", "archive"), Link("part_of", "b", "overflow"))
    two = file("b", Link("has_part", "a", "overflow"), Link("part_of", "a", "archive"))
    assert [each.id for each in ordered(one, [two])] == ["b", "a"]


def test_a_call_and_its_result_in_another_part_belong_together(scratch: ScratchLibrary) -> None:
    log = scratch.new("conversation", "", "overflow=split")
    scratch.define(log, ["body.conversation={includes_tool_calls: true, participants: [user, tool_call, tool_result]}"])
    scratch.remember(log, f'{{"role": "user", "content": "{LONG * 4}"}}')
    scratch.remember(log, f'{{"role": "tool_call", "name": "{LONG}", "call_id": "c"}}')
    assert scratch.remember(log, f'{{"role": "tool_result", "content": "{LONG * 6}", "call_id": "c"}}').overflow
    scratch.remember(log, f'{{"role": "user", "content": "{LONG * 6}"}}')
    assert len(whole(scratch, log)) == 3
    report = validate([scratch.folder.path], scratch.workspace.root)
    assert not report.counts["error"] + report.counts["warning"], report.findings
    scratch.remember(log, '{"role": "tool_result", "content": "again", "call_id": "c"}')
    report = validate([scratch.folder.path], scratch.workspace.root)
    assert [finding.rule for finding in report.findings if finding.rule.startswith("call")] == ["call-pairs"]
