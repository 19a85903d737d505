"""Texts that are hard to read for a program: deep, wide or slow ones are shown as they are, and the page goes on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.browser.conftest import Look
from tests.browser.memories import opened, record, transcript, turn_id
from tests.browser.servers import Server

SESSION: Final = "7e878787-3333-4c3e-8b1d-5c2f9e6a7b04"
ARGUMENTS: Final[tuple[dict[str, Any], ...]] = (
    {"content": "first body", "file_path": 123},
    {"content": "second body", "path": ["a"]},
    {"content": "third body", "file_path": "names.constructor"},  # what every object of JavaScript has
    {"content": "fourth body", "file_path": {"lastIndexOf": 1}},
)
NESTED_CODE: Final = "`${" * 1900
TEXTS: Final = {
    "emphasis": "_a" * 20_000,
    "brackets": "![[" * 13_000,
    "quotes": "> " * 20_000,
    "lists": "1. " * 13_000,
    "nested code": f"```javascript\n{NESTED_CODE}\n```",
}
WIDE_TABLE: Final = "| a " * 3000 + "\n" + "|---" * 3000 + "\n" + "| b\n" * 3000


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, str]]]:
    root = tmp_path_factory.mktemp("hard")
    with opened(root) as memory:
        memory.import_(_session(root))
        texts = {**TEXTS, "table": WIDE_TABLE, "prose": "A *word* and a `name`.\n\n" * 1500}
        made = {
            name: memory.library.create(name, "A text.", type="markdown", body=f"{text}\n").id
            for name, text in texts.items()
        }
    with Server(lambda: opened(root)) as server:
        yield server, made


def _session(root: Path) -> Path:
    calls = [
        {"type": "tool_use", "id": f"t{number}", "name": "Write", "input": each}
        for number, each in enumerate(ARGUMENTS)
    ]
    contents: list[Any] = [[each] for each in calls] + [f"```javascript\n{NESTED_CODE}\n```", "The last turn."]
    records = [
        record(number, number - 1 if number > 1 else None, "assistant", content, session=SESSION)
        for number, content in enumerate(contents, 1)
    ]
    return transcript(root / f"{SESSION}.jsonl", records)


def test_arguments_of_any_type_and_deep_code_leave_the_chat_whole(
    look: Look, hard: tuple[Server, dict[str, str]]
) -> None:
    visit = look(f"{hard[0].url}/session/{SESSION}")
    assert visit.page.locator("article.turn").count() == len(ARGUMENTS) + 2
    visit.run("() => document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for arguments in ARGUMENTS:
        assert arguments["content"] in visit.text
    assert NESTED_CODE[:300] in visit.page.locator(f'[data-turn="{turn_id(5, SESSION)}"]').inner_text()


@pytest.mark.parametrize("name", TEXTS)
def test_markdown_that_takes_too_long_is_shown_as_it_is(
    look: Look, hard: tuple[Server, dict[str, str]], name: str
) -> None:
    server, files = hard
    visit = look(f"{server.url}/file/{files[name]}")
    assert TEXTS[name].splitlines()[-2 if name == "nested code" else 0][:60] in visit.page.inner_text(".content .plain")


def test_a_table_has_no_more_cells_than_a_page_can_show(look: Look, hard: tuple[Server, dict[str, str]]) -> None:
    server, files = hard
    visit = look(f"{server.url}/file/{files['table']}")
    assert visit.page.locator(".content td").count() == 0
    assert "| a | a" in visit.page.inner_text(".content")


def test_long_prose_is_still_markdown(look: Look, hard: tuple[Server, dict[str, str]]) -> None:
    server, files = hard
    visit = look(f"{server.url}/file/{files['prose']}")
    assert visit.page.locator(".content .markdown em").count() >= 1500
    assert visit.page.locator(".content .plain").count() == 0
