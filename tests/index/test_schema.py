"""The tokenizer of both indexes: the words of a text, with their places in characters."""

from typing import cast

import apsw
from hypothesis import example, given
from hypothesis import strategies as st

from slicebase.context.snippets import Token
from slicebase.context.words import simplified
from slicebase.index.schema import UNICODE61, Tokenizer

_CONNECTION = apsw.Connection(":memory:")


@given(st.text(st.sampled_from("ab Z9_-.é漢字🎉ｆ\u0301\u200b\n"), max_size=60))
@example("“quoted” – and words → 漢字 🎉 end")
def test_the_places_of_words_are_in_characters(text: str) -> None:
    """The plain version reads the bytes before each place."""
    assert Tokenizer(_CONNECTION).tokens(text) == _plainly(simplified(text).encode())


def _plainly(data: bytes) -> list[Token]:
    tokenizer = _CONNECTION.fts5_tokenizer("porter", ["unicode61", *UNICODE61])
    found = tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
    tokens = cast("list[Token]", found)
    return [(len(data[:start].decode()), len(data[:end].decode()), stem) for start, end, stem in tokens]
