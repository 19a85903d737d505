"""Files that grow too large (§ Overflow, ruling 32)."""

from pathlib import Path

import pytest

from slicebase.files.body.supersession import active
from slicebase.files.slice_file import SliceFile
from slicebase.store.checkup import validate
from slicebase.store.library import Change
from slicebase.store.settings import Settings
from slicebase.store.settling import finish_all, unfinished
from tests.codes import code_of
from tests.store.libraries import Desk

LIMIT = 1500
LONG = "words and words and words and more words"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, Settings(overflow_bytes=LIMIT))


def fill(desk: Desk, file_id: str, count: int, **how: str) -> list[Change]:
    return [
        desk.remember(file_id, f"{number} {LONG}", desk.stamp, section=how.get("section")) for number in range(count)
    ]


def parts(desk: Desk, file_id: str) -> list[SliceFile]:
    return [desk.file(link.to or "") for link in desk.file(file_id).links if link.rel == "has_part"]


def is_well_formed(desk: Desk) -> bool:
    return not validate([desk.shelf.folder], desk.workspace.root).counts["error"]


@pytest.mark.parametrize("body_type", ["jsonl", "text"])
def test_overflow_acts_only_where_the_contract_names_it(desk: Desk, body_type: str) -> None:
    log = desk.new(body_type)
    fill(desk, log, 40)
    assert desk.path(log).stat().st_size > LIMIT
    assert len(list(desk.shelf.folder.iterdir())) == 1


def test_error_refuses_and_leaves_the_file(desk: Desk) -> None:
    log = desk.new("jsonl", "", "overflow=error")
    with pytest.raises(Exception) as caught:
        fill(desk, log, 40)
    assert getattr(caught.value, "code", None) == "overflow"
    assert desk.path(log).stat().st_size <= LIMIT


def test_summarize_writes_and_marks_the_file_as_due_until_it_is_small_again(desk: Desk) -> None:
    note = desk.new("text", "", "overflow=summarize")
    changes = fill(desk, note, 40)
    assert "39 words" in desk.body(note)
    assert desk.file(note).frontmatter["slice"]["due"] == "summarize"
    assert [change.overflow for change in changes].count("summarize") > 1
    desk.define(note, ["contract.write=replace"], desk.stamp)
    desk.remember(note, "A summary.", desk.stamp)
    assert "due" not in desk.file(note).frontmatter["slice"]
    assert is_well_formed(desk)


def test_a_log_that_is_due_is_marked_once_and_then_its_head_stays(desk: Desk) -> None:
    log = desk.new("jsonl", "", "overflow=summarize")
    fill(desk, log, 20)
    head = desk.file(log).head
    fill(desk, log, 5)
    assert desk.file(log).head == head


@pytest.mark.parametrize("body_type", ["jsonl", "text", "markdown"])
def test_split_goes_on_in_linked_parts_and_loses_nothing(desk: Desk, body_type: str) -> None:
    log = desk.new(body_type, "", "overflow=split", "purpose=Everything.")
    changes = fill(desk, log, 60)
    made = parts(desk, log)
    assert [change.overflow for change in changes].count("split") == len(made) > 1
    assert all((part.links[0].rel, part.links[0].to) == ("part_of", log) for part in made)
    assert all(len(part.to_bytes()) <= LIMIT for part in made)
    text = "".join(file.body.decode() for file in (desk.file(log), *made))
    assert all(f"{number} {LONG}" in text for number in range(60))
    assert made[0].contract.purpose == "Everything."
    assert is_well_formed(desk)


def test_a_part_that_is_named_outright_is_written_itself(desk: Desk) -> None:
    log = desk.new("jsonl", "", "overflow=split")
    fill(desk, log, 25)
    first, *_, last = parts(desk, log)
    assert first.id != last.id
    change = desk.remember(last.id or "", "here", desk.stamp)
    assert change.id == last.id


def test_a_part_that_is_full_is_followed_by_another_part_of_the_same_file(desk: Desk) -> None:
    log = desk.new("jsonl", "", "overflow=split")
    fill(desk, log, 12)
    count = len(parts(desk, log))
    change = desk.remember(parts(desk, log)[0].id or "", "y" * LIMIT, desk.stamp)
    assert change.overflow == "split"
    assert len(parts(desk, log)) == count + 1
    assert change.file.links[0].to == log


