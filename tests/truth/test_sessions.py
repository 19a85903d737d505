"""Sessions as graphs: a slice is the same from the complete session and from a window, and always up to date."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slicebase.graph.best_first import context_slice
from slicebase.graph.policy import BROAD, DEFAULT, FOCUSED, SlicePolicyV1
from slicebase.graph.record import annotation_records
from slicebase.graph.turn import Edge, Turn
from slicebase.truth.places import SMALL
from slicebase.truth.sessions import Sessions
from slicebase.truth.truth import Truth
from tests.conversations import SESSION, annotate, annotation, chain, name, store, turn

LONG = SMALL + 200


def forest(trees: int, length: int) -> list[Turn]:
    """Returns chains with a branch at every seventh turn."""
    turns = []
    for tree in range(trees):
        for n in range(length):
            parents = [] if n == 0 else [f"{tree}-{n - 2 if n % 7 == 0 else n - 1}"]
            turns.append(turn(f"{tree}-{n}", *parents))
    return turns


@pytest.mark.parametrize("policy", [DEFAULT, FOCUSED, BROAD, SlicePolicyV1(max_radius=0)])
def test_a_window_gives_the_same_slice_as_the_complete_session(truth: Truth, policy: SlicePolicyV1) -> None:
    turns = forest(6, 120)
    truth.turns.add(SESSION, turns, annotate)
    whole = truth.sessions.whole("s")
    windows = Sessions(truth.database, truth.turns)
    for anchor in ("0-0", "2-60", "3-7", "5-119"):
        window = windows.around(name(anchor), policy.max_radius)
        assert len(window) < len(whole)
        assert windows.slice_around(name(anchor), policy) == truth.sessions.slice_around(name(anchor), policy)


def test_the_newest_annotations_count_in_a_window_and_in_the_complete_session(truth: Truth) -> None:
    """Ruling 17."""
    turns = chain(LONG)
    truth.turns.add(SESSION, turns, annotate)
    for annotator in ("test/2", "test/3"):
        notes = [replace(annotation(each.id), annotator=annotator) for each in turns]
        for record in annotation_records("s", notes):
            truth.turns.annotate(record)
    window = truth.sessions.around(name(50), 3)
    assert len(window) < LONG
    assert context_slice(window, name(50), DEFAULT).annotators == ("test/3",)
    assert context_slice(truth.sessions.whole("s"), name(50), DEFAULT).annotators == ("test/3",)


def test_a_process_that_asks_often_reads_the_complete_session_and_caches_it(truth: Truth) -> None:
    truth.turns.add(SESSION, chain(LONG), annotate)
    sizes = [len(truth.sessions.around(name(n), 10)) for n in range(0, LONG, 8)]
    assert sizes[0] < LONG
    assert sizes[-1] == LONG


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 39))
def test_slices_do_not_depend_on_the_order_of_insertion(tmp_path_factory: pytest.TempPathFactory, random: object,
                                                        anchor: int) -> None:  # fmt: skip
    turns = [turn(n, *{max(0, n - 1 - n % 3)} if n else ()) for n in range(40)]
    shuffled = list(turns)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    slices = []
    for order in (turns, shuffled):
        truth = Truth(tmp_path_factory.mktemp("order") / "slicebase.db", create=True)
        store(truth, order)
        slices.append(truth.sessions.slice_around(name(anchor), DEFAULT).export)
        truth.close()
    assert slices[0] == slices[1]


def test_a_cached_session_contains_turns_and_links_that_another_process_adds(truth: Truth, tmp_path: Path) -> None:
    store(truth, [turn("a"), turn("b", "a"), turn("c")])
    assert len(truth.sessions.slice_around(name("a"), DEFAULT).contents.turns) == 2
    other = Truth(truth.database.path)
    store(other, [turn("d", "b")])
    assert len(truth.sessions.slice_around(name("a"), DEFAULT).contents.turns) == 3
    other.turns.link([Edge(name("b"), name("c"), "reference")])
    other.close()
    assert len(truth.sessions.slice_around(name("a"), DEFAULT).contents.turns) == 4
    truth.turns.add(SESSION, [turn("e", "a")], annotate)
    assert len(truth.sessions.slice_around(name("a"), DEFAULT).contents.turns) == 5


def test_the_cache_is_bounded(truth: Truth) -> None:
    for session in "abc":
        turns = [turn(f"{session}{n}", session=session) for n in range(10)]
        store(truth, turns)
    few = Sessions(truth.database, truth.turns, kept_turns=15)
    for session in "abc":
        few.whole(session)
    assert len(few._kept) == 1


def test_a_slice_stays_in_its_session(truth: Truth) -> None:
    """Ruling 13."""
    store(truth, [turn("a"), turn("b", "a", session="t")])
    assert len(truth.sessions.slice_around(name("a"), DEFAULT).contents.turns) == 1
