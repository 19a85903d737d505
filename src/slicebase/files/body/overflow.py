"""What becomes of a file that grows too large (§ Overflow, ruling 32): its parts, and what moves to them.

A part is joined to its file from both sides, by `part_of` and `has_part` with a label that says why it is there, so
that a part which overflow made is never taken for one that people made.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from slicebase.files.body.rows import read_rows
from slicebase.files.body.sections import Section, sections
from slicebase.files.body.text import append_lines, encoded
from slicebase.files.create import new_file
from slicebase.files.model import Contract, Link
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import append_item
from slicebase.files.yaml.load import decode

CONTINUED: Final = "overflow"  # the label of a part in which a file goes on
ARCHIVED: Final = "archive"  # the label of a part that older content moved to
_LABELS: Final = (CONTINUED, ARCHIVED)


class Moved(NamedTuple):
    """A body cut in two: what leaves, and what stays."""

    leaves: bytes
    stays: bytes


def parts_of(file: SliceFile, *labels: str) -> list[str]:
    """The ids of the parts that overflow made of a file, oldest first."""
    wanted = labels or _LABELS
    return [link.to for link in file.links if link.rel == "has_part" and link.label in wanted and link.to]


def whole_of(file: SliceFile) -> str | None:
    """The id of the file that overflow made this part of."""
    return next((link.to for link in file.links if link.rel == "part_of" and link.label in _LABELS), None)


def new_part(file: SliceFile, part_id: str, label: str, body: bytes = b"") -> SliceFile:
    """A part of a file, of its kind; an archive is read-only."""
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
    return append_item(file, "slice.links", Link("has_part", part_id, label))


def with_parts(file: SliceFile, parts: Iterable[SliceFile]) -> SliceFile:
    """A file with the parts joined whose writer died before it came to that: a part is there before its file names it.

    What an archive has already leaves the file, as it was going to.
    """
    for part in parts:
        label = next((link.label for link in part.links if link.rel == "part_of" and link.to == file.id), None)
        if label in _LABELS and part.id and part.id not in parts_of(file):
            body = _without(file, part.body) if label == ARCHIVED else file.body
            file = joined(file.with_body(body), part.id, label)
    return file


def _without(file: SliceFile, moved: bytes) -> bytes:
    if file.body_type != "jsonl":
        return file.body.replace(moved, b"", 1)
    gone = set(moved.split(b"\n")) - {b""}
    return b"\n".join(line for line in file.body.split(b"\n") if line not in gone)


def move_oldest(file: SliceFile, most: int) -> Moved | None:
    """Takes the oldest rows or sections out of a body until it has at most so many bytes; None where nothing can go."""
    if file.body_type == "jsonl":
        return _oldest_rows(file.body, most)
    return _oldest_sections(decode(file.body), most) if file.body_type == "markdown" else None


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
    """Sections are added at the end, so that the first are the oldest. The last one stays, and the beginning."""
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


def _units(found: tuple[Section, ...]) -> list[tuple[int, int]]:
    """The spans of the sections of the highest level that there are several of, with the sections below them.

    Only an unbroken run counts, the last one: what stands between two chapters belongs to neither.
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
