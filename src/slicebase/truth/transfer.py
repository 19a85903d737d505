"""What a database hands out to be moved: rows of chains by owner, texts by owner, tombstones, and the heads of all.

A session and a run are owners of chains. What is named by its content (policies and their names, evidence, blobs,
manifests) is shared by all: two databases that have united it have the same, in their own orders. Acts and the log
belong to the database itself and stay in it, but for the purges, which tombstones need.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

from slicebase.core.hashing import digest_of, raw_digest
from slicebase.errors import SlicebaseError
from slicebase.truth.acts import PURGE, PurgeRecord, read_act
from slicebase.truth.chains import Chain, head_of
from slicebase.truth.connection import DatabaseConnection
from slicebase.truth.database import Database
from slicebase.truth.failures import database_errors
from slicebase.truth.policies import read_policy_name
from slicebase.truth.schema import CHAINS, ROW_COLUMNS
from slicebase.truth.sqlite import SqliteDatabase
from slicebase.truth.texts import StoredText

# The chains of each kind of owner.
OWNED: Final[Mapping[str, tuple[str, ...]]] = {
    "session": ("sessions", "turns", "links", "annotations"),
    "run": ("events", "snapshots"),
}
# What is shared, in the order in which it can be taken: a name needs its policy.
SHARED: Final = ("policies", "policy_names", "evidence", "blobs", "manifests")
# The columns of their rows, between the number and the hash.
MOVED_COLUMNS: Final = {table: ROW_COLUMNS[table] for table in (*OWNED["session"], *OWNED["run"], *SHARED)}
_TEXT_HEADS: Final = "texts"  # with which the name of the head of an owner's texts begins

Heads = dict[str, tuple[int, str]]  # how many rows a chain has, or an owner texts, and a digest of them, by name


class MovedRow(NamedTuple):
    """A row of a chain: its number, its columns, and its hash."""

    seq: int
    values: tuple[Any, ...]
    hash: bytes


class MovedText(NamedTuple):
    """A text of an owner: its digest, and what is stored of it."""

    hash: bytes
    stored: StoredText


class MovedPurge(NamedTuple):
    """The purge of one text: when, of which owner, its digest and that of what is left, why, and what was named."""

    time: str
    owner: str
    text: str
    left: str | None
    reason: str
    what: str

    @property
    def mark(self) -> str:
        """What the tombstone says."""
        return f"{self.time} {self.reason}".strip()


class Transfer:
    """Reads what can be moved. Inside `reading`, it is one state of the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.reading = database.reading

    @property
    def _connection(self) -> DatabaseConnection:
        return self._database.connection

    def owners(self, kind: str) -> list[str]:
        """Returns the sessions or the runs that have rows, in the order of their names."""
        query = " UNION ".join(f"SELECT {CHAINS[table]} FROM {table}" for table in OWNED[kind])
        return [str(name) for (name,) in self._connection.execute(f"{query} ORDER BY 1")]

    def head(self, chain: Chain, at: int | None = None) -> tuple[int, bytes]:
        """Returns how many rows a chain has and the hash of the last one, or those of its first `at` rows."""
        return head_of(self._connection, chain, at)

    def rows(self, chain: Chain, after: int = 0) -> Iterator[MovedRow]:
        """Yields the rows of a chain with higher numbers than `after`."""
        owner = CHAINS[chain.table]
        where, values = (f"{owner} = ? AND", (chain.owner,)) if owner else ("", ())
        columns = ", ".join(MOVED_COLUMNS[chain.table])
        query = f"SELECT seq, {columns}, hash FROM {chain.table} WHERE {where} seq > ? ORDER BY seq"
        for row in self._connection.execute(query, (*values, after)):
            yield MovedRow(row[0], tuple(row[1:-1]), row[-1])

    def text_owners(self) -> list[str]:
        """Returns the owners of texts, in the order of their names."""
        return [str(owner) for (owner,) in self._connection.execute("SELECT DISTINCT owner FROM texts ORDER BY owner")]

    def texts(self, owner: str) -> Iterator[MovedText]:
        """Yields the texts of an owner in the order of their digests, tombstones included."""
        query = "SELECT hash, bytes, purged FROM texts WHERE owner = ? ORDER BY hash"
        for text_hash, data, purged in self._connection.execute(query, (owner,)):
            yield MovedText(text_hash, StoredText(data, purged))

    def purges(self) -> list[MovedPurge]:
        """Returns the purge that counts of each purged text, the last one, in the order of time."""
        rows: list[Any] = self._connection.execute(
            "SELECT seq, kind, record FROM acts WHERE kind = ? ORDER BY seq", (PURGE,)
        ).fetchall()
        found = {}
        for record in (read_act(*row).record for row in rows):
            if isinstance(record, PurgeRecord):
                for owner, name, left in record.texts:
                    found[owner, name] = MovedPurge(record.time, owner, name, left, record.reason, record.what)
        return sorted(found.values(), key=lambda purge: (*purge[:3], purge.left or ""))

    def text_head(self, owner: str) -> tuple[int, str]:
        """Returns how many texts an owner has, and a digest of their names and of what is left of purged ones."""
        names: list[Any] = self._connection.execute(
            "SELECT hash FROM texts WHERE owner = ? ORDER BY hash", (owner,)
        ).fetchall()
        purged: list[Any] = self._connection.execute(
            "SELECT hash, bytes FROM texts WHERE owner = ? AND purged IS NOT NULL", (owner,)
        ).fetchall()
        return text_head((name for (name,) in names), dict(purged))

    def purged_run(self, run: str) -> tuple[float, str | None] | None:
        """Returns the cost of a run and why it stopped, if an event was purged: nothing else says so then."""
        query = "SELECT 1 FROM texts WHERE owner = ? AND purged IS NOT NULL AND bytes IS NULL LIMIT 1"
        if self._connection.execute(query, (f"run:{run}",)).fetchone() is None:
            return None
        row: Any = self._connection.execute("SELECT cost, stopped FROM runs WHERE run = ?", (run,)).fetchone()
        return (float(row[0]), row[1]) if row else None

    def heads(self) -> Heads:
        """Returns the heads of everything that can be moved. Equal heads mean equal memory."""
        with self.reading():
            return self._heads()

    def _heads(self) -> Heads:
        found: Heads = {}
        for tables in OWNED.values():
            for table in tables:
                owner = CHAINS[table]
                lengths = f"SELECT {owner} AS name, max(seq) AS length FROM {table} GROUP BY {owner}"
                rows: Iterable[Any] = self._connection.execute(
                    f"SELECT name, length, hash FROM ({lengths}) AS lengths "
                    f"JOIN {table} ON {owner} = name AND seq = length ORDER BY name"
                )
                found.update({str(Chain(table, name)): (count, last.hex()) for name, count, last in rows})
        for table in SHARED:
            keys = [shared_key(table, row.values) for row in self.rows(Chain(table))]
            if keys:
                found[table] = shared_head(keys)
        for owner in self.text_owners():
            found[f"{_TEXT_HEADS}/{owner}"] = self.text_head(owner)
        return found


