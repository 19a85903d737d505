"""What to try when a search finds nothing: another place to look, or a word that is there."""

import json
from collections.abc import Iterator, Sequence
from string import ascii_lowercase, digits
from typing import Final

import apsw

from slicebase.context.snippets import Term
from slicebase.store.file_entries import Filters
from slicebase.store.file_search import Search, count
from slicebase.store.words import Reader

_MOST_WORDS: Final = 3
_LETTERS: Final = ascii_lowercase + digits

_ONE_OF: Final = "SELECT term, doc FROM json_each(?) CROSS JOIN vocabulary ON term = value"
_BEGINNING: Final = "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT 100"
_TEXTS_WITH: Final = """
SELECT title, summary, passages, former FROM files JOIN bodies ON bodies.file = files.number WHERE files.number = (
  SELECT number FROM occurrence JOIN files ON files.number = occurrence.doc WHERE term = ? ORDER BY id, name LIMIT 1
)
"""


def hints(connection: apsw.Connection, reader: Reader, terms: Sequence[Term], wanted: Search) -> list[str]:
    found = [*_other_words(connection, reader, terms), *_other_places(connection, terms, wanted)]
    return found or ["nothing here comes near these words: `tt list` shows what there is"]


def _other_words(connection: apsw.Connection, reader: Reader, terms: Sequence[Term]) -> Iterator[str]:
    for term in terms:
        near = [] if term.begins or term.unspaced else _near(connection, reader, term)
        if near:
            yield f"for {term.text} there is {' or '.join(near)}"


def _other_places(connection: apsw.Connection, terms: Sequence[Term], wanted: Search) -> Iterator[str]:
    for other, words in _elsewhere(wanted, len(terms)):
        found = count(connection, terms, other)
        if found:
            yield f"{found} file{'s' if found > 1 else ''} {words}"


def _elsewhere(wanted: Search, terms: int) -> Iterator[tuple[Search, str]]:
    filters = wanted.filters
    if filters._replace(archived=False) != Filters():
        yield wanted._replace(filters=Filters(archived=filters.archived)), "would match without the filters"
    if not wanted.former:
        yield wanted._replace(former=True), "would match in rows that no longer hold: --rows all"
    if not filters.archived:
        yield wanted._replace(filters=filters._replace(archived=True)), "would match that were forgotten: --archived"
    if terms > 1 and not wanted.either:
        yield wanted._replace(either=True), "would match some of the words: --any"


def _near(connection: apsw.Connection, reader: Reader, term: Term) -> list[str]:
    """Words that are there, for a term that nothing has: one slip away, or a longer word that begins with it."""
    stems = reader.stems(term.text)
    known = "SELECT EXISTS (SELECT 1 FROM vocabulary WHERE term = ?)"
    if len(stems) != 1 or connection.execute(known, stems).get:
        return []
    found = dict(connection.execute(_ONE_OF, (json.dumps(_slips(stems[0])),)))
    found |= dict(connection.execute(_BEGINNING, (stems[0], stems[0] + "\U0010ffff")))
    best = sorted(found, key=lambda stem: (-found[stem], stem))[:_MOST_WORDS]
    return list(dict.fromkeys(_word(connection, reader, stem) for stem in best))


def _slips(word: str) -> list[str]:
    """Every word that one slip away: a letter too many, too few, wrong, or two exchanged."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    fewer = (before + after[1:] for before, after in cuts)
    exchanged = (before + after[1] + after[0] + after[2:] for before, after in cuts if len(after) > 1)
    wrong = (before + letter + after[1:] for before, after in cuts if after for letter in _LETTERS)
    more = (before + letter + after for before, after in cuts for letter in _LETTERS)
    return sorted({*fewer, *exchanged, *wrong, *more} - {word, ""})


def _word(connection: apsw.Connection, reader: Reader, stem: str) -> str:
    """A stem as some file writes it."""
    for texts in connection.execute(_TEXTS_WITH, (stem,)):
        for text in texts:
            for start, end, found in reader.tokens(text):
                if found == stem:
                    return str(text[start:end]).lower()
    return stem
