"""Beginnings of words: the index has stems, and the beginning that it is asked for is one of every stem."""

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.beginnings import indexed_beginning
from slicebase.index.schema import Tokenizer

READER = Tokenizer(apsw.Connection(":memory:"))
STEMMED = """
    improvements analysis analyses amazing situation evaluations running anything anyone temporary unknown strategy
    cities hopefulness relational happily conditional decisiveness formalities adjustable replacement predication
    troubled sized falling skies agreed plastered motoring controlling valency hesitancy digitizer operator feudalism
    responsible communication homologous effective bowdlerize generically trying tied flies dies
""".split()  # noqa: SIM905 - as a list it would take forty lines


def asked_for(beginning: str) -> str:
    """Returns what the index searches: FTS5 reads a beginning like any word, so it is stemmed, too."""
    (stem,) = READER.stems(indexed_beginning(beginning))
    return stem


@pytest.mark.parametrize("word", STEMMED)
def test_every_beginning_of_a_word_asks_for_a_beginning_of_its_stem(word: str) -> None:
    (stem,) = READER.stems(word)
    for end in range(1, len(word) + 1):
        assert stem.startswith(asked_for(word[:end])), word[:end]


_LETTERS = st.text(alphabet="aeiybcdlmnrstvz", min_size=1, max_size=8)
_PIECES = "s es ed ing e y ly ful ness ation ization ement ment ent al er ic able ible ive ize ous ism"
_ENDINGS = st.lists(st.sampled_from(_PIECES.split()), max_size=3).map("".join)


@given(_LETTERS, _ENDINGS, st.integers(1, 30))
def test_that_holds_for_any_word_with_any_ending(beginning: str, ending: str, end: int) -> None:
    word = beginning + ending
    (stem,) = READER.stems(word)
    assert stem.startswith(asked_for(word[:end]))
