"""Leaves out of a merge what a side has moved to an archive (ruling 32).

An archive takes the first lines of a body. Two branches that both archive take away different numbers of them, and one
that writes enough takes away everything that was there before. Line by line, each has then replaced a text by another.
It has not: its file names a new archive, and what it has of the old text is the end of it. So what either side moved
away is left out of all three versions, and the rest is merged.
"""

from collections import Counter
from itertools import dropwhile, pairwise
from typing import Final, NamedTuple

from slicebase.files.body.overflow import ARCHIVED, parts_of
from slicebase.files.slice_file import SliceFile

_TYPES: Final = ("conversation", "routine", "text")  # rows have ids, and sections of Markdown move from anywhere

BodyLines = list[bytes]


class ThreeBodies(NamedTuple):
    """The lines of a body in the base and on both sides."""

    base: BodyLines
    ours: BodyLines
    theirs: BodyLines


def without_archived(bodies: ThreeBodies, base: SliceFile | None, ours: SliceFile, theirs: SliceFile) -> ThreeBodies:
    """Returns three versions of a body without the lines of the base that a side has moved to an archive."""
    if base is None or base.body_type not in _TYPES or not base.body_type == ours.body_type == theirs.body_type:
        return bodies
    archives = [{*parts_of(side, ARCHIVED)} - {*parts_of(base, ARCHIVED)} for side in (ours, theirs)]
    if not any(archives) or not ours.write_mode == theirs.write_mode == "append":
        return bodies
    one, other = (
        _moved(bodies.base, lines) if new else _same(bodies.base, lines)
        for lines, new in zip(bodies[1:], archives, strict=True)
    )
    if one is None or other is None:
        return bodies
    most = max(one, other)

    def left(lines: BodyLines, own: int) -> BodyLines:
        rest = lines[most - own :]
        if most == len(bodies.base):  # nothing is above the blank lines that they would be apart from
            rest = [*dropwhile(lambda line: not line.strip(), rest)]
        return rest

    return ThreeBodies(bodies.base[most:], left(bodies.ours, one), left(bodies.theirs, other))


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
