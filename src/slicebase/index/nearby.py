"""The terms of a query as an index knows them, and its words that are similar to one that it does not have."""

from collections.abc import Collection, Iterator, Sequence
from math import ceil
from typing import Final, NamedTuple

import apsw

from slicebase.context.identifiers import parts_of_name
from slicebase.context.query import Term
from slicebase.context.words import Word
from slicebase.core.hashing import canonical
from slicebase.core.short_ids import shared
from slicebase.index.narrow import up_to
from slicebase.index.schema import Tokenizer

# Two words count as one if they share their first letters, and these are most of the longer word.
_SHARED_LETTERS: Final = 4
_SHARED_PART: Final = 0.7
_MOST_SIMILAR: Final = 500
_SHORTEST_MISTYPED: Final = 5  # characters: `form` is not `from`
LONGEST_MISTYPED: Final = 64

_KNOWN: Final = "SELECT EXISTS (SELECT 1 FROM vocabulary WHERE term = ?)"
_ONE_OF: Final = "SELECT term, doc FROM json_each(?) CROSS JOIN vocabulary ON term = value"


class NearWord(NamedTuple):
    """A stem of the index, how many texts have it, and a word of which it is the stem, if one is known."""

    term: str
    turns: int
    word: str = ""


def known_terms(
    connection: apsw.Connection, reader: Tokenizer, terms: Sequence[Term], *, parts: bool = False
) -> list[Term]:
    """Returns the terms that have words; with `parts`, the parts of identifiers in their place.

    A word that the index does not have gets another form, in which two letters are exchanged.
    """
    having = [term for term in terms if reader.stems(term.text)]
    chosen = having if not parts else list(dict.fromkeys(part for term in having for part in _parts_of(term)))
    return [_known(connection, reader, term) for term in chosen]


def _parts_of(term: Term) -> list[Term]:
    parts = parts_of_name(term.text) if term.whole else []
    return [Term(part) for part in parts] or [term]


def _known(connection: apsw.Connection, reader: Tokenizer, term: Term) -> Term:
    stems = [] if term.quoted or term.whole or term.begins or term.unspaced else reader.stems(term.text)
    if len(stems) != 1 or connection.execute(_KNOWN, stems).get:
        return term
    near = exchanged(connection, reader, term.text.lower())
    return term._replace(other=(*term.other, near.word)) if near else term


def nearest(connection: apsw.Connection, reader: Tokenizer, word: Word, as_of: int | None = None) -> NearWord | None:
    """Returns the most similar word of the index: with another ending, or with two letters exchanged; or None."""
    return _with_same_beginning(connection, word.stem, as_of) or exchanged(connection, reader, word.text, as_of)


def turns_with(connection: apsw.Connection, term: str, as_of: int | None = None, *, names: bool = False) -> int:
    """Returns how many turns up to a time have a word, or an identifier."""
    sql = f"SELECT doc FROM {'known_names' if names else 'vocabulary'} WHERE term = ?"
    if as_of is not None:
        having = f"SELECT doc FROM {'naming' if names else 'occurrence'} WHERE term = ?"
        sql = f"SELECT count(*) FROM turn WHERE number IN ({having}) AND {up_to(as_of)}"
    return int(connection.execute(sql, (term,)).get or 0)


def exchanged(connection: apsw.Connection, reader: Tokenizer, word: str, as_of: int | None = None) -> NearWord | None:
    """Returns the most frequent word of the index that differs only by two neighbouring letters, or None."""
    if not _SHORTEST_MISTYPED <= len(word) <= LONGEST_MISTYPED:
        return None
    words = {stem: swapped for swapped in sorted(swaps(word)) for stem in reader.stems(swapped)}
    known = known_words(connection, words)
    if as_of is not None:
        known = {term: turns for term in known if (turns := turns_with(connection, term, as_of))}
    found = sorted((-turns, term) for term, turns in known.items())
    return NearWord(found[0][1], -found[0][0], words[found[0][1]]) if found else None


def known_words(connection: apsw.Connection, stems: Collection[str]) -> dict[str, int]:
    """Returns those of these stems that the index has, with the numbers of texts that have them."""
    return dict(connection.execute(_ONE_OF, (canonical(sorted(stems)).decode(),)))


def swaps(word: str) -> Iterator[str]:
    """Yields the word with each two neighbouring letters exchanged."""
    for at in range(len(word) - 1):
        if word[at] != word[at + 1]:
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _with_same_beginning(connection: apsw.Connection, stem: str, as_of: int | None) -> NearWord | None:
    prefix = stem[: max(_SHARED_LETTERS, ceil(_SHARED_PART * len(stem)))]
    if len(prefix) < _SHARED_LETTERS:
        return None
    similar = connection.execute(
        "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?",
        (prefix, prefix + "\U0010ffff", _MOST_SIMILAR),
    )
    near = [
        (-part, -turns, term)
        for term, ever in similar
        if (part := shared(stem, term) / max(len(stem), len(term))) >= _SHARED_PART
        if (turns := ever if as_of is None else turns_with(connection, term, as_of))
    ]
    if not near:
        return None
    _, turns, term = min(near)
    return NearWord(term, -turns)
