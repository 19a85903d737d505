"""The tokenizer of both indexes: the words of a text, with their places in characters."""

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
    assert Tokenizer(_CONNECTION).tokens(text) == _plainly(simplified(text).encode())


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
    tokenizer = _CONNECTION.fts5_tokenizer("porter", ["unicode61", *UNICODE61])
    found = tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
    tokens = cast("list[Token]", found)
    return [(len(data[:start].decode()), len(data[:end].decode()), stem) for start, end, stem in tokens]
