"""Exact words are exact: identifiers are found whole, quoted text as it is, and filters narrow."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.context.identifiers import is_identifier, runs_of, trimmed
from slicebase.context.query import read
from slicebase.graph.contents import CallMade, kind_bits
from slicebase.index.narrow import EVERY_TURN, TurnFilters
from slicebase.index.turn_schema import IndexedTurn
from slicebase.index.turn_search import Match, TurnHit
from slicebase.index.turns import TurnIndex
from tests.paths import SHARED

EXAMPLES = int(os.environ.get("SLICEBASE_EXAMPLES", "1"))


def indexed(texts: Mapping[str, str]) -> TurnIndex:
    index = TurnIndex()
    index.add(IndexedTurn(name, "s", at, (), text) for at, (name, text) in enumerate(texts.items()))
    return index


def hits(texts: Mapping[str, str], query: str, *, either: bool = False) -> list[TurnHit]:
    asked = read(query)
    wanted = TurnFilters(without=tuple(term for term in asked.excluded if not term.quoted))
    with indexed(texts) as index:
        return list(index.search(asked, wanted, texts.get, either=either))


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


@settings(max_examples=200 * EXAMPLES)
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


# Quoted text, excluded words


def test_quoted_text_is_literal_and_white_space_is_any_white_space() -> None:
    texts = ["run git commit -m now", "git\n  commit, then", "git is committed", "a Git Commit"]
    assert set(found(texts, '"git commit"')) == {texts[0], texts[1], texts[3]}
    assert found(texts, '"Git Commit"') == [texts[3]]
    assert found(texts, '"commit,"') == [texts[1]]
    assert found(texts, '"commit -m"') == [texts[0]]


def test_an_excluded_word_or_text_is_in_no_hit() -> None:
    texts = ["heron and stork", "heron and ibis", "heron alone"]
    assert set(found(texts, "heron -stork")) == set(texts[1:])
    assert found(texts, 'heron -"and ibis" -stork') == [texts[2]]


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
            IndexedTurn("ask", "one", 100, (), "fix heron", "user", kind_bits(["prompt"])),
            IndexedTurn("call", "one", 200, ("ask",), "heron run", "assistant", kind_bits(["call"]), calls),
            IndexedTurn("done", "one", 300, ("call",), "heron ok", "tool", kind_bits(["result"]), (), ["c2"]),
            IndexedTurn("other", "two", 400, (), "heron too", "user", kind_bits(["prompt"])),
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
        found = narrowed_index.search(query, TurnFilters(query.filters), lambda turn: None)
        assert {hit.turn for hit in found} == turns


def test_sessions_and_times_narrow(narrowed_index: TurnIndex) -> None:
    for wanted, turns in (
        (TurnFilters(sessions={"two"}), ["other"]),
        (TurnFilters(since=200, before=400), ["done", "call"]),
    ):
        assert [hit.turn for hit in narrowed_index.search(read(""), wanted, lambda turn: None)] == turns


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
            order = [hit.turn for hit in index.search(read(name), EVERY_TURN, texts.get)]
            assert set(order[: len(having)]) == having, name
