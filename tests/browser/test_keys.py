"""The pages without a mouse: the order of the keyboard, keys, and a focus that is seen."""

import pytest

from tests.browser.addresses import address_of
from tests.browser.conftest import Look
from tests.browser.memories import Shown
from tests.browser.servers import Server

FROM_THE_TOP = "() => { document.body.tabIndex = -1; document.body.focus(); }"
FOCUS = """() => {
    const each = document.activeElement;
    if (!each || each === document.body) return null;
    const style = getComputedStyle(each);
    return {
        name: (each.getAttribute("aria-label") || each.textContent || each.getAttribute("placeholder") || "").trim(),
        tag: each.tagName, inside: Boolean(each.closest("main")), y: each.getBoundingClientRect().y,
        seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
    };
}"""


@pytest.mark.parametrize("view", ["home", "slice", "asked", "run", "library", "file jsonl", "proof"])
def test_the_keyboard_reaches_everything_in_order_and_the_focus_is_seen(
    look: Look, server: Server, shown: Shown, view: str
) -> None:
    visit = look(server.url + address_of(view, shown))
    visit.run(FROM_THE_TOP)
    steps = []
    for _ in range(40):
        visit.page.keyboard.press("Tab")
        steps.append(visit.run(FOCUS))
    reached = [each for each in steps if each]
    assert reached[0]["name"] == "Skip to the content"
    assert [each["name"] for each in reached[1:8]] == [
        "Slicebase",
        "Home",
        "Sessions",
        "Context",
        "Runs",
        "Library",
        "Proof",
    ]
    assert any(each["inside"] for each in reached)
    assert all(each["seen"] for each in reached), [each for each in reached if not each["seen"]]
    assert all(each["name"] or each["tag"] in ("INPUT", "SELECT", "MAIN") for each in reached)
    assert len({(each["name"], each["y"]) for each in reached}) > 8, "the keyboard is caught"


def test_keys_go_to_every_view_search_and_list_themselves(look: Look, server: Server) -> None:
    visit = look(server.url)
    for key, path in (
        ("s", "/sessions"),
        ("c", "/context"),
        ("r", "/runs"),
        ("l", "/library"),
        ("p", "/proof"),
        ("h", "/"),
    ):
        visit.page.keyboard.press("Escape")  # some views begin with a field
        visit.page.keyboard.type(f"g{key}")
        visit.page.wait_for_function("path => location.pathname === path", arg=path)
        visit.settle()
    visit.page.keyboard.press("?")
    assert "go to Library" in visit.page.get_by_role("dialog").inner_text()
    visit.page.keyboard.press("?")
    assert visit.page.get_by_role("dialog").count() == 0
    visit.page.keyboard.press("/")
    visit.page.wait_for_function("() => location.pathname === '/library'")
    visit.settle()
    visit.page.keyboard.press("Escape")
    visit.page.keyboard.press("/")
    visit.page.keyboard.type("codes")
    visit.page.wait_for_function("() => location.search.includes('codes')")
    visit.settle()
    assert "Decisions" in visit.text


def test_the_first_key_skips_the_navigation(look: Look, server: Server) -> None:
    visit = look(server.url)
    visit.run(FROM_THE_TOP)
    visit.page.keyboard.press("Tab")
    visit.page.keyboard.press("Enter")
    visit.page.keyboard.press("Tab")
    assert visit.run(FOCUS)["inside"]


def test_colours_are_chosen_once_for_all_views(look: Look, server: Server) -> None:
    visit = look(server.url, alone=True)
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    light = visit.run(colour)
    other = visit.page.context.new_page()
    other.goto(server.url)
    visit.page.get_by_role("button", name="Colours").click()
    visit.page.get_by_role("button", name="Colours").click()
    visit.page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    assert visit.run(colour) != light
    other.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    other.goto(f"{server.url}/runs")
    other.wait_for_function("document.documentElement.dataset.theme === 'dark'")


