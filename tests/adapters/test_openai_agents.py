"""A session keeps items as the SDK's own session does, and its items are turns that can be searched and judged."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from agents import SQLiteSession, TResponseInputItem
from agents.memory import SessionSettings
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase import Slicebase
from slicebase.adapters.openai_agents import SlicebaseSession

texts = st.sampled_from(["one", "two é 🎈", "", "a\nb", "\ud800", "Never change billing.py."])
items = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "developer"]), "content": texts}),
    st.fixed_dictionaries({"type": st.just("function_call"), "call_id": texts, "name": texts, "arguments": texts}),
    st.fixed_dictionaries({"type": st.just("function_call_output"), "call_id": texts, "output": texts}),
    st.fixed_dictionaries({"type": st.just("reasoning"), "id": texts, "summary": st.just([]), "x": st.floats(0, 1)}),
    st.fixed_dictionaries({"type": st.just("compaction"), "encrypted_content": texts}),
    st.fixed_dictionaries({"type": st.just("unheard_of"), "n": st.integers(0, 2**70) | st.none()}),
)
numbers = st.integers(-1, 6)
operations = st.one_of(
    st.tuples(st.just("add_items"), st.lists(items, max_size=4)),
    st.tuples(st.just("add_items"), st.lists(items, max_size=4)),
    st.tuples(st.just("get_items"), st.none() | numbers),
    st.tuples(st.just("pop_item")),
    st.tuples(st.just("pop_item")),
    st.tuples(st.just("clear_session")),
)


@settings(max_examples=25)
@given(st.lists(operations, max_size=12), st.none() | numbers)
def test_any_operations_give_what_the_own_session_of_the_sdk_gives(done: list[Any], limit: int | None) -> None:
    async def results() -> None:
        with TemporaryDirectory() as name, Slicebase.init(name, redact=False) as memory:
            theirs = SQLiteSession("s", session_settings=SessionSettings(limit=limit))
            ours = SlicebaseSession("s", memory, session_settings=SessionSettings(limit=limit))
            for operation, *arguments in [*done, ("get_items",), ("get_items", 100)]:
                expected = await getattr(theirs, operation)(*arguments)
                assert await getattr(ours, operation)(*arguments) == expected
            theirs.close()
            again = SlicebaseSession("s", memory)
            assert await again.get_items() == await ours.get_items(-1)
            assert memory.verify().status in ("VERIFIED", "EMPTY")

    asyncio.run(results())


def say(text: str, role: str = "user") -> TResponseInputItem:
    item: Any = {"role": role, "content": text}
    return item


@pytest.fixture
def memory(tmp_path: Path) -> Slicebase:
    return Slicebase.init(tmp_path)


def texts_of(memory: Slicebase, session: str) -> list[str]:
    return [turn.text for turn in memory.graph.turns(session) if turn.text]


def test_what_is_taken_back_or_cleared_stays_as_a_branch(memory: Slicebase) -> None:
    async def session() -> None:
        session = SlicebaseSession("s", memory)
        await session.add_items([say("question"), say("a wrong answer", "assistant")])
        await session.pop_item()
        await session.add_items([say("a right answer", "assistant")])
        await session.clear_session()
        await session.add_items([say("another subject")])
        assert await session.get_items() == [say("another subject")]

    asyncio.run(session())
    assert texts_of(memory, "s") == ["question", "a wrong answer", "a right answer", "another subject"]
    question, wrong, right, other = (turn for turn in memory.graph.turns("s") if turn.text)
    parents = {turn: memory.truth.turns.parents_of(turn) for turn in (wrong.id, right.id, other.id)}
    assert parents == {wrong.id: {(question.id, "reply")}, right.id: {(question.id, "reply")}, other.id: set()}


def test_a_compaction_says_what_it_lost_also_one_that_the_api_made(memory: Slicebase) -> None:
    async def session() -> None:
        session = SlicebaseSession("s", memory)
        await session.add_items([say("Never change billing.py."), say("I keep it.", "assistant")])
        losses = await session.compact("We talked.")
        assert [item.text for item in losses.items] == ["Never change billing.py."]
        assert await session.get_items() == [say("We talked.")]
        await session.add_items([say("Always run make lint before a commit.")])
        summary: Any = {"type": "compaction", "summary": "Nothing much."}
        await session.clear_session()
        await session.add_items([summary])
        lost = [item.text for item in (await session.lost()).items]
        assert "Always run make lint before a commit." in lost

    asyncio.run(session())


def test_without_a_summary_the_narrative_of_the_session_replaces_the_items(memory: Slicebase) -> None:
    async def session() -> None:
        session = SlicebaseSession("s", memory)
        await session.add_items([say("Never change billing.py."), say("I keep it.", "assistant")])
        assert not [item for item in (await session.compact()).items if not item.kept]
        (item,) = await session.get_items()
        assert "Never change billing.py." in str(item)

    asyncio.run(session())


def test_a_secret_is_not_kept(memory: Slicebase) -> None:
    token = "gh" + "p_" + "7hQ2mZ9xK4vB8nR1cT6wY3jL5sD0fG2aE9uP"  # invented, and built at run time

    async def session() -> None:
        session = SlicebaseSession("s", memory)
        await session.add_items([say(f"use {token}")])
        assert token not in str(await session.get_items())
        await session.compact(f"The token is {token}.")
        assert token not in str(await session.get_items())

    asyncio.run(session())
    assert memory.redacted
