"""Context slices over HTTP: the exact export, and a slice as it is drawn on a tree."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from slicebase.base import Slicebase
from slicebase.graph.select import explain
from slicebase.verbs import drawn as verbs_drawn

LONG = "c41f0a52-6b7d-4c1e-9f58-7d0e2a93b610"


@pytest.fixture
def anchor(client: TestClient) -> str:
    turn: str = client.get(f"/api/v1/trees/{LONG}?first=40&limit=1").json()["rows"][0]["turn"]
    return turn


def test_a_slice_is_the_export_byte_for_byte(client: TestClient, root: Path, anchor: str) -> None:
    answer = client.get(f"/api/v1/slices/{anchor}?max_nodes=5&synthesis=0.5")
    with Slicebase.open(root) as base:
        policy = base.graph.policy("default", ["max_nodes=5", "phase_weights.synthesis=0.5"])
        found = base.graph.select(anchor, policy)
    assert answer.content == found.export
    assert (answer.headers["slice-id"], answer.headers["etag"]) == (found.slice_id, f'"{found.export_hash}"')


def test_a_drawn_slice_has_the_selection_its_hashes_and_the_reasons_of_the_rows(
    client: TestClient, root: Path, anchor: str
) -> None:
    drawn = client.get(f"/api/v1/slices/{anchor[:8]}/drawn?max_nodes=8&first=20&limit=60").json()
    rows = {row["turn"]: row for row in client.get(f"/api/v1/trees/{LONG}?limit=500").json()["rows"]}
    with Slicebase.open(root) as base:
        policy = base.graph.policy("default", ["max_nodes=8"])
        found = base.graph.select(anchor, policy)
        with base.truth.sessions.around(anchor) as graph:
            complete = explain(graph, anchor, policy, most=len(rows))
    assert (drawn["slice_id"], drawn["export_hash"]) == (found.slice_id, found.export_hash)
    assert drawn["policy"] == f"slice_policy_v1:{found.policy_params_hash}"
    assert [each["turn"] for each in drawn["selected"]] == [each.turn_id for each in complete.selected]
    assert all(rows[each["turn"]]["number"] == each["number"] for each in drawn["selected"])
    assert all(rows[each["turn"]]["phase"] == each["phase"] for each in drawn["selected"])
    expected = {c.turn_id: r for c, r in complete.left_out if 20 <= rows[c.turn_id]["number"] < 80}
    assert {each["turn"]: each["reason"] for each in drawn["left_out"]} == expected
    assert drawn["command"] == f"tt slice {anchor} --set max_nodes=8"


def test_a_large_slice_lists_the_turns_in_sight_and_marks_the_others(
    client: TestClient, root: Path, anchor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verbs_drawn, "MOST_SELECTED", 5)
    monkeypatch.setattr(verbs_drawn, "MOST_MARKS", 20)
    drawn = client.get(f"/api/v1/slices/{anchor}/drawn?max_nodes=50&max_radius=40&first=30&limit=8").json()
    with Slicebase.open(root) as base:
        policy = base.graph.policy("default", ["max_nodes=50", "max_radius=40"])
        whole = base.graph.select(anchor, policy)
        with base.truth.sessions.around(anchor) as graph:
            complete = explain(graph, anchor, policy, most=1).selected
    rows = {row["turn"]: row for row in client.get(f"/api/v1/trees/{LONG}?limit=500").json()["rows"]}
    places = [(rows[each.turn_id]["number"], each) for each in complete]
    full = [each.turn_id for at, (number, each) in enumerate(places) if at < 5 or 30 <= number < 38]
    others = [(number, each) for number, each in places if each.turn_id not in full]
    assert (drawn["slice_id"], drawn["turns"]) == (whole.slice_id, len(complete))
    assert [each["turn"] for each in drawn["selected"]] == full
    marks = [(number, drawn["marked_phases"][phase], distance) for number, phase, distance in drawn["marks"]]
    assert marks == [(number, rows[each.turn_id]["phase"], each.distance) for number, each in others[:20]]
    assert drawn["more"] == len(others) - 20 > 0


def test_a_policy_is_chosen_by_its_name_and_changed(client: TestClient, anchor: str) -> None:
    focused = client.get(f"/api/v1/slices/{anchor}/drawn?policy=focused").json()
    changed = client.get(
        f"/api/v1/slices/{anchor}/drawn?policy=focused&include_siblings=false&distance_decay=0.5"
    ).json()
    assert focused["policy"] != changed["policy"]
    assert changed["parameters"]["distance_decay"] == 0.5
    assert changed["command"].endswith("--policy focused --set distance_decay=0.5 --set include_siblings=false")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("max_nodes=0", "out-of-range"),
        ("policy=none", "unknown-policy"),
        ("max_nodes=x", "bad-arguments"),
        ("first=-1", "bad-arguments"),
    ],
)
def test_what_does_not_fit_is_refused(client: TestClient, anchor: str, query: str, code: str) -> None:
    answer = client.get(f"/api/v1/slices/{anchor}/drawn?{query}")
    assert 400 <= answer.status_code < 500
    assert answer.json()["code"] == code


def test_the_presets_are_listed(client: TestClient) -> None:
    listed = client.get("/api/v1/policies").json()["policies"]
    assert {"default", "focused", "broad"} <= {name for each in listed for name in each["names"]}
