"""Passages of purged texts: every 32 bytes of them, to be found in other bytes, exactly and in linear time.

All windows of 32 bytes of the texts are kept as hashes, and texts that survive are forgotten window by window. Most
bytes have nothing in common with the texts: every seventh window of 12 bytes of the texts is kept, too, and every third
one of the searched bytes is looked up. A passage has 21 windows of 12 bytes, and since 7 and 3 have no common divisor,
one of these is found wherever the passage stands. Only around it are the windows of 32 bytes compared.
"""

from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Final, NamedTuple

PASSAGE: Final = 32  # bytes: what is shorter says too little
_KEPT: Final = 7
_LOOKED_UP: Final = 3
_SEED: Final = PASSAGE + 1 - _KEPT * _LOOKED_UP  # bytes of the windows that are looked up


class Stretch(NamedTuple):
    """Where a passage begins and ends in the searched bytes."""

    start: int
    end: int


class PassageWindows:
    """The passages of some texts that stand in no text that survives."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._seeds: set[bytes] = set()
        self._windows: set[int] = set()
        for text in texts:
            if len(text) >= PASSAGE:
                self._seeds.update(text[at : at + _SEED] for at in range(0, len(text) - _SEED + 1, _KEPT))
                self._windows.update(hash(text[at : at + PASSAGE]) for at in range(len(text) - PASSAGE + 1))

    def __bool__(self) -> bool:
        return bool(self._windows)

    def copy(self) -> "PassageWindows":
        """Returns the same passages, from which others can be left out."""
        same = PassageWindows(())
        same._seeds, same._windows = self._seeds, set(self._windows)
        return same

    def forget(self, survivor: bytes) -> None:
        """Leaves out what stands in a text that survives."""
        for at in self._starts(survivor):
            self._windows.discard(hash(survivor[at : at + PASSAGE]))

    def found_in(self, data: bytes) -> Iterator[Stretch]:
        """Yields where the bytes hold passages; those that overlap are one."""
        start = end = -1
        for at in self._starts(data):
            if at > end >= 0:
                yield Stretch(start, end)
                start = -1
            start = at if start < 0 else start
            end = at + PASSAGE
        if end >= 0:
            yield Stretch(start, end)

    def is_in(self, data: bytes) -> bool:
        """Returns whether the bytes hold a passage."""
        return any(True for _ in self._starts(data))

    def _starts(self, data: bytes) -> Iterator[int]:
        """Yields the beginnings of all windows of 32 bytes that are passages, in order."""
        seeds, windows = self._seeds, self._windows
        following = 0  # where the next window to compare begins
        last = len(data) - PASSAGE
        for at in range(0, len(data) - _SEED + 1, _LOOKED_UP) if windows else ():
            if data[at : at + _SEED] in seeds:
                for start in range(max(following, at + _SEED - PASSAGE), min(at, last) + 1):
                    if hash(data[start : start + PASSAGE]) in windows:
                        yield start
                following = max(following, at + 1)


def written_forms(text: str) -> set[bytes]:
    """Returns the bytes of a text as files contain it: plain, and inside JSON, with and without other alphabets."""
    plain = text.encode("utf-8", "surrogatepass")
    quoted = encode_basestring(text)[1:-1].encode("utf-8", "surrogatepass")
    return {plain, quoted, encode_basestring_ascii(text)[1:-1].encode()}
