"""Splits a file that grows too large into parts, and moves content to them (§ Overflow, ruling 32).

A part and its file link to each other, by `part_of` and `has_part`. The label of these links says why the part exists,
so that a part created by overflow is never mistaken for one created by people.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from slicebase.core.parsers import decode
from slicebase.files.body.origin import START, ArchivesBefore, Origin, Place, add_marks, anchor_at, marks_in, origin_of
from slicebase.files.body.rows import read_rows
from slicebase.files.body.sections import Section, headings, lines_of_blocks, sections
from slicebase.files.body.text import append_lines, encoded, heading_lines, paragraph_gap
from slicebase.files.create import new_file
from slicebase.files.model import Contract, Link
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import append_item, set_key
from slicebase.files.yaml.scan import Node, NodeEntry

CONTINUED: Final = "overflow"  # the label of a part that continues a file
ARCHIVED: Final = "archive"  # the label of a part that holds older content
_LABELS: Final = (CONTINUED, ARCHIVED)


class Moved(NamedTuple):
    """A body divided into what moves out and what stays, and where the former was."""

    leaves: bytes
    stays: bytes
    places: tuple[Place, ...] = START
    is_below_heading: bool = False  # that stays


def parts_of(file: SliceFile, *labels: str) -> list[str]:
    """Returns the ids of the parts that overflow created for a file, the oldest first."""
    wanted = labels or _LABELS
    return [link.to for link in file.links if link.rel == "has_part" and link.label in wanted and link.to]


def whole_of(file: SliceFile) -> str | None:
    """Returns the id of the file that overflow created this part for, None if it is not such a part."""
    return part_link(file)[0]


def part_pairs(file: SliceFile) -> list[tuple[str, str]]:
    """Returns which files the links of a file join because of overflow, as pairs of ids."""
    whole = whole_of(file)
    others = [*parts_of(file), *([whole] if whole else [])]
    return [(file.id, other) for other in others if file.id]


def part_link(file: SliceFile) -> tuple[str | None, str | None]:
    """Returns the file that overflow created this part for, and why; twice None if it is not such a part."""
    found = (link for link in file.links if link.rel == "part_of" and link.label in _LABELS)
    return next(((link.to, link.label) for link in found), (None, None))


def new_part(file: SliceFile, part_id: str, moved: Moved | None = None) -> SliceFile:
    """Creates a part with the file's body type and contract: one that continues it, or an archive of what moves.

    An archive is read-only, and says where its content comes from.
    """
    label = CONTINUED if moved is None else ARCHIVED
    number = len(parts_of(file, label)) + (2 if label == CONTINUED else 1)
    word = "part" if label == CONTINUED else "archive"
    stated = file.contract
    return new_file(
        id=part_id,
        title=f"{file.title} ({word} {number})",
        summary=file.summary or "",
        body_type=file.body_type or "",
        body=moved.leaves if moved else b"",
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
        taken_from=str(_origin(file, moved)) if moved else None,
        name=f"{file.name.rpartition('/')[0]}/{part_id}.slice",
    )


def _origin(file: SliceFile, moved: Moved) -> Origin:
    """Returns where an archive comes from. For rows, which their bytes name, only the places count."""
    if file.body_type == "jsonl":
        return Origin(moved.places)
    archives = parts_of(file, ARCHIVED)
    before = ArchivesBefore(len(archives), archives[-1] if archives else None)
    at = moved.places[0].at
    return Origin((Place(at, len(moved.leaves)),), anchor_at(moved.stays, at, below=moved.is_below_heading), before)


def joined(file: SliceFile, part_id: str, label: str, leaves: bytes = b"") -> SliceFile:
    """Returns the file with a link to a part. What leaves it for an archive has marks there; rows have ids."""
    new = append_item(file, "slice.links", Link("has_part", part_id, label))
    if not leaves or file.body_type == "jsonl":
        return new
    return set_key(new, "slice.moved", add_marks(file.moved, marks_in(leaves.split(b"\n"))))


def exceeds(file: SliceFile, limit: int) -> bool:
    """Returns whether a file is larger than overflow allows."""
    return len(file.head) + len(file.body) > limit and own_size(file) > limit


def own_size(file: SliceFile) -> int:
    """Returns the bytes of a file without the links to its parts: overflow writes them, and nobody can remove them."""
    size = len(file.head) + len(file.body)
    above = file.node("slice") if parts_of(file) else None
    links = above and above.child("links")
    if not above or not links:
        return size
    named = [entry for entry in links.value.entries if _names_part(entry.value.value)]
    if len(named) == len(links.value.entries):
        return size - _bytes_of(file, links, above)
    return size - sum(_bytes_of(file, entry, links.value) for entry in named)


def _names_part(link: object) -> bool:
    return isinstance(link, dict) and link.get("rel") == "has_part" and link.get("label") in _LABELS


def _bytes_of(file: SliceFile, entry: NodeEntry, holder: Node) -> int:
    """Returns how many bytes an entry takes: its lines, or what is between two commas."""
    is_block = holder.form.startswith("block")
    return len(encoded(file.header[entry.start : entry.end])) + (holder.column + len(file.newline) if is_block else 2)


class Unnamed(NamedTuple):
    """Parts of a file that it does not name: a part is written before its file, which an interruption can prevent.

    `continued` go on where the file and its parts end. What `copies` have is still in the file, where they took it
    from. Of `strays` it is not certain: somebody has written to the file since, or took them out of it.
    """

    continued: list[SliceFile]
    copies: list[SliceFile]
    strays: list[SliceFile]


def unnamed_parts(file: SliceFile, parts: Iterable[SliceFile]) -> Unnamed:
    """Returns those of some parts that belong to a file and that it does not name, without forgotten ones."""
    found = Unnamed([], [], [])
    if file.archived or file.purged:
        return found
    newest = max(parts_of(file, CONTINUED), default="")
    for part in parts:
        is_own = part.id and part.id != file.id and whole_of(part) == file.id and part.id not in parts_of(file)
        if not is_own or part.archived or part.purged:
            continue
        is_same_type = part.body_type == file.body_type
        if part_link(part)[1] == CONTINUED:
            (found.continued if is_same_type and (part.id or "") > newest else found.strays).append(part)
        elif part.taken_from is not None:  # else people labelled it: overflow says where it took something from
            is_copy = is_same_type and _is_untouched(file, part) and _has_all_of(file, part)
            (found.copies if is_copy else found.strays).append(part)
    return found


def _is_untouched(file: SliceFile, part: SliceFile) -> bool:
    """Returns whether a part has no metadata and links but those with which overflow creates it."""
    own = {Link("part_of", file.id, ARCHIVED), *(link for link in file.links if link.rel == "routes_to")}
    return not part.meta and {*part.links} <= own


def _has_all_of(file: SliceFile, archive: SliceFile) -> bool:
    """Returns whether everything that is in an archive is in its file, too, where it was."""
    moved = archive.body.rstrip(b"\r\n")  # line ends may have been added when it moved
    if file.body_type == "jsonl":  # rows are known by their bytes
        return bool(moved) and lines_in(archive) - {b""} <= lines_in(file)
    after = file.body[origin_of(archive).at :]
    return bool(moved) and after.startswith(moved) and after[len(moved) : len(moved) + 1] in (b"", b"\r", b"\n")


def lines_in(file: SliceFile) -> set[bytes]:
    """Returns the lines of a body, without their ends."""
    return {line.removesuffix(b"\r") for line in file.body.split(b"\n")}


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
        return _with_gap(_first(text, paragraph_ends(text), most))
    if file.body_type == "markdown":
        ways = (_oldest_sections(text, most), _with_gap(_oldest_paragraphs(text, most)))
        return next((moved for moved in ways if moved and _keeps_headings(text, moved)), None)
    return None


def _keeps_headings(text: str, moved: Moved) -> bool:
    """Returns whether moving leaves all headings as they are: a line could become part of an underlined one."""
    before, *after = ([heading.title for heading in headings(each)] for each in (
        text, decode(moved.leaves), decode(moved.stays)
    ))  # fmt: skip
    return sorted(before) == sorted(after[0] + after[1])


def _with_gap(moved: Moved | None) -> Moved | None:
    """Returns what moves with the blank line before the next paragraph, where none is left that would have it."""
    if moved is None or moved.stays.strip():
        return moved
    return moved._replace(leaves=moved.leaves + paragraph_gap(moved.leaves).encode())


_MOST_PLACES: Final = 1000  # that an archive states; its header has a limit


def _oldest_rows(body: bytes, most: int) -> Moved | None:
    """Moves the oldest rows, wherever they are; the first ones, where these would come from too many places."""
    rows = read_rows(body).rows
    for oldest_first in (sorted(rows, key=lambda row: row.age_key), rows):
        size, moving = len(body), set()
        for row in oldest_first:
            if size <= most:
                break
            moving.add(row.line.number)
            size -= len(row.line.raw) + 1
        moved = _divided(append_lines(body, b"").split(b"\n")[:-1], moving)
        if len(moved.places) <= _MOST_PLACES:
            break
    return moved if moving else None


def _divided(lines: Sequence[bytes], moving: Collection[int]) -> Moved:
    """Divides the lines of a body into those that move, named by their numbers from 1, and the others."""
    leaves, stays, at = [], [], 0
    places: list[Place] = []
    for number, line in enumerate(lines, 1):
        size = len(line) + 1
        if number not in moving:
            stays.append(line + b"\n")
            at += size
            continue
        leaves.append(line + b"\n")
        if places and places[-1].at == at:
            size += places.pop().size
        places.append(Place(at, size))
    return Moved(b"".join(leaves), b"".join(stays), tuple(places))


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
    return _cut(text, start, end)


_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")


def _oldest_paragraphs(text: str, most: int) -> Moved | None:
    """Moves the first paragraphs of Markdown in which no sections can move: from where it has the most text.

    What moves ends before the next heading: headings stay, and every paragraph that stays is under its own.
    """
    spans = [(section.start + _heading_size(text, section), section.end) for section in sections(text)]
    start, stop = max(spans, key=lambda span: span[1] - span[0], default=(0, 0))
    moved = _first(text, paragraph_ends(text, start, stop), most, start)
    return moved and moved._replace(is_below_heading=start > 0)


def _heading_size(text: str, section: Section) -> int:
    return len(heading_lines(text[section.start : section.end])) if section.level else 0


def paragraph_ends(text: str, start: int = 0, stop: int | None = None) -> list[int]:
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
    moved = _cut(text, start, end)
    return moved._replace(leaves=append_lines(moved.leaves, b""))


def _cut(text: str, start: int, end: int) -> Moved:
    before, leaves = encoded(text[:start]), encoded(text[start:end])
    return Moved(leaves, before + encoded(text[end:]), (Place(len(before), len(leaves)),))


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
