"""What changes while one watches: turns and events that a running agent adds, as server-sent events.

One task looks at the database twice a second, as long as somebody listens: SQLite tells at once whether anything was
written. Each listener gets what has grown since it was told `watching`. What grew before that, a page can ask for then.
Each is told of a problem that lasts, also one that begins to listen meanwhile, and of its end.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Set
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from slicebase.errors import SlicebaseError
from slicebase.truth.acts import last_purge
from slicebase.web.memories import Memories
from slicebase.web.problems import problem_of

if TYPE_CHECKING:
    from slicebase.base import Slicebase

_LOOK: Final = 0.5  # seconds between two looks
_ALIVE: Final = 15.0  # seconds between two signs of life


class Grown(Struct, frozen=True, omit_defaults=True):
    """What has grown: the turns of sessions and the events of runs, as their new numbers.

    `library`: slice files came or changed. `purges` is the number of the last purge, after one: words that are shown
    may be gone.
    """

    sessions: dict[str, int]
    runs: dict[str, int]
    library: bool = False
    purges: int | None = None


def event(name: str, value: Any) -> bytes:
    """Returns one server-sent event."""
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(value) + b"\n\n"


class Watchers:
    """Tells listeners what has grown."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._listeners: set[asyncio.Queue[bytes]] = set()
        self._new: set[asyncio.Queue[bytes]] = set()  # of these, those that were not told yet that somebody looks
        self._task: asyncio.Task[None] | None = None

    async def listen(self) -> AsyncIterator[bytes]:
        """Yields events until the listener goes away."""
        queue = asyncio.Queue[bytes](maxsize=64)
        self._listeners.add(queue)
        self._new.add(queue)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        try:
            yield b": hello\n\n"
            while True:
                try:
                    yield await asyncio.wait_for(queue.get(), _ALIVE)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self._listeners.discard(queue)
            self._new.discard(queue)

    async def close(self) -> None:
        """Ends the task that looks."""
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _look(self) -> None:
        before, failed = None, ""
        told = set[asyncio.Queue[bytes]]()  # that there is a problem
        while self._listeners:
            new = self._new.copy()  # who comes while it looks is told the next time
            known = self._listeners - new
            try:
                seen = await self._memories.call(_lengths)
            except SlicebaseError as error:
                told = told if error.code == failed else set()
                failed = error.code
                self._tell(event("problem", problem_of(error)), self._listeners - told)
                told |= self._listeners
            else:
                self._tell(event("recovered", {}), told)
                if before is not None and (grown := _grown(before, seen)):
                    self._tell(event("grown", grown), known)
                self._tell(event("watching", {}), new)
                self._new -= new
                before, failed, told = seen, "", set()
            await asyncio.sleep(_LOOK)

    def _tell(self, data: bytes, to: Set[asyncio.Queue[bytes]]) -> None:
        for queue in to:
            with suppress(asyncio.QueueFull):  # a page that does not read will ask again
                queue.put_nowait(data)


class _Lengths(NamedTuple):
    sessions: Mapping[str, int]
    runs: Mapping[str, int]
    library: int  # when the folder was changed: every write of ours renames a file into it
    purges: int


def _lengths(memory: "Slicebase") -> _Lengths:
    truth, folder = memory.truth, memory.workspace.library
    runs = {tally.run_id: tally.seq for tally in truth.runs.log.tallies()}
    changed = folder.stat().st_mtime_ns if folder.exists() else 0
    return _Lengths(truth.turns.counts(), runs, changed, last_purge(truth.database.connection))


def _grown(before: _Lengths, now: _Lengths) -> Grown | None:
    sessions, runs = ({name: count for name, count in new.items() if old.get(name) != count}
                      for old, new in zip(before[:2], now[:2], strict=True))  # fmt: skip
    purges = now.purges if now.purges != before.purges else None
    return None if before == now else Grown(sessions, runs, before.library != now.library, purges)
