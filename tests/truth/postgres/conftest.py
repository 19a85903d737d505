"""Memories on a real server of PostgreSQL, which `make test-postgres` starts."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.workspace.server import URL_VARIABLE
from tests.conftest import SERVER

Open = Callable[..., Slicebase]


@pytest.fixture(scope="session")
def server() -> str:
    """The address of the server."""
    assert SERVER, "`make test-postgres` starts one"
    return SERVER


def ticking() -> Callable[[], float]:
    """Returns a clock that goes on by a second whenever somebody looks at it."""
    moments = count(1_760_000_000)
    return lambda: float(next(moments))


def counting(first: int) -> Callable[[int], bytes]:
    """Returns bytes that two memories have in common; a server has room for the memories of one number only once."""
    numbers = count(first)
    return lambda size: next(numbers).to_bytes(size, "big")


@pytest.fixture
def on_server(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens or creates a workspace whose memory is on the server."""
    memories: list[Slicebase] = []

    def opened(name: str = "here", **options: object) -> Slicebase:
        monkeypatch.setenv(URL_VARIABLE, server)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        memories.append(Slicebase.init(tmp_path / name, **options))  # type: ignore[arg-type]
        return memories[-1]

    yield opened
    for memory in memories:
        memory.close()


@pytest.fixture
def in_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens or creates a workspace whose memory is a file."""

    def opened(name: str = "there", **options: object) -> Slicebase:
        monkeypatch.delenv(URL_VARIABLE, raising=False)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        return Slicebase.init(tmp_path / name, **options)  # type: ignore[arg-type]

    return opened
