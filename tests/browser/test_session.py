"""The session page: a slider changes the slice, the way back works, and a session grows while one watches."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.addresses import address_of
from tests.browser.conftest import Look
from tests.browser.memories import ANCHOR, GROWING, LONG, TEAM, Shown, growing, opened, record, transcript, turn_id
from tests.browser.servers import Server
from tests.browser.visits import Visit

SLICE_ID = ".slice-hashes dd code"


def slice_id(visit: Visit, *, after: str = "") -> str:
    """Returns the `slice_id` that the page shows, as soon as it is another one."""
    changed = "([place, old]) => ![old, undefined].includes(document.querySelector(place)?.textContent)"
    visit.page.wait_for_function(changed, arg=[SLICE_ID, after])
    found: str = visit.page.locator(SLICE_ID).first.inner_text()
    return found


def test_a_slider_changes_the_slice_and_the_address_which_opens_the_same_again(
    look: Look, server: Server, shown: Shown
) -> None:
    visit = look(server.url + address_of("slice", shown))
    before = slice_id(visit)
    with visit.page.expect_response(lambda response: "max_nodes=5" in response.url):
        visit.page.locator("#p-max_nodes").evaluate(
            """(each) => {
                each.value = 5;
                each.dispatchEvent(new Event("input", { bubbles: true }));
                each.dispatchEvent(new Event("change", { bubbles: true }));
            }"""
        )
    after = slice_id(visit, after=before)
    assert "max_nodes=5" in visit.address
    assert "5 turns" in visit.text
    again = look(server.url + visit.address)
    assert slice_id(again) == after != before


def test_keys_move_a_slider_and_the_slice_follows(look: Look, server: Server, shown: Shown) -> None:
    visit = look(server.url + address_of("slice", shown))
    before = slice_id(visit)
    visit.page.locator("#p-max_radius").focus()
    visit.page.keyboard.press("Home")  # no hops: the anchor alone
    slice_id(visit, after=before)
    assert "1 turn" in visit.text


def test_parameters_that_no_policy_has_leave_no_slice_of_others_on_the_page(
    look: Look, server: Server, shown: Shown
) -> None:
    visit = look(server.url + address_of("slice", shown))
    slice_id(visit)
    assert visit.page.locator(".tree-row.in").count() > 1
    visit.allowed = ("console: Failed to load resource",)
    visit.page.locator("#p-distance_decay + input").fill("7")
    visit.page.locator("#p-distance_decay + input").press("Enter")
    visit.page.wait_for_selector(".slice-panel .problem")
    assert visit.page.locator(f"{SLICE_ID}, pre.command, .tree-row.in").count() == 0
    for given, nearest in (("2.5", "3"), ("-4", "1")):  # the browser itself refuses it
        visit.page.locator("#p-max_nodes + input").fill(given)
        visit.page.locator("#p-max_nodes + input").press("Enter")
        visit.settle()
        assert f"max_nodes={nearest}" in visit.address
        assert visit.page.locator("#p-max_nodes + input").input_value() == nearest


@pytest.mark.parametrize("width", [1280, 1600])
def test_the_words_in_the_head_of_a_turn_are_not_broken(look: Look, server: Server, shown: Shown, width: int) -> None:
    visit = look(server.url + address_of("slice", shown), width=width)
    slice_id(visit)
    broken = visit.run("""[...document.querySelectorAll(".turn > header > :not(.space)")]
        .filter((each) => each.getBoundingClientRect().height > 26).map((each) => each.textContent)""")
    assert broken == []


def test_the_way_back_leads_over_what_was_chosen(look: Look, server: Server, shown: Shown) -> None:
    visit = look(server.url + address_of("session", shown))
    first = visit.address
    visit.page.get_by_role("button", name="last", exact=True).click()
    visit.page.wait_for_function("old => location.search !== old", arg="")
    visit.settle()
    second = visit.address
    visit.page.go_back()
    visit.page.wait_for_function("old => location.search === old", arg="")
    assert (visit.address, second != first) == (first, True)
    visit.page.go_forward()
    visit.page.wait_for_function("old => location.search !== old", arg="")
    assert visit.address == second


def test_branches_subagents_and_compactions_are_on_the_page(look: Look, server: Server, shown: Shown) -> None:
    team = look(server.url + address_of("session", shown, session=TEAM) + f"?turn={turn_id(11)}")
    assert "1 subagent" in team.text
    team.page.locator(".agents summary").click()
    assert team.overflow == 0
    assert "Count the uses of Code." in team.page.locator(".agents ul").inner_text()  # what it was asked, not its id
    assert "branch" in team.text
    assert "row.append(order.code)" in team.text
    agent = look(server.url + address_of("session", shown, session=f"{TEAM}#agent-a77"))
    assert "Code is used in 3 files." in agent.text
    long = look(server.url + address_of("session", shown, session=LONG))
    long.page.get_by_role("button", name="compaction 1").click()
    long.settle()
    assert long.page.locator(".session-compaction").count() == 1  # of the client's mark and the summary
    assert long.page.locator(".tree-row.compacted-row").count() == 1
    long.page.get_by_role("button", name="what it lost").click()
    long.page.wait_for_selector("text=Money stays in integer cents")


@pytest.fixture
def live(tmp_path: Path) -> Iterator[tuple[Server, Path]]:
    root = tmp_path / "live"
    root.mkdir()
    with opened(root) as memory:
        memory.import_(growing(tmp_path / "talk.jsonl", range(4)))
    with Server(lambda: opened(root)) as server:
        yield server, root


def test_a_session_grows_while_one_watches(live: tuple[Server, Path], look: Look, tmp_path: Path) -> None:
    """Another process imports: as an agent's hook does."""
    server, root = live
    visit = look(f"{server.url}/session/{GROWING}?turn={turn_id(103, GROWING)}")
    assert "Line 3 of a talk" in visit.text
    assert "Line 6 of a talk" not in visit.text
    longer = growing(tmp_path / "talk.jsonl", range(8))
    subprocess.run(
        [sys.executable, "-m", "slicebase", "--root", root, "import", longer], check=True, capture_output=True
    )
    visit.page.wait_for_selector("text=Line 6 of a talk")
    visit.page.wait_for_selector("text=8 turns")
    visit.page.wait_for_function("() => document.getElementById('voice').textContent === 'The session grows: 8 turns.'")
    assert visit.run("performance.getEntriesByType('navigation').length") == 1


