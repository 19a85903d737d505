"""Every text is named by a record; one that somebody put into the database is found."""

from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.core.hashing import raw_digest
from slicebase.graph.turn import Session
from tests.conversations import annotate, name, turn
from tests.verbs.test_verify import without_triggers

OWNERS = [
    "session:s",
    "session:none",
    "run:r",
    "run:none",
    "manifest:{mf}",
    "manifest:none",
    "file:{file}",
    "doc:x",
    "x",
]


def fill(root: Path) -> dict[str, str]:
    """Creates a workspace with every kind of text, and returns the ids that owners name."""
    with Slicebase.init(root) as memory:
        memory.truth.turns.add(Session("s", "test", "A title"), [turn("a", text="the lock is stale")], annotate)
        page = memory.library.create("Notes", "About locks.", body="# Lock\n\nThe lock file is old.\n")
        memory.runs.start("r", "Find it.", "Found.")
        memory.runs.claim("r", "It is stale.", cite=(f"turn:{name('a')}", "stale"))
        memory.runs.claim("r", "It is old.", cite=(f"file:{page.id}", "lock file is old"))
        memory.runs.compact("r")
        context = memory.context("lock file", run="r")
        return {"mf": context.id, "file": page.id}


@pytest.mark.parametrize("owner", OWNERS)
def test_a_text_that_no_record_names_is_broken_whoever_it_is_said_to_belong_to(tmp_path: Path, owner: str) -> None:
    names = fill(tmp_path)
    with Slicebase.open(tmp_path) as memory:
        assert memory.verify().status == "VERIFIED"
        database = memory.workspace.database
    added = b'{"text":"put here by hand"}'
    with without_triggers(database) as connection:
        row = (owner.format(**names), raw_digest(added), added)
        connection.execute("INSERT INTO texts (owner, hash, bytes) VALUES (?, ?, ?)", row)
    with Slicebase.open(tmp_path) as memory:
        broken = [finding.check for finding in memory.verify().findings if finding.status == "BROKEN"]
    assert broken == ["text-unnamed"]


@pytest.mark.parametrize("table", ["shapes", "nodes", "families"])
def test_a_derived_row_of_a_session_that_does_not_exist_is_broken(tmp_path: Path, table: str) -> None:
    fill(tmp_path)
    values = {
        "shapes": "99, 'none', 0",
        "nodes": "99, 1, x'00', 0, 0, NULL, NULL, NULL, x''",
        "families": "99, 1, 0, 0.0, x'00', 2, 0",
    }[table]
    with without_triggers(tmp_path / ".slicebase" / "slicebase.db") as connection:
        connection.execute(f"INSERT INTO {table} VALUES ({values})")
    with Slicebase.open(tmp_path) as memory:
        assert [finding.check for finding in memory.verify().findings if finding.status == "BROKEN"] == ["derived"]
