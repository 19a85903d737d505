"""What listeners are told beside growth: slice files that came, and that something was purged."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from slicebase.base import Slicebase
from slicebase.web import changes
from slicebase.web.changes import Watchers
from tests.web.conftest import client_of
from tests.web.test_memories import memories_of


async def _told(stream: AsyncIterator[bytes]) -> tuple[str, dict[str, object]]:
    """Returns the next event."""
    async for data in stream:
        if data.startswith(b"event: "):
            name, value = data.decode().split("\n")[:2]
            return name.removeprefix("event: "), json.loads(value.removeprefix("data: "))
    raise AssertionError("the stream has ended")


def test_new_rows_and_purges_are_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_LOOK", 0.02)

    async def asked() -> None:
        memories = memories_of(root)
        watchers = Watchers(memories)
        stream = watchers.listen()
        assert (await _told(stream))[0] == "watching"
        with Slicebase.open(root) as memory:
            file = memory.library.create("Rounding", "How totals are rounded.", type="jsonl").id
        assert await _told(stream) == ("grown", {"sessions": {}, "runs": {}, "library": True})
        with Slicebase.open(root) as memory:
            memory.library.remember(file, "Once.")
        assert await _told(stream) == ("grown", {"sessions": {}, "runs": {}, "library": True})
        with Slicebase.open(root) as memory:
            memory.purge("turn:0961d9aa")
        name, grown = await _told(stream)
        with client_of(root) as client:
            assert (name, grown["purges"]) == ("grown", client.get("/api/v1/purges").json()["purges"])
        await watchers.close()
        memories.close()

    asyncio.run(asyncio.wait_for(asked(), 60))
