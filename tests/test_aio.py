"""The verbs to await: the same as those to call, in a thread of their own, and safe to cancel at any moment."""

import asyncio
import inspect
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Event
from types import FunctionType, MethodDescriptorType
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase import aio
from slicebase.agents.memory_tool import MemoryTool
from slicebase.base import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.library.library import Library
from slicebase.verbs.graph import Graph
from slicebase.verbs.recorder import RecordedCall, Recorder
from slicebase.verbs.runs import Runs
from slicebase.verbs.step import Step
from slicebase.workspace.workspace import Workspace
from tests.amounts import MORE
from tests.mixed_verbs import RUN, Kept, Verb, Work, a_sequence, carry_out, check, eight_sequences, prepared
from tests.paths import PROJECT

PATIENCE = 30.0  # seconds until something that does not end counts as a deadlock
ENDS = ["PLAN_DONE", "ACT_DONE", "OBSERVE_DONE"]


def run(main: Callable[[], Awaitable[Any]]) -> None:
    """Runs a test in an event loop of its own."""

    async def limited() -> None:
        async with asyncio.timeout(4 * PATIENCE):
            await main()

    asyncio.run(limited())


class Gate:
    """A clock at which a verb waits until the test lets it pass."""

    def __init__(self) -> None:
        self.closed = False
        self._reached, self._opened = Event(), Event()

    def __call__(self) -> float:
        if self.closed:
            self._reached.set()
            assert self._opened.wait(PATIENCE)
        return 1_767_225_600.0

    async def reached(self) -> None:
        """Waits until a verb is at the gate, and lets all other tasks go on meanwhile."""
        while not self._reached.is_set():
            await asyncio.sleep(0)

    def open(self) -> None:
        self.closed = False
        self._opened.set()


@asynccontextmanager
async def at_gate(folder: Path) -> AsyncIterator[tuple[aio.Slicebase, Gate]]:
    """Opens a workspace with the shared run; the next verb that asks for the time waits at the gate."""
    prepared(folder)
    gate = Gate()
    async with aio.Slicebase.open(folder, clock=gate) as memory:
        gate.closed = True
        try:
            yield memory, gate
        finally:
            gate.open()


