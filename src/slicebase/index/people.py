"""The people whom a question names otherwise than the labels of their turns do.

Mel is Melanie if only one label begins so, and the name was used. Al is who says "call me Al", or of whom somebody says
"Al (Alexander)".
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

import apsw

from slicebase.context.question import Question
from slicebase.context.words import Word
from slicebase.index.nearby import turns_with

_MOST_NAMES: Final = 4
_MOST_LABELS: Final = 64  # words of labels: where there are more, they are not names of people
_MOST_NAMED: Final = 5_000  # turns that have a name: what is everywhere is no nickname
_INTRODUCED: Final = ("call me", "calls me", "i go by", "my name is", "my nickname is", "my friends call me")
_LABELS: Final = "SELECT label FROM turn WHERE label <> '' AND number IN (SELECT value FROM json_each(?))"


def also_named(
    connection: apsw.Connection,
    question: Question,
    labels: Collection[str],
    absent: Collection[int],
) -> frozenset[str]:
    """Returns those of these labels whose people the question names by another name."""
    words = sorted({word for label in labels for word in label.split()})
    unknown = [name for name in question.people if words and name.stem not in words][:_MOST_NAMES]
    used = [name for name in unknown if 0 < turns_with(connection, name.stem, absent) <= _MOST_NAMED]
    found = (label for name in used for label in _labels_of(connection, name, labels, words, absent))
    return frozenset(found)


def _labels_of(
    connection: apsw.Connection,
    name: Word,
    labels: Collection[str],
    words: Sequence[str],
    absent: Collection[int],
) -> Iterator[str]:
    longer = [label for label in labels if any(word.startswith(name.text) for word in label.split())]
    if len(longer) == 1:
        yield from longer
    says = _having(connection, [f"{introduction} {name.text}" for introduction in _INTRODUCED], absent)
    yield from {label for (label,) in connection.execute(_LABELS, (json.dumps(says),))}.intersection(labels)
    # A call by name stands behind any word ("in Paris, Melanie"): a short form has its first letters in the long one.
    phrases = {word: f"{name.text} {word}" for word in words[:_MOST_LABELS] if name.text[:2] in word}
    if phrases and _having(connection, phrases.values(), absent):
        said = {word for word, phrase in phrases.items() if _having(connection, [phrase], absent)}
        yield from (label for label in labels if not said.isdisjoint(label.split()))


def _having(connection: apsw.Connection, phrases: Iterable[str], absent: Collection[int]) -> list[int]:
    query = " OR ".join(f'"{phrase}"' for phrase in phrases)
    found = connection.execute("SELECT rowid FROM words WHERE words MATCH ?", (query,))
    return [number for (number,) in found if number not in absent]
