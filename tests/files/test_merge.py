"""Merging slice files: separate changes are combined, and only different changes of the same thing are a conflict."""

import json
from collections.abc import Callable
from random import Random
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.merge_checks import check
from fuzz.merges import versions
from slicebase.files.body.text import append_in_section
from slicebase.files.merge import Outcome, merge, merge_bytes
from slicebase.files.merge_lines import comparable, equal_parts, lines_of, marked, merge_lines
from slicebase.files.merge_scalars import Spelling
from slicebase.files.slice_file import SliceFile
from tests.amounts import MORE

HEAD = """---
slice:
  v: "1"
  id: 01JFILE0000000000000000001
  title: Decisions # what we call them
  summary: What was decided.
  body:
    type: {type}
  contract:
    write: {write}
  links:
    - rel: see_also
      to: 01JOTHER000000000000000001
  meta:
    owner: one
    state: draft
---
"""


def file(body: str = "", *changes: tuple[str, str], type: str = "jsonl", write: str = "append") -> SliceFile:
    text = HEAD.format(type=type, write=write)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return SliceFile.parse((text + body).encode())


def row(name: str, text: str = "", second: int = 0) -> str:
    return (
        json.dumps({"_meta": {"id": name, "created_at": f"2026-01-01T00:00:{second:02}Z"}, "text": text or name}) + "\n"
    )


def merged(base: SliceFile, ours: SliceFile, theirs: SliceFile) -> SliceFile:
    outcome = merge(base, ours, theirs)
    assert outcome.conflicts == ()
    return SliceFile.parse(outcome.data)


def conflicts(base: SliceFile | None, ours: SliceFile, theirs: SliceFile) -> Outcome:
    outcome = merge(base, ours, theirs)
    assert outcome.conflicts
    assert b"<<<<<<< ours\n" in outcome.data
    return outcome


def link(rel: str, to: str) -> tuple[str, str]:
    return "  meta:\n", f"    - rel: {rel}\n      to: {to}\n  meta:\n"


# ---- rows


def test_rows_that_both_sides_append_are_all_kept_in_the_order_of_their_age() -> None:
    base = file(row("a"))
    result = merged(base, file(row("a") + row("c", second=3)), file(row("a") + row("b", second=2)))
    assert result.body.decode() == row("a") + row("b", second=2) + row("c", second=3)


def test_a_row_that_one_side_removed_is_gone_and_one_that_the_other_changed_as_well_is_a_conflict() -> None:
    base = file(row("a") + row("b"))
    assert merged(base, file(row("b")), file(row("a") + row("b") + row("c"))).body.decode() == row("b") + row("c")
    outcome = conflicts(base, file(row("b")), file(row("a", "changed") + row("b")))
    assert outcome.conflicts == ("row a",)


def test_a_row_that_both_sides_change_differently_is_a_conflict_and_the_others_are_merged() -> None:
    base = file(row("a") + row("b"))
    ours = file(row("a", "ours") + row("b") + row("c", second=1))
    theirs = file(row("a", "theirs") + row("b") + row("d", second=2))
    outcome = conflicts(base, ours, theirs)
    lines = outcome.data.decode().split("---\n")[-1]
    expected = f"<<<<<<< ours\n{row('a', 'ours')}=======\n{row('a', 'theirs')}>>>>>>> theirs\n"
    assert lines == expected + row("b") + row("c", second=1) + row("d", second=2)


def test_lines_that_are_not_rows_are_merged_as_lines() -> None:
    base = file("no row at all\n" + row("a"))
    result = merged(base, file("no row at all\n" + row("a") + row("b")), file("still none\n" + row("a")))
    assert result.body.decode() == "still none\n" + row("a") + row("b")


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


@pytest.mark.parametrize(("before", "after"), [(str, crlf), (crlf, str)])
def test_line_ends_are_those_of_the_side_that_changed_them(
    before: Callable[[str], str], after: Callable[[str], str]
) -> None:
    base, ours = file(before(row("a"))), file(before(row("a") + row("b")))
    theirs = file(after(row("a") + row("c")))
    for result in (merged(base, ours, theirs), merged(base, theirs, ours)):
        assert result.body.decode() == after(row("a") + row("b") + row("c"))


def test_each_line_keeps_its_end_where_they_differ() -> None:
    """An editor appended a line with LF."""
    base = file(crlf(row("a")))
    result = merged(base, file(crlf(row("a")) + row("b")), file(crlf(row("a")) + row("c")))
    assert result.body.decode() == crlf(row("a")) + row("b") + row("c")