async def settle() -> None:
    """Lets every task go on until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


def claims(folder: Path) -> list[str]:
    with Slicebase.open(folder) as memory:
        return [event.payload["statement"] for event in memory.truth.runs.events(RUN) if event.type == "CLAIM"]


def events(folder: Path, *, step: int = 1) -> list[str]:
    with Slicebase.open(folder) as memory:
        assert memory.verify().status == "VERIFIED"
        first, *types = [event.type for event in memory.truth.runs.events(RUN) if event.step == step] or [""]
        assert not first or (first, types.pop()) == ("STEP_BEGUN", "STEP_ENDED")
        return types


# The same verbs

TWINS = [
    (Slicebase, aio.Slicebase),
    (Library, aio.Library),
    (Runs, aio.Runs),
    (Graph, aio.Graph),
    (Step, aio.Step),
    (Recorder, aio.Recorder),
    (RecordedCall, aio.RecordedCall),
    (MemoryTool, aio.MemoryTool),
]
# Public methods that are no verbs, each with its reason.
NOT_VERBS = {
    (Recorder, "calls_of"): "a part of the decorator",
    (Library, "stamp"): "a part of every verb that writes",
    (Library, "reader"): "reads piece by piece; `recall` does it in one call",
}
# What returns an object instead of waiting, and so has its own text in `aio`.
WRITTEN_OUT = {"open", "init", "close", "step", "recorder", "call"}
VERBS = [
    pytest.param(called, awaited, name, id=f"{called.__name__}.{name}")
    for called, awaited in TWINS
    for name in dir(called)
    if not name.startswith("_")
    and isinstance(inspect.getattr_static(called, name), FunctionType | classmethod | MethodDescriptorType)
    and (called, name) not in NOT_VERBS
]


@pytest.mark.parametrize(("called", "awaited", "name"), VERBS)
def test_every_verb_can_be_awaited_with_the_same_arguments(called: type, awaited: type, name: str) -> None:
    assert hasattr(awaited, name), "a new verb needs a twin in slicebase.aio"
    one, other = getattr(called, name), getattr(awaited, name)
    signatures = [inspect.signature(each) for each in (one, other)]
    assert signatures[0].parameters.keys() == signatures[1].parameters.keys()
    for mine, theirs in zip(*(each.parameters.values() for each in signatures), strict=True):
        assert (mine.kind, mine.default) == (theirs.kind, theirs.default)
        assert str(mine.annotation).strip("'") == str(theirs.annotation).strip("'")
    assert other.__doc__
    if not (name in WRITTEN_OUT and other.__doc__ != one.__doc__):
        assert other.__doc__ == one.__doc__


@pytest.mark.parametrize(("called", "awaited"), TWINS)
def test_nothing_else_can_be_awaited(called: type, awaited: type) -> None:
    assert not {name for name in dir(awaited) if not name.startswith("_")} - {*dir(called), "run_id", "number"} - {
        "snapshots", "result", "blob", "workspace", "interrupted_steps",
    }  # fmt: skip


# Opening and closing


def test_a_workspace_is_opened_by_await_or_by_a_block(tmp_path: Path) -> None:
    async def main() -> None:
        async with aio.Slicebase.open(tmp_path) as memory:
            assert memory.is_new
            assert isinstance(memory.workspace, Workspace)
            await memory.runs.start(RUN, "Objective", "Done")
        memory = await aio.Slicebase.open(tmp_path)
        assert not memory.is_new
        assert [entry.id for entry in await memory.runs.list_runs()] == [RUN]
        await memory.close()
        async with await aio.Slicebase.init(tmp_path) as memory:
            assert (await memory.verify()).status == "VERIFIED"
            assert repr(memory) == f"Slicebase({str(tmp_path)!r})"

    run(main)


def test_errors_propagate(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(SlicebaseError) as caught:
            await aio.Slicebase.open(tmp_path, create=False)
        assert caught.value.code == "no-workspace"
        async with aio.Slicebase.open(tmp_path) as memory:
            for verb in (memory.runs.status("none"), memory.show("turn:none"), memory.library.recall("none")):
                with pytest.raises(SlicebaseError):
                    await verb

    run(main)


def test_a_clock_that_ends_is_an_error_and_not_an_endless_wait(tmp_path: Path) -> None:
    async def main() -> None:
        async with aio.Slicebase.open(tmp_path, clock=iter([1.0] * 3).__next__) as memory:
            await memory.runs.start(RUN, "Objective", "Done")
            with pytest.raises(RuntimeError):
                await memory.runs.claim(RUN, "No time.")

    run(main)


def test_a_closed_object_opens_again_as_the_other_does(tmp_path: Path) -> None:
    async def main() -> None:
        prepared(tmp_path)
        memory = await aio.Slicebase.open(tmp_path)
        for number in range(3):
            await memory.runs.claim(RUN, f"claim {number}")
            await memory.close()
            await memory.close()

    run(main)
    assert len(claims(tmp_path)) == 3


def open_files() -> set[str]:
    found = set()
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux lists open files")
@pytest.mark.parametrize("cancelled", [False, True])
def test_close_leaves_no_thread_and_no_open_file(tmp_path: Path, cancelled: bool) -> None:
    async def main() -> None:
        async with at_gate(tmp_path) as (memory, gate):
            gate.closed = False
            await memory.context("question")
            assert [name for name in open_files() if str(tmp_path) in name]
            assert [thread for thread in threading.enumerate() if thread.name.startswith("slicebase_")]
            gate.closed = True
            verb = asyncio.create_task(memory.runs.claim(RUN, "claim"))
            await gate.reached()
            close = asyncio.create_task(memory.close())
            await settle()
            if cancelled:
                close.cancel()
                await settle()
                close.cancel()
            gate.open()
            await asyncio.wait([close])
            assert close.cancelled() == cancelled
            await verb
            assert not [thread for thread in threading.enumerate() if thread.name.startswith("slicebase_")]
            assert not [name for name in open_files() if str(tmp_path) in name]

    run(main)


def test_verbs_that_wait_behind_a_close_are_done(tmp_path: Path) -> None:
    async def main() -> None:
        async with at_gate(tmp_path) as (memory, gate):
            first = asyncio.create_task(memory.runs.claim(RUN, "before"))
            await gate.reached()
            others = [asyncio.create_task(each) for each in (memory.close(), memory.runs.claim(RUN, "after"))]
            await settle()
            gate.open()
            await asyncio.gather(first, *others)

    run(main)
    assert claims(tmp_path) == ["before", "after"]


def test_two_event_loops_one_after_another(tmp_path: Path) -> None:
    prepared(tmp_path)
    kept: list[aio.Slicebase] = []

    async def first() -> None:
        kept.append(await aio.Slicebase.open(tmp_path))
        await kept[0].runs.claim(RUN, "one")

    async def second() -> None:
        await kept[0].runs.claim(RUN, "two")
        await kept[0].close()

    run(first)
    run(second)
    assert claims(tmp_path) == ["one", "two"]


def test_verbs_run_in_the_order_in_which_they_were_awaited(tmp_path: Path) -> None:
    async def main() -> None:
        prepared(tmp_path)
        async with aio.Slicebase.open(tmp_path) as memory:
            await asyncio.gather(*(memory.runs.claim(RUN, str(number)) for number in range(20)))

    run(main)
    assert claims(tmp_path) == list(map(str, range(20)))


def test_the_event_loop_goes_on_while_a_verb_runs(tmp_path: Path) -> None:
    """Also where another task begins: it creates steps, recorders and families without waiting for the verb."""

    async def main() -> None:
        (tmp_path / "said.json").write_text('[{"role": "user", "content": "question"}]')
        reading, go_on = Event(), Event()

        def progress(name: str, count: int) -> None:
            reading.set()
            assert go_on.wait(PATIENCE)

        prepared(tmp_path)
        async with aio.Slicebase.open(tmp_path) as memory:
            long = asyncio.create_task(memory.import_(tmp_path / "said.json", progress=progress))
            while not reading.is_set():
                await asyncio.sleep(0)
            for _ in range(100):
                await asyncio.sleep(0)
            assert not long.done()
            _ = memory.library, memory.graph, memory.memory_tool
            step, recorder = memory.runs.step(RUN), memory.runs.recorder(RUN)
            call, decorated = recorder.call("tool"), recorder(asyncio.sleep)
            assert (step.run_id, step.number, recorder.run_id) == (RUN, 0, RUN)
            waiting = [asyncio.create_task(each) for each in (step.__aenter__(), call.__aenter__(), decorated(0))]
            await settle()
            assert not any(task.done() for task in (long, *waiting))
            go_on.set()
            assert (await long).added == 1
            await asyncio.gather(*waiting)

    run(main)


VARIABLE: ContextVar[str] = ContextVar("VARIABLE", default="unset")


def test_context_variables_reach_the_verb(tmp_path: Path) -> None:
    async def main() -> None:
        seen: list[tuple[str, bool]] = []

        def clock() -> float:
            seen.append((VARIABLE.get(), threading.current_thread() is threading.main_thread()))
            return 1.0

        async with aio.Slicebase.open(tmp_path, clock=clock) as memory:
            VARIABLE.set("set by the task")
            await memory.runs.start(RUN, "Objective", "Done")
        assert set(seen) == {("set by the task", False)}

    run(main)


def python(code: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code, str(folder)],
        env={"PYTHONPATH": str(PROJECT / "src")}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_an_object_that_is_dropped_ends_its_thread(tmp_path: Path) -> None:
    """And one that is never closed does not keep the interpreter from ending."""
    code = """if True:
    import asyncio, gc, sys, threading
    from slicebase.aio import Slicebase
    async def main():
        memory = await Slicebase.open(sys.argv[1])
        await memory.runs.list_runs()
        thread, = [each for each in threading.enumerate() if each.name.startswith("slicebase_")]
        del memory
        gc.collect()
        thread.join(30)
        print(thread.is_alive())
        global kept
        kept = await Slicebase.open(sys.argv[1])
        await kept.runs.list_runs()
    asyncio.run(main())
    print("end", flush=True)
    """
    done = python(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\nend\n", "")


def test_a_forked_process_is_told_to_open_the_workspace_again(tmp_path: Path) -> None:
    code = """if True:
    import asyncio, os, sys
    from slicebase import SlicebaseError
    from slicebase.aio import Slicebase
    async def opened():
        memory = await Slicebase.open(sys.argv[1])
        await memory.runs.list_runs()
        return memory
    memory = asyncio.run(opened())
    child = os.fork()
    if not child:
        try:
            asyncio.run(memory.status())
        except SlicebaseError as error:
            print(error.code, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    asyncio.run(memory.close())
    """
    done = python(code, tmp_path)
    assert (done.returncode, done.stdout) == (0, "other-process\n"), done.stderr


# Cancelling


def test_a_verb_that_is_cancelled_before_its_turn_does_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with at_gate(tmp_path) as (memory, gate):
            first = asyncio.create_task(memory.runs.claim(RUN, "first"))
            await gate.reached()
            second = asyncio.create_task(memory.runs.claim(RUN, "second"))
            third = asyncio.create_task(memory.runs.claim(RUN, "third"))
            await settle()
            second.cancel()
            await asyncio.wait([second])
            assert second.cancelled()
            assert not first.done()
            gate.open()
            assert [(await first).id, (await third).id] == ["c1", "c2"]

    run(main)
    assert claims(tmp_path) == ["first", "third"]


@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_verb_that_is_cancelled_while_it_runs_is_finished_first(tmp_path: Path, times: int) -> None:
    async def main() -> None:
        async with at_gate(tmp_path) as (memory, gate):
            verb = asyncio.create_task(memory.runs.claim(RUN, "whole"))
            await gate.reached()
            for _ in range(times):
                verb.cancel()
                await settle()
                assert not verb.done()
            gate.open()
            await asyncio.wait([verb])
            assert verb.cancelled()
            assert claims(tmp_path) == ["whole"]

    run(main)


def test_a_timeout_ends_after_the_verb_that_it_cancels(tmp_path: Path) -> None:
    async def main() -> None:
        async with at_gate(tmp_path) as (memory, gate):

            async def limited() -> None:
                async with asyncio.timeout(None) as limit:
                    limits.append(limit)
                    await memory.runs.claim(RUN, "whole")

            limits: list[asyncio.Timeout] = []
            task = asyncio.create_task(limited())
            await gate.reached()
            limits[0].reschedule(asyncio.get_running_loop().time())
            while not task.cancelling():
                await asyncio.sleep(0)
            await settle()
            assert not task.done()
            gate.open()
            with pytest.raises(TimeoutError):
                await task
            assert claims(tmp_path) == ["whole"]

    run(main)


def test_a_group_ends_after_the_verbs_that_it_cancels(tmp_path: Path) -> None:
    async def main() -> None:
        async with at_gate(tmp_path) as (memory, gate):

            async def fail() -> None:
                await gate.reached()
                raise LookupError

            async def open_for(task: asyncio.Task[object]) -> None:
                while not task.cancelling():
                    await asyncio.sleep(0)
                gate.open()

            async def grouped() -> None:
                async with asyncio.TaskGroup() as group:
                    whole = group.create_task(memory.runs.claim(RUN, "whole"))
                    openers.append(asyncio.create_task(open_for(whole)))
                    await settle()
                    group.create_task(memory.runs.claim(RUN, "never"))
                    group.create_task(fail())

            openers: list[asyncio.Task[None]] = []
            with pytest.raises(ExceptionGroup) as caught:
                await grouped()
            await openers[0]
            assert [type(error) for error in caught.value.exceptions] == [LookupError]
            assert claims(tmp_path) == ["whole"]

    run(main)


def test_an_opening_that_is_cancelled_leaves_no_thread(tmp_path: Path) -> None:
    async def main() -> None:
        before = threading.active_count()
        for turns in range(4):
            opening = asyncio.create_task(_opened(tmp_path))
            for _ in range(turns):
                await asyncio.sleep(0)
            opening.cancel()
            await asyncio.wait([opening])
            if not opening.cancelled():
                await opening.result().close()
        assert threading.active_count() == before

    run(main)


async def _opened(folder: Path) -> aio.Slicebase:
    return await aio.Slicebase.open(folder)


@pytest.mark.parametrize("times", [1, 3])
def test_a_step_that_is_cancelled_ends_with_its_events_and_a_failure(tmp_path: Path, times: int) -> None:
    """Also if it is cancelled again while its end waits for its turn."""

    async def main() -> None:
        async with at_gate(tmp_path) as (memory, gate):
            gate.closed = False
            inside = asyncio.Event()

            async def stepping() -> None:
                async with memory.runs.step(RUN) as step:
                    await step.plan("wait")
                    inside.set()
                    await asyncio.Event().wait()

            task = asyncio.create_task(stepping())
            await inside.wait()
            gate.closed = True
            other = asyncio.create_task(memory.runs.claim(RUN, "in the way"))
            await gate.reached()
            for _ in range(times):
                task.cancel()
                await settle()
                assert not task.done()
            gate.open()
            await asyncio.wait([task, other])
            assert task.cancelled()

    run(main)
    assert events(tmp_path) == ["PLAN_DONE", "FAILURE", "ACT_DONE", "OBSERVE_DONE"]


def test_a_step_that_is_cancelled_while_it_begins_leaves_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with at_gate(tmp_path) as (memory, gate):
            other = asyncio.create_task(memory.runs.claim(RUN, "in the way"))
            await gate.reached()
            task = asyncio.create_task(memory.runs.step(RUN).__aenter__())
            await settle()
            task.cancel()
            await asyncio.wait([task])
            gate.open()
            await other

    run(main)
    assert events(tmp_path) == []


def test_a_step_that_is_cancelled_while_its_begin_is_logged_ends_with_a_failure(tmp_path: Path) -> None:
    async def main() -> None:
        async with at_gate(tmp_path) as (memory, gate):
            task = asyncio.create_task(memory.runs.step(RUN).__aenter__())
            await gate.reached()
            task.cancel()
            await settle()
            gate.open()
            await asyncio.wait([task])
            assert task.cancelled()

    run(main)
    assert events(tmp_path) == ["FAILURE", *ENDS]


# Recorders


def test_a_recorder_records_functions_with_and_without_async(tmp_path: Path) -> None:
    async def main() -> None:
        prepared(tmp_path)
        async with aio.Slicebase.open(tmp_path) as memory:
            recorder = memory.runs.recorder(RUN)

            @recorder
            async def read(path: str) -> str:
                """Reads."""
                await asyncio.sleep(0)
                return f"text of {path}"

            @recorder
            async def fail() -> None:
                raise LookupError("nothing")

            assert (read.__name__, read.__doc__) == ("read", "Reads.")
            assert await read("a") == "text of a"
            with pytest.raises(LookupError):
                await fail()
            async with recorder.call("bash", command="make") as call:
                call.result = "done"
            assert await memory.runs.blob(RUN, call.blob) == b"done"
            name = await recorder.started("grep", {"word": "x"})
            await recorder.failed(name, LookupError("none"))

    run(main)
    assert [events(tmp_path, step=step) for step in range(1, 5)] == [
        ENDS, ["PLAN_DONE", "ACT_DONE", "FAILURE", "OBSERVE_DONE"], ENDS,
        ["PLAN_DONE", "ACT_DONE", "FAILURE", "OBSERVE_DONE"],
    ]  # fmt: skip


def test_a_recorded_function_that_is_cancelled_ends_with_a_failure(tmp_path: Path) -> None:
    async def main() -> None:
        prepared(tmp_path)
        async with aio.Slicebase.open(tmp_path) as memory:
            inside = asyncio.Event()

            @memory.runs.recorder(RUN)
            async def wait() -> None:
                inside.set()
                await asyncio.Event().wait()

            task = asyncio.create_task(wait())
            await inside.wait()
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()

    run(main)
    assert events(tmp_path) == ["PLAN_DONE", "ACT_DONE", "FAILURE", "OBSERVE_DONE"]


@pytest.mark.parametrize("way", ["block", "callback"])
def test_a_call_that_is_cancelled_while_its_begin_is_logged_ends_with_a_failure(tmp_path: Path, way: str) -> None:
    async def main() -> None:
        async with at_gate(tmp_path) as (memory, gate):
            recorder = memory.runs.recorder(RUN)
            begin = recorder.call("bash").__aenter__() if way == "block" else recorder.started("bash")
            task = asyncio.create_task(begin)
            await gate.reached()
            task.cancel()
            await settle()
            gate.open()
            await asyncio.wait([task])
            assert task.cancelled()
            assert "open=0" in repr(recorder)

    run(main)
    assert events(tmp_path) == ["PLAN_DONE", "ACT_DONE", "FAILURE", "OBSERVE_DONE"]


@pytest.mark.parametrize("way", ["ended", "failed"])
def test_the_end_of_a_call_is_logged_even_if_it_is_cancelled_before_its_turn(tmp_path: Path, way: str) -> None:
    async def main() -> None:
        async with at_gate(tmp_path) as (memory, gate):
            gate.closed = False
            recorder = memory.runs.recorder(RUN)
            call_id = await recorder.started("bash")
            gate.closed = True
            other = asyncio.create_task(memory.runs.claim(RUN, "in the way"))
            await gate.reached()
            end = recorder.ended(call_id, "text") if way == "ended" else recorder.failed(call_id, OSError())
            task = asyncio.ensure_future(end)
            await settle()
            task.cancel()
            await settle()
            gate.open()
            await asyncio.wait([task, other])
            assert task.cancelled()

    run(main)
    assert set(events(tmp_path)) - {"FAILURE"} == set(ENDS)


# Properties


@settings(max_examples=5 * MORE)
@given(eight_sequences)
def test_eight_tasks_with_mixed_verbs_share_one_object(sequences: Sequence[Sequence[Verb]]) -> None:
    async def main() -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            log, kept = prepared(folder), [Kept() for _ in sequences]
            async with aio.Slicebase.open(folder) as memory, asyncio.TaskGroup() as group:
                for number, verbs in enumerate(sequences):
                    group.create_task(carry_out(Work(memory, log, folder, f"w{number}", kept[number]), verbs))
            assert [each.calls for each in kept] == list(map(len, sequences))
            with Slicebase.open(folder) as again:
                check(again, log, kept)

    run(main)


class Cut(NamedTuple):
    """When a worker is cancelled: after some verbs, and then some turns of the event loop, once or more."""

    verbs: int
    turns: int
    times: int


cuts = st.builds(Cut, st.integers(0, 4), st.integers(0, 10).map(lambda power: 2**power), st.integers(1, 3))


@settings(max_examples=10 * MORE)
@given(st.lists(st.tuples(a_sequence, cuts), min_size=2, max_size=4))
def test_whatever_is_cancelled_everything_is_written_completely_or_not_at_all(
    workers: Sequence[tuple[Sequence[Verb], Cut]],
) -> None:
    async def cancelled(task: "asyncio.Task[None]", kept: Kept, cut: Cut) -> None:
        while kept.calls < cut.verbs and not task.done():
            await asyncio.sleep(0)
        for _ in range(cut.times):
            for _ in range(cut.turns):
                await asyncio.sleep(0)
            task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or task.exception() is None, task.exception()

    async def main() -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            log, kept = prepared(folder), [Kept() for _ in workers]
            async with aio.Slicebase.open(folder) as memory, asyncio.TaskGroup() as group:
                for number, (verbs, cut) in enumerate(workers):
                    work = Work(memory, log, folder, f"w{number}", kept[number])
                    task = asyncio.create_task(carry_out(work, verbs))
                    group.create_task(cancelled(task, kept[number], cut))
            with Slicebase.open(folder) as again:
                check(again, log, kept, exactly=False)

    run(main)


def test_a_recorded_function_that_returns_a_generator_fails(tmp_path: Path) -> None:
    async def main() -> None:
        prepared(tmp_path)
        async with aio.Slicebase.open(tmp_path) as memory:
            with pytest.raises(TypeError):
                await memory.runs.recorder(RUN)(lambda: (number for number in range(3)))()  # type: ignore[arg-type, return-value]
            assert (await memory.runs.status(RUN)).open_failures

    run(main)
