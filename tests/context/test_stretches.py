"""A long text is read in stretches, and every term that it has is found in one of them."""

from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.match import Match
from slicebase.context.query import read
from slicebase.context.snippets import Marker, Token, snippet
from slicebase.context.stretches import first_marks, head_of
from tests.context.test_snippets import READER

SIZE = 300
WORDS = st.sampled_from(
    [
        "retries",
        "queue",
        "Naïve",
        "parseArgs",
        "read_file",
        "MAX-9",
        "lock",
        "— so",
        "認証方式",
        "1,000",
        "x" * 190,
        "\n",
    ]
)
QUERIES = st.lists(
    st.sampled_from(["retry", "naive", '"queue lock"', "read_file", "args", "que*", "認証", "1000", "max-9", "absent"]),
    min_size=1, max_size=3, unique=True,
).map(" ".join)  # fmt: skip


@given(st.lists(WORDS, max_size=120).map(" ".join), QUERIES)
def test_a_long_text_has_marks_of_the_same_terms_as_if_it_were_read_at_once(text: str, query: str) -> None:
    terms = read(query).terms
    marker = Marker(terms, Match.WHOLE, READER.stems)
    heads = [head_of(term, READER.stems(term.text)) for term in terms]
    plain = marker.marks(text, READER.tokens(text))
    found = first_marks(text, SIZE, heads, marker, READER.tokens)
    assert set(found) <= set(plain)
    assert {mark.term for mark in found} == {mark.term for mark in plain}


def test_of_a_long_text_only_what_a_snippet_needs_is_read() -> None:
    text = "nothing to see here. " * 5000 + "It retries the lock. " + "It retries again. " * 5000
    terms = read("retry lock").terms
    marker = Marker(terms, Match.WHOLE, READER.stems)
    sizes = list[int]()

    def tokens(part: str) -> list[Token]:
        sizes.append(len(part))
        return READER.tokens(part)

    heads = [head_of(term, READER.stems(term.text)) for term in terms]
    found = first_marks(text, 20_000, heads, marker, tokens)
    assert sum(sizes) < 25_000
    shown = snippet(text, found)
    assert [shown.text[start:end] for start, end in shown.marks][:2] == ["retries", "lock"]
    assert shown.place == text.index("retries")
