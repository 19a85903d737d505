"""Content that is in two parts is found, cited and counted once before the doctor has run, as it is afterwards."""

import json
from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.files.body.overflow import joined, parts_of
from slicebase.library.check import validate
from slicebase.library.repairs import finish_overflows, lines_in_two_files, remove_repeated, unfinished_overflows
from slicebase.workspace.settings import Settings
from tests.library.scratch import ScratchLibrary

TYPES = ["jsonl", "conversation", "routine", "text", "markdown"]
LONG = "words and words and words and more words and more " * 3


@pytest.fixture
def scratch(tmp_path: Path) -> ScratchLibrary:
    return ScratchLibrary(tmp_path, Settings(overflow_bytes=2200))


def write(scratch: ScratchLibrary, file: str, word: str) -> None:
    texts = {
        "conversation": json.dumps({"role": "user", "content": f"{word} {LONG}"}),
        "markdown": f"## {LONG}\n\n{word}",
    }
    scratch.remember(file, texts.get(scratch.file(file).body_type or "", f"{word} {LONG}"))


def overflow(scratch: ScratchLibrary, file: str, word: str) -> bytes:
    """Writes until content moves to an archive. Returns the bytes of the file before that."""
    known, number = len(parts_of(scratch.file(file))), 0
    while True:
        before = scratch.path(file).read_bytes()
        write(scratch, file, f"{word}{number}")
        number += 1
        if len(parts_of(scratch.file(file))) > known:
            return before


def started(scratch: ScratchLibrary, body_type: str) -> str:
    file = scratch.new(body_type, "", "overflow=archive", "cleanup=Summarize when over 2 entries.")
    for number in range(4):
        write(scratch, file, f"number{number}")
    return file


def killed(scratch: ScratchLibrary, body_type: str) -> str:
    """Returns a file whose writer was killed when it had written the archive, and not yet the file."""
    file = started(scratch, body_type)
    scratch.path(file).write_bytes(overflow(scratch, file, "more"))
    return file


def branched(scratch: ScratchLibrary, body_type: str) -> str:
    """Returns a file of which two branches archived the same content, the second one more of it."""
    file = started(scratch, body_type)
    base = scratch.path(file).read_bytes()
    overflow(scratch, file, "ours")
    ours = scratch.file(file)
    (first,) = parts_of(ours)
    part = scratch.path(first).read_bytes()
    scratch.path(first).unlink()
    scratch.path(file).write_bytes(base)
    write(scratch, file, f"theirs {LONG}")
    overflow(scratch, file, "theirs")
    (second,) = parts_of(scratch.file(file))
    scratch.path(first).write_bytes(part)
    scratch.path(file).write_bytes(joined(ours, second, "archive").to_bytes())
    return file


def found(scratch: ScratchLibrary, file: str) -> dict[str, object]:
    """Returns what verbs say about the oldest entry, and how much they count."""
    results = scratch.search("number0")
    with Slicebase.open(scratch.workspace.root) as memory:
        return {
            "search": [(hit.entry.id, len(hit.found)) for hit in results.hits],
            "recall": scratch.recall(file, rows="all").text.count("number0"),
            "cited": memory.cite(f"file:{file}", quote="number0").quote,
            "due": [due.as_json() for due in memory.library.due()],
            "rows": memory.status().rows,
            "findings": {each.rule for each in validate([scratch.folder.path]).findings} - {"row-repeated"},
        }


@pytest.mark.parametrize("body_type", TYPES)
def test_a_killed_move_is_found_and_counted_once_where_people_read_it(scratch: ScratchLibrary, body_type: str) -> None:
    file = killed(scratch, body_type)
    before = found(scratch, file)
    assert before["search"] == [(file, 1)]
    with Slicebase.open(scratch.workspace.root) as memory:
        pieces = memory.context("words and more", tokens=4000).pieces
        assert {piece.ref.partition(":")[2][: len(file)] for piece in pieces} == {file}
        assert sum("number0" in piece.text for piece in pieces) == 1
    assert finish_overflows(scratch.folder) == [file]
    assert found(scratch, file) == before


@pytest.mark.parametrize("body_type", TYPES)
def test_a_killed_move_of_a_body_with_crlf_is_undone(scratch: ScratchLibrary, body_type: str) -> None:
    file = scratch.new(body_type, "", "overflow=archive")
    scratch.path(file).write_bytes(scratch.path(file).read_bytes().replace(b"\n", b"\r\n"))
    before = overflow(scratch, file, "number")
    scratch.path(file).write_bytes(before)
    assert finish_overflows(scratch.folder) == [file]
    assert [*scratch.folder.path.glob("*.slice")] == [scratch.path(file)]
    assert scratch.path(file).read_bytes() == before


