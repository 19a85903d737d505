"""A conversation that is recorded item by item: what counts now, and what stays of what does not."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase import Slicebase
from slicebase.verbs.conversation import LiveConversation
from tests.codes import code_of

ASKED = {"role": "user", "content": "Never change billing.py."}
CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path": "codes.py"}', "id": "f1"}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "CODES = ()"}
ODD: dict[str, Any] = {"type": "unheard_of", "content": "half \ud800", "number": 2**70}


@pytest.fixture
def memory(tmp_path: Path) -> Slicebase:
    return Slicebase.init(tmp_path)


def test_items_come_back_as_they_were_given_also_to_another_object(memory: Slicebase, tmp_path: Path) -> None:
    LiveConversation(memory, "s", "test").add([ASKED, CALL])
    with Slicebase.open(tmp_path) as other:
        LiveConversation(other, "s", "test").add([RESULT, ODD])
    assert LiveConversation(memory, "s", "test").items() == [ASKED, CALL, RESULT, ODD]
    assert LiveConversation(memory, "t", "test").items() == []
    assert memory.verify().status == "VERIFIED"


def test_items_are_turns_of_their_kind(memory: Slicebase) -> None:
    LiveConversation(memory, "s", "test").add([ASKED, CALL, RESULT])
    kinds = [(turn.role, turn.parts[0].type) for turn in map(memory.truth.turn, ids(memory)) if turn]
    assert kinds == [("user", "text"), ("assistant", "tool_call"), ("tool", "tool_result")]
    assert [found.text for found in memory.search("billing.py")] == ["Never change billing.py."]


def ids(memory: Slicebase) -> list[str]:
    return [stored.record.id for stored in memory.truth.turns.of_session("s")]


def test_what_is_taken_back_and_cleared_is_not_removed(memory: Slicebase) -> None:
    conversation = LiveConversation(memory, "s", "test")
    assert conversation.take_back() is None
    conversation.add([ASKED, CALL])
    assert conversation.take_back() == CALL
    conversation.clear()
    conversation.clear()
    assert conversation.items() == []
    conversation.add([RESULT])
    assert conversation.items() == [RESULT]
    assert [turn.text for turn in memory.graph.turns("s") if turn.text] == [
        "Never change billing.py.",
        'read {"path":"codes.py"}',
        "CODES = ()",
    ]


def test_a_summary_replaces_the_items_and_is_judged(memory: Slicebase) -> None:
    conversation = LiveConversation(memory, "s", "test")
    conversation.compact("of nothing")
    conversation.add([ASKED])
    conversation.compact("We talked.")
    assert conversation.items() == [{"role": "user", "content": "We talked."}]
    assert [item.text for item in memory.lost("s").items] == ["Never change billing.py."]
    conversation.add([RESULT])
    assert conversation.items()[1:] == [RESULT]


def say(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


@settings(max_examples=10)
@given(
    st.lists(st.lists(st.sampled_from([say("a"), say("b", "assistant"), CALL, RESULT, ODD]), max_size=5), max_size=4)
)
def test_a_conversation_becomes_what_is_given_and_keeps_what_it_was(histories: list[list[dict[str, Any]]]) -> None:
    with TemporaryDirectory() as name, Slicebase.init(name) as memory:
        conversation = LiveConversation(memory, "s", "test")
        for items in histories:
            assert conversation.become(items) == (items, 0)
            assert conversation.items() == items
            before = len(ids(memory))
            conversation.become(items)
            assert len(ids(memory)) == before
        assert memory.verify().status in ("VERIFIED", "EMPTY")


def test_items_that_a_summary_kept_are_not_lost_and_follow_it(memory: Slicebase) -> None:
    conversation = LiveConversation(memory, "s", "test")
    old, kept, last = [ASKED], [say("Always run make lint before a commit."), CALL], [RESULT]
    conversation.become([*old, *kept])
    conversation.compact("We talked.", say("Summary."), kept=2)
    assert conversation.items() == [say("Summary."), *kept]
    assert [item.text for item in memory.lost("s").items] == ["Never change billing.py."]
    now = [say("Summary."), *kept, *last]
    assert conversation.become([*old, *kept, *last]) == (now, 1)  # the summary stays
    assert len(ids(memory)) == 5
    conversation.compact("We talked again.")
    summary = conversation.items()
    assert conversation.become([*old, *kept, *last]) == (summary, 4)
    first, second = ({item.text for item in loss.items} for loss in memory.lost("s").compactions)
    assert (first, second) == ({"Never change billing.py."}, {"Always run make lint before a commit."})


def test_a_conversation_that_began_anew_can_be_narrated_again(memory: Slicebase) -> None:
    conversation = LiveConversation(memory, "s", "test")
    for text in ("Never change billing.py.", "Always run make lint before a commit.", "Keep codes upper case."):
        conversation.become([say(text), say("Yes.", "assistant")])
        assert text in memory.narrate_session("s").text


@pytest.mark.parametrize("invisible", ["\x00", "\u200b", "\u3164", " "])
def test_a_conversation_without_a_word_can_be_narrated(memory: Slicebase, invisible: str) -> None:
    conversation = LiveConversation(memory, "s", "test")
    conversation.become([CALL, RESULT, say(invisible), say(invisible, "assistant")])
    assert "The conversation has no prompt." in memory.narrate_session("s").text
    conversation.add([ASKED, say(invisible, "assistant")])
    assert "Never change billing.py." in memory.narrate_session("s").text


def test_a_purged_conversation_is_empty(memory: Slicebase, tmp_path: Path) -> None:
    conversation = LiveConversation(memory, "s", "test")
    conversation.add([ASKED])
    memory.purge("session:s")
    assert conversation.items() == []
    assert b"billing" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize("session", [5, None, "", b"s"])
def test_only_a_text_can_be_the_id_of_a_session(session: Any, memory: Slicebase) -> None:
    """A record with another one would be stored, and could not be read any more."""
    assert code_of(LiveConversation, memory, session, "test") == "bad-arguments"
