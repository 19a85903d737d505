"""Contexts: what a turn is called in one, which requests are refused, and how a question is asked again."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from slicebase import Slicebase, SlicebaseError
from slicebase.context.ranking import Ranked
from slicebase.graph.policy import DEFAULT
from slicebase.graph.turn import Part, Role, Session
from slicebase.verbs.contexts import Request, build_context, turn_candidate
from tests.conversations import annotate, chain, name, turn

DAY = 86_400_000


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as opened:
        opened.truth.turns.add(Session("s", "test", "Pumps"), chain(4), annotate)
        yield opened


def code_of(memory: Slicebase, question: str = "text of 2", tokens: int = 400, turns: int | None = None) -> str:
    with pytest.raises(SlicebaseError) as caught:
        memory.context(question, tokens, turns=turns)
    return caught.value.code


def test_an_undated_turn_says_so_and_is_read_before_the_dated_ones(memory: Slicebase) -> None:
    memory.truth.turns.add(
        Session("s", "test"), [turn("dated", text="a pump", time=366 * DAY), turn("undated", text="a pump")]
    )
    stored = memory.truth.turns
    found = [
        turn_candidate(
            stored.get(name(each)).record, stored.session("s"), "a pump", Ranked(name(each), 7, {"words": 7})
        )
        for each in ("dated", "undated")
    ]
    assert [each.label for each in found] == ["1971-01-02 · 00:00 · user", "undated · user"]
    assert [each.ref for each in sorted(found, key=lambda each: each.order)] == [
        f"turn:{name('undated')}",
        f"turn:{name('dated')}",
    ]
    assert {each.group for each in found} == {"Pumps · session:s"}


def test_a_question_or_a_budget_that_cannot_be_met_is_refused(memory: Slicebase) -> None:
    assert code_of(memory, " \n") == "bad-question"
    assert code_of(memory, "half \ud800") == "lone-surrogate"
    assert code_of(memory, tokens=63) == "bad-budget"
    assert code_of(memory, tokens=2**53) == "bad-budget"
    assert code_of(memory, "why " * 300, tokens=300) == "bad-budget"
    assert code_of(memory, turns=0) == "bad-budget"
    assert len(memory.context("text of 2", 2**53 - 1, turns=1).pieces) == 1
    assert memory.context("text", 64).tokens <= 64


def test_a_manifest_says_which_rows_and_files_of_the_library_were_searched(memory: Slicebase) -> None:
    assert memory.context("text of 2").manifest.filters == {"rows": "active", "archived": False}
    request = Request("text of 2", 400, None, DAY, DEFAULT)
    assert build_context(memory.truth, memory.turn_index, None, request).manifest.filters == {}


LONG = "The pump of the second floor has to be bled before the heating is switched on, " * 3


@pytest.mark.parametrize(("text", "times", "shown"), [
    ("a pump leaks", (400, 400), 1), ("a pump leaks", (400, 401), 2), ("a pump leaks", (0, 0), 2),
    (LONG, (400, 401), 1), (LONG, (0, 0), 1),
])  # fmt: skip
def test_the_copy_of_a_turn_in_a_resumed_session_is_left_out_and_listed(
    memory: Slicebase, text: str, times: tuple[int, int], shown: int
) -> None:
    """What is short may have been said twice, and so may what has no date."""
    for session, days in zip("ab", times, strict=True):
        each = turn(f"in {session}", session=session, text=text, time=days * DAY)
        memory.truth.turns.add(Session(session, "test"), [each], annotate)
    context = memory.context("where is the pump?", 4000, turns=9)
    assert [piece.text for piece in context.pieces] == [text] * shown
    assert [left.reason for left in context.left_out] == ["copy"] * (2 - shown)
    assert context.manifest.considered == 2
    if times[0] < times[1]:
        assert context.pieces[0].ref == f"turn:{name('in b')}"


@pytest.mark.parametrize(("aside", "role"), [
    (Part("text", text="Always paint the pump", hidden=True), "user"),
    (Part("tool_result", text="never paint the pump", call_id="c"), "user"),
    (Part("text", text="the user always paints the pump", summary=True), "user"),
    (Part("text", text="I always paint the pump"), "assistant"),
])  # fmt: skip
def test_only_what_the_user_says_is_a_rule(memory: Slicebase, aside: Part, role: Role) -> None:
    """A reminder of the client, a file that was read, and a summary say what always holds in other words."""
    said = turn("said", session="a", text="Always paint the pump", time=DAY)
    spoken = Part("text", text="Here is the pump")
    other = turn("other", session="b", time=DAY)
    other = msgspec.structs.replace(other, role=role, parts=(spoken, aside))
    for each in (said, other):
        memory.truth.turns.add(Session(each.session, "test"), [each], annotate)
    pieces = memory.context("how do I paint the pump?", 4000, record=False).pieces
    assert [piece.ref for piece in pieces if "rule" in piece.parts] == [f"turn:{name('said')}"]
    assert len(pieces) > 1


def test_a_question_that_is_asked_again_has_the_same_budget_and_policy(memory: Slicebase) -> None:
    first = memory.context("text of 2", 300, turns=2, policy="broad")
    again = memory.context_again(first.id)
    assert again.manifest.budget == first.manifest.budget
    assert again.manifest.policy_params_hash == first.manifest.policy_params_hash is not None
    assert [each.ref for each in again.pieces] == [each.ref for each in first.pieces]
