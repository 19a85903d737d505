"""Sections of a markdown body (ruling 7)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.refs import parse
from slicebase.files.body.sections import section_ref, sections, slug

DOCUMENT = """Before all.

# Tides

Twice a day.

## High water

Look it up.

## Low water ##

# Tides

Again.
"""


def names(text: str) -> list[str]:
    return [section.slugs for section in sections(text)]


def test_a_section_goes_from_its_heading_to_the_next() -> None:
    found = sections(DOCUMENT)
    assert [(s.slugs, s.level, s.title, s.line) for s in found] == [
        ("", 0, "", 1),
        ("tides", 1, "Tides", 3),
        ("tides/high-water", 2, "High water", 7),
        ("tides/low-water", 2, "Low water", 11),
        ("tides-1", 1, "Tides", 13),
    ]
    assert DOCUMENT[found[2].start : found[2].end] == "## High water\n\nLook it up.\n\n"


def test_a_text_without_headings_is_one_section_and_an_empty_text_has_none() -> None:
    assert names("only text") == [""]
    assert sections("") == ()


def test_underlined_headings_count_with_all_their_lines() -> None:
    text = "Tides\n=====\n\nHigh\nwater\n---\n\ntext\n"
    assert [(s.slugs, s.level, s.title, s.line) for s in sections(text)] == [
        ("tides", 1, "Tides", 1),
        ("tides/high-water", 2, "High water", 4),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```sh\n# a comment\n```",
        "~~~\n# a comment\n```\n# still\n~~~~",
        "````\n```\n# inside\n````",
        "```\n# never closed",
        "   ```\n# a comment\n  ```",
        "- ```\n  # in a list item\n  ```",
        "10. ```\n    # in a list item\n    ```",
        "    # indented code",
        "\t# indented code",
        "#no space",
        "####### seven",
        "\\# escaped",
        "> # quoted",
        "> text\n---",
        "- item\n---",
        "- item\ngoes on\n===",
        "text\n\n---",
        "***\n---",
        "| a | b |\n|---|---|",
        "<!--\n# hidden\n\n-->",
        "<pre>\n# hidden\n\n</pre>",
        "<SCRIPT>\n# hidden\n</script>",
    ],
)
def test_a_line_that_only_looks_like_a_heading_is_not_one(text: str) -> None:
    assert names(text) == [""]
    assert names(text.replace("\n", "\r\n")) == [""]


@pytest.mark.parametrize(
    "text",
    [
        "```a`b\n# heading",
        "<!-- one line -->\n# heading",
        "<prefix>\n# heading",
        "```\n```\n# heading",
        "text\n# heading",
        "   # heading",
        "#\theading",
        "- item\n# heading",
        "> text\n\nheading\n===",
        "# heading #",
        "# heading \t##  ",
    ],
)
def test_a_heading_is_found(text: str) -> None:
    assert names(text)[-1] == "heading"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("High water", "high-water"),
        ("  `tt import`: what's new? ", "tt-import-whats-new"),
        ("See [the log](./log.md)", "see-the-log"),
        ("Über Grenzen", "über-grenzen"),
        ("C#/F# & co", "cf-co"),
        ("snake_case", "snake_case"),
        ("!?", "section"),
        ("", "section"),
    ],
)
def test_a_slug_consists_of_a_titles_letters_and_digits(title: str, expected: str) -> None:
    assert slug(title) == expected


def test_closing_hashes_are_not_part_of_the_title_but_a_sharp_is() -> None:
    assert [section.title for section in sections("# C#\n## F # #\n# ##\n#\n")] == ["C#", "F #", "", ""]


def test_equal_headings_are_numbered_and_never_collide() -> None:
    assert names("# a\n# a-1\n# a\n# a\n") == ["a", "a-1", "a-2", "a-3"]
    assert names("# a\n## b\n# c\n## b\n") == ["a", "a/b", "c", "c/b"]


def test_levels_may_be_skipped() -> None:
    assert names("### deep\n# top\n### below\n## middle\n") == ["deep", "top", "top/below", "top/middle"]


def test_a_reference_names_the_file_the_body_and_the_headings() -> None:
    reference = str(section_ref("01FILE", "sha256:" + "ab" * 32, sections(DOCUMENT)[2]))
    assert reference == "sec:01FILE@abababababab#tides/high-water"
    assert str(parse(reference)) == reference
    assert parse(str(section_ref("01FILE", "sha256:" + "ab" * 32, sections(DOCUMENT)[0]))).local == "abababababab#"


_pieces = st.sampled_from(
    [
        "# ",
        "## ",
        "a",
        "b c",
        "\n",
        "\n\n",
        "\r\n",
        "```",
        "~~~",
        "===",
        "---",
        "- ",
        "> ",
        "    ",
        "<!--",
        "-->",
        "é",
        "\u2028",
        "#",
        "\t",
    ]
)


@settings(max_examples=200)
@given(st.lists(_pieces, max_size=30).map("".join) | st.text(max_size=60))
def test_the_sections_put_together_are_the_text_and_each_has_its_own_name(text: str) -> None:
    found = sections(text)
    assert "".join(text[section.start : section.end] for section in found) == text
    assert len({section.slugs for section in found}) == len(found)
    for section in found:
        assert parse(str(section_ref("01F", "sha256:" + "0" * 64, section)))
        assert text[: section.start].count("\n") + 1 == section.line


def test_hostile_texts_are_quick() -> None:
    for text in (
        "[" * 50_000,
        "# " + "[](" * 20_000,
        "- " * 30_000,
        "`" * 50_000,
        "# a\n" * 5_000,
        "#" * 50_000,
        " " * 50_000,
    ):
        sections(text)
