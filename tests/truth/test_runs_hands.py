"""One run under many hands: processes, threads and tasks write to it at the same time, and some processes are killed.

Whatever was acknowledged is in the state, ids and numbers have no gaps and no doubles, and exactly the steps of killed
processes are closed as interrupted.
"""

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from slicebase import Slicebase, aio
from tests.amounts import MORE
from tests.mixed_verbs import RUN, Immediate, finish

ENDS = ("PLAN_DONE", "ACT_DONE", "OBSERVE_DONE")
Reply = list[Any]  # what was done, and what it is called: `claim`, its id and its words; `begun` and a number


class Hand:
    """Somebody who writes to the run: the object that it uses, and the steps that it has open."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory
        self.steps: list[Any] = []

    async def do(self, what: str, words: str) -> list[Reply]:
        done: list[Reply] = []
        await getattr(self, what)(words, done)
        return done

    async def claim(self, words: str, done: list[Reply]) -> None:
        done.append(["claims", (await self.memory.runs.claim(RUN, words)).id, words])

    async def failure(self, words: str, done: list[Reply]) -> None:
        done.append(["failures", (await self.memory.runs.failure(RUN, words)).id, words])

    async def step(self, words: str, done: list[Reply]) -> None:
        async with self.memory.runs.step(RUN) as step:
            done.append(["begun", step.number])
            await step.plan("look")
            done.append(["claims", (await step.claim(words)).id, words])

    async def failed_step(self, words: str, done: list[Reply]) -> None:
        try:
            async with self.memory.runs.step(RUN) as step:
                done.append(["begun", step.number])
                raise LookupError(words)
        except LookupError:
            done.append(["failures", f"step-{step.number}", words])

    async def begin(self, words: str, done: list[Reply]) -> None:
        step = self.memory.runs.step(RUN)
        await step.__aenter__()
        self.steps.append(step)
        done.append(["begun", step.number])
        await step.act("wait")

    async def end(self, words: str, done: list[Reply]) -> None:
        if self.steps:
            await self.steps.pop(0).__aexit__(None, None, None)

    async def status(self, words: str, done: list[Reply]) -> None:
        await self.memory.runs.status(RUN)

    async def compact(self, words: str, done: list[Reply]) -> None:
        await self.memory.runs.compact(RUN)


DEEDS = ("claim", "failure", "step", "failed_step", "begin", "end", "status", "compact")


def do_at_once(hand: Hand, what: str, words: str) -> list[Reply]:
    """Lets a hand do something with an object whose verbs are called."""
    replies: list[Reply] = []

    async def once() -> None:
        replies.extend(await hand.do(what, words))

    finish(once())
    return replies


class Process:
    """A hand in a process of its own."""

    def __init__(self, folder: Path) -> None:
        reading, self._writing = os.pipe()
        self._replies, writing = os.pipe()
        self.id = os.fork()
        if self.id == 0:
            os.close(self._writing)
            self._serve(folder, reading, writing)
        os.close(reading)
        os.close(writing)
        self.open: list[int] = []

    def _serve(self, folder: Path, reading: int, writing: int) -> None:
        status = 70
        try:
            with Slicebase.open(folder) as memory, os.fdopen(reading) as orders:
                memory.truth.database.connection.execute("PRAGMA synchronous = OFF")
                hand = Hand(Immediate(memory))
                for order in orders:
                    os.write(writing, json.dumps(do_at_once(hand, *json.loads(order))).encode() + b"\n")
            status = 0
        finally:
            os._exit(status)

    def do(self, what: str, words: str) -> list[Reply]:
        os.write(self._writing, json.dumps([what, words]).encode() + b"\n")
        data = b""
        while not data.endswith(b"\n"):
            more = os.read(self._replies, 1 << 16)
            assert more, "the process has ended"
            data += more
        replies: list[Reply] = json.loads(data)
        if what == "begin":
            self.open.append(replies[0][1])
        elif what == "end":
            self.open = self.open[1:]
        return replies

    def stop(self, number: int = signal.SIGTERM) -> None:
        os.kill(self.id, number)
        os.waitpid(self.id, 0)
        os.close(self._writing)
        os.close(self._replies)


class Tasks:
    """Hands that are tasks of one event loop, in a thread."""

    def __init__(self, folder: Path, count: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = ThreadPoolExecutor(1)
        self._thread.submit(self._loop.run_forever)
        self._memory = self._run(_opened(folder)).result()
        self.hands = [Hand(self._memory) for _ in range(count)]

    def _run(self, what: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(what, self._loop)

    def do(self, hand: Hand, what: str, words: str) -> list[Reply]:
        replies: list[Reply] = self._run(hand.do(what, words)).result()
        return replies

    def stop(self) -> None:
        self._run(self._memory.close()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.shutdown()
        self._loop.close()


async def _opened(folder: Path) -> aio.Slicebase:
    return await aio.Slicebase.open(folder)


class ManyHands(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        folder = Path(self.folder.name)
        with Slicebase.init(folder) as memory:
            memory.runs.start(RUN, "Objective", "Done")
        self.processes = [Process(folder) for _ in range(2)]
        self.tasks = Tasks(folder, 2)
        self.memory = Slicebase.open(folder)
        self.memory.truth.database.connection.execute("PRAGMA synchronous = OFF")
        threads = [Hand(Immediate(self.memory)) for _ in range(2)]
        self.hands: list[Callable[[str, str], list[Reply]]] = [
            *(process.do for process in self.processes),
            *(lambda *order, hand=hand: do_at_once(hand, *order) for hand in threads),
            *(lambda *order, hand=hand: self.tasks.do(hand, *order) for hand in self.tasks.hands),
        ]
        self.pool = ThreadPoolExecutor(len(self.hands))
        self.begun: list[int] = []
        self.known: dict[str, dict[str, str]] = {"claims": {}, "failures": {}}
        self.killed: set[int] = set()
        self.deeds = 0

    @rule(deeds=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(DEEDS)), min_size=1, max_size=6))
    def at_the_same_time(self, deeds: list[tuple[int, str]]) -> None:
        orders = {number % len(self.hands): what for number, what in deeds}  # a hand does one thing at a time
        running = []
        for number, what in orders.items():
            self.deeds += 1
            running.append(self.pool.submit(self.hands[number], what, f"deed {self.deeds}"))
        for future in running:
            for kind, name, *words in future.result(60):
                if kind == "begun":
                    self.begun.append(name)
                else:
                    assert name not in self.known[kind], "given twice"
                    self.known[kind][name] = words[0]

    @precondition(lambda self: bool(getattr(self, "processes", None)))
    @rule()
    def kill(self) -> None:
        process = self.processes.pop(0)
        process.stop(signal.SIGKILL)
        self.hands.pop(0)
        self.killed.update(process.open)

    @invariant()
    def everything_acknowledged_is_there(self) -> None:
        if not hasattr(self, "hands"):
            return
        runs = self.memory.truth.runs
        state, events = runs.state(RUN), list(runs.events(RUN))
        claims = {name: item["statement"] for name, item in state.claims.items()}
        assert claims == self.known["claims"]
        said = {name: item["why"] for name, item in state.failures.items()}
        assert said.items() >= self.known["failures"].items()
        assert sorted(self.begun) == list(range(1, len(self.begun) + 1))
        assert sorted(event.step or 0 for event in events if event.type == "STEP_BEGUN") == sorted(self.begun)
        ended = [(event.step, event.type) for event in events if event.type in ENDS]
        assert len(set(ended)) == len(ended), "a step ended twice"
        assert self.interrupted() <= self.killed, "a step was closed that is open"

    def interrupted(self) -> set[int]:
        failures = self.memory.truth.runs.state(RUN).failures.values()
        return {int(item["where"].split()[1]) for item in failures if item["category"] == "interrupted"}

    def teardown(self) -> None:
        if not hasattr(self, "hands"):
            return
        try:
            self.memory.runs.status(RUN)
            assert self.interrupted() == self.killed
            assert self.memory.verify().status == "VERIFIED"
        finally:
            for process in self.processes:
                process.stop()
            self.pool.shutdown()
            self.tasks.stop()
            self.memory.close()
            self.folder.cleanup()


TestManyHands = ManyHands.TestCase
TestManyHands.settings = settings(max_examples=4 * MORE, stateful_step_count=8, deadline=None)
