"""What a pointer takes from its note: any text gives a title, a summary that is not empty, and sections."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.files.create import new_file
from slicebase.files.model import Mark, Payload
from slicebase.files.note import (
    NOTE_GONE,
    NotePlace,
    note_place,
    note_sections,
    note_targets,
    note_text,
    read_note,
    without_frontmatter,
)
from tests.amounts import MORE

MARKDOWN = st.text(alphabet="ab .#-=*_`~[](){}<>|!?:\"'\n\r\t\\%é。\u2028\x00", max_size=200) | st.text(max_size=50)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One\n\n## Two\n", "One"),
        ("Text.\n\n## Two\n", "Two"),
        ("One\n===\n", "One"),
        ("---\ntitle: From above\n---\n# One\n", "From above"),
        ("---\ntitle: 2024.10\n---\n# One\n", "2024.10"),
        ("---\ntitle: 'No'\n---\n", "No"),
        ("---\ntitle: {{date}}: odd\nother: [\n---\n# One\n", "{{date}}: odd"),
        ("---\ntags: [a]\n---\n# *One* [two](x.md) `three` [[a|four]]\n", "One two three four"),
        ("---\r\ntitle: Windows\r\n---\r\n# One\r\n", "Windows"),
        ("\ufeff# Marked\n", "Marked"),
        ("# \n\n# ![](x.png)\n", "name of the file"),
        ("", "name of the file"),
        ("```\n# code\n```\n", "name of the file"),
        ("---\ntitle: never closed\n", "name of the file"),
    ],
)
def test_the_title_is_that_of_the_frontmatter_or_the_first_heading_or_the_name(text: str, title: str) -> None:
    assert read_note(note_text(text.encode()), "name of the file.md").title == title


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("# One\n\nFirst. Second! Third.\n\nNext.", "First. Second!"),
        ("One line\nand another\n", "One line and another"),
        ("---\ntitle: x\n---\n\n![](x.png)\n\n<div>\n\nThe **real** one.\n", "The real one."),
        ("| a | b |\n|---|---|\n\n- [ ] an item\n- another\n", "an item"),
        ("> quoted words\n", "quoted words"),
        ("Version 1.2 is out, see e.g. the list", "Version 1.2 is out, see e.g. the list"),
        ("```\ncode\n```\n", "A note without a paragraph of text."),
        ("\n \n", "An empty note."),
        ("word " * 100, ("word " * 47).strip() + "…"),
        ("x" * 500, "x" * 239 + "…"),
    ],
)
def test_the_summary_is_one_or_two_sentences_of_the_first_paragraph(text: str, summary: str) -> None:
    assert read_note(text, "x.md").summary == summary


def test_aliases_are_read_from_every_form_that_obsidian_knows() -> None:
    for written in ("aliases: [One, Two]", "aliases:\n  - One\n  - Two", "alias: One, Two"):
        assert note_targets(f"---\n{written}\n---\n").aliases == ("One", "Two")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["---", "---\n", "...", "---\n\nText."])
def test_every_line_of_the_frontmatter_counts_however_the_note_ends(last: str, end: str) -> None:
    note = read_note(f"---\naliases: [One]\ntitle: 2024.10\n{last}".replace("\n", end), "x.md")
    assert (note.title, note.targets.aliases) == ("2024.10", ("One",))


def test_the_frontmatter_of_a_note_has_no_headings() -> None:
    text = "---\ntitle: x\n# a comment\n---\nBefore.\n\n# One\n\nText.\n"
    assert [each.slugs for each in note_sections(text)] == ["", "one"]
    assert "".join(text[each.start : each.end] for each in note_sections(text)) == text


@settings(max_examples=50 * MORE)
@given(MARKDOWN, st.sampled_from(["x.md", ".md", "a b.txt", "x"]))
def test_any_text_has_a_title_and_a_summary_on_one_line_and_sections_that_cover_it(text: str, name: str) -> None:
    for form in (text, f"---\ntitle: {text}\n---\n{text}"):
        note = read_note(form, name)
        assert 0 < len(note.title) <= 200
        assert 0 < len(note.summary) <= 240
        assert note.title == " ".join(note.title.split())
        assert note.summary == " ".join(note.summary.split())
        assert note.targets == note_targets(form)
        assert len(without_frontmatter(form)) == len(form)
        assert "".join(form[each.start : each.end] for each in note_sections(form)) == form


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\0b", b"x" * (4 << 20) + b"y"], ids=["utf16", "binary", "large"])
def test_bytes_that_are_no_note_are_refused(data: bytes) -> None:
    with pytest.raises(SlicebaseError) as caught:
        note_text(data)
    assert caught.value.code in ("not-utf8", "too-large")


@pytest.mark.parametrize(
    ("uri", "folder", "path"),
    [
        ("../docs/a.md", "docs", "docs/a.md"),
        ("../a.md", ".", "a.md"),
        ("../other/a.md", "docs", None),
        ("../../docs/a.md", "docs", None),
        ("../docs/../../x", "docs", None),
        ("../docs/.git/config", "docs", None),
        ("../.git/config", ".", None),
        ("https://example.org/docs/a.md", "docs", None),
        ("../docs/a.md", 5, None),
    ],
)
def test_a_pointer_is_a_notes_pointer_if_its_payload_is_in_the_folder_that_it_names(
    uri: str, folder: object, path: str | None
) -> None:
    payload = Payload(uri, "sha256:" + "0" * 64, 1)
    file = new_file(id="a", title="t", summary="s", body_type="none", payload=payload, meta={"notes": folder})
    assert note_place(file) == (NotePlace(path, str(folder), False) if path else None)


def test_a_pointer_knows_whether_it_was_archived_because_the_note_was_gone() -> None:
    payload, meta = Payload("../docs/a.md", "sha256:" + "0" * 64, 1), {"notes": "docs"}
    for reason, is_gone in ((NOTE_GONE, True), ("nobody reads it", False)):
        mark = Mark("2026-01-01T00:00:00.000Z", reason)
        file = new_file(id="a", title="t", summary="s", body_type="none", payload=payload, meta=meta, archived=mark)
        assert note_place(file) == NotePlace("docs/a.md", "docs", is_gone)
