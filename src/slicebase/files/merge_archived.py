"""Leaves out of a merge what a side has moved to an archive, where that is certain (ruling 32).

An archive takes the first lines of a body. Two branches that both archive take away different numbers of them, and one
that writes enough takes away everything that was there before. Line by line, each has then replaced a text by another.
It has not: its file names a new archive, and what it has of the old text is the end of it. So what either side moved
away is left out of all three versions, and the rest is merged.
"""

from collections import Counter
from itertools import dropwhile, pairwise
from typing import Final, NamedTuple

from slicebase.core.hashing import raw_digest
from slicebase.files.body.origin import add_marks, mark_of, marks_in
from slicebase.files.body.overflow import ARCHIVED, parts_of
from slicebase.files.merge_lines import EqualPart, Merged, equal_parts
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key

_BY_PLACE: Final = frozenset({"conversation", "routine", "text", "markdown"})  # rows have ids

BodyLines = list[bytes]


class ThreeBodies(NamedTuple):
    """The lines of a body in the base and on both sides."""

    base: BodyLines
    ours: BodyLines
    theirs: BodyLines


def without_archived(bodies: ThreeBodies, base: SliceFile | None, ours: SliceFile, theirs: SliceFile) -> ThreeBodies:
    """Returns three versions of a body without the lines of the base that a side has moved to an archive."""
    if base is None or base.body_type not in _BY_PLACE or not base.body_type == ours.body_type == theirs.body_type:
        return bodies
    sides = ours, theirs
    if not any(_new_archives(base, side) for side in sides) or not ours.write_mode == theirs.write_mode == "append":
        return bodies
    start = _common_start(bodies) if base.body_type == "markdown" else 0  # of Markdown, the title may stay
    old = bodies.base[start:]
    one, other = (_left_out(old, lines[start:], base, side) for lines, side in zip(bodies[1:], sides, strict=True))
    if one is None or other is None:
        return bodies
    most = max(one, other)

    def left(lines: BodyLines, own: int) -> BodyLines | None:
        end = start + most - own
        if lines[start:end] != old[own:most]:
            return None  # it has merged lines of others in between
        rest = lines[end:]
        if most == len(bodies.base):  # nothing is above the blank lines that they would be apart from
            rest = [*dropwhile(lambda line: not line.strip(), rest)]
        return [*lines[:start], *rest]

    mine, yours = left(bodies.ours, one), left(bodies.theirs, other)
    return bodies if mine is None or yours is None else ThreeBodies(bodies.base[:start] + old[most:], mine, yours)


def _common_start(bodies: ThreeBodies) -> int:
    lines = enumerate(zip(*bodies, strict=False))
    return next((at for at, same in lines if len({*same}) > 1), min(map(len, bodies)))


def _left_out(lines: BodyLines, own: BodyLines, base: SliceFile, side: SliceFile) -> int | None:
    """Returns how many lines of the base a side has moved to archives; None if that is not sure."""
    has_moved = bool(_new_archives(base, side))
    marked = _marked(lines, own, add_marks(side.moved, subtract=base.moved)) if has_moved else None
    if marked is not None or base.body_type == "markdown":  # of which sections move from anywhere
        return marked
    return _moved(lines, own) if has_moved else _same(lines, own)


def _marked(base: BodyLines, side: BodyLines, marks: str) -> int | None:
    """Returns how many first lines of the base have these marks, if the side goes on with the next; None if none."""
    total = none = marks_in(())
    for at, line in enumerate(base):
        if line.strip():
            if total == marks != none and side[:1] == [line]:
                return at
            total = add_marks(total, mark_of(line))
    return len(base) if total == marks != none else None


# What two sides both archived, in texts that differ


