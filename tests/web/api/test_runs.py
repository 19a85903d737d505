"""Runs over HTTP: at a glance, as a time line, event by event, as documents. Nothing is written."""

from itertools import count
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from starlette.testclient import TestClient

from slicebase import Slicebase
from slicebase.core.hashing import digest

ODD = "odd#id?&%é\"x'"


@pytest.fixture
def runs(root: Path) -> None:
    """Two runs, of which one has an odd id."""
    ticks = count(1_800_000_000)
    with Slicebase.open(root, clock=lambda: next(ticks)) as memory:
        memory.runs.start("build", "Fix the build.", "It builds.", budgets={"max_steps": 20})
        for number in range(1, 5):
            with memory.runs.step("build") as step:
                step.plan(f"plan {number}")
                step.act("make", tool="bash")
                step.observe(f"output {number}" if number > 1 else "long " * 2000)
        memory.runs.claim("build", "It is slow.")
        memory.runs.compact("build")
        memory.runs.start(ODD, "An odd id.", "Done.")


def test_runs_are_listed_page_by_page(client: TestClient, runs: None) -> None:
    first = client.get("/api/v1/runs", params={"limit": "1"}).json()
    rest = client.get("/api/v1/runs", params={"limit": "1", "cursor": first["next"]}).json()
    assert [row["run"] for row in (*first["runs"], *rest["runs"])] == [ODD, "build"]
    assert rest["runs"][0]["objective"] == "Fix the build."


def test_an_odd_id_is_found(client: TestClient, runs: None) -> None:
    for part in ("", "/status", "/timeline", "/steps", "/events", "/events/1", "/claims", "/snapshots", "/report"):
        answer = client.get(f"/api/v1/runs/{quote(ODD, safe='')}{part}")
        assert answer.status_code == 200, (part, answer.json())


def test_the_status_is_the_one_of_the_verb(client: TestClient, runs: None, root: Path) -> None:
    found = client.get("/api/v1/runs/build/status").json()
    with Slicebase.open(root) as memory:
        assert found == msgspec.json.decode(msgspec.json.encode(memory.runs.status("build")))
    glance = client.get("/api/v1/runs/build").json()
    assert {name: glance[name] for name in ("events", "spent", "claims")} == {
        name: found[name] for name in ("events", "spent", "claims")
    }


def test_the_time_line_has_every_event(client: TestClient, runs: None) -> None:
    found = client.get("/api/v1/runs/build/timeline").json()
    assert sum(each["count"] for bar in found["bars"] for each in bar["segments"]) == found["events"]
    seen: list[int] = []
    while not seen or seen[-1] < found["events"]:
        part = client.get("/api/v1/runs/build/steps", params={"after": seen[-1] if seen else 0, "limit": 7}).json()
        seen += [event["seq"] for step in part["steps"] for event in step["events"]]
    assert seen == list(range(1, found["events"] + 1))


def test_without_a_place_the_last_events_are_listed(client: TestClient, runs: None) -> None:
    found = client.get("/api/v1/runs/build/steps", params={"limit": 3}).json()
    assert (found["last"], found["first"]) == (found["events"], found["events"] - 2)
    assert found["steps"][-1]["events"][-1]["type"] == "SNAPSHOT"


def test_an_event_has_its_neighbours_in_the_chain(client: TestClient, runs: None) -> None:
    found = client.get("/api/v1/runs/build/events/3").json()
    assert found["event"]["prev"] == found["before"]["hash"]
    assert found["after"]["prev"] == found["event"]["hash"] == found["event"]["derived_hash"]
    assert found["event"]["payload"] == {"text": "plan 1"}
    first = client.get("/api/v1/runs/build/events/1").json()
    assert (first["before"], first["event"]["prev"]) == (None, None)


def test_events_are_listed_in_order(client: TestClient, runs: None, root: Path) -> None:
    found = client.get("/api/v1/runs/build/events", params={"limit": 4}).json()
    more = client.get("/api/v1/runs/build/events", params={"limit": 500, "after": found["next"]}).json()
    with Slicebase.open(root) as memory:
        assert [event["hash"] for event in (*found["events"], *more["events"])] == [
            event.hash for event in memory.runs.events("build")
        ]


def test_content_is_read_in_parts_by_its_hash(client: TestClient, root: Path, runs: None) -> None:
    data = ("words " * 100).encode()
    with Slicebase.open(root) as memory:
        memory.runs.log("build", [{"type": "NOTE", "payload": {"blob": digest(data)}}], blobs={digest(data): data})
    found = client.get(f"/api/v1/runs/build/blobs/{digest(data)}", params={"start": 6, "limit": 5}).json()
    assert (found["text"], found["bytes"], found["length"]) == ("words", 600, 600)


def test_the_narrative_and_the_report_are_markdown_and_no_file_is_written(
    client: TestClient, runs: None, root: Path
) -> None:
    before = sorted(root.rglob("*.slice"))
    for name in ("narrative", "report"):
        assert client.get(f"/api/v1/runs/build/{name}").json()["markdown"].startswith("# ")
    assert sorted(root.rglob("*.slice")) == before


def test_who_wrote_an_event_is_found(client: TestClient, root: Path, runs: None) -> None:
    with Slicebase.open(root) as memory, memory.truth.runs.log.signing({"client": "a test"}):
        memory.runs.claim("build", "Signed.")
        seq = memory.truth.runs.log.tally("build").seq
    found = client.get(f"/api/v1/runs/build/events/{seq - 1}").json()
    assert found["signature"]["payload"]["client"] == "a test"


def test_what_is_not_there_is_an_error(client: TestClient, runs: None) -> None:
    for place, code in [
        ("nothing", "no-run"),
        ("nothing/timeline", "no-run"),
        ("nothing/steps", "no-run"),
        ("nothing/snapshots", "no-run"),
        ("build/events/999", "no-item"),
        ("build/events/0", "no-item"),
        ("build/blobs/sha256:00", "no-blob"),
        (f"{quote(ODD, safe='')}/narrative", "no-snapshot"),
    ]:
        answer = client.get(f"/api/v1/runs/{place}")
        assert (answer.status_code, answer.json().get("code")) == (404, code), place


def test_a_purged_run_can_still_be_listed_and_its_chain_be_seen(client: TestClient, runs: None, root: Path) -> None:
    with Slicebase.open(root) as memory:
        memory.purge("run:build")
    assert {row["run"]: row["problem"] for row in client.get("/api/v1/runs").json()["runs"]}["build"] == "purged"
    lines = client.get("/api/v1/runs/build/steps").json()["steps"]
    assert all(event["is_purged"] for step in lines for event in step["events"])
    event = client.get("/api/v1/runs/build/events/3").json()["event"]
    assert (event["payload"], event["hash"]) == (None, event["derived_hash"])
