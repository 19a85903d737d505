"""Lines of text: compares two versions, merges three, and marks conflicts as git does.

Lines are compared without their line ends, so that a file whose line ends were converted merges with one whose were
not. Everything takes about linear time: a part that would take longer counts as changed completely.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from operator import eq
from typing import Any, Final, Generic, NamedTuple, TypeVar

from slicebase.files.yaml.load import BOM

_Item = TypeVar("_Item")


class Merged(NamedTuple, Generic[_Item]):
    """The result of a merge: once with every conflict decided for our side, once for their side."""

    ours: _Item
    theirs: _Item


def decide(base: _Item, ours: _Item, theirs: _Item, equal: Callable[[Any, Any], bool] = eq) -> Merged[_Item]:
    """Chooses the side that changed something. If both did, differently, the result differs too: a conflict."""
    if equal(ours, base) or equal(ours, theirs):
        return Merged(theirs, theirs)
    if equal(theirs, base):
        return Merged(ours, ours)
    return Merged(ours, theirs)


# Texts as lines

_LF: Final = b"\n"
_CRLF: Final = b"\r\n"


class TextForm(NamedTuple):
    """What a text has beside its lines: a byte order mark, the line end, and whether the last line ends with it."""

    bom: bool = False
    end: bytes | None = _LF  # None if the line ends differ; a carriage return is then part of its line
    final: bool = True

    def text(self, lines: Sequence[bytes]) -> bytes:
        """Returns the lines as a text of this form."""
        end = self.end or _LF
        text = end.join(lines)
        if self.final:
            text += end if lines else b""
        elif self.end is None:
            text = text.removesuffix(b"\r")
        return BOM + text if self.bom else text


class ThreeTexts(NamedTuple):
    """Three versions of a text as lines that can be compared, and the form of the merged text."""

    base: list[bytes]
    ours: list[bytes]
    theirs: list[bytes]
    form: TextForm


def comparable(base: bytes | None, ours: bytes, theirs: bytes, ends: Sequence[bytes] = (_LF, _LF, _LF)) -> ThreeTexts:
    """Splits three versions into lines. The form is that of the side that changed it.

    `ends` has the line end of what each version belongs to, in case that it has none of its own. A side that is empty,
    or has one line only, has not changed the line ends of the base, unless what it belongs to has others now.
    """
    before = TextForm() if base is None else _form(base, ends[0])
    mine, other = (
        _form(side, before.end if end == ends[0] else end) for side, end in zip((ours, theirs), ends[1:], strict=True)
    )
    form = _merged_form(before, mine, other)
    old = _split(base or b"", before.end, form.end)
    return ThreeTexts(old, _split(ours, mine.end, form.end), _split(theirs, other.end, form.end), form)


def line_end(data: bytes) -> bytes:
    """Returns the line end of a text: CRLF if all lines have it, else LF."""
    return _form(data, _LF).end or _LF


def _merged_form(base: TextForm, ours: TextForm, theirs: TextForm) -> TextForm:
    end = decide(base.end, ours.end, theirs.end)
    # All three line ends can be different: then a uniform one is better than mixed ones.
    chosen = end.ours if end.ours == end.theirs else min(each for each in end if each is not None)
    return TextForm(
        decide(base.bom, ours.bom, theirs.bom).ours, chosen, decide(base.final, ours.final, theirs.final).ours
    )


def _form(data: bytes, end: bytes | None) -> TextForm:
    text = data.removeprefix(BOM)
    breaks, returns = text.count(_LF), text.count(_CRLF)
    found = end if not breaks else {0: _LF, breaks: _CRLF}.get(returns)
    return TextForm(len(text) < len(data), found, not text or text.endswith(_LF))


def _split(data: bytes, own: bytes | None, wanted: bytes | None) -> list[bytes]:
    """Returns the lines of a text. Those of a text with mixed line ends keep their carriage returns."""
    *lines, rest = data.removeprefix(BOM).split(_LF)
    if own == _CRLF:  # the last line is compared as if it had an end, too
        rest = rest.removesuffix(b"\r") + b"\r" if rest else rest
    if wanted is not None:
        lines = [line.removesuffix(b"\r") for line in lines]
        rest = rest.removesuffix(b"\r") if own != _LF else rest  # half a line end
    return [*lines, rest] if rest else lines


# Merging


class Hunk(NamedTuple):
    """A part that both sides changed differently: its place in the base, and its three versions."""

    start: int
    end: int
    base: Sequence[bytes]
    ours: Sequence[bytes]
    theirs: Sequence[bytes]


Resolve = Callable[[Hunk], Sequence[bytes] | None]


def merge_lines(
    base: Sequence[bytes],
    ours: Sequence[bytes],
    theirs: Sequence[bytes],
    resolve: Resolve = lambda hunk: None,
    *,
    over_blanks: bool = False,
) -> Merged[list[bytes]]:
    """Merges lines: takes each change from the side that made it.

    `resolve` is asked about what both sides changed. It returns the merged lines, or None if that is a conflict.
    `over_blanks` says that changes with nothing but blank lines between them are one change.
    """
    one: list[bytes] = []
    other: list[bytes] = []
    place = _Stretch(0, 0, 0, 0)
    for stretch in _unchanged(base, ours, theirs):
        if over_blanks and stretch.length and not any(map(bytes.strip, base[stretch.base : stretch.end.base])):
            continue
        hunk = Hunk(
            place.base,
            stretch.base,
            base[place.base : stretch.base],
            ours[place.ours : stretch.ours],
            theirs[place.theirs : stretch.theirs],
        )
        chosen = decide(hunk.base, hunk.ours, hunk.theirs)
        if chosen.ours != chosen.theirs:
            found = resolve(hunk)
            chosen = chosen if found is None else Merged(found, found)
        same = base[stretch.base : stretch.base + stretch.length]
        one += (*chosen.ours, *same)
        other += (*chosen.theirs, *same)
        place = stretch.end
    return Merged(one, other)


class _Stretch(NamedTuple):
    """Lines that neither side changed: where they start in the base and on each side, and how many there are."""

    base: int
    ours: int
    theirs: int
    length: int

    @property
    def end(self) -> "_Stretch":
        return _Stretch(self.base + self.length, self.ours + self.length, self.theirs + self.length, 0)


def _unchanged(base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]) -> Iterator[_Stretch]:
    """Yields the stretches that all three have in common, in order, and an empty one at the end."""
    one, other = (_moved_down(equal_parts(base, side), base, side) for side in (ours, theirs))
    at = other_at = 0
    while at < len(one) and other_at < len(other):
        mine, yours = one[at], other[other_at]
        start = max(mine.one, yours.one)
        end = min(mine.one + mine.length, yours.one + yours.length)
        if start < end:
            yield _Stretch(start, mine.other + start - mine.one, yours.other + start - yours.one, end - start)
        if mine.one + mine.length <= yours.one + yours.length:
            at += 1
        else:
            other_at += 1
    yield _Stretch(len(base), len(ours), len(theirs), 0)


def _moved_down(parts: Sequence["EqualPart"], base: Sequence[bytes], side: Sequence[bytes]) -> list["EqualPart"]:
    """Returns the parts with each change as far down as possible.

    What is added between two blank lines can start with the first or end with the second. Two sides that add at the
    same place have to agree about that, or else they are at different places.
    """
    found: list[EqualPart] = []
    waiting = [*reversed(parts)]
    while waiting:
        part = waiting.pop()
        if not found:
            found.append(part)
            continue
        start, other, length = found[-1]
        end, other_end = start + length, other + length
        size = 0
        if (end, other_end) == (part.one, part.other):
            size = part.length
        elif end == part.one or other_end == part.other:  # only added, or only removed
            while size < part.length and base[end + size] == side[other_end + size]:
                size += 1
        if size:
            found[-1] = EqualPart(start, other, length + size)
        if size < part.length:
            found.append(EqualPart(part.one + size, part.other + size, part.length - size))
    return found


# Comparing


class EqualPart(NamedTuple):
    """Items that two sequences have in common: where they start in each, and how many there are."""

    one: int
    other: int
    length: int


_TABLE: Final = 1 << 16  # cells of a table of the longest common sequence
_WORK: Final = 1 << 20  # steps for two short texts; longer ones get more


def equal_parts(one: Sequence[Any], other: Sequence[Any]) -> list[EqualPart]:
    """Returns what two sequences have in common, in order.

    Items that occur once on both sides are found first, as in patience diff; the few others between them by a table.
    """
    found: list[EqualPart] = []
    work = _WORK + 32 * (len(one) + len(other))
    waiting = [(0, len(one), 0, len(other))]
    while waiting:
        start, end, other_start, other_end = waiting.pop()
        first, other_first = start, other_start
        while start < end and other_start < other_end and one[start] == other[other_start]:
            start, other_start = start + 1, other_start + 1
        if start > first:
            found.append(EqualPart(first, other_first, start - first))
        last = end
        while start < end and other_start < other_end and one[end - 1] == other[other_end - 1]:
            end, other_end = end - 1, other_end - 1
        if end < last:
            found.append(EqualPart(end, other_end, last - end))
        cells = (end - start) * (other_end - other_start)
        work -= end - start + other_end - other_start
        if not cells or work < 0:
            continue
        places = _unique_places(one, start, end, other, other_start, other_end)
        if places:
            bounds = [(start, other_start), *places, (end, other_end)]
            waiting += [(a, b, c, d) for (a, c), (b, d) in pairwise(bounds)]
        elif cells <= min(_TABLE, work):
            work -= cells
            found += _by_table(one[start:end], other[other_start:other_end], start, other_start)
    return sorted(found)


def _unique_places(
    one: Sequence[Any], start: int, end: int, other: Sequence[Any], other_start: int, other_end: int
) -> list[tuple[int, int]]:
    """Returns the places of items that occur once on each side: as many as are in the same order on both."""
    mine, yours = _unique(one, start, end), _unique(other, other_start, other_end)
    pairs = [(at, yours[item]) for item, at in mine.items() if item in yours]
    # The longest increasing sequence: for each length, the pair that ends such a sequence with the lowest place.
    lowest: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(lowest, place)
        lowest[length : length + 1] = [place]
        ends[length : length + 1] = [number]
        before.append(ends[length - 1] if length else -1)
    chain: list[tuple[int, int]] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _unique(items: Sequence[Any], start: int, end: int) -> dict[Any, int]:
    places: dict[Any, int] = {}
    twice = set()
    for at in range(start, end):
        if items[at] in places:
            twice.add(items[at])
        places[items[at]] = at
    return {item: at for item, at in places.items() if item not in twice}


def _by_table(one: Sequence[Any], other: Sequence[Any], start: int, other_start: int) -> Iterator[EqualPart]:
    """Yields the longest common sequence of two short sequences, item by item."""
    lengths = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for at in reversed(range(len(one))):
        row, below = lengths[at], lengths[at + 1]
        for place in reversed(range(len(other))):
            row[place] = below[place + 1] + 1 if one[at] == other[place] else max(below[place], row[place + 1])
    at = place = 0
    while at < len(one) and place < len(other):
        if one[at] == other[place]:
            yield EqualPart(start + at, other_start + place, 1)
            at, place = at + 1, place + 1
        elif lengths[at + 1][place] >= lengths[at][place + 1]:
            at += 1
        else:
            place += 1


# Conflict markers

MARKERS: Final = (b"<<<<<<< ours", b"=======", b">>>>>>> theirs")


def marked(one: bytes, other: bytes, *, swapped: bool = False) -> bytes:
    """Returns two versions of a file as one, with conflict markers around the differences.

    `swapped` says that the first version is theirs. The marked parts are the same whichever is ours.
    """
    if one == other:
        return one
    mine, yours = lines_of(one), lines_of(other)
    end = _CRLF if mine and yours and mine[0].endswith(_CRLF) and yours[0].endswith(_CRLF) else _LF
    before, between, after = (marker + end for marker in MARKERS)
    pieces: list[bytes] = []
    at = place = 0
    for part in (*equal_parts(mine, yours), EqualPart(len(mine), len(yours), 0)):
        differs = mine[at : part.one] != yours[place : part.other]
        common = mine[part.one : part.one + part.length]
        if differs and common and not any(map(bytes.strip, common)):
            continue  # paragraphs beside each other are one conflict: a choice for each could mix the sides
        if differs:
            sides = _ended(mine[at : part.one], end), _ended(yours[place : part.other], end)
            ours, theirs = reversed(sides) if swapped else sides
            pieces += [before, *ours, between, *theirs, after]
        else:
            pieces += mine[at : part.one]
        pieces += common
        at, place = part.one + part.length, part.other + part.length
    return b"".join(pieces)


def unmerged(ours: bytes, theirs: bytes) -> bytes:
    """Returns two versions of a file as one: both complete, between conflict markers."""
    before, between, after = (marker + _LF for marker in MARKERS)
    return b"".join((before, *_ended([ours], _LF), between, *_ended([theirs], _LF), after))


def lines_of(data: bytes) -> list[bytes]:
    """Returns the lines with their line ends. Joined, they are the data again."""
    *lines, rest = data.split(_LF)
    return [line + _LF for line in lines] + ([rest] if rest else [])


def _ended(lines: Sequence[bytes], end: bytes) -> list[bytes]:
    """Returns the lines, each with a line end, so that a marker after the last line has its own line."""
    return [line if line.endswith(_LF) else line + end for line in lines]
