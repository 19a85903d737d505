"""Marks are at the places where the index found the words, and a snippet is a part of the text."""

from typing import Literal
from unicodedata import normalize

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slicebase.context import words
from slicebase.context.forms import for_index
from slicebase.context.match import Match, TermPattern, expression, is_compared
from slicebase.context.query import read
from slicebase.context.snippets import Marker, Snippet, snippet
from slicebase.index.schema import FTS_TOKENIZER, Tokenizer

_Form = Literal["NFC", "NFD"]
CONNECTION = apsw.Connection(":memory:")
READER = Tokenizer(CONNECTION)


def shown(text: str, query: str) -> Snippet:
    terms = read(query).terms
    marker = Marker(terms, Match.WHOLE, READER.stems)
    return snippet(text, marker.marks(text, READER.tokens(text)))


def marked(text: str, query: str) -> str:
    found = shown(text, query)
    pieces, place = [], 0
    for start, end in found.marks:
        pieces += [found.text[place:start], "[", found.text[start:end], "]"]
        place = end
    return "".join(pieces) + found.text[place:]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("It retries twice.", "retry", "It [retries] twice."),
        ("strings.HasSuffix(x)", "has", "strings.[Has]Suffix(x)"),
        ("Naïve ideas", "naive", "[Naïve] ideas"),
        ("retry, then the retry queue", '"retry queue"', "retry, then the [retry queue]"),
        ("retrying retro", "retr*", "[retrying] [retro]"),
        ("the retry queues", '"retry que"*', "the [retry que]ues"),
        ("方式の認証について", "認証", "方式の[認証]について"),
        ("Python代码和getUserMedia函数", "python", "[Python]代码和getUserMedia函数"),
        ("Python代码和getUserMedia函数", "getUserMedia", "Python代码和[getUserMedia]函数"),
        ("في مَدْرَسَةٍ قديمة", "مدرسة", "في [مَدْرَسَةٍ] قديمة"),
        ("ใช้Redis第3章", "redis 3", "ใช้[Redis]第[3]章"),
        ("one\n\ntwo  three", "three", "one two [three]"),
        ("nothing here", "absent", "nothing here"),
        ("", "absent", ""),
    ],
)
def test_words_are_marked_as_the_index_reads_them(text: str, query: str, expected: str) -> None:
    assert marked(text, query) == expected


@given(st.text("aAbBéÉ日_ .9", max_size=30))
def test_tokens_are_at_their_places_in_any_script(text: str) -> None:
    for start, end, stem in READER.tokens(text):
        assert READER.stems(text[start:end]) == [stem]


@given(
    st.text("aAkKsSiIſıİ\u212a_é. ", max_size=8), st.text("aAkKsSiIſıİ\u212a_é. ", max_size=8), st.sampled_from(Match)
)
def test_where_a_pattern_matches_its_letters_are(query: str, text: str, way: Match) -> None:
    for term in read(query).terms:
        sought = TermPattern(term, way)
        assert sought.may_match(text) or not sought.pattern.search(text)


LOREM = "Lorem ipsum dolor sit amet. " * 40


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Herr Müller", "Mueller", "[Müller]"),
        ("데이터베이스를 열었다", "데이터베이스", "[데이터베이스를]"),
        ("costs 1,234,567 coins", "1234567", "[1,234,567]"),
        ("full width ＡＢＣ here", "ABC", "[ＡＢＣ]"),
        ("full width ｌｅｔｔｅｒｓ here", "letter", "[ｌｅｔｔｅｒｓ]"),
        ("half width ﾃﾞｰﾀﾍﾞｰｽ here", "データベース", "width [ﾃﾞｰﾀﾍﾞｰｽ] here"),
        ("half width ﾃﾞｰﾀﾍﾞｰｽ here", "ﾍﾞｰ", "ﾃﾞｰﾀ[ﾍﾞｰ]ｽ here"),
        ("ﬃ ﬁle here", "file", "ﬃ [ﬁle] here"),
        ("ﬃ ﬁle here", '"file here"', "ﬃ [ﬁle here]"),
        ("ﬃ ﬁle here", "fi*", "ﬃ [ﬁle] here"),
        ("oﬄine_mode, then", "offline_mode", "[oﬄine_mode], then"),
        ("ﬀ: go to Łódź now", "lodz", "to [Łódź] now"),
        ("ﬀ: go to Łódź now", "lod*", "to [Łódź] now"),
        ("ﬀ: Þór said", "thor", "ﬀ: [Þór] said"),
        ("ﬀ: Þórbergur said", "thor*", "ﬀ: [Þórbergur] said"),
        ("ﬀ: ışık yandı", "isik", "ﬀ: [ışık] yandı"),
        ("calls parseArgs here", "args", "parse[Args]"),
        ("Maintain the container. An AI answers", "AI", "An [AI] answers"),
        ("PostRun of macOS, then OS", "OS", "then [OS]"),
        ("in C# and C++ we", "C++", "C# and [C++]"),
    ],
)
def test_a_snippet_marks_what_was_found_in_whatever_form(text: str, query: str, expected: str) -> None:
    found = marked(LOREM + text, query)
    assert expected in found
    assert found.count("[") == 1


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Herr Müller", "müller", "[Müller]"),
        ("Herr Müller", "muller", "[Müller]"),
        ("Herr Müller", "mueller", "[Müller]"),
        ("Herr Müller", "mull*", "[Müller]"),
        ("Herr Müller", "müll*", "[Müller]"),
        ("Herr Müller", "muell*", "[Müller]"),
        ("une façade ici", "faç*", "[façade]"),
        ("un café noir", "caf*", "[café]"),
        ("une crème brûlée", '"crème brûlée"', "[crème brûlée]"),
        ("die büro_größe.py", "büro_größe.py", "[büro_größe.py]"),
        ("die büro_größe.py", "groesse", "[büro_größe]"),
        ("tiếng Việt rất hay", "vie*", "[Việt]"),
        ("στην Ελλάδα πρώτα", "ελλ*", "[Ελλάδα]"),
        ("하늘이 맑다", "하늘", "[하늘이]"),
        ("が行のガンダム", "ガンダム", "[ガンダム]"),
    ],
)
@pytest.mark.parametrize("written", ["NFC", "NFD"])
@pytest.mark.parametrize("typed", ["NFC", "NFD"])
def test_a_snippet_marks_letters_with_accents_however_they_are_stored(
    text: str, query: str, expected: str, written: _Form, typed: _Form
) -> None:
    found = marked(normalize(written, text), normalize(typed, query))
    assert expected in normalize("NFC", found)


