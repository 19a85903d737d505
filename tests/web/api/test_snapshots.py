"""Snapshots over HTTP: the checks of the gate, and the difference between two."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from slicebase import Slicebase
from slicebase.errors import SlicebaseError


@pytest.fixture
def names(root: Path) -> list[str]:
    """The ids of three snapshots of the run `r`, of which the last has failed."""
    with Slicebase.open(root) as memory:
        memory.runs.start("r", "Objective", "Done")
        memory.runs.claim("r", "One.")
        memory.runs.question("r", "Who?")
        memory.runs.compact("r")
        memory.runs.claim("r", id="c1", status="retracted")
        memory.runs.claim("r", "Two.")
        memory.runs.question("r", "Who?", close=True)
        memory.runs.compact("r")
        bad = {"claim_id": "c9", "statement": "Nothing says so.", "status": "verified"}
        memory.runs.log("r", [{"type": "CLAIM", "payload": bad}, {"type": "QUESTION", "payload": {"question": 5}}])
        with pytest.raises(SlicebaseError):
            memory.runs.compact("r")
        return [name for name, _ in reversed(memory.truth.runs.snapshots.newest_first("r", 9))]


def test_snapshots_are_listed_the_newest_first_page_by_page(client: TestClient, names: list[str]) -> None:
    first = client.get("/api/v1/runs/r/snapshots", params={"limit": 2}).json()
    rest = client.get("/api/v1/runs/r/snapshots", params={"limit": 2, "cursor": first["next"]}).json()
    found = [*first["snapshots"], *rest["snapshots"]]
    assert [each["snapshot_id"] for each in found] == names[::-1]
    assert [each["status"] for each in found] == ["FAIL", "PASS", "PASS"]
    assert rest["next"] is None


def test_a_snapshot_that_failed_says_which_checks(client: TestClient, names: list[str]) -> None:
    found = client.get(f"/api/v1/snapshots/{names[2]}").json()
    failed = {check["name"] for check in found["validation"]["checks"] if check["status"] == "FAIL"}
    assert "verified_claims_cited" in failed
    assert (found["validation"]["status"], found["before"], found["after"]) == ("FAIL", names[1], None)
    assert found["sizes"]["claims"] == 3


def test_the_items_of_a_snapshot_are_those_of_its_time(client: TestClient, names: list[str]) -> None:
    for name, count in zip(names, (1, 2, 3), strict=True):
        assert len(client.get(f"/api/v1/snapshots/{name}/claims").json()["claims"]) == count
    assert client.get(f"/api/v1/snapshots/{names[0]}/questions").json()["questions"] == ["Who?"]
    assert client.get(f"/api/v1/snapshots/{names[2]}/questions").json()["questions"] == ["5"]


def test_the_difference_between_two_snapshots(client: TestClient, names: list[str]) -> None:
    found = client.get(f"/api/v1/snapshots/{names[0]}/diff/{names[1]}").json()
    assert [claim["statement"] for claim in found["claims"]["added"]] == ["Two."]
    (changed,) = found["claims"]["changed"]
    assert (changed["before"]["status"], changed["after"]["status"]) == ("candidate", "retracted")
    assert changed["fields"] == ["status"]
    assert found["open_questions"]["gone"] == ["Who?"]
    assert found["claims"]["counts"] == {"added": 1, "changed": 1, "gone": 0, "same": 0}


def test_the_other_way_round_what_was_added_is_gone(client: TestClient, names: list[str]) -> None:
    found = client.get(f"/api/v1/snapshots/{names[1]}/diff/{names[0]}").json()
    assert [claim["statement"] for claim in found["claims"]["gone"]] == ["Two."]
    assert found["open_questions"]["added"] == ["Who?"]


def test_a_snapshot_that_is_not_there_is_an_error(client: TestClient, names: list[str]) -> None:
    none = "sn_" + "0" * 32
    for place in (none, f"{none}/claims", f"{none}/diff/{names[0]}", f"{names[0]}/diff/{none}"):
        answer = client.get(f"/api/v1/snapshots/{place}")
        assert (answer.status_code, answer.json()["code"]) == (404, "no-snapshot"), place