def test_a_row_in_a_part_may_supersede_one_in_the_file(desk: Desk) -> None:
    log = desk.new("jsonl", "", "overflow=split")
    fill(desk, log, 25)
    first = desk.rows(log)[0].id
    change = desk.remember(log, "newer", desk.stamp, supersedes=[first])
    assert change.id != log
    rows = [row for file_id in (log, *(part.id or "" for part in parts(desk, log))) for row in desk.rows(file_id)]
    assert first not in {row.id for row in active(rows)}
    assert first not in desk.recall([log], now=0).text


def test_a_section_goes_on_under_its_heading_in_the_part(desk: Desk) -> None:
    note = desk.new("markdown", "# Notes\n\n## Open\n\n## Done\n", "overflow=split")
    fill(desk, note, 30, section="Open")
    bodies = [part.body.decode() for part in parts(desk, note)]
    assert all(body.startswith("## Open\n\n") and body.count("## Open") == 1 for body in bodies)


def test_parts_that_people_made_are_left_alone(desk: Desk) -> None:
    chapter = desk.new("markdown", "A chapter.")
    book = desk.new("markdown", "A book.", "overflow=split", links=(("has_part", chapter),))
    desk.remember(book, "More.", desk.stamp)
    assert desk.body(chapter) == "A chapter.\n"
    assert desk.body(book) == "A book.\n\nMore.\n"


def test_archive_moves_the_oldest_rows_with_their_bytes(desk: Desk) -> None:
    log = desk.new("jsonl", "", "overflow=archive")
    lines = []
    for number in range(40):
        change = desk.remember(log, f"{number} {LONG}", desk.stamp)
        lines.append(desk.file(change.id).body.splitlines()[-1])
    made = parts(desk, log)
    assert desk.path(log).stat().st_size <= LIMIT
    kept = [line for file in (*made, desk.file(log)) for line in file.body.splitlines()]
    assert kept == lines
    assert all(part.write_mode == "error" and not part.archived for part in made)
    assert is_well_formed(desk)


def test_the_oldest_rows_are_the_oldest_by_their_time_wherever_they_stand(desk: Desk) -> None:
    """Ruling 27: newest is never a matter of position."""
    log = desk.new("jsonl", "", "overflow=archive")
    fill(desk, log, 6)
    head, lines = desk.file(log).head, desk.file(log).body.splitlines(keepends=True)
    desk.path(log).write_bytes(head + b"".join(reversed(lines)))
    while not (made := parts(desk, log)):
        desk.remember(log, "later", desk.stamp)
    moved, stayed = desk.rows(made[0].id or ""), desk.rows(log)
    assert max(row.age_key for row in moved) < min(row.age_key for row in stayed)


def test_archive_moves_the_first_sections_of_a_text(desk: Desk) -> None:
    note = desk.new("markdown", "# Diary\n\nWhat happened.\n", "overflow=archive")
    for number in range(30):
        desk.remember(note, f"## Day {number}\n\n{LONG}\n\n### More\n\n{LONG}", desk.stamp)
    body = desk.body(note)
    assert body.startswith("# Diary\n\nWhat happened.\n\n## Day ")
    assert body.endswith(f"## Day 29\n\n{LONG}\n\n### More\n\n{LONG}\n")
    text = "".join(file.body.decode() for file in (*parts(desk, note), desk.file(note)))
    assert all(text.count(f"## Day {number}\n\n{LONG}\n\n### More") == 1 for number in range(30))
    assert is_well_formed(desk)


@pytest.mark.parametrize("body_type", ["text", "conversation"])
def test_what_has_neither_rows_nor_sections_cannot_be_archived(desk: Desk, body_type: str) -> None:
    line = '{"role": "user", "content": "%s"}' % (LONG * 60)
    assert code_of(lambda: desk.remember(desk.new(body_type, "", "overflow=archive"), line, desk.stamp)) == "overflow"