@pytest.mark.parametrize("base", [crlf(row("a")), crlf(row("a")) + row("b")])
def test_a_side_that_leaves_no_line_end_does_not_change_those_of_the_other(base: str) -> None:
    """The frontmatter has LF, which says nothing about a body that has other line ends, or different ones."""
    emptied, grown = file(), file(base + crlf(row("c")))
    assert merged(file(base), emptied, grown).body == merged(file(base), grown, emptied).body == crlf(row("c")).encode()
    one = file(row("a").strip())
    assert merged(file(base), one, grown).body.decode().endswith(crlf(row("c")).strip())


def test_half_a_line_end_at_the_end_is_none_of_the_text() -> None:
    """A text with different line ends is compared with one of CRLF: with a line end, it would have `\\r` twice."""
    assert comparable(None, b"\none\r\ntwo\r", b"one\r\nthree\r\n").ours == [b"", b"one", b"two"]


def test_a_side_that_empties_a_file_and_gives_it_other_line_ends_has_changed_them() -> None:
    base, theirs = (file(body, type="text").to_bytes() for body in ("one\n", "one\n\ntwo\n"))
    base, theirs = (data.replace(b"\n", b"\r\n") for data in (base, theirs))
    outcome = merge_bytes(base, file("", type="text").to_bytes(), theirs, "x.slice")
    assert b"\r" not in outcome.data
    assert b"two\n" in outcome.data


# ---- lines and paragraphs


def test_messages_that_both_sides_append_are_in_the_order_of_time() -> None:
    def said(text: str, second: int) -> str:
        return json.dumps({"role": "user", "content": text, "ts": f"2026-01-01T00:00:{second:02}Z"}) + "\n"

    base = file(said("a", 0), type="conversation")
    ours = file(said("a", 0) + said("d", 9) + said("e", 10), type="conversation")
    theirs = file(said("a", 0) + said("z", 3), type="conversation")
    expected = said("a", 0) + said("z", 3) + said("d", 9) + said("e", 10)
    assert merged(base, ours, theirs).body.decode() == merged(base, theirs, ours).body.decode() == expected


def test_messages_of_one_side_stay_in_their_order_with_lines_that_have_no_time() -> None:
    def line(**fields: str) -> str:
        return json.dumps(fields) + "\n"

    call = line(role="tool_call", name="read", call_id="c1")
    answer = line(role="tool_result", call_id="c1", content="x")
    asked, later = (line(role="user", content=text, ts=f"2026-01-01T00:00:0{at}Z") for at, text in ((1, "a"), (3, "z")))
    other = line(role="user", content="b", ts="2026-01-01T00:00:02Z")
    base, ours = file("", type="conversation"), file(asked + call + answer + later, type="conversation")
    result = merged(base, ours, file(other, type="conversation"))
    assert result.body.decode() == asked + call + answer + other + later


