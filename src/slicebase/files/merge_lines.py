"""Merges lines three-way, and marks conflicts as git does."""

from collections.abc import Callable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from operator import eq
from typing import Any, Final, Generic, NamedTuple, TypeVar

_Item = TypeVar("_Item")


class Merged(NamedTuple, Generic[_Item]):
    """The result of a merge: once with every conflict decided for our side, once for their side."""

    ours: _Item
    theirs: _Item


class _Stretch(NamedTuple):
    """Lines that neither side changed: where they start in the base and on each side, and how many there are."""

    base: int
    ours: int
    theirs: int
    length: int

    @property
    def end(self) -> "_Stretch":
        return _Stretch(self.base + self.length, self.ours + self.length, self.theirs + self.length, 0)


def decide(base: _Item, ours: _Item, theirs: _Item, equal: Callable[[Any, Any], bool] = eq) -> Merged[_Item]:
    """Chooses the side that changed something. If both did, differently, the result differs too: a conflict."""
    if equal(ours, base) or equal(ours, theirs):
        return Merged(theirs, theirs)
    if equal(theirs, base):
        return Merged(ours, ours)
    return Merged(ours, theirs)


def merge_lines(base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]) -> Merged[list[bytes]]:
    """Merges lines: takes each change from the side that made it."""
    one: list[bytes] = []
    other: list[bytes] = []
    place = _Stretch(0, 0, 0, 0)
    for stretch in _unchanged(base, ours, theirs):
        chosen = decide(
            list(base[place.base : stretch.base]),
            list(ours[place.ours : stretch.ours]),
            list(theirs[place.theirs : stretch.theirs]),
        )
        same = base[stretch.base : stretch.base + stretch.length]
        one += (*chosen.ours, *same)
        other += (*chosen.theirs, *same)
        place = stretch.end
    return Merged(one, other)


def _unchanged(base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]) -> Iterator[_Stretch]:
    """Yields the stretches that all three have in common, in order, and an empty one at the end."""
    one, other = _blocks(base, ours), _blocks(base, theirs)
    while one and other:
        mine, yours = one[0], other[0]
        start = max(mine.a, yours.a)
        end = min(mine.a + mine.size, yours.a + yours.size)
        if start < end:
            yield _Stretch(start, mine.b + start - mine.a, yours.b + start - yours.a, end - start)
        if mine.a + mine.size <= yours.a + yours.size:
            one = one[1:]
        else:
            other = other[1:]
    yield _Stretch(len(base), len(ours), len(theirs), 0)


def _blocks(base: Sequence[bytes], side: Sequence[bytes]) -> list[Match]:
    return SequenceMatcher(None, base, side, autojunk=False).get_matching_blocks()


_MARKERS: Final = (b"<<<<<<< ours\n", b"=======\n", b">>>>>>> theirs\n")


def marked(ours: bytes, theirs: bytes) -> bytes:
    """Returns two versions of a file as one, with conflict markers around the differences."""
    one, other = lines_of(ours), lines_of(theirs)
    pieces: list[bytes] = []
    for tag, start, end, other_start, other_end in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces += one[start:end]
        else:
            before, between, after = _MARKERS
            pieces += [before, *_ended(one[start:end]), between, *_ended(other[other_start:other_end]), after]
    return b"".join(pieces)


def lines_of(data: bytes) -> list[bytes]:
    """Returns the lines with their line ends. Joined, they are the data again."""
    *lines, rest = data.split(b"\n")
    return [line + b"\n" for line in lines] + ([rest] if rest else [])


def _ended(lines: Sequence[bytes]) -> list[bytes]:
    """Returns the lines, each with a line end, so that a marker after the last line has its own line."""
    return [line if line.endswith(b"\n") else line + b"\n" for line in lines]
