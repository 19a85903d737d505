"""Adds text to a body, or replaces a section, so that nothing else in the body changes (§ Write, ruling 25)."""

from slicebase.core.hashing import lone_surrogate
from slicebase.core.parsers import decode
from slicebase.errors import SlicebaseError
from slicebase.files.body.sections import UNDERLINE, Section, sections, slug


def encoded(text: str) -> bytes:
    """Returns the text as UTF-8. Raises our own error for half a surrogate pair."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise lone_surrogate(error) from None


def append_lines(body: bytes, lines: bytes) -> bytes:
    """Returns the body with more lines at the end. They start on a new line."""
    return body + (b"\n" if body and not body.endswith(b"\n") else b"") + lines


def append_paragraph(body: bytes, text: str) -> bytes:
    """Returns the body with one more paragraph at the end, after a blank line."""
    newline = _newline_of(body)
    gap = "" if not body.strip() else newline * max(0, 2 - _breaks_at_end(body))
    return body + encoded(gap + _paragraph(text, newline) + newline)


def append_in_section(body: bytes, heading: str, text: str) -> bytes:
    """Returns the body with one more paragraph at the end of a section, before the next heading."""
    old, newline = decode(body), _newline_of(body)
    section = find_section(old, heading)
    end = section.start + len(old[section.start : section.end].rstrip())
    below = old[end:]
    if section.end < len(old):
        below = newline * max(0, 2 - old[end : section.end].count("\n")) + below
    return encoded(old[:end] + 2 * newline + _paragraph(text, newline) + (below or newline))


def replace_section(body: bytes, heading: str, text: str) -> bytes:
    """Returns the body with another text in a section. The heading stays."""
    old, newline = decode(body), _newline_of(body)
    section = find_section(old, heading)
    title = heading_lines(old[section.start : section.end])
    after = newline + old[section.end :] if section.end < len(old) else ""
    return encoded(old[: section.start] + title.rstrip() + 2 * newline + _paragraph(text, newline) + newline + after)


def find_section(text: str, heading: str) -> Section:
    """Returns the section under a heading, which is named by its title, its slug or its path of slugs.

    Raises an error if there is no such section, or more than one.
    """
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


def heading_lines(section: str) -> str:
    """Returns the heading of a section: one line with hashes, or the lines down to its underline."""
    lines = section.splitlines(keepends=True)
    if lines[0].lstrip(" ").startswith("#"):
        return lines[0]
    underline = next(at for at, line in enumerate(lines) if at and UNDERLINE.fullmatch(line.rstrip("\r\n")))
    return "".join(lines[: underline + 1])


def _paragraph(text: str, newline: str) -> str:
    lines = text.replace("\r\n", "\n").strip("\n")
    return lines if newline == "\n" else lines.replace("\n", newline)


def _newline_of(body: bytes) -> str:
    """Returns the line end of the body: CRLF if its first line has it, else LF (ruling 20)."""
    end = body.find(b"\n")
    return "\r\n" if end > 0 and body[end - 1 : end] == b"\r" else "\n"


def _breaks_at_end(body: bytes) -> int:
    """Returns the number of line breaks at the end of the body, ignoring blanks between them."""
    return body[len(body.rstrip()) :].count(b"\n")
