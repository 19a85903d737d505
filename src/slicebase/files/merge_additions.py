"""Joins what both sides of a merge added at the same place: lines of a conversation, paragraphs and sections of a text.

Equal lines or paragraphs of both sides are one only where they are the same for certain. A word is never dropped.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import dropwhile
from math import inf
from typing import Any, Final, NamedTuple, TypeVar

from slicebase.files.body.lines import read_lines
from slicebase.files.body.sections import headings, lines_of_blocks
from slicebase.files.merge_header import moment
from slicebase.files.merge_lines import EqualPart, Hunk, equal_parts
from slicebase.files.slice_file import SliceFile

_Item = TypeVar("_Item")


def _joined(
    one: Sequence[_Item],
    other: Sequence[_Item],
    between: Callable[[Sequence[_Item], Sequence[_Item]], list[_Item]],
    is_named: Callable[[_Item], bool] = lambda item: False,
) -> list[_Item] | None:
    """Joins what two sides added at the same place. Returns None if they added the same in another order.

    Equal items are one only where they are the same for certain: after the same items, or with a name of their own. So
    the same answer to two questions is there twice. `between` returns what stands between the common items.
    """
    size = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    mine, yours = one[size:], other[size:]
    parts = equal_parts(_names(mine, is_named, 1), _names(yours, is_named, 2))
    both = Counter(mine) & Counter(yours)
    shared = sum(count for item, count in both.items() if is_named(item))
    if sum(part.length for part in parts) < shared or (both and both.total() == len(mine) == len(yours)):
        return None
    joined = [*one[:size]]
    at = place = 0
    for part in (*parts, EqualPart(len(mine), len(yours), 0)):
        joined += between(mine[at : part.one], yours[place : part.other])
        joined += mine[part.one : part.one + part.length]
        at, place = part.one + part.length, part.other + part.length
    return joined


def _names(items: Sequence[_Item], is_named: Callable[[_Item], bool], side: int) -> list[object]:
    """Returns what to compare items by: themselves, or something that no other has."""
    return [item if is_named(item) else (side, at) for at, item in enumerate(items)]


# Appended lines


class _AppendedLine(NamedTuple):
    line: bytes
    time: float  # when a message was sent
    is_named: bool  # so that an equal line is the same one


class AppendedLines:
    """Joins the lines that both sides appended to a body with one JSON object per line."""

    def __init__(self, base: Sequence[bytes], ours: SliceFile, theirs: SliceFile) -> None:
        self._size = len(base)
        self._moments = moment(ours.updated_at), moment(theirs.updated_at)

    def __call__(self, hunk: Hunk) -> list[bytes] | None:
        if hunk.end < self._size or hunk.base:
            return None
        joined = _joined(_read_appended(hunk.ours), _read_appended(hunk.theirs), self._in_order, _is_named)
        return None if joined is None else [each.line for each in joined]

    def _in_order(self, one: Sequence[_AppendedLine], other: Sequence[_AppendedLine]) -> list[_AppendedLine]:
        """Returns the lines of both by time. Lines of one side stay in their order; one without a time stays with the
        line before it."""
        sides = sorted(((self._moments[0], one), (self._moments[1], other)))
        timed = [(time, side, line) for side, (_, lines) in enumerate(sides) for time, line in _timed(lines)]
        return [line for _, _, line in sorted(timed, key=lambda each: each[:2])]


def _timed(lines: Sequence[_AppendedLine]) -> Iterator[tuple[float, _AppendedLine]]:
    latest = -inf
    for line in lines:
        latest = max(latest, line.time)
        yield latest, line


def _read_appended(lines: Sequence[bytes]) -> list[_AppendedLine]:
    """Returns the lines with what they say about themselves."""
    values = {line.number: line.value for line in read_lines(b"\n".join(lines)).lines}
    found = []
    for number, line in enumerate(lines, 1):
        value = values.get(number)
        time = moment(value.get("ts")) if value else -inf
        is_named = _NAMED.search(line) is not None if value is None else has_name(value)
        found.append(_AppendedLine(line, time, is_named))
    return found


# What a line that is not readable may state all the same.
_NAMED: Final = re.compile(rb'"(?:ts|created_at)" *: *(?:"[^"]*:[0-9]{2}:[0-9]{2}|[1-9])|"call_id" *: *"[^"]')
_SECONDS: Final = re.compile(r":[0-9]{2}:[0-9]{2}")


def has_name(value: Mapping[str, Any]) -> bool:
    """Returns whether a line has an id, or the second at which it was written: a day or a minute has many lines."""
    meta = value.get("_meta")
    known = meta if isinstance(meta, dict) else {}
    times = value.get("ts"), known.get("created_at")
    return bool(value.get("call_id") or known.get("id")) or any(map(_is_second, times))


def _is_second(time: Any) -> bool:
    if isinstance(time, str):
        return moment(time) > -inf and _SECONDS.search(time) is not None
    return isinstance(time, int | float) and time is not True and time > 0


def _is_named(line: _AppendedLine) -> bool:
    return line.is_named


# Appended paragraphs


class _TextBlock(NamedTuple):
    """A paragraph, heading, list or block of code: what stands between two blank lines."""

    lines: tuple[bytes, ...]
    level: int  # of the heading that it starts with, else 0


_Path = tuple[tuple[_TextBlock, int], ...]


class _AddedSection(NamedTuple):
    """A section that a side added, without its subsections."""

    path: _Path  # its heading after those above it, each with the number of equal ones before it
    heading: tuple[_TextBlock, ...]  # none before the first heading
    text: Sequence[_TextBlock]

    @property
    def level(self) -> int:
        return self.heading[0].level if self.heading else 0


class _Blocks(NamedTuple):
    """Blocks, and the numbers of blank lines before the first and after the last."""

    blocks: list[_TextBlock]
    before: int
    after: int


class AppendedParagraphs:
    """Joins the paragraphs that both sides added at the same place, and those that one added to what the other changed.

    Text in a section stays in its section: it goes before the sections that the other side added.
    """

    def __init__(self, base: Sequence[bytes], ours: SliceFile, theirs: SliceFile) -> None:
        self._base = base
        self._moments = moment(ours.updated_at), moment(theirs.updated_at)
        self._is_markdown = ours.body_type == "markdown"
        self._closed = self._numbers_in_blocks(base)

    def __call__(self, hunk: Hunk) -> list[bytes] | None:
        if {hunk.start, hunk.start + 1} <= self._closed:
            return None  # inside of a block of code
        if not any(map(bytes.strip, hunk.base)):
            is_whole = self._is_whole(hunk, hunk.ours) and self._is_whole(hunk, hunk.theirs)
            return self._both(hunk.ours, hunk.theirs) if is_whole else None
        sides = ((hunk.ours, hunk.theirs), (hunk.theirs, hunk.ours))
        return next((found for sides in sides if (found := self._beside(hunk, *sides)) is not None), None)

    def _beside(self, hunk: Hunk, side: Sequence[bytes], other: Sequence[bytes]) -> list[bytes] | None:
        """Joins what one side added before or after lines with the other side's change of these lines."""
        size = len(hunk.base)
        added, above = side[size:] if side[:size] == hunk.base else (), other or _line_above(self._base, hunk)
        if added and not _touch(hunk.base, added) and self._ends_well(hunk, added):
            is_there = other[-len(added) :] == added and self._is_one_change(hunk, other[: -len(added)])
            return [*other] if is_there else [*other, *_below(above, added)]
        added = side[:-size] if side[-size:] == hunk.base else ()
        below = other or _line_below(self._base, hunk)
        if added and not _touch(added, hunk.base) and self._starts_well(hunk, added):
            is_there = other[: len(added)] == added and self._is_one_change(hunk, other[len(added) :])
            return [*other] if is_there else [*added, *([b""] if _touch(added, below) else []), *other]
        return None

    def _is_one_change(self, hunk: Hunk, lines: Sequence[bytes]) -> bool:
        """Returns whether lines are those of the base as a side changed them, and no paragraph more."""
        return len(self._blocks(lines).blocks) <= len(self._blocks(hunk.base).blocks)

    def _is_whole(self, hunk: Hunk, added: Sequence[bytes]) -> bool:
        """Returns whether blank lines, or the ends of the text, separate what was added from everything else."""
        return self._starts_well(hunk, added) and self._ends_well(hunk, added)

    def _starts_well(self, hunk: Hunk, added: Sequence[bytes]) -> bool:
        return not _touch(_line_above(self._base, hunk), added)

    def _ends_well(self, hunk: Hunk, added: Sequence[bytes]) -> bool:
        return not _touch(added, _line_below(self._base, hunk))

    def _both(self, ours: Sequence[bytes], theirs: Sequence[bytes]) -> list[bytes] | None:
        one, other = self._blocks(ours), self._blocks(theirs)
        blocks = self._sections(one.blocks, other.blocks)
        if blocks is None:
            return None
        lines: list[bytes] = [b""] * max(one.before, other.before)
        for number, block in enumerate(blocks):
            lines += (*([b""] if number else []), *block.lines)
        return lines + [b""] * max(one.after, other.after)

    def _sections(self, one: Sequence[_TextBlock], other: Sequence[_TextBlock]) -> list[_TextBlock] | None:
        """Returns the blocks of both. A section that both added, under the same headings, becomes one.

        Returns None if both added the same sections or paragraphs in another order.
        """
        ours, theirs = _added_sections(one), _added_sections(other)
        parts = equal_parts([section.path for section in ours], [section.path for section in theirs])
        same = {section.path for section in ours} & {section.path for section in theirs}
        if sum(part.length for part in parts) < len(same):
            return None
        joined: list[_TextBlock] = []
        at = place = 0
        for part in (*parts, EqualPart(len(ours), len(theirs), 0)):
            joined += self._apart(ours[at : part.one], theirs[place : part.other])
            at, place = part.one + part.length, part.other + part.length
            for mine, yours in zip(ours[part.one : at], theirs[part.other : place], strict=True):
                text = _joined(mine.text, yours.text, self._in_order)
                if text is None:
                    return None
                joined += (*mine.heading, *text)
        return joined

    def _apart(self, one: Sequence[_AddedSection], other: Sequence[_AddedSection]) -> Iterator[_TextBlock]:
        """Yields the blocks of sections that only one side has. Deeper ones go first: they belong to what is above."""
        groups = [group for side in self._sides(one, other) for group in _rising(side)]
        for group in sorted(groups, key=lambda group: -group[0].level):
            for section in group:
                yield from (*section.heading, *section.text)

    def _in_order(self, one: Sequence[_TextBlock], other: Sequence[_TextBlock]) -> list[_TextBlock]:
        return [block for blocks in self._sides(one, other) for block in blocks]

    def _sides(self, one: Sequence[_Item], other: Sequence[_Item]) -> list[Sequence[_Item]]:
        """Returns both parts, the one of the side that changed first before the other."""
        return [blocks for _, blocks in sorted(((self._moments[0], one), (self._moments[1], other)))]

    def _blocks(self, lines: Sequence[bytes]) -> _Blocks:
        blocks: list[_TextBlock] = []
        closed, levels = self._numbers_in_blocks(lines), self._levels(lines)
        filled = [bool(line.strip()) or number in closed for number, line in enumerate(lines, 1)]
        start = None
        for at, is_filled in enumerate([*filled, False]):
            if is_filled and start is None:
                start = at
            elif start is not None and not is_filled:
                blocks.append(_TextBlock(tuple(lines[start:at]), levels.get(start + 1, 0)))
                start = None
        if not blocks:
            return _Blocks([], len(lines), 0)
        return _Blocks(blocks, filled.index(True), filled[::-1].index(True))

    def _levels(self, lines: Sequence[bytes]) -> dict[int, int]:
        if not self._is_markdown:
            return {}
        return {heading.line: heading.level for heading in headings(_text(lines))}

    def _numbers_in_blocks(self, lines: Sequence[bytes]) -> set[int]:
        return lines_of_blocks(_text(lines)) if self._is_markdown else set()


