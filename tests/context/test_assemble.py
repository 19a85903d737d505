"""Assembly: what fits into a budget, which part of a long text is shown, and in which order pieces are read."""

import re
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.context.assemble import Candidate, Context, Unread, assemble
from slicebase.context.manifest import Budget, LeftOut
from slicebase.core.hashing import tokens
from slicebase.runs.records import Span
from tests.context.rendered import pieces_in, words

AS_OF = "2026-01-31T12:00:00.000Z"
LONG = "word " * 2000


def candidate(name: str, text: str = "", group: str = "g", time: int = 0, passage: Span | None = None) -> Candidate:
    ref = f"turn:{name}"
    return Candidate(ref, "session:s", text or f"text {name}", name, group, (time, name), 7, {}, passage)


def built(*candidates: Candidate | Unread, budget: int = 1000, turns: int | None = None, terms: str = "") -> Context:
    return assemble("why?", AS_OF, Budget(budget, turns), candidates, terms=words(terms), ranker="r/1", filters={})


# Budgets


def test_a_candidate_that_does_not_fit_is_left_out_and_a_smaller_one_after_it_is_not() -> None:
    found = built(candidate("a"), candidate("b", LONG), candidate("c"), budget=140)
    assert [piece.ref for piece in found.pieces] == ["turn:a", "turn:c"]
    assert found.left_out == (LeftOut("turn:b", "tokens", 7),)
    assert found.manifest.considered == 3


def test_only_so_many_turns_are_in_a_context() -> None:
    found = built(candidate("a"), candidate("b"), candidate("c"), turns=2)
    assert [piece.ref for piece in found.pieces] == ["turn:a", "turn:b"]
    assert found.left_out == (LeftOut("turn:c", "turns", 7),)
    assert len(built(candidate("a"), candidate("b"), turns=2).pieces) == 2


