"""Recalled texts stay texts, whatever they hold, in the pages of a server and in exported ones."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slicebase.core.refs import parse
from slicebase.web.exports import exported_page
from tests.browser import hostile
from tests.browser.addresses import VIEWS, address_of
from tests.browser.conftest import Look
from tests.browser.memories import NOW, Shown, at_rest, opened, turn_id
from tests.browser.servers import Server
from tests.browser.visits import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Views whose hostile texts are in sight as soon as they are there.
SAYING = {
    "session",
    "turn",
    "recorded",
    "run",
    "snapshot",
    "file markdown",
    "file jsonl",
    "file text",
    "file code",
    "why",
}


# Opens everything that opens, and presses every button.
OPEN = (
    """() => document.querySelectorAll("main summary, main button:not([disabled])").forEach((each) => each.click())"""
)


def is_harmless(visit: Visit, url: str) -> None:
    """Checks that no script ran, that the page is where it was, and that no markup became an element."""
    assert visit.run("window.ran") is None
    assert visit.page.url == url or "/turn/" in url  # that leads to its session
    assert visit.page.locator("main script, main iframe, main style, main object, main embed").count() == 0
    assert visit.page.locator("main img, main svg[onload], main b, main [onerror], main [onmouseover]").count() == 0
    links = visit.run("() => [...document.querySelectorAll('a[href]')].map((each) => each.href)")
    assert {link.partition(":")[0] for link in links} <= {"http", "https", "file"}
    assert not [link for link in links if link.startswith("file:///etc")]


# What has hundreds of marks on one letter, and is in no entry that keeps them from being drawn over all others.
SPILLING = """() => {
    const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    const found = [];
    while (walk.nextNode()) {
        if (!/\\p{M}{100}/u.test(walk.currentNode.data)) continue;
        let place = walk.currentNode.parentElement;
        while (place.tagName !== "MAIN" && getComputedStyle(place).overflowY === "visible") place = place.parentElement;
        if (place.tagName === "MAIN") found.push(walk.currentNode.parentElement.outerHTML.slice(0, 80));
    }
    return found;
}"""


@pytest.fixture(scope="module")
def phone(browser: "Browser", bad_server: Server) -> Iterator[Visit]:
    """A page of the hostile workspace, which goes from view to view."""
    visit = Visit(browser, bad_server.url, width=390)
    yield visit
    visit.close()


@pytest.mark.parametrize("view", VIEWS)
def test_hostile_texts_do_nothing_and_are_shown_as_they_are(
    phone: Visit, bad_server: Server, bad: Shown, view: str
) -> None:
    """Its troubles are also dialogs, pages that were opened, and other hosts that were asked."""
    visit = phone
    place = address_of(view, bad, session=hostile.SESSION, anchor=turn_id(1, hostile.SESSION), words="alert")
    visit.go(place)
    is_harmless(visit, bad_server.url + place)
    assert visit.overflow <= 0
    assert visit.run(SPILLING) == []
    if view in SAYING:
        assert "alert(" in visit.text
        assert "<img" in visit.text or "<script>" in visit.text
    visit.run(OPEN)
    visit.settle()
    assert visit.run("window.ran") is None
    assert visit.page.locator("main script, main iframe, main img").count() == 0
    assert visit.troubles == []


def test_a_session_with_a_hostile_name_has_an_address(look: Look, bad_server: Server, bad: Shown) -> None:
    name = f"a session {hostile.NAME}"
    visit = look(bad_server.url + address_of("session", bad, session=name))
    assert visit.page.locator(".problem").count() == 0
    assert "alert(" in visit.text


def test_a_session_whose_name_is_a_path_of_its_own_has_an_address_and_an_export(look: Look, tmp_path: Path) -> None:
    """A browser removes `..` from an address."""
    talk = tmp_path / "talk.json"
    talk.write_text(json.dumps([{"role": "user", "content": "Where am I?"}]))
    with opened(tmp_path) as memory:
        memory.import_(talk, session="..")
        (tmp_path / "page.html").write_bytes(exported_page(memory, parse("session:.."), NOW))
    with Server(lambda: opened(tmp_path)) as server:
        visit = look(f"{server.url}/sessions")
        visit.page.locator("a.session-link").click()
        visit.settle()
        for page in (visit, look((tmp_path / "page.html").as_uri())):
            assert page.page.locator(".problem").count() == 0
            assert page.page.locator(".tree-row").count() == 1
            assert "Where am I?" in page.text
        visit.close()


def test_a_run_whose_name_is_a_path_of_its_own_has_an_address_an_export_and_grows(look: Look, tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.runs.start("..", "Where am I?", done="It is known.")
        memory.runs.question("..", "Up or down?")
        (tmp_path / "page.html").write_bytes(exported_page(memory, parse("run:.."), NOW))
        with Server(lambda: opened(tmp_path)) as server:
            visit = look(f"{server.url}/runs")
            visit.page.locator("table.runs a").click()
            visit.settle()
            for page in (visit, look((tmp_path / "page.html").as_uri())):
                assert page.page.inner_text("h1").startswith(".. ")
                page.page.get_by_role("link", name="Questions").click()
                page.settle()
                assert page.page.locator(".problem").count() == 0
                assert "Up or down?" in page.text
            memory.runs.question("..", "And then?")
            visit.page.wait_for_selector(".items >> text=And then?")
            visit.close()


def test_exported_pages_of_hostile_texts_do_nothing(look: Look, bad: Shown, tmp_path: Path) -> None:
    files = [f"file:{bad.files[kind]}" for kind in ("markdown", "jsonl", "text", "pointer")]
    with at_rest(bad.root) as memory:
        turn = f"turn:{turn_id(1, hostile.SESSION)}"
        for number, name in enumerate((turn, f"run:{bad.run}", *files, *bad.manifests)):
            page = tmp_path / f"{number}.html"
            page.write_bytes(exported_page(memory, parse(name), 0))
            visit = look(page.as_uri(), width=390)
            is_harmless(visit, page.as_uri())
            assert visit.requests == [page.as_uri()]
            visit.close()
