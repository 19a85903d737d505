"""What two branches archived counts once, what was written twice stays twice, and a forgotten copy never wins."""

import tracemalloc
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.body.overflow import ARCHIVED, joined, move_oldest, new_part
from slicebase.files.body.part_order import ordered
from slicebase.files.body.repeated import counted, in_precedence, without_repeated
from slicebase.files.body.rows import row_line
from slicebase.files.body.text import append_lines, append_paragraph
from slicebase.files.body.whole import repairs, whole_hash, whole_pieces
from slicebase.files.create import archived, new_file
from slicebase.files.model import Link
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import append_item
from tests.amounts import MORE

TYPES = ["conversation", "routine", "text", "markdown"]
Files = dict[str | None, SliceFile]


def grown(body_type: str, body: bytes, word: str) -> bytes:
    if body_type == "jsonl":
        return append_lines(body, row_line({"id": word, "created_at": "2026-01-01T00:00:00Z"}, {"text": f"<{word}>"}))
    if body_type in ("conversation", "routine"):
        return append_lines(body, f'{{"role":"user","content":"<{word}>"}}\n'.encode())
    return append_paragraph(body, f"## <{word}>\n\ntext" if body_type == "markdown" else f"<{word}>\nsecond line")


def archive(files: Files, most: int, part_id: str) -> None:
    file = files["01A"]
    moved = move_oldest(file, most)
    if moved:
        files[part_id] = new_part(file, part_id, moved)
        files["01A"] = joined(file.with_body(moved.stays), part_id, ARCHIVED, moved.leaves)


TITLE = b"# Title\n\nBefore.\n"
BEFORE = b"\n".join(b"<i%d> %s\n" % (number, b"x" * 60) for number in range(4))  # paragraphs that move, too


def new(body_type: str, start: bytes = b"") -> Files:
    body = start if body_type == "markdown" else b""
    return {"01A": new_file(id="01A", title="T", summary="", body_type=body_type, body=body, name=".slices/01A.slice")}


def words_of(data: bytes) -> list[bytes]:
    return [part.partition(b">")[0] for part in data.split(b"<")[1:]]


def merged(base: Files, ours: Files, theirs: Files) -> Files:
    """Merges as git does: what is common and stays on both sides, then what each side added."""
    one, other = (words_of(files["01A"].body) for files in (ours, theirs))
    known = {word for file in base.values() for word in words_of(file.body)}
    stay = [word for word in one if word in other or word not in known] + [word for word in other if word not in known]
    before = b"\n".join(line + b"\n" for line in BEFORE.split(b"\n") if line and {*words_of(line)} <= {*one} & {*other})
    file = ours["01A"].with_body(TITLE if ours["01A"].body.startswith(b"# Title") else before)
    for word in (word for word in dict.fromkeys(stay) if not word.startswith(b"i")):
        file = file.with_body(grown(file.body_type or "", file.body, word.decode()))
    links = [link for link in theirs["01A"].links if link not in ours["01A"].links]
    for link in links:
        file = append_item(file, "slice.links", Link(link.rel, link.to, link.label))
    return {**theirs, **ours, "01A": file}


# Not 0: a branch that moves even the text of a last section archives its heading later, and alone.
STEPS = st.lists(st.tuples(st.booleans(), st.integers(1, 8)), max_size=9)


def change(files: Files, body_type: str, steps: list[tuple[bool, int]], name: str) -> Files:
    files, numbers = dict(files), count()
    for writes, value in steps:
        if writes:
            file = files["01A"]
            files["01A"] = file.with_body(grown(body_type, file.body, f"{name}{next(numbers)}"))
        else:
            archive(files, value * 40, f"01{name.upper()}{len(files):03}")
    return files