def _added_sections(blocks: Sequence[_TextBlock]) -> list[_AddedSection]:
    """Returns the sections of what a side added. The first is the text before the first heading."""
    starts = [at for at, block in enumerate(blocks) if block.level]
    found = [_AddedSection((), (), blocks[: starts[0] if starts else len(blocks)])]
    above: list[tuple[_TextBlock, int]] = []
    counts: dict[_Path, int] = {}
    for start, end in zip(starts, [*starts[1:], len(blocks)], strict=False):
        heading = blocks[start]
        while above and above[-1][0].level >= heading.level:
            above.pop()
        plain = (*above, (heading, 0))
        counts[plain] = counts.get(plain, -1) + 1
        above.append((heading, counts[plain]))
        found.append(_AddedSection(tuple(above), (heading,), blocks[start + 1 : end]))
    return found


def _rising(added: Sequence[_AddedSection]) -> list[list[_AddedSection]]:
    """Divides sections before each that is higher than all before it."""
    found: list[list[_AddedSection]] = []
    for section in added:
        if not found or section.level < found[-1][0].level:
            found.append([])
        found[-1].append(section)
    return found


def _text(lines: Sequence[bytes]) -> str:
    return b"\n".join(lines).decode("utf-8", "surrogateescape")


# Sections of a page that is not only appended to


