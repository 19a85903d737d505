"""The recorder: every call of a tool is a step with its plan, the call, and its result by reference."""

import asyncio
import inspect
import json
import math
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase import Recorder, Slicebase
from slicebase.core.hashing import canonical, digest
from slicebase.runs.event import HEAD, Event
from slicebase.runs.gate import Thresholds
from slicebase.verbs.recorder import as_bytes, plain
from tests.codes import code_of

RUN = "r1"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as made:
        made.runs.start(RUN, "Find the cause.", "It is found.")
        yield made


@pytest.fixture
def recorder(memory: Slicebase) -> Recorder:
    return memory.runs.recorder(RUN)


def events(memory: Slicebase) -> list[Event]:
    """Returns the events of the run, but for its start and the begins and ends of its steps."""
    return [
        event
        for event in memory.truth.runs.events(RUN)
        if event.type not in ("RUN_STARTED", "STEP_BEGUN", "STEP_ENDED")
    ]


def summary(memory: Slicebase) -> list[tuple[str, int | None]]:
    return [(event.type, event.step) for event in events(memory)]


def test_a_call_of_a_decorated_function_is_a_step(memory: Slicebase, recorder: Recorder) -> None:
    @recorder
    def read(path: str, *, lines: int = 3) -> str:
        """Reads a file."""
        return f"{lines} lines of {path}"

    assert read("notes.txt") == "3 lines of notes.txt"
    assert read("log", lines=1) == "1 lines of log"
    assert (read.__name__, read.__doc__) == ("read", "Reads a file.")
    assert summary(memory) == [
        ("PLAN_DONE", 1), ("ACT_DONE", 1), ("OBSERVE_DONE", 1), ("PLAN_DONE", 2), ("ACT_DONE", 2), ("OBSERVE_DONE", 2),
    ]  # fmt: skip
    plan, act, observe, _, again, _ = events(memory)
    assert plan.payload == {"text": "call read"}
    assert act.payload == {"tool": "read", "arguments": {"path": "notes.txt"}}
    assert again.payload == {"tool": "read", "arguments": {"path": "log", "lines": 1}}
    result = observe.payload["result"]
    assert result == {"blob": digest(b"3 lines of notes.txt"), "bytes": 20, "head": "3 lines of notes.txt"}
    assert memory.runs.blob(RUN, result["blob"]) == b"3 lines of notes.txt"


def test_a_large_result_is_stored_whole_outside_the_event(memory: Slicebase, recorder: Recorder) -> None:
    text = "é" * 200_000
    with recorder.call("cat", path="big", plan="read it all") as call:
        call.result = text
    plan, _, observe = events(memory)
    assert plan.payload == {"text": "read it all"}
    assert observe.payload["result"] == {"blob": call.blob, "bytes": 400_000, "head": "é" * HEAD}
    assert memory.runs.blob(RUN, call.blob).decode() == text
    assert memory.verify().status == "VERIFIED"


def test_a_method_is_recorded_without_its_object(memory: Slicebase, recorder: Recorder) -> None:
    class Shell:
        @recorder
        def run(self, command: str) -> int:
            return len(command)

    assert Shell().run("make") == 4
    assert events(memory)[1].payload == {"tool": "run", "arguments": {"command": "make"}}
    assert memory.runs.blob(RUN, events(memory)[2].payload["result"]["blob"]) == b"4"


def test_an_error_is_a_failure_and_propagates(memory: Slicebase, recorder: Recorder) -> None:
    @recorder
    def divide(by: int) -> float:
        return 1 / by

    with pytest.raises(ZeroDivisionError):
        divide(0)
    assert summary(memory) == [("PLAN_DONE", 1), ("ACT_DONE", 1), ("FAILURE", 1), ("OBSERVE_DONE", 1)]
    assert memory.runs.status(RUN).open_failures[0]["category"] == "ZeroDivisionError"
    with pytest.raises(TypeError):
        divide()  # type: ignore[call-arg]
    assert events(memory)[5].payload == {"tool": "divide", "arguments": {"args": []}}


