"""The terms of a query as an index knows them, and its words that are similar to one that it does not have."""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice
from math import ceil
from typing import Any, Final, NamedTuple

import apsw

from slicebase.context.identifiers import parts_of_name
from slicebase.context.query import Term
from slicebase.context.words import Word
from slicebase.core.hashing import canonical
from slicebase.core.short_ids import shared
from slicebase.index.schema import Tokenizer

# Two words count as one if they share their first letters, and these are most of the longer word.
_SHARED_LETTERS: Final = 4
_SHARED_PART: Final = 0.7
_MOST_SIMILAR: Final = 500
_SHORTEST_MISTYPED: Final = 5  # characters: `form` is not `from`
LONGEST_MISTYPED: Final = 64

# `vocabulary` would count all texts that have the word.
_KNOWN: Final = "SELECT EXISTS (SELECT 1 FROM occurrence WHERE term = ?)"
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
    having = [term for term in terms if has_words(reader, term)]
    chosen = having if not parts else list(dict.fromkeys(part for term in having for part in _parts_of(term)))
    return [_known(connection, reader, term) for term in chosen]


def has_words(reader: Tokenizer, term: Term) -> bool:
    """Returns whether the index knows a term: signs, emoji and accents alone are no words, though it reads some."""
    return any(map(str.isalnum, term.text)) and bool(reader.stems(term.text))


def _parts_of(term: Term) -> list[Term]:
    parts = parts_of_name(term.text) if term.whole else []
    return [Term(part) for part in parts] or [term]


def _known(connection: apsw.Connection, reader: Tokenizer, term: Term) -> Term:
    stems = [] if term.quoted or term.whole or term.begins or term.unspaced else reader.stems(term.text)
    if len(stems) != 1 or connection.execute(_KNOWN, stems).get:
        return term
    near = exchanged(connection, reader, term.text.lower())
    return term._replace(other=(*term.other, near.word)) if near else term


def nearest(
    connection: apsw.Connection, reader: Tokenizer, word: Word, absent: Collection[int] = ()
) -> NearWord | None:
    """Returns the most similar word of the index: with another ending, or with two letters exchanged; or None.

    Words that only `absent` turns have are not there.
    """
    return _with_same_beginning(connection, word.stem, absent) or exchanged(connection, reader, word.text, absent)


def turns_with(connection: apsw.Connection, term: str, absent: Collection[int] = (), *, names: bool = False) -> int:
    """Returns how many turns have a word, or an identifier, besides those that are absent."""
    table, instances = ("known_names", "naming") if names else ("vocabulary", "occurrence")
    turns = int(connection.execute(f"SELECT doc FROM {table} WHERE term = ?", (term,)).get or 0)
    if not turns or not absent:
        return turns
    rows: Any = connection.execute(f"SELECT doc FROM {instances} WHERE term = ?", (term,))
    return len(set(chain.from_iterable(rows)).difference(absent))


def exchanged(
    connection: apsw.Connection, reader: Tokenizer, word: str, absent: Collection[int] = ()
) -> NearWord | None:
    """Returns the most frequent word of the index that differs only by two neighbouring letters, or None."""
    if not _SHORTEST_MISTYPED <= len(word) <= LONGEST_MISTYPED:
        return None
    words = {stem: swapped for swapped in sorted(swaps(word)) for stem in reader.stems(swapped)}
    known = known_words(connection, words)
    if absent:
        known = {term: turns for term in known if (turns := turns_with(connection, term, absent))}
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


def _with_same_beginning(connection: apsw.Connection, stem: str, absent: Collection[int]) -> NearWord | None:
    prefix = stem[: max(_SHARED_LETTERS, ceil(_SHARED_PART * len(stem)))]
    if len(prefix) < _SHARED_LETTERS:
        return None
    similar: Any = connection.execute(
        "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ?", (prefix, prefix + "\U0010ffff")
    )
    if absent:
        similar = ((term, turns) for term, _ in similar if (turns := turns_with(connection, term, absent)))
    near = [
        (-part, -turns, term)
        for term, turns in islice(similar, _MOST_SIMILAR)
        if (part := shared(stem, term) / max(len(stem), len(term))) >= _SHARED_PART
    ]
    if not near:
        return None
    _, turns, term = min(near)
    return NearWord(term, -turns)
