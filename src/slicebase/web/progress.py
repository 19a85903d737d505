"""Long checks as server-sent events: what is done now, and at the end the result."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from slicebase.errors import SlicebaseError
from slicebase.web.api.proofs import verdict_of
from slicebase.web.changes import event
from slicebase.web.memories import Memories
from slicebase.web.problems import problem_of

if TYPE_CHECKING:
    from slicebase.base import Slicebase

VERIFY_PATH: Final = "/verify/progress"
VERIFY_SECONDS: Final = 3600.0


class _NobodyWaitsError(Exception):
    """The page that asked is gone."""


async def verified(memories: Memories) -> AsyncIterator[bytes]:
    """Yields what `verify` checks, then its verdict. It stops soon after the page has gone away."""
    loop = asyncio.get_running_loop()
    queue = asyncio.Queue[bytes]()
    is_gone = False

    def progress(what: str) -> None:
        if is_gone:
            raise _NobodyWaitsError
        loop.call_soon_threadsafe(queue.put_nowait, event("progress", {"what": what}))

    def verify(memory: "Slicebase") -> bytes:
        return event("verdict", verdict_of(memory.verify(progress=progress)))

    checking = asyncio.ensure_future(memories.call(verify, seconds=VERIFY_SECONDS))
    checking.add_done_callback(lambda done: queue.put_nowait(b""))
    try:
        while shown := await queue.get():
            yield shown
        try:
            yield await checking
        except SlicebaseError as error:
            yield event("problem", problem_of(error))
    finally:
        is_gone = True
        with suppress(asyncio.CancelledError, SlicebaseError, _NobodyWaitsError):
            checking.cancel()
            await checking
