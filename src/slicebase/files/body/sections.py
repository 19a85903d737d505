"""Sections of a markdown body, which `sec:` references name by the slugs of their headings (ruling 7).

A section runs from its heading to the next heading of any level, so that the sections of a text, put together,
are the text; what stands before the first heading is a section without a name. Headings are CommonMark's two
forms at the top level of the document: fenced and indented code, HTML blocks, quotations and list items have none.

Putting text into a body so that nothing else of it changes (§ Write, ruling 25).
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from slicebase.core.hashing import lone_surrogate
from slicebase.core.refs import Ref
from slicebase.errors import SlicebaseError
from slicebase.files.yaml.load import decode

_HASHES: Final = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_BREAK: Final = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_CONTAINER: Final = re.compile(r"[ \t]*(?:>|(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|$))")
_MARKERS: Final = re.compile(r"(?: {0,3}(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*")
_FENCE: Final = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")
_HTML: Final = re.compile(r" {0,3}<(!--|(?:pre|script|style|textarea)(?=[\s>]|$))", re.IGNORECASE)
_HTML_END: Final = re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
_COMMENT_END: Final = re.compile(r"-->")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_NOT_IN_SLUGS: Final = re.compile(r"[^\w -]")


class Section(NamedTuple):
    slugs: str  # the slugs of the heading and those above it, `/` between; empty before the first heading
    level: int  # 1 to 6; 0 before the first heading
    title: str
    start: int  # the span in the body's text, half-open, in code points
    end: int
    line: int  # of the body, from 1


class _Heading(NamedTuple):
    level: int
    title: str
    start: int
    line: int


def sections(text: str) -> tuple[Section, ...]:
    headings = list(_headings(text))
    first = headings[0].start if headings else len(text)
    before = [Section("", 0, "", 0, first, 1)] if first else []
    ends = [*(heading.start for heading in headings[1:]), len(text)]
    named = [
        Section(path, heading.level, heading.title, heading.start, end, heading.line)
        for heading, path, end in zip(headings, _paths(headings), ends, strict=False)  # no heading, no end
    ]
    return (*before, *named)


def section_ref(file_id: str, body_digest: str, section: Section) -> Ref:
    """The reference of a section of this very body: another body has another hash."""
    return Ref("sec", f"{file_id}@{body_digest.removeprefix('sha256:')[:12]}#{section.slugs}")


def slug(title: str) -> str:
    """A heading's name in references: its letters and digits in lower case, hyphens for spaces."""
    words = _NOT_IN_SLUGS.sub("", _LINK.sub(r"\1", title).lower()).split()
    return "-".join(words) or "section"


def _paths(headings: list[_Heading]) -> list[str]:
    """Each heading's slugs under those of its parents; the second of the same path gets `-1`, the third `-2`."""
    above: list[tuple[int, str]] = []
    taken: set[str] = set()
    counts: dict[str, int] = {}
    paths = []
    for heading in headings:
        while above and above[-1][0] >= heading.level:
            above.pop()
        plain = path = "/".join((*(path for _, path in above[-1:]), slug(heading.title)))
        while path in taken:
            counts[plain] = counts.get(plain, 0) + 1
            path = f"{plain}-{counts[plain]}"
        taken.add(path)
        above.append((heading.level, path))
        paths.append(path)
    return paths


class _MarkdownLine(NamedTuple):
    text: str  # empty where it belongs to code or HTML
    start: int
    number: int


def _headings(text: str) -> Iterator[_Heading]:
    """Knows just enough of CommonMark's blocks to tell a heading from what looks like one."""
    paragraph: list[_MarkdownLine] = []  # lines that an underline would make a heading
    contained = False  # the lines since the last blank one belong to a list item or a quotation
    for line in _outside_code(text):
        if match := _HASHES.match(line.text):
            yield _Heading(len(match[1]), _hashed_title(line.text[match.end() :]), line.start, line.number)
            paragraph, contained = [], False
        elif paragraph and _UNDERLINE.match(line.text):
            title = " ".join(part.text.strip() for part in paragraph)
            yield _Heading(1 if "=" in line.text else 2, title, paragraph[0].start, paragraph[0].number)
            paragraph = []
        elif not line.text.strip() or _BREAK.match(line.text):
            paragraph, contained = [], False
        elif contained or _CONTAINER.match(line.text):
            paragraph, contained = [], True
        elif paragraph or not line.text.startswith(("    ", "\t")):
            paragraph.append(line)


def _hashed_title(rest: str) -> str:
    """The text behind the hashes, without the hashes that may close it."""
    title = rest.strip()
    without = title.rstrip("#")
    return title if without and without[-1] not in " \t" else without.strip()