@pytest.mark.parametrize("body_type", TYPES)
@settings(max_examples=40 * MORE)
@given(start=st.sampled_from([b"", TITLE, BEFORE]), steps=STEPS, ours=STEPS, theirs=STEPS, turned=st.booleans())
def test_what_branches_archived_counts_once_in_order_and_removing_the_copy_changes_no_hash(
    body_type: str,
    start: bytes,
    steps: list[tuple[bool, int]],
    ours: list[tuple[bool, int]],
    theirs: list[tuple[bool, int]],
    turned: bool,
) -> None:
    base = change(new(body_type, start), body_type, [(True, 0), *steps], "b")
    sides = change(base, body_type, ours, "x"), change(base, body_type, theirs, "y")
    files = merged(base, *(sides[::-1] if turned else sides))
    everything = {word for side in (base, *sides) for file in side.values() for word in words_of(file.body)}
    before = whole_hash(files["01A"], files.get)
    found = words_of(b"".join(piece.data for piece in whole_pieces(files["01A"], files.get)))
    assert sorted(found) == sorted(everything)
    for name in (b"i", b"b"):
        common = [word for word in found if word.startswith(name)]
        assert common == sorted(common, key=lambda word: int(word[1:]))
    while found_now := repairs(files.values()):  # one at a time, as if each had been interrupted
        old, new_version = found_now[-1 if turned else 0]
        files[old.id] = new_version
        assert whole_hash(files["01A"], files.get) == before
    assert sorted(word for file in files.values() for word in words_of(file.body)) == sorted(everything)


def test_what_two_branches_archived_from_two_places_counts_once() -> None:
    base = change(new("markdown", BEFORE), "markdown", [(True, 0)] * 3, "b")
    ours, theirs = (change(base, "markdown", [(False, 1), (False, 1), (True, 0)], name) for name in "xy")
    assert {len(files) for files in (ours, theirs)} == {3}
    files = merged(base, ours, theirs)
    read = words_of(b"".join(piece.data for piece in whole_pieces(files["01A"], files.get)))
    assert read == [b"i0", b"i1", b"i2", b"i3", b"b0", b"b1", b"b2", b"x0", b"y0"]


def test_an_archive_around_the_place_of_an_earlier_one_counts_once_and_so_does_that() -> None:
    def side(name: str) -> Files:
        files = new("markdown", b"# A\n\n<b0>\n\n## S\n\n<b1>\n\n## T\n\n<b2>\n")
        archive(files, 20, f"01{name}1")
        files["01A"] = files["01A"].with_body(files["01A"].body + b"\n# B\n\n<%s0>\n" % name.lower().encode())
        archive(files, 20, f"01{name}2")
        return files

    ours, theirs = side("X"), side("Y")
    assert [words_of(ours[name].body) for name in ("01X1", "01X2")] == [[b"b1"], [b"b0", b"b2"]]
    files = merged(new("markdown"), ours, theirs)
    read = words_of(b"".join(piece.data for piece in whole_pieces(files["01A"], files.get)))
    assert read == [b"b0", b"b1", b"b2", b"x0", b"y0"]


@pytest.mark.parametrize("later", [b"", b"# <c0>\n\ntext\n\n"])
def test_a_section_that_both_branches_wrote_to_is_compared_by_paragraphs_where_nothing_follows_it(later: bytes) -> None:
    """Else the rest of the second would be below another heading, and the whole section stays."""

    def side(name: bytes, end: bytes) -> Files:
        start = b"# A\n\n<b0>\n\n<%s0>\n\n%s# B\n\n<b1>\n" % (name, end)
        files = new("markdown", start)
        archive(files, 20, f"01{name.decode().upper()}")
        return files

    ours, theirs = side(b"x", later), side(b"y", b"")
    assert ours["01A"].body == theirs["01A"].body == b"# B\n\n<b1>\n"
    files = merged(new("markdown"), ours, theirs)
    files["01A"] = files["01A"].with_body(ours["01A"].body)
    read = words_of(b"".join(piece.data for piece in whole_pieces(files["01A"], files.get)))
    assert later or read == [b"b0", b"x0", b"y0", b"b1"]
    assert sorted(read) == sorted([b"b0", b"x0", b"y0", b"b1", *([b"b0", b"c0"] if later else [])])