class AddedSections:
    """Joins sections that one side added with what the other side left of the lines before them."""

    def __init__(self, base: Sequence[bytes]) -> None:
        self._base = base

    def __call__(self, hunk: Hunk) -> list[bytes] | None:
        sides = ((hunk.ours, hunk.theirs), (hunk.theirs, hunk.ours))
        return next((found for sides in sides if (found := self._after(hunk, *sides)) is not None), None)

    def _after(self, hunk: Hunk, side: Sequence[bytes], other: Sequence[bytes]) -> list[bytes] | None:
        size, rest = len(hunk.base), iter(hunk.base)
        if side[:size] != hunk.base or not all(line in rest for line in other):
            return None  # the other side did not only remove lines
        start = next((at for at, line in enumerate(side) if at >= size and line.strip()), len(side))
        added = side[start:]
        is_section = next((heading.line for heading in headings(_text(added))), None) == 1
        if not is_section or _touch(side[:start], added) or _touch(added, _line_below(self._base, hunk)):
            return None
        return [*other, *_below(other or _line_above(self._base, hunk), added)]


# Blank lines


def _touch(above: Sequence[bytes], below: Sequence[bytes]) -> bool:
    """Returns whether no blank line separates two texts."""
    return bool(above and below and above[-1].strip() and below[0].strip())


def _below(above: Sequence[bytes], added: Sequence[bytes]) -> list[bytes]:
    """Returns what is added below a text: after a blank line. At the start of a page there is none."""
    if not above:
        return [*dropwhile(lambda line: not line.strip(), added)]
    return [*([b""] if _touch(above, added) else []), *added]


def _line_above(base: Sequence[bytes], hunk: Hunk) -> Sequence[bytes]:
    return base[max(0, hunk.start - 1) : hunk.start]


def _line_below(base: Sequence[bytes], hunk: Hunk) -> Sequence[bytes]:
    return base[hunk.end : hunk.end + 1]
