"""A `BaseStore` of LangGraph over the library, and a recorder that makes the tool calls of a graph steps of a run.

with Slicebase.open(".") as memory:
    graph = builder.compile(checkpointer=checkpointer, store=SlicebaseStore(memory))
    graph.invoke(given, {"configurable": {"thread_id": "t1"}, "callbacks": [SlicebaseRecorder(memory)]})
"""

import asyncio
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from slicebase.agents.key_values import KeptValue, KeyPlace, KeyValues, ValueChange
from slicebase.base import Slicebase
from slicebase.core.hashing import digest_of
from slicebase.errors import SlicebaseError
from slicebase.runs.gate import is_run_id
from slicebase.verbs.recorder import Recorder

_MINUTE: Final = 60_000  # milliseconds
_NUMBERS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le,
}  # fmt: skip
_VALUES: Final[Mapping[str, Callable[[Any, Any], bool]]] = {"$eq": operator.eq, "$ne": operator.ne}


class SlicebaseStore(BaseStore):
    """Items of namespaces, each a slice file. A query is answered by the words of the values."""

    supports_ttl = True

    def __init__(self, memory: Slicebase, *, ttl: TTLConfig | None = None) -> None:
        self.ttl_config = ttl
        self._memory, self._values = memory, KeyValues(memory.library)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carries out operations: what is read is as it was before, and of several writes to a key the last counts."""
        given = list(ops)
        for op in given:
            validate_op_namespace(op)
        puts = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
        known = self._values.all() if len(puts) < len(given) else {}
        results = [self._answer(op, known) for op in given]
        if puts:
            self._values.put(
                ValueChange(place, op.value, None if op.ttl is None else round(op.ttl * _MINUTE))
                for place, op in puts.items()
            )
        read = [place for op, result in zip(given, results, strict=True) for place in _refreshed(op, result)]
        if any(known[place].ttl for place in read):
            self._values.renew(read)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same in a thread, so that the event loop is not blocked."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Forgets the items that have expired, which no operation shows any more. Returns how many."""
        return self._values.sweep()

    def _answer(self, op: Op, known: Mapping[KeyPlace, KeptValue]) -> Result:
        if isinstance(op, GetOp):
            found = known.get((op.namespace, op.key))
            return Item(**_fields(found)) if found else None
        if isinstance(op, SearchOp):
            return self._search(op, known)
        if isinstance(op, ListNamespacesOp):
            return _namespaces(op, known)
        return None

    def _search(self, op: SearchOp, known: Mapping[KeyPlace, KeptValue]) -> list[SearchItem]:
        size = len(op.namespace_prefix)
        chosen = [
            kept
            for place, kept in known.items()
            if place[0][:size] == op.namespace_prefix and _matches(kept.value, op.filter or {})
        ]
        scores: dict[str, float] = {}
        if op.query and chosen:
            ours = {kept.id for kept in chosen}
            ranked = (each for each in self._values.ranked(op.query) if each in ours)
            scores = {each: 1 / number for number, each in enumerate(ranked, 1)}
            chosen.sort(key=lambda kept: -scores.get(kept.id, 0))
        shown = chosen[op.offset : op.offset + op.limit]
        return [SearchItem(**_fields(kept), score=scores.get(kept.id)) for kept in shown]


def _fields(kept: KeptValue) -> dict[str, Any]:
    times = {"created_at": kept.created, "updated_at": kept.updated}
    moments = {name: datetime.fromtimestamp(at / 1000, UTC) for name, at in times.items()}
    return {"namespace": kept.place[0], "key": kept.place[1], "value": deepcopy(kept.value), **moments}


def _refreshed(op: Op, result: Result) -> list[KeyPlace]:
    """Returns the places of the items that an operation has read, if reading lets them live longer."""
    if not isinstance(op, GetOp | SearchOp) or not op.refresh_ttl:
        return []
    items = result if isinstance(result, list) else [result]
    return [(item.namespace, item.key) for item in items if isinstance(item, Item)]


def _matches(value: Any, wanted: Any) -> bool:
    """Returns whether a value has what a filter names: equal values, or numbers compared by operators."""
    if isinstance(wanted, dict) and any(key.startswith("$") for key in wanted):
        return all(_compared(value, name, limit) for name, limit in wanted.items())
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(_matches(value.get(key), inner) for key, inner in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_matches, value, wanted))
    return bool(value == wanted)


def _compared(value: Any, name: str, limit: Any) -> bool:
    if name in _VALUES:
        return _VALUES[name](value, limit)
    if name not in _NUMBERS:
        raise ValueError(f"Unsupported operator: {name}")
    return _NUMBERS[name](float(value), float(limit))


def _namespaces(op: ListNamespacesOp, known: Iterable[KeyPlace]) -> list[tuple[str, ...]]:
    conditions = op.match_conditions or ()
    found = {place[0] for place in known if all(_is_at(each, place[0]) for each in conditions)}
    return sorted({each[: op.max_depth] for each in found})[op.offset : op.offset + op.limit]


def _is_at(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path, size = condition.path, len(condition.path)
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    part = namespace[:size] if condition.match_type == "prefix" else namespace[max(0, len(namespace) - size) :]
    return len(part) == size and all(step in ("*", label) for step, label in zip(path, part, strict=True))


class SlicebaseRecorder(BaseCallbackHandler):
    """Makes every call of a tool a step of a run, which is named by the thread of the checkpointer.

    A graph that is resumed, also in another process, goes on with the same run.
    """

    raise_error = True

    def __init__(self, memory: Slicebase, run: str | None = None) -> None:
        self._memory, self._run = memory, run
        self._recorders: dict[str, Recorder] = {}
        self._calls: dict[UUID, Recorder] = {}

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """Logs that a tool is called."""
        name = self._run or _run_of(str((metadata or {}).get("thread_id") or "langgraph"))
        recorder = self._recorders.get(name) or self._recorder(name)
        tool = str((serialized or {}).get("name") or more.get("name") or "tool")
        recorder.started(tool, inputs or {"input": input_str}, call_id=str(run_id))
        self._calls[run_id] = recorder

    def on_tool_end(self, output: Any, *, run_id: UUID, **more: Any) -> None:
        """Logs the result of a call."""
        if recorder := self._calls.pop(run_id, None):
            recorder.ended(str(run_id), getattr(output, "content", output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        """Logs that a call has failed."""
        if recorder := self._calls.pop(run_id, None):
            recorder.failed(str(run_id), error)

    def _recorder(self, name: str) -> Recorder:
        try:
            self._memory.runs.status(name)
        except SlicebaseError as error:
            if error.code != "no-run":
                raise
            self._memory.runs.start(name, f"The graph of thread {name}.", "The graph has ended.")
        self._recorders[name] = self._memory.runs.recorder(name)
        return self._recorders[name]


_UNUSABLE: Final = re.compile(r"[\s/:]+")


def _run_of(thread: str) -> str:
    """Returns the id of a thread's run: the id of the thread, or if no run can have it, one that is like it."""
    if is_run_id(thread):
        return thread
    like = "".join(each if each.isprintable() else "-" for each in _UNUSABLE.sub("-", thread))
    return f"thread-{like[:80]}-{digest_of(repr(thread)).removeprefix('sha256:')[:8]}"
