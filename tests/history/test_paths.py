"""The turns that a model saw: the path to a turn, and what clients write beside it."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slicebase.graph.turn import Edge, Parent, Part, Role, Turn
from slicebase.history.paths import Paths
from slicebase.truth.truth import Truth
from tests.codes import code_of
from tests.conversations import name, store, turn
from tests.history.test_follow import fresh

CALL = Part("tool_call", name="Bash", arguments={}, call_id="c")
RESULT = Part("tool_result", text="x", call_id="c")


def node(of: int, parent: int | None, role: Role = "user", *parts: Part, session: str = "s") -> Turn:
    plain = turn(of, *([] if parent is None else [parent]), session=session, time=of * 1000)
    return replace(plain, role=role, parts=parts or plain.parts)


def parallel(first: int, parent: int) -> list[Turn]:
    """Returns two calls of one message, their results, and the next answer, as a client writes them."""
    call, second, of_second, of_first, answer = range(first, first + 5)
    return [
        node(call, parent, "assistant", CALL),
        node(second, call, "assistant", CALL),
        node(of_second, second, "tool", RESULT),
        node(of_first, call, "tool", RESULT),
        node(answer, of_first, "assistant"),
    ]


def ids(*numbers: int) -> list[str]:
    return [name(number) for number in numbers]


def seen(truth: Truth, leaf: int | None = None) -> list[str]:
    return [each.id for each in Paths(truth).to_leaf("s", None if leaf is None else name(leaf))]


def test_the_path_leads_from_a_root_to_the_newest_leaf_or_the_one_asked_for(truth: Truth) -> None:
    store(truth, [node(0, None), node(1, 0, "assistant"), node(2, 0, "assistant")])
    assert seen(truth) == ids(0, 2)
    assert seen(truth, leaf=1) == ids(0, 1)
    assert code_of(seen, truth, leaf=7) == "no-turn"


def test_a_reference_to_another_turn_is_not_followed(truth: Truth) -> None:
    last = replace(node(2, 1), parents=(Parent(name(0), "reference"), Parent(name(1))))
    store(truth, [node(0, None), node(1, 0, "assistant"), last])
    assert seen(truth) == ids(0, 1, 2)


def test_a_turn_beside_the_others_is_not_the_end_of_a_path(truth: Truth) -> None:
    aside = replace(node(2, None, "system"), parents=(Parent(name(1), "reference"),))
    store(truth, [node(0, None), node(1, 0, "assistant"), aside])
    assert seen(truth) == ids(0, 1)


def test_the_other_calls_of_a_message_and_their_results_were_seen_as_they_were_written(truth: Truth) -> None:
    store(truth, [node(0, None), *parallel(1, 0)])
    assert seen(truth) == ids(0, 1, 2, 3, 4, 5)
    assert seen(truth, leaf=3) == ids(0, 1, 2, 3)  # when the first call had no result yet


def test_what_hooks_said_about_a_result_beside_the_path_was_seen(truth: Truth) -> None:
    *calls, of_first, answer = parallel(1, 0)
    store(truth, [node(0, None), *calls, of_first, node(7, 3, "system"), answer, node(8, 5)])
    assert seen(truth) == ids(0, 1, 2, 3, 4, 7, 5, 8)


def test_other_answers_and_branches_of_the_user_were_not_seen(truth: Truth) -> None:
    store(truth, [node(0, None), node(1, 0, "assistant", CALL), node(2, 1, "tool", RESULT), node(3, 2, "assistant")])
    store(truth, [node(4, 2, "assistant"), node(5, 1), node(6, 5, "assistant"), node(7, 0, "assistant"), node(8, 4)])
    assert seen(truth) == ids(0, 1, 2, 4, 8)


def test_what_came_after_the_last_turn_was_not_seen(truth: Truth) -> None:
    store(truth, [node(0, None), node(1, 0, "assistant", CALL), node(2, 1), node(3, 1, "tool", RESULT)])
    assert seen(truth, leaf=2) == ids(0, 1, 2)


def test_a_turn_whose_parent_is_nowhere_goes_on_from_the_turn_before_it(truth: Truth) -> None:
    store(truth, [node(0, None), node(1, 0, "assistant"), node(3, 2), node(4, 3, "assistant")])
    assert seen(truth) == ids(0, 1, 3, 4)
    truth.turns.link([Edge(name(0), name(3), "reply")])  # what the source says later counts more
    assert seen(truth) == ids(0, 3, 4)
    store(truth, [replace(node(2, 1, "assistant"), time=1500)])  # and the parent that it names counts most
    assert seen(truth) == ids(0, 1, 2, 3, 4)


def test_a_turn_that_continues_another_session_does_not_go_on_from_the_turn_before_it(truth: Truth) -> None:
    store(truth, [node(0, None, session="t"), node(1, None), node(2, 0), node(3, 2)])
    assert seen(truth) == ids(2, 3)


@given(st.data())
@settings(max_examples=15)
def test_a_session_that_grows_only_adds_to_what_was_seen(data: st.DataObject) -> None:
    """Prompts, answers, parallel calls with results in any order, and lost parents: without branches, all is seen."""
    turns = [node(0, None)]
    for _ in range(data.draw(st.integers(1, 4))):
        last, count = len(turns) - 1, data.draw(st.integers(0, 3))
        last = data.draw(st.sampled_from([last, last, last, 1000 + last]))  # a parent that no file has
        calls = list(range(len(turns), len(turns) + count))
        turns += [node(call, above, "assistant", CALL) for above, call in pairwise([last, *calls])]
        for call in data.draw(st.permutations(calls)):
            turns.append(node(len(turns), call, "tool", RESULT))
        turns.append(node(len(turns), len(turns) - 1, data.draw(st.sampled_from(["user", "assistant"]))))
    with fresh() as (truth, _):
        for number, each in enumerate(turns):
            store(truth, [each])
            assert seen(truth) == ids(*range(number + 1))
