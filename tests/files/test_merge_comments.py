"""Merging the comments of frontmatters: what a side added stays, and what a side deleted does not come back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.merge_comments import comments_of
from slicebase.files.slice_file import SliceFile
from tests.amounts import MORE
from tests.files.test_merge import conflicts, file, merged


@pytest.mark.parametrize("title", ["All decisions", "Our decisions"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_comment_that_one_side_deleted_does_not_come_back_with_a_change_of_its_line(title: str, turned: bool) -> None:
    """Of the two titles, one comes before the old one in the order of bytes, and one after it."""
    sides = [file("", (" # what we call them", "")), file("", ("Decisions #", f"{title} #"))]
    result = merged(file(), *(sides[::-1] if turned else sides))
    assert result.title == title
    assert b"#" not in result.head


@pytest.mark.parametrize("turned", [False, True])
def test_only_the_version_of_a_side_that_changed_a_line_has_a_comment_that_the_other_deleted_with_it(
    turned: bool,
) -> None:
    base = file("", ("owner: one", "owner: one # since May"))
    sides = [file("", ("    owner: one\n", "")), file("", ("owner: one", "owner: two # since May"))]
    outcome = conflicts(base, *(sides[::-1] if turned else sides))
    assert outcome.conflicts == ("slice.meta.owner",)
    between = "=======\n    owner: two # since May\n", "    owner: two # since May\n=======\n"
    assert between[turned].encode() in outcome.data


@settings(max_examples=100 * MORE)
@given(deleted=st.sets(st.integers(0, 5)), changed=st.sets(st.integers(0, 5)), turned=st.booleans(), new=st.text("az"))
def test_comments_that_one_side_deletes_are_gone_and_all_others_stay(
    deleted: set[int], changed: set[int], turned: bool, new: str
) -> None:
    """Each side changes some of the same lines. Nothing here is a conflict."""

    def version(deleted: set[int], changed: set[int]) -> SliceFile:
        lines = (
            f"    key{at}: {f'new{new}' if at in changed else 'old'}{f' # note {at}' if at not in deleted else ''}\n"
            for at in range(6)
        )
        return file("", ("    owner: one\n", "".join(lines)))

    sides = [version(deleted, set()), version(set(), changed)]
    result = merged(version(set(), set()), *(sides[::-1] if turned else sides))
    assert result.head == version(deleted, changed).head


def test_what_looks_like_a_comment_in_a_text_is_none_and_hides_none() -> None:
    text = """---
# 1
slice: # 2
  v: "1"
  id: 01JFILE0000000000000000001
  title: "not # this" # 3
  summary: it's not#this # 4 # 4
  body:
    type: text
  meta:
    'not # this': [a, "not # this", # 5
      b] # 6
    literal: | # 7
      not # this
      # nor this
    folded: >-
      # nor this
    # 8
    plain: of two
      lines # 9
    empty: |
---
"""
    found = comments_of(SliceFile.parse(text.encode()))
    assert sorted(found) == ["# 1", "# 2", "# 3", "# 4 # 4", *(f"# {number}" for number in range(5, 10))]
    assert comments_of(None) == {}


@pytest.mark.parametrize("turned", [False, True])
def test_a_deleted_comment_does_not_come_back_behind_a_text_with_a_number_sign(turned: bool) -> None:
    sides = [file("", (" # what we call them", "")), file("", ("Decisions #", '"Decisions # 7" #'))]
    outcome = conflicts(file(), *(sides[::-1] if turned else sides))
    assert outcome.conflicts == ("comments",)
    assert outcome.data.count(b"# what we call them") == 1
