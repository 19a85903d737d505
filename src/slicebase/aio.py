"""The same verbs to await, for programs that use asyncio.

    async with slicebase.aio.Slicebase.open(".") as memory:
        context = await memory.context("how are codes compared?", tokens=800)

The verbs of one object run in a thread of its own, one after another, in the order in which they were awaited. A verb
that is cancelled before its turn does nothing. A verb that has begun is finished, and then the cancellation goes on.
The end of a block, and `ended` or `failed` of a recorder, always runs. A callback that is passed to a verb runs in the
thread of the verbs, and must not wait for another verb.
"""

import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from functools import cached_property, partial, wraps
from inspect import isawaitable
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

from slicebase import base as sync
from slicebase.agents.memory_tool import MemoryTool as SyncMemoryTool
from slicebase.library.library import Library as SyncLibrary
from slicebase.verbs.graph import Graph as SyncGraph
from slicebase.verbs.policies import Policies as SyncPolicies
from slicebase.verbs.recorder import RecordedCall as SyncCall
from slicebase.verbs.recorder import Recorder as SyncRecorder
from slicebase.verbs.recorder import refuse_generator
from slicebase.verbs.runs import Compact
from slicebase.verbs.runs import Runs as SyncRuns
from slicebase.verbs.step import Step as SyncStep
from slicebase.workspace.surroundings import Clock, Entropy
from slicebase.workspace.worker import Awaited, Worker, awaited
from slicebase.workspace.workspace import StrPath, Workspace

__all__ = ["Slicebase"]

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class Opening:
    """A workspace that is being opened: `await` it, or use it in `async with`, which also closes it."""

    def __init__(self, cls: "type[Slicebase]", verb: str, *args: Any, **options: Any) -> None:
        self._cls = cls
        self._do = partial(getattr(sync.Slicebase, verb), *args, **options)

    def __await__(self) -> "Generator[Any, None, Slicebase]":
        return self.__aenter__().__await__()

    async def __aenter__(self) -> "Slicebase":
        worker = Worker()
        try:
            self._memory = self._cls(await worker.run(self._open), worker)
        except BaseException:
            worker.end()
            raise
        return self._memory

    def _open(self) -> sync.Slicebase:
        opened: sync.Slicebase = self._do()
        _ = opened.graph, opened.library, opened.runs, opened.memory_tool  # now: the event loop must wait for no verb
        return opened

    async def __aexit__(self, *raised: Any) -> None:
        await self._memory.close()


class _Block(Awaited):
    """An object for an `async with` block. Its end runs, even if the task is cancelled, also in the beginning."""

    async def __aenter__(self) -> Self:
        end = lambda entered, error: entered.__exit__(type(error), error, None)  # noqa: E731
        await self._worker.run(self._called.__enter__, undo=end)
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._worker.run(partial(self._called.__exit__, *raised), surely=True)


class Step(_Block):
    """One step of a run, for an `async with` block."""

    _called: SyncStep

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self._called.run_id

    @property
    def number(self) -> int:
        """The number of the step, from 1; 0 before the block."""
        return self._called.number

    @property
    def interrupted_steps(self) -> tuple[int, ...]:
        """The earlier steps that were closed as failures when the block began: nobody held them any more."""
        return self._called.interrupted_steps

    @property
    def snapshots(self) -> tuple[str, ...]:
        """The ids of the snapshots that were taken when the block ended."""
        return self._called.snapshots

    plan = awaited(SyncStep.plan)
    act = awaited(SyncStep.act)
    observe = awaited(SyncStep.observe)
    claim = awaited(SyncStep.claim)
    cite = awaited(SyncStep.cite)
    conflict = awaited(SyncStep.conflict)
    fail = awaited(SyncStep.fail)
    ask = awaited(SyncStep.ask)
    close_question = awaited(SyncStep.close_question)
    context = awaited(SyncStep.context)
    bind = awaited(SyncStep.bind)
    log = awaited(SyncStep.log)


class RecordedCall(_Block):
    """One call of a tool, for an `async with` block. Set `result` inside it."""

    _called: SyncCall
    result: object = None

    @property
    def blob(self) -> str:
        """The hash of the result, after the block."""
        return self._called.blob

    async def __aexit__(self, *raised: Any) -> None:
        self._called.result = self.result
        await super().__aexit__(*raised)


