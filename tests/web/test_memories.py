"""The open workspaces of a server: threads, time limits, and that what reads cannot write."""

import asyncio
import gc
import time
import weakref
from importlib.resources import as_file, files
from pathlib import Path
from threading import Barrier, Event

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slicebase.base import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.graph.policy import SlicePolicyV1, policy_from
from slicebase.web.memories import IDLE, Memories
from slicebase.web.problems import MAY_BE_STORED
from tests.web.conftest import client_of


def memories_of(root: Path, seconds: float = 30.0) -> Memories:
    return Memories(lambda: Slicebase.open(root, root, create=False), seconds=seconds)


def test_a_call_that_takes_too_long_is_given_up_and_others_go_on(root: Path) -> None:
    goes_on = Event()

    async def asked() -> None:
        memories = memories_of(root, seconds=0.3)
        with pytest.raises(SlicebaseError) as caught:
            await memories.call(lambda memory: goes_on.wait(30))
        assert caught.value.code == "server-busy"
        assert (await memories.call(lambda memory: memory.status(), 30)).sessions == 2
        goes_on.set()
        memories.close()

    asyncio.run(asked())


def test_a_write_that_is_given_up_and_may_still_be_stored_says_so_and_one_that_has_not_begun_does_not(
    root: Path,
) -> None:
    goes_on = Event()

    async def asked() -> None:
        memories = memories_of(root, seconds=0.3)
        times = (0.3, 0.3, 0.1)  # two run at once, and the third ends while these do
        calls = [memories.call(lambda memory: goes_on.wait(30), seconds, writes=True) for seconds in times]
        found = await asyncio.gather(*calls, return_exceptions=True)
        goes_on.set()
        memories.close()
        hints = [error.hint for error in found if isinstance(error, SlicebaseError)]
        assert hints == [MAY_BE_STORED, MAY_BE_STORED, "ask for less, or try again later"]

    asyncio.run(asked())


def test_too_many_calls_that_nobody_waits_for_are_refused_at_once(root: Path) -> None:
    goes_on = Event()

    async def asked() -> None:
        memories = memories_of(root, seconds=0.2)
        codes = []
        for _ in range(6):
            calls = [memories.call(lambda memory: goes_on.wait(30)) for _ in range(6)]
            codes += [error.code for error in await asyncio.gather(*calls, return_exceptions=True)]  # type: ignore[union-attr]
        start = time.monotonic()
        with pytest.raises(SlicebaseError):
            await memories.call(lambda memory: None, 20)
        assert time.monotonic() - start < 5
        goes_on.set()
        memories.close()
        assert set(codes) == {"server-busy"}

    asyncio.run(asked())


def test_writes_that_wait_for_another_process_keep_no_place_of_what_reads(root: Path) -> None:
    async def asked() -> None:
        memories = memories_of(root)
        other = apsw.Connection(str(root / ".slicebase/slicebase.db"))
        other.execute("BEGIN IMMEDIATE")
        writes = [
            asyncio.ensure_future(
                memories.call(lambda memory: memory.runs.start(memory.surroundings.new_id(), "o", "d"), writes=True)
            )
            for _ in range(12)
        ]
        await asyncio.sleep(0)
        for _ in range(8):
            assert (await memories.call(lambda memory: memory.status())).sessions == 2
        assert (await memories.call_freshly(lambda memory: memory.status(), 5)).sessions == 2
        assert not any(each.done() for each in writes)
        other.execute("ROLLBACK")
        other.close()
        assert len({started.run_id for started in await asyncio.gather(*writes)}) == 12
        memories.close()

    asyncio.run(asked())


