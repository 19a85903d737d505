"""Beginnings of words in an index that has only stems.

A word that begins with `improvemen` is in the index as `improv`. So the index is asked for a shorter beginning, one
that the stems of all these words have. The texts that it finds are compared with what was typed.
"""

import re
from functools import lru_cache
from typing import Final

from slicebase.context.words import unaccented

# What the Porter stemmer cuts off, by what it leaves: any vowel, or a vowel and a consonant once or twice. Several of
# them may follow each other; `e` and `y` are pieces of their own.
_INFLECTED: Final = ("s", "es", "ed", "ing", "e", "y", "i")
_AFTER_ONE: Final = ("ful", "ness", "ativ", "il")
_AFTER_TWO: Final = (
    "al", "anc", "enc", "er", "or", "ic", "abl", "ibl", "abil", "ibil", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "at", "it", "ous", "iv", "iz",
)  # fmt: skip
_ANY: Final = ("ly", *_INFLECTED, *_AFTER_ONE, *_AFTER_TWO)
_BEFORE_LY: Final = ("e", "al", "ent", "ous", "b")
# Patterns are compiled on first use, for a fast start.
_PAIRS: Final = ("[aeiouy]+[^aeiouy]+", "[aeiou]+[^aeiou]+")
_VOWELS: Final = frozenset("aeiouy")
_LONGEST: Final = 64  # the stemmer leaves longer words as they are


def indexed_beginning(word: str) -> str:
    """Returns a beginning that the stem of every word has that begins with this one, and its own stem as well."""
    low = unaccented(word.lower())
    if len(low) > _LONGEST:
        return low
    cut = next((low[:end] for end in range(1, len(low)) if _may_be_cut(low[:end], low[end:])), low)
    return low if cut == low else indexed_beginning(cut)


def _may_be_cut(base: str, ending: str) -> bool:
    """Returns whether a word that begins with both may have a stem without the ending."""
    pieces: tuple[str, ...] = _INFLECTED if not _VOWELS.isdisjoint(base) else ("s",)
    pairs = max(len(re.findall(pair, base)) for pair in _PAIRS)  # `y` may be either
    if pairs:
        pieces += (*_AFTER_ONE, "ly") if base.endswith(_BEFORE_LY) else _AFTER_ONE
    if pairs > 1:
        pieces += _AFTER_TWO
    doubled = ending[0] == base[-1] and ending[0] not in "aeiou"  # `running`
    return _is_chain(ending, pieces) or (doubled and (len(ending) == 1 or _is_chain(ending[1:], pieces)))


@lru_cache(maxsize=1024)  # so that the time stays short for any text
def _is_chain(ending: str, pieces: tuple[str, ...]) -> bool:
    """Returns whether an ending is the beginning of pieces in a row, of which the first is one of these."""
    return any(
        piece.startswith(ending) or (ending.startswith(piece) and _is_chain(ending[len(piece) :], _ANY))
        for piece in pieces
    )
