"""Files that grow too large (§ Overflow, ruling 32)."""

import re
from pathlib import Path

import pytest

from slicebase.errors import SlicebaseError
from slicebase.files.body.supersession import active
from slicebase.files.model import Link
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import append_item
from slicebase.library.change import Change
from slicebase.library.check import validate
from slicebase.library.repairs import finish_overflows, remove_repeated, unfinished_overflows
from slicebase.workspace.settings import Settings
from tests.codes import code_of
from tests.library.scratch import ScratchLibrary

LIMIT = 1500
LONG = "words and words and words and more words"


@pytest.fixture
def scratch(tmp_path: Path) -> ScratchLibrary:
    return ScratchLibrary(tmp_path, Settings(overflow_bytes=LIMIT))


def fill(scratch: ScratchLibrary, file_id: str, count: int, **how: str) -> list[Change]:
    return [scratch.remember(file_id, f"{number} {LONG}", section=how.get("section")) for number in range(count)]


def parts(scratch: ScratchLibrary, file_id: str) -> list[SliceFile]:
    return [scratch.file(link.to or "") for link in scratch.file(file_id).links if link.rel == "has_part"]


def is_well_formed(scratch: ScratchLibrary) -> bool:
    return not validate([scratch.folder.path], scratch.workspace.root).counts["error"]


@pytest.mark.parametrize("body_type", ["jsonl", "text"])
def test_overflow_acts_only_where_the_contract_names_it(scratch: ScratchLibrary, body_type: str) -> None:
    log = scratch.new(body_type)
    fill(scratch, log, 40)
    assert scratch.path(log).stat().st_size > LIMIT
    assert len(list(scratch.folder.path.iterdir())) == 1