class Recorder(Awaited):
    """Logs every call of a tool as a step of one run."""

    _called: SyncRecorder

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self._called.run_id

    def __call__(
        self, function: Callable[_Given, Awaitable[_Result]]
    ) -> Callable[_Given, Coroutine[Any, Any, _Result]]:
        """Returns the function with every call recorded, as `slicebase.Recorder` does."""
        begun = self._called.calls_of(function)

        @wraps(function)
        async def called(*args: _Given.args, **keywords: _Given.kwargs) -> _Result:
            async with RecordedCall(begun(args, keywords), self._worker) as call:
                returned: Any = function(*args, **keywords)
                call.result = result = await returned if isawaitable(returned) else returned
                refuse_generator(result)
            return result  # type: ignore[no-any-return]  # a function that is not async returns its result at once

        return called

    def call(
        self, tool: str, /, arguments: Mapping[str, Any] | None = None, *, plan: str = "", **more: Any
    ) -> RecordedCall:
        """Returns a call of a tool with these arguments, for an `async with` block."""
        return RecordedCall(self._called.call(tool, arguments, plan=plan, **more), self._worker)

    started = awaited(SyncRecorder.started, undo=SyncRecorder.failed)
    ended = awaited(SyncRecorder.ended, surely=True)
    failed = awaited(SyncRecorder.failed, surely=True)


class Runs(Awaited):
    """The runs of a workspace."""

    _called: SyncRuns
    start = awaited(SyncRuns.start)
    fork = awaited(SyncRuns.fork)
    from_session = awaited(SyncRuns.from_session)
    log = awaited(SyncRuns.log)
    claim = awaited(SyncRuns.claim)
    conflict = awaited(SyncRuns.conflict)
    failure = awaited(SyncRuns.failure)
    question = awaited(SyncRuns.question)
    bind = awaited(SyncRuns.bind)
    from_file = awaited(SyncRuns.from_file)
    has_snapshot = awaited(SyncRuns.has_snapshot)
    compact = awaited(SyncRuns.compact)
    allow_loop = awaited(SyncRuns.allow_loop)
    stop = awaited(SyncRuns.stop)
    list_runs = awaited(SyncRuns.list_runs)
    events = awaited(SyncRuns.events)
    snapshot = awaited(SyncRuns.snapshot)
    status = awaited(SyncRuns.status)
    summary = awaited(SyncRuns.summary)
    report = awaited(SyncRuns.report)
    narrative = awaited(SyncRuns.narrative)
    blob = awaited(SyncRuns.blob)
    next_step = awaited(SyncRuns.next_step)
    begin_step = awaited(SyncRuns.begin_step)

    def step(self, run_id: str, *, compact: Compact = True) -> Step:
        """Returns the next step of an agent, for an `async with` block; the run is compacted after it if due."""
        return Step(self._called.step(run_id, compact=compact), self._worker)

    def recorder(self, run_id: str, *, compact: Compact = True) -> Recorder:
        """Returns a recorder, which logs every call of a tool as a step of the run."""
        return Recorder(self._called.recorder(run_id, compact=compact), self._worker)


class Library(Awaited):
    """The slice files of a workspace."""

    search = awaited(SyncLibrary.search)
    explore = awaited(SyncLibrary.explore)
    stale = awaited(SyncLibrary.stale)
    later_snapshot = awaited(SyncLibrary.later_snapshot)
    list_files = awaited(SyncLibrary.list_files)
    part_links = awaited(SyncLibrary.part_links)
    broken = awaited(SyncLibrary.broken)
    info = awaited(SyncLibrary.info)
    create = awaited(SyncLibrary.create)
    add = awaited(SyncLibrary.add)
    refresh_all = awaited(SyncLibrary.refresh_all)
    create_from = awaited(SyncLibrary.create_from)
    define = awaited(SyncLibrary.define)
    connect = awaited(SyncLibrary.connect)
    disconnect = awaited(SyncLibrary.disconnect)
    remember = awaited(SyncLibrary.remember)
    contract = awaited(SyncLibrary.contract)
    refresh = awaited(SyncLibrary.refresh)
    due = awaited(SyncLibrary.due)
    done = awaited(SyncLibrary.done)
    recall = awaited(SyncLibrary.recall)
    routine = awaited(SyncLibrary.routine)
    forget = awaited(SyncLibrary.forget)
    restore = awaited(SyncLibrary.restore)
    purge = awaited(SyncLibrary.purge)


class Graph(Awaited):
    """The conversation graph of a workspace."""

    sessions = awaited(SyncGraph.sessions)
    session, tree, reading = awaited(SyncGraph.session), awaited(SyncGraph.tree), awaited(SyncGraph.reading)
    whole, draw = awaited(SyncGraph.whole), awaited(SyncGraph.draw)
    turns = awaited(SyncGraph.turns)
    turn = awaited(SyncGraph.turn)
    search = awaited(SyncGraph.search)
    policy = awaited(SyncGraph.policy)
    requested_policy = awaited(SyncGraph.requested_policy)
    select = awaited(SyncGraph.select)
    select_many = awaited(SyncGraph.select_many)
    explain = awaited(SyncGraph.explain)
    bundle = awaited(SyncGraph.bundle)
    verify = awaited(SyncGraph.verify)
    allowed = awaited(SyncGraph.allowed)
    atlas = awaited(SyncGraph.atlas)
    check_atlas = awaited(SyncGraph.check_atlas)


