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
_MOST_PLACES: Final = 8  # places that are tried for a window that the texts contain more often


class Stretch(NamedTuple):
    """A passage in the searched bytes: where it begins and ends."""

    start: int
    end: int


class PassageIndex:
    """The passages of some texts, to be found in other bytes."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._texts = [text for text in texts if len(text) >= PASSAGE]
        # A place is the number of a text and an offset in it, in one integer: it takes half the memory of a pair.
        self._first: dict[bytes, int] = {}
        self._others: dict[bytes, list[int]] = {}  # of windows that stand in more than one place
        for number, text in enumerate(self._texts):
            for at in range(0, len(text) - _WINDOW + 1, _INDEXED):
                window, place = text[at : at + _WINDOW], number << _OFFSET_BITS | at
                if self._first.setdefault(window, place) != place:
                    others = self._others.setdefault(window, [])
                    if len(others) < _MOST_PLACES:
                        others.append(place)

    def __bool__(self) -> bool:
        return bool(self._texts)

    def found_in(self, data: bytes) -> Iterator[Stretch]:
        """Yields the passages that the bytes have in common with the texts. They can overlap."""
        ends: dict[tuple[int, int], int] = {}  # where a passage ends, by its text and by how far it is shifted there
        for at, number, offset in self._common(data):
            if at < ends.get((number, offset - at), 0):
                continue  # a part of a passage that was found before
            found = self._extended(data, at, number, offset)
            ends[number, offset - at] = found.end
            if found.end - found.start >= PASSAGE:
                yield found

    def whole_in(self, data: bytes) -> set[bytes]:
        """Returns the texts that the bytes contain completely."""
        windows = {data[at : at + _WINDOW] for at in range(0, len(data) - _WINDOW + 1, _LOOKED_UP)}
        common = windows & self._first.keys()
        if any(len(self._others.get(window, ())) == _MOST_PLACES for window in common):
            numbers = set(range(len(self._texts)))  # not every place of these windows is known
        else:
            numbers = {number for window in common for number, _ in self._places(window)}
        return {self._texts[number] for number in numbers if self._texts[number] in data}

    def _common(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        """Yields the places at which a window of the bytes and one of a text are equal."""
        for at in range(0, len(data) - _WINDOW + 1, _LOOKED_UP):
            window = data[at : at + _WINDOW]
            if window in self._first:
                for number, offset in self._places(window):
                    yield at, number, offset

    def _places(self, window: bytes) -> Iterator[tuple[int, int]]:
        for place in (self._first[window], *self._others.get(window, ())):
            yield place >> _OFFSET_BITS, place & _OFFSETS

    def _extended(self, data: bytes, at: int, number: int, offset: int) -> Stretch:
        text = self._texts[number]
        start, end = 0, _WINDOW
        while start < min(at, offset) and data[at - start - 1] == text[offset - start - 1]:
            start += 1
        rest = min(len(data) - at, len(text) - offset)
        while end < rest and data[at + end] == text[offset + end]:
            end += 1
        return Stretch(at - start, at + end)


def written_forms(text: str) -> set[bytes]:
    """Returns the bytes of a text as files contain it: plain, and inside JSON, with and without other alphabets."""
    plain = text.encode("utf-8", "surrogatepass")
    quoted = encode_basestring(text)[1:-1].encode("utf-8", "surrogatepass")
    return {plain, quoted, encode_basestring_ascii(text)[1:-1].encode()}
