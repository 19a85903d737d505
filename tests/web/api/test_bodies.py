"""The bodies of slice files over HTTP, window by window."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from slicebase import Slicebase
from slicebase.library import texts
from slicebase.workspace.workspace import Workspace, open_workspace
from tests.library.samples import put, rows
from tests.web.api.test_files import ok, refused

TEXT = "# Keys\n\nA key.\n\n## Rotation\n\nIt rotates 𝄞 on each use.\n\n## End\n\nNothing more.\n"


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return open_workspace(root, root)


def cited(root: Path, quote: str) -> tuple[str, int, int]:
    with Slicebase.open(root) as memory:
        ref = memory.search("rotates").files.hits[0].found[0].ref
        evidence = memory.cite(ref, quote)
        return evidence.chunk_id, evidence.span.start, evidence.span.end


def test_a_text_comes_in_windows(client: TestClient, workspace: Workspace) -> None:
    put(workspace, "page", TEXT)
    first = ok(client, "/files/page/body", size=30)
    assert (first["start"], first["line"], first["total"]) == (0, 1, len(TEXT))
    assert [each["title"] for each in first["headings"]] == ["Keys", "Rotation", "End"]
    second = ok(client, "/files/page/body", start=first["end"])
    assert first["text"] + second["text"] == TEXT


def test_an_outline_has_the_first_sections_and_says_how_many_there_are(
    client: TestClient, workspace: Workspace
) -> None:
    put(workspace, "page", "Intro.\n\n" + "".join(f"## Part {number}\n\nText.\n\n" for number in range(250)))
    found = ok(client, "/files/page/body")
    assert (len(found["headings"]), found["sections"]) == (200, 250)


def test_the_windows_of_a_text_parse_its_sections_once(client: TestClient, workspace: Workspace) -> None:
    put(workspace, "page", "".join(f"## Part {number}\n\nText.\n\n" for number in range(250)))
    before, start = texts.kept_sections.cache_info().misses, 0
    for _ in range(9):
        start = ok(client, "/files/page/body", start=start, size=200)["end"]
    assert texts.kept_sections.cache_info().misses == before + 1
    put(workspace, "page", "# Another text\n")
    assert [each["title"] for each in ok(client, "/files/page/body")["headings"]] == ["Another text"]


def test_the_cited_place_of_a_text_is_found(client: TestClient, workspace: Workspace, root: Path) -> None:
    put(workspace, "page", TEXT)
    ref, start, end = cited(root, "𝄞 on each use")
    found = ok(client, "/files/page/body", at=ref, span_start=start, span_end=end)
    place = found["at"]
    assert place["state"] == "same"
    assert found["start"] == place["start"]
    assert TEXT[place["span_start"] : place["span_end"]] == "𝄞 on each use"
    put(workspace, "page", TEXT.replace("A key.", "A new key."))
    assert ok(client, "/files/page/body", at=ref)["at"]["state"] == "drifted"
    put(workspace, "page", "Other.\n")
    assert ok(client, "/files/page/body", at=ref)["at"]["state"] == "gone"


def test_a_note_is_shown_as_it_is_now(client: TestClient, workspace: Workspace, root: Path) -> None:
    (root / "docs").mkdir()
    (root / "docs" / "heron.md").write_text("# Heron\n\nIt waits.\n")
    with Slicebase.open(root) as memory:
        memory.library.add(root / "docs")
        (note,) = memory.finder.list_files()
    assert ok(client, f"/files/{note.id}")["path"] == "docs/heron.md"
    assert "It waits." in ok(client, f"/files/{note.id}/body")["text"]
    (root / "docs" / "heron.md").unlink()
    gone = ok(client, f"/files/{note.id}/body")
    assert gone["text"] == ""
    assert gone["problem"]


def test_rows_come_with_what_they_replaced(client: TestClient, workspace: Workspace) -> None:
    body = rows(
        {"id": "a", "text": "one"}, {"id": "b", "text": "two", "supersedes": ["a"]},
        {"id": "c", "text": "three", "n": 3, "supersedes": ["a"]}, {"id": "d", "text": "x" * 5000},
    )  # fmt: skip
    put(workspace, "log", body, type="jsonl")
    found = ok(client, "/files/log/rows", limit=1)
    assert (found["total"], found["rows"], found["active"], found["forks"]) == (2, 4, 3, 1)
    (long,) = found["groups"][0]["current"]
    assert (len(long["fields"][0]["value"]), long["fields"][0]["characters"]) == (600, 5000)
    (forked,) = ok(client, "/files/log/rows", limit=1, cursor=found["next"])["groups"]
    assert [row["id"] for row in forked["current"]] == ["c", "b"]
    assert [(row["id"], row["holds"]) for row in forked["former"]] == [("a", False)]
    assert {"name": "n", "value": "3", "is_text": False, "characters": 1} in forked["current"][0]["fields"]


def test_one_row_is_read_in_windows_with_its_history(client: TestClient, workspace: Workspace) -> None:
    text = "y" * 1_000_000
    put(
        workspace,
        "log",
        rows({"id": "a", "text": "one"}, {"id": "b/c", "text": text, "supersedes": ["a"]}),
        type="jsonl",
    )
    found = ok(client, "/files/log/rows/b%2Fc", size=100)
    assert (found["text"], found["end"], found["total"]) == ("y" * 100, 100, 1_000_000)
    assert len(found["json"]) < found["json_characters"]
    assert [row["id"] for row in found["group"]["former"]] == ["a"]
    assert refused(client, "/files/log/rows/nothing") == (404, "no-row")
    assert refused(client, "/files/log/rows", cursor="YWJj") == (400, "bad-cursor")


def lines(*given: Any) -> str:
    return "".join(json.dumps(each) + "\n" for each in given)


def test_a_conversation_is_read_page_by_page(client: TestClient, workspace: Workspace) -> None:
    said = [{"role": "user", "content": f"{number}"} for number in range(5)]
    put(workspace, "talk", lines(*said) + "no line\n", type="conversation")
    texts, cursor, unreadable = [], "", 0
    while True:
        page = ok(client, "/files/talk/conversation", limit=2, cursor=cursor)
        texts += [each["text"] for each in page["entries"]]
        unreadable += page["unreadable"]
        if page["next"] is None:
            break
        cursor = page["next"]
    assert (texts, unreadable) == (["0", "1", "2", "3", "4"], 1)


def test_the_steps_of_a_routine_are_in_order(client: TestClient, workspace: Workspace) -> None:
    put(workspace, "page", "text")
    steps = [{"instruction": "Look.", "requirements": "eyes"}, {"read": "page"}, {"run": "make", "args": {"n": 1}}]
    put(workspace, "routine", lines(*steps), type="routine")
    found = ok(client, "/files/routine/routine")["steps"]
    assert [(each["kind"], each["what"], each["title"]) for each in found] == [
        ("instruction", "Look.", None), ("read", "page", "Title of page"), ("run", "make", None),
    ]  # fmt: skip
    assert found[2]["args"] == '{"n":1}'
    assert refused(client, "/files/page/routine") == (422, "write-mode")


def test_what_was_purged_is_gone(client: TestClient, workspace: Workspace, root: Path) -> None:
    put(workspace, "page", "a name")
    with Slicebase.open(root) as memory:
        memory.library.purge("page", reason="a name in it")
    assert ok(client, "/files/page")["purged_by"]["reason"] == "a name in it"
    assert refused(client, "/files/page/body") == (410, "purged")
