"""Indexes are built in the background, and requests say how far they are."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest

from slicebase import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.index import files as file_index
from slicebase.index import turn_rows, upkeep
from slicebase.index.file_reader import Update
from slicebase.index.turns import TurnIndex
from slicebase.library import chunks
from slicebase.library.chunks import LibraryChunks
from slicebase.web import builds
from tests.web.conftest import client_of
from tests.workspace.test_disk_full import files_up_to

NEED_IT = ["/api/v1/sessions", "/api/v1/search?q=retry", "/api/v1/context?q=retry"]
DO_NOT = ["/health", "/api/v1/status", "/api/v1/runs", "/api/v1/files"]


@pytest.fixture
def long(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no index, and every update of it takes long."""
    for path in (root / ".slicebase" / "cache").glob("turns.*"):
        path.unlink()
    monkeypatch.setattr(upkeep, "_LONG", 1)
    monkeypatch.setattr(turn_rows, "_MOST_TURNS", 1)


def until(done: Callable[[], Any]) -> Any:
    end = monotonic() + 20
    while not (found := done()) and monotonic() < end:
        sleep(0.02)
    return found


@pytest.mark.usefixtures("long")
def test_what_needs_the_index_says_how_far_it_is_and_works_when_it_is_there(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many ask, there is one build, and others do not wait for it."""
    goes_on, added = Event(), list[int]()
    add = TurnIndex.add_batches

    def held(index: TurnIndex, batches: Any, mark: str | None = None) -> None:
        added.append(1)

        def slowly() -> Any:
            for number, batch in enumerate(batches):
                if number == 3:
                    assert goes_on.wait(20)
                yield batch

        add(index, slowly(), mark)

    monkeypatch.setattr(TurnIndex, "add_batches", held)
    with client_of(root) as client:
        assert client.get(NEED_IT[0]).status_code == 503
        assert until(lambda: "3 of" in client.get(NEED_IT[0]).json()["detail"])
        for address in NEED_IT * 5:  # more than there are threads
            answer = client.get(address)
            assert (answer.status_code, answer.json()["code"]) == (503, "index-building")
            assert "3 of" in answer.json()["detail"]
            assert answer.headers["retry-after"]
        for address in DO_NOT:
            assert client.get(address).status_code == 200
        goes_on.set()
        assert until(lambda: client.get(NEED_IT[0]).status_code == 200)
        assert len(added) == 1
        assert len(client.get(NEED_IT[0]).json()["rows"]) == 2
        assert client.get(NEED_IT[1]).status_code == client.get(NEED_IT[2]).status_code == 200


NEED_FILES = ["/api/v1/files", "/api/v1/status", "/api/v1/search?q=apple"]


@pytest.mark.parametrize("index", ["files", "chunks"])
def test_an_index_of_many_files_is_built_once_in_the_background(
    index: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests that need it say how far it is, others go on, and nobody waits for the transaction that fills it."""
    with Slicebase.open(root) as memory:
        for number in range(6):
            memory.library.create(f"Apple {number}", "A file about apples.")
        memory.search("apple")
        if index == "files":
            memory.finder.index.database.discard()
    goes_on, filled = Event(), list[int]()

    owner, name = (Update, "_read_file") if index == "files" else (LibraryChunks, "_chunks")
    read, done = getattr(owner, name), count()

    def held(*given: Any) -> Any:
        if next(done) == 3:
            filled.append(1)
            assert goes_on.wait(20)
        return read(*given)

    monkeypatch.setattr(owner, name, held)
    monkeypatch.setattr(file_index if index == "files" else chunks, "MANY_FILES", 3)
    need, others = (
        (NEED_FILES, ["/health", "/api/v1/sessions"])
        if index == "files"
        else (["/api/v1/context?q=apple"], ["/health", *NEED_FILES])
    )
    with client_of(root) as client:
        assert client.get(need[0]).json()["code"] == "index-building"
        assert until(lambda: "3 of 6 files" in client.get(need[0]).json()["detail"])
        for address in need * 5:
            answer = client.get(address)
            assert (answer.status_code, answer.json()["code"]) == (503, "index-building")
        for address in others:
            assert client.get(address).status_code == 200
        goes_on.set()
        assert until(lambda: client.get(need[0]).status_code == 200)
        assert len(filled) == 1
        for address in need:
            assert client.get(address).status_code == 200


@pytest.mark.usefixtures("long")
def test_a_build_that_fails_is_no_reason_to_wait_for_ever(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: Any) -> None:
        raise SlicebaseError("disk-full", "nothing can be written")

    with client_of(root) as client:
        monkeypatch.setattr(builds, "ask_turns", fails)
        assert client.get(NEED_IT[0]).json()["code"] == "index-building"
        assert until(lambda: client.get(NEED_IT[0]).status_code == 200)


@pytest.mark.usefixtures("long")
def test_where_the_disk_is_full_who_waits_for_another_build_is_told_so_until_there_is_space(root: Path) -> None:
    """It is built in memory then, and each workspace that needs it builds it again."""
    build = builds.IndexBuild(lambda: Slicebase.open(root, root, create=False), builds._KINDS["turns"])

    def built() -> str:
        with pytest.raises(SlicebaseError) as caught:
            build.begin(1)
        assert until(lambda: not build._runs)
        return str(caught.value)

    with files_up_to(4096):
        assert "the disk is full" not in built()
        build.begin(1)  # a request may try it itself
        assert "the disk is full" in built()
        build.begin(1)
    assert "the disk is full" in built()
    assert "the disk is full" not in built()


def test_a_server_that_ends_does_not_wait_for_the_build(root: Path) -> None:
    build = builds.IndexBuild(lambda: None, builds._KINDS["turns"])  # type: ignore[arg-type,return-value]
    build.close()
    with pytest.raises(SlicebaseError):
        build._progress(1, 2)