@pytest.mark.parametrize(
    ("budget", "best", "most"), [(4000, 187, 83), (2000, 180, 80), (300, 120, 80), (100_000, 4_687, 2_083)]
)
def test_a_piece_has_a_small_share_of_a_budget_that_is_used_up_and_the_best_few_more(
    budget: int, best: int, most: int
) -> None:
    found = built(*(candidate(str(at), LONG * 20) for at in range(60)), budget=budget).pieces
    assert len(found) >= min(20, budget // 180)
    assert all(0.8 * best < tokens(piece.text) <= best for piece in found[:4] if budget > 300)
    assert tokens(found[0].text) <= best
    assert all(0.8 * most < tokens(piece.text) <= most for piece in found[4:])


@pytest.mark.parametrize(("place", "most"), [(0, 270), (3, 270), (4, 120), (9, 120)])
def test_a_text_that_is_little_longer_than_its_piece_may_be_is_complete(place: int, most: int) -> None:
    def cut(size: int) -> bool:
        texts = ["word " * 600] * place + ["word " * size] + ["word " * 600] * 40
        found = built(*(candidate(f"{at:03}", text) for at, text in enumerate(texts)), budget=2000)
        return not found.pieces[place].whole

    assert not cut(most * 3 // 5)
    assert cut(most * 3 // 5 + 2)


def test_what_comes_first_as_it_is_takes_nothing_from_the_best_four() -> None:
    first = [candidate(f"first {at}", "a page of a run")._replace(is_whole=True) for at in range(5)]
    found = built(*first, *(candidate(f"{at:03}", LONG) for at in range(40)), budget=2000).pieces
    assert [piece.tokens > 120 for piece in found[5:10]] == [True] * 4 + [False]


def test_where_a_text_has_no_room_as_a_whole_some_of_it_may_have() -> None:
    texts = [candidate(f"{at:03}", "word " * 600) for at in range(9)]
    for budget in range(1600, 1200, -1):
        *_, last = built(*texts, candidate("last", "word " * 70), *texts, budget=budget).pieces
        if last.ref == "turn:last" and not last.whole:
            assert 60 < last.tokens <= 80
            break
    else:
        pytest.fail("it is complete or not there")


@pytest.mark.parametrize(("budget", "most"), [(4000, 1000), (100_000, 25_000), (300, 120)])
def test_where_there_is_room_a_piece_takes_up_to_a_quarter_of_the_budget(budget: int, most: int) -> None:
    (piece,) = built(candidate("a", LONG * 20), budget=budget).pieces
    assert 0.8 * most < tokens(piece.text) <= most


def test_pieces_are_longer_only_as_long_as_all_of_them_fit() -> None:
    found = built(*(candidate(str(at), LONG) for at in range(6)), budget=2000)
    assert (len(found.pieces), found.left_out) == (6, ())
    assert [150 < tokens(piece.text) <= 160 for piece in found.pieces[4:]] == [True, True]
    assert all(300 < tokens(piece.text) <= 360 for piece in found.pieces[:4])


def test_the_texts_of_candidates_that_have_no_room_are_not_read() -> None:
    read: list[int] = []

    def content(at: int) -> str | None:
        read.append(at)
        return None if at == 1 else ""

    offered = (Unread(f"turn:{at}", 7, partial(content, at), partial(candidate, str(at), LONG)) for at in range(200))
    found = built(*offered, budget=1000)
    assert max(read) == len(read) - 1 < 25
    assert len(found.pieces) + len(found.left_out) == found.manifest.considered == 199, "one is no candidate"
    assert {each.reason for each in found.left_out} == {"tokens"}


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.integers(0, 3)), max_size=8), st.integers(60, 300))
def test_of_what_was_said_again_the_newest_is_shown_where_the_best_had_its_place(
    said: list[tuple[str, int]], budget: int
) -> None:
    offered = [
        candidate(str(at), f"text {content or at}", time=time)._replace(content=content)
        for at, (content, time) in enumerate(said)
    ]
    found = built(*offered, budget=budget)
    assert found.tokens <= budget
    assert len(found.pieces) + len(found.left_out) == len(offered)
    for content in ("a", "b"):
        copies = [each for each in offered if each.content == content]
        shown = [each for each in copies if each.ref in {piece.ref for piece in found.pieces}]
        assert len(shown) <= 1
        assert not shown or shown[0].order[0] == max(each.order[0] for each in copies)


@pytest.mark.parametrize("turns", [None, 3])
def test_the_newest_of_copies_is_shown_also_where_the_budget_is_used_up_before_it(turns: int | None) -> None:
    read: list[int] = []

    def content(at: int) -> str:
        read.append(at)
        return "same" if at in (1, 150) else f"text {at}"

    def chosen(at: int) -> Candidate:
        return candidate(str(at), LONG, time=at)._replace(content=content(at))

    def offered(at: int) -> Unread:
        known = "same" if at in (1, 150) else ""
        return Unread(f"turn:{at}", 7, partial(content, at), partial(chosen, at), lambda: at, lambda: known)

    found = built(*map(offered, range(200)), budget=1000, turns=turns)
    assert "turn:150" in {piece.ref for piece in found.pieces}
    assert [each.ref for each in found.left_out if each.reason == "copy"] == ["turn:1"]
    assert set(read) - set(range(30)) == {150}


def test_of_a_copy_nothing_but_its_content_is_read() -> None:
    def first() -> Candidate:
        return candidate("0", "said twice")._replace(content="same")

    def never() -> Candidate:
        raise AssertionError("a copy is read")

    found = built(Unread("turn:0", 7, lambda: "same", first), Unread("turn:1", 7, lambda: "same", never))
    assert [piece.ref for piece in found.pieces] == [first().ref]
    assert [(each.ref, each.reason) for each in found.left_out] == [("turn:1", "copy")]


@given(
    st.lists(st.tuples(st.text(max_size=80), st.sampled_from(["g", "h", "a longer name of a group"])), max_size=12),
    st.integers(64, 300),
)
def test_a_context_is_within_its_budget(texts: list[tuple[str, str]], budget: int) -> None:
    candidates = [candidate(str(number), text, group) for number, (text, group) in enumerate(texts)]
    found = built(*candidates, budget=budget)
    assert found.tokens == tokens(found.text) <= budget
    assert len(found.pieces) + len(found.left_out) == len(candidates)


