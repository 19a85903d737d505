"""Both databases keep and answer the same bytes."""

import os
from pathlib import Path
from typing import Any

import psycopg
import pytest

import slicebase
from bench.select import forest
from bench.store import load
from slicebase import Slicebase
from slicebase.truth.schema import CHAIN_COLUMNS, CHAINS
from slicebase.truth.stored_graph import StoredGraph
from slicebase.truth.transfer import Transfer
from slicebase.truth.truth import Truth
from slicebase.workspace.server import URL_VARIABLE
from tests.conversations import store, turn
from tests.truth.postgres.conftest import Open, counting, ticking

pytestmark = pytest.mark.postgres

SAMPLES = Path(slicebase.__path__[0]) / "samples"
QUESTIONS = ("what was decided about the limit", "retry webhooks", "which tests fail?", "ten-minute limit before:2027")
DERIVED = {
    "waiting": "parent, child",
    "shapes": "session, turns",
    "nodes": "seq, turn, time, kind, salience, fields, annotator, parents",
    "families": "parent, phase, negated, turn, seq, time",
    "runs": "run, seq, hash, started, updated, sequence, compacted, counted, steps, all_steps, cost, stopped",
    "steps": "run, step, last, begun, logged",
    "items": "run, type, key, number, stated, changed",
    "texts": "owner, hash, bytes, purged",
}


def filled(memory: Slicebase) -> dict[str, Any]:
    """Does what people do with a memory, and returns what it answered."""
    answers: dict[str, Any] = {}
    account = memory.import_([SAMPLES / "claude-code-session.jsonl", SAMPLES / "long-session.jsonl"])
    answers["imported"] = repr(account)
    log = memory.library.create("Decisions", "What was decided, and why.", type="jsonl")
    memory.library.remember(log.id, "The limit is 600 seconds.")
    turns = [turn for session in memory.truth.turns.counts() for turn in memory.truth.turns.of_session(session)]
    turns.sort(key=lambda stored: (stored.record.session, stored.seq))
    answers["slices"] = [memory.graph.select(stored.record.id).export for stored in turns[::3]]
    answers["bundle"] = memory.graph.bundle(turns[0].record.id).to_bytes()
    answers["contexts"] = [
        (built.id, built.text) for built in (memory.context(words, tokens=700) for words in QUESTIONS)
    ]
    answers["found"] = repr(memory.search("limit"))
    answers["lost"] = repr(memory.lost())
    quoted = turns[2].record.id
    words = " ".join((memory.graph.turn(quoted).text or "").split("\n")[0].split(" ")[:4])
    memory.policies.save("tight", "focused", ["max_nodes=8"])
    memory.runs.start("codes", "Why does the test fail?", done="The answer is cited.", budgets={"max_steps": 50})
    memory.runs.claim("codes", "It depends on the clock.", cite=(f"turn:{quoted}", words))
    memory.runs.log("codes", [{"type": "TOOL_CALLED", "payload": {"text": "x" * 60_000}}])
    memory.runs.compact("codes")
    memory.runs.question("codes", "Is it the clock?")
    answers["status"] = repr(memory.runs.status("codes"))
    answers["narrative"] = repr(memory.runs.narrative("codes"))
    answers["atlas"] = memory.graph.atlas(every=True).as_json(20)
    memory.purge(f"turn:{turns[5].record.id}", reason="asked to")
    answers["seal"] = repr(memory.seal())
    answers["verified"] = memory.verify()
    return answers


def rows(truth: Truth) -> dict[str, list[Any]]:
    """Returns all rows of the truth, but for the log, which SQLite writes for many transactions together."""
    tables = {**{table: CHAIN_COLUMNS[table] for table in CHAINS if table != "log"}, **DERIVED}
    return {
        table: sorted(map(repr, truth.database.connection.execute(f"SELECT {columns} FROM {table}")))
        for table, columns in tables.items()
    }


def test_the_same_history_has_the_same_rows_and_answers_in_both_databases(
    on_server: Open, in_file: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slicebase.truth.truth.home_digest", str)  # a server has no single user
    answers, stored = [], []
    first = int.from_bytes(os.urandom(8))
    for name, opened in (("server", on_server), ("file", in_file)):
        with opened(f"{name}/workspace", clock=ticking(), entropy=counting(first)) as memory:
            answers.append(filled(memory))
            stored.append(rows(memory.truth))
    for part, expected in answers[1].items():
        if part != "verified":
            assert answers[0][part] == expected, part
    for table, there in stored[1].items():
        assert stored[0][table] == there, table
    on, off = (found["verified"] for found in answers)
    assert (on.status, on.checked) == (off.status, off.checked)


def test_a_session_that_is_read_turn_by_turn_gives_the_same_slices(on_server: Open, in_file: Open) -> None:
    graph = forest(6_000)
    anchors = [row.id for row in graph.rows[::500]]
    found = []
    for opened in (on_server, in_file):
        with opened() as memory:
            load(memory.truth, graph)
            for anchor in anchors[:1]:
                with memory.truth.sessions.around(anchor) as session:
                    assert isinstance(session, StoredGraph)
            found.append([memory.graph.select(anchor).export for anchor in anchors])
    assert found[0] == found[1]


@pytest.mark.parametrize("to_server", [True, False])
def test_a_memory_moves_between_the_databases_with_all_ids_and_hashes(
    on_server: Open, in_file: Open, tmp_path: Path, to_server: bool
) -> None:
    source, target = (in_file, on_server) if to_server else (on_server, in_file)
    with source("old") as memory:
        filled(memory)
        memory.export_workspace(tmp_path / "export")
        before = Transfer(memory.truth.database).heads()
    with target("new") as memory:
        taken = memory.import_workspace(tmp_path / "export")
        assert taken.heads == taken.heads_there
        assert not taken.conflicts
        assert Transfer(memory.truth.database).heads() == before
        assert memory.verify().status == "VERIFIED"
        assert memory.import_workspace(tmp_path / "export").taken == ()


def test_settings_of_the_server_and_of_the_user_change_no_byte(
    on_server: Open, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An administrator may set for a role how numbers and bytes are written; a user, which characters a client has."""
    with on_server() as memory:
        load(memory.truth, forest(200))
        anchors = [row.id for row in forest(200).rows[::50]]
        expected = [memory.graph.select(anchor).export for anchor in anchors]
        root = memory.root
        store(memory.truth, [turn("named", session="größe-ж")])
        stored = rows(memory.truth)
    with psycopg.connect(server, autocommit=True) as administrator:
        administrator.execute("DROP ROLE IF EXISTS odd")
        administrator.execute("CREATE ROLE odd LOGIN IN ROLE slicebase_writer")
        for setting in ("extra_float_digits = -10", "bytea_output = 'escape'", "client_encoding = 'LATIN1'"):
            administrator.execute(f"ALTER ROLE odd SET {setting}")
    monkeypatch.setenv(URL_VARIABLE, server.replace("postgres:@", "odd@"))
    monkeypatch.setenv("PGCLIENTENCODING", "SQL_ASCII")
    with Slicebase.open(root) as memory:
        assert [memory.graph.select(anchor).export for anchor in anchors] == expected
        assert rows(memory.truth) == stored
        assert memory.verify().status == "VERIFIED"