def test_what_reads_cannot_write_and_an_error_of_ours_names_no_value(root: Path) -> None:
    async def asked() -> None:
        memories = memories_of(root)
        for write in (
            lambda memory: memory.library.create("T", "S"),
            lambda memory: memory.runs.start("r", "o", "d"),
            lambda memory: dict[str, str]()["a value of somebody"],
        ):
            with pytest.raises(SlicebaseError) as caught:
                await memories.call(write)
            assert caught.value.code == "server-failed"
            assert "somebody" not in str(caught.value)
        created = await memories.call(lambda memory: memory.library.create("T", "S"), writes=True)
        assert created.changed
        memories.close()

    asyncio.run(asked())


POLICIES = st.builds(
    lambda nodes, radius, siblings: policy_from(
        {"max_nodes": nodes, "max_radius": radius, "include_siblings": siblings}
    ),
    st.integers(1, 60),
    st.integers(0, 20),
    st.booleans(),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(number=st.integers(0, 389), policy=POLICIES)
def test_a_slice_from_the_cache_is_that_of_the_database(template: Path, number: int, policy: SlicePolicyV1) -> None:
    with Slicebase.open(template) as memory:
        session = max(memory.graph.sessions(), key=lambda each: each.turns).id
        turns = [turn.id for turn in memory.graph.turns(session)]
        turn = turns[number % len(turns)]
        sessions = memory.truth.sessions
        assert sessions.kept_slice_around(turn, policy) is None  # nothing is cached yet
        plain = sessions.slice_around(turn, policy)
        assert sessions.kept_slice_around(turn, policy) == plain


def test_who_looks_at_a_workspace_without_a_database_leaves_it_free_to_begin_one(tmp_path: Path) -> None:
    """The index keeps what it was filled from: nothing, and not a database that would be missed later."""
    Slicebase.init(tmp_path).close()
    with client_of(tmp_path) as client:
        for path in ("status", "files", "sessions", "runs", "stale", "due", "manifests", "policies", "search?q=a"):
            assert client.get(f"/api/v1/{path}").status_code == 200, path
        assert client.get("/api/v1/context?q=what").status_code == 200
        assert client.get("/api/v1/doctor").json()["complaints"] == []
    assert not (tmp_path / ".slicebase/slicebase.db").exists()
    with Slicebase.open(tmp_path, tmp_path) as memory, as_file(files("slicebase") / "samples") as samples:
        memory.import_(samples / "claude-code-session.jsonl")
    with client_of(tmp_path) as client:
        assert len(client.get("/api/v1/sessions").json()["rows"]) == 1
        assert client.get("/api/v1/sessions?query=webhook").json()["rows"]


def test_after_a_burst_of_requests_only_a_few_workspaces_stay_open(root: Path) -> None:
    """Each has caches of its own: those of eight over a large workspace take gigabytes."""
    opened: list[weakref.ref[Slicebase]] = []

    def opens() -> Slicebase:
        memory = Slicebase.open(root, root, create=False)
        opened.append(weakref.ref(memory))
        return memory

    async def asked() -> None:
        memories, together = Memories(opens), Barrier(6)

        def read(memory: Slicebase) -> int | None:
            together.wait(20)
            return memory.status().sessions

        assert await asyncio.gather(*(memories.call(read) for _ in range(6))) == [2] * 6
        assert len(opened) == 6
        gc.collect()
        assert sum(each() is not None for each in opened) <= IDLE
        assert (await memories.call(lambda memory: memory.status())).sessions == 2
        assert len(opened) == 6  # one that is kept
        memories.close()

    asyncio.run(asked())


def test_a_folder_of_a_workspace_that_is_gone_is_not_created_and_can_be_put_back(root: Path) -> None:
    with client_of(root) as client:
        assert client.get("/api/v1/files").status_code == 200
        (root / ".slicebase").rename(root / "away")
        for path in ("status", "files", "sessions", "search?q=webhook", "context?q=what", "doctor", "stale", "due"):
            for _ in range(2):
                assert client.get(f"/api/v1/{path}").status_code == 503, path
        assert not (root / ".slicebase").exists()
        (root / "away").rename(root / ".slicebase")
        assert client.get("/api/v1/sessions").status_code == 200
