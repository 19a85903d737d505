"""Exported pages: they open from a file, ask nobody, and show what the server shows."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from slicebase.core.refs import parse
from slicebase.web.exports import exported_page
from tests.browser.accessibility import serious_findings
from tests.browser.addresses import address_of
from tests.browser.conftest import Look
from tests.browser.memories import ANCHOR, GROWING, LONG, NOW, Shown, at_rest, opened, record, transcript
from tests.browser.servers import Server
from tests.browser.visits import Visit

FILES = ("markdown", "jsonl", "conversation", "routine", "code", "pointer")
EXPORTED = ("session", "slice", "run", "recorded", *(f"file {each}" for each in FILES))
# The words of a view, without what only a server can do: other anchors, new questions, how long an answer took.
WORDS = """() => {
    const live = ".actions, .turn-tools, [data-live]";
    const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    const words = [];
    while (walk.nextNode()) {
        if (!walk.currentNode.parentElement.closest(live)) words.push(walk.currentNode.data);
    }
    return words.join(" ").replace(/\\s+/g, " ").trim();
}"""


TURNS = """(wanted) => Object.fromEntries([...document.querySelectorAll("[data-turn]")]
    .filter((each) => !wanted || wanted.includes(each.dataset.turn))
    .map((each) => [each.dataset.turn, each.innerText.replace(/(?:no )?anchor/g, "").replace(/\\s+/g, " ").trim()]))"""
# Links of ours to other views, which an exported page does not have.
LED_OUT = """(path) => [...document.querySelectorAll("main a[href]")].map((each) => each.getAttribute("href"))
    .filter((each) => each.startsWith("/") && new URL(each, "http://page/").pathname !== path)"""
SESSIONS = ("session", "slice")


def reference_of(view: str, shown: Shown) -> str:
    kind, _, name = view.partition(" ")
    names = {"session": f"session:{LONG}", "run": f"run:{shown.run}", "recorded": shown.manifests[0],
             "slice": f"turn:{ANCHOR}"}  # fmt: skip
    return f"file:{shown.files[name]}" if kind == "file" else names[view]


def write_page(view: str, shown: Shown, folder: Path) -> Path:
    page = folder / "page.html"
    with at_rest(shown.root) as memory:
        page.write_bytes(exported_page(memory, parse(reference_of(view, shown)), NOW))
    return page


def open_everything(visit: Visit) -> None:
    """Opens what is folded, and looks into every part of the view."""
    for _ in range(2):  # some of it has more inside
        visit.run(
            """() => document.querySelectorAll("main details:not([open]) > summary, main [aria-expanded=false]")
                .forEach((each) => each.click())"""
        )
        visit.settle()


@pytest.mark.parametrize("view", EXPORTED)
def test_an_exported_page_shows_what_the_server_shows_and_asks_nobody(
    look: Look, server: Server, shown: Shown, tmp_path: Path, view: str
) -> None:
    page = write_page(view, shown, tmp_path)
    visit = look(page.as_uri())
    live = look(server.url + address_of(view, shown))
    if view in SESSIONS:  # a server sends a chat in windows
        turns = live.run(TURNS, None)
        assert len(turns) > 20
        assert visit.run(TURNS, list(turns)) == turns
    else:
        assert visit.run(WORDS) == live.run(WORDS)
        assert serious_findings(visit) == []
    tabs = visit.page.locator("main nav.tabs a, main nav.tabs button")
    for number in range(max(1, tabs.count())):
        if tabs.count():
            tabs.nth(number).click()
            visit.settle()
        open_everything(visit)
        assert visit.page.locator(".problem").count() == 0, (number, visit.text)
        assert visit.run(LED_OUT, urlsplit(address_of(view, shown)).path) == []
    assert visit.requests == [page.as_uri()]


@pytest.mark.parametrize("view", ["session", "slice", "run"])
def test_no_key_leads_out_of_an_exported_page_or_is_said_to(
    look: Look, shown: Shown, tmp_path: Path, view: str
) -> None:
    visit = look(write_page(view, shown, tmp_path).as_uri())
    before = visit.text
    for keys in ("gh", "gl", "gp", "/", "a"):
        visit.page.keyboard.type(keys)
        visit.settle()
        assert visit.text == before, keys
    visit.page.keyboard.type("?")
    listed = visit.page.locator("dialog.keys").inner_text()
    assert not [each for each in ("go to", "search", "anchor here") if each in listed]


def test_a_branch_that_an_exported_page_does_not_have_is_counted_and_leads_nowhere(look: Look, tmp_path: Path) -> None:
    root = tmp_path / "many"
    root.mkdir()
    with opened(root) as memory:
        begin = record(1, None, "user", "Begin.", session=GROWING)
        lines = [record(10 + n, 1, "assistant", f"Way {n}.", session=GROWING) for n in range(240)]
        memory.import_(transcript(tmp_path / f"{GROWING}.jsonl", [begin, *lines]))
        page = tmp_path / "page.html"
        page.write_bytes(exported_page(memory, parse(f"session:{GROWING}"), NOW))
    visit = look(page.as_uri())
    newest = visit.page.locator("article:has-text('Way 239.') .branches")
    words = " ".join(newest.inner_text().split())
    assert words.startswith("branch 240 of 240 233 before Way 193."), words  # the page has the first ways, and this
    assert words.endswith("Way 198. this one")
    for way, key in ((239, "j"), (198, "["), (197, "[")):
        visit.page.keyboard.press(key)
        visit.page.wait_for_selector(
            f"article.is-chosen:has-text('Way {way}.') .branches >> text=branch {way + 1} of 240"
        )
    visit.page.get_by_role("button", name="Way 198.").click()
    visit.page.wait_for_selector("article.is-chosen:has-text('Way 198.')")
    assert " ".join(visit.page.locator(".branches").inner_text().split()).endswith("this one Way 239. 40 after")
    assert visit.page.locator(".problem").count() == 0


def test_the_same_memory_and_time_give_the_same_page(shown: Shown, tmp_path: Path) -> None:
    pages = set()
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        pages.add(write_page("file jsonl", shown, tmp_path / str(number)).read_bytes())
    assert len(pages) == 1


def test_the_policy_of_a_page_lets_no_other_script_run(look: Look, shown: Shown, tmp_path: Path) -> None:
    page = write_page("file markdown", shown, tmp_path)
    page.write_text(page.read_text().replace('<div id="app">', '<script>window.ran = 1</script><div id="app">'))
    visit = look(page.as_uri())
    visit.allowed = ("console: Executing inline script violates", "console: Refused to execute")
    assert visit.run("window.ran") is None
    asked = """() => fetch("https://shop.example/").then(() => "asked", () => "refused")"""
    visit.allowed += ("console: Connecting to", "console: Refused to connect", "console: Fetch API", "another host")
    assert visit.run(asked) == "refused"
