"""Finds the sections of a markdown body, which `sec:` references name by the slugs of their headings (ruling 7).

A section goes from its heading to the next heading of any level, so that the sections of a text, joined, are the
text. The text before the first heading is a section without a name. Headings are CommonMark's two forms at the top
level of the document: fenced and indented code, HTML blocks, quotations and list items have none.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from slicebase.core.refs import Ref, recorded


class Section(NamedTuple):
    """A section of a Markdown text."""

    slugs: str  # the slugs of the heading and those above it, `/` between; empty before the first heading
    level: int  # 1 to 6; 0 before the first heading
    title: str
    start: int  # the span in the body's text, half-open, in code points
    end: int
    line: int  # of the body, from 1


class MarkdownHeading(NamedTuple):
    """A heading of a Markdown text, with its place."""

    level: int  # 1 to 6
    title: str
    start: int  # in code points
    line: int  # from 1


def sections(text: str) -> tuple[Section, ...]:
    """Returns the sections of a text in their order."""
    found = list(headings(text))
    first = found[0].start if found else len(text)
    before = [Section("", 0, "", 0, first, 1)] if first else []
    ends = [*(heading.start for heading in found[1:]), len(text)]
    named = [
        Section(path, heading.level, heading.title, heading.start, end, heading.line)
        # Without headings, `ends` still has one item.
        for heading, path, end in zip(found, _paths(found), ends, strict=False)
    ]
    return (*before, *named)


def lines_of_blocks(text: str) -> set[int]:
    """Returns the numbers, from 1, of the lines that belong to code or HTML, which blank lines do not divide."""
    return {line.number for line in outside_code(text) if line.in_block}


def section_ref(file_id: str, body_digest: str, section: Section) -> Ref:
    """Returns the reference of a section. It includes the hash of the body, so it refers to this version only."""
    return Ref("sec", f"{file_id}@{body_digest.removeprefix('sha256:')[:12]}#{section.slugs}")


def section_names(section: Section) -> tuple[str, str]:
    """Returns what names a section in references: its slugs, and what records have in their place."""
    return section.slugs, recorded(f"sec:#{section.slugs}")[len("sec:#") :]


_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_NOT_IN_SLUGS: Final = re.compile(r"[^\w -]")


def slug(title: str) -> str:
    """Returns a heading's name in references: its letters and digits in lower case, hyphens for spaces."""
    words = _NOT_IN_SLUGS.sub("", _LINK.sub(r"\1", title).lower()).split()
    return "-".join(words) or "section"


def _paths(headings: list[MarkdownHeading]) -> list[str]:
    """Returns each heading's slug after those of its parents. The second equal path gets `-1`, the third `-2`."""
    above: list[tuple[int, str]] = []
    used: set[str] = set()
    counts: dict[str, int] = {}
    paths = []
    for heading in headings:
        while above and above[-1][0] >= heading.level:
            above.pop()
        plain = path = "/".join((*(path for _, path in above[-1:]), slug(heading.title)))
        while path in used:
            counts[plain] = counts.get(plain, 0) + 1
            path = f"{plain}-{counts[plain]}"
        used.add(path)
        above.append((heading.level, path))
        paths.append(path)
    return paths


# Headings

HASHES: Final = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_BREAK: Final = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_CONTAINER: Final = re.compile(r"[ \t]*(?:>|(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|$))")
_MARKERS: Final = re.compile(r"(?: {0,3}(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*")
_FENCE: Final = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")
_HTML: Final = re.compile(r" {0,3}<(!--|(?:pre|script|style|textarea)(?=[\s>]|$))", re.IGNORECASE)
_HTML_END: Final = re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
_COMMENT_END: Final = re.compile(r"-->")


class MarkdownLine(NamedTuple):
    """A line of a Markdown text, with its place."""

    text: str  # empty if the line belongs to code or HTML
    start: int
    number: int
    in_block: bool  # it belongs to code or HTML, which blank lines do not end


def headings(text: str) -> Iterator[MarkdownHeading]:
    """Yields the headings of a text, and reads no further than it is asked.

    It knows enough of CommonMark's blocks to skip what only looks like a heading.
    """
    paragraph: list[MarkdownLine] = []  # lines that become a heading if an underline follows
    contained = False  # the lines since the last blank one belong to a list item or a quotation
    for line in outside_code(text):
        if not line.text.strip():
            paragraph, contained = [], False
        elif match := HASHES.match(line.text):
            yield MarkdownHeading(len(match[1]), _hashed_title(line.text[match.end() :]), line.start, line.number)
            paragraph, contained = [], False
        elif paragraph and UNDERLINE.match(line.text):
            title = " ".join(part.text.strip() for part in paragraph)
            yield MarkdownHeading(1 if "=" in line.text else 2, title, paragraph[0].start, paragraph[0].number)
            paragraph = []
        elif _BREAK.match(line.text):
            paragraph, contained = [], False
        elif contained or _CONTAINER.match(line.text):
            paragraph, contained = [], True
        elif paragraph or not line.text.startswith(("    ", "\t")):
            paragraph.append(line)


def _hashed_title(rest: str) -> str:
    """Returns the text after the hashes, without the hashes that may close it."""
    title = rest.strip()
    without = title.rstrip("#")
    return title if without and without[-1] not in " \t" else without.strip()


def outside_code(text: str) -> Iterator[MarkdownLine]:
    """Yields the lines of a text. Lines of fenced code and of HTML blocks are empty."""
    start = 0
    end: re.Pattern[str] | None = None  # matches the end of the current block
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r")
        inside = end is not None
        if end is None:
            if "```" in line or "~~~" in line or "<" in line:
                end = end_of_fence(line) or _end_of_html(line)
                inside = end is not None
        elif end.search(line):
            end = None
        yield MarkdownLine("" if inside else line, start, number, inside)
        start += len(raw) + 1


def end_of_fence(line: str) -> re.Pattern[str] | None:
    """Returns the pattern that ends a fence, None if the line does not start one.

    A fence ends with one at least as long. It may be in a list item and indented with it.
    """
    markers = _MARKERS.match(line)
    offset = markers.end() if markers else 0
    match = _FENCE.match(line, offset)
    if not match:
        return None
    marks = match[1] or match[2]
    return re.compile(rf" {{0,{offset + 3}}}{marks[0]}{{{len(marks)},}}[ \t]*$")


def _end_of_html(line: str) -> re.Pattern[str] | None:
    """Returns the pattern that ends an HTML block that may contain blank lines. A block of one line needs none."""
    match = _HTML.match(line)
    if not match:
        return None
    end = _COMMENT_END if match[1] == "!--" else _HTML_END
    return None if end.search(line) else end
