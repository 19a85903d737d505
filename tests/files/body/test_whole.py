"""A file and its parts as one object: its content, hash and version (rulings 24 and 32)."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.hashing import digest
from slicebase.core.times import to_text
from slicebase.files.body.overflow import ARCHIVED, CONTINUED, Moved, joined, move_oldest, new_part
from slicebase.files.body.repeated import repeated_rows, without_repeated
from slicebase.files.body.rows import row_line
from slicebase.files.body.text import append_lines, append_paragraph
from slicebase.files.body.whole import named_parts, object_version, whole_hash, whole_pieces
from slicebase.files.check.version import checked_bytes
from slicebase.files.create import new_file
from slicebase.files.model import Link
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key
from tests.amounts import MORE

Files = dict[str | None, SliceFile]


def bytes_in(files: Files) -> Callable[[str], bytes | None]:
    def read(name: str) -> bytes | None:
        file = files.get(name)
        return file.to_bytes() if file else None

    return read


def file_of(body_type: str, body: bytes = b"", name: str = "01A", *links: Link) -> SliceFile:
    return new_file(
        id=name, title="T", summary="S.", body_type=body_type, body=body, links=links, name=f".slices/{name}.slice"
    )


def row(number: int, time: int) -> bytes:
    return row_line({"id": f"r{number:04}", "created_at": to_text(time)}, {"text": "x" * (number % 7)})


def grown(body_type: str, body: bytes, number: int, time: int) -> bytes:
    """Returns a body with one more entry, as `remember` appends it."""
    if body_type == "jsonl":
        return append_lines(body, row(number, time))
    if body_type in ("conversation", "routine"):
        return append_lines(body, b'{"instruction":"%d"}\n' % number)
    text = f"paragraph {number}"
    if body_type == "markdown":
        text = (text, f"# {number}\n\ntext é", f"## {number}\n\ntext", f"```\na\n\n{number}\n```")[time % 4]
    return append_paragraph(body, text)


def archived(files: Files, most: int) -> bytes:
    """Moves the oldest content of a file to a part, as overflow does. Returns the line ends that this added."""
    file = files["01A"]
    moved = move_oldest(file, most)
    if moved:
        name = f"01Z{len(files):03}"
        files[name] = new_part(file, name, moved)
        files["01A"] = joined(file.with_body(moved.stays), name, ARCHIVED)
        return (moved.leaves + moved.stays)[len(file.body) :]
    return b""


@pytest.mark.parametrize("body_type", ["jsonl", "conversation", "routine", "text", "markdown"])
@settings(max_examples=40 * MORE)
@given(data=st.data())
def test_archives_leave_the_hash_of_the_file_as_it_is_and_every_entry_changes_it(
    body_type: str, data: st.DataObject
) -> None:
    """Rows of any times, so that the oldest are anywhere; sections and paragraphs under headings that stay."""
    whole = data.draw(st.sampled_from([b"", b"# T\r\n\r\nBefore.\r\n"])) if body_type == "markdown" else b""
    files: Files = {"01A": file_of(body_type, whole)}
    steps = data.draw(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=14))
    for number, (writes, value) in enumerate(steps):
        before = whole_hash(files["01A"], files.get)
        if writes:
            file = files["01A"]
            whole = grown(body_type, whole, number, value)
            files["01A"] = file.with_body(file.body + whole[-(len(whole) - len_before(file, files)) :])
            assert whole_hash(files["01A"], files.get) != before
        else:
            whole += archived(files, value * 60)
        assert whole_hash(files["01A"], files.get) == digest(whole)


def len_before(file: SliceFile, files: Files) -> int:
    return len(file.body) + sum(len(part.body) for part in named_parts(file, files.get))


@pytest.mark.parametrize("body_type", ["jsonl", "conversation", "text", "markdown"])
@settings(max_examples=25 * MORE)
@given(cuts=st.lists(st.booleans(), min_size=1, max_size=10), first=st.sampled_from([b"", b"start", b"start\n"]))
def test_what_continues_in_parts_has_the_hash_of_the_file_that_is_not_divided(
    body_type: str, cuts: list[bool], first: bytes
) -> None:
    whole, last = first, "01A"
    files: Files = {"01A": file_of(body_type, first)}
    for number, cut in enumerate(cuts):
        if cut:
            last = f"01Z{number:03}"
            files[last] = new_part(files["01A"], last)
            files["01A"] = joined(files["01A"], last, CONTINUED)
            assert whole_hash(files["01A"], files.get) == digest(whole)
        whole = grown(body_type, whole, number, 0)
        files[last] = files[last].with_body(grown(body_type, files[last].body, number, 0))
        assert whole_hash(files["01A"], files.get) == digest(whole)


@pytest.mark.parametrize("body_type", ["conversation", "text", "markdown"])
@settings(max_examples=60 * MORE)
@given(steps=st.lists(st.tuples(st.sampled_from(["write", "archive", "forget"]), st.integers(0, 9)), min_size=8))
def test_forgotten_archives_leave_the_others_at_their_places_whatever_is_written_later(
    body_type: str, steps: list[tuple[str, int]]
) -> None:
    """What is written is often the same as before: an equal heading is not the one that an archive was above."""
    files: Files = {"01A": file_of(body_type)}
    for number in range(6):
        files["01A"] = files["01A"].with_body(grown(body_type, files["01A"].body, number, 1))
    forgotten: set[str | None] = set()
    for step, value in steps:
        file = files["01A"]
        if step == "write":
            files["01A"] = file.with_body(grown(body_type, file.body, value // 3, value))
        elif step == "archive":
            archived(files, value * 20)
        else:
            forgotten |= {[*files][value % len(files)]} - {"01A"}
    whole = whole_pieces(files["01A"], files.get)
    for name in forgotten:
        files[name] = set_key(files[name], "slice.archived.at", "2026-01-01T00:00:00.000Z")
    read = [(piece.data, piece.start) for piece in whole_pieces(files["01A"], files.get)]
    assert read == [(piece.data, piece.start) for piece in whole if piece.file and piece.file.id not in forgotten]


def content(files: Files) -> bytes:
    return b"".join(piece.data for piece in whole_pieces(files["01A"], files.get))


def day(number: int, entries: int) -> bytes:
    done = b"".join(b"done %d.%d\n\n" % (number, entry) for entry in range(entries))
    return b"## 2026-01-%02d\n\n### Planned\n\nnothing\n\n### Done\n\n%s" % (number, done)


@settings(max_examples=40 * MORE)
@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=8))
def test_archived_text_stays_below_its_heading_when_equal_headings_are_written_above(
    steps: list[tuple[bool, int]],
) -> None:
    """As in a journal with the newest day first: every day has the same headings, at the same places."""
    title = b"# Journal\n\n"
    model = title + day(10, 9)
    files: Files = {"01A": file_of("markdown", model)}
    for number, (writes, size) in enumerate(steps, 11):
        if writes:
            model = title + day(number, size) + model.removeprefix(title)
            file = files["01A"]
            files["01A"] = file.with_body(title + day(number, size) + file.body.removeprefix(title))
        else:
            archived(files, 60 * size)
        assert content(files) == model


def test_archived_text_stays_where_an_equal_line_is_written_above() -> None:
    files: Files = {"01A": file_of("text", b"Done:\none\n\nDone:\ntwo\n\nDone:\nthree\n")}
    archived(files, 30)
    assert files["01A"].body == b"Done:\ntwo\n\nDone:\nthree\n"
    files["01A"] = files["01A"].with_body(b"Done:\nzero\n\n" + files["01A"].body)
    assert content(files) == b"Done:\nzero\n\nDone:\none\n\nDone:\ntwo\n\nDone:\nthree\n"


def test_archived_sections_are_not_exchanged_when_the_line_below_one_of_equal_headings_changes() -> None:
    first, second, third = (b"# Log\n\nsame\n\n%s\n\n" % word for word in (b"one", b"two", b"three"))
    files: Files = {"01A": file_of("markdown", first + second + third)}
    archived(files, len(second + third))
    assert files["01Z001"].body == first
    edited = second.replace(b"same", b"other")
    files["01A"] = files["01A"].with_body(edited + third)
    assert content(files) == first + edited + third


@pytest.mark.parametrize("gone", ["missing", "purged"])
def test_an_archive_stays_before_newer_text_if_the_one_with_the_next_line_is_gone(gone: str) -> None:
    files: Files = {"01A": file_of("markdown", b"# 1\n\nold\n\n# 2\n\nolder\n\n# 3\n\nlast\n")}
    archived(files, 25)
    archived(files, 12)
    first, second = (files[f"01Z{number:03}"].body for number in (1, 2))
    assert (first, second) == (b"# 1\n\nold\n\n", b"# 2\n\nolder\n\n")
    files["01Z002"] = file_of("none", b"", "01Z002")
    if gone == "missing":
        del files["01Z002"]
    files["01A"] = files["01A"].with_body(files["01A"].body + b"\n# 2\n\nnew\n")
    assert b"".join(piece.data for piece in whole_pieces(files["01A"], files.get)) == first + files["01A"].body


def test_a_part_that_continues_a_forgotten_one_follows_what_is_read() -> None:
    files: Files = {"01A": file_of("text", b"one\n\n")}
    for name, body in (("01B", b"two\n"), ("01C", b"three\n"), ("01D", b"four")):
        files[name] = new_part(files["01A"], name).with_body(body)
        files["01A"] = joined(files["01A"], name, CONTINUED)
    files["01B"] = set_key(files["01B"], "slice.archived.at", "2026-01-01T00:00:00.000Z")
    assert b"".join(piece.data for piece in whole_pieces(files["01A"], files.get)) == b"one\n\nthree\n\nfour"


@pytest.mark.parametrize(
    "stated", ["", "nowhere", "5+", "-1+4", "99999+3", "0+99999 2+1", "²+1", "1+1 x", "9" * 400 + "+1", "0+0"]
)
def test_an_archive_that_says_nonsense_about_its_place_still_counts(stated: str) -> None:
    file = joined(file_of("text", b"new\n"), "01B", ARCHIVED)
    part = new_file(
        id="01B", title="T", summary="S.", body_type="text", body=b"old\n", taken_from=stated or None,
        links=[Link("part_of", "01A", ARCHIVED)],
    )  # fmt: skip
    found = {whole_hash(file, Files({"01B": each}).get) for each in (part, part.with_body(b"older\n"))}
    assert len(found | {whole_hash(file, lambda _: None), None}) == 4


def test_rows_in_more_places_than_a_header_can_state_are_moved_from_the_start() -> None:
    body = b"".join(row(number, number % 2) for number in range(2400))
    moved = move_oldest(file_of("jsonl", body), len(body) // 2)
    assert moved
    assert moved.leaves + moved.stays == body
    fewer = b"".join(row(number, number % 2) for number in range(20))
    assert len((move_oldest(file_of("jsonl", fewer), len(fewer) // 2) or moved).places) > 5


def test_files_that_name_each_other_as_parts_come_to_an_end() -> None:
    one = file_of("text", b"a\n", "01A", Link("has_part", "01B", ARCHIVED), Link("part_of", "01B", CONTINUED))
    other = file_of("text", b"b\n", "01B", Link("has_part", "01A", CONTINUED), Link("part_of", "01A", ARCHIVED))
    files: Files = {"01A": one, "01B": other}
    assert whole_hash(one, files.get) == digest(b"b\na\n")
    assert object_version(one, bytes_in(files)) == object_version(other, bytes_in(files))
    itself = file_of("text", b"a\n", "01A", Link("has_part", "01A", CONTINUED), Link("part_of", "01A", CONTINUED))
    assert whole_hash(itself, {"01A": itself}.get) == itself.hash
    chain: Files = {
        f"{at:05}": file_of("text", b"%d\n" % at, f"{at:05}", Link("has_part", f"{at + 1:05}", CONTINUED))
        for at in range(1200)
    }
    assert whole_hash(chain["00000"], chain.get) == digest(b"\n".join(b"%d\n" % at for at in range(1200)))


def test_a_part_of_another_type_or_one_that_is_not_there_does_not_count() -> None:
    file = joined(joined(file_of("text", b"a\n"), "01B", CONTINUED), "01C", CONTINUED)
    assert whole_hash(file, Files({"01B": file_of("markdown", b"b\n", "01B")}).get) == digest(b"a\n")


# Rows in two parts


def divided(*bodies: bytes) -> Files:
    files: Files = {"01A": file_of("jsonl", bodies[-1])}
    for number, body in enumerate(bodies[:-1]):
        name = f"01Z{number}"
        files[name] = new_part(files["01A"], name, Moved(body, b""))
        files["01A"] = joined(files["01A"], name, ARCHIVED)
    return files


@settings(max_examples=60 * MORE)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=4).map(sorted),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_rows_that_branches_archived_twice_count_once_and_removing_them_changes_no_hash(
    ends: list[int], line_end: bytes
) -> None:
    """Each branch has archived the first rows, as many as it had room for."""
    rows = [row(number, number) for number in range(12)]
    bodies = [b"".join(rows[:end]) for end in ends]
    bodies[-1] = bodies[-1].replace(b"\n", line_end)
    files = divided(*bodies, b"".join(rows[ends[-1] :]))
    whole = whole_hash(files["01A"], files.get)
    order = [*(files[f"01Z{number}"] for number in range(len(ends))), files["01A"]]
    changes = without_repeated(order)
    for old, new in changes:
        assert checked_bytes(old, new)
        files[new.id] = new
    assert whole_hash(files["01A"], files.get) == whole
    assert repeated_rows(files.values()) == set()
    lines = [line.strip() for file in files.values() for line in file.body.splitlines()]
    assert sorted(lines) == sorted(line.strip() for line in rows)


def test_what_has_one_id_and_other_bytes_is_not_the_same_row() -> None:
    files = divided(row(1, 1), row(1, 2))
    assert repeated_rows(files.values()) == set()
    assert without_repeated([*files.values()]) == []
    same = b'{"text":"no id"}\n'
    assert repeated_rows(divided(same, same).values()) == set()


def test_an_archive_of_rows_from_several_places_still_says_where_they_were() -> None:
    rows = [row(number, time) for number, time in enumerate((5, 1, 6, 2, 7, 3))]
    file = file_of("jsonl", b"".join(rows))
    moved = move_oldest(file, len(file.body) - len(rows[1] + rows[3] + rows[5]))
    assert moved
    assert len(moved.places) == 3
    part = new_part(file, "01Z", moved)
    files: Files = {"01Z": part, "01Y": file_of("jsonl", rows[1], "01Y", Link("part_of", "01A", ARCHIVED))}
    files["01A"] = joined(joined(file.with_body(moved.stays), "01Y", ARCHIVED), "01Z", ARCHIVED)
    before = whole_hash(files["01A"], files.get)
    ((old, new),) = without_repeated([files["01Y"], part, files["01A"]])
    assert (old.id, new.body) == ("01Z", rows[3] + rows[5])
    files["01Z"] = new
    assert whole_hash(files["01A"], files.get) == before


# The version


def test_the_version_is_of_all_files_whichever_is_named_and_changes_with_any_of_them() -> None:
    files: Files = {"01A": file_of("text", b"a\n")}
    load = bytes_in(files)
    assert object_version(files["01A"], load) == files["01A"].digest
    for name, label in (("01B", CONTINUED), ("01C", ARCHIVED)):
        files[name] = new_part(files["01A"], name, Moved(b"", b"") if label == ARCHIVED else None).with_body(b"b\n")
        files["01A"] = joined(files["01A"], name, label)
    seen = {object_version(file, load) for file in files.values()}
    assert len(seen) == 1
    for name in ("01A", "01B", "01C"):
        file = files[name] or files["01A"]
        files[name] = file.with_body(file.body + b"more\n")
        seen.add(object_version(files["01A"], load))
    assert len(seen) == 4