class Policies(Awaited):
    """The policies of slices, by their names."""

    list_policies = awaited(SyncPolicies.list_policies)
    show = awaited(SyncPolicies.show)
    save = awaited(SyncPolicies.save)
    diff = awaited(SyncPolicies.diff)
    import_ = awaited(SyncPolicies.import_)
    export = awaited(SyncPolicies.export)


class MemoryTool(Awaited):
    """The commands of Anthropic's memory tool, over the library."""

    execute = awaited(SyncMemoryTool.execute)
    clear = awaited(SyncMemoryTool.clear)


class Slicebase(Awaited):
    """An open workspace whose verbs are awaited."""

    _called: sync.Slicebase

    @classmethod
    def open(
        cls, start: StrPath = ".", root: StrPath | None = None, *, create: bool = True,
        clock: Clock = time.time, entropy: Entropy = os.urandom, redact: bool = True,
    ) -> Opening:  # fmt: skip
        """Opens a workspace, as `slicebase.Slicebase.open` does: `await` the result, or use it in `async with`."""
        return Opening(cls, "open", start, root, create=create, clock=clock, entropy=entropy, redact=redact)

    @classmethod
    def init(
        cls, folder: StrPath = ".", driver: str | None = None, *, adopt: bool = False, join: str | None = None,
        clock: Clock = time.time, entropy: Entropy = os.urandom, redact: bool = True,
    ) -> Opening:  # fmt: skip
        """Makes the folder a workspace and opens it, as `slicebase.Slicebase.init` does."""
        given = {"adopt": adopt, "join": join, "clock": clock, "entropy": entropy, "redact": redact}
        return Opening(cls, "init", folder, driver, **given)

    async def close(self) -> None:
        """Closes the database and the indexes, and ends the thread; a later verb opens them again."""
        try:
            await self._worker.run(self._called.close, surely=True)
        finally:
            self._worker.end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self.close()

    @property
    def root(self) -> Path:
        """The folder of the workspace."""
        return self._called.root

    @property
    def workspace(self) -> Workspace:
        """The folders and files of the workspace."""
        return self._called.workspace

    @property
    def is_new(self) -> bool:
        """Whether `open` created the workspace."""
        return self._called.is_new

    @property
    def redacted(self) -> Mapping[str, int]:
        """The secrets that were replaced since the workspace was opened, by rule."""
        return self._called.redacted

    @cached_property
    def graph(self) -> Graph:
        """The conversation graph: the stored turns, and context slices around them."""
        return Graph(self._called.graph, self._worker)

    @cached_property
    def policies(self) -> Policies:
        """The policies of slices, by their names."""
        return Policies(self._called.policies, self._worker)

    @cached_property
    def library(self) -> Library:
        """The library of slice files, with all its verbs."""
        return Library(self._called.library, self._worker)

    @cached_property
    def runs(self) -> Runs:
        """The verbs of runs."""
        return Runs(self._called.runs, self._worker)

    @cached_property
    def memory_tool(self) -> MemoryTool:
        """The commands of Anthropic's memory tool, over the library."""
        return MemoryTool(self._called.memory_tool, self._worker)

    uninit = awaited(sync.Slicebase.uninit)
    status = awaited(sync.Slicebase.status)
    config = awaited(sync.Slicebase.config)
    set = awaited(sync.Slicebase.set)
    agents_md = awaited(sync.Slicebase.agents_md)
    doctor = awaited(sync.Slicebase.doctor)
    search = awaited(sync.Slicebase.search)
    validate = awaited(sync.Slicebase.validate)
    import_ = awaited(sync.Slicebase.import_)
    follow = awaited(sync.Slicebase.follow)
    narrate_session = awaited(sync.Slicebase.narrate_session)
    export = awaited(sync.Slicebase.export)
    context = awaited(sync.Slicebase.context)
    context_again = awaited(sync.Slicebase.context_again)
    project_context = awaited(sync.Slicebase.project_context)
    record = awaited(sync.Slicebase.record)
    lost = awaited(sync.Slicebase.lost)
    lost_everywhere = awaited(sync.Slicebase.lost_everywhere)
    lost_in = awaited(sync.Slicebase.lost_in)
    lost_cost = awaited(sync.Slicebase.lost_cost)
    lost_context = awaited(sync.Slicebase.lost_context)
    manifest = awaited(sync.Slicebase.manifest)
    show = awaited(sync.Slicebase.show)
    replay = awaited(sync.Slicebase.replay)
    purge = awaited(sync.Slicebase.purge)
    add = awaited(sync.Slicebase.add)
    cite = awaited(sync.Slicebase.cite)
    why = awaited(sync.Slicebase.why)
    backup = awaited(sync.Slicebase.backup)
    export_workspace = awaited(sync.Slicebase.export_workspace)
    import_workspace = awaited(sync.Slicebase.import_workspace)
    restore_backup = awaited(sync.Slicebase.restore_backup)
    seal = awaited(sync.Slicebase.seal)
    verify = awaited(sync.Slicebase.verify)
