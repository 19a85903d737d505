"""The open workspaces of a server: each request borrows one for one verb.

SQLite and the verbs block, so they run in threads. An object is used by one thread at a time; the one that was used
last is borrowed first, since its caches are warm. Where the database was replaced or failed, the object is closed, and
the next request opens it again. A request that writes has an object of its own, as a command has.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from slicebase.errors import SlicebaseError, Where
from slicebase.web.builds import IndexBuilds
from slicebase.web.problems import MAY_BE_STORED, UNAVAILABLE, bug
from slicebase.web.threads import DaemonThreads

if TYPE_CHECKING:
    from slicebase.base import Slicebase

_Result = TypeVar("_Result")
_Kind = Literal["read", "write", "long"]

# Verbs of each kind that run at once; others of that kind wait. A write may wait for another process to end its own,
# and what has more time than others takes it: neither keeps the places of what reads.
_PLACES: Final[Mapping[_Kind, int]] = {"read": 6, "write": 2, "long": 2}
IDLE: Final = 4  # workspaces that are kept for the next requests: each has caches of its own
ABANDONED: Final = 8  # verbs that nobody waits for any more and that may still run
SECONDS: Final = 30.0  # for one request
# The database itself is at fault. Others are at fault for a while, and what is open can stay so.
_OF_DATABASE: Final = UNAVAILABLE - {"locked", "no-memory", "disk-full", "server-busy", "index-building", "bad-setting"}


class Memories:
    """Workspaces that are opened as requests need them, and closed when the server ends."""

    def __init__(
        self,
        open_memory: "Callable[[], Slicebase]",
        as_ours: Callable[[Exception], SlicebaseError | None] = lambda error: None,
        seconds: float = SECONDS,
    ) -> None:
        self._open = open_memory
        self._as_ours = as_ours
        self._seconds = seconds
        self._builds = IndexBuilds(open_memory)
        self._idle: deque[Slicebase] = deque()
        self._lock = Lock()
        self._is_closed = False
        self._had_database = False
        self._threads = DaemonThreads(sum(_PLACES.values()) + ABANDONED)
        self._warm: Slicebase | None = None
        self._turn: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._places: dict[_Kind, asyncio.Semaphore] = {}

    async def call(
        self, do: "Callable[[Slicebase], _Result]", seconds: float | None = None, *, writes: bool = False
    ) -> _Result:
        """Calls a function with a workspace, in a thread. Raises `server-busy` when that takes too long.

        What does not say that it `writes` cannot: the workspace refuses it.
        """
        return await self._called(
            self._writing if writes else self._reading, do, seconds, "write" if writes else "read"
        )

    async def call_freshly(self, do: "Callable[[Slicebase], _Result]", seconds: float) -> _Result:
        """Calls a function that reads with a workspace that is opened for it.

        One that is open already may not notice that its database was damaged.
        """
        return await self._called(self._freshly, do, seconds)

    async def _called(
        self,
        call: "Callable[[Callable[[Slicebase], _Result]], _Result]",
        do: "Callable[[Slicebase], _Result]",
        seconds: float | None,
        kind: _Kind = "read",
    ) -> _Result:
        if not self._places:  # an event loop has its own
            self._places = {each: asyncio.Semaphore(places) for each, places in _PLACES.items()}
            self._loop = asyncio.get_running_loop()
        given, has_begun = self._seconds if seconds is None else seconds, False
        try:
            async with asyncio.timeout(given), self._places["long" if given > self._seconds else kind]:
                has_begun = True
                result: _Result = await self._threads.run(lambda: self._ours(call, do))
                return result
        except TimeoutError:
            raise _too_long(may_be_stored=has_begun and kind == "write") from None

    async def call_warm(
        self, now: "Callable[[Slicebase], _Result | None]", do: "Callable[[Slicebase], _Result]"
    ) -> _Result:
        """Calls a function with the one workspace whose caches are warm, one call at a time.

        `now` is the same function where nothing can block, and runs at once; where it returns None, `do` runs in a
        thread.
        """
        if self._turn is None:  # an event loop has its own
            self._turn = asyncio.Lock()
        found = None if self._turn.locked() else self._at_once(now)
        if found is not None:
            return found
        try:
            async with asyncio.timeout(self._seconds), self._turn:
                found = self._at_once(now)  # another request may have warmed it
                if found is not None:
                    return found
                memory, self._warm = self._warm, None
                result: _Result = await self._threads.run(lambda: self._ours(self._warming, do, memory))
                return result
        except TimeoutError:
            raise _too_long() from None

    def _at_once(self, now: "Callable[[Slicebase], _Result | None]") -> _Result | None:
        try:
            return now(self._warm) if self._warm is not None and _is_in_place(self._warm) else None
        except Exception:  # the thread finds out what it is
            return None

    def _ours(self, call: "Callable[..., _Result]", *given: Any) -> _Result:
        """Calls a function, and turns errors that are not ours into ours."""
        try:
            return call(*given)
        except SlicebaseError as error:
            if error.code in _OF_DATABASE:
                self._close_others()
            raise
        except Exception as error:
            raise self._as_ours(error) or bug(error) from None

    def _reading(self, do: "Callable[[Slicebase], _Result]") -> _Result:
        with self._lock:
            memory = self._idle.pop() if self._idle else None
        return self._used(memory, do, self._keep_idle)

    def _keep_idle(self, memory: "Slicebase") -> None:
        """Keeps a workspace for the next request, unless enough are kept: those of a burst would stay forever."""
        if len(self._idle) < IDLE:
            self._idle.append(memory)
        else:
            memory.close()

    def _freshly(self, do: "Callable[[Slicebase], _Result]") -> _Result:
        return self._used(None, do, lambda memory: memory.close())

    def _warming(self, do: "Callable[[Slicebase], _Result]", memory: "Slicebase | None") -> _Result:
        return self._used(memory, do, self._keep_warm)

    def _keep_warm(self, memory: "Slicebase") -> None:
        if self._warm is None:
            self._warm = memory
        else:  # nobody waited for this one any more
            self._keep_idle(memory)

    def _used(
        self,
        memory: "Slicebase | None",
        do: "Callable[[Slicebase], _Result]",
        keep: "Callable[[Slicebase], None]",
    ) -> _Result:
        """Calls a function with a workspace, which is opened if there is none, and keeps it."""
        if memory is None:
            memory = self._open()
            memory.creates_database = False
            memory.before_first_write = _refuse_write
            memory.before_long_update = self._builds.begin
        is_fine = False
        try:
            if not _is_in_place(memory):
                memory.close()
            if not (memory.workspace.has_memory and memory.root.exists()):
                self._open().close()  # an error where the workspace is gone
            self._refuse_lost(memory.workspace.database)  # before an index creates the folder that both were in
            try:
                result = do(memory)
            finally:
                self._refuse_lost(memory.workspace.database)  # what was found without it may lack a part
            is_fine = True
            return result
        except SlicebaseError as error:
            is_fine = error.code not in UNAVAILABLE or error.code == "index-building"
            raise memory.surroundings.redaction.error(error) from None
        finally:
            if not is_fine:
                memory.close()
            with self._lock:
                if not self._is_closed:
                    keep(memory)
            if self._is_closed:
                memory.close()

    def _close_others(self) -> None:
        """Closes what is idle: as long as one of them is open, SQLite keeps what it knows of a log that is gone."""
        with self._lock:
            idle = list(self._idle)
            self._idle.clear()
        for memory in idle:
            memory.close()
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._close_warm)

    def _close_warm(self) -> None:
        """Closes what is warm, in the event loop: it is used there, too."""
        warm, self._warm = self._warm, None
        if warm is not None:
            warm.close()

    def _writing(self, do: "Callable[[Slicebase], _Result]") -> _Result:
        with self._open() as memory:
            try:
                self._refuse_lost(memory.workspace.database)  # else it would begin another one
                return do(memory)
            except SlicebaseError as error:
                raise memory.surroundings.redaction.error(error) from None

    def _refuse_lost(self, database: Path) -> None:
        """Raises `database-lost` if the database was there before, and is gone with what the workspace knows of it."""
        if database.exists():
            self._had_database = True
        elif self._had_database:
            hint = "put it back; a server that is restarted shows the workspace without it"
            raise SlicebaseError(
                "database-lost", "the database of this workspace is gone", hint=hint, where=Where(str(database))
            )

    def close(self) -> None:
        """Closes what is idle; what is in use is closed when it is given back."""
        self._builds.close()
        with self._lock:
            self._is_closed = True
            idle, self._idle = list(self._idle), deque()
            warm, self._warm = self._warm, None
        for memory in idle if warm is None else [*idle, warm]:
            memory.close()
        self._threads.close()


def _too_long(*, may_be_stored: bool = False) -> SlicebaseError:
    """Returns the error for an answer that nobody waits for any more. What writes goes on."""
    hint = MAY_BE_STORED if may_be_stored else "ask for less, or try again later"
    return SlicebaseError("server-busy", "the answer takes too long", hint=hint)


def _is_in_place(memory: "Slicebase") -> bool:
    """Returns whether the database that a workspace has opened, if any, is still the one at its path."""
    return "truth" not in memory.__dict__ or memory.truth.database.is_in_place()


def _refuse_write() -> None:
    raise bug("a request that only reads tried to write")
