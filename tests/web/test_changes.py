"""What listeners are told: growth, a problem that lasts, and its end."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from slicebase.base import Slicebase
from slicebase.web import changes
from slicebase.web.changes import Watchers
from tests.web.test_memories import memories_of


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_LOOK", 0.02)


async def told(stream: AsyncIterator[bytes]) -> tuple[str, dict[str, object]]:
    """Returns the next event."""
    async for data in stream:
        if data.startswith(b"event: "):
            name, value = data.decode().split("\n")[:2]
            return name.removeprefix("event: "), json.loads(value.removeprefix("data: "))
    raise AssertionError("the stream has ended")


def started(root: Path, run: str) -> None:
    with Slicebase.open(root) as memory:
        memory.runs.start(run, "An aim", "When it is done")


def test_who_begins_to_listen_while_a_problem_lasts_is_told_it_and_its_end_and_no_growth_of_before(root: Path) -> None:
    started(root, "first")

    async def asked() -> None:
        memories = memories_of(root)
        watchers = Watchers(memories)
        early = watchers.listen()
        assert (await told(early))[0] == "watching"
        away = root.rename(root.parent / "away")
        name, problem = await told(early)
        assert (name, problem["code"]) == ("problem", "no-workspace")
        late = watchers.listen()
        name, problem = await told(late)
        assert (name, problem["code"]) == ("problem", "no-workspace")
        started(away, "second")
        away.rename(root)
        assert (await told(early))[0] == "recovered"
        assert await told(early) == ("grown", {"sessions": {}, "runs": {"second": 1}})
        assert [(await told(late))[0] for _ in range(2)] == ["recovered", "watching"]
        started(root, "third")
        for each in (early, late):
            assert await told(each) == ("grown", {"sessions": {}, "runs": {"third": 1}})
        await watchers.close()
        memories.close()

    asyncio.run(asyncio.wait_for(asked(), 60))


def test_who_begins_to_listen_while_something_grows_is_told_first_that_the_server_watches(root: Path) -> None:
    async def asked() -> None:
        memories = memories_of(root)
        watchers = Watchers(memories)
        early = watchers.listen()
        assert (await told(early))[0] == "watching"
        for number in range(5):
            started(root, f"run-{number}")  # in the event loop: nobody looks until it is stored
            late = watchers.listen()
            assert (await told(late))[0] == "watching"
            assert (await told(early))[0] == "grown"
        await watchers.close()
        memories.close()

    asyncio.run(asyncio.wait_for(asked(), 60))
