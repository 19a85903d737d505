"""Putting text into a body so that nothing else of it changes (§ Write, ruling 25)."""

from slicebase.core.hashing import lone_surrogate
from slicebase.errors import SlicebaseError
from slicebase.files.body.sections import UNDERLINE, Section, sections, slug
from slicebase.files.yaml.load import decode


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
    underline = next(at for at, line in enumerate(lines) if at and UNDERLINE.fullmatch(line.rstrip("\r\n")))
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