def test_a_function_with_async_is_recorded_too(memory: Slicebase, recorder: Recorder) -> None:
    @recorder
    async def fetch(name: str) -> str:
        await asyncio.sleep(0)
        return name.upper()

    async def main() -> list[str]:
        return await asyncio.gather(*(fetch(name) for name in ("a", "b", "c")))

    assert asyncio.run(main()) == ["A", "B", "C"]
    assert sorted({step for _, step in summary(memory) if step}) == [1, 2, 3]
    assert memory.runs.status(RUN).metrics.counted_events == 9


def test_a_call_with_wrong_arguments_fails_at_once_and_by_its_own_error(memory: Slicebase, recorder: Recorder) -> None:
    """Whatever kind of function it is: nothing is left open, to be called an interruption later."""

    async def awaited(a: int) -> int:
        return a

    def plain(a: int) -> int:
        return a

    class Tool:
        async def method(self, a: int) -> int:
            return a

    def coming(*given: Any) -> Any:
        return awaited(*given)

    given: Any = (1, 2)
    tools: list[Any] = [awaited, plain, partial(awaited, *given), partial(plain, *given), Tool().method, coming]
    for tool in tools:
        with pytest.raises(TypeError):
            asyncio.run(awaited_if_needed(recorder(tool)))
    status = memory.runs.status(RUN)
    assert [failure["category"] for failure in status.open_failures] == ["TypeError"] * len(tools)
    assert status.interrupted_steps == ()


async def awaited_if_needed(tool: Any) -> object:
    result = tool()
    return await result if inspect.isawaitable(result) else result


def test_callbacks_record_calls_that_overlap(memory: Slicebase, recorder: Recorder) -> None:
    first = recorder.started("bash", {"command": "make"})
    second = recorder.started("bash", {"command": "ls"}, plan="look around", call_id="toolu_2")
    assert second == "toolu_2"
    assert repr(recorder) == "Recorder(run='r1', open=2)"
    assert recorder.ended(second, ["a", "b"]) == digest(b'["a","b"]')
    recorder.failed(first, TimeoutError("too slow"))
    assert [(type_, step) for type_, step in summary(memory) if type_ in ("OBSERVE_DONE", "FAILURE")] == [
        ("OBSERVE_DONE", 2), ("FAILURE", 1), ("OBSERVE_DONE", 1),
    ]  # fmt: skip
    assert code_of(recorder.ended, first) == "no-item"
    recorder.started("bash", call_id="again")
    assert code_of(recorder.started, "bash", call_id="again") == "bad-event"


def test_a_run_is_compacted_after_the_call_that_makes_it_due(memory: Slicebase) -> None:
    recorder = memory.runs.recorder(RUN, compact=Thresholds(steps=2))
    for number in range(4):
        with recorder.call("look", at=number):
            pass
    assert memory.runs.status(RUN).snapshots == 2


def test_a_generator_is_refused_when_it_is_decorated(recorder: Recorder) -> None:
    def lines() -> Iterator[str]:
        yield "a"

    with pytest.raises(TypeError):
        recorder(lines)


def test_nothing_is_called_in_a_run_that_has_stopped(memory: Slicebase, recorder: Recorder) -> None:
    memory.runs.stop(RUN, "HUMAN_REQUESTED")
    called: list[int] = []
    assert code_of(recorder(called.append), 1) == "run-closed"
    assert called == []


def test_content_of_a_run_is_found_by_its_hash_alone(memory: Slicebase, recorder: Recorder) -> None:
    with recorder.call("look") as call:
        call.result = "seen"
    memory.runs.start("other", "Another.", "Done.")
    assert code_of(memory.runs.blob, "other", call.blob) == "no-blob"
    assert code_of(memory.runs.blob, RUN, "sha256:" + "0" * 64) == "no-blob"
    assert code_of(memory.runs.blob, RUN, "nonsense") == "no-blob"
    assert code_of(memory.runs.blob, "nowhere", call.blob) == "no-run"
    memory.purge(f"run:{RUN}")
    assert code_of(memory.runs.blob, RUN, call.blob) == "purged"


