"""What needs a look is told completely: an old run, a refused one and a damaged one do not vanish behind newer ones."""

import sqlite3
from itertools import count
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from slicebase import Slicebase
from slicebase.errors import SlicebaseError


def test_what_is_open_in_an_old_run_is_told_however_many_are_newer(client: TestClient, root: Path) -> None:
    with Slicebase.open(root) as memory:
        memory.runs.start("old", "Look at me.", "Done.")
        memory.runs.question("old", "Which one?")
        memory.runs.question("old", "And then?")
        memory.runs.question("old", "And then?", close=True)
        memory.runs.failure("old", "It broke.", id="f1")
        memory.runs.failure("old", "It broke again.", id="f2")
        memory.runs.failure("old", id="f2", resolve=True)
        turn = "turn:0961d9aa"
        memory.runs.conflict("old", "A or B?", id="k1", a=(turn, "without regard"), b=(turn, "upper case"))
        for number in range(20):
            memory.runs.start(f"new-{number}", "Nothing open.", "Done.")
    found = client.get("/api/v1/attention").json()
    assert (found["open_total"], found["refused_total"], found["unreadable_total"]) == (1, 0, 0)
    [run] = found["open"]
    assert (run["run"], run["conflicts"], run["questions"], run["failures"]) == ("old", 1, 1, 1)
    summary = client.get("/api/v1/runs/old").json()
    assert (summary["conflicts"]["open"], summary["questions"], summary["failures"]["open"]) == (1, 1, 1)


def test_a_stopped_run_has_nothing_open_and_a_refused_one_is_told(client: TestClient, root: Path) -> None:
    with Slicebase.open(root) as memory:
        memory.runs.start("ended", "Stop me.", "Done.")
        memory.runs.question("ended", "Which one?")
        memory.runs.stop("ended", "HUMAN_REQUESTED")
        memory.runs.start("refused", "Refuse me.", "Done.")
        memory.runs.log("refused", [{"type": "CLAIM", "payload": {"claim_id": "c", "status": "verified"}}])
        with pytest.raises(SlicebaseError, match="did not pass"):
            memory.runs.compact("refused")
    found = client.get("/api/v1/attention").json()
    assert [each["run"] for each in found["refused"]] == ["refused"]
    assert (found["open"], found["unreadable"]) == ([], [])


def test_a_run_that_cannot_be_read_is_told_with_the_reason(client: TestClient, root: Path) -> None:
    with Slicebase.open(root) as memory:
        for name in ("terms", "lost", "changed", "fine"):
            memory.runs.start(name, "Damage me.", "Done.")
            memory.runs.question(name, "Which one?")
            memory.runs.compact(name)
        database = memory.workspace.database
    with sqlite3.connect(database) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE events SET record = x'00' WHERE run = 'terms' AND seq = 1")
        connection.execute("DELETE FROM snapshots WHERE run = 'lost'")
        connection.execute(
            "UPDATE texts SET bytes = CAST('{}' AS BLOB) WHERE owner = 'run:changed' AND instr(bytes, 'snapshot_id')"
        )
    found = client.get("/api/v1/attention").json()
    assert {each["run"] for each in found["unreadable"]} == {"terms", "lost", "changed"}
    assert all(each["problem"] for each in found["unreadable"])
    assert [each["run"] for each in found["open"]] == ["fine"]


def test_a_purged_run_needs_no_look(client: TestClient, root: Path) -> None:
    with Slicebase.open(root) as memory:
        memory.runs.start("secret", "Forget me.", "Done.")
        memory.runs.question("secret", "Which one?")
        memory.runs.compact("secret")
        memory.purge("run:secret", reason="private")
    assert client.get("/api/v1/attention").json()["unreadable"] == []


def test_lists_are_cut_and_say_how_many_there_are(client: TestClient, root: Path) -> None:
    seconds = count(1_772_000_000)  # runs that changed in the same millisecond are in the order of their names
    with Slicebase.open(root, clock=lambda: next(seconds)) as memory:
        for number in range(4):
            memory.runs.start(f"r{number}", "Ask.", "Done.")
            memory.runs.question(f"r{number}", "Which one?")
    found = client.get("/api/v1/attention", params={"limit": 3}).json()
    assert ([each["run"] for each in found["open"]], found["open_total"]) == (["r3", "r2", "r1"], 4)
