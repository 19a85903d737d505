"""What to try when a search in slice files found nothing: another search that would match, or a similar word."""

import json
from collections.abc import Callable, Iterator, Sequence
from string import ascii_lowercase, digits
from typing import Final

import apsw

from slicebase.context.query import Term
from slicebase.index.asked import Search
from slicebase.index.entries import Filters
from slicebase.index.schema import Tokenizer

_MOST_WORDS: Final = 3
_LONGEST_MISTYPED: Final = 64  # characters: the number of typing errors grows with the square of the length
_LETTERS: Final = ascii_lowercase + digits

_ONE_OF: Final = "SELECT term, doc FROM json_each(?) CROSS JOIN vocabulary ON term = value"
_BEGINNING: Final = "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT 100"
_TEXTS_WITH: Final = """
SELECT title, summary, passages, former FROM files JOIN bodies ON bodies.file = files.number WHERE files.number = (
  SELECT number FROM occurrence JOIN files ON files.number = occurrence.doc WHERE term = ? ORDER BY id, name LIMIT 1
)
"""


# Returns how many files match a search.
Count = Callable[[apsw.Connection, Sequence[Term], Search], int]


def hints(
    connection: apsw.Connection, reader: Tokenizer, terms: Sequence[Term], wanted: Search, count: Count
) -> list[str]:
    """Returns what to try after a search that found nothing."""
    found = [*_other_words(connection, reader, terms), *_other_searches(connection, terms, wanted, count)]
    return found or ["there is no similar word here: `tt list` shows the files"]


def _other_words(connection: apsw.Connection, reader: Tokenizer, terms: Sequence[Term]) -> Iterator[str]:
    for term in terms:
        similar = [] if term.begins or term.unspaced else _similar(connection, reader, term)
        if similar:
            yield f"for {term.text} there is {' or '.join(similar)}"


def _other_searches(connection: apsw.Connection, terms: Sequence[Term], wanted: Search, count: Count) -> Iterator[str]:
    for other, words in _wider_searches(wanted, len(terms)):
        found = count(connection, terms, other)
        if found:
            yield f"{found} file{'s' if found > 1 else ''} {words}"


def _wider_searches(wanted: Search, terms: int) -> Iterator[tuple[Search, str]]:
    """Yields searches that could match more, each with the text of its hint."""
    filters = wanted.filters
    if filters._replace(archived=False) != Filters():
        yield wanted._replace(filters=Filters(archived=filters.archived)), "would match without the filters"
    if not wanted.former:
        yield wanted._replace(former=True), "would match in rows that are not active: --rows all"
    if not filters.archived:
        yield wanted._replace(filters=filters._replace(archived=True)), "would match that were forgotten: --archived"
    if terms > 1 and not wanted.either:
        yield wanted._replace(either=True), "would match some of the words: --any"


def _similar(connection: apsw.Connection, reader: Tokenizer, term: Term) -> list[str]:
    """Returns words of the index for a term that is not in it: one typing error away, or longer words that begin so."""
    stems = reader.stems(term.text)
    known = "SELECT EXISTS (SELECT 1 FROM vocabulary WHERE term = ?)"
    if len(stems) != 1 or len(stems[0]) > _LONGEST_MISTYPED or connection.execute(known, stems).get:
        return []
    found = dict(connection.execute(_ONE_OF, (json.dumps(_typing_errors(stems[0])),)))
    found |= dict(connection.execute(_BEGINNING, (stems[0], stems[0] + "\U0010ffff")))
    best = sorted(found, key=lambda stem: (-found[stem], stem))[:_MOST_WORDS]
    return list(dict.fromkeys(_word(connection, reader, stem) for stem in best))


def _typing_errors(word: str) -> list[str]:
    """Returns every word that is one typing error away: a letter too many, too few, wrong, or two exchanged."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    fewer = (before + after[1:] for before, after in cuts)
    exchanged = (before + after[1] + after[0] + after[2:] for before, after in cuts if len(after) > 1)
    wrong = (before + letter + after[1:] for before, after in cuts if after for letter in _LETTERS)
    more = (before + letter + after for before, after in cuts for letter in _LETTERS)
    return sorted({*fewer, *exchanged, *wrong, *more} - {word, ""})


def _word(connection: apsw.Connection, reader: Tokenizer, stem: str) -> str:
    """Returns a word with this stem as a file writes it."""
    for texts in connection.execute(_TEXTS_WITH, (stem,)):
        for text in texts:
            for start, end, found in reader.tokens(text):
                if found == stem:
                    return str(text[start:end]).lower()
    return stem
