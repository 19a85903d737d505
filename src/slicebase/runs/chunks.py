"""Stable chunks of a text document: about 800 tokens each, cut at structure, without overlap.

Only the text near a cut decides where it is, so that an edit moves only the cuts around it. Every place where a block
begins (a heading, a paragraph, a code fence) has a rank: first its kind, then a hash of its line and the line before.
The text is cut at each place that has the highest rank within CUT_REACH; two cuts are TARGET apart on average.
A piece that is still too long is cut again at lines and then at words, and only that piece decides where.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from slicebase.core.hashing import xxh64

# In bytes; three bytes are one token (ruling 6).
TARGET = 800 * 3
CUT_REACH = TARGET // 2
LONGEST = TARGET * 2

_HEADING = re.compile(r"(#{1,6})\s")
_FENCE = re.compile(r" {0,3}(`{3,}(?!.*`)|~{3,})")
_SPACE = re.compile(r"\s+")
_LINE, _BLOCK = 0, 1
_HEADINGS = 8  # minus the level of a heading: the fewer `#`, the higher the rank


class DocumentChunk(NamedTuple):
    """A chunk and its place in the document; offsets are in code points."""

    chunk_id: str
    start: int
    end: int
    text: str


class _Place(NamedTuple):
    """The beginning of a line or word, in code points and in bytes, and its rank as a place to cut."""

    start: int
    byte: int
    rank: tuple[int, str]


def chunks(text: str, payload_hash: str) -> list[DocumentChunk]:
    """Returns the chunks of a document. Joined, they are the document."""
    prefix = "doc:" + payload_hash.removeprefix("sha256:")[:16]
    offsets = [0, *_cuts(text), len(text)] if text else []
    return [DocumentChunk(f"{prefix}:{start}-{end}", start, end, text[start:end]) for start, end in pairwise(offsets)]


def _cuts(text: str) -> Iterator[int]:
    """Yields the offsets of the cuts.

    The text is cut at blocks, then pieces that are still too long at lines, then at words.
    """
    places = list(_places(text))
    ends = [_Place(0, 0, (0, "")), _Place(len(text), _bytes(text), (0, ""))]
    blocks = [place for place in places if place.rank[0] >= _BLOCK]
    cuts = [ends[0], *_peaks(blocks, *ends), ends[1]]
    cuts = _cut_again(cuts, lambda low, high: _between(places, low, high))
    cuts = _cut_again(cuts, lambda low, high: list(_words(text, low, high)))
    for low, high in pairwise(cuts):
        yield from _forced_cuts(text, low, high)
        if high is not ends[1]:
            yield high.start


def _cut_again(cuts: list[_Place], places: Callable[[_Place, _Place], Sequence[_Place]]) -> list[_Place]:
    finer = cuts[:1]
    for low, high in pairwise(cuts):
        if high.byte - low.byte > LONGEST:
            finer.extend(_peaks(places(low, high), low, high))
        finer.append(high)
    return finer


def _between(places: Sequence[_Place], low: _Place, high: _Place) -> Sequence[_Place]:
    return places[bisect_right(places, low.start, key=_start) : bisect_left(places, high.start, key=_start)]


def _words(text: str, low: _Place, high: _Place) -> Iterator[_Place]:
    """Yields the places where words begin, ranked by the text that follows."""
    start, byte = low.start, low.byte
    for space in _SPACE.finditer(text, low.start, high.start):
        byte += _bytes(text[start : space.end()])
        start = space.end()
        yield _Place(start, byte, (_LINE, xxh64(text[start : start + 32].encode("utf-8", "surrogatepass"))))


def _places(text: str) -> Iterator[_Place]:
    """Yields the beginnings of the lines that are not blank. Inside a code fence every line has the lowest kind."""
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


def _peaks(places: Sequence[_Place], low: _Place, high: _Place) -> Iterator[_Place]:
    """Yields the places that no place near them outranks, at least CUT_REACH away from both ends."""
    for index, place in enumerate(places):
        if low.byte + CUT_REACH <= place.byte <= high.byte - CUT_REACH and not _outranked(places, index):
            yield place


def _outranked(places: Sequence[_Place], index: int) -> bool:
    """Returns whether a place within CUT_REACH has a higher rank. Of two equal ranks the first place wins."""
    here = places[index]
    for other in range(index - 1, -1, -1):
        if here.byte - places[other].byte >= CUT_REACH:
            break
        if places[other].rank >= here.rank:
            return True
    for other in range(index + 1, len(places)):
        if places[other].byte - here.byte >= CUT_REACH:
            break
        if places[other].rank > here.rank:
            return True
    return False


def _forced_cuts(text: str, low: _Place, high: _Place) -> Iterator[int]:
    """Yields cuts at every TARGET bytes of a piece in which no place outranks its neighbours."""
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
