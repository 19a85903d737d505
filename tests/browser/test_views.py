"""Every view, as people have their data: it shows something, without an error, for everybody, on every screen."""

import itertools
import json
from pathlib import Path

import pytest

from tests.browser.accessibility import serious_findings
from tests.browser.addresses import VIEWS, address_of
from tests.browser.conftest import Look
from tests.browser.memories import TEAM, Shown, opened
from tests.browser.servers import Server

HEADINGS = """() => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")]
    .filter((each) => each.offsetParent).map((each) => Number(each.tagName[1]))"""

SAME = {"turn"}  # views that lead to another one
# Names of elements that are not in the page, and roles whose keys no test presses.
PROMISES = """() => {
    const found = [];
    for (const name of ["aria-activedescendant", "aria-controls", "aria-describedby", "aria-labelledby", "aria-owns"]) {
        for (const each of document.querySelectorAll(`[${name}]`)) {
            for (const id of each.getAttribute(name).split(/\\s+/)) {
                if (!document.getElementById(id)) found.push(`${name}=${id}`);
            }
        }
    }
    const widgets = /^(tab|tablist|menu.*|tree|treeitem|grid|radio.*|combobox|slider|spinbutton|switch|toolbar)$/;
    for (const each of document.querySelectorAll("[role]")) if (widgets.test(each.role)) found.push(each.role);
    return found;
}"""
# WCAG 1.4.12: the least that a reader may set.
SPACED = """() => {
    const style = new CSSStyleSheet();
    style.replaceSync(`* { line-height: 1.5 !important; letter-spacing: .12em !important; }
        * { word-spacing: .16em !important; }
        p { margin-bottom: 2em !important; }`);
    document.adoptedStyleSheets = [style];
}"""


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
    assert visit.run(PROMISES) == []
    light = [] if view in SAME else serious_findings(visit)
    visit.page.emulate_media(color_scheme="dark")
    visit.page.set_viewport_size({"width": 390, "height": 844})  # a phone
    visit.settle()
    dark = [] if view in SAME else serious_findings(visit)
    assert (light, dark) == ([], [])
    assert visit.overflow <= 0
    visit.page.set_viewport_size({"width": 320, "height": 256})  # 1280 by 1024 at 400 %
    visit.run(SPACED)
    visit.settle()
    assert visit.overflow <= 0


def test_what_is_chosen_is_seen_without_our_colours(look: Look, server: Server, shown: Shown) -> None:
    visit = look(server.url + address_of("slice", shown))
    visit.page.emulate_media(forced_colors="active")
    for chosen, other in (
        (".tree-row.is-chosen", ".tree-row:not(.is-chosen)"),
        ("nav.top a[aria-current]", "nav.top a:not([aria-current])"),
    ):
        styles = [
            visit.page.locator(each).first.evaluate("(each) => getComputedStyle(each).outlineStyle")
            for each in (chosen, other)
        ]
        assert styles == ["solid", "none"]
    colour = "(each) => getComputedStyle(each).backgroundColor"
    run = look(server.url + address_of("run", shown))
    run.page.emulate_media(forced_colors="active")
    used, track = (run.page.locator(each).first.evaluate(colour) for each in (".meter .used", ".meter .track"))
    assert used != track


@pytest.mark.parametrize("dark", [False, True])
def test_more_contrast_is_given_to_who_asks_for_it(look: Look, server: Server, dark: bool) -> None:
    visit = look(server.url, dark=dark)
    visit.page.emulate_media(contrast="more")
    colours = [
        visit.page.locator(each).first.evaluate("(each) => getComputedStyle(each).color") for each in (".faint", "h1")
    ]
    assert colours[0] == colours[1]


# Cards whose first line is higher than what is left for it.
CUT = """() => [...document.querySelectorAll(".why-card .text")]
    .filter((each) => each.clientHeight < parseFloat(getComputedStyle(each).fontSize))
    .map((each) => each.textContent)"""
# Parts of a page that scroll by themselves: what is in them would be cut off on paper.
SCROLLING = """() => [...document.querySelectorAll("main *")]
    .filter((each) => each.checkVisibility() && /auto|scroll/.test(getComputedStyle(each).overflowY))
    .filter((each) => each.scrollHeight > each.clientHeight + 1).map((each) => each.className)"""


def test_a_page_is_printed_in_full_and_dark_on_light(look: Look, server: Server, shown: Shown) -> None:
    visit = look(server.url, dark=True)
    visit.run("() => { document.documentElement.dataset.theme = 'dark'; }")  # as its button does
    visit.page.emulate_media(media="print")
    for view in ("slice", "compaction", "asked", "run", "file markdown", "why"):
        visit.go(address_of(view, shown))
        assert visit.run(SCROLLING) == [], view
        assert visit.page.locator("nav.top").is_hidden()
        assert visit.page.locator("main").inner_text().strip()
        ink = visit.run("getComputedStyle(document.documentElement).color.match(/[0-9]+/g).map(Number)")
        assert max(ink[:3]) < 64