def may_repeat(base: SliceFile | None, ours: SliceFile, theirs: SliceFile) -> bool:
    """Returns whether both sides may have archived the same content, and nobody can tell that it is the same.

    What two sides archived of the same text is known by its place there. A merge, and in Markdown every write to a
    section, puts something between the lines of the text, and what is archived after it has other places.
    """
    sides = ours, theirs
    if ours.body_type not in _BY_PLACE or not all(_new_archives(base, side) for side in sides):
        return False
    if base is None:
        return True
    is_only_appended = ours.body_type != "markdown" and all(side.merged == base.merged for side in sides)
    return not is_only_appended and not all(_moved_only_old(base, side) for side in sides)


def _moved_only_old(base: SliceFile, side: SliceFile) -> bool:
    """Returns whether a side archived nothing but lines of the base, and added none above the last of them."""
    old, new = ([line.strip() for line in file.body.split(b"\n") if line.strip()] for file in (base, side))
    gone: list[bytes] = []
    has_more, at, place = False, 0, 0
    for part in (*equal_parts(old, new), EqualPart(len(old), len(new), 0)):
        if part.one > at and (has_more or (part.length and part.other > place)):
            return False
        gone += old[at : part.one]
        has_more = has_more or part.other > place
        at, place = part.one + part.length, part.other + part.length
    return add_marks(side.moved, subtract=base.moved) == marks_in(gone)


def with_mark(base: SliceFile | None, sides: Merged[SliceFile], versions: Merged[SliceFile]) -> Merged[SliceFile]:
    """Returns the versions of a merged file with a mark of the merge, if its text is that of neither side.

    Only a file from which content can move to archives has one, and no log: its rows have ids.
    """
    is_archived = any(side.contract.overflow == ARCHIVED or parts_of(side, ARCHIVED) for side in sides)
    if not is_archived or sides.ours.body_type not in _BY_PLACE or not all(_has_changed(base, side) for side in sides):
        return versions
    mark = mark_of(b"".join(raw_digest(side.to_bytes()) for side in sides))
    return Merged(*(set_key(version, "slice.merged", mark) for version in versions))


def _has_changed(base: SliceFile | None, side: SliceFile) -> bool:
    """Returns whether a side has another text than the base, if only in archives."""
    known = base and (base.body, base.merged)
    return (side.body, side.merged) != known or bool(_new_archives(base, side))


def _new_archives(base: SliceFile | None, side: SliceFile) -> set[str]:
    return {*parts_of(side, ARCHIVED)} - {*(parts_of(base, ARCHIVED) if base else ())}


def _same(base: BodyLines, side: BodyLines) -> int | None:
    """Returns 0, the number of lines that moved, if a side only has more lines than the base; None if it changed it."""
    return 0 if side[: len(base)] == base else None


def _moved(base: BodyLines, side: BodyLines) -> int | None:
    """Returns how many lines of the base a side has moved away, with all that follow kept; None if that is not sure."""
    moved = len(base) - _overlap(base, side)
    counts = Counter(base)
    is_sure = any(line.strip() and counts[line] == 1 for line in base[moved:])  # else it may be equal by chance
    return moved if is_sure or not _pairs(base) & _pairs(side[len(base) - moved :]) else None


def _overlap(base: BodyLines, side: BodyLines) -> int:
    """Returns how many lines at the end of the base a side begins with: the most, in time in proportion to both."""
    shorter = [0] * len(side)  # with how many of its first lines each of the beginnings of the side also ends

    def longer(size: int, line: bytes) -> int:
        while size and (size == len(side) or side[size] != line):
            size = shorter[size - 1]
        return size + (side[size] == line)

    size = 0
    for at in range(1, len(side)):
        size = shorter[at] = longer(size, side[at])
    size = 0
    for line in base if side else ():
        size = longer(size, line)
    return size


def _pairs(lines: BodyLines) -> set[tuple[bytes, bytes]]:
    """Returns which lines follow each other, apart from blank ones. Many entries have a line that others have, too."""
    return {*pairwise(line for line in lines if line.strip())}
