"""Texts: all content that can be purged, by its owner and its hash (ruling 19)."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import apsw

from slicebase.truth.database import Database


class StoredText(NamedTuple):
    """Stored bytes, or the time at which they were purged."""

    data: bytes | None
    purged: str | None


class Texts:
    """The texts of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, owner: str, digest: str) -> StoredText | None:
        """Returns the text with this digest, or None where the owner never had it."""
        query = "SELECT bytes, purged FROM texts WHERE owner = ? AND hash = ?"
        try:
            key = hash_bytes(digest)
        except ValueError:  # a record that somebody has changed can name anything
            return None
        row = self._database.connection.execute(query, (owner, key)).fetchone()
        return StoredText(*row) if row else None

    def purge(self, owner: str, digests: Iterable[str], now: str) -> int:
        """Replaces texts by tombstones, forever. Returns how many texts it purged."""
        query = "UPDATE texts SET bytes = NULL, purged = ? WHERE owner = ? AND hash = ? AND purged IS NULL"
        with self._database.writing() as connection:
            before = connection.total_changes()
            connection.executemany(query, [(now, owner, hash_bytes(digest)) for digest in digests])
            return connection.total_changes() - before

    def count(self, owner: str) -> int:
        """Returns how many texts of an owner are not purged."""
        query = "SELECT count(*) FROM texts WHERE owner = ? AND purged IS NULL"
        return int(next(self._database.connection.execute(query, (owner,)))[0])

    def purge_all(self, owner: str, now: str) -> int:
        """Replaces all texts of an owner by tombstones, forever. Returns how many texts it purged."""
        query = "SELECT hash FROM texts WHERE owner = ? AND purged IS NULL"
        rows: list[Any] = self._database.connection.execute(query, (owner,)).fetchall()
        return self.purge(owner, [f"sha256:{text_hash.hex()}" for (text_hash,) in rows], now)


def keep_texts(connection: apsw.Connection, owner: str, texts: Mapping[bytes, bytes]) -> None:
    """Stores the texts that the owner does not have yet. A purged text stays purged."""
    rows = ((owner, text_hash, text) for text_hash, text in texts.items())
    connection.executemany("INSERT INTO texts (owner, hash, bytes) VALUES (?, ?, ?)", rows)


def hash_bytes(digest: str) -> bytes:
    """Returns the bytes of a `sha256:` digest."""
    return bytes.fromhex(digest.removeprefix("sha256:"))
