"""The page of a narrative: lists that are filled while there is room, and texts of the log as inert Markdown.

Text from the log is data in it: it is put on one line or quoted, so that it cannot become a heading, a list item or a
link. All sizes are in bytes, so that a page never has more tokens than it may (ruling 6).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from slicebase.runs.records import Pointer, Snapshot

_SMALL = 700  # tokens, below which a narrative has only what is needed to go on
_BYTES = 3  # of a token
_LEAST_LINE = 40
_MOST_POINTERS = 3
_SHORT_TURN = len("turn:") + 8
_TURN = re.compile(r"turn:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LAST_REFERENCE = re.compile(r" \([^()]*turn:[^()]*\)\Z")

Lines = Iterator[str]


class Listing:
    """Items of one sort, the most needed first, each as its lines."""

    def __init__(
        self, names: tuple[str, str], entries: Iterable[Iterable[str]], share: float, need: int, title: str = ""
    ) -> None:
        self.names = names
        self.need = need  # its place among the lists that get what is left of the room
        self.entries = [list(lines) for lines in entries]
        self.share = share  # of the size, before what is left is divided again
        self.title = [f"### {title}"] if title else []
        self.taken = 0
        self.used = 0

    def cost(self) -> int:
        """Returns the bytes of the next item."""
        return size_of(self.entries[self.taken]) + (0 if self.taken else size_of(self.title))

    def take(self) -> None:
        self.used += self.cost()
        self.taken += 1

    def left(self) -> str:
        count = len(self.entries) - self.taken
        return f"{count} {self.names[count != 1]}" if count else ""

    def lines(self) -> Lines:
        if self.taken:
            yield from (line for lines in (self.title, *self.entries[: self.taken]) for line in lines)


class Page:
    """A narrative that is being filled."""

    def __init__(self, snapshot: Snapshot, size: int, sections: Mapping[str, "Callable[[Page], Section]"]) -> None:
        self.snapshot = snapshot
        self.room = size * _BYTES
        self.line = max(80, min(400, self.room // 12))  # bytes of one line
        self.is_small = size < _SMALL
        self.turns = _short_turns(snapshot.state.source_coverage.chunk_ids_seen)
        self.more = f"`tt run snapshot {snapshot.snapshot_id[:11]}`"
        self.sections = {heading: section(self) for heading, section in sections.items()}

    def fill(self) -> None:
        """Takes items while there is room: of each sort some, then in the order of need."""
        room = self.room - size_of(self._lines())
        listings = [each for _, listings in self.sections.values() for each in listings]
        listings.sort(key=lambda each: each.need)
        for is_shared in (True, False):
            for listing in listings:
                while listing.taken < len(listing.entries):
                    cost = listing.cost()
                    if cost > room or (is_shared and listing.taken and listing.used + cost > listing.share * self.room):
                        break
                    listing.take()
                    room -= cost

    def text(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Lines:
        yield self.short(f"# Run {inline(self.snapshot.run_id)}, snapshot {self.snapshot.sequence}")
        for heading, (fixed, listings) in self.sections.items():
            left = ", ".join(said for each in listings if (said := each.left()))
            lines = [*fixed, *(line for each in listings for line in each.lines())]
            lines += [f"- Left out: {left}: {self.more}"] if left else []
            if lines or not self.is_small:
                yield from ("", f"## {heading}", "", *(lines or ["None."]))

    # Texts

    def short(self, text: str, share: float = 1.0) -> str:
        """Returns a text that is cut to the length of a line, without the reference at its end."""
        return clipped(text, int(self.line * share))

    def words(self, text: str, share: float = 1.0) -> str:
        """Returns words of the log on one line, with short references; one at the end stays if the words are cut."""
        line = _TURN.sub(lambda match: self.turns.get(match[0], match[0]), inline(text))
        end = _LAST_REFERENCE.search(line)
        mark = end[0] if end else ""
        return self.short(line[: len(line) - len(mark)], share) + mark

    def quoted(self, text: str, share: float) -> list[str]:
        """Returns a text as a quotation of at most so much of the narrative."""
        lines: list[str] = []
        room = int(self.room * share)
        for line in text.splitlines():
            lines.append(f"> {clipped(inert(line), room)}".rstrip())
            room -= size_of(lines[-1:])
            if room < _LEAST_LINE:
                lines.append(f"> … ({len(text)} characters: {self.more})")
                break
        return lines

    def pointers(self, pointers: Sequence[Pointer], label: str) -> Lines:
        for pointer in pointers[:_MOST_POINTERS]:
            span = pointer.span
            place = f"{code(clipped(pointer.chunk_id, 200))} {span.start}–{span.end}"
            yield f"  - {label}: {code(clipped(pointer.evidence_id, 80))} {place}"
        if len(pointers) > _MOST_POINTERS:
            yield f"  - {label}: {len(pointers) - _MOST_POINTERS} more: {self.more}"

    def at(self, pointers: Sequence[Pointer]) -> str:
        """Returns where the words of a claim are, in short."""
        chunk = pointers[0].chunk_id if pointers else ""
        return f" · {self.turns.get(chunk) or code(clipped(chunk, 80))}" if chunk else ""


Section = tuple[list[str], list[Listing]]  # lines that are always there, and lists


def _short_turns(chunk_ids: Iterable[str]) -> dict[str, str]:
    """Returns the shortest unambiguous form of each turn that the run has seen, of at least eight digits."""
    turns = sorted({each for each in chunk_ids if _TURN.fullmatch(each)})
    found = {}
    for number, each in enumerate(turns):
        beside = (*turns[max(0, number - 1) : number], *turns[number + 1 : number + 2])
        length = max((len(commonprefix((each, other))) + 1 for other in beside), default=0)
        found[each] = each[: max(_SHORT_TURN, length)].rstrip("-")
    return found


def commonprefix(texts: tuple[str, str]) -> str:
    """Returns what two texts begin with."""
    one, other = texts
    length = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(map(len, texts)))
    return one[:length]


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