def test_error_refuses_and_leaves_the_file(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", "", "overflow=error")
    with pytest.raises(Exception) as caught:
        fill(scratch, log, 40)
    assert getattr(caught.value, "code", None) == "overflow"
    assert scratch.path(log).stat().st_size <= LIMIT


def test_summarize_writes_and_marks_the_file_as_due_until_it_is_small_again(scratch: ScratchLibrary) -> None:
    note = scratch.new("text", "", "overflow=summarize")
    changes = fill(scratch, note, 40)
    assert "39 words" in scratch.body(note)
    assert scratch.file(note).frontmatter["slice"]["due"] == "summarize"
    assert [change.overflow for change in changes].count("summarize") > 1
    scratch.define(note, ["contract.write=replace"])
    scratch.remember(note, "A summary.")
    assert "due" not in scratch.file(note).frontmatter["slice"]
    assert is_well_formed(scratch)


def test_a_log_that_is_due_is_marked_once_and_its_head_stays(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", "", "overflow=summarize")
    fill(scratch, log, 20)
    head = scratch.file(log).head
    fill(scratch, log, 5)
    assert scratch.file(log).head == head


@pytest.mark.parametrize("body_type", ["jsonl", "text", "markdown"])
def test_split_continues_in_linked_parts_and_loses_nothing(scratch: ScratchLibrary, body_type: str) -> None:
    log = scratch.new(body_type, "", "overflow=split", "purpose=Everything.")
    changes = fill(scratch, log, 60)
    created = parts(scratch, log)
    assert [change.overflow for change in changes].count("split") == len(created) > 1
    assert all((part.links[0].rel, part.links[0].to) == ("part_of", log) for part in created)
    assert all(len(part.to_bytes()) <= LIMIT for part in created)
    text = "".join(file.body.decode() for file in (scratch.file(log), *created))
    assert all(f"{number} {LONG}" in text for number in range(60))
    assert created[0].contract.purpose == "Everything."
    assert is_well_formed(scratch)


def test_a_part_that_is_named_is_written_itself(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", "", "overflow=split")
    fill(scratch, log, 25)
    first, *_, last = parts(scratch, log)
    assert first.id != last.id
    change = scratch.remember(last.id or "", "here")
    assert change.id == last.id


def test_a_part_that_is_full_is_followed_by_another_part_of_the_same_file(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", "", "overflow=split")
    fill(scratch, log, 12)
    count = len(parts(scratch, log))
    change = scratch.remember(parts(scratch, log)[0].id or "", "y" * LIMIT)
    assert change.overflow == "split"
    assert len(parts(scratch, log)) == count + 1
    assert change.file.links[0].to == log


def test_a_row_in_a_part_may_supersede_one_in_the_file(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", "", "overflow=split")
    fill(scratch, log, 25)
    first = scratch.rows(log)[0].id
    change = scratch.remember(log, "newer", supersedes=[first])
    assert change.id != log
    rows = [row for file_id in (log, *(part.id or "" for part in parts(scratch, log))) for row in scratch.rows(file_id)]
    assert first not in {row.id for row in active(rows)}
    assert first not in scratch.recall([log]).text


def test_a_section_continues_under_its_heading_in_the_part(scratch: ScratchLibrary) -> None:
    note = scratch.new("markdown", "# Notes\n\n## Open\n\n## Done\n", "overflow=split")
    fill(scratch, note, 30, section="Open")
    bodies = [part.body.decode() for part in parts(scratch, note)]
    assert all(body.startswith("# Notes\n\n## Open\n\n") and body.count("## Open") == 1 for body in bodies)


def test_parts_that_people_created_are_left_alone(scratch: ScratchLibrary) -> None:
    chapter = scratch.new("markdown", "A chapter.")
    book = scratch.new("markdown", "A book.", "overflow=split", links=(("has_part", chapter),))
    scratch.remember(book, "More.")
    assert scratch.body(chapter) == "A chapter.\n"
    assert scratch.body(book) == "A book.\n\nMore.\n"


def test_archive_moves_the_oldest_rows_with_their_bytes(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", "", "overflow=archive")
    lines = []
    for number in range(40):
        change = scratch.remember(log, f"{number} {LONG}")
        lines.append(scratch.file(change.id).body.splitlines()[-1])
    created = parts(scratch, log)
    assert scratch.path(log).stat().st_size <= LIMIT
    kept = [line for file in (*created, scratch.file(log)) for line in file.body.splitlines()]
    assert kept == lines
    assert all(part.write_mode == "error" and not part.archived for part in created)
    assert is_well_formed(scratch)


def test_the_oldest_rows_are_the_oldest_by_their_time_wherever_they_are(scratch: ScratchLibrary) -> None:
    """Ruling 27: newest is never a matter of position."""
    log = scratch.new("jsonl", "", "overflow=archive")
    fill(scratch, log, 6)
    head, lines = scratch.file(log).head, scratch.file(log).body.splitlines(keepends=True)
    scratch.path(log).write_bytes(head + b"".join(reversed(lines)))
    while not (created := parts(scratch, log)):
        scratch.remember(log, "later")
    moved, stayed = scratch.rows(created[0].id or ""), scratch.rows(log)
    assert max(row.age_key for row in moved) < min(row.age_key for row in stayed)


def test_archive_moves_the_first_sections_of_a_text(scratch: ScratchLibrary) -> None:
    note = scratch.new("markdown", "# Diary\n\nWhat happened.\n", "overflow=archive")
    for number in range(30):
        scratch.remember(note, f"## Day {number}\n\n{LONG}\n\n### More\n\n{LONG}")
    body = scratch.body(note)
    assert body.startswith("# Diary\n\nWhat happened.\n\n## Day ")
    assert body.endswith(f"## Day 29\n\n{LONG}\n\n### More\n\n{LONG}\n")
    text = "".join(file.body.decode() for file in (*parts(scratch, note), scratch.file(note)))
    assert all(text.count(f"## Day {number}\n\n{LONG}\n\n### More") == 1 for number in range(30))
    assert is_well_formed(scratch)


@pytest.mark.parametrize("body_type", ["text", "conversation"])
def test_what_has_neither_rows_nor_sections_cannot_be_archived(scratch: ScratchLibrary, body_type: str) -> None:
    line = '{"role": "user", "content": "%s"}' % (LONG * 60)
    assert code_of(lambda: scratch.remember(scratch.new(body_type, "", "overflow=archive"), line)) == "overflow"


@pytest.mark.parametrize("overflow", ["split", "archive"])
def test_a_body_that_is_replaced_is_not_cut(scratch: ScratchLibrary, overflow: str) -> None:
    note = scratch.new("markdown", "# A\n\n# B\n", "write=replace", f"overflow={overflow}")
    assert code_of(lambda: scratch.remember(note, "# A\n\n# B\n" + LONG * 60)) == "overflow"
    assert len(list(scratch.folder.path.iterdir())) == 1


def test_one_entry_above_the_limit_is_still_written(scratch: ScratchLibrary) -> None:
    for overflow in ("split", "archive"):
        log = scratch.new("jsonl", '{"text": "first"}', f"overflow={overflow}")
        scratch.remember(log, LONG * 60)
        assert LONG * 60 in scratch.recall([log]).text


def test_a_row_that_an_unfinished_move_left_in_two_files_counts_once(scratch: ScratchLibrary) -> None:
    """The archive is written first: a crash before the second write leaves the rows in both files."""
    log = scratch.new("jsonl", '{"text": "first"}\n{"text": "second"}')
    twin = scratch.new("jsonl", links=(("part_of", log),))
    scratch.path(twin).write_bytes(scratch.file(twin).head + scratch.file(log).body.splitlines(keepends=True)[0])
    text = scratch.recall([log], rows="all").text
    assert text.count("first") == 1
    assert text.count("second") == 1


def interrupted(scratch: ScratchLibrary, file_id: str) -> tuple[bytes, SliceFile]:
    """Fills a file until it overflows, then restores its earlier bytes, which do not name the part."""
    before = b""
    while not parts(scratch, file_id):
        before = scratch.path(file_id).read_bytes()
        scratch.remember(file_id, f"## Day\n\n{LONG}" if scratch.file(file_id).body_type == "markdown" else LONG)
    (part,) = parts(scratch, file_id)
    scratch.path(file_id).write_bytes(before)
    return before, part


@pytest.mark.parametrize("body_type", ["jsonl", "markdown"])
@pytest.mark.parametrize("overflow", ["split", "archive"])
def test_what_a_killed_writer_left_unfinished_is_finished(
    scratch: ScratchLibrary, body_type: str, overflow: str
) -> None:
    file_id = scratch.new(body_type, "", f"overflow={overflow}")
    before, part = interrupted(scratch, file_id)
    assert unfinished_overflows(scratch.folder) == ([file_id], [], [])
    assert finish_overflows(scratch.folder) == [file_id]
    assert unfinished_overflows(scratch.folder) == ([], [], [])
    assert finish_overflows(scratch.folder) == []
    if overflow == "split":  # the part has what was written last
        assert [each.id for each in parts(scratch, file_id)] == [part.id]
        assert scratch.file(part.id or "").body == part.body
        assert scratch.file(file_id).body == SliceFile.parse(before).body
    else:  # the file has everything
        assert scratch.path(file_id).read_bytes() == before
        assert not scratch.path(part.id or "").exists()
    assert is_well_formed(scratch)


def test_the_next_overflow_finishes_what_the_last_one_left(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", "", "overflow=archive")
    before, _ = interrupted(scratch, log)
    scratch.remember(log, "y" * 200)
    lines = [line for file in (scratch.file(log), *parts(scratch, log)) for line in file.body.splitlines()]
    assert len(lines) == len(set(lines)) == before.count(b'"text"') + 1


def test_a_part_of_a_file_that_cannot_be_read_waits_for_it(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", "", "overflow=split")
    interrupted(scratch, log)
    scratch.path(log).write_bytes(b"broken")
    assert unfinished_overflows(scratch.folder) == ([], [], [])


def test_a_file_that_is_refreshed_has_the_same_size_limit(scratch: ScratchLibrary) -> None:
    source = scratch.new("markdown", "Source.")
    for overflow, code in (("error", "overflow"), ("split", "overflow"), ("summarize", None)):
        digest = scratch.new("markdown", "Short.", f"overflow={overflow}", links=(("derived_from", source),))
        if code:
            assert code_of(scratch.refresh, digest, LONG * 60) == code
            assert scratch.body(digest) == "Short.\n"
        else:
            scratch.refresh(digest, LONG * 60)
            assert scratch.file(digest).due == "summarize"
            scratch.refresh(digest, "Short again.")
            assert scratch.file(digest).due is None


def test_a_file_with_parts_is_not_refreshed(scratch: ScratchLibrary) -> None:
    """Its parts would stay, with the old text."""
    source = scratch.new("markdown", "Source.")
    digest = scratch.new("markdown", "Short.", "overflow=split", links=(("derived_from", source),))
    scratch.define(digest, ["contract.write=append"])
    fill(scratch, digest, 40)
    scratch.define(digest, ["contract.write=replace"])
    before = scratch.body(digest)
    assert code_of(scratch.refresh, digest, "New.") == code_of(scratch.remember, digest, "New.") == "write-mode"
    assert scratch.body(digest) == before
    for part in parts(scratch, digest):
        scratch.forget(part.id or "")
    scratch.refresh(digest, "New.")
    assert scratch.body(digest) == "New.\n"


def test_a_passage_that_is_in_a_part_is_found_there(scratch: ScratchLibrary) -> None:
    note = scratch.new("markdown", "", "overflow=split")
    fill(scratch, note, 40)
    scratch.define(note, ["contract.write=replace"])
    last = parts(scratch, note)[-1].id or ""
    with pytest.raises(SlicebaseError) as caught:
        scratch.remember(note, "new", replace=f"39 {LONG}")
    assert caught.value.code == "no-passage"
    assert last in (caught.value.hint or "")
    assert code_of(scratch.remember, note, "new", replace="nowhere") == "no-passage"


@pytest.mark.parametrize("overflow", ["split", "archive"])
def test_a_section_that_starts_again_gets_its_text_as_a_paragraph(scratch: ScratchLibrary, overflow: str) -> None:
    """Without a byte order mark and blank lines before it, as where the heading is in the same file."""
    note = scratch.new("markdown", "# Top\n\n## One\n\nfirst\n", f"overflow={overflow}")
    for number in range(20):
        scratch.remember(note, f"## More {number}\n\n{'words ' * 20}")
    scratch.remember(note, "\ufeff\r\n\n  text", section="One")
    bodies = [path.read_text() for path in scratch.folder.path.glob("*.slice")]
    assert sum("## One\n\n  text\n" in body for body in bodies) == 1
    assert not any("\ufeff" in body for body in bodies)


# What looks like an unfinished move, and is none


def test_a_word_is_never_taken_out_of_a_text_because_a_file_that_people_labelled_has_it(
    scratch: ScratchLibrary,
) -> None:
    note = scratch.new("text", "We said yes to the plan.", "overflow=split")
    old = scratch.new("text", "yes")
    scratch.connect(old, "part_of", note, label="archive")
    own = scratch.file(note)
    scratch.path(note).write_bytes(append_item(own, "slice.links", Link("part_of", note, "archive")).to_bytes())
    assert unfinished_overflows(scratch.folder) == ([], [], [])
    assert finish_overflows(scratch.folder) == []
    fill(scratch, note, 40)
    assert scratch.body(note).startswith("We said yes to the plan.\n")
    assert len(parts(scratch, note)) > 0


@pytest.mark.parametrize("body_type", ["markdown", "text"])
def test_a_move_is_not_finished_where_somebody_has_written_since(scratch: ScratchLibrary, body_type: str) -> None:
    note = scratch.new(body_type, "", "overflow=archive")
    before, part = interrupted(scratch, note)
    edited = before.replace(b"words and words", b"words, and words", 1)
    scratch.path(note).write_bytes(edited)
    unfinished = unfinished_overflows(scratch.folder)
    assert (unfinished.files, [each.id for each in unfinished.strays]) == ([], [part.id])
    assert finish_overflows(scratch.folder) == []
    assert scratch.path(note).read_bytes() == edited
    scratch.forget(part.id or "")
    assert unfinished_overflows(scratch.folder) == ([], [], [])
    scratch.restore(part.id or "")
    for plain in (False, True):  # as the doctor says, and after a link without its label
        scratch.path(note).write_bytes(edited)
        if plain:
            link = Link("has_part", part.id)
            scratch.path(note).write_bytes(append_item(scratch.file(note), "slice.links", link).to_bytes())
        scratch.connect(note, "has_part", part.id or "")
        assert unfinished_overflows(scratch.folder) == ([], [], [])
        assert [link.to for link in scratch.file(note).links] == [part.id]


@pytest.mark.parametrize("body_type", ["jsonl", "text"])
def test_what_a_killed_writer_left_in_a_forgotten_archive_stays_in_the_file(
    scratch: ScratchLibrary, body_type: str
) -> None:
    log = scratch.new(body_type, "", "overflow=archive")
    _, part = interrupted(scratch, log)
    before = scratch.recall(log).text.count(LONG)
    scratch.forget(part.id or "")
    assert finish_overflows(scratch.folder) == []
    scratch.remember(log, f"new {LONG}")
    scratch.remember(log, f"new {LONG}")
    assert scratch.recall(log).text.count(LONG) == before + 2


@pytest.mark.parametrize("body_type", ["routine", "text"])
def test_a_move_that_was_killed_after_others_doubles_nothing(scratch: ScratchLibrary, body_type: str) -> None:
    line = '{"instruction": "%s"}' if body_type == "routine" else "%s"
    log = scratch.new(body_type, "", "overflow=archive")
    written = 0
    while len(parts(scratch, log)) < 2:
        before = scratch.path(log).read_bytes()
        scratch.remember(log, line % f"number {written}. {LONG}")
        written += 1
    scratch.path(log).write_bytes(before)
    digest = scratch.info(log).entry.hash
    for _ in range(2):
        text = scratch.routine(log) if body_type == "routine" else scratch.recall(log).text
        found = re.findall(r"number (\d+)\.", text)
        assert found == [str(number) for number in range(written - 1)]
        assert scratch.info(log).entry.hash == digest
        finish_overflows(scratch.folder)


def test_finishing_leaves_the_order_and_the_hash_of_what_somebody_wrote_meanwhile(scratch: ScratchLibrary) -> None:
    note = scratch.new("text", "", "overflow=archive")
    before, part = interrupted(scratch, note)
    kept = SliceFile.parse(before).body.removeprefix(part.body.rstrip()).strip().partition(b"\n")[0]
    edited = before.replace(kept, b"By hand.\n\n" + kept) if kept else before + b"\nBy hand.\n"
    scratch.path(note).write_bytes(edited)
    digest = scratch.info(note).entry.hash
    finish_overflows(scratch.folder)
    assert scratch.info(note).entry.hash == digest
    assert scratch.path(note).read_bytes() == edited


def test_a_part_that_was_given_up_and_comes_back_is_not_joined_behind_newer_ones(scratch: ScratchLibrary) -> None:
    note = scratch.new("text", "", "overflow=split")
    fill(scratch, note, 60)
    first, *_ = parts(scratch, note)
    data = scratch.path(first.id or "").read_bytes()
    scratch.disconnect(note, "has_part", first.id or "")
    text = scratch.recall(note).text
    assert first.body.decode().strip() not in text
    assert finish_overflows(scratch.folder) == []
    assert [each.id for each in unfinished_overflows(scratch.folder).strays] == [first.id]
    assert scratch.recall(note).text == text
    assert scratch.path(first.id or "").read_bytes() == data


def test_a_heading_is_not_glued_to_the_line_above_it(scratch: ScratchLibrary) -> None:
    body = f"# Notes\nintro\n## A\n\n{LONG * 9}\n\nSecond\n------\n\n{LONG * 9}\n\nThird\n-----\n\n{LONG * 9}\n"
    note = scratch.new("markdown", body, "overflow=archive")
    scratch.remember(note, LONG * 9)
    assert parts(scratch, note)
    text = scratch.body(note)
    assert "intro\nThird" not in text
    assert "intro\nSecond" not in text
    assert scratch.remember(note, "more", section="Third").changed


@pytest.mark.parametrize("touched", ["meta", "link", "named", "forgotten", "type"])
def test_a_copy_that_somebody_needs_is_never_deleted(scratch: ScratchLibrary, touched: str) -> None:
    note = scratch.new("text", "", "overflow=archive")
    _, part = interrupted(scratch, note)
    other, copy = scratch.new(), part.id or ""
    if touched == "meta":
        scratch.define(copy, ["meta.note=important"])
    elif touched == "link":
        scratch.connect(copy, "see_also", other)
    elif touched == "named":
        scratch.connect(other, "derived_from", copy)
    elif touched == "forgotten":
        scratch.forget(note)
        scratch.restore(copy)
    else:
        scratch.define(note, ["body.type=markdown"])
    before = scratch.path(copy).read_bytes()
    assert finish_overflows(scratch.folder) == []
    assert unfinished_overflows(scratch.folder).files == []
    if touched != "forgotten":
        assert [each.id for each in unfinished_overflows(scratch.folder).strays] == [copy]
    assert scratch.path(copy).read_bytes() == before


def test_rows_that_a_stray_has_too_stay_in_the_file(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", "", "overflow=archive")
    while len(parts(scratch, log)) < 2:
        before = scratch.path(log).read_bytes()
        scratch.remember(log, LONG)
    _, stray = parts(scratch, log)
    row = stray.body.partition(b"\n")[0] + b"\n"
    scratch.path(log).write_bytes(before.replace(row, b""))
    digest = scratch.info(log).entry.hash
    assert [each.id for each in unfinished_overflows(scratch.folder).strays] == [stray.id]
    remove_repeated(scratch.folder)
    assert scratch.path(log).read_bytes() == before.replace(row, b"")
    assert scratch.info(log).entry.hash == digest


def test_a_killed_archive_of_a_part_is_undone_by_the_next_write(scratch: ScratchLibrary) -> None:
    note = scratch.new("text", "", "overflow=split")
    fill(scratch, note, 30)
    (part, *_) = reversed(parts(scratch, note))
    scratch.define(note, ["contract.overflow=archive"])
    _, copy = interrupted(scratch, part.id or "")
    fill(scratch, note, 30)
    assert not scratch.path(copy.id or "").exists()
    assert unfinished_overflows(scratch.folder) == ([], [], [])


@pytest.mark.parametrize("ends", [("\n", "\r\n"), ("\r\n", "\n"), ("\r\n", "\r\n")])
@pytest.mark.parametrize("body_type", ["jsonl", "text", "markdown"])
def test_a_file_of_which_everything_moves_goes_on_with_the_line_ends_of_its_body(
    scratch: ScratchLibrary, body_type: str, ends: tuple[str, str]
) -> None:
    """Ruling 20: those of the frontmatter may be others, and say nothing about a body that has its own."""
    note = scratch.new(body_type, "", "overflow=archive")
    fill(scratch, note, 8)
    file = scratch.file(note)
    head, body = (data.replace(b"\n", end.encode()) for data, end in zip((file.head, file.body), ends, strict=True))
    scratch.path(note).write_bytes(head + body)
    scratch.remember(note, "y" * 1000)
    (part,) = parts(scratch, note)
    assert part.body.strip() == body.strip()
    written = scratch.file(note)
    for data, end in zip((written.head, written.body), ends, strict=True):
        assert data.count(b"\n") == data.count(end.encode())
        assert data.count(b"\r") == end.count("\r") * data.count(b"\n")
