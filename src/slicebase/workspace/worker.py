"""A thread in which the calls of an event loop run, one after another."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from slicebase.workspace.surroundings import refuse_other_process

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class Worker:
    """The thread in which the verbs of one open workspace run. It starts with the first call."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._thread: ThreadPoolExecutor | None = None
        self._calls: set[Future[Any]] = set()  # that run, or wait for their turn

    async def run(
        self,
        do: Callable[[], _Result],
        *,
        surely: bool = False,
        undo: Callable[[_Result, BaseException], object] | None = None,
    ) -> _Result:
        """Calls a function in the thread, and returns its result. A function that has begun is finished.

        If the task is cancelled before the turn of the function, the function is not called, unless it is called
        `surely`. If the task is cancelled later, `undo` is called with the result and the cancellation.
        """
        call = self._begin(do)
        waiting = asyncio.wrap_future(call)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError as cancelled:
            if surely or not call.cancel():
                await _end_of(waiting)
                if undo is not None and waiting.exception() is None:
                    await _end_of(asyncio.wrap_future(self._begin(partial(undo, waiting.result(), cancelled))))
            raise

    def end(self) -> None:
        """Ends the thread, unless it has more to do. A later call starts another one."""
        if self._thread is not None and not self._calls:
            self._thread.shutdown()
            self._thread = None

    def _begin(self, do: Callable[[], _Result]) -> "Future[_Result]":
        refuse_other_process(self._process)
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="slicebase")
        call = self._thread.submit(copy_context().run, _called, do)
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return call


def _called(do: Callable[[], _Result]) -> _Result:
    try:
        return do()
    except StopIteration as error:  # of a clock, for example: a future cannot carry it, so the task would wait forever
        raise RuntimeError("a function that was passed to a verb raised StopIteration") from error


async def _end_of(waiting: "asyncio.Future[Any]") -> None:
    """Waits for a function that has begun, however often the task is cancelled meanwhile."""
    while not waiting.done():
        try:
            await asyncio.wait([waiting])
        except asyncio.CancelledError:
            continue
    waiting.exception()  # it is not reported a second time: the task ends as cancelled


class Awaited:
    """An object whose verbs are awaited, over one whose verbs are called."""

    def __init__(self, called: Any, worker: Worker) -> None:
        self._called = called
        self._worker = worker

    def __repr__(self) -> str:
        return repr(self._called)


def awaited(
    verb: Callable[Concatenate[Any, _Given], _Result],
    undo: Callable[[Any, _Result, BaseException], object] | None = None,
    surely: bool = False,
) -> Callable[Concatenate[Any, _Given], Coroutine[Any, Any, _Result]]:
    """Returns a verb to await, with the arguments, the result and the description of one to call.

    `undo` takes the result that a cancelled task cannot receive, and the cancellation; `surely` runs in any case.
    """

    @wraps(verb)
    async def call(self: Awaited, /, *args: _Given.args, **keywords: _Given.kwargs) -> _Result:
        do = partial(verb, self._called, *args, **keywords)
        return await self._worker.run(do, surely=surely, undo=partial(undo, self._called) if undo else None)

    return call
