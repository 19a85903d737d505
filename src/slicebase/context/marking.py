"""Where the terms of a query stand in a text, and the part of it that is worth showing."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from slicebase.context.query import Term

_WIDTH: Final = 200  # characters
_SPACE: Final = re.compile(r"\s+")


class Token(NamedTuple):
    """A word as the index reads it: its span in a text, in characters, and its stem."""

    start: int
    end: int
    stem: str


class Mark(NamedTuple):
    """A place where a term stands: its span, in characters, and the term's number."""

    start: int
    end: int
    term: int


class Snippet(NamedTuple):
    """A part of a text in one line, and the spans of it that were asked for."""

    text: str
    marks: tuple[tuple[int, int], ...]
    place: int  # where the first mark, or else the snippet, stands in the text


class _Sought(NamedTuple):
    number: int
    stems: Sequence[str]
    begins: bool


class Marker:
    """Finds the terms of a query, given with the stems that each consists of."""

    def __init__(self, terms: Sequence[Term], stems: Sequence[Sequence[str]]) -> None:
        self._unspaced = [(number, term.text) for number, term in enumerate(terms) if term.unspaced]
        self._by_stem: dict[str, list[_Sought]] = {}
        self._by_beginning: list[_Sought] = []
        for number, (term, words) in enumerate(zip(terms, stems, strict=True)):
            sought = _Sought(number, words, term.begins)
            if term.begins and len(words) == 1:
                self._by_beginning.append(sought)
            elif not term.unspaced:
                self._by_stem.setdefault(words[0], []).append(sought)

    def marks(self, text: str, tokens: Sequence[Token]) -> list[Mark]:
        """Every place where a term stands in a text that consists of these tokens."""
        found = [mark for at, token in enumerate(tokens) for mark in self._marks_at(tokens, at, token.stem)]
        for number, sought in self._unspaced:
            found += (Mark(match.start(), match.end(), number) for match in re.finditer(re.escape(sought), text))
        return sorted(found)

    def _marks_at(self, tokens: Sequence[Token], at: int, stem: str) -> Iterator[Mark]:
        for number, stems, begins in (*self._by_stem.get(stem, ()), *self._by_beginning):
            here = tokens[at : at + len(stems)]
            first, last = stems[:-1], stems[-1]
            if len(here) < len(stems) or any(token.stem != word for token, word in zip(here, first, strict=False)):
                continue
            if here[-1].stem == last or (begins and here[-1].stem.startswith(last)):
                yield Mark(here[0].start, here[-1].end, number)


def snippet(text: str, marks: Sequence[Mark]) -> Snippet:
    """The part with the most different terms, the earliest among equals; without marks, the beginning."""
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
    return Snippet(line, tuple(marks), place)


def _densest(marks: Sequence[Mark]) -> tuple[int, int]:
    """The span from the first to the last of the marks that fit into a snippet together and are worth most."""
    best, span, start = (0, 0), (marks[0].start, marks[0].end), 0
    inside: Counter[int] = Counter()
    for at, mark in enumerate(marks):
        inside[mark.term] += 1
        while mark.end - marks[start].start > _WIDTH and start < at:
            inside[marks[start].term] -= 1
            start += 1
        worth = (sum(count > 0 for count in inside.values()), at - start)
        if worth > best:
            best, span = worth, (marks[start].start, mark.end)
    return span


def _after_space(text: str, start: int, first: int) -> int:
    """Moves a snippet's beginning to that of a word, unless it is the text's."""
    space = _SPACE.match(text) if start == 0 else _SPACE.search(text, start, first)
    return space.end() if space else start


def _before_space(text: str, end: int, last: int) -> int:
    if end == len(text):
        return end
    space = max(text.rfind(blank, last, end) for blank in " \n\t")
    return space if space > last else max(end, last)
