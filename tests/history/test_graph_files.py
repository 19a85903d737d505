"""A graph file that is stored in batches leaves what one that is stored at once leaves: records, tables and account."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.graph import record as records
from slicebase.history import graph_files
from slicebase.history.account import Account
from slicebase.history.graph_files import import_graph
from slicebase.history.inputs import Input
from slicebase.importers.values import Options
from slicebase.truth.truth import Truth
from slicebase.verbs.verify import verify
from tests.amounts import MORE
from tests.cli.test_history_graph import edge, turn
from tests.graph.graphs import GOLDEN_GRAPHS
from tests.history.test_imports import fresh
from tests.kills import Killed
from tests.paths import GOLDEN

SECRET = "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyZ"
CHANGES: list[dict[str, Any]] = [{}, {"salience": 0.75}, {"content": "c"}]
# What a database has of graph files. The numbers that stand for sessions may differ.
TABLES = {
    "sessions": "*", "turns": "session, seq, turn, record, hash", "links": "*", "annotations": "*", "texts": "*",
    "waiting": "*", "shapes": "session, turns",
    "nodes JOIN shapes ON shapes.number = nodes.session": "shapes.session, nodes.*",
    "families JOIN shapes ON shapes.number = families.session": "shapes.session, families.*",
}  # fmt: skip


def kept(truth: Truth) -> dict[str, set[Any]]:
    found = {}
    for table, columns in TABLES.items():
        rows = truth.database.connection.execute(f"SELECT {columns} FROM {table}").fetchall()
        found[table] = {row if "JOIN" not in table else (row[0], *row[2:]) for row in rows}
    return found


def told(account: Account) -> dict[str, Any]:
    report = vars(account.report)
    errors = [(error.code, error.message, error.where) for error in account.unreadable]
    conflicts = sorted(account.conflicts)  # at once they come session by session
    return {**vars(account), "unreadable": errors, "report": report, "conflicts": conflicts}


def loaded(truth: Truth, data: bytes, *, in_batches: bool, size: int = 300) -> Account:
    def chunks() -> Iterator[bytes]:
        return (data[at : at + size] for at in range(0, len(data), size))

    account = Account()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_files, "IN_MEMORY", -1 if in_batches else len(data))
        for module in (records, graph_files):
            patch.setattr(module, "ANNOTATED_TURNS", 3)
        if in_batches:  # so that an error alone makes the other way necessary
            patch.setattr(graph_files, "_MOST_IN_MEMORY", len(data))
        import_graph(truth, Input("graph.json", len(data), True, chunks), account, Options())
    return account


@st.composite
def files(draw: st.DrawFn) -> list[bytes]:
    """Draws files of which each grows out of the one before: more turns, other annotations, another text."""
    count = draw(st.integers(1, 14))
    sessions = st.sampled_from(["s", "s", "t", "u"])
    turns = [
        turn(number, session_id=draw(sessions), content=draw(st.sampled_from(["a", "b", f"my key is {SECRET}"])))
        for number in draw(st.permutations(range(count)))
    ]
    pairs = st.tuples(st.integers(0, count), st.integers(1, 3), st.sampled_from(["reply", "reference", "default"]))
    edges = [edge(above, above + more, kind) for above, more, kind in draw(st.lists(pairs, max_size=14))]
    there = {each["id"] for each in turns}
    edges = [each for each in edges if {each["parent"], each["child"]} <= there or draw(st.integers(0, 9)) == 0]
    cut = draw(st.integers(0, count))
    early = {each["id"] for each in turns[:cut]}
    first = [each for each in edges if {each["parent"], each["child"]} <= early]
    changes = draw(st.sampled_from(CHANGES))
    later = [{**each, **(changes if draw(st.booleans()) else {})} for each in turns[draw(st.sampled_from([0, cut])) :]]
    return [
        json.dumps({"turns": turns[:cut], "edges": first}).encode(),
        json.dumps({"turns": later, "edges": edges}).encode(),
    ]


@settings(max_examples=40 * MORE, deadline=None)
@given(files(), st.sampled_from([50, 700, 100_000]))
def test_any_graph_file_in_batches_is_stored_as_at_once(drawn: list[bytes], size: int) -> None:
    with fresh() as (whole, _), fresh() as (parts, _):
        for data in drawn:
            assert told(loaded(whole, data, in_batches=False)) == told(loaded(parts, data, in_batches=True, size=size))
        expected, found = kept(whole), kept(parts)
        for table in TABLES.keys() - {"annotations"}:
            assert found[table] == expected[table]
        # Where a file both grows and annotates again, only the order of these two differs.
        assert len(found["annotations"]) >= len(expected["annotations"])
        assert verify(parts).status == "VERIFIED"
        assert SECRET.encode() not in b"".join(data for _, _, data in parts.texts.all())


@pytest.mark.parametrize("name", GOLDEN_GRAPHS)
def test_a_golden_graph_in_batches_is_stored_as_at_once(name: str) -> None:
    data = (GOLDEN / f"{name}.json").read_bytes()
    with fresh() as (whole, _), fresh() as (parts, _):
        assert told(loaded(whole, data, in_batches=False)) == told(loaded(parts, data, in_batches=True))
        assert kept(whole) == kept(parts)
        again = loaded(parts, data, in_batches=True)
        assert (again.added, again.edges, again.content_left_out) == (0, 0, 0)
        assert kept(whole) == kept(parts)


def long_file(count: int = 40, **last: Any) -> bytes:
    turns = [turn(number) for number in range(count)] + [turn(count, **last)]
    return json.dumps({"turns": turns, "edges": [edge(n, n + 1) for n in range(count)]}).encode()


@pytest.mark.parametrize(
    ("last", "code"), [({"salience": 2}, "out-of-range"), ({"session_id": f"s-{SECRET}"}, "holds-secret")]
)
def test_a_file_whose_last_turn_is_refused_leaves_nothing(last: dict[str, Any], code: str) -> None:
    with fresh() as (truth, _):
        before = kept(truth)
        account = loaded(truth, long_file(**last), in_batches=True)
        assert [error.code for error in account.unreadable] == [code]
        assert account.unreadable[0].where.file == "graph.json"
        assert (account.added, account.complete) == (0, [])
        assert kept(truth) == before


def test_a_process_that_is_killed_between_two_batches_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh() as (truth, _):
        before = kept(truth)
        added: list[Any] = []
        real = truth.turns.add

        def add(*given: Any) -> Any:
            if len(added) == 3:
                raise Killed
            added.append(real(*given))
            return added[-1]

        monkeypatch.setattr(truth.turns, "add", add)
        with pytest.raises(Killed):
            loaded(truth, long_file(), in_batches=True)
        assert kept(truth) == before
        monkeypatch.undo()
        assert loaded(truth, long_file(), in_batches=True).added == 41


def test_a_turn_that_a_stored_one_waits_for_is_stored_as_at_once(tmp_path: Path) -> None:
    """Then the file is read into memory: a cycle could go through what is stored."""
    with fresh() as (truth, _):
        connection = truth.database.connection
        loaded(truth, long_file(3), in_batches=True)
        connection.execute("INSERT INTO waiting VALUES (?, ?)", (bytes(16), bytes(15) + b"\x01"))
        other = json.dumps({"turns": [turn(9)], "edges": [edge(3, 9)]}).encode()
        assert loaded(truth, other, in_batches=True).edges == 1
