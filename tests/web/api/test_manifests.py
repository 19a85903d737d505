"""Recorded contexts over HTTP: listed, replayed, asked again, compared."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from slicebase import Slicebase


@pytest.fixture
def names(root: Path) -> list[str]:
    """The ids of three recorded contexts, in the order in which they were recorded."""
    with Slicebase.open(root) as memory:
        questions = ("how are discount codes compared?", "which rules are there for money?")
        found = [memory.context(each, 600).id for each in questions]
        return [*found, memory.context(questions[0], 1500).id]


def test_manifests_are_listed_the_newest_first_page_by_page(client: TestClient, names: list[str]) -> None:
    first = client.get("/api/v1/manifests", params={"limit": "2"}).json()
    rest = client.get("/api/v1/manifests", params={"limit": "2", "cursor": first["next"]}).json()
    assert [row["manifest_id"] for row in (*first["manifests"], *rest["manifests"])] == names[::-1]
    assert rest["next"] is None
    assert first["manifests"][0]["pieces"] > 0
    assert first["manifests"][0]["tokens_used"] <= first["manifests"][0]["budget"] == 1500


def test_a_cursor_of_somebody_else_is_an_error(client: TestClient, names: list[str]) -> None:
    for cursor in ("x", "eHg", "LTE"):
        answer = client.get("/api/v1/manifests", params={"cursor": cursor})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad-cursor")


def test_a_manifest_is_replayed_byte_for_byte(client: TestClient, names: list[str], root: Path) -> None:
    shown = client.get(f"/api/v1/manifests/{names[0][:11]}").json()
    found = client.get(f"/api/v1/manifests/{names[0]}/replay").json()
    with Slicebase.open(root) as memory:
        assert found["text"] == memory.replay(names[0]).text
    assert (shown["manifest_id"], found["status"], found["identical"]) == (names[0], "IDENTICAL", True)
    assert len(found["at"]) == len(shown["manifest"]["pieces"])
    assert all(found["at"])


def test_a_purged_piece_is_said(client: TestClient, names: list[str], root: Path) -> None:
    with Slicebase.open(root) as memory:
        ref = memory.manifest(names[0]).pieces[0].ref
        memory.purge(ref)
    found = client.get(f"/api/v1/manifests/{names[0]}/replay").json()
    assert (found["status"], found["identical"]) == ("PURGED", False)
    assert ref in {problem["ref"] for problem in found["problems"]}
    assert None in found["at"]


def test_a_question_asked_again_of_the_same_memory_has_no_difference(client: TestClient, names: list[str]) -> None:
    found = client.get(f"/api/v1/manifests/{names[0]}/again").json()
    assert (found["before"], found["changes"], found["recorded"]) == (names[0], [], False)
    assert {piece["change"] for piece in found["pieces"]} == {"same"}
    assert len(client.get("/api/v1/manifests").json()["manifests"]) == 3


def test_two_manifests_side_by_side(client: TestClient, names: list[str]) -> None:
    found = client.get(f"/api/v1/manifests/{names[0]}/diff/{names[2]}").json()
    changes = {piece["change"] for piece in found["pieces"]}
    assert "added" in changes
    assert all(piece["before"] is None for piece in found["pieces"] if piece["change"] == "added")
    assert {(each["change"], each["ref"]) for each in found["changes"]} == {
        (piece["change"], piece["ref"]) for piece in found["pieces"] if piece["change"] != "same"
    }


def test_a_manifest_that_is_not_there_is_an_error(client: TestClient) -> None:
    for place in ("mf_" + "0" * 32, "mf_" + "0" * 32 + "/replay", "mf_" + "0" * 32 + "/again"):
        answer = client.get(f"/api/v1/manifests/{place}")
        assert (answer.status_code, answer.json()["code"]) == (404, "no-manifest"), answer.json()
    assert client.get("/api/v1/manifests/nothing").json()["code"] == "bad-reference"
