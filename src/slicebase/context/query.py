"""What is typed into a search: words, "several words in a row", and beginnings of words (`retr*`)."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from slicebase.context.wording import for_question, runs

_LONGEST = 20_000  # characters: a pasted page is no query
_TYPED = re.compile(r'"([^"]*)("?)(\*?)|([^\s"]+)')


class Term(NamedTuple):
    """Words that stand in a row; of the last one perhaps only the beginning is given."""

    text: str
    begins: bool = False
    unspaced: bool = False  # of a script that sets no spaces between words


def read_query(typed: str) -> list[Term]:
    """The terms of a query, each once, in their order. Any text is a query, if perhaps one without terms."""
    text = typed[:_LONGEST].replace("\0", " ")  # which would end an FTS5 query
    terms = [term for match in _TYPED.finditer(text) for term in _terms(match)]
    return list(dict.fromkeys(terms))


def _terms(match: re.Match[str]) -> Iterator[Term]:
    phrase, closed, star, word = match.groups()
    begins = bool(star) if word is None else word.endswith("*")
    if word is None and not closed:  # a quotation mark that nothing closes quotes nothing
        yield from (term for each in phrase.split() for term in read_query(each))
        return
    pieces = [piece for piece in runs(phrase if word is None else word) if any(map(str.isalnum, piece[0]))]
    for at, (text, unspaced) in enumerate(pieces, 1):
        yield Term(text.strip(), begins and not unspaced and at == len(pieces), unspaced)


def expression(terms: Iterable[Term], *, either: bool = False) -> str:
    """The terms as an FTS5 query: all of them, or any. Nothing typed is an operator there."""
    return (" OR " if either else " AND ").join(map(_quoted, terms))


def _quoted(term: Term) -> str:
    text = for_question(term.text).replace('"', '""')
    return f'"{text}"{" *" if term.begins else ""}'
