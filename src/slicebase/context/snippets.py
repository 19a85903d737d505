"""The places of a query's terms in a text, and the snippet of the text to show."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from slicebase.context.forms import formed, respelled
from slicebase.context.match import Match, TermPattern
from slicebase.context.query import Term
from slicebase.context.words import ASKING, character_start, folded, has_foreign_letters, in_usual_form, next_character

_WIDTH: Final = 200  # characters
_LONGEST_MARK: Final = 400  # characters that are shown: what `x*` finds may be a file of a million
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


class Marker:
    """Finds the terms of a query in texts that match it in some way. `stems` returns the stems of a text's words."""

    def __init__(self, terms: Sequence[Term], match: Match, stems: Callable[[str], list[str]]) -> None:
        way = match if match < Match.PARTS else Match.INSIDE_ANY_CASE
        self._stems = stems
        self._exact: list[tuple[int, TermPattern]] = []
        self._by_stem: dict[str, list[_Sought]] = {}
        self._formed: dict[int, str] = {}  # the terms that texts may have in other forms: letters of a part of a name
        only_asks = all(term.text.lower() in ASKING for term in terms)
        for number, term in enumerate(terms):
            if term.unspaced or term.quoted or term.whole or term.begins:
                self._exact.append((number, TermPattern(term, way)))
            forms = term.other if term.whole else () if term.quoted or term.unspaced else (term.text, *term.other)
            for words in filter(None, map(stems, () if term.begins else forms)):
                if only_asks or term.text.lower() not in ASKING:
                    self._formed[number] = "" if term.other or not term.text.isalpha() else words[0][:-1]
                self._by_stem.setdefault(words[0], []).append(_Sought(number, words))

    def marks(self, text: str, tokens: Sequence[Token]) -> list[TermMark]:
        """Returns every place of a term in a text that has these tokens."""
        found: list[TermMark] = []
        for at, (_, _, stem) in enumerate(tokens):
            if stem in self._by_stem:
                found += self._marks_at(tokens, at, self._by_stem[stem])
        read = in_usual_form(text)
        usual = read.text
        for number, sought in self._exact:
            found += (TermMark(*read.span(start, end), number) for start, end in sought.places(usual))
            if not text.isascii() and not any(mark.term == number for mark in found):
                places = [*sought.places(folded(usual))] or sought.in_forms(respelled(usual))
                found += (TermMark(*read.span(start, end), number) for start, end in places)
        if missing := self._formed.keys() - {mark.term for mark in found}:
            low = None if has_foreign_letters(usual) else usual.lower()  # accents may stand between the letters
            if missing := {number for number in missing if low is None or self._formed[number] in low}:
                other = self._in_other_forms(usual, missing)
                found += (TermMark(*read.span(start, end), number) for start, end, number in other)
        return sorted({_of_whole_characters(text, mark) for mark in found} if not text.isascii() else set(found))

    def _marks_at(self, tokens: Sequence[Token], at: int, candidates: Iterable[_Sought]) -> Iterator[TermMark]:
        for number, stems in candidates:
            if [stem for _, _, stem in tokens[at : at + len(stems)]] == stems:
                yield TermMark(tokens[at][0], tokens[at + len(stems) - 1][1], number)

    def _in_other_forms(self, text: str, missing: set[int]) -> Iterator[TermMark]:
        """Yields the places of terms in forms that only the index has: `Müller` for `Mueller`, a part of a name."""
        heads = {self._formed[number] for number in missing}
        for start, end, form in formed(text, heads):
            if form.isascii() and not any(head in form.lower() for head in heads):
                continue  # to read its words takes longer
            for stem in self._stems(form):
                for sought in self._by_stem.get(stem, ()):
                    if sought.number in missing and sought.stems == [stem]:
                        yield TermMark(start, end, sought.number)


def snippet(text: str, marks: Sequence[TermMark]) -> Snippet:
    """Returns the part with the most different terms, the earliest of equal ones; without marks, the beginning."""
    marks = [mark if mark.end - mark.start <= _LONGEST_MARK else _cut(text, mark) for mark in marks]
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


def _cut(text: str, mark: TermMark) -> TermMark:
    return mark._replace(end=next_character(text, mark.start + _LONGEST_MARK))


def _in_one_line(pieces: Iterable[tuple[str, bool]], place: int) -> Snippet:
    line, marks = "", []
    for piece, marked in pieces:
        start = len(line)
        line += _SPACE.sub(" ", piece)
        if marked:
            marks.append((start, len(line)))
    return Snippet(line.rstrip(), tuple(marks), place)


def _of_whole_characters(text: str, mark: TermMark) -> TermMark:
    at_edges = text[max(0, mark.start - 1) : mark.start + 1] + text[mark.end - 1 : mark.end + 1]
    if at_edges.isascii():
        return mark  # most marks, and much faster
    return TermMark(character_start(text, mark.start), next_character(text, mark.end), mark.term)


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
    return space.end() if space else min(first, next_character(text, start))


def _before_space(text: str, end: int, last: int) -> int:
    if end == len(text):
        return end
    space = max(text.rfind(blank, last, end) for blank in " \n\t")
    return space if space > last else max(character_start(text, end), last)
