"""Where the content of an archive was in its file, as `slice.taken_from` states it (rulings 24 and 32).

`2@01K… 812+130 next:3fa2c1` says: the file had two archives, the last of which was 01K…; 130 bytes moved away from
before byte 812 of the body that stayed; and the next line had this mark. By the mark the place is found again after
somebody has written above it. `after:` stands for the line before it: the heading under which it was, or the last line.
`next:3fa2c1/2` is the second of the lines that are equal.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

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

    def __str__(self) -> str:
        return f"{self.side}:{self.mark}" + (f"/{self.number}" if self.number > 1 else "")


class Origin(NamedTuple):
    """What an archive says about the place of its content."""

    places: tuple[Place, ...] = START  # several only for rows
    anchor: Anchor | None = None
    before: ArchivesBefore = ArchivesBefore()
    is_repeated: bool = False  # something was removed from it that another archive has, too

    @property
    def at(self) -> int:
        return self.places[0].at

    def __str__(self) -> str:
        words = [_REPEATED] if self.is_repeated else []
        words += [f"{self.before.number}@{self.before.last}"] if self.before.number > 0 else []
        words += [f"{at}+{size}" for at, size in self.places]
        return " ".join((*words, *([str(self.anchor)] if self.anchor else [])))

    def without_start(self, left: int) -> "Origin":
        """Returns where the rest of a content was, of which so many bytes are left."""
        return Origin((Place(self.at, left),), self.anchor, is_repeated=True)


_REPEATED: Final = "repeated"
_PLACE: Final = re.compile(r"([0-9]{1,15})\+([0-9]{1,15})", re.ASCII)
_BEFORE: Final = re.compile(r"([0-9]{1,15})@(.+)", re.ASCII)
_ANCHOR: Final = re.compile(r"(next|after):([0-9a-f]{6})(?:/([0-9]{1,9}))?", re.ASCII)


def origin_of(part: SliceFile) -> Origin:
    """Returns where the content of an archive was. Without a readable statement, that is the start of its file."""
    words = (part.taken_from or "").split()
    is_repeated = words[:1] == [_REPEATED]
    before = _BEFORE.fullmatch(words[0]) if words else None
    anchor = _ANCHOR.fullmatch(words[-1]) if words else None
    stated = [_PLACE.fullmatch(word) for word in words[bool(before or is_repeated) : len(words) - bool(anchor)]]
    places = [Place(int(word[1]), int(word[2])) for word in stated if word]
    known = ArchivesBefore(int(before[1]), before[2]) if before else ArchivesBefore()
    return Origin(
        tuple(sorted(places)) if places and all(stated) else START,
        Anchor(anchor[1], anchor[2], int(anchor[3] or 1)) if anchor else None,
        ArchivesBefore(-1, part.id) if is_repeated else known,  # it is not known what came before what is left
        is_repeated,
    )


# Places by the lines beside them


def anchor_at(body: bytes, at: int, *, below: bool) -> Anchor | None:
    """Returns the line by which a place is found again: the next one, or else the one before it; None without any.

    `below` prefers the one before it, a heading under which the place stays, whatever is added there.
    """
    marks = {"next": mark_of(_first_line(body[at:])), "after": mark_of(_last_line(body[:at]))}
    side = next((side for side in (("after", "next") if below else ("next", "after")) if marks[side]), None)
    if side is None:
        return None
    anchor = Anchor(side, marks[side])
    return anchor._replace(number=sum(place <= at for place in _places(body, anchor)))


def is_beside(anchor: Anchor, before: bytes, after: bytes) -> bool:
    """Returns whether a line is beside the place between two texts."""
    line = _first_line(after) if anchor.side == "next" else _last_line(before)
    return mark_of(line) == anchor.mark


def anchored(body: bytes, anchor: Anchor, at: int) -> int | None:
    """Returns the place beside a line, None if it is not there. If some equal ones have gone, it is the nearest."""
    found = list(_places(body, anchor))
    if len(found) >= anchor.number:
        return found[anchor.number - 1]
    return min(found, key=lambda place: abs(place - at), default=None)


def _places(body: bytes, anchor: Anchor) -> Iterator[int]:
    """Yields the places beside every line with the mark of an anchor."""
    start = 0
    for line in body.split(b"\n"):
        end = min(start + len(line) + 1, len(body))
        if mark_of(line) == anchor.mark:
            yield start if anchor.side == "next" else end
        start = end


def mark_of(line: bytes) -> str:
    """Returns by what a line is found again: a few digits, too few to guess it from. A blank line has none."""
    return raw_digest(line.strip())[:3].hex() if line.strip() else ""


def _first_line(text: bytes) -> bytes:
    return text.partition(b"\n")[0]


def _last_line(text: bytes) -> bytes:
    return text.rstrip().rpartition(b"\n")[2]
