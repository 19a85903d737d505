"""The part of a long text that is worth its tokens: the window with the most of what was asked for."""

import re
from collections.abc import Collection

from slicebase.core.hashing import tokens

_WORD = re.compile(r"\w+")
_BREAKS = ("\n\n", "\n", " ")


def excerpt(text: str, terms: Collection[str], limit: int) -> tuple[int, int]:
    """A span of at most `limit` tokens: the whole text where it fits, else the window that holds the most
    distinct terms, the earliest among equals."""
    if tokens(text) <= limit:
        return 0, len(text)
    width = max(1, limit * 3 * len(text) // len(text.encode("utf-8", "surrogatepass")))
    start = _densest_start(text, frozenset(terms), width)
    end = min(len(text), start + width)
    while tokens(text[start:end]) > limit:
        end -= 1 + (tokens(text[start:end]) - limit) // 2
    return _tidy(text, start, end)


def _densest_start(text: str, terms: frozenset[str], width: int) -> int:
    hits = [(match.start(), word) for match in _WORD.finditer(text) if (word := match[0].casefold()) in terms]
    best, best_start, first = 0, 0, 0
    inside: dict[str, int] = {}
    for position, word in hits:
        inside[word] = inside.get(word, 0) + 1
        while hits[first][0] < position - width // 2:
            old = hits[first][1]
            inside[old] -= 1
            if not inside[old]:
                del inside[old]
            first += 1
        if len(inside) > best:
            best, best_start = len(inside), hits[first][0]
    return max(0, min(best_start - width // 4, len(text) - width))


def _tidy(text: str, start: int, end: int) -> tuple[int, int]:
    """Moves both ends inwards to the nearest break, where one is near."""
    near = (end - start) // 8
    if start > 0:
        start = next((at + len(mark) for mark in _BREAKS if (at := text.find(mark, start, start + near)) >= 0), start)
    if end < len(text):
        end = next((at for mark in _BREAKS if (at := text.rfind(mark, end - near, end)) > start), end)
    return start, end
