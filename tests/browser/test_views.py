"""Every view, as people have their data: it shows something, without an error, for everybody, on every screen."""

import itertools

import pytest

from tests.browser.accessibility import serious_findings
from tests.browser.addresses import VIEWS, address_of
from tests.browser.conftest import Look
from tests.browser.memories import TEAM, Shown
from tests.browser.servers import Server

HEADINGS = """() => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")]
    .filter((each) => each.offsetParent).map((each) => Number(each.tagName[1]))"""


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_complete_and_readable_in_light_and_dark_and_on_a_phone(
    look: Look, server: Server, shown: Shown, view: str
) -> None:
    """`look` also checks that nothing failed, and that nothing was asked of another host."""
    visit = look(server.url + address_of(view, shown))
    assert visit.page.locator("h1").count() == 1
    assert visit.page.locator(".problem").count() == 0, visit.text
    assert "undefined" not in visit.text
    assert "[object Object]" not in visit.text
    assert "NaN" not in visit.text
    assert visit.page.title().endswith("Slicebase")
    levels = visit.run(HEADINGS)
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels)), levels
    light = serious_findings(visit)
    visit.page.emulate_media(color_scheme="dark")
    visit.page.set_viewport_size({"width": 390, "height": 844})  # a phone
    visit.settle()
    dark = serious_findings(visit)
    assert (light, dark) == ([], [])
    assert visit.overflow <= 0


def test_an_address_without_a_view_says_so_and_one_without_data_too(look: Look, server: Server) -> None:
    nowhere = look(f"{server.url}/nowhere")
    nowhere.allowed = ("console: Failed to load resource",)
    assert "No view has this address." in nowhere.text
    for address in (
        "/session/nobody",
        "/session/%E0%A4%A",
        f"/session/{TEAM}?turn=%22%5D",
        "/run/nobody",
        "/file/nobody",
        "/context/mf_00",
        "/snapshot/sn_00",
        "/proof/why?ref=ev_00",
    ):
        visit = look(server.url + address)
        visit.allowed = ("console: Failed to load resource",)
        assert visit.page.locator(".problem").count() >= 1, address
        assert ("No view has this address." in visit.text) == (address == "/nowhere")
