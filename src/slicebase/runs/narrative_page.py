"""The page of a narrative: lists that are filled while there is room, and texts of the log as inert Markdown.

Text from the log is data in it: it is put on one line or quoted, so that it cannot become a heading, a list item or a
link. All sizes are in bytes, so that a page never has more tokens than it may (ruling 6).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from slicebase.core.short_ids import short_ids
from slicebase.runs.records import Pointer, Snapshot

_SMALL = 900  # tokens, below which a narrative has only what is needed to go on
_BYTES = 3  # of a token
_LAST_SEEN = 6  # chunks: what was said there is what the work is about now
_MOST_POINTERS = 3
_TURN = re.compile(r"turn:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ENTRY = re.compile(r"\A(?:[-•*+]\s+)+")  # the mark of a list, which has another one here
_LAST_REFERENCE = re.compile(r" \([^()]{0,40}turn:[^()]{1,80}\)\Z")


class ItemSort(NamedTuple):
    """A sort of items: their names, their share of a narrative, the title of their list, and how many are shown."""

    one: str
    many: str
    share: float  # of the size, before what is left of it is divided again
    title: str = ""
    most: float = inf  # in 1,000 tokens
    is_needed: bool = False  # whether there is no narrative without the first of them


class ItemList:
    """Items of one sort, the most needed first, each as its lines, which are made when they are looked at."""

    def __init__(self, sort: ItemSort, need: int, size: int, entries: Iterable[Iterable[str]]) -> None:
        self.sort = sort
        self.need = need  # its place among the lists that get what is left of the room
        self.entries = list(entries)
        self.most = max(1, min(len(self.entries), sort.most * size / 1000))
        self.title = [f"### {sort.title}"] if sort.title else []
        self.taken = 0
        self.used = 0

    def titled(self, title: str) -> "ItemList":
        """Returns the list with another title."""
        self.title = [f"### {title}"]
        return self

    def may_take(self, room: int) -> bool:
        """Returns whether there is another item that is shown and fits."""
        return self.taken < min(self.most, len(self.entries)) and self.cost() <= room

    def is_over_its_share(self, size: int) -> bool:
        """Returns whether the next item is beyond the share of this sort; the first one never is."""
        return self.taken > 0 and self.used + self.cost() > self.sort.share * size

    def cost(self) -> int:
        """Returns the bytes of the next item."""
        self.entries[self.taken] = lines = list(self.entries[self.taken])
        return size_of(lines) + (0 if self.taken else size_of(self.title))

    def take(self) -> None:
        self.used += self.cost()
        self.taken += 1

    def left(self) -> str:
        count = len(self.entries) - self.taken
        return f"{count} {self.sort.one if count == 1 else self.sort.many}" if count else ""

    def lines(self) -> Iterator[str]:
        if self.taken:
            yield from (line for lines in (self.title, *self.entries[: self.taken]) for line in lines)


class NarrativePage:
    """A narrative that is being filled."""

    def __init__(
        self,
        snapshot: Snapshot,
        size: int,
        line: int,
        sections: Mapping[str, "Callable[[NarrativePage], NarrativeSection]"],
    ) -> None:
        self.snapshot = snapshot
        self.size = size
        self.room = size * _BYTES
        self.line = min(line, self.room // 12)
        self.is_small = size < _SMALL
        seen = snapshot.state.source_coverage.chunk_ids_seen
        self.turns = _short_turns(seen)
        self.places = {chunk: place for place, chunk in enumerate(seen)}
        self.last_seen = frozenset(seen[-_LAST_SEEN:])
        self.more = f"`tt run snapshot {snapshot.snapshot_id[:11]}`"
        self.sections = {heading: section(self) for heading, section in sections.items()}

    def filled(self) -> str:
        """Returns the text with all items that there is room for; nothing if what is needed does not fit.

        Items are taken of each sort up to its share, then in the order of need.
        """
        room = self.room - size_of(self._lines())
        headings = {id(each): heading for heading, (_, listings) in self.sections.items() for each in listings}
        listings = sorted((each for _, own in self.sections.values() for each in own), key=lambda each: each.need)
        for shared in (True, False):
            for each in listings:
                heading = self._missing(headings[id(each)])
                while each.may_take(room - heading) and not (shared and each.is_over_its_share(self.room)):
                    room -= each.cost() + heading
                    each.take()
                    heading = 0
        lacks = any(each.sort.is_needed and each.entries and not each.taken for each in listings)
        return "" if room < 0 or lacks else "\n".join(self._lines()) + "\n"

    def _missing(self, heading: str) -> int:
        """Returns the bytes of a heading that is not there yet, since a small narrative leaves out empty sections."""
        fixed, listings = self.sections[heading]
        is_there = not self.is_small or fixed or any(each.taken for each in listings)
        return 0 if is_there else size_of(("", f"## {heading}", ""))

    def _lines(self) -> Iterator[str]:
        yield self.short(f"# Run {inline(self.snapshot.run_id)}, snapshot {self.snapshot.sequence}")
        left: list[str] = []
        for heading, (fixed, listings) in self.sections.items():
            left += [said for each in listings if (said := each.left())]
            lines = [*fixed, *(line for each in listings for line in each.lines())]
            if left and not self.is_small:
                lines, left = [*lines, self._left_out(left)], []
            if lines or not self.is_small:
                yield from ("", f"## {heading}", "", *(lines or ["None."]))
        if left:
            yield from ("", self._left_out(left))

    def _left_out(self, left: Iterable[str]) -> str:
        return f"- Left out: {', '.join(left)}: {self.more}"

    # Texts

    def short(self, text: str, share: float = 1.0) -> str:
        """Returns a text that is cut to the length of a line, without the reference at its end."""
        return clipped(text, int(self.line * share))

    def name(self, text: str, most: int = 80) -> str:
        """Returns a name of the log."""
        return clipped(inline(text), min(most, self.line // 2))

    def words(self, text: str, share: float = 1.0) -> str:
        """Returns words of the log on one line, with short references; one at the end stays if the words are cut."""
        line = _TURN.sub(lambda match: self.turns.get(match[0], match[0]), _ENTRY.sub("", inline(text)))
        end = _LAST_REFERENCE.search(line)
        mark = end[0] if end else ""
        return self.short(line[: len(line) - len(mark)], share) + mark

    def quoted(self, text: str, share: float) -> list[str]:
        """Returns a text as a quotation of at most so much of the narrative."""
        lines: list[str] = []
        room = int(self.room * share)
        for line in map(inert, text.splitlines()):
            lines.append(f"> {clipped(line, room)}".rstrip())
            room -= size_of([line])
            if room < 0:
                return [*lines, f"> … ({len(text)} characters: {self.more})"]
        return lines

    def pointers(self, pointers: Sequence[Pointer], label: str) -> Iterator[str]:
        for pointer in pointers[:_MOST_POINTERS]:
            span = pointer.span
            place = f"{code(clipped(pointer.chunk_id, 200))} {span.start}–{span.end}"
            yield f"  - {label}: {code(clipped(pointer.evidence_id, 80))} {place}"
        if len(pointers) > _MOST_POINTERS:
            yield f"  - {label}: {len(pointers) - _MOST_POINTERS} more: {self.more}"

    def place(self, pointers: Sequence[Pointer]) -> int:
        """Returns the place of the last chunk that a claim cites among those that were seen."""
        return max((self.places.get(each.chunk_id, -1) for each in pointers), default=-1)

    def at(self, pointers: Sequence[Pointer]) -> str:
        """Returns where the words of a claim are, in short."""
        chunk = pointers[0].chunk_id if pointers else ""
        return f" · {self.turns.get(chunk) or code(self.name(chunk))}" if chunk else ""


NarrativeSection = tuple[list[str], list[ItemList]]  # lines that are always there, and lists


def _short_turns(chunk_ids: Iterable[str]) -> dict[str, str]:
    """Returns the short form of each turn that the run has seen."""
    turns = short_ids(each.removeprefix("turn:") for each in chunk_ids if _TURN.fullmatch(each))
    return {f"turn:{whole}": f"turn:{short}" for whole, short in turns.items()}


def size_of(lines: Iterable[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def clipped(text: str, size: int) -> str:
    """Returns a text that is cut to a number of bytes."""
    data = text.encode()
    return text if len(data) <= size else data[: max(0, size - 3)].decode(errors="ignore").rstrip() + "…"


_SPACE = re.compile(r"\s+")
_LIVE = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\(")  # the beginning of HTML, an autolink or a link target


def inert(text: str) -> str:
    return _LIVE.sub(r"\\\g<0>", text)


def inline(text: str) -> str:
    return inert(_SPACE.sub(" ", text).strip())


def code(text: str) -> str:
    inside = _SPACE.sub(" ", text).replace("`", "'")
    return f"`{inside}`"


def short_text(text: str, length: int) -> str:
    line = _SPACE.sub(" ", text).strip()
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"
