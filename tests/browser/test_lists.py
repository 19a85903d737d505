"""Lists say where they end, and what is done about the rest."""

from pathlib import Path

from tests.browser.conftest import Look
from tests.browser.memories import opened
from tests.browser.servers import Server


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
