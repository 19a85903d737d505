"""Pages of `tt serve` in Chromium: `make test-browser`. Other tests need neither Playwright nor a browser."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.hostile import hostile
from tests.browser.memories import Shown, at_rest, demo
from tests.browser.servers import Server
from tests.browser.visits import Visit, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Look = Callable[..., Visit]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """A workspace as people have them."""
    return demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="session")
def server(shown: Shown) -> Iterator[Server]:
    with Server(lambda: at_rest(shown.root)) as started:
        yield started


@pytest.fixture(scope="session")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """A workspace whose texts, titles and names try to become more than texts."""
    return hostile(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="session")
def bad_server(bad: Shown) -> Iterator[Server]:
    with Server(lambda: at_rest(bad.root)) as started:
        yield started


@pytest.fixture
def look(browser: "Browser") -> Iterator[Look]:
    """Opens addresses in pages of their own. At the end, each must have been free of errors and of other hosts."""
    visits: list[Visit] = []

    def open_(address: str, **options: object) -> Visit:
        visits.append(Visit(browser, address, **options))  # type: ignore[arg-type]
        return visits[-1]

    yield open_
    for visit in visits:
        visit.close()
    assert not [trouble for visit in visits for trouble in visit.troubles]
