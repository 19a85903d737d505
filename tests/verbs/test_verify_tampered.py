"""Every table, every column: what somebody changes in the database is found by verify, alone or with the newest seal.

The cases are made from the schema. The table of what is found how is written into docs/verify.md; with RECORD_GOLDEN=1
this test writes it.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from slicebase import Slicebase
from slicebase.core.hashing import raw_digest
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.turn import Edge, Session
from slicebase.truth.chains import linked
from slicebase.truth.schema import CHAINS, SCHEMA
from slicebase.verbs.verify import Verdict
from tests.conversations import SESSION, annotate, chain, name, store, turn
from tests.paths import PROJECT
from tests.verbs.test_verify import without_triggers

PAGE = PROJECT / "docs" / "verify.md"
BEGIN, END = "<!-- tampering: begin -->\n", "<!-- tampering: end -->\n"


def fill(folder: Path) -> None:
    """Makes a workspace in which every table has at least two rows, and seals it."""
    with Slicebase.init(folder) as memory:
        truth = memory.truth
        first = turn("a", text="the lock file is stale, so that nobody can write")
        store(truth, [first, turn("b", "a"), turn("c"), turn("d", "b")])
        truth.turns.add(SESSION, [turn("orphan", "nobody"), turn("lost", "no-one")], annotate)
        truth.turns.add(Session("big", "test", "A large session"), chain(5, "big"), annotate)
        truth.turns.link([Edge(name("c"), name("d"), "reference"), Edge(name("a"), name("c"), "reference")])
        for nodes in (7, 8):
            memory.policies.save(f"of-{nodes}", SlicePolicyV1(max_nodes=nodes))
        memory.context("the lock file")
        memory.context("nobody can write")
        runs = memory.runs
        for run in ("r", "r2"):
            runs.start(run, "Find the cause.", "The cause is known.")
            for n in (1, 2):
                with runs.step(run) as step:
                    step.plan("look")
                    step.log("ACT_DONE", output=f"{run} {n} " * 20_000)
                    step.claim(f"It is stale {n}.", cite=(f"turn:{name('a')}", "stale" if n == 1 else "lock file"))
                runs.compact(run)
        runs.narrative("r")
        memory.purge(f"turn:{name('d')}", reason="a test")
        memory.purge(f"turn:{name('b')}")
        memory.seal()


class Copy(NamedTuple):
    """A copy of the filled workspace."""

    root: Path

    @property
    def database(self) -> Path:
        return self.root / ".slicebase" / "slicebase.db"

    def verify(self, *, with_seal: bool) -> Verdict:
        seals = [path for path in (self.root / ".slices").iterdir() if b"slicebase: seal" in path.read_bytes()]
        assert seals
        hidden = [] if with_seal else [(path, path.rename(path.with_suffix(".hidden"))) for path in seals]
        try:
            with Slicebase.open(self.root) as memory:
                return memory.verify()
        finally:
            for path, away in hidden:
                away.rename(path)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    root = tmp_path_factory.mktemp("filled")
    fill(root)
    shutil.rmtree(root / ".slicebase" / "cache")  # the index is a witness of its own
    return Copy(root)


# Tampering, made from the schema


class Tampering(NamedTuple):
    """A change that somebody makes with another program, and what it is called in the table of the page."""

    table: str
    what: str
    make: Callable[[apsw.Connection], None]

    @property
    def id(self) -> str:
        return f"{self.table}: {self.what}"


def tables() -> dict[str, list[tuple[str, str]]]:
    """Returns the tables of the schema, each with the names and types of its columns."""
    connection = apsw.Connection(":memory:")
    connection.execute(SCHEMA)
    names = [str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {
        name: [(str(row[1]), str(row[2])) for row in connection.execute(f"PRAGMA table_info({name})")] for name in names
    }


def key_of(table: str) -> list[str]:
    """Returns the columns that name a row."""
    keys = {"texts": ["owner", "hash"], "waiting": ["parent", "child"], "shapes": ["number"], "runs": ["run"],
            "nodes": ["session", "seq"],
            "families": ["session", "parent", "phase", "negated", "turn"], "steps": ["run", "step"],
            "items": ["run", "type", "key"]}  # fmt: skip
    owner = CHAINS.get(table)
    return keys.get(table) or ([owner, "seq"] if owner else ["seq"])


def other(value: Any) -> Any:
    """Returns another value of the same type."""
    if isinstance(value, bytes):
        middle = len(value) // 2
        return value[:middle] + bytes([value[middle] ^ 1]) + value[middle + 1 :] if value else b"x"
    if isinstance(value, str):
        return value[:-1] + chr(ord(value[-1]) ^ 1) if value else "x"
    return "2026-01-01T00:00:00.000Z by hand" if value is None else value + 1000


def change(table: str, column: str, order: str) -> Callable[[apsw.Connection], None]:
    def make(connection: apsw.Connection) -> None:
        keys = key_of(table)
        rows = f"{table} ORDER BY {', '.join(f'{key} {order}' for key in keys)} LIMIT 1"
        values = next(connection.execute(f"SELECT {column}, {', '.join(keys)} FROM {rows}"))
        where = " AND ".join(f"{key} = ?" for key in keys)
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (other(values[0]), *values[1:]))

    return make


def remove(table: str, which: str) -> Callable[[apsw.Connection], None]:
    keys = ", ".join(key_of(table))

    def make(connection: apsw.Connection) -> None:
        order = ", ".join(f"{key} DESC" for key in key_of(table)) if which == "last" else keys
        limit = "" if which == "all" else "LIMIT 1"
        connection.execute(
            f"DELETE FROM {table} WHERE ({keys}) IN (SELECT {keys} FROM {table} ORDER BY {order} {limit})"
        )

    return make


def swap(table: str, columns: list[str]) -> Callable[[apsw.Connection], None]:
    """Exchanges everything but the names of the first two rows; of a table that has nothing else, one name."""
    keys = key_of(table)
    rest = [column for column in columns if column not in keys] or columns[-1:]

    def make(connection: apsw.Connection) -> None:
        rows = list(
            connection.execute(f"SELECT {', '.join([*keys, *rest])} FROM {table} ORDER BY {', '.join(keys)} LIMIT 2")
        )
        one, two = ((row[: len(keys)], row[len(keys) :]) for row in rows)
        where = " AND ".join(f"{key} = ?" for key in keys)
        connection.execute(f"DELETE FROM {table} WHERE ({where}) OR ({where})", (*one[0], *two[0]))
        marks = ", ".join("?" * len(columns))
        for key, values in ((one[0], two[1]), (two[0], one[1])):
            row = dict(zip([*keys, *rest], (*key, *values), strict=False))
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", [row[column] for column in columns])

    return make


def tamperings() -> Iterator[Tampering]:
    for table, columns in tables().items():
        for column, _ in columns:
            yield Tampering(table, f"{column} of the first row changed", change(table, column, "ASC"))
            yield Tampering(table, f"{column} of the last row changed", change(table, column, "DESC"))
        for which in ("first", "last", "all"):
            yield Tampering(table, f"{which} removed", remove(table, which))
        yield Tampering(table, "two swapped", swap(table, [name for name, _ in columns]))
        yield Tampering(table, "a row added", added(table, [name for name, _ in columns]))
    for table in CHAINS:
        if table not in ("events", "log"):
            yield Tampering(table, "last row changed, and hashed again", hashed_again(table))
        if table != "log":
            yield Tampering(table, "last chain removed, and its log too", forgotten(table))


def added(table: str, columns: list[str]) -> Callable[[apsw.Connection], None]:
    """Adds a copy of the last row under another name. A text has the hash that it should have."""
    key = key_of(table)[-1]

    def make(connection: apsw.Connection) -> None:
        whole = "WHERE bytes IS NOT NULL AND purged IS NULL" if table == "texts" else ""
        order = ", ".join(f"{each} DESC" for each in key_of(table))
        row = dict(
            zip(
                columns,
                next(connection.execute(f"SELECT * FROM {table} {whole} ORDER BY {order} LIMIT 1")),
                strict=True,
            )
        )
        row |= {"bytes": row["bytes"] + b" "} if table == "texts" else {}
        row[key] = (
            raw_digest(row["bytes"])
            if table == "texts"
            else row[key] + 1
            if key in ("seq", "step")
            else other(row[key])
        )
        unique = {
            "shapes": "session",
            "policies": "policy",
            "policy_names": "name",
            "manifests": "manifest",
            "evidence": "evidence",
            "blobs": "run",
        }.get(table)
        row |= {unique: other(row[unique])} if unique else {}
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", list(row.values()))

    return make


def hashed_again(table: str) -> Callable[[apsw.Connection], None]:
    """Changes the record of the last row, and gives it the hash that it should have."""

    def make(connection: apsw.Connection) -> None:
        owner = CHAINS[table]
        order = f"{owner} DESC, seq DESC" if owner else "seq DESC"
        row = next(connection.execute(f"SELECT * FROM {table} ORDER BY {order} LIMIT 1"))
        first = 2 if owner else 1
        where = f"WHERE {owner} = ? AND" if owner else "WHERE"
        chain = row[:1] if owner else ()
        before = connection.execute(
            f"SELECT hash FROM {table} {where} seq = ?", (*chain, row[first - 1] - 1)
        ).fetchone()
        values = (*row[first:-2], other(row[-2]))
        column = tables()[table][-2][0]
        connection.execute(
            f"UPDATE {table} SET {column} = ?, hash = ? {where} seq = ?",
            (values[-1], linked(before[0] if before else b"", *values), *chain, row[first - 1]),
        )

    return make


def forgotten(table: str) -> Callable[[apsw.Connection], None]:
    """Removes the last chain of a table as if it had never been: its rows, and what the log says after it."""

    def make(connection: apsw.Connection) -> None:
        owner = CHAINS[table]
        name = next(connection.execute(f"SELECT max({owner}) FROM {table}"))[0] if owner else ""
        connection.execute(f"DELETE FROM {table}" + (f" WHERE {owner} = ?" if owner else ""), (name,) if owner else ())
        chain = f"{table}/{name}" if owner else table
        connection.execute("DELETE FROM log WHERE seq >= (SELECT min(seq) FROM log WHERE chain = ?)", (chain,))

    return make


KINDS = {
    "changed": "a value changed",
    "first removed": "first row removed",
    "last removed": "last row removed",
    "all removed": "all rows removed",
    "two swapped": "two rows swapped",
    "a row added": "a row added",
    "hashed again": "last row hashed again",
    "its log too": "a chain and its log removed",
}


def tampered(filled: Copy, folder: Path, tampering: Tampering) -> Copy:
    """Returns a copy of the workspace, changed like by someone who opens the file and switches the triggers off."""
    root = folder / "copy"
    if root.exists():
        shutil.rmtree(root)
    shutil.copytree(filled.root, root)
    with without_triggers(Copy(root).database) as connection:
        before = connection.total_changes()
        connection.execute("PRAGMA ignore_check_constraints = ON")
        tampering.make(connection)
        assert connection.total_changes() > before, f"{tampering.id} changed nothing"
    return Copy(root)


def finder(filled: Copy, folder: Path, tampering: Tampering) -> str:
    """Returns who finds the tampering: verify alone, or verify with the newest seal."""
    copy = tampered(filled, folder, tampering)
    if copy.verify(with_seal=False).status == "BROKEN":
        return "verify"
    return "seal" if copy.verify(with_seal=True).status == "BROKEN" else "nobody"


@pytest.mark.parametrize("table", tables())
def test_every_tampering_of_a_table_is_found(filled: Copy, table: str, tmp_path: Path) -> None:
    by = {each.what: finder(filled, tmp_path, each) for each in tamperings() if each.table == table}
    assert [what for what, who in by.items() if who == "nobody"] == []
    cells = [_cell({what: who for what, who in by.items() if what.endswith(kind)}) for kind in KINDS]
    compare_row(table, f"| `{table}` | {' | '.join(cells)} |")


def _cell(by: dict[str, str]) -> str:
    """Returns who finds tamperings of a kind; where that differs, also which ones only the seal shows."""
    if len(set(by.values())) < 2:
        return next(iter(by.values()), "–")
    by_seal = sorted({f"`{what.split()[0]}`" for what, who in by.items() if who == "seal"})
    return f"verify; {', '.join(by_seal)}: seal"


def compare_row(table: str, row: str) -> None:
    """Compares a row of the table on the page; with RECORD_GOLDEN, writes it."""
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    rows, after = rest.split(END)
    lines = {line.split("`")[1]: line for line in rows.splitlines() if line.startswith("| `")}
    if os.environ.get("RECORD_GOLDEN"):
        lines[table] = row
        head = ["| table | " + " | ".join(KINDS.values()) + " |", "|---" * (len(KINDS) + 1) + "|"]
        body = [lines[name] for name in tables() if name in lines]
        PAGE.write_text(before + BEGIN + "\n".join([*head, *body]) + "\n" + END + after)
    else:
        assert lines.get(table) == row


def test_an_untouched_copy_is_verified(filled: Copy) -> None:
    for with_seal in (False, True):
        assert filled.verify(with_seal=with_seal).status == "VERIFIED"
