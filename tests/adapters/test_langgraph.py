"""The store answers as LangGraph's own store in memory does; what expires is gone; tool calls are steps of a run."""

import asyncio
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.tools import tool
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from slicebase import Slicebase, SlicebaseError
from slicebase.adapters.langgraph import SlicebaseRecorder, SlicebaseStore

namespaces = st.sampled_from([("a",), ("a", "b"), ("a", "b", "c"), ("é", "b"), ("d",)])
keys = st.sampled_from(["one", "two", "", "a/b", "line\nend", "1.0"])
plain = st.sampled_from([1, 2.5, "x", "é 🎈", None, True, [1, [2]], {"deep": {"er": 1}}, "\ud800", 2**70])
values = st.fixed_dictionaries({"n": st.integers(0, 3)}, optional={"v": plain, "w": plain})
numbers = st.sampled_from(["$gt", "$gte", "$lt", "$lte", "$eq", "$ne"])
filters = st.one_of(
    st.none(),
    st.fixed_dictionaries({"v": plain}),
    st.fixed_dictionaries({"n": st.dictionaries(numbers, st.integers(0, 3), min_size=1)}),
    st.just({"v": {"deep": {"er": 1}}}),
)
paths = st.lists(st.sampled_from(["a", "b", "*", "é"]), min_size=1, max_size=2).map(tuple)
conditions = st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), paths)
pages = {"limit": st.integers(0, 4), "offset": st.integers(0, 3)}
operations = st.one_of(
    st.builds(PutOp, namespaces, keys, values | st.none(), st.none(), st.none()),
    st.builds(PutOp, namespaces, keys, values, st.none(), st.none()),
    st.builds(GetOp, namespaces, keys),
    st.builds(SearchOp, st.just(()) | namespaces, filters, query=st.none(), **pages),
    st.builds(
        ListNamespacesOp,
        st.none() | st.lists(conditions, max_size=2).map(tuple),
        st.none() | st.integers(1, 2),
        **pages,
    ),
)


def shown(result: Any) -> Any:
    """Returns a result without times: the store in memory forgets when an item was created."""
    if isinstance(result, list):
        return [shown(each) for each in result]
    return (result.namespace, result.key, result.value) if hasattr(result, "key") else result


@settings(max_examples=15)
@given(st.lists(st.lists(operations, min_size=1, max_size=4), max_size=6))
def test_any_operations_are_answered_as_by_the_store_in_memory(batches: list[list[Op]]) -> None:
    seconds = count(1_767_225_600)
    with TemporaryDirectory() as name, Slicebase.init(name, clock=lambda: next(seconds)) as memory:
        ours = SlicebaseStore(memory)
        kept: dict[Any, Any] = {}  # what is there, in the order in which it was added
        for ops in batches:
            theirs = InMemoryStore()
            for (namespace, key), value in kept.items():
                theirs.put(namespace, key, value)
            assert shown(ours.batch(ops)) == shown(theirs.batch(ops))
            for place, value in {(op.namespace, op.key): op.value for op in ops if isinstance(op, PutOp)}.items():
                if value is None:
                    kept.pop(place, None)
                else:
                    kept[place] = value
        assert shown(asyncio.run(ours.asearch((), limit=100))) == shown(SlicebaseStore(memory).search((), limit=100))


def test_a_query_ranks_by_words_and_shows_what_has_none_of_them_last(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        store = SlicebaseStore(memory)
        store.put(("u",), "a", {"text": "The user likes tea."})
        store.put(("u",), "b", {"text": "Webhooks live 600 s."})
        best, other = store.search(("u",), query="webhooks")
        assert (best.key, best.score, other.key, other.score) == ("b", 1, "a", None)


def test_an_item_expires_unless_it_is_read_and_a_sweep_forgets_it(tmp_path: Path) -> None:
    now = [1_767_225_600.0]
    with Slicebase.init(tmp_path, clock=lambda: now[0]) as memory:
        store = SlicebaseStore(memory, ttl={"refresh_on_read": True, "default_ttl": 10})
        store.put(("u",), "a", {"n": 1})
        store.put(("u",), "b", {"n": 2}, ttl=None)
        now[0] += 9 * 60
        assert store.get(("u",), "a")
        now[0] += 9 * 60
        assert store.get(("u",), "a", refresh_ttl=False)
        now[0] += 2 * 60
        assert store.get(("u",), "a") is None
        assert [item.key for item in store.search(())] == ["b"]
        assert (store.sweep_ttl(), store.sweep_ttl()) == (1, 0)
        assert len(memory.library.list_files()) == 1
        store.put(("u",), "a", {"n": 3}, ttl=None)
        assert [item.key for item in store.search(())] == ["b", "a"]


def test_what_a_store_cannot_keep_is_refused(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        store = SlicebaseStore(memory)
        with pytest.raises(InvalidNamespaceError):
            store.batch([PutOp(("a.b",), "k", {})])
        with pytest.raises(SlicebaseError, match="JSON"):
            store.put(("a",), "k", {"x": object()})
        token = "gh" + "p_" + "7hQ2mZ9xK4vB8nR1cT6wY3jL5sD0fG2aE9uP"  # invented, and built at run time
        store.put(("a",), "k", {"x": token})
        assert token not in str(store.get(("a",), "k"))


def test_calls_of_one_thread_are_steps_of_one_run_also_after_a_failure_and_a_new_start(tmp_path: Path) -> None:
    @tool
    def divide(by: int) -> float:
        """Divides one."""
        return 1 / by

    with Slicebase.init(tmp_path) as memory:
        for by in (2, 0, 4):
            config: Any = {"callbacks": [SlicebaseRecorder(memory)], "metadata": {"thread_id": "t1"}}
            if by:
                assert divide.invoke({"by": by}, config) == 1 / by
            else:
                with pytest.raises(ZeroDivisionError):
                    divide.invoke({"by": by}, config)
        status = memory.runs.status("t1")
        assert status.metrics.steps == 3
        assert [failure["category"] for failure in status.open_failures] == ["ZeroDivisionError"]
        assert memory.verify().status == "VERIFIED"


@pytest.mark.parametrize("thread", ["user:7", "a b", "tenant/1", "../x", "\0", "x" * 300, "ev_1", "t1", "é@x.org", 5])
def test_every_thread_has_a_run_of_its_own(thread: object, tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        for _ in range(2):
            recorder, call = SlicebaseRecorder(memory), uuid4()
            recorder.on_tool_start({"name": "f"}, "x", run_id=call, metadata={"thread_id": thread})
            recorder.on_tool_end("y", run_id=call)
            recorder.on_tool_end("y", run_id=uuid4())  # of a call that began before it was asked
        (run,) = memory.runs.list_runs()
        assert (run.tally.run_id == str(thread)) == (thread in ("t1", "é@x.org", 5))
        assert memory.verify().status == "VERIFIED"
