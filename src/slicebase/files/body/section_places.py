"""Finds where something for a section goes in a Markdown file that overflow divided (rulings 25 and 32).

A section has the path that it has in the text as if it had never been divided, whichever part its heading is in. A
section whose heading is not in the file that is written to starts there again, under the same headings.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slicebase.core.parsers import decode
from slicebase.errors import SlicebaseError
from slicebase.files.body.sections import Section, sections, slug
from slicebase.files.body.text import named_section
from slicebase.files.body.whole import Load, whole_pieces
from slicebase.files.slice_file import SliceFile


class SectionPlace(NamedTuple):
    """Where a text goes: to the end of a section, before a character, or else to the end of the file.

    `headings` are those that come before it.
    """

    section: str | None
    headings: str = ""
    at: int | None = None


class _Placed(NamedTuple):
    """A heading of the whole, with the slugs of its own and of those above it, and where it is in the target."""

    section: Section
    path: str
    above: tuple[Section, ...]
    own: Section | None


def section_place(target: SliceFile, whole: SliceFile, load: Load, heading: str) -> SectionPlace:
    """Returns where something for a section of the whole goes in one of its files."""
    placed = list(_placed(target, whole, load))
    found = _found(heading, placed)
    here = [each.own for each in found if each.own]
    if len(here) > 1:
        names = ", ".join(section.slugs for section in here)
        message = f"{len(here)} sections are called {heading!r}"
        raise SlicebaseError("ambiguous-section", message, hint=f"name one of {names}")
    if here:
        return SectionPlace(here[0].slugs)
    own = {each.path: each.own for each in placed if each.own}
    chain = [*found[0].above, found[0].section]
    paths = found[0].path.split("/")
    levels = {path: section.level for path, section in own.items()}
    known = max(
        (count for count in range(1, len(chain)) if levels.get("/".join(paths[:count])) == chain[count - 1].level),
        default=0,
    )
    above = "/".join(paths[:known])
    below = [section.slugs for path, section in own.items() if above and f"{path}/".startswith(f"{above}/")]
    headings = "".join(f"{'#' * section.level} {section.title}\n\n" for section in chain[known:])
    if below:
        return SectionPlace(below[-1], headings)
    return SectionPlace(None, headings, _before_chapters(placed, chain[0].level))


def _before_chapters(placed: Sequence[_Placed], level: int) -> int | None:
    """Returns the character before which a heading of this level is below no heading that is not its own.

    None if it can stand at the end of the file, or if there is no better place.
    """
    own = [number for number, each in enumerate(placed) if each.own]
    if not own or _is_highest(placed, own[-1] + 1, level):
        return None
    chapter = next((number for number in own if placed[number].section.level < level), None)
    found = placed[chapter].own if chapter is not None and _is_highest(placed, chapter, level) else None
    return found.start if found else None


def _is_highest(placed: Sequence[_Placed], before: int, level: int) -> bool:
    """Returns whether a heading of this level that stands there is below no other."""
    last = placed[before - 1] if before else None
    return last is None or all(section.level >= level for section in (*last.above, last.section))


def _found(heading: str, placed: Sequence[_Placed]) -> list[_Placed]:
    """Returns the headings of a section. It may have several: overflow repeats a heading in the next file."""
    wanted = heading.lstrip("#").strip()
    exact = [each for each in placed if each.own and each.own.slugs == wanted and each.path != wanted]
    if exact and not any(each.path == wanted for each in placed):
        return exact  # by the name that it has in the file alone
    distinct = {each.path: each.section._replace(slugs=each.path) for each in placed}
    path = named_section(heading, list(distinct.values())).slugs
    return [each for each in placed if each.path == path]


def _placed(target: SliceFile, whole: SliceFile, load: Load) -> Iterator[_Placed]:
    pieces = whole_pieces(whole, load)
    starts, size = {}, 0  # where the pieces of the target begin in the whole
    for piece in pieces:
        if piece.file and piece.file.id == target.id:
            starts[size] = piece
        size += len(piece.data)
    text = decode(b"".join(piece.data for piece in pieces))
    own = dict(_at_bytes(decode(target.body)))
    above: list[Section] = []
    for at, section in _at_bytes(text):
        while above and above[-1].level >= section.level:
            above.pop()
        path = "/".join(slug(each.title) for each in (*above, section))
        begin = max((start for start in starts if start <= at), default=None)
        place = None
        if begin is not None and at < begin + len(starts[begin].data):
            place = own.get(starts[begin].start + at - begin)
        yield _Placed(section, path, tuple(above), place)
        above.append(section)


def _at_bytes(text: str) -> Iterator[tuple[int, Section]]:
    """Yields the sections that have a heading, each with the byte at which it begins."""
    at = place = 0
    for section in sections(text):
        at += len(text[place : section.start].encode())
        place = section.start
        if section.level:
            yield at, section
