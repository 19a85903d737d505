"""Exact words are exact: identifiers are found whole, quoted text as it is, and filters narrow."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.context.identifiers import is_identifier, runs_of, trimmed
from slicebase.context.match import Match, tries, without
from slicebase.context.query import Term, read
from slicebase.graph.contents import CallMade, kind_bits
from slicebase.index.narrow import EVERY_TURN, TurnFilters
from slicebase.index.turn_schema import IndexedTurn
from slicebase.index.turn_search import Bounds, FoundHits, TurnHit
from slicebase.index.turns import TurnIndex
from tests.amounts import MORE
from tests.paths import SHARED


def indexed(texts: Mapping[str, str]) -> TurnIndex:
    index = TurnIndex()
    index.add(IndexedTurn(name, "s", at, (), text) for at, (name, text) in enumerate(texts.items()))
    return index


ENOUGH = Bounds(1_000)
LATER = 10**12  # milliseconds: times of 1970 are no dates


def searched(texts: Mapping[str, str], query: str, *, either: bool = False, bounds: Bounds = ENOUGH) -> FoundHits:
    asked = read(query)
    with indexed(texts) as index:
        for attempt in tries(asked, either=either):
            found = index.search(asked, TurnFilters(without=without(asked)), texts.get, bounds, attempt)
            if found.hits:
                break
        return found


def hits(texts: Mapping[str, str], query: str, *, either: bool = False) -> list[TurnHit]:
    return searched(texts, query, either=either).hits


def found(texts: Iterable[str], query: str, *, either: bool = False) -> list[str]:
    named = {f"t{at}": text for at, text in enumerate(texts)}
    return [named[hit.turn] for hit in hits(named, query, either=either)]


# Identifiers

_WORD = st.sampled_from(["foo", "bar", "Foo", "baz", "git", "v1", "x", "Id", "2"])
_IDENTIFIER = st.one_of(
    st.builds("_".join, st.lists(_WORD, min_size=2, max_size=3)),
    st.builds("-".join, st.lists(_WORD, min_size=2, max_size=3)),
    st.builds(".".join, st.lists(_WORD, min_size=2, max_size=3)),
    st.builds("/".join, st.lists(_WORD, min_size=2, max_size=4)),
    st.builds(
        lambda words: words[0] + "".join(map(str.capitalize, words[1:])), st.lists(_WORD, min_size=2, max_size=3)
    ),
    st.builds(lambda words: "--" + "-".join(words), st.lists(_WORD, min_size=1, max_size=2)),
    st.builds(lambda words: "_".join(words).upper(), st.lists(_WORD, min_size=2, max_size=3)),
    st.builds(lambda words: "https://example.com/" + "/".join(words), st.lists(_WORD, min_size=1, max_size=2)),
    st.builds(lambda one, two: f"{one}.py:{two}", _WORD, st.integers(1, 30)),
    st.builds(lambda one, two: f"E{one}{two:03}", st.integers(1, 9), st.integers(0, 20)),
)
_PIECE = st.one_of(_WORD, _IDENTIFIER, st.sampled_from(["the", "(", ")", "=", "- ", "said,", "日本", "é"]))
_TEXT = st.builds(" ".join, st.lists(_PIECE, min_size=1, max_size=8))


@settings(max_examples=80 * MORE)
@given(st.lists(_TEXT, min_size=2, max_size=6, unique=True), st.data())
def test_an_identifier_finds_the_texts_that_have_it_before_those_that_do_not(texts: list[str], data: Any) -> None:
    names = sorted({name for text in texts for run in runs_of(text) if is_identifier(name := trimmed(run))})
    if not names:
        return
    name = data.draw(st.sampled_from(names))
    having = {text for text in texts if name in text}
    for query in (name if not name.startswith("-") or name.startswith("--") else f'"{name}"', f'"{name}"'):
        order = found(texts, query)
        assert having <= set(order)
        assert set(order[: len(having)]) == having
    if name != name.lower():
        assert set(found(texts, f'"{name}"')) == having


def test_an_identifier_is_found_as_written_then_inside_longer_ones_then_in_any_case() -> None:
    texts = ["my core.hooksPathSuffix", "Core.HooksPath", "set core.hooksPath now", "core hooks path"]
    assert found(texts, "core.hooksPath") == [texts[2], texts[0], texts[1]]


_PARTS = st.lists(st.sampled_from(["Get", "User", "Media", "ID", "Lines"]), min_size=1, max_size=4)


@given(st.lists(_PARTS, min_size=1, max_size=5), _PARTS, st.sampled_from(["", "_all"]))
@settings(max_examples=60 * MORE)
def test_a_name_is_found_inside_longer_ones_where_a_capital_letter_begins_it(
    names: list[list[str]], parts: list[str], end: str
) -> None:
    texts = [f"calls get{''.join(each)}{end}()" for each in names]
    query = "".join(parts)
    if is_identifier(query) and query[0].isupper():
        begins = r"(?<![^\W_])|(?<=[a-z])(?=[A-Z])"
        written, in_any_case = (rf"(?:{begins}){query}", rf"(?:{begins})(?i:{query})")
        found_hits = hits({text: text for text in texts}, query)
        by_name = [hit for hit in found_hits if hit.match < Match.OTHER_FORM]
        assert {hit.turn for hit in by_name} == {text for text in texts if re.search(in_any_case, text)}
        exact = {hit.turn for hit in by_name if hit.match <= Match.INSIDE}
        assert exact == {text for text in texts if re.search(written, text)}


def test_where_no_text_has_an_identifier_its_parts_are_searched_and_that_is_said() -> None:
    texts = {"a": "humanize the go code", "b": "only go"}
    assert [(hit.turn, hit.match) for hit in hits(texts, "go-humanize")] == [("a", Match.PARTS)]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("parse", "calls parseArgs here"),
        ("args", "calls parseArgs here"),
        ("index", "GIT_INDEX_FILE=x"),
        ("foo.py", "see /home/me/src/foo.py:12."),
        ("src/foo.py", "see /home/me/src/foo.py:12."),
        ("/home/me/src/foo.py", "see /home/me/src/foo.py:12."),
        ("--no-verify", "git commit --no-verify -m x"),
        ("no-verify", "git commit --no-verify -m x"),
        ("v1.2.3", "released v1.2.3."),
        ("C++", "in C++ we"),
        ("Mueller", "Herr Müller"),
        ("Müller", "Herr Mueller"),
        ("Müller", "Herr Muller"),
        ("Strasse", "die Straße"),
        ("ABC", "full width ＡＢＣ"),
        ("ＡＢＣ", "usual width ABC"),
        ("データベース", "half width ﾃﾞｰﾀﾍﾞｰｽ here"),
        ("ﾃﾞｰﾀﾍﾞｰｽ", "usual width データベース"),
        ("ﾍﾞｰ", "half width ﾃﾞｰﾀﾍﾞｰｽ here"),
        ('"データベース"', "half width ﾃﾞｰﾀﾍﾞｰｽ here"),
        ("file", "a ﬁle of it"),
        ("ﬁle", "a file of it"),
        ('"a file"', "a ﬁle of it"),
        ('"a ﬁle"', "a file of it"),
        ("fil*", "a ﬁle of it"),
        ("offline_mode", "set oﬄine_mode now"),
        ("isik", "bir ışık yandı"),
        ("ISIK", "bir ışık yandı"),
        ("ışık", "bir isik yandi"),
        ("ışık", "bir IŞIK yandı"),
        ("Thor", "ég heiti Þór"),
        ("thor*", "ég heiti Þórbergur"),
        ("Þór", "ég heiti Thor"),
        ("lodz", "jadę do Łodzi: ŁÓDŹ"),
        ("lod*", "jadę do Łodzi"),
        ("Łódź", "jadę do Lodz"),
        ("kobenhavn", "til København"),
        ("koebenhavn", "til København"),
        ("smorrebrod", "et smørrebrød"),
        ("dakovo", "grad Đakovo"),
        ("aero", "på Ærø"),
        ("aerg*", "der Ärger"),
        ("елка", "наша Ёлка"),
        ("ёлка", "наша ЕЛКА"),
        ("отч*", "сдал отчёт"),
        ("отчет*", "сдал отчёты"),
        ("ελληνας", "είναι Έλληνας"),
        ("Έλληνας", "ΕΛΛΗΝΑΣ ΕΙΝΑΙ"),
        ("ΕΛΛΗΝΑΣ", "είναι Έλληνας"),
        ("λόγος", "ο λογοσ"),
        ("مدرسة", "في مَدْرَسَةٍ قديمة"),
        ("مَدْرَسَة", "في مدرسة قديمة"),
        ('"مدرسة قديمة"', "في مَدْرَسَةٍ قَدِيمة"),
        ("كتاب", "هذا كتــاب"),
        ("\u0958लम", "एक क\u093cलम"),
        ("क\u093cलम", "एक \u0958लम"),
        ("שלום", "שָׁלוֹם לכולם"),
        ("שָׁלוֹם", "ואמר שלום"),
        ("كتاب", "في ﻛﺘﺎﺏ قديم"),
        ("URL", "calls parseURLs(x)"),
        ("IDs", "the userIDsList is here"),
        ("1000", "costs 1,000 coins"),
        ("1,000", "costs 1000 coins"),
        ("1 000", "costs 1,000 coins"),
        ("1,000", "costs 1 000 coins"),
        ("1.000", "costs 1000 coins"),
        ("데이터베이스", "데이터베이스를 열었다"),
        ("데이터베이스를", "데이터베이스에서는 느리다"),
        ("집", "집에서 일한다"),
        ("sesison", "a new session"),
        ("认证", "用户认证失败"),
        ("認証", "方式の認証について"),
        ("ระบบ", "เข้าสู่ระบบแล้ว"),
        ("المصادقة", "فشلت المصادقة"),
        ("ошибка", "новая ошибка"),
        ("tietokanta", "tietokanta aukeaa"),
    ],
)
def test_other_forms_of_a_word_are_found(query: str, text: str) -> None:
    assert found(["nothing of this", text], query) == [text]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("1.0.1", "released v1.0.1 today"),
        ("v1.0.1", "released 1.0.1 today"),
        ("2.3.4-rc.1", "has v2.3.4-rc.1+build5"),
        ("1000000", "costs 1,000,000 coins"),
        ("1_000_000", "costs 1000000 coins"),
    ],
)
def test_a_version_and_a_number_are_found_in_other_forms_and_not_by_their_parts(query: str, text: str) -> None:
    (hit,) = hits({"a": "the parts 1 0 2 3 4 000 rc of it", "b": text}, query)
    assert hit.turn == "b"
    assert hit.match < Match.PARTS


def test_what_was_typed_comes_before_its_other_forms() -> None:
    assert found(["line 1548: x; 1548", "sums to 1,548"], "1,548") == ["sums to 1,548", "line 1548: x; 1548"]


@pytest.mark.parametrize("either", [True, False])
def test_an_identifier_does_not_count_by_its_parts_where_some_words_are_enough(either: bool) -> None:
    texts = ["git index file; git index file", "We set GIT_INDEX_FILE once, in a text that is long."]
    assert found(texts, "GIT_INDEX_FILE zzz", either=either) == texts[1:]


@given(st.lists(_WORD, min_size=1, max_size=4), st.integers(0, 12), st.data())
@settings(max_examples=30 * MORE)
def test_the_exchange_of_two_letters_finds_the_word(others: list[str], place: int, data: Any) -> None:
    word = data.draw(st.sampled_from(["creating", "simple", "flexible", "specifically", "analysis", "strategy"]))
    at = place % (len(word) - 1)
    typed = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    assert found([" ".join([word, *others]), "nothing of it"], typed) == [" ".join([word, *others])]


# Beginnings, quoted text, excluded words

_LONG_WORDS = ("improvements", "analysis", "anything", "Animals", "running", "situation", "getWeatherByCity")
_SENTENCE = st.lists(st.sampled_from([*_LONG_WORDS, "naïve"]), min_size=1, max_size=5).map(" ".join)


@given(st.lists(_SENTENCE, min_size=1, max_size=5), st.sampled_from(_LONG_WORDS), st.integers(1, 16))
@settings(max_examples=60 * MORE)
def test_a_beginning_and_quoted_text_find_exactly_the_texts_that_have_them(
    texts: list[str], word: str, end: int
) -> None:
    begun = word[:end].lower()
    having = {text for text in texts if re.search(rf"(?<!\w){begun}", text.lower())}
    assert set(found(texts, f"{begun}*")) == set(found(texts, f'"{begun}"')) == having


def test_no_word_that_only_has_the_same_stem_begins_alike() -> None:
    assert found(["Animals live", "anything goes"], "any*") == ["anything goes"]


def test_a_beginning_of_a_longer_name_is_found() -> None:
    assert found(["calls getWeatherByCity", "get weather"], "getWeatherBy") == ["calls getWeatherByCity"]


def test_a_quoted_number_is_literal() -> None:
    texts = ["line 1548: x", "sums to 1,548 words", "1,548 euros"]
    assert found(texts, '"1,548 euros"') == [texts[2]]
    assert set(found(texts, '"1,548"')) == set(texts[1:])


def test_quoted_signs_without_a_letter_are_found() -> None:
    assert found(["map(x => y)", "done 🎉", "a & b"], '"=>"') == ["map(x => y)"]
    assert found(["map(x => y)", "done 🎉", "a & b"], '"🎉"') == ["done 🎉"]


@pytest.mark.parametrize("sign", ["❤️", "👍🏽", "👨\u200d👩\u200d👧", "🇩🇪", "1️⃣", "\ufe0f", "\u0301"])
def test_quoted_emoji_of_several_characters_are_found_and_excluded(sign: str) -> None:
    texts = [f"done {sign} today", "done today", f"xray {sign}"]
    assert found(texts, f'done "{sign}"') == found(texts, f'"{sign}" -xray') == [texts[0]]
    assert found(texts, f'done -"{sign}"') == [texts[1]]


def test_half_of_a_surrogate_pair_is_searched_as_it_is_imported() -> None:
    texts = ["caf\ufffd opens", "tea \U0001f600 now"]
    assert found(texts, "caf\udce9") == found(texts, '"caf\udce9 o"') == [texts[0]]
    assert found(texts, '"\ud83d\ude00"') == [texts[1]]
    assert found(texts, '"\ud800"') == [texts[0]]


def test_a_pasted_page_of_identifiers_is_a_query() -> None:
    assert not hits({"t": "nothing"}, " ".join(f"name_{at}" for at in range(1_100)))
    names = [f"name_{at}" for at in range(110)]
    page = " ".join(names)
    assert found([page, " ".join(names[:-1]), page.replace("name_109", "name 109")], page) == [page]
    with indexed({"t": page}) as index:
        assert len(index.similar_words([Term(f"nam{at}") for at in range(40)], {"t": page}.get)) <= 20


def test_a_page_of_names_compiles_no_pattern_for_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    compile_one = re.compile

    def counted(*given: Any) -> re.Pattern[str]:
        compiled.append(given)
        return compile_one(*given)

    monkeypatch.setattr("slicebase.context.match.re.compile", counted)
    names = [f"name_{at}" for at in range(400)]
    page = " ".join(names)
    assert found([page, " ".join(names[1:]), " ".join(names[:-1]), page.upper()], page) == [page, page.upper()]
    assert len(compiled) < 40


def test_a_quoted_text_of_many_equal_words_is_compared_whole() -> None:
    long = " ".join(["a"] * 60)
    assert found([long, " ".join(["a"] * 40)], f'"{long}"') == [long]


def test_quoted_text_is_literal_and_white_space_is_any_white_space() -> None:
    texts = ["run git commit -m now", "git\n  commit, then", "git is committed", "a Git Commit"]
    assert set(found(texts, '"git commit"')) == {texts[0], texts[1], texts[3]}
    assert found(texts, '"Git Commit"') == [texts[3]]
    assert found(texts, '"commit,"') == [texts[1]]
    assert found(texts, '"commit -m"') == [texts[0]]


_SPOKEN = st.lists(
    st.sampled_from(["it.", "exit.", "It.", "it", "file", "profile", "数据", "Redis"]), min_size=1, max_size=4
)


@given(st.lists(_SPOKEN, min_size=1, max_size=5), _SPOKEN, st.sampled_from(["据", " "]))
@settings(max_examples=60 * MORE)
def test_quoted_text_begins_at_the_beginning_of_a_word_also_where_it_is_excluded(
    spoken: list[list[str]], words: list[str], between: str
) -> None:
    """The plain version writes a space between scripts."""
    texts = {f"t{at}": between.join(each) for at, each in enumerate(spoken)}
    quoted = between.join(words)
    pattern = rf"(?<!\w){re.escape(_apart(quoted))}"
    having = {
        name
        for name, text in texts.items()
        if re.search(pattern, _apart(text), re.IGNORECASE if quoted == quoted.lower() else 0)
    }
    assert {hit.turn for hit in hits(texts, f'"{quoted}"')} == having
    every = {f"{name} any": f"{text} any" for name, text in texts.items()}
    assert {hit.turn for hit in hits(every, f'any -"{quoted}"')} == {f"{name} any" for name in texts.keys() - having}


def _apart(text: str) -> str:
    return re.sub(r"(?<=[数据])(?=\w)|(?<=\w)(?=[数据])", " ", text)


def test_an_excluded_word_or_text_is_in_no_hit() -> None:
    texts = ["heron and stork", "heron and ibis", "heron alone"]
    assert set(found(texts, "heron -stork")) == set(texts[1:])
    assert found(texts, 'heron -"and ibis" -stork') == [texts[2]]


def test_an_excluded_identifier_leaves_out_the_texts_that_have_it_and_not_those_with_its_parts() -> None:
    texts = ["git index file; a text", "git sets GIT_INDEX_FILE", "git and git_index_file"]
    assert found(texts, "git -GIT_INDEX_FILE") == texts[:1]
    assert found(["go humanize", "use go-humanize"], "go -go-humanize") == ["go humanize"]


def test_any_of_the_words_is_enough_where_that_is_asked() -> None:
    texts = ["how a heron waits", "the stork", "how to"]
    assert set(found(texts, "how is the heron stork", either=True)) == {texts[0], texts[1]}


# Filters


@pytest.fixture
def narrowed_index() -> TurnIndex:
    index = TurnIndex()
    calls = [CallMade("Bash", "c1", ()), CallMade("Edit", "c2", ("/repo/src/app/main.py",))]
    index.add(
        [
            IndexedTurn("ask", "one", LATER + 100, (), "fix heron", "user", kind_bits(["prompt"])),
            IndexedTurn("call", "one", LATER + 200, ("ask",), "heron run", "assistant", kind_bits(["call"]), calls),
            IndexedTurn("done", "one", LATER + 300, ("call",), "heron ok", "tool", kind_bits(["result"]), (), ["c2"]),
            IndexedTurn("other", "two", LATER + 400, (), "heron too", "user", kind_bits(["prompt"])),
        ]
    )
    return index


@pytest.mark.parametrize(
    ("filters", "turns"),
    [
        ("role:user", {"ask", "other"}),
        ("-role:user", {"call", "done"}),
        ("role:user role:tool", {"ask", "other", "done"}),
        ("kind:call", {"call"}),
        ("tool:bash", {"call"}),
        ("tool:Ed*", {"call", "done"}),
        ("file:main.py", {"call", "done"}),
        ("file:app/main.py", {"call", "done"}),
        ("file:*.py", {"call", "done"}),
        ("file:src", {"call", "done"}),
        ("file:ain.py", set()),
        ("tool:Edit role:tool", {"done"}),
    ],
)
def test_filters_narrow_with_and_without_words(narrowed_index: TurnIndex, filters: str, turns: set[str]) -> None:
    for words in ("heron", ""):
        query = read(f"{words} {filters}")
        found = narrowed_index.search(query, TurnFilters(query.filters), lambda turn: None, ENOUGH)
        assert {hit.turn for hit in found.hits} == turns


@pytest.mark.parametrize("stored", ["Ölweg/Straße[1]?.py", "ölweg/straße[1]?.PY", "ÖLWEG/STRAßE[1]?.Py"])
def test_case_does_not_count_in_names_of_tools_and_files(stored: str) -> None:
    with TurnIndex() as index:
        index.add([IndexedTurn("call", "s", 0, (), "calls it", "assistant", 0, [CallMade(stored, "c", (stored,))])])
        for filters in ("file:ölweg", "file:ÖLWEG/*.py", "file:straße[1]?.py", "tool:öLW*", "tool:*/straße*"):
            query = read(filters)
            assert index.search(query, TurnFilters(query.filters), lambda _: "", ENOUGH).total == 1, filters
        query = read("file:straße1a.py tool:ölweg")
        assert not index.search(query, TurnFilters(query.filters), lambda _: "", ENOUGH).total


@pytest.mark.parametrize("value", ["main.py", "App/main.py", r"app\main.py", r"C:\Me\App", "C:/me", r"me\*.py"])
def test_a_file_of_windows_is_found_by_the_end_of_its_path_and_by_its_folders(value: str) -> None:
    with TurnIndex() as index:
        call = CallMade("Edit", "c", (r"C:\Me\app\main.py",))
        index.add([IndexedTurn("call", "s", 0, (), "calls it", "assistant", 0, [call])])
        query = read(f"file:{value}")
        assert index.search(query, TurnFilters(query.filters), lambda _: "", ENOUGH).total == 1


@pytest.mark.parametrize("name", ["tool", "file"])
def test_a_thousand_filters_are_alternatives(narrowed_index: TurnIndex, name: str) -> None:
    query = read(" ".join(f"{name}:none{at}" for at in range(1_000)))
    assert not narrowed_index.search(query, TurnFilters(query.filters), lambda _: "", ENOUGH).hits


def test_a_result_belongs_to_the_call_of_its_own_session() -> None:
    with TurnIndex() as index:
        for tool, name in (("alpha", "one"), ("beta", "two")):
            call = [CallMade(f"{tool}_tool", "call_1", (f"{tool}.txt",))]
            index.add(
                [
                    IndexedTurn(f"{name}-call", name, 100, (), "calls it", "assistant", 0, call),
                    IndexedTurn(f"{name}-result", name, 200, (), f"result of {tool}", "tool", 0, (), ["call_1"]),
                ]
            )
        for filters, session in (("tool:beta_tool", "two"), ("file:alpha.txt", "one")):
            query = read(filters)
            found = index.search(query, TurnFilters(query.filters), lambda turn: None, ENOUGH)
            assert {hit.turn for hit in found.hits} == {f"{session}-call", f"{session}-result"}


def steps_of_a_search(filters: str, calls: int) -> int:
    """Returns how much SQLite does to search a session with so many calls, in hundreds of instructions."""
    counted = Counter[str]()
    with TurnIndex() as index:
        turns = [
            turn
            for at in range(calls)
            for turn in (
                IndexedTurn(
                    f"call-{at}", "s", LATER, (), "heron", "assistant", 0, [CallMade("Bash", f"c{at}", ("a.py",))]
                ),
                IndexedTurn(f"result-{at}", "s", LATER, (), "heron", "tool", 0, (), [f"c{at}"]),
            )
        ]
        index.add(turns)
        query = read(f"heron {filters}")

        def asked() -> FoundHits:
            index._connection.set_progress_handler(lambda: bool(counted.update(["steps"])), 100)
            return index.search(query, TurnFilters(query.filters, since=1), lambda turn: None, Bounds(10))

        assert index.ask(asked).total == 2 * calls
    return counted["steps"]


@pytest.mark.parametrize("filters", ["tool:bash", "file:a.py", "role:assistant role:tool"])
def test_the_work_of_a_filter_grows_with_the_turns_and_not_with_their_square(filters: str) -> None:
    assert steps_of_a_search(filters, 400) < 3 * steps_of_a_search(filters, 200)


def test_a_turn_without_a_time_is_neither_before_nor_after_another() -> None:
    with TurnIndex() as index:
        index.add([IndexedTurn("undated", "s", 0, (), "heron"), IndexedTurn("dated", "s", LATER, (), "heron")])
        for wanted in (TurnFilters(since=-100), TurnFilters(before=LATER + 1)):
            assert [hit.turn for hit in index.search(read(""), wanted, lambda turn: None, ENOUGH).hits] == ["dated"]


def test_sessions_and_times_narrow(narrowed_index: TurnIndex) -> None:
    for wanted, turns in (
        (TurnFilters(sessions={"two"}), ["other"]),
        (TurnFilters(since=LATER + 200, before=LATER + 400), ["done", "call"]),
    ):
        assert [hit.turn for hit in narrowed_index.search(read(""), wanted, lambda turn: None, ENOUGH).hits] == turns


# How many

_NESTS = ["ibis_nest", "waits", "Ibis_Nest", "waits", "ibis_nests", "waits"]
_COUNTED = {f"t{at:03}": f"heron {_NESTS[at % 6]}" for at in range(180)}


@pytest.mark.parametrize(
    "query",
    ["heron", "heron waits", "", "ibis_nest", "Ibis_Nest heron", '"heron waits"', "heron -waits", "heron -Ibis_nest"],
)
def test_a_number_of_turns_and_sessions_is_of_all_that_match_or_says_that_there_may_be_more(query: str) -> None:
    asked = read(query)
    wanted = TurnFilters(without=without(asked))
    with TurnIndex() as index:
        index.add([IndexedTurn(turn, f"s{int(turn[1:]) % 30}", 1, (), text) for turn, text in _COUNTED.items()])
        everything = index.search(asked, wanted, _COUNTED.get, ENOUGH)
        some = index.search(asked, wanted, _COUNTED.get, Bounds(4, 6))
        many = Counter(hit.session for hit in everything.hits)
        assert (everything.total, everything.is_exact) == (len(everything.hits), True)
        assert len({hit.session for hit in some.hits}) == min(6, len(many))
        assert some.hits == everything.hits[: len(some.hits)]
        for session, number in some.by_session.items():
            assert number == many[session] if some.is_exact else number <= many[session]
        assert some.total == everything.total if some.is_exact else some.total <= everything.total


@pytest.mark.parametrize(("query", "either"), [("INDEX_FILE waits", False), ("INDEX_FILE heron", True)])
def test_where_not_all_texts_are_compared_there_may_be_more(query: str, either: bool) -> None:
    texts = {f"t{at:04}": "waits: GIT_index_files" if at else "a note: index_file waits" for at in range(2_100)}
    some = searched(texts, query, either=either)
    assert not some.is_exact
    assert 0 < some.total < 2_100


def test_of_many_longer_words_the_texts_that_have_the_word_itself_are_compared_first() -> None:
    texts = {f"t{at:04}": "passages, passports and past" for at in range(2_100)}
    texts |= {f"u{at}": f"all tests pass, {'and past, passports ' * at} in the end" for at in range(5)}
    assert {hit.turn for hit in hits(texts, "PASS")} >= {f"u{at}" for at in range(5)}


# Real sessions

REAL = SHARED / "data" / "claude-code" / "compacted"


@pytest.mark.skipif(not REAL.exists(), reason="real sessions are not beside the project")
def test_every_turn_of_a_real_session_that_has_an_identifier_is_found_before_the_others() -> None:
    texts: dict[str, str] = {}
    for line in next(iter(sorted(REAL.glob("*.jsonl")))).read_text().splitlines()[:400]:
        record = json.loads(line)
        content = record.get("message", {}).get("content") if isinstance(record.get("message"), dict) else None
        if isinstance(content, str) and record.get("uuid"):
            texts[record["uuid"]] = content[:4000]
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                texts[record["uuid"]] = part["text"][:4000]
    names = sorted({name for text in texts.values() for run in runs_of(text) if is_identifier(name := trimmed(run))})
    with indexed(texts) as index:
        for name in names[:: max(1, len(names) // 150)]:
            if name.startswith("-") and not name.startswith("--"):
                continue
            written = re.compile((r"(?<![^\W_])" if name[0].isalnum() else "") + re.escape(name))
            having = {turn for turn, text in texts.items() if written.search(text)}
            order = [hit.turn for hit in index.search(read(name), EVERY_TURN, texts.get, ENOUGH).hits]
            assert set(order[: len(having)]) == having, name
