"""Threads in which verbs run, so that the event loop never waits for a disk.

They end with the process: a verb that takes long does not keep a server alive that was told to stop. What it had not
confirmed is not stored, as after a kill.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple

from slicebase.errors import SlicebaseError


class _Job(NamedTuple):
    do: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    result: asyncio.Future[Any]


class DaemonThreads:
    """Threads that are started as they are needed, up to a number, and kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs = SimpleQueue[_Job | None]()
        self._lock = Lock()
        self._started = 0
        self._busy = 0

    def run(self, do: Callable[[], Any]) -> asyncio.Future[Any]:
        """Runs a function in a thread. A caller that no longer waits does not end it.

        Raises `server-busy` if all threads are in use.
        """
        with self._lock:
            if self._busy >= self._most:
                raise SlicebaseError("server-busy", "too many requests run", hint="try again later")
            self._busy += 1
            is_new = self._busy > self._started
            self._started += is_new
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Any] = loop.create_future()
        self._jobs.put(_Job(do, loop, result))
        if is_new:
            Thread(target=self._work, name="slicebase-verbs", daemon=True).start()
        return result

    def close(self) -> None:
        """Lets idle threads end."""
        with self._lock:
            for _ in range(self._started):
                self._jobs.put(None)

    def _work(self) -> None:
        while job := self._jobs.get():
            try:
                told: tuple[Callable[..., None], Any] = job.result.set_result, job.do()
            except BaseException as error:
                told = job.result.set_exception, error
            with self._lock:
                self._busy -= 1
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                job.loop.call_soon_threadsafe(_tell, job.result, *told)
            del job, told  # what a request asked for is not kept until the next one


def _tell(result: asyncio.Future[Any], tell: Callable[[Any], None], value: Any) -> None:
    if not result.done():  # a caller that no longer waits has cancelled it
        tell(value)