def _outside_code(text: str) -> Iterator[_MarkdownLine]:
    start = 0
    end: re.Pattern[str] | None = None  # what ends the block that we are in
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r")
        inside = end is not None
        if end is None:
            end = _end_of_fence(line) or _end_of_html(line)
            inside = end is not None
        elif end.search(line):
            end = None
        yield _MarkdownLine("" if inside else line, start, number)
        start += len(raw) + 1


def _end_of_fence(line: str) -> re.Pattern[str] | None:
    """A fence ends with one at least as long, and may stand in a list item and be indented with it."""
    markers = _MARKERS.match(line)
    offset = markers.end() if markers else 0
    match = _FENCE.match(line, offset)
    if not match:
        return None
    marks = match[1] or match[2]
    return re.compile(rf" {{0,{offset + 3}}}{marks[0]}{{{len(marks)},}}[ \t]*$")


def _end_of_html(line: str) -> re.Pattern[str] | None:
    """The blocks of HTML that go on over blank lines. One that ends on its first line hides nothing else."""
    match = _HTML.match(line)
    if not match:
        return None
    end = _COMMENT_END if match[1] == "!--" else _HTML_END
    return None if end.search(line) else end


def encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise lone_surrogate(error) from None


def append_lines(body: bytes, lines: bytes) -> bytes:
    """A body with more lines, which begin on a line of their own."""
    return body + (b"\n" if body and not body.endswith(b"\n") else b"") + lines


def append_paragraph(body: bytes, text: str) -> bytes:
    """A body with one more paragraph, after one blank line."""
    newline = _newline_of(body)
    gap = "" if not body.strip() else newline * max(0, 2 - _breaks_at_end(body))
    return body + encoded(gap + _paragraph(text, newline) + newline)


def append_in_section(body: bytes, heading: str, text: str) -> bytes:
    """A body with one more paragraph at the end of a section, before the next heading."""
    whole, newline = decode(body), _newline_of(body)
    section = find_section(whole, heading)
    end = section.start + len(whole[section.start : section.end].rstrip())
    below = whole[end:]
    if section.end < len(whole):
        below = newline * max(0, 2 - whole[end : section.end].count("\n")) + below
    return encoded(whole[:end] + 2 * newline + _paragraph(text, newline) + (below or newline))


def replace_section(body: bytes, heading: str, text: str) -> bytes:
    """A body in which the text of a section is another one; its heading stays."""
    whole, newline = decode(body), _newline_of(body)
    section = find_section(whole, heading)
    title = _heading_lines(whole[section.start : section.end])
    after = newline + whole[section.end :] if section.end < len(whole) else ""
    return encoded(whole[: section.start] + title.rstrip() + 2 * newline + _paragraph(text, newline) + newline + after)


def find_section(text: str, heading: str) -> Section:
    """The section under a heading, named by its title, its slug or the path of its slugs."""
    wanted = heading.lstrip("#").strip()
    named = [section for section in sections(text) if section.level]
    for fits in (
        lambda section: section.slugs == wanted,
        lambda section: section.title == wanted,
        lambda section: slug(section.title) == slug(wanted),
    ):
        found = [section for section in named if fits(section)]
        if len(found) == 1:
            return found[0]
        if found:
            hint = f"name one of {', '.join(section.slugs for section in found)}"
            raise SlicebaseError("ambiguous-section", f"{len(found)} sections are called {wanted!r}", hint=hint)
    known = ", ".join(section.slugs for section in named)
    hint = f"sections are {known}" if known else "the body has no headings"
    raise SlicebaseError("no-section", f"there is no section {wanted!r}", hint=hint)


def _heading_lines(section: str) -> str:
    """The heading itself: one line with hashes, or the lines down to its underline."""
    lines = section.splitlines(keepends=True)
    if lines[0].lstrip(" ").startswith("#"):
        return lines[0]
    underline = next(at for at, line in enumerate(lines) if at and _UNDERLINE.fullmatch(line.rstrip("\r\n")))
    return "".join(lines[: underline + 1])


def _paragraph(text: str, newline: str) -> str:
    lines = text.replace("\r\n", "\n").strip("\n")
    return lines if newline == "\n" else lines.replace("\n", newline)


def _newline_of(body: bytes) -> str:
    """CRLF is kept up where it is, and never begun (ruling 20)."""
    end = body.find(b"\n")
    return "\r\n" if end > 0 and body[end - 1 : end] == b"\r" else "\n"


def _breaks_at_end(body: bytes) -> int:
    """How many line breaks end the body, blanks between them aside."""
    return body[len(body.rstrip()) :].count(b"\n")
