"""Passages that some bytes have in common with a set of texts: exact, and fast enough for all files of a workspace.

Every seventh window of 12 bytes of the texts is indexed, and every third window of the searched bytes is looked up. A
passage of 32 bytes has 21 windows, and since 7 and 3 have no common divisor, one of these is both indexed and looked
up. It is extended in both directions. An index takes some twenty times the memory of its texts.
"""

from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Final, NamedTuple

PASSAGE: Final = 32  # bytes: what is shorter says too little
_INDEXED: Final = 7
_LOOKED_UP: Final = 3
_WINDOW: Final = PASSAGE + 1 - _INDEXED * _LOOKED_UP
_OFFSET_BITS: Final = 40
_OFFSETS: Final = (1 << _OFFSET_BITS) - 1
_BLOCK: Final = 64  # bytes that are compared at once
_MOST_PLACES: Final = 8  # places that are tried for a window that the texts contain more often


class Stretch(NamedTuple):
    """A passage in the searched bytes: where it begins and ends, and in which text it begins where."""

    start: int
    end: int
    number: int
    offset: int


class PassageIndex:
    """The passages of some texts, to be found in other bytes."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        self.texts = [text for text in texts if len(text) >= PASSAGE]
        # A place is the number of a text and an offset in it, in one integer: it takes half the memory of a pair.
        self._first: dict[bytes, int] = {}
        self._others: dict[bytes, list[int]] = {}  # of windows that stand in more than one place
        for number, text in enumerate(self.texts):
            for at in range(0, len(text) - _WINDOW + 1, _INDEXED):
                window, place = text[at : at + _WINDOW], number << _OFFSET_BITS | at
                if self._first.setdefault(window, place) != place:
                    others = self._others.setdefault(window, [])
                    if len(others) < _MOST_PLACES:
                        others.append(place)

    def __bool__(self) -> bool:
        return bool(self.texts)

    def found_in(self, data: bytes) -> Iterator[Stretch]:
        """Yields passages that the bytes have in common with the texts, and that together cover all of them.

        What lies well inside of a passage that was found is not looked up again: a passage that reaches beyond its end
        has a window among the last ones. So the time is linear, also for texts that repeat themselves.
        """
        at = 0
        last = len(data) - _WINDOW
        while at <= last:
            end = 0
            for number, offset in self._places(data[at : at + _WINDOW]):
                found = self._extended(data, at, number, offset)
                if found.end - found.start >= PASSAGE:
                    end = max(end, found.end)
                    yield found
            inside = end - PASSAGE - _WINDOW - at
            at += max(_LOOKED_UP, inside - inside % _LOOKED_UP)

    def _places(self, window: bytes) -> Iterator[tuple[int, int]]:
        first = self._first.get(window)
        if first is not None:
            for place in (first, *self._others.get(window, ())):
                yield place >> _OFFSET_BITS, place & _OFFSETS

    def _extended(self, data: bytes, at: int, number: int, offset: int) -> Stretch:
        text = self.texts[number]
        end = _WINDOW + _common_start(data, at + _WINDOW, text, offset + _WINDOW)
        start = 0
        while start < min(at, offset) and data[at - start - 1] == text[offset - start - 1]:
            start += 1
        return Stretch(at - start, at + end, number, offset - start)


def _common_start(data: bytes, at: int, text: bytes, offset: int) -> int:
    """Returns how many bytes from these places on are the same."""
    same = 0
    while (block := data[at + same : at + same + _BLOCK]) and block == text[offset + same : offset + same + len(block)]:
        same += len(block)
    rest = min(len(data) - at, len(text) - offset)
    while same < rest and data[at + same] == text[offset + same]:
        same += 1
    return same


class Cover:
    """How much of some passages stands in surviving texts: a passage survives if each 32 bytes of it do."""

    def __init__(self, passages: Iterable[bytes]) -> None:
        self._index = PassageIndex(sorted(set(passages)))
        self._covered: list[list[tuple[int, int]]] = [[] for _ in self._index.texts]

    def __bool__(self) -> bool:
        return bool(self._index)

    def add(self, survivor: bytes) -> None:
        """Takes a surviving text into account."""
        for found in self._index.found_in(survivor):
            self._covered[found.number].append((found.offset, found.offset + found.end - found.start))

    def survivors(self) -> set[bytes]:
        """Returns the passages of which nothing stands only in what was purged."""
        return {
            text for text, covered in zip(self._index.texts, self._covered, strict=True) if _is_covered(text, covered)
        }


def _is_covered(text: bytes, covered: list[tuple[int, int]]) -> bool:
    """Returns whether every window of 32 bytes of a text lies in one of these places."""
    reached = 0  # up to here, every window begins inside of a place
    for start, end in sorted(covered):
        if start > reached:
            return False
        reached = max(reached, end - PASSAGE + 1)
    return reached > len(text) - PASSAGE


def written_forms(text: str) -> set[bytes]:
    """Returns the bytes of a text as files contain it: plain, and inside JSON, with and without other alphabets."""
    plain = text.encode("utf-8", "surrogatepass")
    quoted = encode_basestring(text)[1:-1].encode("utf-8", "surrogatepass")
    return {plain, quoted, encode_basestring_ascii(text)[1:-1].encode()}