def lines(*objects: dict[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in objects)


def both_appended(type: str, one: str, other: str, base: str = "") -> str:
    """Merges what two sides appended in both directions, which give the same. Returns the appended lines."""
    before, ours, theirs = (file(base + text, type=type) for text in ("", one, other))
    result = merged(before, ours, theirs)
    assert merged(before, theirs, ours) == result
    return result.body.decode().removeprefix(base)


QUESTION, OTHER, YES = ({"role": role, "content": text} for role, text in (("user", "q"), ("user", "r"), ("assistant", "yes")))  # fmt: skip  # noqa: E501
AT = {"ts": "2026-01-01T00:00:05Z"}


def test_the_same_answer_to_two_questions_is_kept_twice() -> None:
    one, other = lines(QUESTION, YES), lines(OTHER, YES)
    assert both_appended("conversation", one, other, base=lines(YES)) == one + other


def test_a_line_is_the_same_on_both_sides_only_after_the_same_lines_or_with_a_name_of_its_own() -> None:
    assert both_appended("conversation", lines(QUESTION, YES), lines(QUESTION, OTHER)) == lines(QUESTION, YES, OTHER)
    assert both_appended("conversation", lines(YES, YES), lines(YES)) == lines(YES, YES)
    assert both_appended("conversation", lines(QUESTION, YES | AT), lines(YES | AT)) == lines(QUESTION, YES | AT)
    result = {"role": "tool_result", "call_id": "c1", "content": "x"}
    assert both_appended("conversation", lines(QUESTION, result), lines(result)) == lines(QUESTION, result)
    assert both_appended("conversation", "\n" + lines(QUESTION), lines(QUESTION, YES), lines(OTHER)) == lines(
        QUESTION, YES
    )
    one, two, three = ({"instruction": text} for text in ("one", "test", "three"))
    begun = [file(end + lines(two, one, two), type="routine") for end in ("\n", "\n\n")]
    assert merged(file(lines(two), type="routine"), *begun).body.decode() == lines(two, one, two)
    assert both_appended("routine", lines(one, two), lines(three, two)) == lines(one, two, three, two)
    signed = two | {"_meta": {"created_at": "2026-01-01T00:00:00.123Z"}}
    assert both_appended("routine", lines(one, signed), lines(signed, three)) == lines(one, signed, three)


@pytest.mark.parametrize("named", [{}, AT])
def test_the_same_lines_in_another_order_are_a_conflict(named: dict[str, str]) -> None:
    base, *sides = (
        file(lines(*each), type="conversation") for each in ((), (QUESTION, YES | named), (YES | named, QUESTION))
    )
    assert conflicts(base, *sides).conflicts == ("body",)


@pytest.mark.parametrize("turned", [False, True])
def test_an_error_that_only_the_merged_file_would_have_is_a_conflict(turned: bool) -> None:
    sides = [
        file(json.dumps({"role": "tool_call", "name": name, "call_id": "c1"}) + "\n", type="conversation")
        for name in ("read", "write")
    ]
    outcome = conflicts(file("", type="conversation"), *(sides[::-1] if turned else sides))
    assert outcome.conflicts == ("slice",)


def test_paragraphs_that_both_sides_append_are_both_kept_in_a_file_that_is_written_by_appending() -> None:
    base = file("A heron.\n", type="markdown")
    ours, theirs = file("A heron.\n\nOurs.\n", type="markdown"), file("A heron.\n\nTheirs.\n", type="markdown")
    result = merged(base, ours, theirs)
    assert result.body.decode() == "A heron.\n\nOurs.\n\nTheirs.\n"
    assert merged(base, theirs, ours).body == result.body


PAGE = "# Page\n\nIntro.\n\n## One\n\nFirst.\n\n## Two\n\nSecond.\n"


def both_written(*sides: str, base: str = PAGE, write: str = "append") -> str:
    """Merges two bodies in both directions, which give the same. Returns the merged body."""
    ours, theirs = (file(side, type="markdown", write=write) for side in sides)
    before = file(base, type="markdown", write=write)
    result = merged(before, ours, theirs)
    assert merged(before, theirs, ours) == result
    return result.body.decode()


def test_paragraphs_that_both_sides_append_to_the_same_section_are_both_kept() -> None:
    ours, theirs = (
        append_in_section(PAGE.encode(), "One", text).decode() for text in ("Ours.", "- Theirs.\n- And more.")
    )
    assert both_written(ours, theirs) == PAGE.replace("First.\n", "First.\n\n- Theirs.\n- And more.\n\nOurs.\n")


def test_paragraphs_and_sections_at_the_end_stay_in_their_sections() -> None:
    assert both_written(PAGE + "\n## New\n\nText.\n", PAGE + "\nZ.\n") == PAGE + "\nZ.\n\n## New\n\nText.\n"
    one, other = PAGE + "\n## New\n\nA.\n\n### Sub\n\nC.\n", PAGE + "\n## New\n\nB.\n\n## Other\n\nD.\n"
    assert both_written(one, other) == PAGE + "\n## New\n\nA.\n\nB.\n\n### Sub\n\nC.\n\n## Other\n\nD.\n"


@pytest.mark.parametrize("place", ["{}Last.\n", "First.\n{}\nLast.\n", "First.\n\n{}Last.\n"])
def test_lines_that_both_sides_add_to_one_paragraph_are_a_conflict(place: str) -> None:
    """They are no paragraphs of their own: a blank line between them would be a change that nobody made."""
    base, *sides = (file(place.format(text), type="markdown") for text in ("", "Ours.\n", "Theirs.\n"))
    for ours, theirs in (sides, sides[::-1]):
        assert conflicts(base, ours, theirs).conflicts == ("body",)


def test_a_paragraph_before_or_after_one_that_the_other_side_changed_is_merged() -> None:
    base, changed = "First.\n\nLast.\n", "First.\n\nChanged.\n"
    assert both_written("First.\n\nNew.\n\nLast.\n", changed, base=base) == "First.\n\nNew.\n\nChanged.\n"
    assert both_written(base + "\nNew.\n", changed, base=base) == changed + "\nNew.\n"


def test_a_section_that_both_sides_added_is_there_once() -> None:
    """One branch took a commit of the other, and more."""
    x, y = "\n## X\n\nIn x.\n", "\n## Y\n\nIn y.\n\n### Sub\n\nDeep.\n"
    for one, other in ((x + y, y), (x + y, x), (x + y, x + y)):
        assert both_written(PAGE + one, PAGE + other) == PAGE + x + y
    assert both_written(PAGE + x + y, PAGE + y + "\nMore.\n") == PAGE + x + y + "\nMore.\n"
    sides = [file(PAGE + text, type="markdown") for text in (x + y, y + x)]
    for ours, theirs in (sides, sides[::-1]):
        assert conflicts(file(PAGE, type="markdown"), ours, theirs).conflicts == ("body",)


def test_equal_paragraphs_are_one_only_after_the_same_paragraphs() -> None:
    for base in ("", PAGE):
        one, other = base + "\nAsked.\n\nYes.\n", base + "\nBegged.\n\nYes.\n"
        assert both_written(one, other, base=base).split() == [*one.split(), *other.removeprefix(base).split()]
    assert both_written(PAGE + "\nA.\n\nB.\n", PAGE + "\nA.\n\nC.\n") == PAGE + "\nA.\n\nB.\n\nC.\n"
    changed = PAGE.replace("Second.", "Changed.")
    assert both_written(PAGE + "\nYes.\n", changed + "\nYes.\n") == changed + "\nYes.\n"
    assert both_written(PAGE + "\nYes.\n", changed + "\nAsked.\n\nYes.\n") == changed + "\nAsked.\n\nYes.\n\nYes.\n"
    crossed = [file(PAGE + text, type="markdown") for text in ("\nA.\n\nB.\n", "\nB.\n\nA.\n")]
    assert conflicts(file(PAGE, type="markdown"), *crossed).conflicts == ("body",)


def test_sections_with_the_same_name_under_different_headings_stay_apart() -> None:
    x, z = "\n## X\n\n### Notes\n\nA.\n", "\n## Z\n\n### Notes\n\nB.\n"
    assert both_written(PAGE + x, PAGE + z) == PAGE + x + z
    deep = "\n### Deep\n\nC.\n"
    assert both_written(PAGE + deep + x, PAGE + deep.replace("C", "D") + z) == PAGE + deep + "\nD.\n" + x + z
    assert both_written(PAGE + deep + x, PAGE + "\n### K\n\nE.\n") == PAGE + deep + "\n### K\n\nE.\n" + x


def test_paragraphs_of_different_sections_and_a_change_beside_them_are_merged() -> None:
    ours = append_in_section(PAGE.encode(), "One", "Ours.").decode()
    theirs = append_in_section(PAGE.encode(), "Two", "Theirs.").decode()
    assert both_written(ours, theirs) == ours.replace("Second.\n", "Second.\n\nTheirs.\n")
    changed = PAGE.replace("Second.", "Changed.")
    assert both_written(theirs, changed) == theirs.replace("Second.", "Changed.")


def test_the_older_change_comes_first() -> None:
    ours, theirs = (
        file(PAGE + f"\n{text}\n", ("  meta:\n", f"  updated_at: {at}\n  meta:\n"), type="markdown")
        for text, at in (("A.", "2026-01-02T00:00:00Z"), ("B.", "2026-01-01T00:00:00Z"))
    )
    assert merged(file(PAGE, type="markdown"), ours, theirs).body.decode() == PAGE + "\nB.\n\nA.\n"


def test_a_block_of_code_is_not_divided_and_nothing_is_put_into_one() -> None:
    one, other = (PAGE + f"\n```\nx\n\n{text}\n```\n" for text in ("y", "z"))
    assert both_written(one, other) == one + other.removeprefix(PAGE)
    base = "```\na\n\nb\n```\n"
    inside = [file(base.replace("a\n\n", f"a\n\n{text}\n\n"), type="markdown") for text in ("x", "y")]
    assert conflicts(file(base, type="markdown"), *inside).conflicts == ("body",)


@pytest.mark.parametrize("write", ["append", "replace"])
def test_lines_inside_a_paragraph_and_paragraphs_of_a_text_that_is_replaced_are_a_conflict(write: str) -> None:
    base, ours, theirs = (
        file(text, type="markdown", write=write)
        for text in (
            ("a\nb\n", "a\nx\nb\n", "a\ny\nb\n") if write == "append" else (PAGE, PAGE + "\nx\n", PAGE + "\ny\n")
        )
    )
    assert conflicts(base, ours, theirs).conflicts == ("body",)


def test_text_that_is_replaced_is_merged_by_lines_and_conflicts_where_both_sides_change_a_line() -> None:
    base = file("one\ntwo\nthree\n", type="markdown", write="replace")
    first, last = (file(body, type="markdown", write="replace") for body in ("ONE\ntwo\nthree\n", "one\ntwo\nTHREE\n"))
    assert merged(base, first, last).body == b"ONE\ntwo\nTHREE\n"
    other = file("eins\ntwo\nthree\n", type="markdown", write="replace")
    outcome = conflicts(base, first, other)
    assert outcome.conflicts == ("body",)
    assert outcome.data.endswith(b"---\n<<<<<<< ours\nONE\n=======\neins\n>>>>>>> theirs\ntwo\nthree\n")


# ---- keys


def test_different_keys_that_both_sides_change_are_both_changed_and_comments_stay() -> None:
    base = file()
    ours = file("", ("owner: one", "owner: two # handed over"), ("title: Decisions", "title: Our decisions"))
    theirs = file("", ("state: draft", "state: final"), ("contract:", "contract: # brief"), ("What was", "What we"))
    result = merged(base, ours, theirs)
    assert (result.title, result.summary) == ("Our decisions", "What we decided.")
    assert result.meta == {"owner": "two", "state": "final"}
    for comment in (b"# what we call them", b"# handed over", b"# brief"):
        assert comment in result.head


def test_a_comment_stays_beside_a_key_that_the_other_side_changed() -> None:
    ours = file("", ("owner: one", "owner: two"))
    theirs = file("", ("state: draft", "state: final # at last"))
    assert b"    owner: two\n    state: final # at last\n" in merged(file(), ours, theirs).head


@pytest.mark.parametrize("turned", [False, True])
def test_a_comment_that_would_be_lost_is_a_conflict(turned: bool) -> None:
    sides = [file("", ("owner: one", "owner: one # since May")), file("", ("    owner: one\n", ""))]
    outcome = conflicts(file(), *(sides[::-1] if turned else sides))
    assert outcome.conflicts == ("comments",)
    assert b"owner: one # since May\n" in outcome.data


def test_changes_of_neighbouring_keys_are_not_a_conflict() -> None:
    """A merge by lines would report a conflict."""
    base = file()
    result = merged(base, file("", ("owner: one", "owner: two")), file("", ("state: draft", "state: final")))
    assert result.meta == {"owner": "two", "state": "final"}


def test_keys_that_both_sides_add_and_remove_are_merged() -> None:
    base = file()
    ours = file("", ("    owner: one\n", "    ours: 1\n"))
    theirs = file("", ("    state: draft\n", "    state: draft\n    theirs: [1, 2]\n"))
    assert merged(base, ours, theirs).meta == {"ours": 1, "state": "draft", "theirs": [1, 2]}


def test_keys_that_both_sides_add_are_in_the_same_order_whoever_merges_and_numbers_as_they_were_written() -> None:
    ours = file("", ("    state: draft\n", "    state: draft\n    z: 1.50\n    a: 0x1F\n"))
    theirs = file("", ("    state: draft\n", "    state: draft\n    commit: 1234e56\n"), ("owner: one", "owner: two"))
    result = merged(file(), ours, theirs)
    assert merged(file(), theirs, ours) == result
    assert b"    z: 1.50\n" in result.head
    assert b"    a: 0x1F\n" in result.head
    assert b"    commit: 1234e56\n" in result.head


@pytest.mark.parametrize(
    ("base", "one", "other", "expected"),
    [
        ("meta: {a: 1}", "meta: {a: 1, b: 2}", "meta: {a: 1, c: 1234e56}", "meta: {a: 1, b: 2, c: 1234e56}"),
        ("", "meta:\n    b: 1.10", "meta:\n    c: 1.1", "meta:\n    b: 1.10\n    c: 1.1"),
        ("", "meta: {'b': 0x1F}", 'm: 31\n  meta: {c: 31, d: "x"}', "m: 31\n  meta: {c: 31, d: \"x\", 'b': 0x1F}"),
        ("meta: {a: 1.0}", "meta: {a: 1.00}", "meta: {a: 1.0, b: 1.0}", "meta: {a: 1.00, b: 1.0}"),
        ("a: 1.5\n  k: 1", "a: 1.50\n  k: 1", "a: 1.5", "a: 1.50"),
    ],
)
def test_numbers_and_quotes_are_written_as_on_the_side_that_has_them(
    base: str, one: str, other: str, expected: str
) -> None:
    """An edit knows values only, and a mapping that both sides added or wrote in braces has to be edited."""
    meta = "  meta:\n    owner: one\n    state: draft\n"
    before, mine, yours = (file("", (meta, f"  {text}\n" if text else "")) for text in (base, one, other))
    result = merged(before, mine, yours)
    assert result == merged(before, yours, mine)
    assert f"  {expected}\n---" in result.head.decode()


def test_a_number_or_a_quote_that_no_side_wrote_so_is_found() -> None:
    ours, theirs = (file("", ("owner: one", f"owner: {text}")) for text in ("1.10", "'x'"))
    spelling = Spelling(file(), ours, theirs)
    assert spelling.is_kept(ours)
    assert spelling.is_kept(theirs)
    for text in ("1.1", "x"):
        changed = file("", ("owner: one", f"owner: {text}"))
        assert not spelling.is_kept(changed)
        assert spelling.is_kept(spelling.restored(changed))


def test_the_same_key_changed_differently_is_a_marked_conflict_with_both_values() -> None:
    base = file(row("a"))
    ours = file(row("a") + row("b"), ("title: Decisions", "title: Ours"), ("owner: one", "owner: two"))
    theirs = file(row("a") + row("c"), ("title: Decisions", "title: Theirs"))
    outcome = conflicts(base, ours, theirs)
    assert outcome.conflicts == ("slice.title",)
    text = outcome.data.decode()
    sides = "  title: Ours # what we call them\n=======\n  title: Theirs # what we call them\n"
    assert f"<<<<<<< ours\n{sides}>>>>>>> theirs\n" in text
    assert "owner: two" in text
    assert text.endswith(row("a") + row("b") + row("c"))


def test_a_key_that_one_side_removed_and_the_other_changed_is_a_conflict() -> None:
    outcome = conflicts(file(), file("", ("    owner: one\n", "")), file("", ("owner: one", "owner: two")))
    assert outcome.conflicts == ("slice.meta.owner",)


def test_the_newer_change_wins_with_its_writer() -> None:
    """Ruling 26."""

    def changed(at: str, by: str) -> tuple[str, str]:
        return "  meta:\n", f"  updated_at: {at}\n  updated_by:\n    agent: {by}\n  meta:\n"

    base = file("", changed("2026-01-01T00:00:00.000Z", "first"))
    ours = file("", changed("2026-01-03T00:00:00.000Z", "ours"))
    theirs = file("", changed("2026-01-02T00:00:00.000Z", "theirs"))
    for result in (merged(base, ours, theirs), merged(base, theirs, ours)):
        fields: Any = result.frontmatter["slice"]
        assert (result.updated_at, fields["updated_by"]) == ("2026-01-03T00:00:00.000Z", {"agent": "ours"})


def test_a_file_that_both_sides_archived_keeps_the_earlier_mark() -> None:
    def forgotten(at: str) -> SliceFile:
        return file("", ("  meta:\n", f"  archived:\n    at: {at}\n    reason: {at[-3:]}\n  meta:\n"))

    early, late = forgotten("2026-01-01T00:00:01Z"), forgotten("2026-01-01T00:00:02Z")
    assert merged(file(), late, early).archived == merged(file(), early, late).archived == early.archived


def test_work_that_both_sides_did_was_done_at_the_later_time() -> None:
    early, late = (file("", ("  meta:\n", f"  done:\n    at: 2026-01-0{day}T00:00:00Z\n  meta:\n")) for day in (1, 2))
    assert merged(file(), late, early).done == merged(file(), early, late).done == late.done


@pytest.mark.parametrize("turned", [False, True])
def test_a_mark_without_a_time_of_its_own_is_a_conflict(turned: bool) -> None:
    sides = [
        file("", ("  meta:\n", f"  archived: {mark}\n  meta:\n")) for mark in ("{at: 2026-01-01T00:00:00Z}", "old")
    ]
    ours, theirs = reversed(sides) if turned else sides
    assert conflicts(file(), ours, theirs).conflicts == ("slice.archived",)


def test_what_one_side_purged_does_not_come_back() -> None:
    """Ruling 31."""
    purged = file("", ("type: jsonl", "type: none"), ("  meta:\n", "  purged: {at: 2026-01-01T00:00:00Z}\n  meta:\n"))
    base, changed = file(row("a")), file(row("a") + row("b"))
    assert merge(base, purged, changed) == merge(base, changed, purged) == Outcome(purged.to_bytes(), ())


# ---- links


def test_links_that_both_sides_add_are_all_kept() -> None:
    result = merged(file(), file("", link("depends_on", "A")), file("", link("is_a", "B")))
    assert {(each.rel, each.to) for each in result.links} == {
        ("see_also", "01JOTHER000000000000000001"), ("depends_on", "A"), ("is_a", "B"),
    }  # fmt: skip


def test_a_link_that_both_sides_add_is_kept_once_and_one_that_a_side_removed_is_gone() -> None:
    base = file("", link("is_a", "B"))
    ours = file("", link("is_a", "B"), link("depends_on", "A"))
    theirs = file("", link("depends_on", "A"))
    assert [(each.rel, each.to) for each in merged(base, ours, theirs).links][1:] == [("depends_on", "A")]


def test_a_label_that_both_sides_change_differently_is_a_conflict() -> None:
    def labelled(text: str) -> SliceFile:
        return file("", ("to: 01JOTHER000000000000000001", f"to: 01JOTHER000000000000000001\n      label: {text}"))

    outcome = conflicts(file(), labelled("ours"), labelled("theirs"))
    assert outcome.conflicts == ("slice.links.see_also.01JOTHER000000000000000001",)


# ---- lists


def listed(items: str) -> SliceFile:
    return file("", ("    state: draft\n", f"    state: draft\n    tags: {items}\n"))


@pytest.mark.parametrize(
    ("base", "one", "other", "expected"),
    [
        ("[a]", "[a, b]", "[a, c]", ["a", "b", "c"]),
        ("[a]", "[a, b]", "[b, a]", ["a", "b"]),
        ("[]", "[x, 1]", "[1.0, '1']", ["x", 1, 1.0, "1"]),
        ("[a, b]", "[b]", "[a, b, c]", ["b", "c"]),
        ("[a, b, c]", "[a, b]", "[b, c]", ["b"]),
        (
            "\n      - a # first\n      - z",
            "\n      - a # first\n      - m\n      - z",
            "\n      - 0\n      - a # first\n      - z",
            [0, "a", "m", "z"],
        ),
    ],
)
def test_what_both_sides_add_to_a_list_or_remove_is_merged_as_a_set(
    base: str, one: str, other: str, expected: list[Any]
) -> None:
    result = merged(listed(base), listed(one), listed(other))
    assert result == merged(listed(base), listed(other), listed(one))
    assert sorted(map(repr, result.meta["tags"])) == sorted(map(repr, expected))
    assert ("# first" in result.header) == ("# first" in base)


@pytest.mark.parametrize(
    ("base", "one", "other"),
    [
        ("[1, 10]", "[1, 20]", "[1, 30]"),
        ("[a, b]", "[b, a]", "[a, b, c]"),
        ("[a, a]", "[a, a, b]", "[a, a, c]"),
        ("[{k: 1}]", "[{k: 1}, b]", "[{k: 1}, c]"),
        ("a", "[a, b]", "[a, c]"),
    ],
)
def test_a_list_that_a_side_replaced_or_that_is_no_set_is_a_conflict(base: str, one: str, other: str) -> None:
    for sides in ((one, other), (other, one)):
        assert conflicts(listed(base), *map(listed, sides)).conflicts == ("slice.meta.tags",)


def test_arguments_of_code_have_an_order() -> None:
    def code(*args: str) -> SliceFile:
        return file("", ("type: code\n", f"type: code\n    code:\n      args: [{', '.join(args)}]\n"), type="code")

    assert conflicts(code("-v"), code("-v", "-a"), code("-v", "-b")).conflicts == ("slice.body.code.args",)


# ---- complete files


def test_files_that_both_sides_created_are_merged_without_a_base() -> None:
    outcome = merge(None, file(row("a")), file(row("b")))
    assert (outcome.conflicts, outcome.data) == ((), file(row("a") + row("b")).to_bytes())
    assert conflicts(None, file(), file("", ("owner: one", "owner: two"))).conflicts == ("slice.meta.owner",)


def test_two_files_with_different_ids_are_one_conflict() -> None:
    other = file("", ("id: 01JFILE0000000000000000001", "id: 01JFILE0000000000000000002"))
    assert conflicts(None, file(), other).conflicts == ("slice",)


@pytest.mark.parametrize("turned", [False, True])
def test_a_closing_marker_without_a_line_end_gets_one_before_a_body(turned: bool) -> None:
    base, row_a, row_b = (file(body).to_bytes() for body in ("", row("a"), row("b")))
    bare = base.removesuffix(b"\n")
    sides = (bare.replace(b"draft", b"final"), row_b)
    outcome = merge_bytes(bare, *(sides[::-1] if turned else sides), "x.slice")
    assert outcome == (row_b.replace(b"draft", b"final"), ())
    assert merge_bytes(bare, row_a, row_b, "x.slice") == (file(row("a") + row("b")).to_bytes(), ())


def test_a_byte_order_mark_and_a_missing_last_line_end_are_changes_of_their_own() -> None:
    base, ours = file(row("a")).to_bytes(), file(row("a") + row("b")).to_bytes()
    outcome = merge_bytes(base, ours, b"\xef\xbb\xbf" + base.removesuffix(b"\n"), "x.slice")
    assert outcome == (b"\xef\xbb\xbf" + ours.removesuffix(b"\n"), ())


def test_sides_that_differ_in_the_last_line_end_only_are_no_conflict() -> None:
    base, *sides = (file(text, type="code") for text in ("\n", "\nx\n\n", "\nx"))
    assert merged(base, *sides).body == merged(base, *sides[::-1]).body == b"\nx\n"


def test_markers_have_the_line_ends_of_their_file() -> None:
    assert marked(b"a\r\n", b"b\r\n") == b"<<<<<<< ours\r\na\r\n=======\r\nb\r\n>>>>>>> theirs\r\n"


def test_paragraphs_beside_each_other_are_one_conflict() -> None:
    """With a choice for each, the text of one side could come under the heading of the other."""
    one, other = "## A\n\nIn a.\n", "## B\n\nIn b.\n"
    shown = marked(f"Top.\n\n{one}\nEnd.\n".encode(), f"Top.\n\n{other}\nEnd.\n".encode()).decode()
    assert shown == f"Top.\n\n<<<<<<< ours\n{one}=======\n{other}>>>>>>> theirs\n\nEnd.\n"


def test_a_side_that_cannot_be_read_is_merged_by_lines() -> None:
    base = file(row("a")).to_bytes()
    damaged = base.replace(b"slice:", b"slice: {", 1)
    outcome = merge_bytes(base, damaged, base + row("b").encode(), "x.slice")
    assert outcome == (damaged + row("b").encode(), ())
    assert merge_bytes(base, base + row("b").encode(), damaged, "x.slice") == outcome


def test_readable_sides_of_an_unreadable_base_give_a_readable_file_or_a_conflict() -> None:
    base = file("").to_bytes().replace(b"slice:", b"slice: {", 1)
    ours, theirs = (file("", ("owner: one\n", f"owner: one\n    new: {text}\n")).to_bytes() for text in ("1", "2"))
    assert merge_bytes(base, ours, theirs, "x.slice").conflicts == ("text",)
    assert SliceFile.parse(merge_bytes(base, ours, file(row("a")).to_bytes(), "x.slice").data).meta["new"] == 1


# ---- properties

_lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n"]), max_size=8)


@given(base=_lines, side=_lines)
def test_a_side_that_changed_nothing_never_conflicts(base: list[bytes], side: list[bytes]) -> None:
    for one, other in ((base, side), (side, base), (side, side)):
        assert merge_lines(base, one, other) == (side, side)


@given(base=_lines, ours=_lines, theirs=_lines)
def test_every_line_of_either_side_is_in_what_a_conflict_shows(
    base: list[bytes], ours: list[bytes], theirs: list[bytes]
) -> None:
    mine, yours = (b"".join(side) for side in merge_lines(base, ours, theirs))
    shown = marked(mine, yours)
    inside = [line for line in lines_of(shown) if line[:7] not in (b"<<<<<<<", b"=======", b">>>>>>>")]
    for line in {*ours, *theirs} - {*base}:
        assert line in inside
    assert (shown == mine) == (mine == yours)


@settings(max_examples=200 * MORE)
@given(seed=st.integers(0, 2**32))
def test_two_writers_lose_nothing_and_it_does_not_matter_who_merges_whom(seed: int) -> None:
    check(versions(Random(seed)))


@given(one=_lines, other=_lines)
def test_equal_parts_are_equal_and_in_order(one: list[bytes], other: list[bytes]) -> None:
    at = place = 0
    for part in equal_parts(one, other):
        assert part.one >= at
        assert part.other >= place
        at, place = part.one + part.length, part.other + part.length
        assert one[part.one : at] == other[part.other : place]


def test_lines_that_are_all_alike_take_no_longer_than_others() -> None:
    start = process_time()
    equal_parts([b"a", b"b", b"c"] * 7_000, [b"c", b"a", b"a", b"b"] * 7_000)
    assert process_time() - start < 2


@pytest.mark.parametrize("data", [b"", b"a", b"a\nb", b"a\r\n\nb\n"])
def test_joined_lines_are_the_data(data: bytes) -> None:
    assert b"".join(lines_of(data)) == data


def test_equal_lines_that_both_append_after_the_empty_lines_of_the_base_are_one_change() -> None:
    """They have the same place. The line that one side inserts above the empty line is another change."""
    base, ours, theirs = (file(text, type="text") for text in ("a\n\n", "a\na\n\ncache\n", "a\n\ncache\n"))
    assert merged(base, ours, theirs).body == b"a\na\n\ncache\n"
