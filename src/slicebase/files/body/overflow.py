"""Splits a file that grows too large into parts, and moves content to them (§ Overflow, ruling 32).

A part and its file link to each other, by `part_of` and `has_part`. The label of these links says why the part exists,
so that a part created by overflow is never mistaken for one created by people.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from slicebase.core.parsers import decode
from slicebase.files.body.rows import read_rows
from slicebase.files.body.sections import Section, lines_of_blocks, sections
from slicebase.files.body.text import append_lines, encoded, heading_lines
from slicebase.files.create import new_file
from slicebase.files.model import Contract, Link
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import append_item

CONTINUED: Final = "overflow"  # the label of a part that continues a file
ARCHIVED: Final = "archive"  # the label of a part that holds older content
_LABELS: Final = (CONTINUED, ARCHIVED)


class Moved(NamedTuple):
    """A body divided into what moves out and what stays."""

    leaves: bytes
    stays: bytes


def parts_of(file: SliceFile, *labels: str) -> list[str]:
    """Returns the ids of the parts that overflow created for a file, the oldest first."""
    wanted = labels or _LABELS
    return [link.to for link in file.links if link.rel == "has_part" and link.label in wanted and link.to]


def whole_of(file: SliceFile) -> str | None:
    """Returns the id of the file that overflow created this part for, None if it is not such a part."""
    return _part_link(file)[0]


def ordered(file: SliceFile, parts: Iterable[SliceFile]) -> list[SliceFile]:
    """Returns a file with the parts that overflow created for it, in the order of their content.

    What was archived is older than the file, and what continues it is newer. A part may have parts of its own.
    """
    waiting = {part.id: part for part in parts if part.id and part.id != file.id}
    unnamed: dict[str | None, list[str]] = {}  # parts by the file that they name, which may not name them yet
    for part_id in sorted(waiting):
        unnamed.setdefault(whole_of(waiting[part_id]), []).append(part_id)
    found: list[SliceFile] = []
    stack = [(file, False)]
    while stack:
        each, has_parts_before = stack.pop()
        if has_parts_before:
            found.append(each)
            continue
        names = dict.fromkeys((*parts_of(each), *unnamed.get(each.id, ())))
        own = [waiting.pop(name) for name in names if name in waiting]
        archives = [part for part in own if _is_archive(each, part)]
        stack += [(part, False) for part in reversed(own) if part not in archives]
        stack.append((each, True))
        stack += [(part, False) for part in reversed(archives)]
    return found


def _is_archive(file: SliceFile, part: SliceFile) -> bool:
    return part.id in parts_of(file, ARCHIVED) or _part_link(part) == (file.id, ARCHIVED)


def _part_link(file: SliceFile) -> tuple[str | None, str | None]:
    """Returns the file that overflow created this part for, and why; twice None if it is not such a part."""
    found = (link for link in file.links if link.rel == "part_of" and link.label in _LABELS)
    return next(((link.to, link.label) for link in found), (None, None))


def new_part(file: SliceFile, part_id: str, label: str, body: bytes = b"") -> SliceFile:
    """Creates a part with the file's body type and contract. An archive is read-only."""
    number = len(parts_of(file, label)) + (2 if label == CONTINUED else 1)
    word = "part" if label == CONTINUED else "archive"
    stated = file.contract
    return new_file(
        id=part_id,
        title=f"{file.title} ({word} {number})",
        summary=file.summary or "",
        body_type=file.body_type or "",
        body=body,
        conversation=file.conversation if file.body_type == "conversation" else None,
        contract=Contract(
            purpose=stated.purpose,
            exclude=stated.exclude,
            format=stated.format,
            cleanup=stated.cleanup,
            write=stated.write if label == CONTINUED else "error",
            overflow=stated.overflow if label == CONTINUED else None,
        ),
        links=[Link("part_of", file.id, label), *(link for link in file.links if link.rel == "routes_to")],
        updated_at=file.updated_at,
        name=f"{file.name.rpartition('/')[0]}/{part_id}.slice",
    )


def joined(file: SliceFile, part_id: str, label: str) -> SliceFile:
    """Returns the file with a link to a part."""
    return append_item(file, "slice.links", Link("has_part", part_id, label))


def with_parts(file: SliceFile, parts: Iterable[SliceFile]) -> SliceFile:
    """Returns the file with links to the parts that an interrupted writer created but did not link.

    A part is written before its file links to it. Content that is already in an archive is removed from the file.
    """
    for part in parts:
        label = next((link.label for link in part.links if link.rel == "part_of" and link.to == file.id), None)
        if label in _LABELS and part.id and part.id not in parts_of(file):
            body = _without(file, part.body) if label == ARCHIVED else file.body
            file = joined(file.with_body(body), part.id, label)
    return file