def test_a_piece_that_fills_the_budget_exactly_is_in_it() -> None:
    long = candidate("a", "x" * 200)
    fitting = [budget for budget in range(64, 200) if any(each.whole for each in built(long, budget=budget).pieces)]
    assert fitting == list(range(fitting[0], 200))
    assert fitting[0] == tokens(built(long).text)


# Pieces


def test_groups_come_in_the_order_of_their_best_pieces_and_within_a_group_the_earliest_first() -> None:
    found = built(candidate("late", group="h", time=9), candidate("x", time=5), candidate("early", group="h", time=1))
    assert [piece.ref for piece in found.manifest.pieces] == ["turn:early", "turn:late", "turn:x"]
    assert [piece.ref for piece in found.pieces] == ["turn:late", "turn:x", "turn:early"], "the best first"


def test_a_whole_piece_has_the_label_of_its_source() -> None:
    (piece,) = built(candidate("a", "the text")).pieces
    assert (piece.label, piece.text, piece.span, piece.whole) == ("a", "the text", Span(start=0, end=8), True)


def test_a_part_of_a_text_says_above_it_where_it_is() -> None:
    text = f"{'x ' * 2000}the pump{' y' * 2000}"
    found = built(candidate("a", text), terms="pump")
    (piece,) = found.pieces
    assert not piece.whole
    assert text[piece.span.start : piece.span.end] == piece.text
    assert f"\n@ turn:a [{piece.span.start}-{piece.span.end} of {len(text)}] a\n" in found.text


def test_only_the_passage_of_a_candidate_is_shown() -> None:
    (piece,) = built(candidate("a", "one two three", passage=Span(start=4, end=7))).pieces
    assert (piece.text, piece.span, piece.whole) == ("two", Span(start=4, end=7), False)


@pytest.mark.parametrize("budget", [481, 1001, 1002, 1003])
def test_a_budget_that_is_no_multiple_of_the_largest_share_is_filled_too(budget: int) -> None:
    (piece,) = built(candidate("a", LONG * 9), budget=budget).pieces
    assert budget // 4 - 40 < piece.tokens <= budget // 4


@pytest.mark.parametrize("budget", [100, 120, 150, 180])
def test_a_small_budget_has_an_excerpt_of_the_best_candidate(budget: int) -> None:
    found = built(candidate("a", LONG), candidate("b"), budget=budget)
    assert found.pieces[0].ref == "turn:a"
    assert found.tokens <= budget


def test_a_text_with_a_long_run_of_signs_takes_no_room_from_the_others() -> None:
    """Each piece beside it had a mark of 300 signs: ten times what it says."""
    quiet = [candidate(f"t{number}", time=number) for number in range(40)]
    loud = candidate("loud", "@" * 300, time=20)
    found = built(loud, *quiet, budget=1500)
    assert len(found.pieces) == len(quiet) + 1
    assert {len(line.split()[0]) for line in found.text.split("\n") if re.match("@+ turn:t", line)} == {1}
    assert [piece.text for piece in pieces_in(found.text)].count("@" * 300) == 1


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from("gh"), st.integers(0, 3), st.text("@`~ \n\rax", max_size=90)), max_size=9),
    st.integers(100, 400),
)
def test_texts_of_any_signs_are_read_again_and_never_pass_the_budget(
    given_texts: list[tuple[str, int, str]], budget: int
) -> None:
    candidates = [
        candidate(str(number), text, group, time) for number, (group, time, text) in enumerate(given_texts) if text
    ]
    found = built(*candidates, budget=budget)
    assert found.tokens <= budget
    assert [piece.text for piece in pieces_in(found.text)] == [
        found.texts[each.text_hash] for each in found.manifest.pieces
    ]
