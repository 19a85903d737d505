"""Policies and references over HTTP."""

from starlette.testclient import TestClient

TURN = "0961d9aa-a012-46c7-b376-16f70598151d"


def test_a_policy_is_shown_by_name_and_by_hash(client: TestClient) -> None:
    focused = client.get("/api/v1/policies/focused").json()
    assert focused["names"] == ["focused"]
    assert client.get(f"/api/v1/policies/{focused['id']}").json() == focused
    assert client.get("/api/v1/policies/nothing").json()["code"] == "unknown-policy"


def test_two_policies_are_compared(client: TestClient) -> None:
    found = client.get("/api/v1/policies/default/diff/focused").json()["differences"]
    assert {"parameter", "one", "other"} == found[0].keys()
    assert client.get("/api/v1/policies/default/diff/default").json() == {"differences": []}


def test_a_reference_shows_what_it_names(client: TestClient) -> None:
    shown = client.get("/api/v1/show", params={"reference": f"turn:{TURN[:8]}"}).json()
    assert TURN in str(shown)
    assert client.get("/api/v1/show", params={"reference": "ev_" + "0" * 32}).status_code == 404