def test_the_slice_that_is_drawn_grows_with_the_session(live: tuple[Server, Path], look: Look, tmp_path: Path) -> None:
    """The rows in sight stay the same: the new turn is the last one of a long tree, and a child of the anchor."""
    server, root = live
    talk, anchor = growing(tmp_path / "talk.jsonl", range(240)), turn_id(103, GROWING)
    with opened(root) as memory:
        memory.import_(talk)
        visit = look(f"{server.url}/session/{GROWING}?anchor={anchor}")
        before = slice_id(visit)
        branch = record(700, 103, "user", "Another way on.", session=GROWING)
        memory.import_(transcript(tmp_path / "branch.jsonl", [*map(json.loads, talk.read_text().splitlines()), branch]))
        expected = memory.graph.select(anchor).slice_id
    assert slice_id(visit, after=before) == expected != before
    visit.page.wait_for_selector(f"#row-{anchor} .forks")  # and the tree shows the branch where it begins
    visit.page.wait_for_selector("article:has-text('Line 4 of') .branches >> text=Another way on.")  # so does the chat


def test_a_server_that_stops_is_missed_and_found_again(live: tuple[Server, Path], look: Look) -> None:
    server, _ = live
    visit = look(f"{server.url}/session/{GROWING}")
    visit.allowed = ("console: Failed to load resource", "console: Fetch", "error: ")
    server.stop()
    visit.page.keyboard.type("gl")
    visit.page.wait_for_selector(".problem")
    assert "The server does not answer." in visit.text
    server.start()
    for _ in range(20):  # the buttons that are there now: a view that asks again replaces them
        if not visit.run("[...document.querySelectorAll('.problem button')].map((each) => each.click()).length"):
            break
        visit.settle()
    assert visit.page.locator(".problem").count() == 0
    visit.page.keyboard.press("Escape")  # the library begins in its search field
    visit.page.keyboard.type("gs")
    visit.page.wait_for_selector(f"text={GROWING[:8]}")


def test_what_grew_while_nobody_watched_is_shown_when_the_server_is_back(
    live: tuple[Server, Path], look: Look, tmp_path: Path
) -> None:
    server, root = live
    visit = look(f"{server.url}/session/{GROWING}?turn={turn_id(103, GROWING)}")
    visit.allowed = ("console: Failed to load resource", "console: Fetch", "error: ")
    server.stop()
    with opened(root) as memory:
        memory.import_(growing(tmp_path / "talk.jsonl", range(8)))
    server.start()
    visit.page.wait_for_selector("text=Line 6 of a talk")
    visit.page.wait_for_selector("text=8 turns")


