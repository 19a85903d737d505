"""The places of a query's terms in a text, and the snippet of the text to show."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from slicebase.context.query import Term, pattern

_WIDTH: Final = 200  # characters
_SPACE: Final = re.compile(r"\s+")

# A word as the index reads it: its span in a text, in characters, and its stem.
Token = tuple[int, int, str]


class TermMark(NamedTuple):
    """A place of a term: its span, in characters, and the number of the term."""

    start: int
    end: int
    term: int


class Snippet(NamedTuple):
    """A part of a text on one line, and the spans of the terms in it."""

    text: str
    marks: tuple[tuple[int, int], ...]
    place: int  # the offset of the first mark in the text; without marks, of the snippet


class _Sought(NamedTuple):
    number: int
    stems: list[str]
    begins: bool


class Marker:
    """Finds the terms of a query in texts. Each term is given with its stems."""

    def __init__(self, terms: Sequence[Term], stems: Sequence[list[str]]) -> None:
        exact = [(number, term) for number, term in enumerate(terms) if term.unspaced or term.quoted or term.whole]
        self._exact = [(number, pattern(term)) for number, term in exact]
        self._by_stem: dict[str, list[_Sought]] = {}
        self._by_beginning: list[_Sought] = []
        for number, (term, words) in enumerate(zip(terms, stems, strict=True)):
            sought = _Sought(number, words, term.begins)
            if term.unspaced or term.quoted or not words:
                continue
            if term.begins and len(words) == 1:
                self._by_beginning.append(sought)
            else:
                self._by_stem.setdefault(words[0], []).append(sought)

    def marks(self, text: str, tokens: Sequence[Token]) -> list[TermMark]:
        """Returns every place of a term in a text that has these tokens."""
        found: list[TermMark] = []
        by_stem, by_beginning = self._by_stem, self._by_beginning
        for at, (_, _, stem) in enumerate(tokens):
            if by_beginning or stem in by_stem:
                found += self._marks_at(tokens, at, (*by_stem.get(stem, ()), *by_beginning))
        for number, sought in self._exact:
            found += (TermMark(match.start(), match.end(), number) for match in sought.finditer(text))
        return sorted(set(found))

    def _marks_at(self, tokens: Sequence[Token], at: int, candidates: Iterable[_Sought]) -> Iterator[TermMark]:
        for number, stems, begins in candidates:
            here = [stem for _, _, stem in tokens[at : at + len(stems)]]
            if begins and len(here) == len(stems):
                here[-1] = here[-1][: len(stems[-1])]
            if here == stems:
                yield TermMark(tokens[at][0], tokens[at + len(stems) - 1][1], number)


def snippet(text: str, marks: Sequence[TermMark]) -> Snippet:
    """Returns the part with the most different terms, the earliest of equal ones; without marks, the beginning."""
    first, last = _densest(marks) if marks else (0, 0)
    before = (_WIDTH - (last - first)) // 3
    start = _after_space(text, max(0, first - before), first)
    end = _before_space(text, min(len(text), start + _WIDTH), last)
    pieces = [("… " if text[:start].strip() else "", False)]
    place = start
    for mark in marks:
        if place <= mark.start and mark.end <= end:
            pieces += [(text[place : mark.start], False), (text[mark.start : mark.end], True)]
            place = mark.end
    pieces += [(text[place:end], False), (" …" if text[end:].strip() else "", False)]
    return _in_one_line(pieces, first if marks else start)


def _in_one_line(pieces: Iterable[tuple[str, bool]], place: int) -> Snippet:
    line, marks = "", []
    for piece, marked in pieces:
        start = len(line)
        line += _SPACE.sub(" ", piece)
        if marked:
            marks.append((start, len(line)))
    return Snippet(line.rstrip(), tuple(marks), place)


def _densest(marks: Sequence[TermMark]) -> tuple[int, int]:
    """Returns the shortest span with the most different terms that fit into a snippet, the earliest of equal ones."""
    best, span, first = (0, 0), (0, 0), 0
    inside: Counter[int] = Counter()
    for mark in marks:
        inside[mark.term] += 1
        while inside[marks[first].term] > 1 or mark.end - marks[first].start > _WIDTH > mark.end - mark.start:
            inside[marks[first].term] -= 1
            first += 1
        start = marks[first].start
        worth = (sum(count > 0 for count in inside.values()), start - mark.end)
        if not best[0] or worth > best:
            best, span = worth, (start, mark.end)
    return span


def _after_space(text: str, start: int, first: int) -> int:
    """Returns the beginning of a snippet, moved forward to the beginning of a word."""
    space = _SPACE.match(text) if start == 0 else _SPACE.search(text, start, first)
    return space.end() if space else start


def _before_space(text: str, end: int, last: int) -> int:
    if end == len(text):
        return end
    space = max(text.rfind(blank, last, end) for blank in " \n\t")
    return space if space > last else max(end, last)