@pytest.mark.parametrize("body_type", TYPES)
def test_what_two_branches_archived_is_cited_and_counted_once(scratch: ScratchLibrary, body_type: str) -> None:
    file = branched(scratch, body_type)
    before = found(scratch, file)
    assert before["search"] == [(parts_of(scratch.file(file))[0], 1)]
    with Slicebase.open(scratch.workspace.root) as memory:
        memory.context("words and more", tokens=4000)
        remove_repeated(scratch.folder)
        drifted = [each for each in memory.verify().findings if each.status == "DRIFTED"]
        assert body_type != "jsonl" or not drifted  # of other types, a piece is a file or a page that got shorter
    assert found(scratch, file) == before


def test_a_killed_move_that_somebody_has_written_to_is_found_where_it_is(scratch: ScratchLibrary) -> None:
    """It is not certain what it is: both may be the only one that has a word."""
    file = killed(scratch, "text")
    assert scratch.search("number0").total == 1
    scratch.path(file).write_bytes(scratch.path(file).read_bytes().replace(b"number1", b"changed1"))
    assert len(unfinished_overflows(scratch.folder).strays) == 1
    assert scratch.search("number1").total == 1
    assert scratch.search("changed1").total == 1


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_hint_for_a_row_in_two_files_is_beside_the_copy_that_does_not_count(
    scratch: ScratchLibrary, end: bytes
) -> None:
    """A part that its file does not name, or a forgotten one, comes before it in the order of the content."""

    def hints() -> set[tuple[str, str]]:
        return {(Path(each.file).stem, each.hint) for each in validate([scratch.folder.path]).findings}

    log = killed(scratch, "jsonl")
    scratch.path(log).write_bytes(scratch.path(log).read_bytes().replace(b"\n", end))
    (copy,) = (path.stem for path in scratch.folder.path.glob("*.slice") if path.stem != log)
    scratch.path(copy).write_bytes(scratch.path(copy).read_bytes().replace(b"\n", end))
    assert hints() == {(copy, "its file does not name this part: `tt doctor` says what to do")}
    scratch.path(log).write_bytes(joined(scratch.file(log), copy, "archive").to_bytes())
    assert hints() == {(log, "`tt doctor --fix` removes it here")}
    scratch.forget(copy)
    assert hints() == {(copy, "it counts once: keep it, or remove it here")}
    scratch.restore(copy)
    remove_repeated(scratch.folder)
    assert hints() == set()


def test_due_counts_no_row_that_an_archive_has_too(scratch: ScratchLibrary) -> None:
    """As after a conflict in git, in which somebody kept the rows."""
    log = scratch.new("jsonl", "", "overflow=archive", "cleanup=Summarize when over 2 entries.")
    overflow(scratch, log, "row")
    kept = scratch.file(log)
    archived = scratch.file(parts_of(kept)[0]).body
    scratch.path(log).write_bytes(kept.with_body(archived + kept.body).to_bytes())
    now = [due.as_json() for due in scratch.due()]
    remove_repeated(scratch.folder)
    assert scratch.file(log).body == kept.body
    assert [due.as_json() for due in scratch.due()] == now


@pytest.mark.parametrize("time", ["2026-01-01T10:00:00Z", None])
def test_a_line_that_a_conflict_kept_beside_its_archive_is_named_if_it_has_a_time(
    scratch: ScratchLibrary, time: str | None
) -> None:
    """A line without one may have been said twice."""
    file = started(scratch, "conversation")
    overflow(scratch, file, "more")
    kept, part = scratch.file(file), scratch.file(parts_of(scratch.file(file))[0])
    line = b'{"role":"user","content":"yes"%s}\n' % (b',"ts":"%s"' % time.encode() if time else b"")
    assert [*lines_in_two_files(scratch.folder)] == []
    scratch.path(file).write_bytes(kept.with_body(kept.body + line).to_bytes())
    scratch.path(part.id or "").write_bytes(part.with_body(part.body + line).to_bytes())
    found = [(each.file.id, each.other.id, each.lines) for each in lines_in_two_files(scratch.folder)]
    assert found == ([(file, part.id, 1)] if time else [])