def test_many_pages_of_one_browser_watch_at_once(live: tuple[Server, Path], look: Look, tmp_path: Path) -> None:
    """A browser has six connections to a server, and a page that watches must not keep one for itself."""
    server, root = live
    first = look(f"{server.url}/session/{GROWING}", alone=True)
    others = [first.page.context.new_page() for _ in range(8)]
    for page in others:
        page.goto(f"{server.url}/session/{GROWING}?turn={turn_id(103, GROWING)}")
        page.wait_for_selector("text=Line 3 of a talk")
    first.page.close()  # the one that holds the stream
    others[0].wait_for_function("async () => (await navigator.locks.query()).held.length === 1")  # another one has it
    longer = growing(tmp_path / "talk.jsonl", range(8))
    subprocess.run(
        [sys.executable, "-m", "slicebase", "--root", root, "import", longer], check=True, capture_output=True
    )
    for page in others:
        page.wait_for_selector("text=Line 6 of a talk")


def test_a_turn_of_another_session_leads_to_its_own(look: Look, server: Server) -> None:
    visit = look(f"{server.url}/session/{TEAM}?turn={ANCHOR}")
    visit.page.wait_for_url(f"**/session/{LONG}?turn={ANCHOR}")
    visit.settle()
    assert visit.page.locator(f'article.is-chosen[data-turn="{ANCHOR}"]').count() == 1


def test_a_text_is_copied_where_a_browser_has_no_clipboard_for_pages(look: Look, server: Server, shown: Shown) -> None:
    """Browsers offer it to pages with TLS and to those of this machine only."""
    visit = look(server.url + address_of("slice", shown))
    slice_id(visit)
    visit.run("""() => {
        Object.defineProperty(navigator, "clipboard", { value: undefined });
        document.addEventListener("copy", () => { window.taken = document.activeElement.value; });
    }""")
    visit.page.get_by_role("button", name="copy as command").click()
    visit.page.wait_for_selector("button:text-is('copied')")
    assert visit.run("window.taken") == visit.page.inner_text("pre.command")


ACTIVE = """() => {
    const named = document.querySelector("[role=listbox]").getAttribute("aria-activedescendant");
    const row = document.getElementById(named);
    return row && { place: Number(row.ariaPosInSet), selected: row.ariaSelected, turn: row.id.slice(4) };
}"""


def test_the_tree_has_the_keys_of_a_list(look: Look, server: Server, shown: Shown) -> None:
    visit = look(server.url + address_of("session", shown))
    total = int(visit.page.locator(".tree-row").first.get_attribute("aria-setsize") or 0)
    visit.page.locator(".tree").focus()
    for key, place in (("ArrowDown", 2), ("ArrowDown", 3), ("ArrowUp", 2), ("End", total), ("ArrowDown", total),
                    ("ArrowUp", total - 1), ("Home", 1), ("ArrowUp", 1)):  # fmt: skip
        visit.page.keyboard.press(key)
        visit.settle()
        found = visit.run(ACTIVE)
        assert (found["place"], found["selected"]) == (place, "true"), key
        assert found["turn"] in visit.address or key in ("Home", "ArrowUp")
        assert visit.page.locator(f'article.is-chosen[data-turn="{found["turn"]}"]').count() == 1
        assert visit.run("document.activeElement.matches('.tree')")
    visit.page.keyboard.press("PageDown")
    visit.settle()
    assert visit.run(ACTIVE)["place"] > 5


def test_the_chosen_row_is_in_the_page_wherever_the_tree_is_scrolled_to(
    look: Look, server: Server, shown: Shown
) -> None:
    visit = look(server.url + address_of("slice", shown))
    for top in (0, 9_000, 100_000):
        visit.page.locator(".tree").evaluate("(each, top) => { each.scrollTop = top; }", top)
        visit.settle()
        assert visit.run(ACTIVE)["turn"] == ANCHOR


def test_enter_in_the_tree_of_a_phone_opens_the_turn(look: Look, server: Server, shown: Shown) -> None:
    visit = look(server.url + address_of("session", shown) + "?tab=tree", width=390)
    visit.page.locator(".tree").focus()
    visit.page.keyboard.press("ArrowDown")
    visit.settle()
    assert visit.page.locator(".tree").is_visible()
    visit.page.keyboard.press("Enter")
    visit.settle()
    assert visit.page.locator(".chat").is_visible()