def test_large_arguments_are_stored_outside_the_event(memory: Slicebase, recorder: Recorder) -> None:
    vectors = [[number / 7 for number in range(1536)] for _ in range(3)]

    @recorder
    def nearest(vectors: list[list[float]]) -> int:
        return len(vectors)

    assert nearest(vectors) == 3
    named = events(memory)[1].payload["arguments"]
    assert named["bytes"] > 64 * 1024
    assert json.loads(memory.runs.blob(RUN, named["blob"])) == {"vectors": vectors}


def test_a_tool_that_stops_its_run_still_returns_its_result(memory: Slicebase, recorder: Recorder) -> None:
    @recorder
    def finish(answer: str) -> str:
        memory.runs.stop(RUN)
        return answer

    assert finish("42") == "42"
    assert memory.runs.status(RUN).stopped == "OBJECTIVE_ACHIEVED"
    assert code_of(finish, "43") == "run-closed"


@pytest.mark.filterwarnings("ignore::slicebase.RunWarning")
def test_the_call_that_exceeds_a_budget_returns_and_the_next_one_is_refused(tmp_path: Path) -> None:
    seconds = iter(range(1_767_225_600, 1_767_300_000, 10))
    with Slicebase.init(tmp_path / "slow", clock=lambda: next(seconds)) as memory:
        memory.runs.start("slow", "Send it.", "It is sent.", budgets={"max_seconds": 35})
        send = memory.runs.recorder("slow")(lambda: "receipt")
        assert send() == "receipt"
        assert memory.runs.status("slow").stopped == "BUDGET_EXCEEDED"
        assert code_of(send) == "run-closed"


def test_a_result_that_has_to_be_awaited_is_recorded_when_it_is_there(memory: Slicebase, recorder: Recorder) -> None:
    """Also of a function that does not look as if it were async."""

    async def inner(fails: bool) -> str:
        await asyncio.sleep(0)
        if fails:
            raise ValueError("inner")
        return "done"

    outer = recorder(lambda fails: inner(fails=fails))
    assert asyncio.run(outer(False)) == "done"
    with pytest.raises(ValueError, match="inner"):
        asyncio.run(outer(True))
    heads = [event.payload["result"]["head"] for event in events(memory) if event.payload.get("result")]
    assert heads == ["done"]
    assert memory.runs.status(RUN).open_failures[0]["why"] == "inner"


def test_a_function_that_returns_a_generator_fails(memory: Slicebase, recorder: Recorder) -> None:
    with pytest.raises(TypeError):
        recorder(lambda: (number for number in range(3)))()
    assert memory.runs.status(RUN).open_failures


class NoTextError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_error_without_a_text_or_with_a_long_name_propagates_and_is_logged(
    memory: Slicebase, recorder: Recorder
) -> None:
    long_name = type("E" * 3000, (Exception,), {})
    for error in (NoTextError, long_name):

        @recorder
        def fail(error: type[Exception] = error) -> None:
            raise error

        with pytest.raises(error):
            fail()
    assert [each["why"] for each in memory.runs.status(RUN).open_failures] == ["", ""]
    assert memory.runs.compact(RUN).snapshots


def test_a_partial_function_is_named_and_recorded_with_all_its_arguments(memory: Slicebase, recorder: Recorder) -> None:
    def read(path: str, root: str, *, lines: int = 1) -> str:
        return path

    recorder(partial(read, root="/data", lines=3))("notes")
    expected = {"tool": "read", "arguments": {"path": "notes", "root": "/data", "lines": 3}}
    assert events(memory)[1].payload == expected


def test_arguments_are_given_as_an_object_or_by_name(memory: Slicebase, recorder: Recorder) -> None:
    with recorder.call("a", arguments={"x": 1}, y=2):
        pass
    recorder.ended(recorder.started("b", arguments={"x": 1}, y=2))
    acts = [event.payload["arguments"] for event in events(memory) if event.type == "ACT_DONE"]
    assert acts == [{"x": 1, "y": 2}] * 2


