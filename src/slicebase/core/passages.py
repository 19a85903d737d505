"""Passages of purged texts: every 32 bytes of them, to be found in other bytes, exactly and in linear time.

A table says where each window of 32 bytes stands in the texts, and a mark whether it also stands in a text that
survives, or is boilerplate. Most bytes have nothing in common with the texts: every seventh window of 12 bytes of the
texts is in a table, too, and every third one of the searched bytes is looked up. A passage has 21 windows of 12 bytes,
and since 7 and 3 have no common divisor, one of these is found wherever the passage stands. Only around it are the
windows of 32 bytes looked up. Of short texts, all windows of 12 bytes are in a set, which takes more memory for each,
and then every 21st one of the searched bytes is enough.
"""

import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, pairwise
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Final, NamedTuple

PASSAGE: Final = 32  # bytes: what is shorter says too little
_KEPT: Final = 7
_LOOKED_UP: Final = 3
_SEED: Final = PASSAGE + 1 - _KEPT * _LOOKED_UP  # bytes of the windows that are looked up
_SHORT: Final = 1 << 16  # bytes of texts: windows of as many or fewer are in a set
_SURVIVES: Final = 1  # the mark of a window that also stands in a text that survives
_DISMISSED: Final = 2  # the mark of a window of boilerplate
_TITLE: Final = 1000  # code points of a text that may have become a title


class Stretch(NamedTuple):
    """Where a passage begins and ends in the searched bytes."""

    start: int
    end: int


class _Windows:
    """Where the windows of a size stand in some bytes: a hash table of plain numbers, which takes little memory."""

    def __init__(self, data: bytes, starts: Iterable[range], size: int, slots: int) -> None:
        self._data = data
        self._size = size
        self.count = sum(map(len, starts)) * slots + 1
        self.table = array("I", [0]) * self.count  # 0, or a start and 1
        table, count = self.table, self.count
        for at in chain.from_iterable(starts):
            window = data[at : at + size]
            slot = hash(window) % count
            while (there := table[slot]) and data[there - 1 : there - 1 + size] != window:
                slot = slot + 1 if slot + 1 < count else 0
            table[slot] = there or at + 1

    def find(self, window: bytes) -> int:
        """Returns where a window stands first, or -1."""
        slot = hash(window) % self.count
        while there := self.table[slot]:
            if self._data[there - 1 : there - 1 + self._size] == window:
                return there - 1
            slot = slot + 1 if slot + 1 < self.count else 0
        return -1


class PassageTable:
    """The passages of some texts, and which of them also stand in texts that survive."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        kept = [text for text in texts if len(text) >= PASSAGE]
        ends = [0, *accumulate(map(len, kept))]
        self._data = b"".join(kept)
        self._survives = bytearray(len(self._data))  # a mark where a window begins
        starts = [range(start, end - PASSAGE + 1) for start, end in pairwise(ends)]
        self._windows = _Windows(self._data, starts, PASSAGE, slots=2)
        is_short = len(self._data) <= _SHORT
        starts = [range(start, end - _SEED + 1, 1 if is_short else _KEPT) for start, end in pairwise(ends)]
        self._all_seeds = {self._data[at : at + _SEED] for at in chain.from_iterable(starts if is_short else ())}
        self._seeds = _Windows(self._data, () if is_short else starts, _SEED, slots=4)

    def __bool__(self) -> bool:
        return bool(self._data)

    def forget(self, survivor: bytes) -> None:
        """Leaves out what stands in a text that survives."""
        for _, place in self._found(survivor):
            self._survives[place] = _SURVIVES

    def dismiss(self, boilerplate: re.Pattern[bytes]) -> None:
        """Leaves out, forever, the passages of which more than a half is boilerplate: what any text may contain."""
        masked = _masked(self._data, boilerplate)
        for match in boilerplate.finditer(self._data):
            for start in range(max(0, match.start() - PASSAGE + 1), match.end()):
                place = self._windows.find(self._data[start : start + PASSAGE])
                if place >= 0 and _says_little(masked, start):
                    self._survives[place] = _DISMISSED

    def found_in(self, data: bytes) -> Iterator[Stretch]:
        """Yields where the bytes hold passages that survive nowhere; those that overlap are one."""
        start = end = -1
        for at, _ in self._found(data):
            if at > end >= 0:
                yield Stretch(start, end)
                start = -1
            start = at if start < 0 else start
            end = at + PASSAGE
        if end >= 0:
            yield Stretch(start, end)

    def is_in(self, data: bytes) -> bool:
        """Returns whether the bytes hold a passage that survives nowhere."""
        return any(True for _ in self._found(data))

    def is_shared(self, data: bytes, boilerplate: re.Pattern[bytes]) -> bool:
        """Returns whether the bytes hold a passage, also one that survives, that is not boilerplate there."""
        masked = _masked(data, boilerplate)
        return any(not _says_little(masked, start) for start, _ in self._found(data, most=_SURVIVES))

    def _found(self, data: bytes, most: int = 0) -> Iterator[tuple[int, int]]:
        """Yields where the bytes hold passages whose mark is at most `most`, and where these stand in the texts."""
        find, survives = self._windows.find, self._survives
        following = 0  # where the next window to compare begins
        last = len(data) - PASSAGE
        for at in self._places_in(data) if self._data else ():
            for start in range(max(following, at + _SEED - PASSAGE), min(at, last) + 1):
                place = find(data[start : start + PASSAGE])
                if place >= 0 and survives[place] <= most:
                    yield start, place
            following = max(following, at + 1)

    def _places_in(self, data: bytes) -> Iterator[int]:
        """Yields where the bytes hold windows of 12 bytes of the texts: of each passage, one or more."""
        end = len(data) - _SEED + 1
        if self._all_seeds:
            known = self._all_seeds
            yield from [at for at in range(0, end, _KEPT * _LOOKED_UP) if data[at : at + _SEED] in known]
            return
        find_seed, seeds, count = self._seeds.find, self._seeds.table, self._seeds.count
        for at in range(0, end, _LOOKED_UP):
            seed = data[at : at + _SEED]
            if seeds[hash(seed) % count] and find_seed(seed) >= 0:  # most slots are empty: that saves the call
                yield at


def _masked(data: bytes, boilerplate: re.Pattern[bytes]) -> bytes:
    return boilerplate.sub(lambda match: b"\0" * len(match[0]), data)


def _says_little(masked: bytes, start: int) -> bool:
    return masked.count(0, start, start + PASSAGE) > PASSAGE // 2


def written_forms(text: str) -> set[bytes]:
    """Returns the bytes of a text as files contain it: plain, and inside JSON, with and without other alphabets.

    Its beginning may also stand on one line, as a title.
    """
    found = set()
    for each in (text, " ".join(text[:_TITLE].split())):
        quoted = encode_basestring(each)[1:-1]
        found |= {each.encode("utf-8", "surrogatepass"), quoted.encode("utf-8", "surrogatepass")}
        found.add(encode_basestring_ascii(each)[1:-1].encode())
    return found
