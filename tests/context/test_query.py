"""Queries: any text is a query, and typed text is never an operator."""

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.match import expression
from slicebase.context.query import Term, read
from slicebase.index.schema import FTS_TOKENIZER


@pytest.mark.parametrize(
    ("typed", "terms"),
    [
        ("retry queue", [Term("retry"), Term("queue")]),
        ('"retry queue" fails', [Term("retry queue", quoted=True), Term("fails")]),
        ("retr* queue", [Term("retr", begins=True), Term("queue")]),
        ("(retr* **queue** app.*", [Term("retr", begins=True), Term("queue", begins=True), Term("app.", begins=True)]),
        ('"retry que"*', [Term("retry que", begins=True, quoted=True)]),
        ('"not closed', [Term("not"), Term("closed")]),
        ("retry retry", [Term("retry")]),
        ("AND OR NOT NEAR(", [Term(each, whole=True) for each in ("AND", "OR", "NOT", "NEAR")]),
        ("-- && …", []),
        ("JWT認証", [Term("JWT", whole=True), Term("認証", unspaced=True)]),
        ('"\u064b" "\u0640 \u0591"* retry', [Term("retry")]),  # points and vowels are in no text that is searched
        ("", []),
    ],
)
def test_a_query_is_words_phrases_and_beginnings(typed: str, terms: list[Term]) -> None:
    assert list(read(typed).terms) == terms


@pytest.mark.parametrize(
    "name", ["word", "GIT_INDEX_FILE", ".env", "@types/node", "_private", "#12", "v2.1", "a_b", "1.2.3", "~/.bashrc"]
)
def test_a_dash_excludes_words_and_identifiers(name: str) -> None:
    query = read(f"git -{name}")
    assert [term.text for term in query.terms] == ["git"]
    assert [term.text for term in query.excluded] == [name]


@pytest.mark.parametrize("word", ["-v", "-O2", "-5", "-1.5", "--force", "->next", "-=1"])
def test_short_flags_numbers_and_operators_exclude_nothing(word: str) -> None:
    assert not read(f"git {word}").excluded


@given(st.text(st.characters() | st.sampled_from("\ud83d\ude00\udce9"), max_size=40))
def test_any_text_is_a_query_that_fts5_understands(typed: str) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute(f'CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = "{FTS_TOKENIZER}")')
    query = read(typed)
    terms = [term for term in query.terms if any(map(str.isalnum, term.text))]
    assert all(each.value.encode() for each in query.filters)
    for either in (False, True) if terms else ():
        connection.execute("SELECT * FROM words WHERE words MATCH ?", (expression(terms, either=either),)).fetchall()