def test_a_call_that_failed_with_a_text_is_a_failure(memory: Slicebase, recorder: Recorder) -> None:
    recorder.failed(recorder.started("bash"), "exit status 2")
    (failure,) = memory.runs.status(RUN).open_failures
    assert (failure["category"], failure["why"]) == ("ToolError", "exit status 2")


def test_a_call_is_used_once(recorder: Recorder) -> None:
    call = recorder.call("look")
    with call:
        call.result = "first"
    assert code_of(call.__enter__) == "bad-event"


def test_values_are_shown_in_a_form_that_repeats(tmp_path: Path) -> None:
    assert plain({"b", "a", "c"}) == ["a", "b", "c"]
    assert plain(object()) == "<object object>"
    assert plain(tmp_path) == str(tmp_path)
    assert plain(b"\xff") == "b'\\xff'"


def test_content_with_another_hash_is_refused(memory: Slicebase) -> None:
    with memory.runs.step(RUN) as step:
        for name in ("sha256:" + "0" * 64, "x"):
            assert code_of(step.observe, blobs={name: b"y"}) == "bad-event"
    assert memory.verify().status == "VERIFIED"


@dataclass
class Match:
    path: Path
    line: int


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_a_result_of_any_type_is_stored() -> None:
    assert as_bytes(b"\xff\x00") == b"\xff\x00"
    assert as_bytes("\ud800") == b"?"
    assert as_bytes(None) == b"null"
    assert json.loads(as_bytes({"a": (1, {2}), 3: math.nan, "n": 2**70})) == {
        "a": [1, [2]], "3": "nan", "n": str(2**70),
    }  # fmt: skip
    assert b"notes.txt" in as_bytes(Match(Path("notes.txt"), 3))
    assert json.loads(as_bytes(Rude())) == "<Rude>"
    loop: list[Any] = []
    loop.append(loop)
    assert as_bytes(loop)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5)
    | st.binary(max_size=5) | st.dates() | st.builds(Rude),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.integers() | st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(ANYTHING)
def test_any_argument_has_a_form_that_an_event_can_carry(value: object) -> None:
    stored = canonical(plain(value))
    assert canonical(msgspec.json.decode(stored)) == stored
    assert isinstance(as_bytes(value), bytes)


@dataclass
class Reply:
    body: Any


BYTES: list[Callable[[bytes], Any]] = [bytes, bytearray, memoryview]
HOLDERS: list[Callable[[Any], Any]] = [
    lambda value: value, lambda value: [value], lambda value: {"a": value}, Reply, lambda value: {"a": [Reply(value)]},
    lambda value: Reply({"b": (value,)}), lambda value: Reply(Reply(value)),
]  # fmt: skip


@pytest.mark.parametrize("kind", BYTES)
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("more", [b"", "é\u200b".encode(), b"\xff\x00"])
def test_bytes_are_redacted_wherever_they_are(
    memory: Slicebase, recorder: Recorder, kind: Callable[[bytes], Any], holder: Callable[[Any], Any], more: bytes
) -> None:
    """Base64 would hide a secret from redaction."""
    given = holder(kind(more + b"a <private>my plan</private> password='hunter2!x' b"))
    with recorder.call("fetch", given=given) as call:
        call.result = given
    stored = [*(msgspec.json.encode(event.payload) for event in events(memory)), memory.runs.blob(RUN, call.blob)]
    for data in stored:
        assert b"my plan" not in data
        assert b"hunter2" not in data
        assert b64encode(b"my plan")[:8] not in data
        assert b"cHJpdmF0ZT" not in data
        assert b"ByaXZhdGU" not in data
        assert b"wcml2YXRl" not in data
    assert b"[redacted:private]" in stored[1]
    assert b"[redacted:private]" in stored[-1]
