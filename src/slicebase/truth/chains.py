"""Chains of rows: each row is numbered, and its hash covers the row and the hash before it (ruling 45).

So a row that was changed, removed or moved breaks the chain, and the head of a chain stands for all its rows. The log
keeps the heads of all chains. A chain that is shorter than the log says has lost rows.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec

from slicebase.errors import SlicebaseError
from slicebase.truth.connection import DatabaseConnection
from slicebase.truth.schema import CHAIN_COLUMNS, CHAINS

LOG = "log"
_NO_OWNER = "''"  # in a query
_Record = TypeVar("_Record")


class Chain(NamedTuple):
    """The name of a chain: its table, and its owner where the table has one chain for each."""

    table: str
    owner: str = ""

    def __str__(self) -> str:
        return f"{self.table}/{self.owner}" if CHAINS[self.table] else self.table

    @classmethod
    def named(cls, name: str) -> "Chain":
        """Returns the chain with this name. Raises ValueError for a name that no chain has."""
        table, slash, owner = name.partition("/")
        if table not in CHAINS or bool(CHAINS[table]) != bool(slash):
            raise ValueError(f"no chain is named {name!r}")
        return cls(table, owner)


class ChainHead(NamedTuple):
    """How many rows a chain has, and the hash of the last one; both are empty for an empty chain."""

    length: int = 0
    hash: bytes = b""


def linked(before: bytes, *values: object) -> bytes:
    """Returns the hash of a row with these values that follows the row with the hash `before`."""
    return next(_linked_rows(before, [values]))


def _linked_rows(before: bytes, rows: Iterable[tuple[object, ...]]) -> Iterator[bytes]:
    """Yields the hashes of rows that follow each other."""
    from hashlib import sha256  # imported here for a fast start: it loads OpenSSL, and many a command hashes nothing

    for row in rows:
        values = [sha256(value if type(value) is bytes else _bytes(value)).digest() for value in row]
        before = sha256(before + b"".join(values)).digest()
        yield before


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def head_of(connection: DatabaseConnection, chain: Chain, at: int | None = None) -> ChainHead:
    """Returns the head of a chain, or the head that it had when it had `at` rows; an empty one if it has fewer."""
    wanted = [f"{CHAINS[chain.table]} = ?"] if CHAINS[chain.table] else []
    wanted += ["seq = ?"] if at is not None else []
    where = f"WHERE {' AND '.join(wanted)}" if wanted else ""
    values = (*((chain.owner,) if CHAINS[chain.table] else ()), *((at,) if at is not None else ()))
    query = f"SELECT seq, hash FROM {chain.table} {where} ORDER BY seq DESC LIMIT 1"
    row = connection.execute(query, values).fetchone()
    return ChainHead(*row) if row else ChainHead()


def append_rows(connection: DatabaseConnection, chain: Chain, rows: Iterable[tuple[Any, ...]]) -> ChainHead:
    """Appends rows, each given as its keys and its record, and returns the new head."""
    count, head = head_of(connection, chain)
    owner = (chain.owner,) if CHAINS[chain.table] else ()
    given = list(rows)
    hashes = list(_linked_rows(head, given))
    values = [(*owner, seq, *row, hashed) for seq, row, hashed in zip(itertools.count(count + 1), given, hashes)]
    insert_rows(connection, chain.table, values)
    return ChainHead(count + len(given), hashes[-1] if hashes else head)


def insert_rows(connection: DatabaseConnection, table: str, rows: list[tuple[Any, ...]]) -> None:
    """Inserts complete rows."""
    if rows:
        connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)


def all_chains(connection: DatabaseConnection) -> Iterator[Chain]:
    """Yields every chain that has rows, but for the log."""
    for table, owner in CHAINS.items():
        if table == LOG:
            continue
        query = (
            f"SELECT DISTINCT {owner} FROM {table} ORDER BY 1" if owner else f"SELECT {_NO_OWNER} FROM {table} LIMIT 1"
        )
        for (name,) in connection.execute(query).fetchall():
            yield Chain(table, str(name))


def read_stored(decoder: "msgspec.json.Decoder[_Record]", record: bytes) -> _Record:
    """Reads a stored record. Raises `broken-record` where somebody has changed it."""
    try:
        return decoder.decode(record)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        message = f"a stored record cannot be read: {error}"
        raise SlicebaseError("broken-record", message, hint="`tt verify` says more") from None


def names_in(connection: DatabaseConnection) -> Iterator[bytes]:
    """Yields what the rows of all chains say. They hold names, times and hashes, and no texts."""
    for table in CHAINS:
        for row in connection.execute(f"SELECT {CHAIN_COLUMNS[table]} FROM {table}"):
            yield b" ".join(map(_bytes, row))


def logged_head(connection: DatabaseConnection, chain: Chain) -> ChainHead:
    """Returns the last head of a chain that the log has."""
    query = "SELECT count, head FROM log WHERE chain = ? ORDER BY count DESC LIMIT 1"
    row = connection.execute(query, (str(chain),)).fetchone()
    return ChainHead(*row) if row else ChainHead()


def unlogged(connection: DatabaseConnection) -> set[Chain]:
    """Returns the chains that have grown since their heads were logged, whoever wrote them.

    Whoever logs logs all of them, so these rows are the last ones of their tables.
    """
    found = set()
    for table, owner in CHAINS.items():
        if table == LOG or not _has_grown(connection, table):
            continue
        # The sign keeps SQLite from reading the complete index for the order of owners.
        query = f"SELECT {owner or _NO_OWNER}, max(seq) FROM {table} WHERE rowid > ? GROUP BY +{owner or _NO_OWNER}"
        grown: list[Any] = connection.execute(query, (_last_logged(connection, table),)).fetchall()
        for name, length in grown:
            chain = Chain(table, str(name))
            if length > logged_head(connection, chain).length:
                found.add(chain)
    return found


def _has_grown(connection: DatabaseConnection, table: str) -> bool:
    """Returns whether the last row of a table is not logged."""
    query = f"SELECT {CHAINS[table] or _NO_OWNER}, seq FROM {table} ORDER BY rowid DESC LIMIT 1"
    row = connection.execute(query).fetchone()
    return row is not None and row[1] > logged_head(connection, Chain(table, str(row[0]))).length


def _last_logged(connection: DatabaseConnection, table: str) -> int:
    """Returns the rowid of a row that was logged, one of the last; 0 where there is none."""
    query = "SELECT chain, count FROM log WHERE +chain >= ? AND +chain < ? ORDER BY seq DESC LIMIT 1"
    last = connection.execute(query, (table, f"{table}0")).fetchone()  # 0 follows the slash
    if last is None:
        return 0
    name, count = last
    owner = CHAINS[table]
    where, values = (f"{owner} = ? AND", (name.partition("/")[2],)) if owner else ("", ())
    row = connection.execute(f"SELECT rowid FROM {table} WHERE {where} seq = ?", (*values, count)).fetchone()
    return int(row[0]) if row else 0


def log_heads(connection: DatabaseConnection, chains: Iterable[Chain]) -> None:
    """Appends the heads of these chains to the log, where they have grown since it was last written."""
    grown = []
    for chain in sorted(chains):
        head = head_of(connection, chain)
        if head.length > logged_head(connection, chain).length:
            grown.append((str(chain), *head))
    append_rows(connection, Chain(LOG), grown)
