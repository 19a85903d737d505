"""Adds text to a body, or replaces a section, so that nothing else in the body changes (§ Write, ruling 25).

Line ends of a text that is given do not matter: it gets those of the body, and `newline` is for a body without any.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from slicebase.core.hashing import lone_surrogate
from slicebase.core.parsers import decode
from slicebase.errors import SlicebaseError
from slicebase.files.body.sections import HASHES, UNDERLINE, Section, sections, slug

Cleaned = Callable[[str], str]  # returns a text without secrets


def encoded(text: str) -> bytes:
    """Returns the text as UTF-8. Raises our own error for half a surrogate pair."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise lone_surrogate(error) from None


_END: Final = re.compile(r"\r+\n")


def given_text(text: str) -> str:
    """Returns a text as a row or paragraph stores it: with LF, without a byte order mark and line ends at its end.

    CRLF and byte order marks are never written anew (ruling 20).
    """
    return _END.sub("\n", text.removeprefix("\ufeff")).rstrip("\r\n")


def given_paragraph(text: str) -> str:
    """Returns a text as a paragraph stores it: also without line ends before it."""
    return given_text(text).lstrip("\n")


def newline_of(body: bytes, newline: str = "\n") -> str:
    """Returns the line end of the body: that of its first line, `newline` if it has none (ruling 20)."""
    end = body.find(b"\n")
    return newline if end < 0 else "\r\n" if body[:end].endswith(b"\r") else "\n"


def with_ends(text: str, newline: str) -> str:
    """Returns a text with these line ends."""
    text = _END.sub("\n", text)
    return text if newline == "\n" else text.replace("\n", newline)


def append_lines(body: bytes, lines: bytes, newline: str = "\n") -> bytes:
    """Returns the body with more lines at the end. They start on a new line."""
    end = newline_of(body, newline).encode()
    gap = end if body and not body.endswith(b"\n") else b""
    return body + gap + lines.replace(b"\r\n", b"\n").replace(b"\n", end)


def append_paragraph(body: bytes, text: str, newline: str = "\n") -> bytes:
    """Returns the body with one more paragraph at the end, after a blank line."""
    newline = newline_of(body, newline)
    return body + encoded(paragraph_gap(body, newline) + _paragraph(text, newline) + newline)


def paragraph_gap(body: bytes, newline: str = "\n") -> str:
    """Returns the line ends between a body and one more paragraph: as many as make one blank line."""
    return "" if not body.strip() else newline_of(body, newline) * max(0, 2 - _breaks_at_end(body))


def append_in_section(body: bytes, heading: str, text: str, newline: str = "\n") -> bytes:
    """Returns the body with one more paragraph at the end of a section, before the next heading."""
    old, newline = decode(body), newline_of(body, newline)
    section = find_section(old, heading)
    end = _end_of_line(old, section.start + len(old[section.start : section.end].rstrip()))
    below = old[end:]
    if section.end < len(old):
        below = newline * max(0, 2 - old[end : section.end].count("\n")) + below
    return encoded(old[:end] + 2 * newline + _paragraph(text, newline) + (below or newline))


def insert_paragraph(body: bytes, at: int, text: str, newline: str = "\n") -> bytes:
    """Returns the body with one more paragraph before the line that begins at a character."""
    old, newline = decode(body), newline_of(body, newline)
    gap = paragraph_gap(encoded(old[:at]), newline)
    return encoded(old[:at] + gap + _paragraph(text, newline) + 2 * newline + old[at:])


def replace_section(body: bytes, heading: str, text: str, newline: str = "\n") -> bytes:
    """Returns the body with another text in a section. The heading stays."""
    old, newline = decode(body), newline_of(body, newline)
    section = find_section(old, heading)
    title = heading_lines(old[section.start : section.end])
    after = newline + old[section.end :] if section.end < len(old) else ""
    return encoded(old[: section.start] + _line(title) + 2 * newline + _paragraph(text, newline) + newline + after)


_MOST_LINES: Final = 10  # that an error lists


def replace_passage(
    body: bytes, passages: Sequence[str], new: str, first_line: int, cleaned: Cleaned, newline: str = "\n"
) -> bytes:
    """Returns the body with a new text in place of the only occurrence of a passage.

    `passages` are its forms: the first that occurs counts. Line ends become those of the body. Errors count lines from
    `first_line`. `cleaned` returns the lines around the new text without secrets that the edit has put together.
    """
    text, newline = decode(body), newline_of(body, newline)
    forms = [form for passage in passages for form in (with_ends(passage, newline), passage)]
    old = next((form for form in forms if form and form in text), None)
    if old is None:
        hint = "give it word for word, with its spaces and line ends"
        raise SlicebaseError("no-passage", "the passage is not in the body", hint=hint)
    places = list(_places(text, old))
    if len(places) > 1:
        lines = [str(first_line + text.count("\n", 0, at)) for at in places[:_MOST_LINES]]
        more = ", …" if len(places) > _MOST_LINES else ""
        raise SlicebaseError(
            "ambiguous-passage",
            f"the passage is in the body {len(places)} times",
            hint=f"it begins in the lines {', '.join(lines)}{more}: give more of the text around one of them",
        )
    start, end = places[0], places[0] + len(old)
    new = new.removeprefix("\ufeff")
    new = new.rstrip("\r") if text[end : end + 1] == "\n" else new  # they would be one line end
    begin = text.rfind("\n", 0, start) + 1
    rest = text.find("\n", end)
    rest = len(text) if rest < 0 else rest
    return encoded(text[:begin] + cleaned(text[begin:start] + with_ends(new, newline) + text[end:rest]) + text[rest:])


def find_section(text: str, heading: str) -> Section:
    """Returns the section under a heading, which is named by its title, its slug or its path of slugs.

    Raises an error if there is no such section, or more than one.
    """
    return named_section(heading, [section for section in sections(text) if section.level])


def named_section(heading: str, named: Sequence[Section]) -> Section:
    """Returns the only one of some sections that has this title, slug or path of slugs."""
    wanted = heading.lstrip("#").strip()
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


def heading_lines(section: str) -> str:
    """Returns the heading of a section: one line with hashes, or the lines down to its underline."""
    lines = section.split("\n")
    last = 0
    if not HASHES.match(_line(lines[0])):
        last = next(at for at, line in enumerate(lines) if at and UNDERLINE.match(_line(line)))
    return section[: len("\n".join(lines[: last + 1])) + 1]


def _line(text: str) -> str:
    """Returns a text without its last line end."""
    return text.removesuffix("\n").removesuffix("\r")


def _end_of_line(text: str, at: int) -> int:
    """Returns where the line ends that `at` is in, before its line end: LF or CRLF and no other."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end - text[at:end].endswith("\r")


def _paragraph(text: str, newline: str) -> str:
    return with_ends(given_paragraph(text), newline)


def _places(text: str, old: str) -> Iterator[int]:
    """Yields where a passage begins, also where occurrences overlap."""
    at = text.find(old)
    while at >= 0:
        yield at
        at = text.find(old, at + 1)


def _breaks_at_end(body: bytes) -> int:
    """Returns the number of line breaks at the end of the body, ignoring blanks between them."""
    return body[len(body.rstrip()) :].count(b"\n")
