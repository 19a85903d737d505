"""The stretches of a long text in which the terms of a query are looked for: to read all of its words takes long.

They are read in the order of how many terms they can have by their letters.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from slicebase.context.query import Term
from slicebase.context.snippets import Marker, TermMark, Token

_OVERLAP: Final = 200  # characters that a stretch shares with the one before it
_LETTERS: Final = re.compile(r"[a-z0-9]{2,}")


class TextStretch(NamedTuple):
    """A part of a text, where it begins, and the numbers of the terms that it can have."""

    text: str
    start: int
    possible: frozenset[int]


def stretches(text: str, size: int, heads: Sequence[str]) -> list[TextStretch]:
    """Returns the stretches of a text, those that can have the most terms first. `heads` are letters of each term."""
    found = [_stretch(text, max(0, at - _OVERLAP), at + size, heads) for at in range(0, len(text), size)]
    return sorted(found, key=lambda each: -len(each.possible))


def _stretch(text: str, start: int, end: int, heads: Sequence[str]) -> TextStretch:
    part = text[start:end]
    low = part.lower()
    return TextStretch(part, start, frozenset(number for number, head in enumerate(heads) if head in low))


def head_of(term: Term, stems: Sequence[str]) -> str:
    """Returns letters that a text of ASCII must contain to have a term; none where other forms of it count.

    A word has all letters of its stem but the last. A term of a script without spaces is in few texts in another form.
    """
    if term.unspaced:
        return term.text
    if not term.text.isascii() or term.other or not stems:
        return ""
    if term.quoted or term.whole or term.begins:
        return max(_LETTERS.findall(term.text.lower()), key=len, default="")
    return max(stems, key=len)[:-1]


def first_marks(
    text: str, size: int, heads: Sequence[str], marker: Marker, tokens: Callable[[str], list[Token]]
) -> list[TermMark]:
    """Returns places of the terms in a text, for a snippet: of a long one, those in enough stretches to have each term.

    What is cut by the edge of a stretch is whole in the next one.
    """
    if len(text) <= size:
        return marker.marks(text, tokens(text))
    found: set[TermMark] = set()
    known: set[int] = set()
    read: set[int] = set()
    for is_by_letters in (True, False):  # a term that is not found by its letters may be there with an accent
        for each in stretches(text, size, heads if is_by_letters else [""] * len(heads)):
            if not (each.possible <= known or each.start in read) and (is_by_letters or not each.text.isascii()):
                new = list(_whole_marks(each, len(text), marker.marks(each.text, tokens(each.text))))
                read.add(each.start)
                found.update(new)
                known.update(mark.term for mark in new)
    return sorted(found)


def _whole_marks(stretch: TextStretch, length: int, marks: Sequence[TermMark]) -> Iterator[TermMark]:
    start, end = stretch.start, stretch.start + len(stretch.text)
    for mark in marks:
        if (mark.start > 0 or start == 0) and (start + mark.end < end or end == length):
            yield TermMark(start + mark.start, start + mark.end, mark.term)
