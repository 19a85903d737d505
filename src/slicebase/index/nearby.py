"""Words of an index that are similar to a word that it does not have."""

import json
from collections.abc import Iterator
from math import ceil
from typing import Final, NamedTuple

import apsw

from slicebase.context.words import Word

# Two words count as one if they share their first letters, and these are most of the longer word.
_SHARED_LETTERS: Final = 4
_SHARED_PART: Final = 0.7
_MOST_SIMILAR: Final = 500
_SHORTEST_MISTYPED: Final = 5  # characters: `form` is not `from`
_LONGEST_MISTYPED: Final = 64

_ONE_OF: Final = "SELECT term, doc FROM json_each(?) CROSS JOIN vocabulary ON term = value"


class NearWord(NamedTuple):
    """A word of the index, and how many texts have it."""

    term: str
    turns: int


def nearest(connection: apsw.Connection, word: Word) -> NearWord | None:
    """Returns the most similar word of the index: with another ending, or with two letters exchanged; or None."""
    return _with_same_beginning(connection, word.stem) or exchanged(connection, word)


def exchanged(connection: apsw.Connection, word: Word) -> NearWord | None:
    """Returns the most frequent word of the index that differs only by two neighbouring letters, or None."""
    if not _SHORTEST_MISTYPED <= len(word.text) <= _LONGEST_MISTYPED:
        return None
    tried = json.dumps(sorted({*_swaps(word.text), *_swaps(word.stem)}))
    found = sorted((-turns, term) for term, turns in connection.execute(_ONE_OF, (tried,)))
    return NearWord(found[0][1], -found[0][0]) if found else None


def _swaps(word: str) -> Iterator[str]:
    """Yields the word with each two neighbouring letters exchanged."""
    for at in range(len(word) - 1):
        if word[at] != word[at + 1]:
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _with_same_beginning(connection: apsw.Connection, stem: str) -> NearWord | None:
    prefix = stem[: max(_SHARED_LETTERS, ceil(_SHARED_PART * len(stem)))]
    if len(prefix) < _SHARED_LETTERS:
        return None
    similar = connection.execute(
        "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?",
        (prefix, prefix + "\U0010ffff", _MOST_SIMILAR),
    )
    near = [
        (-part, -turns, term)
        for term, turns in similar
        if (part := _shared(stem, term) / max(len(stem), len(term))) >= _SHARED_PART
    ]
    if not near:
        return None
    _, turns, term = min(near)
    return NearWord(term, -turns)


def _shared(one: str, other: str) -> int:
    return next(
        (at for at, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs),
        min(len(one), len(other)),
    )
