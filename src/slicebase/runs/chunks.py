"""Stable chunks of a text document: about 800 tokens each, cut at structure, without overlap.

Where a cut falls is decided by the text near it alone, so that an edit moves only the cuts around it. Every place where
a block begins (a heading, a paragraph, a code fence) has a rank: its kind first, then a hash of the lines beside it. A
place is a cut where nothing within REACH of it ranks higher; between two cuts lies the target on average. What is still
too long is cut again at lines, and then at words, by looking at that piece alone.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from slicebase.core.hashing import xxh64

# In bytes, of which three make a token (ruling 6).
TARGET = 800 * 3
REACH = TARGET // 2
LONGEST = TARGET * 2

_HEADING = re.compile(r"(#{1,6})\s")
_FENCE = re.compile(r" {0,3}(`{3,}(?!.*`)|~{3,})")
_SPACE = re.compile(r"\s+")
_LINE, _BLOCK = 0, 1
_HEADINGS = 8  # less the heading's level: the fewer signs, the higher it ranks


class DocumentChunk(NamedTuple):
    """Offsets are code points of the document."""

    chunk_id: str
    start: int
    end: int
    text: str


class _Place(NamedTuple):
    """Where a line begins, in code points and in bytes, and how strongly a cut is wanted there."""

    start: int
    byte: int
    rank: tuple[int, str]


def chunks(text: str, payload_hash: str) -> list[DocumentChunk]:
    """The chunks of a document. Joined, they are the document."""
    prefix = "doc:" + payload_hash.removeprefix("sha256:")[:16]
    offsets = [0, *_cuts(text), len(text)] if text else []
    return [DocumentChunk(f"{prefix}:{start}-{end}", start, end, text[start:end]) for start, end in pairwise(offsets)]


def _cuts(text: str) -> Iterator[int]:
    """Three passes, each over the pieces that the one before left too long: at blocks, at lines, at words."""
    places = list(_places(text))
    ends = [_Place(0, 0, (0, "")), _Place(len(text), _bytes(text), (0, ""))]
    blocks = [place for place in places if place.rank[0] >= _BLOCK]
    cuts = [ends[0], *_summits(blocks, *ends), ends[1]]
    cuts = _cut_again(cuts, lambda low, high: _between(places, low, high))
    cuts = _cut_again(cuts, lambda low, high: list(_words(text, low, high)))
    for low, high in pairwise(cuts):
        yield from _forced(text, low, high)
        if high is not ends[1]:
            yield high.start


def _cut_again(cuts: list[_Place], places: Callable[[_Place, _Place], Sequence[_Place]]) -> list[_Place]:
    finer = cuts[:1]
    for low, high in pairwise(cuts):
        if high.byte - low.byte > LONGEST:
            finer.extend(_summits(places(low, high), low, high))
        finer.append(high)
    return finer


def _between(places: Sequence[_Place], low: _Place, high: _Place) -> Sequence[_Place]:
    return places[bisect_right(places, low.start, key=_start) : bisect_left(places, high.start, key=_start)]


def _words(text: str, low: _Place, high: _Place) -> Iterator[_Place]:
    """Where words begin, ranked by the text that follows."""
    start, byte = low.start, low.byte
    for space in _SPACE.finditer(text, low.start, high.start):
        byte += _bytes(text[start : space.end()])
        start = space.end()
        yield _Place(start, byte, (_LINE, xxh64(text[start : start + 32].encode("utf-8", "surrogatepass"))))


def _places(text: str) -> Iterator[_Place]:
    """The lines that are not blank. Inside a code fence each is only a line."""
    start = byte = 0
    before, fence, new_block = "", "", False
    for line in text.split("\n"):
        stripped = line.rstrip()
        opening = _FENCE.match(line)
        kind = _LINE if fence else _kind(stripped, opening is not None or new_block)
        if stripped:
            yield _Place(start, byte, (kind, xxh64(f"{before}\n{line}".encode("utf-8", "surrogatepass"))))
        if fence:
            closing = opening is not None and opening[1].startswith(fence) and stripped == opening[0]
            fence, new_block = ("", True) if closing else (fence, False)
        elif opening:
            fence = opening[1]
        else:
            new_block = not stripped
        start += len(line) + 1
        byte += _bytes(line) + 1
        before = line


def _kind(line: str, block: bool) -> int:
    heading = _HEADING.match(line + " ")
    return _HEADINGS - len(heading[1]) if heading else _BLOCK if block else _LINE


def _summits(places: Sequence[_Place], low: _Place, high: _Place) -> Iterator[_Place]:
    """The places that nothing near them outranks, and that leave both ends a piece worth having."""
    for index, place in enumerate(places):
        if low.byte + REACH <= place.byte <= high.byte - REACH and not _outranked(places, index):
            yield place


def _outranked(places: Sequence[_Place], index: int) -> bool:
    """Of equals the first one stands."""
    here = places[index]
    for other in range(index - 1, -1, -1):
        if here.byte - places[other].byte >= REACH:
            break
        if places[other].rank >= here.rank:
            return True
    for other in range(index + 1, len(places)):
        if places[other].byte - here.byte >= REACH:
            break
        if places[other].rank > here.rank:
            return True
    return False


def _forced(text: str, low: _Place, high: _Place) -> Iterator[int]:
    """Where no place stands out from its neighbours: every target's length from the piece's beginning."""
    start, left = low.start, high.byte - low.byte
    while left > LONGEST:
        window = text[start : start + TARGET].encode("utf-8", "surrogatepass")[:TARGET]
        length = max(1, len(window.decode("utf-8", "ignore")))
        left -= _bytes(text[start : start + length])
        start += length
        yield start


def _start(place: _Place) -> int:
    return place.start


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
