"""Texts: all content that can be purged, by its owner and its hash (ruling 19).

A purge leaves a tombstone: nothing of the text, or what remains of it when the purged strings are taken out. An act
records every purge (ruling 46).
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from slicebase.truth.acts import PURGE, PurgeRecord, act_row
from slicebase.truth.chains import Chain
from slicebase.truth.connection import DatabaseConnection
from slicebase.truth.database import Database

NOTHING_LEFT: Mapping[tuple[str, str], bytes] = MappingProxyType({})


class StoredText(NamedTuple):
    """Stored bytes, and when and why they were purged; then the bytes are what is left, or None."""

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

    def of(self, owner: str) -> Iterator[tuple[str, bytes]]:
        """Yields the texts of an owner that are left, each with its digest."""
        query = "SELECT hash, bytes FROM texts WHERE owner = ? AND bytes IS NOT NULL ORDER BY hash"
        for text_hash, data in self._database.connection.execute(query, (owner,)):
            yield f"sha256:{text_hash.hex()}", data

    def size(self, owner: str) -> int:
        """Returns how many bytes the texts of an owner have."""
        query = "SELECT coalesce(sum(length(bytes)), 0) FROM texts WHERE owner = ?"
        return int(next(self._database.connection.execute(query, (owner,)))[0])

    def all(self) -> Iterator[tuple[str, str, bytes]]:
        """Yields all texts that are left: owner, digest and bytes."""
        query = "SELECT owner, hash, bytes FROM texts WHERE bytes IS NOT NULL ORDER BY owner, hash"
        for owner, text_hash, data in self._database.connection.execute(query):
            yield owner, f"sha256:{text_hash.hex()}", data

    def purged(self) -> Iterator[tuple[str, str]]:
        """Yields the texts that were purged, completely or in part: owner and digest."""
        for owner, text_hash in self._database.connection.execute(
            "SELECT owner, hash FROM texts WHERE purged IS NOT NULL ORDER BY owner, hash"
        ):
            yield owner, f"sha256:{text_hash.hex()}"

    def purge(self, record: PurgeRecord, left: Mapping[tuple[str, str], bytes] = NOTHING_LEFT) -> None:
        """Replaces the texts that a purge names by tombstones, forever, and records the purge.

        `left` has what is left of a text, by owner and digest.
        """
        query = "UPDATE texts SET bytes = ?, purged = ? WHERE owner = ? AND hash = ?"
        rows = [(left.get(text[:2]), record.mark, text.owner, hash_bytes(text.hash)) for text in record.texts]
        with self._database.writing() as connection:
            with self._database.purging():
                connection.executemany(query, rows)
            self._database.append(Chain("acts"), [act_row(PURGE, record)])


def keep_texts(connection: DatabaseConnection, owner: str, texts: Mapping[bytes, bytes]) -> None:
    """Stores the texts that the owner does not have yet. A purged text stays purged."""
    rows = ((owner, text_hash, text) for text_hash, text in sorted(texts.items()))  # of the index, which is faster
    connection.executemany("INSERT INTO texts (owner, hash, bytes) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rows)


def hash_bytes(digest: str) -> bytes:
    """Returns the bytes of a `sha256:` digest."""
    return bytes.fromhex(digest.removeprefix("sha256:"))