TYPE_ON = """() => {
    const box = document.querySelector("main input[type=search]");
    const told = history.replaceState;
    history.replaceState = function (...given) {
        told.apply(this, given);
        history.replaceState = told;
        setTimeout(() => type(box.value + "t"), 0);  // the next key comes before the next frame
        setTimeout(() => type(box.value + "s"), 100);
    };
    const type = (text) => {
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(box, text);
        box.dispatchEvent(new Event("input", { bubbles: true }));
    };
    type("discoun");
}"""


@pytest.mark.parametrize("path", ["/library", "/sessions"])
def test_no_letter_is_lost_while_a_search_follows_the_typing(look: Look, server: Server, path: str) -> None:
    visit = look(server.url + path)
    visit.run(TYPE_ON)
    visit.page.wait_for_url("**?q=discounts")
    visit.settle()
    assert visit.page.locator("main input[type=search]").input_value() == "discounts"


def test_words_that_are_typed_do_not_follow_to_another_view(look: Look, server: Server) -> None:
    visit = look(server.url + "/library")
    visit.page.locator("main input[type=search]").press_sequentially("codes")
    visit.page.get_by_role("link", name="Proof", exact=True).click()
    visit.page.wait_for_timeout(400)
    assert visit.address == "/proof"


def test_the_list_of_keys_takes_the_focus_and_escape_gives_it_back(look: Look, server: Server) -> None:
    visit = look(server.url)
    keys = visit.page.get_by_role("button", name="Keys")
    keys.focus()
    visit.page.keyboard.press("Enter")
    visit.page.get_by_role("dialog").wait_for()
    assert visit.run("Boolean(document.activeElement.closest('dialog'))")
    visit.page.keyboard.press("Escape")
    visit.page.get_by_role("dialog").wait_for(state="detached")
    assert "Keys" in visit.run(FOCUS)["name"]


def test_keys_of_one_letter_can_be_switched_off(look: Look, server: Server, shown: Shown) -> None:
    """WCAG 2.1.4: who speaks to a machine, or hits keys by accident, must not be led away."""
    visit = look(server.url + address_of("session", shown), alone=True)
    here = visit.address
    other = visit.page.context.new_page()
    other.goto(server.url)
    other.wait_for_selector("main h1")
    visit.page.bring_to_front()
    visit.page.keyboard.press("?")
    visit.page.get_by_label("keys of one character").uncheck()
    visit.page.keyboard.press("Escape")
    visit.page.get_by_role("dialog").wait_for(state="detached")
    visit.page.keyboard.type("jat?gl/")
    visit.settle()
    assert visit.address == here
    assert visit.page.get_by_role("dialog").count() == 0
    other.bring_to_front()
    other.keyboard.type("?gl")
    assert (other.url, other.get_by_role("dialog").count()) == (f"{server.url}/", 0)
    visit.page.bring_to_front()
    visit.page.reload()
    visit.settle()
    visit.page.keyboard.type("gl")
    visit.settle()
    assert visit.address == here


def test_a_link_to_another_view_leads_the_focus_to_its_content(look: Look, server: Server) -> None:
    visit = look(server.url)
    visit.page.get_by_role("link", name="all sessions").focus()
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_function("() => location.pathname === '/sessions'")
    visit.settle()
    assert visit.run(FOCUS)["tag"] == "MAIN"
    visit.page.wait_for_function("() => document.getElementById('voice').textContent === 'Sessions'")


def test_an_event_is_opened_and_left_with_the_keyboard(look: Look, server: Server, shown: Shown) -> None:
    visit = look(server.url + address_of("run", shown))
    visit.page.locator(".event button").nth(3).focus()
    before = visit.run(FOCUS)["name"]
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_function("() => document.activeElement.matches('.event-panel')")
    visit.settle()
    visit.page.keyboard.press("Escape")
    visit.page.locator(".event-panel").wait_for(state="detached")
    visit.settle()
    assert visit.run(FOCUS)["name"] == before