@pytest.mark.parametrize("width", [1280, 390])
def test_letters_of_twice_the_size_are_given_to_who_set_them_and_fit(
    look: Look, server: Server, shown: Shown, width: int
) -> None:
    visit = look(server.url, width=width, alone=True)
    visit.page.context.new_cdp_session(visit.page).send("Page.setFontSizes", {"fontSizes": {"standard": 32}})
    visit.page.reload()  # sizes are looked at once
    for view in ("home", "slice", "recorded", "run", "library", "file markdown", "file jsonl", "links", "why"):
        visit.go(address_of(view, shown))
        assert visit.run("parseFloat(getComputedStyle(document.body).fontSize)") >= 28
        assert visit.overflow <= 0, view
        if view == "links":
            assert visit.run("document.querySelector('.link-graph').getScreenCTM().a") >= 28 / 15
    assert visit.run(CUT) == []


@pytest.mark.parametrize(
    ("reference", "short"),
    [
        (f"session:{TEAM}#agent-ag000001", f"session:{TEAM[:8]}#agent-ag000001"),
        (f"session:{TEAM}", f"session:{TEAM[:8]}"),
        ("claim:fix#1234567/c1", "claim:fix#1234567/c1"),
        ("run:a@b#cdefghij", "run:a@b#cdefghij"),
        ("sec:01M7V135STWR2CDKZ759FPJ38C@db8eb9732045#~aeba1cb1ac0b71e3", "sec:01M7V135#aeba1c"),
        ("sec:01M7V135STWR2CDKZ759FPJ38C@db8eb9732045#", "sec:01M7V135"),
        ("sec:guide@db8eb9732045#codes/section-40", "sec:guide#codes/sectio"),
    ],
)
def test_a_short_reference_still_tells_which_one_it_is(look: Look, server: Server, reference: str, short: str) -> None:
    visit = look(f"{server.url}/runs")
    asked = "(ref) => import('/static/lib/ui.js').then(({ shortRef }) => shortRef(ref))"
    assert visit.run(asked, reference) == short


def test_of_two_snapshots_the_earlier_one_comes_first_from_both_sides(look: Look, server: Server, shown: Shown) -> None:
    said = set()
    for one, other in (shown.snapshots, shown.snapshots[::-1]):
        visit = look(f"{server.url}/snapshot/{one}?with={other}")
        assert visit.page.inner_text(".compare-head h2").startswith("From snapshot 1 ")
        said.add(visit.text[visit.text.index("From snapshot") :])
    assert len(said) == 1


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
        nowhere.go(address)
        assert nowhere.page.locator(".problem").count() >= 1, address
        assert "No view has this address." not in nowhere.text


def test_the_way_back_leads_to_where_one_was_and_so_does_a_page_that_is_loaded_again(
    look: Look, server: Server
) -> None:
    visit = look(f"{server.url}/library?q=codes", height=300)
    link = visit.page.locator("main .passage").last
    link.scroll_into_view_if_needed()
    place = visit.run("window.scrollY")
    assert place > 300
    link.click()
    visit.page.wait_for_function("() => location.pathname !== '/library'")
    visit.settle()
    for go in (visit.page.go_back, visit.page.reload):
        go()
        visit.page.wait_for_function("(place) => location.pathname === '/library' && scrollY === place", arg=place)
        visit.settle()
        assert visit.run("window.scrollY") == place
    visit.go("/context?q=codes")
    visit.page.get_by_role("link", name="left out").click()
    visit.page.wait_for_function("() => location.hash && scrollY > 100")
    visit.page.go_back()
    visit.page.wait_for_function("() => !location.hash && scrollY === 0")
    visit.page.get_by_role("link", name="Runs", exact=True).click()
    visit.page.wait_for_function("() => location.pathname === '/runs'")
    visit.settle()
    assert visit.run("window.scrollY") == 0


def test_a_search_that_found_more_than_it_shows_says_what_finds_the_others(look: Look, tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        for number in range(102):
            memory.library.create(f"Note {number}", "About zebras.", body="A zebra has stripes.")
    with Server(lambda: opened(tmp_path)) as server:
        visit = look(f"{server.url}/library?q=zebra")
        for _ in range(3):
            visit.page.get_by_role("button", name="show more").click()
            visit.settle()
        assert visit.page.get_by_role("button", name="show more").count() == 0
        assert "best 100" in visit.text
        visit.close()


def test_a_search_that_lists_only_some_sessions_with_some_of_the_words_lists_more_on_request(
    look: Look, tmp_path: Path
) -> None:
    lines = ["A zebra and a quokka."] * 9 + ["A zebra."] * 30
    talks = [[{"role": "user", "content": f"{line} Number {number}."}] for number, line in enumerate(lines)]
    with opened(tmp_path) as memory:
        for number, talk in enumerate(talks):
            path = tmp_path / f"{number}.json"
            path.write_text(json.dumps(talk))
            memory.import_(path, session=f"talk-{number}")
    with Server(lambda: opened(tmp_path)) as server:
        visit = look(f"{server.url}/library?q=zebra+quokka")
        listed = visit.page.locator(".session-hit").count()
        assert "A zebra and a quokka. Number" in visit.page.locator(".session-hit h3").first.inner_text()
        visit.page.get_by_role("button", name="show more").click()
        visit.settle()
        assert visit.page.locator(".session-hit").count() > listed
        visit.close()
