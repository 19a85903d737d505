"""The tables beside the logs of runs follow from the logs, also of what is left of a purged run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from slicebase import Slicebase
from tests.verbs.test_verify import without_triggers


@pytest.fixture(scope="module")
def purged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A workspace with two runs that were purged: one that is open, and one that has stopped."""
    root = tmp_path_factory.mktemp("purged")
    with Slicebase.init(root) as memory:
        for run in ("open", "stopped", "whole"):
            memory.runs.start(run, "o", "d", budgets={"max_steps": 50})
            memory.runs.claim(run, "It is.")
            for _ in range(2):
                with memory.runs.step(run) as step:
                    step.plan("look")
                    step.log("NOTE", cost=2.5)
            memory.runs.compact(run)
            memory.runs.begin_step(run)
            memory.runs.log(run, [{"type": "PLAN_DONE", "step": 3, "payload": {"text": f"{run} looks"}}])
        held = memory.truth.steps.begin("open", 0)
        memory.runs.log("open", [{"type": "ACT_DONE", "step": held.number}])
        memory.runs.stop("stopped", "HUMAN_REQUESTED")
        memory.purge("run:open", reason="a test")
        memory.purge("run:stopped", reason="a test")
        yield root
        del held


def status_after(root: Path, statement: str) -> str:
    """Returns what verify says after a change, which is undone."""
    database = root / ".slicebase" / "slicebase.db"
    if statement:
        with without_triggers(database) as connection:
            tables = {table: list(connection.execute(f"SELECT * FROM {table}")) for table in ("runs", "steps", "items")}
            before = connection.total_changes()
            connection.execute(statement)
            assert connection.total_changes() > before
    with Slicebase.open(root) as memory:
        status = memory.verify().status
    if statement:
        with without_triggers(database) as connection:
            for table, rows in tables.items():
                connection.execute(f"DELETE FROM {table}")
                for row in rows:
                    connection.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
    return status


def test_purged_runs_are_verified(purged: Path) -> None:
    assert status_after(purged, "") == "VERIFIED"


@pytest.mark.parametrize(
    "change",
    [
        *(f"seq = seq {sign} 1" for sign in "+-"),
        "hash = zeroblob(32)",
        "started = '2020-01-01T00:00:00.000Z'",
        "updated = '2020-01-01T00:00:00.000Z'",
        *(f"{name} = {name} + 9" for name in ("sequence", "compacted", "counted", "steps", "all_steps")),
        *(f"{name} = {name} - 1" for name in ("sequence", "compacted", "counted", "steps", "all_steps")),
        "cost = -1",
    ],
)
@pytest.mark.parametrize("run", ["open", "stopped", "whole"])
def test_a_changed_tally_is_found_also_in_a_purged_run(purged: Path, run: str, change: str) -> None:
    assert status_after(purged, f"UPDATE runs SET {change} WHERE run = '{run}'") == "BROKEN"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs SET stopped = 'HUMAN_REQUESTED' WHERE run = 'open'",
        "UPDATE runs SET stopped = NULL WHERE run = 'stopped'",
        "UPDATE runs SET cost = 4 WHERE run = 'whole'",
        "DELETE FROM runs WHERE run = 'open'",
        "UPDATE steps SET last = 1 WHERE run = 'open' AND step = 1",
        "UPDATE steps SET begun = 5 WHERE run = 'stopped' AND step = 1",
        "UPDATE steps SET begun = begun + 1 WHERE run = 'open' AND begun > 0",
        "UPDATE steps SET logged = 0 WHERE run = 'open' AND begun > 0",
        "UPDATE steps SET begun = 0, logged = 0 WHERE run = 'open' AND begun > 0",
        "UPDATE steps SET begun = 16, logged = 1 WHERE run = 'stopped' AND step = 3",
        "UPDATE steps SET logged = 1 WHERE run = 'whole' AND step = 1",
        "DELETE FROM steps WHERE run = 'stopped' AND step = 2",
        "INSERT INTO steps VALUES ('open', 500, 1, 0, 0)",
        "INSERT INTO items VALUES ('open', 'CLAIM', x'00', 1, 2, 0)",
        "INSERT INTO items VALUES ('whole', 'CLAIM', x'00', 2, 2, 0)",
        "INSERT INTO items VALUES ('ghost', 'CLAIM', x'00', 1000000, 1, 0)",
        "INSERT INTO steps VALUES ('ghost', 500, 1, 0, 0)",
        "INSERT INTO runs SELECT 'ghost', seq, hash, started, updated, sequence, compacted, counted, steps, all_steps,"
        " cost, stopped FROM runs WHERE run = 'whole'",
    ],
)
def test_a_changed_removed_or_added_row_is_found(purged: Path, statement: str) -> None:
    assert status_after(purged, statement) == "BROKEN"
