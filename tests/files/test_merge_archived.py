"""Two branches that both moved the oldest content of a file to archives merge without a conflict."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.body.whole import whole_pieces
from slicebase.files.merge import merge, merge_bytes
from slicebase.files.merge_archived import _overlap
from slicebase.files.slice_file import SliceFile
from tests.amounts import MORE
from tests.files.body.test_repeated import Files, archive, change, grown, new, words_of
from tests.files.test_merge import conflicts, file, merged

STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 8)), max_size=9)


def merged_files(base: Files, ours: Files, theirs: Files) -> Files:
    """Merges as git does, with the driver. Archives are files of one branch."""
    name = ".slices/01A.slice"
    before, one, other = (files["01A"].to_bytes() for files in (base, ours, theirs))
    outcome = merge_bytes(before, one, other, name)
    assert outcome == merge_bytes(before, other, one, name)
    assert not outcome.conflicts
    return {**ours, **theirs, "01A": SliceFile.parse(outcome.data, name)}


@pytest.mark.parametrize("body_type", ["conversation", "routine", "text"])
@settings(max_examples=30 * MORE)
@given(steps=STEPS, ours=STEPS, theirs=STEPS)
def test_every_word_is_there_once_after_the_merge_however_much_each_branch_archived(
    body_type: str, steps: list[tuple[bool, int]], ours: list[tuple[bool, int]], theirs: list[tuple[bool, int]]
) -> None:
    base = change(new(body_type), body_type, [(True, 0), *steps], "b")
    sides = change(base, body_type, ours, "x"), change(base, body_type, theirs, "y")
    files = merged_files(base, *sides)
    words = {word for side in (base, *sides) for file in side.values() for word in words_of(file.body)}
    found = words_of(b"".join(piece.data for piece in whole_pieces(files["01A"], files.get)))
    assert sorted(found) == sorted(words)


def test_a_line_that_one_branch_archived_and_the_other_changed_is_a_conflict() -> None:
    base = change(new("routine"), "routine", [(True, 0)] * 4, "b")
    ours = dict(base)
    archive(ours, 0, "01X")
    ours["01A"] = ours["01A"].with_body(grown("routine", b"", "x0"))
    theirs = base["01A"].with_body(base["01A"].body.replace(b"<b2>", b"<b9>"))
    outcome = merge_bytes(base["01A"].to_bytes(), ours["01A"].to_bytes(), theirs.to_bytes(), "a.slice")
    assert outcome.conflicts == ("body",)
    assert b"<b9>" in outcome.data


def test_what_both_replaced_without_an_archive_is_a_conflict() -> None:
    sides = (file(f"{word}\n", type="text", write="append") for word in ("one", "two", "three"))
    assert conflicts(*sides).conflicts == ("body",)
    text = [file(body, type="text", write="append") for body in ("a\n\nb\n", "b\n\nx\n", "a\n\nb\n\ny\n")]
    assert merged(*text).body == b"b\n\nx\n\ny\n"


class _Line(bytes):
    """A line that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        _Line.compared += 1
        return super().__eq__(other)

    __hash__ = bytes.__hash__


def test_equal_lines_take_time_in_proportion_to_their_number() -> None:
    base: list[bytes] = [*(_Line(b"x\n") for _ in range(2000)), _Line(b"y\n")]
    side: list[bytes] = [*(_Line(b"x\n") for _ in range(1995)), _Line(b"z\n")]
    _Line.compared = 0
    assert _overlap(base, side) == 0
    assert _overlap(base, [*base[500:], *side]) == len(base) - 500
    assert _Line.compared < 10 * (len(base) + len(side))


def test_what_both_sides_moved_adds_up_also_where_it_is_the_same_and_a_text_there_is_not_lost() -> None:
    def moved(*values: str) -> list[SliceFile]:
        owners = "one", "two", "one"  # the sides differ
        lines = (f"  moved: {value}\n  meta:\n    owner: {owner}" for value, owner in zip(values, owners, strict=True))
        return [file("", ("  meta:\n    owner: one", changed)) for changed in lines]

    assert merged(*moved('"000001"', '"000003"', '"000003"')).moved == "000005"
    assert merged(*moved('"000003"', '"000003"', '"000004"')).moved == "000004"
    assert merged(*moved("one", "same", "same")).moved == "same"
    assert merge(*moved("one", "ours", "theirs")).conflicts == ("slice.moved",)
