"""Slice files over HTTP: lists, search, and what is known about one."""

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from slicebase import Slicebase
from slicebase.core.times import to_text
from slicebase.workspace.workspace import Workspace, open_workspace
from tests.library.samples import put, rows
from tests.web.conftest import client_of

DAY = 86_400_000


@pytest.fixture
def library(root: Path) -> Workspace:
    workspace = open_workspace(root, root)
    with Slicebase.open(root) as memory:
        now = memory.surroundings.now()

    def ago(days: int) -> str:
        return to_text(now - days * DAY)

    put(workspace, "guide", "# Keys\n\nA heron waits.\n", updated_at=ago(1), meta={"owner": "payments"},
        contract={"purpose": "What holds.", "exclude": ["notes"]},
        links=[{"rel": "routes_to", "to": "log", "label": "notes"}])  # fmt: skip
    put(workspace, "log", rows({"id": "a", "text": "The heron is grey."}), type="jsonl", updated_at=ago(60))
    put(workspace, "old", "A heron of old.", updated_at=ago(400), archived={"at": ago(2), "reason": "no more"})
    put(workspace, "summary", "Short.", updated_at=ago(200), derived_from={"id": "guide", "hash": "sha256:" + "0" * 64})
    (workspace.library / "broken.slice").write_text("---\nslice: [\n---\n")
    return workspace


def ok(client: TestClient, path: str, **params: Any) -> Any:
    answer = client.get(f"/api/v1{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(found: Any) -> list[str]:
    return [each["id"] for each in found["files"]]


def refused(client: TestClient, path: str, **params: Any) -> tuple[int, str]:
    answer = client.get(f"/api/v1{path}", params=params)
    return answer.status_code, answer.json()["code"]


def test_files_are_listed_page_by_page(client: TestClient, library: Workspace) -> None:
    first = ok(client, "/files", limit=2)
    assert ids(first) == ["guide", "log"]
    assert (first["total"], first["unreadable"]) == (3, 1)
    second = ok(client, "/files", limit=2, cursor=first["next"])
    assert (ids(second), second["next"]) == (["summary"], None)
    assert ids(ok(client, "/files", order="oldest")) == ["summary", "log", "guide"]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"type": "jsonl"}, ["log"]),
        ({"meta": "owner=payments"}, ["guide"]),
        ({"rel": "routes_to"}, ["guide"]),
        ({"fresher_than": "30d"}, ["guide"]),
        ({"label": "FRESH"}, ["guide"]),
        ({"label": "AGING"}, ["log"]),
        ({"label": "DECAYED"}, ["summary"]),
        ({"archived": "true"}, ["guide", "log", "summary", "old"]),
    ],
)
def test_filters_narrow_the_list(
    client: TestClient, library: Workspace, params: dict[str, str], expected: list[str]
) -> None:
    assert ids(ok(client, "/files", **params)) == expected


def test_bad_filters_and_cursors_are_refused(client: TestClient, library: Workspace) -> None:
    assert refused(client, "/files", meta="owner") == (400, "bad-arguments")
    assert refused(client, "/files", fresher_than="soon") == (400, "bad-arguments")
    assert refused(client, "/files", order="size") == (400, "bad-arguments")
    assert refused(client, "/files", cursor="***") == (400, "bad-cursor")
    assert refused(client, "/files", cursor="e30") == (400, "bad-cursor")


def test_a_search_finds_files_and_turns_with_marks_in_code_points(client: TestClient, library: Workspace) -> None:
    found = ok(client, "/search", q="heron")
    assert {each["id"] for each in found["files"]} == {"guide", "log"}
    for hit in found["files"]:
        for passage in hit["passages"]:
            assert [passage["text"][start:end].lower() for start, end in passage["marks"]] == ["heron"]
    turns = ok(client, "/search", q="webhook role:user")
    assert turns["sessions"]
    for turn in turns["sessions"][0]["turns"]:
        assert turn["role"] == "user"
        assert any("webhook" in turn["snippet"][start:end].lower() for start, end in turn["marks"])


def test_a_search_that_finds_nothing_says_what_to_try(client: TestClient, library: Workspace) -> None:
    found = ok(client, "/search", q="heronn kind:file")
    assert (found["files"], found["sessions"]) == ([], [])
    assert found["hints"]
    assert refused(client, "/search", q="role:nobody")[0] == 422
    assert refused(client, "/search", q="") == (400, "bad-arguments")


def test_a_search_says_when_nothing_has_all_words(client: TestClient, library: Workspace) -> None:
    assert ok(client, "/search", q="heron zeppelin")["partial"]


def test_a_file_says_what_it_is(client: TestClient, library: Workspace) -> None:
    guide = ok(client, "/files/guide")
    assert guide["contract"]["exclude"] == [{"topic": "notes", "to": "log", "title": "Title of log"}]
    assert guide["meta"] == {"owner": "payments"}
    assert (guide["ref"], guide["reasons"]) == ("file:guide", [])
    summary = ok(client, "/files/summary")
    assert summary["freshness"]["derivation"] == "stale"
    assert summary["derived_from"]["title"] == "Title of guide"
    assert [why["reason"] for why in summary["reasons"]] == ["source-changed", "age"]
    assert ok(client, "/files/old")["archived_by"]["reason"] == "no more"


def test_a_file_that_is_not_there_or_cannot_be_read_is_an_error(client: TestClient, library: Workspace) -> None:
    assert refused(client, "/files/nothing") == (404, "no-file")
    status, code = refused(client, "/files/broken")
    assert status < 500
    assert code == "yaml-syntax"


def test_the_findings_of_a_file_are_asked_for_apart(client: TestClient, library: Workspace) -> None:
    rules = {each["rule"] for each in ok(client, "/files/guide/findings")["findings"]}
    assert "id-ulid" in rules


def test_a_search_that_needs_another_way_to_match_finds_what_was_written_since_the_last_one(root: Path) -> None:
    with client_of(root) as client, Slicebase.open(root) as memory:
        asked = "/api/v1/search?q=quokka+zyzzyvas"  # no file has both words
        assert client.get(asked).json()["total"] == 0
        memory.library.create("A quokka", "It smiles.")
        found = client.get(asked).json()
        assert (found["partial"], [each["title"] for each in found["files"]]) == (True, ["A quokka"])


def test_a_search_in_one_session_lists_as_many_of_its_turns_as_were_asked_for(client: TestClient) -> None:
    (several,) = [each for each in ok(client, "/search", q="code")["sessions"] if each["more"]][:1]
    named = f"code session:{several['ref'].removeprefix('session:')}"
    (alone,) = ok(client, "/search", q=named, limit=100)["sessions"]
    assert len(alone["turns"]) == len(several["turns"]) + several["more"]
    assert alone["more"] == 0
    assert len(ok(client, "/search", q=named, limit=4)["sessions"][0]["turns"]) <= 4


def test_a_session_without_a_title_is_called_by_what_was_asked_in_it_first(client: TestClient) -> None:
    found = ok(client, "/search", q="code")["sessions"]
    assert {each["prompt"] for each in found if each["title"]} == {None}
    listed = {f"session:{each['session']}": each["prompt"] for each in ok(client, "/sessions")["rows"]}
    untitled = [each for each in found if not each["title"]]
    assert untitled
    assert all(listed[each["ref"]].startswith(each["prompt"][:40]) for each in untitled)