def _without(file: SliceFile, moved: bytes) -> bytes:
    if file.body_type != "jsonl":
        return file.body.replace(moved if moved in file.body else moved.removesuffix(b"\n"), b"", 1)
    moved_lines = set(moved.split(b"\n")) - {b""}
    return b"\n".join(line for line in file.body.split(b"\n") if line not in moved_lines)


def move_oldest(file: SliceFile, most: int) -> Moved | None:
    """Removes the oldest content from a body until it has at most `most` bytes; None if nothing can move.

    Rows move by their time. Everything else is added at the end, so that what comes first is the oldest: lines of a
    conversation or routine, sections of Markdown, and paragraphs of a text or of Markdown without sections.
    """
    if file.body_type == "jsonl":
        return _oldest_rows(file.body, most)
    text = decode(file.body)
    if file.body_type in ("conversation", "routine"):
        return _first(text, [line.end() for line in _LINE.finditer(text) if line[0].strip()], most)
    if file.body_type == "text":
        return _first(text, _paragraph_ends(text), most)
    if file.body_type == "markdown":
        return _oldest_sections(text, most) or _oldest_paragraphs(text, most)
    return None


def _oldest_rows(body: bytes, most: int) -> Moved | None:
    rows = sorted(read_rows(body).rows, key=lambda row: row.age_key)
    size, moving = len(body), set()
    for row in rows:
        if size <= most:
            break
        moving.add(row.line.number)
        size -= len(row.line.raw) + 1
    lines = append_lines(body, b"").split(b"\n")[:-1]
    leaves = b"".join(line + b"\n" for number, line in enumerate(lines, 1) if number in moving)
    stays = b"".join(line + b"\n" for number, line in enumerate(lines, 1) if number not in moving)
    return Moved(leaves, stays) if moving else None


def _oldest_sections(text: str, most: int) -> Moved | None:
    """Moves the first sections, which are the oldest, since sections are added at the end.

    The last section stays, and so does the text before the first one.
    """
    units = _units(sections(text))
    size, end = len(encoded(text)), None
    for start, stop in units[:-1]:
        if size <= most:
            break
        size -= len(encoded(text[start:stop]))
        end = stop
    if end is None:
        return None
    start = units[0][0]
    return Moved(encoded(text[start:end]), encoded(text[:start] + text[end:]))


_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")


def _oldest_paragraphs(text: str, most: int) -> Moved | None:
    """Moves the first paragraphs of Markdown in which no sections can move. Its first heading stays.

    What moves ends before the next heading: a paragraph stays under its own.
    """
    headings = [section for section in sections(text) if section.level]
    start = 0
    if headings and not text[: headings[0].start].strip():
        first = headings.pop(0)
        start = first.start + len(heading_lines(text[first.start : first.end]))
    stop = headings[0].start if headings else len(text)
    return _first(text, _paragraph_ends(text, start, stop), most, start)


def _paragraph_ends(text: str, start: int = 0, stop: int | None = None) -> list[int]:
    """Returns the ends of the paragraphs of a text, with the blank lines after them. Code and HTML are not divided."""
    stop, closed = len(text) if stop is None else stop, lines_of_blocks(text)
    ends, is_after_blank, has_content = [], False, False
    for number, line in enumerate(_LINE.finditer(text, start, stop), text.count("\n", 0, start) + 1):
        is_blank = not line[0].strip() and number not in closed
        if has_content and is_after_blank and not is_blank:
            ends.append(line.start())
        is_after_blank, has_content = is_blank, has_content or not is_blank
    return [*ends, stop] if has_content else []


def _first(text: str, ends: Iterable[int], most: int, start: int = 0) -> Moved | None:
    """Moves a text from a start to the first of some ends after which at most `most` bytes are left, or to the last."""
    size, end = len(encoded(text)), start
    for stop in ends:
        if size <= most:
            break
        size -= len(encoded(text[end:stop]))
        end = stop
    if end == start:
        return None
    return Moved(append_lines(encoded(text[start:end]), b""), encoded(text[:start] + text[end:]))


def _units(found: tuple[Section, ...]) -> list[tuple[int, int]]:
    """Returns the spans of the sections at the highest level that has several, with their subsections.

    Only the last unbroken run counts: text between two chapters belongs to neither.
    """
    levels = [section.level for section in found if section.level]
    several = [level for level in levels if levels.count(level) > 1]
    units: list[tuple[int, int]] = []
    if not several:
        return units
    level = min(several)
    for section in found:
        if section.level == level:
            units.append((section.start, section.end))
        elif section.level > level and units:
            units[-1] = (units[-1][0], section.end)
        elif units:
            units = []
    return units
