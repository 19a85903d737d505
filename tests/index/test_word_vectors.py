"""The optional word vectors: exact, the same in any order, and without effect unless they are switched on."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase import Slicebase
from slicebase.context.question import analyse
from slicebase.context.ranking import RANKER, Ranked, rank
from slicebase.graph.turn import Session
from slicebase.index import word_vectors as module
from slicebase.index.turn_schema import IndexedTurn
from slicebase.index.turns import TurnIndex
from slicebase.index.word_vectors import passages, word_vectors
from slicebase.workspace.settings import set_setting
from tests.conversations import annotate, name, turn

TEXTS = (
    "We trained jiu-jitsu in the gym on Tuesday.",
    "The invoice of the plumber arrived.",
    "Our database needs another index.",
    "The cake was baked with almonds.",
    "She moved to a flat near the river.",
    "The meeting was cancelled.",
    "Please renew the certificate.",
    "A train to the coast leaves at noon.",
    "The report is late again.",
)
QUESTION = "Which sports does she practise?"


@pytest.fixture(scope="module", autouse=True)
def vectors() -> None:
    if word_vectors() is None:
        pytest.skip("the word vectors are not installed")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as opened:
        turns = [turn(f"t{number}", text=text) for number, text in enumerate(TEXTS)]
        opened.truth.turns.add(Session("s", "test"), turns, annotate)
        yield opened


def refs(memory: Slicebase, question: str = QUESTION) -> list[str]:
    return [piece.ref for piece in memory.context(question, 400).pieces]


def switch(memory: Slicebase, *, on: bool) -> None:
    set_setting(memory.workspace, "context.semantic", on)


def asked(index: TurnIndex, question: str) -> list[Ranked]:
    read = analyse(question, index.words(question))
    return rank(read, index.figures(read, by_meaning=True), 20)


def test_a_turn_that_shares_no_word_with_the_question_is_found_by_what_it_means(memory: Slicebase) -> None:
    assert f"turn:{name('t0')}" not in refs(memory)
    switch(memory, on=True)
    best = max(memory.context(QUESTION, 400).pieces, key=lambda piece: piece.score)
    assert best.ref == f"turn:{name('t0')}"
    assert best.parts["meaning"] > 0


def test_the_manifest_names_the_model_and_the_digest_of_its_weights_and_replay_needs_neither(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = memory.context(QUESTION, 400)
    assert plain.manifest.ranker == RANKER
    switch(memory, on=True)
    made = memory.context(QUESTION, 400)
    assert made.manifest.ranker.startswith(f"{RANKER} wordllama/")
    assert len(made.manifest.ranker.partition(" sha256:")[2]) == 64
    monkeypatch.setattr(module, "word_vectors", lambda: None)
    assert memory.replay(made.id).text == made.text
    assert memory.context(QUESTION, 400).pieces == plain.pieces


def test_turns_that_came_while_it_was_off_have_vectors_when_it_is_on_again(memory: Slicebase) -> None:
    switch(memory, on=True)
    refs(memory)
    switch(memory, on=False)
    memory.truth.turns.add(Session("s", "test"), [turn("late", text="He plays tennis and football.")], annotate)
    refs(memory)
    switch(memory, on=True)
    assert f"turn:{name('late')}" in refs(memory)


def test_without_the_package_contexts_are_built_without_it_and_doctor_says_so(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = memory.context(QUESTION, 400)
    switch(memory, on=True)
    monkeypatch.setattr(module, "_NEEDED", ("no_such_package",))
    monkeypatch.setattr(module, "_loaded", module._loaded.__wrapped__)
    assert memory.context(QUESTION, 400).pieces == before.pieces
    assert [complaint.message for complaint in memory.doctor()[0] if "word vectors are not" in complaint.message]


@pytest.mark.parametrize("weights", [None, b"", b"no weights", 8 * b"\xff", b"\x02\0\0\0\0\0\0\0{}"])
def test_with_another_version_of_the_package_or_a_damaged_one_contexts_are_built_without_it(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, weights: bytes | None
) -> None:
    """The index was called damaged, and no context was built."""
    before = memory.context(QUESTION, 400)
    switch(memory, on=True)
    if weights is not None:
        file = tmp_path / module._WEIGHTS
        file.parent.mkdir()
        file.write_bytes(weights)
    monkeypatch.setattr(module, "_folder", lambda: tmp_path)
    monkeypatch.setattr(module, "_loaded", module._loaded.__wrapped__)
    assert memory.context(QUESTION, 400).pieces == before.pieces
    assert [complaint.message for complaint in memory.doctor()[0] if "word vectors cannot be read" in complaint.message]


def test_rankings_do_not_depend_on_the_order_in_which_turns_are_added() -> None:
    turns = [IndexedTurn(f"t{number}", "s", number, (), text) for number, text in enumerate(TEXTS)]
    rankings = []
    for seed in range(3):
        with TurnIndex(vectors=word_vectors) as index:
            shuffled = Random(seed).sample(turns, len(turns))
            index.add(shuffled[:4])
            index.add(shuffled[4:])
            rankings.append(asked(index, QUESTION))
    assert rankings[0] == rankings[1] == rankings[2]


def test_removed_turns_leave_no_vectors() -> None:
    with TurnIndex(vectors=word_vectors) as index:
        index.add(IndexedTurn(f"t{number}", "s", number, (), text) for number, text in enumerate(TEXTS))
        assert asked(index, QUESTION)[0].turn == "t0"
        index.remove(["t0"])
        assert index.ask(lambda: index._connection.execute("SELECT count(*) FROM meaning").get) == len(TEXTS) - 1
        assert "t0" not in {ranked.turn for ranked in asked(index, QUESTION)}


@pytest.mark.parametrize("texts", [["", " \n ", "\x00", "\ud800"], [""]])
def test_texts_without_words_have_no_likeness(texts: list[str]) -> None:
    known = word_vectors()
    assert known
    assert len(known.likeness(QUESTION, known.of_passages(texts))) == len(texts)
    assert known.likeness("", known.of_passages(["a text"])) == [0]


@given(st.text(alphabet=st.sampled_from("ab .!?\n。é"), max_size=2000))
def test_passages_keep_every_character_but_spaces_in_order(text: str) -> None:
    parts = list(passages(text))
    assert all(0 < len(part) <= 500 for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@pytest.mark.parametrize("word", ["#", "0", "the"])
def test_a_word_that_is_repeated_very_often_means_what_it_means_once(word: str) -> None:
    vectors = word_vectors()
    assert vectors is not None
    alike = vectors.likeness(
        " ".join([word] * 9000), vectors.of_passages([word, "The invoice of the plumber arrived."])
    )
    assert alike[0] > 0.95 * 256**2
    assert alike[0] > alike[1]
