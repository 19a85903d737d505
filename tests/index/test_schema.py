"""The tokenizer of both indexes: the words of a text, with their places in characters."""

import re
from collections.abc import Iterator
from typing import cast

import apsw
from hypothesis import example, given
from hypothesis import strategies as st

from slicebase.context.snippets import Token
from slicebase.context.words import in_usual_form, simplified
from slicebase.index.schema import UNICODE61, Tokenizer

_CONNECTION = apsw.Connection(":memory:")


@given(st.text(st.sampled_from("ab Z9_-.é漢字🎉ｆ\u0301\u200b\n"), max_size=60))
@example("“quoted” – and words → 漢字 🎉 end")
def test_the_places_of_words_are_in_characters(text: str) -> None:
    """The plain version reads the bytes before each place."""
    usual = in_usual_form(text)
    plain = _plainly(simplified(text).encode())
    assert Tokenizer(_CONNECTION).tokens(text) == [(*usual.span(start, end), stem) for start, end, stem in plain]


@given(st.text(st.sampled_from("ab .é漢ｆﬁﬄﾃﾞﾊﾟﾞĳﷲ𝐀ß"), max_size=30))
@example("ﬁle ﾃﾞｰﾀ ｱﾞﾞﾟ")
def test_a_place_in_the_usual_form_of_a_text_is_where_its_character_is(text: str) -> None:
    usual = in_usual_form(text)
    assert usual.text == simplified(text)
    for start in range(len(usual.text)):
        for end in range(start + 1, len(usual.text) + 1):
            first, last = usual.span(start, end)
            assert 0 <= first < last <= len(text)
            assert usual.text[start:end] in simplified(text[first:last])
    assert usual.span(0, len(usual.text)) == (0, len(text))
    spans = [(start, end) for start, end, _ in Tokenizer(_CONNECTION).tokens(text)]
    plain = _plainly(usual.text.encode())
    assert spans == [usual.span(start, end) for start, end, _ in plain]


def _plainly(data: bytes) -> list[Token]:
    """Returns the words in the bytes of a text, and splits those in which a script without spaces begins or ends."""
    tokenizer = _CONNECTION.fts5_tokenizer("porter", ["unicode61", *UNICODE61])
    found = tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
    tokens = cast("list[Token]", found)
    spans = [(len(data[:start].decode()), len(data[:end].decode()), stem) for start, end, stem in tokens]
    text = data.decode()
    return [each for span in spans for each in _apart(text, *span)]


def _apart(text: str, start: int, end: int, stem: str) -> Iterator[Token]:
    pieces = list(re.finditer("[漢字\u3040-\u30ff]+|[^漢字\u3040-\u30ff]+", text[start:end]))
    if len(pieces) == 1:
        yield start, end, stem
        return
    for piece in pieces:
        yield from (
            (start + piece.start() + s, start + piece.start() + e, w) for s, e, w in _plainly(piece[0].encode())
        )