@pytest.mark.parametrize("body_type", TYPES)
@settings(max_examples=20 * MORE)
@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 8)), max_size=20))
def test_what_is_written_twice_is_never_taken_for_a_copy(body_type: str, steps: list[tuple[bool, int]]) -> None:
    files = new(body_type)
    for number, (writes, value) in enumerate(steps):
        if writes:
            files["01A"] = files["01A"].with_body(grown(body_type, files["01A"].body, "ping"))
        else:
            archive(files, value * 40, f"01Z{number:03}")
    assert without_repeated(ordered(files["01A"], files.values())) == []


def test_after_a_merge_and_its_repair_the_same_words_can_be_archived_again() -> None:
    base = change(new("text"), "text", [(True, 0)] * 4, "b")
    ours, theirs = (change(base, "text", [(False, 0)], name) for name in "xy")
    for repaired in (False, True):
        files = merged(base, ours, theirs)
        for old, shorter in repairs(files.values()) if repaired else ():
            files[old.id] = shorter
        again = change(files, "text", [(True, 0)] * 4, "b")  # the same words as at first
        archive(again, 0, "01Z")
        assert again["01Z"].body == ours["01X001"].body
        read = b"".join(file.body for file in counted(ordered(again["01A"], again.values())))
        assert words_of(read) == [b"b0", b"b1", b"b2", b"b3"] * 2


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("body_type", TYPES)
def test_a_forgotten_copy_never_wins_and_is_never_changed(body_type: str, first: bool) -> None:
    base = change(new(body_type), body_type, [(True, 0)] * 5, "b")
    ours, theirs = (change(base, body_type, [(False, most)], name) for name, most in (("x", 1), ("y", 0)))
    files = merged(base, ours, theirs)
    before = whole_hash(files["01A"], files.get)
    gone, left = ("01X001", "01Y001") if first else ("01Y001", "01X001")
    files[gone] = archived(files[gone], "2026-01-01T12:00:00.000Z", None)
    assert repairs(files.values()) == []
    read = {file.id: file.body for file in counted(ordered(files["01A"], files.values()))}
    assert read[left] == files[left].body
    assert whole_hash(files["01A"], files.get) == before  # forgetting changes no content


def test_archives_that_follow_each_other_are_not_joined_to_be_compared() -> None:
    """Every archive follows all before it: joining them all for each would take the square of their size."""
    body = b"".join(b"%d %s\n\n" % (number, b"x" * 9000) for number in range(60))
    files: Files = {
        "01A": new_file(id="01A", title="T", summary="S.", body_type="text", body=body, name=".slices/01A.slice")
    }
    for number in range(50):
        archive(files, len(files["01A"].body) - 9000, f"01Z{number:03}")
    order = [*(file for name, file in sorted(files.items()) if name != "01A"), files["01A"]]
    assert len(order) == 51
    tracemalloc.start()
    assert without_repeated(order) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * len(body)


@pytest.mark.parametrize("body_type", ["jsonl", *TYPES])
@settings(max_examples=30 * MORE)
@given(steps=STEPS, most=st.integers(0, 60), forgets=st.booleans())
def test_an_archive_that_a_killed_writer_left_never_counts_before_its_file(
    body_type: str, steps: list[tuple[bool, int]], most: int, forgets: bool
) -> None:
    """It has nothing of its own. If it is forgotten, it is nobody's business what it has."""
    before = change(new(body_type), body_type, [*steps, *([(True, 0)] * 5)], "k")
    files = dict(before)
    archive(files, most, "01Z")
    copy = archived(files["01Z"], "2026-01-01T00:00:00.000Z", "") if forgets else files["01Z"]
    found = counted(ordered(before["01A"], [*(part for name, part in before.items() if name != "01A"), copy]))
    left = {file.id: words_of(file.body) for file in found}
    assert left["01A"] == words_of(before["01A"].body)
    if not forgets:
        assert left["01Z"] == []
    assert in_precedence([copy, before["01A"]]) == [before["01A"], copy]
