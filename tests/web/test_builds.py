"""The index of turns is built in the background, and requests say how far it is."""

from collections.abc import Callable
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest

from slicebase.errors import SlicebaseError
from slicebase.index import upkeep
from slicebase.index.turns import TurnIndex
from slicebase.web import builds
from tests.web.conftest import client_of

NEED_IT = ["/api/v1/sessions", "/api/v1/search?q=retry", "/api/v1/context?q=retry"]
DO_NOT = ["/health", "/api/v1/status", "/api/v1/runs", "/api/v1/files"]


@pytest.fixture
def long(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no index, and every update of it takes long."""
    for path in (root / ".slicebase" / "cache").glob("turns.*"):
        path.unlink()
    monkeypatch.setattr(upkeep, "_LONG", 1)
    monkeypatch.setattr(upkeep, "_BETWEEN_SIGNS", 1)


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
    add = TurnIndex.add

    def held(index: TurnIndex, turns: Any, mark: str | None = None) -> None:
        added.append(1)

        def slowly() -> Any:
            for number, turn in enumerate(turns):
                if number == 3:
                    assert goes_on.wait(20)
                yield turn

        add(index, slowly(), mark)

    monkeypatch.setattr(TurnIndex, "add", held)
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


@pytest.mark.usefixtures("long")
def test_a_build_that_fails_is_no_reason_to_wait_for_ever(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: Any) -> None:
        raise SlicebaseError("disk-full", "nothing can be written")

    with client_of(root) as client:
        monkeypatch.setattr(builds, "ask_turns", fails)
        assert client.get(NEED_IT[0]).json()["code"] == "index-building"
        assert until(lambda: client.get(NEED_IT[0]).status_code == 200)


def test_a_server_that_ends_does_not_wait_for_the_build(root: Path) -> None:
    build = builds.IndexBuild(lambda: None)  # type: ignore[arg-type,return-value]
    build.close()
    with pytest.raises(SlicebaseError):
        build._progress(1, 2)