def shared_key(table: str, values: tuple[Any, ...]) -> str:
    """Returns what a shared row says, whoever recorded it when: rows with equal keys are one."""
    if table == "policy_names":
        return f"{values[0]} {read_policy_name(values[1]).policy}"
    if table == "blobs":
        return f"{values[0]} {values[1].hex()}"
    return str(values[0])


def shared_head(keys: Iterable[str]) -> tuple[int, str]:
    """Returns how many shared rows there are, and a digest of their keys in the order of text."""
    ordered = sorted(set(keys))
    return len(ordered), digest_of(ordered).removeprefix("sha256:")


def text_head(names: Iterable[bytes], purged: Mapping[bytes, bytes | None]) -> tuple[int, str]:
    """Returns how many texts there are, and a digest of their names, in order, and of what is left of purged ones."""
    marked = [name + (b"p" + raw_digest(purged[name] or b"") if name in purged else b"t") for name in names]
    return len(marked), raw_digest(b"".join(marked)).hex()


def head_of_texts(texts: Sequence[MovedText]) -> tuple[int, str]:
    """Returns the head of an owner's texts, which are given in the order of their digests."""
    purged = {text.hash: text.stored.data for text in texts if text.stored.purged is not None}
    return text_head((text.hash for text in texts), purged)


def heads_digest(heads: Heads) -> str:
    """Returns one digest for all heads."""
    return digest_of([[name, *heads[name]] for name in sorted(heads)])


def copy_to(database: Database, path: Path) -> None:
    """Writes the database, in the state that `reading` sees, to the file at `path`, which is empty or missing.

    Others write meanwhile. The copy is one file, with everything that was committed.
    """
    if not isinstance(database, SqliteDatabase):
        hint = "`tt export --workspace` writes it in open formats"
        raise SlicebaseError("bad-arguments", "a memory on a server is backed up with the server", hint=hint)
    with database_errors(path):
        copy = apsw.Connection(str(path))
        try:
            with database.reading(), copy.backup("main", database.connection, "main") as backup:
                database.connection.execute("SELECT 1 FROM acts").fetchone()  # a view begins with the first question
                backup.step()
            copy.execute("PRAGMA journal_mode = DELETE")
        finally:
            copy.close()
