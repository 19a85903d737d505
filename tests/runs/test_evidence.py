"""Evidence: citing, ids, and whether the text is still there (requirements C and D, ruling 36)."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.runs.evidence import GONE, PURGED, Chunk, Evidence, Lookup, cite, evidence_id, is_sound, places, resolve
from slicebase.runs.records import Span
from tests.paths import GOLDEN
from tests.runs.made import STALE, TEXT, TURN, pointer

VECTOR = json.loads((GOLDEN / "ids.json").read_text())["evidence"]
PAYLOAD = digest(b"a document")


def span(start: int, end: int) -> Span:
    return Span(start=start, end=end)


def test_the_id_matches_the_vector() -> None:
    chunk = Chunk("session:s1", "turn:00000000-0000-0000-0000-000000000001", "hello world")
    made = cite(chunk, "hello")
    assert made.quote_hash == VECTOR["quote_hash"]
    assert made.evidence_id == VECTOR["evidence_id"]


def test_a_pointer_has_exactly_the_specifications_fields() -> None:
    made = pointer(STALE)
    assert list(made) == ["evidence_id", "chunk_id", "span"]
    assert list(made["span"]) == ["start", "end"]


def test_the_same_text_in_two_corpora_is_two_pieces_of_evidence() -> None:
    """Requirement D: ids are namespaced by their corpus."""
    row = "row:f1/r1"
    first = cite(Chunk("file:f1", row, TEXT), "The tests pass.")
    second = evidence_id("file:f2", row, first.span, first.quote_hash)
    assert first.evidence_id != second


def test_quote_and_span_give_the_same_evidence() -> None:
    by_quote = cite(TURN, "The tests pass.")
    assert cite(TURN, span=by_quote.span) == by_quote
    assert cite(TURN, "The tests pass.", by_quote.span) == by_quote


def test_spans_count_code_points() -> None:
    chunk = TURN._replace(text="naïve 😀 café")
    assert cite(chunk, "café").span == span(8, 12)


@pytest.mark.parametrize(
    "chunk",
    [
        Chunk("session:a b", "turn:00000000-0000-0000-0000-000000000001", TEXT),
        Chunk("file:f1", "row:f1/r1", TEXT),
        Chunk("file:f1", "sec:f1@0123456789ab#heading/sub", TEXT),
        Chunk(f"doc:{PAYLOAD}", f"doc:{PAYLOAD[7:23]}:0-100", TEXT),
    ],
)
def test_all_four_kinds_of_chunk_are_cited_in_the_same_way(chunk: Chunk) -> None:
    made = cite(chunk, "The tests pass.")
    assert is_sound(made)
    assert resolve(made, Lookup("same", chunk.text)).status == "found"


@pytest.mark.parametrize(
    ("chunk", "code"),
    [
        (Chunk("file:f1", "file:f1", TEXT), "not-a-chunk"),
        (Chunk("file:f2", "row:f1/r1", TEXT), "not-a-chunk"),
        (Chunk("file:f10", "row:f1/r1", TEXT), "not-a-chunk"),
        (Chunk("session:s1", "row:f1/r1", TEXT), "not-a-chunk"),
        (Chunk("file:s1", TURN.chunk_id, TEXT), "not-a-chunk"),
        (Chunk(f"doc:{PAYLOAD}", "doc:0000000000000000:0-100", TEXT), "not-a-chunk"),
        (Chunk("session:s1", "nothing", TEXT), "bad-reference"),
    ],
)
def test_a_chunk_that_is_not_of_its_corpus_cannot_be_cited(chunk: Chunk, code: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        cite(chunk, "The tests pass.")
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("quote", "where", "code"),
    [
        ("It is not there.", None, "quote-not-found"),
        ("the tests pass.", None, "quote-not-found"),
        ("", None, "quote-not-found"),
        (None, None, "quote-not-found"),
        ("The", None, "quote-ambiguous"),
        ("The", span(1, 4), "quote-not-found"),
        (None, span(0, len(TEXT) + 1), "bad-span"),
        (None, span(-1, 3), "bad-span"),
        (None, span(3, 3), "bad-span"),
    ],
)
def test_a_quote_or_span_that_is_not_in_the_text_cannot_be_cited(
    quote: str | None, where: Span | None, code: str
) -> None:
    with pytest.raises(SlicebaseError) as caught:
        cite(TURN, quote, where)
    assert caught.value.code == code


def test_a_quote_found_twice_can_be_cited_by_its_span() -> None:
    second = places(TEXT, "The")[1]
    assert cite(TURN, "The", second).span == second


def test_places_that_overlap_are_both_found() -> None:
    assert places("aaa", "aa") == [span(0, 2), span(1, 3)]


def test_evidence_whose_chunk_is_gone_returns_its_stored_quote() -> None:
    assert resolve(STALE, GONE) == ("gone", STALE.quote, None)


def test_evidence_whose_text_changed_returns_its_stored_quote_and_where_it_moved() -> None:
    assert resolve(STALE, Lookup("same", "All is well.")) == ("changed", STALE.quote, None)
    moved = resolve(STALE, Lookup("same", "Well: " + TEXT))
    assert moved.status == "changed"
    assert moved.moved_to == span(STALE.span.start + 6, STALE.span.end + 6)


def test_another_text_in_place_of_a_chunk_is_a_change_even_if_it_has_the_quote() -> None:
    """A chunk of a document is named by the hash of its payload, so another payload is another chunk."""
    assert resolve(STALE, Lookup("other", TEXT)).status == "changed"


def test_purged_evidence_has_no_quote() -> None:
    assert resolve(STALE, PURGED) == ("purged", None, None)
    assert resolve(msgspec.structs.replace(STALE, quote=None), Lookup("same", "other")) == ("purged", None, None)
    assert resolve(msgspec.structs.replace(STALE, quote=None), Lookup("same", TEXT)) == ("found", STALE.quote, None)
    assert is_sound(msgspec.structs.replace(STALE, quote=None))


@pytest.mark.parametrize(
    "changed",
    [
        {"evidence_id": "ev_" + "0" * 32},
        {"corpus_id": "session:s2"},
        {"chunk_id": "turn:00000000-0000-0000-0000-000000000002"},
        {"span": span(0, 22)},
        {"quote_hash": digest(b"other")},
        {"quote": "the lock file is fresh"},
    ],
)
def test_a_record_with_one_changed_value_is_not_sound(changed: dict[str, object]) -> None:
    assert not is_sound(msgspec.structs.replace(STALE, **changed))


@given(text=st.text(min_size=1, max_size=60), data=st.data())
def test_whatever_is_cited_is_found_again(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    made = cite(TURN._replace(text=text), span=span(start, end))
    assert is_sound(made)
    assert resolve(made, Lookup("same", text)) == ("found", text[start:end], None)
    assert msgspec.json.decode(msgspec.json.encode(made), type=Evidence) == made
