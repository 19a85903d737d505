"""Texts with all words of a query come first; where they are few, the best with some of the words follow."""

import json
import random
from collections.abc import Iterator
from itertools import combinations

import pytest

from slicebase import Slicebase

WORDS = ("harbour", "lantern", "copper", "willow", "granite", "saddle")


@pytest.fixture(scope="module")
def texts() -> list[str]:
    chance = random.Random(4)
    return [f"{number} {' '.join(chance.sample(WORDS, chance.randint(1, 4)))}" for number in range(40)]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Iterator[Slicebase]:
    """Every fourth text is a slice file, the others are turns of three sessions."""
    root = tmp_path_factory.mktemp("search")
    with Slicebase.open(root) as opened:
        for session in range(3):
            source = root / f"{session}.json"
            source.write_text(json.dumps([{"role": "user", "content": text} for text in texts[session::4]]))
            opened.import_(source, session=f"s{session}")
        for text in texts[3::4]:
            opened.library.create(text, "A file.", body="Nothing else.", type="text")
        yield opened


def said(memory: Slicebase, ref: str) -> str:
    """Returns the text of a turn, or the title of a file."""
    kind, _, name = ref.partition(":")
    if kind == "turn":
        return memory.truth.text_of(memory.truth.turns.get(name).record) or ""
    return str(memory.finder.info(name).file.title)


@pytest.mark.parametrize("limit", [1, 4, 10, 25, 100])
def test_what_has_all_words_comes_first_then_what_has_some_and_nothing_twice(
    memory: Slicebase, texts: list[str], limit: int
) -> None:
    for size in (1, 2, 3, 4):
        for sought in combinations(WORDS, size):
            found = memory.search(" ".join(sought), limit=limit)
            every = {text for text in texts if set(sought) <= set(text.split())}
            some = {text for text in texts if not set(sought).isdisjoint(text.split())} - every
            first = [said(memory, each.ref) for each in (*found.files, *found.turns)]
            after = [said(memory, each.ref) for each in found.rest or ()]
            if not every:
                assert found.partial == bool(some)
                assert found.rest is None
                assert set(first) <= some
                continue
            assert not found.partial
            assert set(first) <= every
            assert len(first) == len(set(first))
            assert len(first + after) == len({*first, *after}) == len(found)
            assert set(after) <= some
            if len(every) < limit:
                assert set(first) == every
                files = {text for text in some if text in texts[3::4]}
                missing = limit - len(every)
                assert len(after) == min(len(files), missing) + min(len(some - files), missing)
            else:
                assert found.rest is None
            if found.rest:
                assert found.rest.files.total + found.rest.total_turns == len(some)
                grouped = [turn.ref for each in found.rest.sessions for turn in each.turns]
                assert len(grouped) + sum(each.more for each in found.rest.sessions) <= found.rest.total_turns


def test_any_and_a_single_word_have_no_rest(memory: Slicebase) -> None:
    assert memory.search("harbour lantern", either=True, limit=100).rest is None
    assert memory.search("harbour", limit=100).rest is None


def test_the_numbers_of_the_rest_are_right_after_a_search_by_the_parts_of_identifiers(memory: Slicebase) -> None:
    texts = ["core hooks path git config one", "core hooks path git config two", "core.hooksPath only", "a git-config"]
    source = memory.root / "named.json"
    source.write_text(json.dumps([{"role": "user", "content": text} for text in texts]))
    memory.import_(source, session="named")
    found = memory.search("core.hooksPath git-config")
    assert (found.by_parts, {turn.text for turn in found.turns}) == (True, set(texts[:2]))
    assert found.rest is not None
    assert {turn.text for turn in found.rest.turns} == set(texts[2:])
    assert (found.rest.total_turns, [each.more for each in found.rest.sessions]) == (2, [0])


def test_numbers_of_what_is_compared_with_the_texts_are_never_negative(memory: Slicebase) -> None:
    texts = [
        *(f"alpha {number}" for number in range(300)),
        "beta gamma",
        "alpha",
        f"alpha beta gamma {'pad ' * 20_000}",
    ]
    source = memory.root / "many.json"
    source.write_text(json.dumps([{"role": "user", "content": text} for text in texts]))
    memory.import_(source, session="many")
    found = memory.search('alpha "beta gamma"')
    assert [(turn.text or "")[:16] for turn in found.turns] == ["alpha beta gamma"]
    assert found.rest is not None
    assert found.rest.total_turns >= len(found.rest.turns) > 0
    assert all(each.more >= 0 for each in found.rest.sessions)
