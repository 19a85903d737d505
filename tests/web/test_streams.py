"""How many streams are open at once."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from slicebase.base import Slicebase
from slicebase.web.app import application
from slicebase.web.streams import MOST_STREAMS


async def asked(app: Any, path: str, *, is_there: asyncio.Event, gone_at_once: bool = False) -> int:
    """Asks for a stream as a client that reads until an event, or one that goes away before the headers are sent."""
    status = 0

    async def receive() -> dict[str, Any]:
        await is_there.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        await asyncio.sleep(0)  # others ask meanwhile
        if gone_at_once:
            raise OSError
        status = message.get("status", status)
        if status == 503:
            is_there.set()

    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")], "http_version": "1.1",
    }  # fmt: skip
    with_error = False
    try:
        await app(scope, receive, send)
    except Exception:
        with_error = True
    assert with_error == gone_at_once
    return status


@pytest.mark.parametrize("path", ["/api/v1/changes", "/api/v1/verify/progress"])
def test_of_many_streams_that_begin_at_once_only_so_many_do(root: Path, path: str) -> None:
    async def together() -> None:
        app, is_there = application(lambda: Slicebase.open(root, root, create=False)), asyncio.Event()
        for _ in range(MOST_STREAMS + 1):  # these take no place
            await asked(app, path, is_there=is_there, gone_at_once=True)
        burst = [asked(app, path, is_there=is_there) for _ in range(3 * MOST_STREAMS)]
        statuses = await asyncio.wait_for(asyncio.gather(*burst), 60)
        assert (statuses.count(200), statuses.count(503)) == (MOST_STREAMS, 2 * MOST_STREAMS)

    asyncio.run(together())