def test_a_slice_that_is_drawn_again_is_said_once_and_without_hashes(look: Look, server: Server, shown: Shown) -> None:
    visit = look(server.url + address_of("slice", shown))
    visit.page.wait_for_function("() => document.getElementById('voice').textContent.includes('The slice has')")
    visit.run("""() => {
        window.said = [];
        new MutationObserver(() => window.said.push(document.getElementById("voice").textContent))
            .observe(document.getElementById("voice"), { childList: true, characterData: true, subtree: true });
    }""")
    assert visit.page.locator("[aria-live], [role=status], [role=log]").count() == 1
    visit.page.locator("#p-max_radius").focus()
    before = slice_id(visit)
    for _ in range(5):
        visit.page.keyboard.press("ArrowLeft")
    slice_id(visit, after=before)
    visit.page.wait_for_function("() => window.said.length > 0")
    visit.settle()
    said = visit.run("window.said")
    assert len(said) < 5
    assert all(each.startswith("The slice has") and len(each) < 60 for each in said)


@pytest.fixture
def many(tmp_path: Path) -> Iterator[Server]:
    """A server of two sessions: the first turn of one has 16 branches, that of the other 240."""
    root = tmp_path / "many"
    root.mkdir()
    with opened(root) as memory:
        for session, ways in ((TEAM, 16), (GROWING, 240)):
            begin = record(1, None, "user", "Begin.", session=session)
            lines = [record(10 + n, 1, "assistant", f"Way {n}.", session=session) for n in range(ways)]
            memory.import_(transcript(tmp_path / f"{session}.jsonl", [begin, *lines]))
    with Server(lambda: opened(root)) as server:
        yield server


def test_of_many_branches_those_beside_this_one_are_shown_and_the_others_counted(many: Server, look: Look) -> None:
    for number, told in ((0, "branch 1 of 16 this one"), (8, "branch 9 of 16 5 before"), (15, "9 before")):
        visit = look(f"{many.url}/session/{TEAM}?turn={turn_id(10 + number)}")
        shown_ones = visit.page.locator(".branches").last
        assert told in " ".join(shown_ones.inner_text().split())
        assert shown_ones.locator(".branch").count() == 7


def test_every_one_of_very_many_branches_can_be_reached(many: Server, look: Look) -> None:
    visit = look(f"{many.url}/session/{GROWING}?turn={turn_id(10 + 180, GROWING)}")
    for key, way, told in (("", 180, "181 of 240 177 before"), ("]", 181, "182 of 240"), ("[", 180, "181 of 240")):
        if key:
            visit.page.keyboard.press(key)
        visit.page.wait_for_selector(f"article.is-chosen:has-text('Way {way}.')")
        assert f"branch {told}" in " ".join(visit.page.locator(".branches").last.inner_text().split())
    visit.page.keyboard.press("End")  # the newest, which is the last
    visit.page.wait_for_selector("article.is-chosen:has-text('Way 239.')")
    visit.page.keyboard.press("]")
    visit.settle()
    assert "branch 240 of 240" in " ".join(visit.page.locator(".branches").last.inner_text().split())


@pytest.mark.parametrize("page", ["session", "home"])
def test_on_a_phone_the_navigation_is_one_line(look: Look, server: Server, shown: Shown, page: str) -> None:
    visit = look(server.url + address_of(page, shown, session=TEAM), width=360)
    box = visit.page.locator("nav.top").bounding_box()
    link = visit.page.locator("nav.top a", has_text="Proof").bounding_box()
    assert box
    assert link
    assert box["height"] < 2 * link["height"]
    assert visit.overflow == 0
    for width in range(300, 660, 5):  # on a narrower one it may be two lines, but nothing is cut off
        visit.page.set_viewport_size({"width": width, "height": 800})
        hidden = visit.page.locator("nav.top").evaluate("(each) => each.scrollWidth - each.clientWidth")
        assert hidden <= 0, width


def test_a_copy_of_a_session_is_called_so_and_leads_to_the_other_one(look: Look, tmp_path: Path) -> None:
    talk = growing(tmp_path / f"{GROWING}.jsonl", range(4))
    copy = tmp_path / f"{LONG}.jsonl"
    copy.write_text(talk.read_text().replace(f'"sessionId": "{GROWING}"', f'"sessionId": "{LONG}"'))
    with opened(tmp_path) as memory:
        memory.import_(talk)
        memory.import_(copy)
    with Server(lambda: opened(tmp_path)) as server:
        for path in ("/", "/sessions"):
            visit = look(server.url + path)
            visit.page.get_by_role("link", name=f"a copy of {GROWING[:8]}").click()
            visit.page.wait_for_url(f"**/session/{LONG}")
            visit.settle()
            visit.page.locator("main").get_by_role("link", name=GROWING).click()
            visit.page.wait_for_selector("text=Line 3 of a talk")
            visit.close()
