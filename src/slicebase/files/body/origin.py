"""Where the content of an archive was in its file, as `slice.taken_from` states it (rulings 24 and 32).

`2@01K… 812+130 next:3fa2c1` says: the file had two archives, the last of which was 01K…; 130 bytes moved away from
before byte 812 of the body that stayed; and the next line had this mark. By the mark the place is found again after
somebody has written above it. `after:` stands for the line before it: the heading under which it was, or the last line.
`next:3fa2c1/2:3` is the second of three lines that are equal. Which of them it is, when there are more or fewer, say
the headings above it and the line on its other side: their marks follow as `under:` and `by:`. `repeated:50`, before
all that, says that 50 more bytes were at the start of the content, and were removed since another archive has them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeGuard

from slicebase.core.hashing import raw_digest
from slicebase.files.slice_file import SliceFile


class Place(NamedTuple):
    """Where content was that has moved: before this byte of the body that stays, and how many bytes."""

    at: int
    size: int


START: Final = (Place(0, 0),)


class ArchivesBefore(NamedTuple):
    """How many archives a file had when content moved to the next one, and the last of them."""

    number: int = 0
    last: str | None = None


class Anchor(NamedTuple):
    """A line beside which content was: `next` if it follows, `after` if it comes before. The mark is of its text."""

    side: str
    mark: str
    number: int = 1  # of equal lines, counted from the start
    under: str = ""  # the mark of the headings above the line
    by: str = ""  # the mark of the line on its other side
    total: int = 1  # of equal lines

    def __str__(self) -> str:
        words = [f"{self.side}:{self.mark}" + (f"/{self.number}:{self.total}" if self.total > 1 else "")]
        words += [f"under:{self.under}"] if self.under else []
        return " ".join((*words, *([f"by:{self.by}"] if self.by else [])))


class Origin(NamedTuple):
    """What an archive says about the place of its content."""

    places: tuple[Place, ...] = START  # several only for rows
    anchor: Anchor | None = None
    before: ArchivesBefore = ArchivesBefore()
    removed: int = 0  # bytes at the start of its content that another archive has, too

    @property
    def at(self) -> int:
        return self.places[0].at

    def __str__(self) -> str:
        words = [f"repeated:{self.removed}"] if self.removed else []
        words += [f"{self.before.number}@{self.before.last}"] if self.before.number > 0 else []
        words += [f"{at}+{size}" for at, size in self.places]
        return " ".join((*words, *([str(self.anchor)] if self.anchor else [])))

    def without_start(self, removed: int, left: int) -> "Origin":
        """Returns where the rest of a content was, from whose start so many bytes are removed."""
        return self._replace(places=(Place(self.at, left),), removed=self.removed + removed)


_REPEATED: Final = re.compile(r"repeated:([0-9]{1,15})", re.ASCII)
_PLACE: Final = re.compile(r"([0-9]{1,15})\+([0-9]{1,15})", re.ASCII)
_BEFORE: Final = re.compile(r"([0-9]{1,15})@(.+)", re.ASCII)
_ANCHOR: Final = re.compile(
    r" (next|after):([0-9a-f]{6})(?:/([0-9]{1,9})(?::([0-9]{1,9}))?)?(?: under:([0-9a-f]{6}))?(?: by:([0-9a-f]{6}))?$",
    re.ASCII,
)


def origin_of(part: SliceFile) -> Origin:
    """Returns where the content of an archive was. Without a readable statement, that is the start of its file."""
    text = " ".join((part.taken_from or "").split())
    anchor = _ANCHOR.search(text)
    words = text[: anchor.start() if anchor else None].split()
    repeated = _REPEATED.fullmatch(words[0]) if words else None
    words = words[bool(repeated) :]
    before = _BEFORE.fullmatch(words[0]) if words else None
    stated = [_PLACE.fullmatch(word) for word in words[bool(before) :]]
    places = [Place(int(word[1]), int(word[2])) for word in stated if word]
    known = ArchivesBefore(int(before[1]), before[2]) if before else ArchivesBefore()
    return Origin(
        tuple(sorted(places)) if places and all(stated) else START,
        Anchor(anchor[1], anchor[2], int(anchor[3] or 1), anchor[5] or "", anchor[6] or "", int(anchor[4] or 1))
        if anchor
        else None,
        known,
        int(repeated[1]) if repeated else 0,
    )


# Places by the lines beside them


def anchor_at(body: bytes, at: int, *, below: bool) -> Anchor | None:
    """Returns the line by which a place is found again: the next one, or else the one before it; None without any.

    `below` prefers the one before it, a heading under which the place stays, whatever is added there.
    """
    found = (_beside(side, body[:at], body[at:]) for side in (("after", "next") if below else ("next", "after")))
    anchor = next((anchor for anchor in found if anchor), None)
    if anchor is None:
        return None
    places = [place for place, _ in _alike(body, anchor)]
    return anchor._replace(number=sum(place <= at for place in places), total=len(places))


def is_beside(anchor: Anchor, before: bytes, after: bytes) -> bool:
    """Returns whether a line is beside the place between two texts, as it was, with the same lines around it."""
    found = _beside(anchor.side, before, after)
    return found is not None and found._replace(number=anchor.number, total=anchor.total) == anchor


def anchored(body: bytes, anchor: Anchor, at: int) -> int | None:
    """Returns the place beside a line, None if it is not there.

    Of equal lines it is one under the same headings, and of these the one with the same number, as long as there are as
    many. Else it is one beside the same line, and then their number counts; if some have gone, it is the nearest.
    """
    found = [*enumerate(_alike(body, anchor), 1)]
    is_counted = len(found) >= anchor.number

    def difference(spot: tuple[int, tuple[int, Anchor]]) -> tuple[bool, bool, bool, int, int]:
        number, (place, line) = spot
        moved = abs(number - anchor.number) if is_counted else 0
        is_same = len(found) == anchor.total and number == anchor.number
        return line.under != anchor.under, not is_same, line.by != anchor.by, moved, abs(place - at)

    return min(found, key=difference)[1][0] if found else None


def _beside(side: str, before: bytes, after: bytes) -> Anchor | None:
    """Returns the line at one side of the place between two texts, None if there is none."""
    if side == "next":
        above, (line, _, below) = before, after.partition(b"\n")
        other = below.lstrip().partition(b"\n")[0]
    else:
        above, _, line = before.rstrip().rpartition(b"\n")
        other = above.rstrip().rpartition(b"\n")[2]
    headings: list[bytes] = []
    for heading in (*_HEADING.findall(above), line):
        headings = [each for each in headings if _level(each) < _level(heading)]
        headings.append(heading)
    return Anchor(side, mark_of(line), 1, _mark_of_all(headings[:-1]), mark_of(other)) if line.strip() else None


def _alike(body: bytes, anchor: Anchor) -> Iterator[tuple[int, Anchor]]:
    """Yields the places beside every line with the mark of an anchor, each with its own headings and other line."""
    lines = [line for line in _LINE.finditer(body) if line[0].strip()]
    headings: list[bytes] = []
    for number, line in enumerate(lines):
        text, level = line[0], _level(line[0])
        if level < _NO_HEADING:
            headings = [each for each in headings if _level(each) < level]
        if mark_of(text) == anchor.mark:
            other = number + 1 if anchor.side == "next" else number - 1
            by = mark_of(lines[other][0]) if 0 <= other < len(lines) else ""
            place = line.start() if anchor.side == "next" else line.end()
            yield place, Anchor(anchor.side, anchor.mark, 1, _mark_of_all(headings), by)
        if level < _NO_HEADING:
            headings.append(text)


_LINE: Final = re.compile(rb"[^\n]*\n|[^\n]+")
_HEADING: Final = re.compile(rb"^ {0,3}#{1,6}(?![^ \t\r\n]).*", re.MULTILINE)
_NO_HEADING: Final = 7


def _level(line: bytes) -> int:
    """Returns the level of a heading that begins with number signs, 7 for any other line.

    Nobody parses Markdown for it: a comment in code counts as well, each time.
    """
    text = line.lstrip(b" ")
    return len(text) - len(text.lstrip(b"#")) if _HEADING.match(line) else _NO_HEADING


def _mark_of_all(lines: Sequence[bytes]) -> str:
    return mark_of(b"\n".join(map(bytes.strip, lines)))


# Sums of marks: they say which lines moved to archives, and not in which order

_MARKS: Final = 1 << 24


def marks_in(lines: Iterable[bytes]) -> str:
    """Returns the sum of the marks of lines."""
    return f"{sum(int(mark_of(line) or '0', 16) for line in lines) % _MARKS:06x}"


def add_marks(*sums: object, subtract: object = None) -> str:
    """Returns the sum of sums of marks. What is none counts as nothing."""
    return f"{(sum(map(_number, sums)) - _number(subtract)) % _MARKS:06x}"


def is_sum(total: object) -> TypeGuard[str]:
    return isinstance(total, str) and _SUM.fullmatch(total) is not None


def _number(total: object) -> int:
    return int(total, 16) if is_sum(total) else 0


_SUM: Final = re.compile(r"[0-9a-f]{6}", re.ASCII)


def mark_of(line: bytes) -> str:
    """Returns by what a line is found again: a few digits, too few to guess it from. A blank line has none."""
    return raw_digest(line.strip())[:3].hex() if line.strip() else ""
