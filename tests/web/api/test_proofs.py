"""Checks over HTTP: what is stale, due or wrong, seals, reasons, and what is recalled."""

import json
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from slicebase import Slicebase
from slicebase.core.hashing import digest
from slicebase.workspace.workspace import Workspace, open_workspace
from tests.library.samples import put, rows
from tests.web.api.test_files import ok, refused

TURN = "turn:0961d9aa-a012-46c7-b376-16f70598151d"


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return open_workspace(root, root)


def test_stale_files_say_why(client: TestClient, workspace: Workspace) -> None:
    put(workspace, "old", updated_at="2020-01-01T00:00:00.000Z")
    put(workspace, "older", updated_at="2019-01-01T00:00:00.000Z")
    first = ok(client, "/stale", limit=1)
    assert (first["total"], first["counts"]) == (2, {"age": 2})
    second = ok(client, "/stale", limit=1, cursor=first["next"])
    names = [each["id"] for page in (first, second) for each in page["files"]]
    assert sorted(names) == ["old", "older"]
    assert second["next"] is None
    assert refused(client, "/stale", cursor="bm90aGluZw") == (400, "bad-cursor")


def test_due_files_come_with_the_commands_that_do_the_work(client: TestClient, workspace: Workspace) -> None:
    contract = {"cleanup": "Summarize when over 1 entries."}
    put(workspace, "log", rows({"id": "a", "text": "1"}, {"id": "b", "text": "2"}), type="jsonl", contract=contract)
    (found,) = ok(client, "/due")["files"]
    assert (found["id"], found["reasons"][0]["rule"]) == ("log", "Summarize when over 1 entries")
    assert "tt due --done log" in found["commands"]


def test_validation_groups_what_it_finds(client: TestClient, workspace: Workspace) -> None:
    put(workspace, "page", links=[{"rel": "see_also", "to": "nothing"}])
    found = ok(client, "/validate")
    assert found["counts"]["files"] == 1
    assert found["rules"]["link-target"] == 1
    (finding,) = [each for each in found["findings"] if each["rule"] == "link-target"]
    assert (finding["file"], finding["severity"]) == (".slices/page.slice", "warning")


def test_the_doctor_complains_and_fixes_nothing(client: TestClient, workspace: Workspace) -> None:
    broken = workspace.library / "broken.slice"
    broken.write_text("---\nslice: [\n---\n")
    found = ok(client, "/doctor")
    assert found["total"] == len(found["complaints"])
    assert any("broken.slice" in each["place"] for each in found["complaints"])
    assert broken.exists()


def test_seals_are_listed_and_one_is_compared_in_full(client: TestClient, workspace: Workspace, root: Path) -> None:
    put(workspace, "page", "one")
    with Slicebase.open(root) as memory:
        first, second = memory.seal(), memory.seal()
    put(workspace, "page", "two")
    found = ok(client, "/seals", limit=1)
    assert [(each["id"], each["state"]) for each in found["seals"]] == [(second.id, "holds")]
    (older,) = ok(client, "/seals", limit=1, cursor=found["next"])["seals"]
    assert older["id"] == first.id
    full = ok(client, f"/seals/{first.id}")
    assert (full["state"], [each["place"] for each in full["findings"]]) == ("drifted", ["file:page"])
    assert refused(client, "/seals/page") == (404, "no-file")


def test_why_draws_a_claim_down_to_its_quote_and_back(client: TestClient, root: Path) -> None:
    with Slicebase.open(root) as memory:
        memory.runs.start("r", "Find out.", "Found.")
        with memory.runs.step("r") as step:
            step.claim("Codes are in upper case.", cite=(TURN, "upper case"))
    forward = ok(client, "/why", ref=TURN, forward="true")["nodes"]
    assert [node["kind"] for node in forward] == ["chunk", "evidence", "claim"]
    root_node, *others = ok(client, "/why", ref=forward[-1]["ref"])["nodes"]
    assert root_node["kind"] == "claim"
    evidence = next(node for node in others if node["kind"] == "evidence")
    assert evidence["text"] == "upper case"
    assert evidence["quote"]["chunk"] == TURN
    assert evidence["quote"]["end"] - evidence["quote"]["start"] == len("upper case")
    assert evidence["quote"]["hash"] == digest(b"upper case")
    chunk = others[-1]
    assert (chunk["kind"], chunk["ref"]) == ("chunk", TURN)
    assert [node["depth"] for node in (root_node, *others)] == [0, 1, 2]
    assert refused(client, "/why", ref="claim:r/nothing")[0] == 404
    assert refused(client, "/why", ref="nonsense")[0] in (400, 404)


def test_a_reference_is_recalled_page_by_page(client: TestClient) -> None:
    found = ok(client, "/recall", ref=TURN)
    (piece,) = found["pieces"]
    assert (piece["ref"], piece["span"]["start"], piece["whole"]) == (TURN, 0, True)
    assert refused(client, "/recall", ref=TURN, page=99)[0] in (400, 404)


def test_verify_and_atlas_have_an_answer_in_one_piece(client: TestClient, root: Path) -> None:
    verdict = ok(client, "/verify")
    assert (verdict["status"], verdict["checked"]["sessions"], verdict["findings"]) == ("VERIFIED", 2, [])
    found = ok(client, "/atlas", policy="focused", role="user", sample=20, limit=3)
    with Slicebase.open(root) as memory:
        policy = memory.graph.requested_policy("focused")
        made = memory.graph.atlas(None, policy, roles=["user"], sample=20).as_json(3)
        assert found == json.loads(msgspec.json.encode(made))
        file = memory.root / "policy.json"
    file.write_text('{"max_nodes": 3}')
    assert refused(client, "/atlas", policy=str(file))[1] == "unknown-policy"


def test_verify_says_what_it_checks_and_then_its_verdict(client: TestClient) -> None:
    events = [block.split("\n") for block in client.get("/api/v1/verify/progress").text.strip().split("\n\n")]
    names = [lines[0].removeprefix("event: ") for lines in events]
    assert names[-1] == "verdict"
    assert set(names[:-1]) == {"progress"}
    verdict = json.loads(events[-1][1].removeprefix("data: "))
    assert (verdict["status"], verdict["counts"], verdict["findings"]) == ("VERIFIED", {}, [])
    assert verdict["checked"]["sessions"] == 2
