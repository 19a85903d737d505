"""One damaged record hides no other session: the others are listed, and what must be complete names the broken one."""

import json
import sqlite3
import subprocess
import sys
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.errors import Exit, SlicebaseError
from tests.web.conftest import client_of

BROKEN = "5b0c7c1e-3d52-4f0e-9a86-2f7b1d0c64aa"
WHOLE = "c41f0a52-6b7d-4c1e-9f58-7d0e2a93b610"
_FLIPPED = "substr({0}, 1, length({0}) / 2) || x'00' || substr({0}, length({0}) / 2 + 2)"
DAMAGES = {
    "turn": f"UPDATE turns SET record = CAST({_FLIPPED.format('record')} AS BLOB) WHERE session = ?",
    "session": f"UPDATE sessions SET record = CAST({_FLIPPED.format('record')} AS BLOB) WHERE session = ?",
}


@pytest.fixture(params=["turn", "session"])
def damaged(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str, list[tuple[int, bytes]]]:
    """A workspace with two sessions, of which one has a damaged record; its table, and what was there before."""
    with Slicebase.init(tmp_path) as memory, as_file(files("slicebase") / "samples") as samples:
        memory.import_([samples / "claude-code-session.jsonl", samples / "long-session.jsonl"])
    with sqlite3.connect(tmp_path / ".slicebase/slicebase.db") as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        table = f"{request.param}s"
        was = connection.execute(f"SELECT rowid, record FROM {table} WHERE session = ?", (BROKEN,)).fetchall()
        connection.execute(DAMAGES[request.param], (BROKEN,))
    for each in (tmp_path / ".slicebase/cache").glob("turns*"):
        each.unlink()
    return tmp_path, table, was


def test_the_others_are_listed_and_the_broken_one_is_marked(damaged: tuple[Path, str, object]) -> None:
    root, *_ = damaged
    with Slicebase.open(root) as memory:
        found = {each.id: each for each in memory.graph.sessions()}
    assert found.keys() == {BROKEN, WHOLE}
    assert found[BROKEN].problem
    assert found[WHOLE].problem is None
    assert found[WHOLE].prompt
    with client_of(root) as client:
        rows = {each["session"]: each for each in client.get("/api/v1/sessions").json()["rows"]}
    assert (bool(rows[BROKEN]["problem"]), rows[WHOLE]["problem"]) == (True, None)


def test_the_command_lists_the_others_names_the_broken_one_and_is_refused(damaged: tuple[Path, str, object]) -> None:
    root, *_ = damaged
    command = [sys.executable, "-m", "slicebase", "--root", str(root), "turns", "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == Exit.REFUSED
    assert {each["session"] for each in json.loads(ended.stdout)["rows"]} == {BROKEN, WHOLE}
    assert f"session:{BROKEN}" in ended.stderr
    assert f"session:{WHOLE}" not in ended.stderr


@pytest.mark.parametrize("damaged", ["turn"], indirect=True)  # the turns of the other can be read
def test_a_context_never_silently_lacks_a_session(damaged: tuple[Path, str, list[tuple[int, bytes]]]) -> None:
    root, table, was = damaged
    with Slicebase.open(root) as memory:
        for ask in (lambda: memory.context("webhook", 600, record=False), lambda: memory.graph.search("webhook")):
            with pytest.raises(SlicebaseError) as caught:
                ask()
            assert (caught.value.code, f"session:{BROKEN}" in str(caught.value)) == ("broken-record", True)
    with sqlite3.connect(root / ".slicebase/slicebase.db") as connection:
        connection.executemany(f"UPDATE {table} SET record = ? WHERE rowid = ?", [(old, row) for row, old in was])
    with Slicebase.open(root) as memory:  # what was stored was put back
        assert memory.graph.search("webhook")
        assert not [each.problem for each in memory.graph.sessions() if each.problem]
