"""Adding text to a body changes nothing else in it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.body.sections import sections
from slicebase.files.body.text import (
    append_in_section,
    append_lines,
    append_paragraph,
    find_section,
    replace_passage,
    replace_section,
)
from tests.amounts import MORE
from tests.codes import code_of

_LINES = ("# A", "## B  ", "### C", "text", "", "- item", "```", "~~~~", "Under\n---", "more words", "    code")
_UNUSUAL = ("#12 of\nmany\n---", "# A\fb\u2028c", "one\vtwo\x85", "two spaces  ")
_line = st.sampled_from((*_LINES, *_UNUSUAL))
_markdown = st.lists(_line, max_size=15).map("\n".join)
_paragraph = st.text(st.sampled_from("jqz .\n"), min_size=1, max_size=40).filter(str.strip)


@given(_markdown, _paragraph, st.sampled_from(["", "\n", "\n\n", "\n\n\n"]))
def test_a_paragraph_is_added_behind_every_old_byte(text: str, paragraph: str, end: str) -> None:
    body = (text + end).encode()
    new = append_paragraph(body, paragraph)
    assert new.startswith(body)
    assert new.endswith(paragraph.strip("\n").encode() + b"\n")
    if body.strip():
        assert b"\n\n" in new[len(body.rstrip()) : len(new) - len(paragraph.strip("\n").encode()) - 1]


@settings(max_examples=150)
@given(_markdown, _paragraph, st.data())
def test_a_paragraph_in_a_section_leaves_every_old_line_in_its_place(
    text: str, paragraph: str, data: st.DataObject
) -> None:
    named = [section for section in sections(text) if section.level]
    if not named:
        return
    section = data.draw(st.sampled_from(named))
    new = append_in_section(text.encode(), section.slugs, paragraph).decode()
    inserted = paragraph.strip("\n")
    at = new.find(inserted, section.start)
    assert at >= 0
    without = [line for line in (new[:at] + new[at + len(inserted) :]).split("\n") if line]
    assert without == [line for line in text.split("\n") if line]
    again = find_section(new, section.slugs)
    assert (again.start, again.title) == (section.start, section.title)


@settings(max_examples=150)
@given(_markdown, st.data())
def test_a_section_that_is_replaced_keeps_its_heading_and_the_others_everything(text: str, data: st.DataObject) -> None:
    named = [section for section in sections(text) if section.level]
    if not named:
        return
    section = data.draw(st.sampled_from(named))
    new = replace_section(text.encode(), section.slugs, "fresh words").decode()
    again = find_section(new, section.slugs)
    assert again.title == section.title
    assert new.startswith(text[: section.start])
    assert "fresh words" in new[again.start : again.end]
    assert new.endswith(text[section.end :])


@pytest.mark.parametrize(
    "heading", ["#12 is open\n===", "# A\fpage", "# A\u2028b\x85c", "Two\vlines\nof a title\n---", "## Spaces  ", "#"]
)
def test_a_heading_of_any_form_stays_as_it_is(heading: str) -> None:
    body = f"{heading}\n\nold words  \n\n# Next\n".encode()
    name = sections(body.decode())[0].slugs
    assert replace_section(body, name, "new").decode() == f"{heading}\n\nnew\n\n# Next\n"
    assert append_in_section(body, name, "new").decode() == f"{heading}\n\nold words  \n\nnew\n\n# Next\n"


def test_appended_lines_start_on_a_new_line() -> None:
    assert append_lines(b"", b"x\n") == b"x\n"
    assert append_lines(b"a", b"x\n") == b"a\nx\n"
    assert append_lines(b"a\n", b"x\n") == b"a\nx\n"


bodies = st.text("ab \n", max_size=30)


@settings(max_examples=100 * MORE)
@given(bodies, st.integers(0, 29), st.integers(1, 5), bodies, st.sampled_from(["\n", "\r\n"]))
def test_a_passage_that_is_there_once_is_replaced_and_no_other_byte_changes(
    text: str, start: int, length: int, new: str, end: str
) -> None:
    old = text[start : start + length] or "c"
    body = text.replace("\n", end).encode()
    places = [at for at in range(len(text)) if text.startswith(old, at)]
    if len(places) == 1:
        expected = text[: places[0]] + new + text[places[0] + len(old) :]
        crlf = "\r\n" in body.decode()  # of a body without line ends, nothing says which it has
        assert replace_passage(body, [old], new, 1, str) == expected.replace("\n", "\r\n" if crlf else "\n").encode()
    else:
        wrong = "ambiguous-passage" if places else "no-passage"
        assert code_of(replace_passage, body, [old], new, 1, str) == wrong


def test_a_passage_gets_no_byte_order_mark_and_no_half_of_a_line_end() -> None:
    assert replace_passage(b"one OLD two\n", ["OLD"], "\ufeffnew", 1, str) == b"one new two\n"
    assert replace_passage(b"OLD\ntwo\n", ["OLD"], "new\r", 1, str) == b"new\ntwo\n"
    assert replace_passage(b"OLD two\n", ["OLD"], "a\rb", 1, str) == b"a\rb two\n"
