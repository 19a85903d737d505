"""Mixed verbs for eight workers that share one object: threads over `slicebase`, tasks over `slicebase.aio`.

A sequence is written once, with `await`. `Immediate` lets it use an object whose verbs are called.
"""

import json
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hypothesis import strategies as st

from slicebase.agents.memory_tool import MemoryTool
from slicebase.base import Slicebase
from slicebase.library.library import Library
from slicebase.verbs.graph import Graph
from slicebase.verbs.recorder import RecordedCall
from slicebase.verbs.runs import Runs
from slicebase.verbs.step import Step

WORKERS = 8
RUN = "shared"
_Value = TypeVar("_Value")


class Kept:
    """What was acknowledged to one worker or to all."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}  # text by reference
        self.claims: list[tuple[str, str]] = []  # id and statement
        self.steps: list[int] = []
        self.questions: list[str] = []
        self.blobs: dict[str, bytes] = {}
        self.contexts: dict[str, str] = {}  # text by id
        self.sessions: dict[str, int] = {}  # number of turns
        self.runs: list[str] = []
        self.files: dict[str, str] = {}  # title by id
        self.paths: list[str] = []  # of the memory tool
        self.calls = 0


class Work(NamedTuple):
    """One worker: the object, the shared log, a name that makes its texts unique, and what was acknowledged."""

    memory: Any  # aio.Slicebase, or Slicebase with verbs that are done at once
    log: str
    folder: Path
    name: str
    kept: Kept


async def import_(work: Work, n: int) -> None:
    session = f"{work.name}-{n}"
    path = work.folder / f"{session}.json"
    said = [{"role": "user", "content": f"question {session}"}, {"role": "assistant", "content": f"reply {session}"}]
    path.write_text(json.dumps(said))
    account = await work.memory.import_(path, session=session)
    assert account.added == 2
    work.kept.sessions[session] = 2


async def context(work: Work, n: int) -> None:
    built = await work.memory.context(f"which question or row has {work.name}?", 400)
    work.kept.contexts[built.id] = built.text
    assert (await work.memory.replay(built.id)).text == built.text


async def search(work: Work, n: int) -> None:
    await work.memory.search("question")
    await work.memory.library.search("row")


async def create(work: Work, n: int) -> None:
    title = f"Page {work.name} {n}"
    change = await work.memory.library.create(title, "Text.", body=f"# {title}\n\nA section.\n")
    work.kept.files[change.id] = title
    assert title in (await work.memory.library.recall(change.id)).text


async def remember(work: Work, n: int) -> None:
    text = f"row {work.name} {n}"
    change = await work.memory.library.remember(work.log, text)
    work.kept.rows[change.ref] = text
    assert text in (await work.memory.library.recall(change.ref)).text


async def cite(work: Work, n: int) -> None:
    text = f"evidence {work.name} {n}"
    change = await work.memory.library.remember(work.log, text)
    work.kept.rows[change.ref] = text
    logged = await work.memory.runs.claim(RUN, text, status="verified", cite=(change.ref, text))
    work.kept.claims.append((logged.id, text))
    await work.memory.why(change.ref, forward=True)


async def list_files(work: Work, n: int) -> None:
    assert work.log in {entry.id for entry in await work.memory.library.list_files()}


async def tool(work: Work, n: int) -> None:
    path = f"/memories/{work.name}-{n}.txt"
    await work.memory.memory_tool.execute({"command": "create", "path": path, "file_text": "text"})
    work.kept.paths.append(path)


async def start(work: Work, n: int) -> None:
    run_id = f"{work.name}-{n}"
    await work.memory.runs.start(run_id, "Objective", "Done")
    work.kept.runs.append(run_id)


async def claim(work: Work, n: int) -> None:
    statement = f"claim {work.name} {n}"
    logged = await work.memory.runs.claim(RUN, statement)
    work.kept.claims.append((logged.id, statement))


async def step(work: Work, n: int) -> None:
    statement, question = f"stepped {work.name} {n}", f"why {work.name} {n}?"
    async with work.memory.runs.step(RUN) as block:
        work.kept.steps.append(block.number)
        await block.plan("look")
        logged = await block.claim(statement)
        work.kept.claims.append((logged.id, statement))
        await block.ask(question)
        work.kept.questions.append(question)
        built = await block.context(f"what about {work.name}?", 600)
        work.kept.contexts[built.id] = built.text


async def failed_step(work: Work, n: int) -> None:
    try:
        async with work.memory.runs.step(RUN) as block:
            work.kept.steps.append(block.number)
            raise LookupError(work.name)
    except LookupError:
        pass


async def record(work: Work, n: int) -> None:
    recorder = work.memory.runs.recorder(RUN)
    result = f"result {work.name} {n}"
    async with recorder.call("read", path=work.name) as call:
        call.result = result
    work.kept.blobs[call.blob] = result.encode()
    call_id = await recorder.started("write", {"n": n})
    blob = await recorder.ended(call_id, result * 2)
    work.kept.blobs[blob] = (result * 2).encode()


async def compact(work: Work, n: int) -> None:
    await work.memory.runs.compact(RUN)


async def read(work: Work, n: int) -> None:
    await work.memory.runs.status(RUN)
    await work.memory.runs.list_runs()
    await work.memory.status()
    for session in await work.memory.graph.sessions():
        assert len(await work.memory.graph.turns(session.id)) == 2


async def set_(work: Work, n: int) -> None:
    await work.memory.set("compaction.steps", n + 1)
    values = {each.name: each.value for each in await work.memory.config()}
    assert values["compaction.steps"] in range(1, 6)


async def verify(work: Work, n: int) -> None:
    assert (await work.memory.verify()).status == "VERIFIED"


async def close(work: Work, n: int) -> None:
    await work.memory.close()


VERBS: Sequence[Callable[[Work, int], Coroutine[Any, Any, None]]] = (
    import_, context, search, create, remember, cite, list_files, tool, start, claim, step, failed_step, record,
    compact, read, set_, verify, close,
)  # fmt: skip
Verb = Callable[[Work, int], Awaitable[None]]
a_sequence = st.lists(st.sampled_from(VERBS), min_size=1, max_size=5)
eight_sequences = st.lists(a_sequence, min_size=WORKERS, max_size=WORKERS)


async def carry_out(work: Work, verbs: Sequence[Verb]) -> None:
    """Carries out the verbs of one worker. Any error ends it."""
    for number, verb in enumerate(verbs):
        await verb(work, number)
        work.kept.calls += 1


def prepared(folder: Path) -> str:
    """Creates the workspace, the shared run and the shared log. Returns the id of the log."""
    with Slicebase.init(folder) as memory:
        memory.runs.start(RUN, "Objective", "Done")
        return memory.library.create("Log", "Rows.", type="jsonl").id


def check(memory: Slicebase, log: str, kept: Sequence[Kept], *, exactly: bool = True) -> None:
    """Checks that everything acknowledged is there once and, with `exactly`, that nothing else is there."""
    rows = {ref: text for each in kept for ref, text in each.rows.items()}
    stored = memory.library.reader().pieces([f"file:{log}"])[1:]
    found = {piece.ref: piece.text for piece in stored}
    assert len(found) == len(stored)
    assert rows.items() <= found.items()
    events = list(memory.truth.runs.events(RUN))
    claims = [claim for each in kept for claim in each.claims]
    logged = [(event.payload["claim_id"], event.payload["statement"]) for event in events if event.type == "CLAIM"]
    assert len({name for name, _ in logged}) == len(logged)
    assert set(claims) <= set(logged)
    steps = [number for each in kept for number in each.steps]
    assert len(set(steps)) == len(steps)
    ends = {"PLAN_DONE", "ACT_DONE", "OBSERVE_DONE"}
    ended = [(event.step, event.type) for event in events if event.type in ends]
    assert {(number, type_) for number in steps for type_ in ends} <= set(ended)
    assert len(set(ended)) == len(ended)
    assert {(number, type_) for number, _ in ended for type_ in ends} == set(ended), "half a step"
    asked = [event.payload["question"] for event in events if event.type == "QUESTION"]
    assert {question for each in kept for question in each.questions} <= set(asked)
    for each in kept:
        for blob, data in each.blobs.items():
            assert memory.runs.blob(RUN, blob) == data
        for name, text in each.contexts.items():
            replayed = memory.replay(name)
            assert replayed.identical
            assert replayed.text == text
    sessions = {each.id: each.turns for each in memory.graph.sessions()}
    assert {name: size for each in kept for name, size in each.sessions.items()}.items() <= sessions.items()
    assert set(sessions.values()) <= {2}
    runs = {entry.id for entry in memory.runs.list_runs()}
    assert {run for each in kept for run in each.runs} <= runs
    files = {entry.id: entry.title for entry in memory.library.list_files()}
    assert {name: title for each in kept for name, title in each.files.items()}.items() <= files.items()
    paths = {path for each in kept for path in each.paths}
    shown = memory.memory_tool.execute({"command": "view", "path": "/memories"})
    assert all(path in shown for path in paths)
    assert not memory.library.broken()
    if exactly:
        assert rows == found
        assert sorted(claims) == sorted(logged)
        assert len(sessions) == sum(len(each.sessions) for each in kept)
        assert len(runs) == 1 + sum(len(each.runs) for each in kept)
        assert len(files) == 1 + len(paths) + sum(len(each.files) for each in kept)
    assert memory.verify().status == "VERIFIED"


# Verbs that are called, under sequences that await them


class Immediate:
    """An object whose verbs are called, with verbs that can be awaited and are done at once."""

    def __init__(self, called: Any) -> None:
        self._called = called

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._called, name)
        if isinstance(found, Graph | Library | Runs | MemoryTool):
            return Immediate(found)
        if not callable(found):
            return found
        if name in ("step", "recorder", "call"):
            return lambda *given, **named: _wrapped(found(*given, **named))
        return partial(_at_once, found)


class _Block(Immediate, AbstractAsyncContextManager[Any]):
    async def __aenter__(self) -> Any:
        self._called.__enter__()
        return self._called if isinstance(self._called, RecordedCall) else self

    async def __aexit__(self, *raised: Any) -> None:
        self._called.__exit__(*raised)


def _wrapped(made: Any) -> Immediate:
    return _Block(made) if isinstance(made, Step | RecordedCall) else Immediate(made)


async def _at_once(verb: Callable[..., _Value], *given: Any, **named: Any) -> _Value:
    return verb(*given, **named)


def finish(steps: Coroutine[Any, Any, object]) -> None:
    """Runs a coroutine that never waits."""
    try:
        steps.send(None)
    except StopIteration:
        return
    raise AssertionError("it waits")