def test_a_snippet_shows_the_part_with_the_most_different_words() -> None:
    text = "heron " * 60 + "and then a heron met a stork by the water " + "heron " * 60
    found = marked(text, "heron stork")
    assert "[stork]" in found
    assert found.startswith("… ")
    assert found.endswith(" …")
    assert len(shown(text, "heron stork").text) <= 210


def test_a_snippet_has_the_place_of_its_first_mark() -> None:
    text = "x " * 500 + "heron"
    assert text[shown(text, "heron").place :] == "heron"


_words = st.lists(st.sampled_from(["heron", "herons", "stork", "the", "認証方式", "ibis-nest", "\n"]), max_size=12)


@given(
    words=_words, query=st.sampled_from(["heron", "stork", '"heron stork"', "her*", "認証", "ibis nest", '"the her"*'])
)
def test_what_is_marked_is_what_fts5_finds(words: list[str], query: str) -> None:
    """The marks agree with the index that found the text, and with the comparison that follows."""
    text = " ".join(words)
    CONNECTION.execute("DROP TABLE IF EXISTS words")
    CONNECTION.execute(f'CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = "{FTS_TOKENIZER}")')
    CONNECTION.execute("INSERT INTO words VALUES (?)", (for_index(text),))
    terms = read(query).terms
    marker = Marker(terms, Match.WHOLE, READER.stems)
    matched = CONNECTION.execute("SELECT count(*) FROM words WHERE words MATCH ?", (expression(terms),)).get
    compared = [TermPattern(term, Match.WHOLE) for term in terms if is_compared(term)]
    marks = marker.marks(text, READER.tokens(text))
    holds = bool(matched) and all(each.is_in(text) for each in compared)
    assert ({mark.term for mark in marks} == set(range(len(terms)))) == holds


@given(text=st.text(max_size=400), query=st.sampled_from(["a", "0", "é", "認"]))
def test_any_text_has_a_snippet_in_one_line_with_marks_inside(text: str, query: str) -> None:
    found = shown(text, query)
    assert "\n" not in found.text
    assert all(0 <= start < end <= len(found.text) for start, end in found.marks)


@given(
    text=st.text("aekoAE \u0301\u0308\u0323é한\u1112\u1161\u11ab\u200d👩", max_size=30),
    query=st.text("aekoé\u0301한", min_size=1, max_size=3),
    ending=st.sampled_from(["", "*"]),
)
@example("\u200dA", "a", "")
def test_no_mark_begins_or_ends_inside_of_a_character(text: str, query: str, ending: str) -> None:
    marks = Marker(read(query + ending).terms, Match.WHOLE, READER.stems).marks(text, READER.tokens(text))
    for mark in marks:
        assert words.character_start(text, mark.start) == mark.start
        assert words.next_character(text, mark.end) == mark.end


@pytest.mark.parametrize(("letter", "typed"), [("x", "xx*"), ("e\u0301", "\u00e9*"), ("x ", f'"{"x " * 400}x"')])
def test_a_long_word_is_no_long_snippet(letter: str, typed: str) -> None:
    found = shown(f"The key {letter * 5_000} is a secret.", typed)
    assert len(found.text) < 600
    [(start, end)] = found.marks
    assert end - start >= 400
    assert set(found.text[start:end]) == set(letter)