@pytest.mark.parametrize("overflow", ["split", "archive"])
def test_what_is_replaced_as_a_whole_is_not_cut(desk: Desk, overflow: str) -> None:
    note = desk.new("markdown", "# A\n\n# B\n", "write=replace", f"overflow={overflow}")
    assert code_of(lambda: desk.remember(note, "# A\n\n# B\n" + LONG * 60, desk.stamp)) == "overflow"
    assert len(list(desk.shelf.folder.iterdir())) == 1


def test_one_entry_above_the_size_is_written_all_the_same(desk: Desk) -> None:
    for overflow in ("split", "archive"):
        log = desk.new("jsonl", '{"text": "first"}', f"overflow={overflow}")
        desk.remember(log, LONG * 60, desk.stamp)
        assert LONG * 60 in desk.recall([log], now=0).text


def test_a_row_that_was_caught_while_it_moved_counts_once(desk: Desk) -> None:
    """The archive is written first: a crash before the second write leaves the rows in both files."""
    log = desk.new("jsonl", '{"text": "first"}\n{"text": "second"}')
    twin = desk.new("jsonl", links=(("part_of", log),))
    desk.path(twin).write_bytes(desk.file(twin).head + desk.file(log).body.splitlines(keepends=True)[0])
    text = desk.recall([log], now=0, rows="all").text
    assert text.count("first") == 1
    assert text.count("second") == 1


def interrupted(desk: Desk, file_id: str) -> tuple[bytes, SliceFile]:
    """Fills a file until it overflows, and puts it back to what it was: its part is there, and it does not know."""
    before = b""
    while not parts(desk, file_id):
        before = desk.path(file_id).read_bytes()
        desk.remember(file_id, f"## Day\n\n{LONG}" if desk.file(file_id).body_type == "markdown" else LONG, desk.stamp)
    (part,) = parts(desk, file_id)
    desk.path(file_id).write_bytes(before)
    return before, part


@pytest.mark.parametrize("body_type", ["jsonl", "markdown"])
@pytest.mark.parametrize("overflow", ["split", "archive"])
def test_what_a_killed_writer_left_unfinished_is_finished(desk: Desk, body_type: str, overflow: str) -> None:
    file_id = desk.new(body_type, "", f"overflow={overflow}")
    before, part = interrupted(desk, file_id)
    assert unfinished(desk.shelf) == [file_id]
    assert finish_all(desk.shelf) == [file_id]
    assert unfinished(desk.shelf) == finish_all(desk.shelf) == []
    assert [each.id for each in parts(desk, file_id)] == [part.id]
    assert desk.file(part.id or "").body == part.body
    body = SliceFile.parse(before).body
    if overflow == "archive":
        assert len(desk.file(file_id).body) + len(part.body) == len(body)
    else:
        assert desk.file(file_id).body == body
    assert is_well_formed(desk)


def test_the_next_overflow_finishes_what_the_last_one_left(desk: Desk) -> None:
    log = desk.new("jsonl", "", "overflow=archive")
    before, _ = interrupted(desk, log)
    desk.remember(log, "y" * 200, desk.stamp)
    lines = [line for file in (desk.file(log), *parts(desk, log)) for line in file.body.splitlines()]
    assert len(lines) == len(set(lines)) == before.count(b'"text"') + 1


def test_a_part_of_a_file_that_cannot_be_read_waits_for_it(desk: Desk) -> None:
    log = desk.new("jsonl", "", "overflow=split")
    interrupted(desk, log)
    desk.path(log).write_bytes(b"broken")
    assert unfinished(desk.shelf) == []


def test_a_file_that_is_made_anew_is_held_to_its_size_too(desk: Desk) -> None:
    source = desk.new("markdown", "Source.")
    for overflow, code in (("error", "overflow"), ("split", "overflow"), ("summarize", None)):
        digest = desk.new("markdown", "Short.", f"overflow={overflow}", links=(("derived_from", source),))
        if code:
            assert code_of(desk.refresh, digest, LONG * 60, desk.stamp) == code
            assert desk.body(digest) == "Short.\n"
        else:
            desk.refresh(digest, LONG * 60, desk.stamp)
            assert desk.file(digest).due == "summarize"
            desk.refresh(digest, "Short again.", desk.stamp)
            assert desk.file(digest).due is None
