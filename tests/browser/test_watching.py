"""Who watches a page sees what comes, what is purged, and that nobody tells the page anything any more."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import Look
from tests.browser.memories import GROWING, growing, opened, turn_id
from tests.browser.servers import Server


@pytest.fixture
def live(tmp_path: Path) -> Iterator[tuple[Server, Path]]:
    root = tmp_path / "live"
    root.mkdir()
    with opened(root) as memory:
        memory.import_(growing(tmp_path / "talk.jsonl", range(4)))
        memory.runs.start("old", "Look at me.", done="It is done.")
        memory.runs.question("old", "Which one?")
        for number in range(8):
            memory.runs.start(f"new-{number}", "Nothing open.", done="It is done.")
    with Server(lambda: opened(root)) as server:
        yield server, root


def tt(root: Path, *arguments: str) -> None:
    """Another process writes: as an agent does."""
    subprocess.run([sys.executable, "-m", "slicebase", "--root", root, *arguments], check=True, capture_output=True)


def test_home_tells_what_is_open_in_an_old_run_and_what_comes(live: tuple[Server, Path], look: Look) -> None:
    server, root = live
    visit = look(server.url)
    look_at = visit.page.locator("section:has(#look)")
    assert "1 question" in look_at.inner_text()
    tt(root, "run", "failure", "new-3", "--category", "test", "--where", "a.py", "--why", "It broke.")
    visit.page.wait_for_selector("section:has(#look) >> text=1 failure")


def test_the_lists_of_a_run_grow_with_their_numbers(live: tuple[Server, Path], look: Look) -> None:
    server, root = live
    visit = look(f"{server.url}/run/old?tab=questions")
    assert "Which one?" in visit.text
    tt(root, "run", "question", "old", "And when?")
    visit.page.wait_for_selector(".items >> text=And when?")


def test_purged_words_leave_every_page(live: tuple[Server, Path], look: Look) -> None:
    server, root = live
    session = look(f"{server.url}/session/{GROWING}?turn={turn_id(103, GROWING)}")
    second = look(f"{server.url}/session/{GROWING}?turn={turn_id(103, GROWING)}")  # the first one holds the stream
    run = look(f"{server.url}/run/old?tab=questions")
    run.allowed = ("console: Failed to load resource: the server responded with a status of 410",)
    assert "Line 3 of a talk" in session.text
    tt(root, "purge", f"turn:{turn_id(103, GROWING)}", "--yes")
    for each in (session, second):
        each.page.wait_for_function("() => !document.querySelector('main').innerText.includes('Line 3 of a talk')")
    session.settle()
    assert "purged" in session.text
    tt(root, "purge", "run:old", "--yes")
    run.page.wait_for_function("() => !document.querySelector('main').innerText.includes('Which one?')")


def test_words_of_a_purged_file_leave_a_context_that_shows_them(live: tuple[Server, Path], look: Look) -> None:
    """No text of the database is of the file, so that only the library changes."""
    server, root = live
    tt(
        root,
        "create",
        "Zebras",
        "How zebras look.",
        "--id",
        "zebras",
        "--type",
        "text",
        "--body",
        "Stripes are secret.",
    )
    visit = look(f"{server.url}/context?q=how+do+zebras+look")
    assert "Stripes are secret." in visit.text
    tt(root, "purge", "file:zebras", "--yes")
    visit.page.wait_for_function("() => !document.querySelector('main').innerText.includes('Stripes are secret.')")


def test_new_files_and_rows_come_to_pages_of_the_library(live: tuple[Server, Path], look: Look) -> None:
    server, root = live
    library = look(f"{server.url}/library")
    tt(root, "create", "Rounding", "How totals are rounded.", "--id", "rounding", "--type", "jsonl")
    library.page.wait_for_selector("text=How totals are rounded.")
    file = look(f"{server.url}/file/rounding")
    tt(root, "remember", "rounding", "A total is rounded once.", "--new")
    file.page.wait_for_selector("table.rows >> text=A total is rounded once.")


def test_a_page_says_that_nobody_tells_it_what_changes_and_is_read_again_afterwards(
    live: tuple[Server, Path], look: Look
) -> None:
    server, root = live
    visit = look(f"{server.url}/session/{GROWING}")
    visit.allowed = ("console: Failed to load resource", "console: Fetch", "error: ")
    trouble = ".trouble:not(:empty)"
    assert visit.page.locator(trouble).count() == 0
    (root / ".slicebase").rename(root / "away")
    visit.page.wait_for_selector(f"{trouble} >> text=gone")
    runs = look(f"{server.url}/runs")
    runs.allowed = visit.allowed
    assert runs.page.locator(".problem").count() == 1
    runs.page.wait_for_selector(f"{trouble} >> text=gone")  # the first one was told before this one began
    (root / "away").rename(root / ".slicebase")
    runs.page.wait_for_selector("table.runs >> text=old")  # nobody pressed anything
    visit.page.wait_for_selector(trouble, state="detached")
    server.stop()
    visit.page.wait_for_selector(f"{trouble} >> text=The server does not answer.")
    voice = "(text) => document.getElementById('voice').textContent === text"
    visit.page.wait_for_function(voice, arg="The server does not answer.")
    server.start()
    visit.page.wait_for_selector(trouble, state="detached")
    visit.page.wait_for_function(voice, arg="What changes is shown again.")
