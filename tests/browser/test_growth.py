"""A session that grows while one reads it: the end is followed, the middle stays, and the page stays small."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest

from tests.browser.conftest import Look
from tests.browser.memories import GROWING, growing, opened, turn_id
from tests.browser.servers import Server
from tests.browser.visits import Visit

SHORT: Final = 40
FULL: Final = 240  # more turns than a page keeps
BUSY: Final = 6  # times slower than this machine
CHAT: Final = "const chat = document.querySelector('.chat');"
TO_THE_END: Final = f"() => {{ {CHAT} chat.scrollTop = chat.scrollHeight; }}"
IS_AT_THE_END: Final = f"() => {{ {CHAT} return chat.scrollHeight - chat.scrollTop - chat.clientHeight < 2; }}"
# The first turn in sight, and where it is.
READ: Final = f"""() => {{
    {CHAT}
    const top = chat.getBoundingClientRect().top;
    const read = [...chat.querySelectorAll("[data-turn]")].find((each) => each.getBoundingClientRect().bottom > top);
    return [read.dataset.turn, Math.round(read.getBoundingClientRect().top - top)];
}}"""


class Talk:
    """A session that another connection makes longer."""

    def __init__(self, folder: Path) -> None:
        self.root, self._file = folder / "live", folder / "talk.jsonl"
        self.root.mkdir()
        self.grow(SHORT)

    def grow(self, *ends: int) -> None:
        with opened(self.root) as memory:
            for end in ends:
                memory.import_(growing(self._file, range(end)))


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    return Talk(tmp_path)


@pytest.fixture
def live(talk: Talk) -> Iterator[Server]:
    with Server(lambda: opened(talk.root)) as server:
        yield server


def read_from(look: Look, live: Server, number: int) -> Visit:
    """Opens the session at a turn, and waits until the server tells what grows."""
    return look(f"{live.url}/session/{GROWING}?turn={turn_id(100 + number, GROWING)}")


def at_the_end(look: Look, live: Server) -> Visit:
    visit = read_from(look, live, SHORT - 1)
    visit.run(TO_THE_END)
    visit.settle()
    return visit


def follows(visit: Visit, turns: int) -> None:
    """Waits until the page has all turns, and shows the last one at its end."""
    visit.page.wait_for_selector(f"text={turns} turns")
    visit.page.wait_for_selector(f"article:has-text('Line {turns - 1} of a talk')")
    visit.page.wait_for_function(IS_AT_THE_END)
    visit.settle()
    assert visit.run(IS_AT_THE_END)


def kept(visit: Visit) -> dict[str, Any]:
    """Returns what a page holds when its garbage is collected; nodes also outside of the document."""
    tools = visit.page.context.new_cdp_session(visit.page)
    tools.send("HeapProfiler.collectGarbage")
    found: dict[str, Any] = tools.send("Memory.getDOMCounters")
    tools.detach()
    return {**found, "elements": visit.run("document.querySelectorAll('*').length")}


def test_who_reads_the_end_follows_it(live: Server, look: Look, talk: Talk) -> None:
    visit = at_the_end(look, live)
    for end in (SHORT + 1, SHORT + 40):
        talk.grow(end)
        follows(visit, end)


def test_who_reads_the_middle_does_not_move(live: Server, look: Look, talk: Talk) -> None:
    visit = read_from(look, live, SHORT // 2)
    visit.page.locator(".chat").evaluate("(each) => { each.scrollTop = each.scrollHeight / 3; }")
    visit.settle()
    read = visit.run(READ)
    talk.grow(SHORT + 1, SHORT + 40)
    visit.page.wait_for_selector(f"text={SHORT + 40} turns")
    visit.settle()
    assert visit.run(READ) == read


def test_who_scrolls_away_from_the_end_is_not_led_back(live: Server, look: Look, talk: Talk) -> None:
    visit = at_the_end(look, live)
    talk.grow(SHORT + 10)
    follows(visit, SHORT + 10)
    visit.page.locator(".chat").evaluate("(each) => { each.scrollTop -= 200; }")
    visit.settle()
    read = visit.run(READ)
    talk.grow(SHORT + 20)
    visit.page.wait_for_selector(f"article:has-text('Line {SHORT + 19} of a talk')")
    visit.settle()
    assert visit.run(READ) == read


def test_the_end_of_what_is_read_so_far_is_not_followed(live: Server, look: Look, talk: Talk) -> None:
    """A long session that does not grow is read window by window, in the order of its turns."""
    talk.grow(FULL)
    visit = read_from(look, live, 0)
    last = int(visit.page.locator("article.turn").count()) - 1
    visit.run(TO_THE_END)
    visit.page.wait_for_selector(f"article:has-text('Line {last + 1} of a talk')")
    visit.settle()
    assert int(visit.run(READ)[0][-12:], 16) - 100 <= last


def test_a_page_that_follows_a_session_levels_off(live: Server, look: Look, talk: Talk) -> None:
    visit = at_the_end(look, live)
    sizes = []
    for end in (FULL, 2 * FULL, 3 * FULL):
        talk.grow(*range(end - FULL + 60, end + 1, 60))
        follows(visit, end)
        sizes.append(kept(visit))
    assert sizes[1]["elements"] == sizes[2]["elements"]
    for name in ("nodes", "jsEventListeners"):
        assert sizes[2][name] < 1.1 * sizes[1][name], sizes


def test_a_slow_page_catches_up_with_a_session_that_grows_all_the_time(live: Server, look: Look, talk: Talk) -> None:
    """`look` also checks that the console stays empty."""
    visit = at_the_end(look, live)
    tools = visit.page.context.new_cdp_session(visit.page)
    tools.send("Emulation.setCPUThrottlingRate", {"rate": BUSY})
    writer = Thread(target=talk.grow, args=range(SHORT + 8, FULL + 1, 8))
    writer.start()
    writer.join()
    follows(visit, FULL)
    tools.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    tools.detach()
