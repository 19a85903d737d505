"""Acts: what was done to the database itself. They say which database it is, whose, and what was purged and sealed.

A database has an id, and keeps a digest of the user and the machine that made it (ruling 49). Whoever takes over a
database, or puts back an older copy of it, gives it a new id by an act (ruling 45): what was sealed after the copy was
made belongs to the old id.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from slicebase.core.hashing import canonical
from slicebase.errors import SlicebaseError
from slicebase.truth.connection import DatabaseConnection

CREATE: Final = "create"
ADOPT: Final = "adopt"
RESTORE: Final = "restore"
PURGE: Final = "purge"
SEAL: Final = "seal"
_WHOSE: Final = "kind IN ('create', 'adopt', 'restore')"


class Identity(msgspec.Struct, frozen=True):
    """The record of a creation, an adoption or a restoration: from then on, this is the database's id and owner."""

    database: str
    home: str
    time: str
    before: str | None = None  # the id until then
    log: int = 0  # how many entries the log had then


class PurgedText(NamedTuple):
    """A text that was purged, and the digest of what is left of it."""

    owner: str
    hash: str
    left: str | None = None


class PurgeRecord(msgspec.Struct, frozen=True):
    """The record of a purge: when, why, what, and every text by its digest (ruling 46)."""

    reason: str
    texts: tuple[PurgedText, ...]
    time: str
    what: str

    @property
    def mark(self) -> str:
        """What the table of texts says about a purged text."""
        return f"{self.time} {self.reason}".strip()


class SealRecord(msgspec.Struct, frozen=True):
    """The record of a seal: its slice file, by which a seal is known even if its file is damaged."""

    file: str
    time: str


ActRecord = Identity | PurgeRecord | SealRecord


class Act(NamedTuple):
    """An act: its number, its kind, and its record."""

    seq: int
    kind: str
    record: ActRecord


_READERS: Final[Mapping[str, "msgspec.json.Decoder[Any]"]] = MappingProxyType(
    {
        CREATE: msgspec.json.Decoder(Identity),
        ADOPT: msgspec.json.Decoder(Identity),
        RESTORE: msgspec.json.Decoder(Identity),
        PURGE: msgspec.json.Decoder(PurgeRecord),
        SEAL: msgspec.json.Decoder(SealRecord),
    }
)


def act_row(kind: str, record: ActRecord) -> tuple[str, bytes]:
    """Returns an act as its key and its record."""
    return kind, canonical(msgspec.to_builtins(record))


def read_act(seq: int, kind: str, record: bytes) -> Act:
    """Reads a stored act. Raises ValueError where it cannot be read."""
    if kind not in _READERS:
        raise ValueError(f"no act is of the kind {kind!r}")
    return Act(seq, kind, _READERS[kind].decode(record))


def acts(connection: DatabaseConnection) -> Iterator[Act]:
    """Yields all acts, oldest first."""
    rows: list[Any] = connection.execute("SELECT seq, kind, record FROM acts ORDER BY seq").fetchall()
    yield from (read_act(*row) for row in rows)


def identities(connection: DatabaseConnection) -> list[Identity]:
    """Returns what says which database this is, oldest first. Raises `database-damaged` if nothing does."""
    rows: list[Any] = connection.execute(f"SELECT seq, kind, record FROM acts WHERE {_WHOSE} ORDER BY seq").fetchall()
    try:
        found = [record for row in rows if isinstance(record := read_act(*row).record, Identity)]
    except (ValueError, TypeError, msgspec.MsgspecError):
        found = []
    if not found:
        message, hint = "the database does not say which one it is", "put a copy of it back"
        raise SlicebaseError("database-damaged", message, hint=hint)
    return found


def sealed_files(connection: DatabaseConnection) -> list[str]:
    """Returns the ids of the slice files of all seals that this database made, oldest first. Skips broken records."""
    found = []
    for row in connection.execute("SELECT seq, kind, record FROM acts WHERE kind = ? ORDER BY seq", (SEAL,)):
        with suppress(ValueError, TypeError, msgspec.MsgspecError):
            record = read_act(*row).record
            found += [record.file] if isinstance(record, SealRecord) else []
    return found


def purges(connection: DatabaseConnection) -> dict[tuple[str, str], tuple[PurgedText, str]]:
    """Returns the texts that acts name as purged, by owner and digest, each with its mark. The last act counts."""
    found = (act.record for act in acts(connection))
    return {
        (text.owner, text.hash): (text, record.mark)
        for record in found
        if isinstance(record, PurgeRecord)
        for text in record.texts
    }


def purged_since(connection: DatabaseConnection, seq: int) -> set[str]:
    """Returns the owners of the texts that acts after this number name as purged."""
    rows: list[Any] = connection.execute("SELECT seq, kind, record FROM acts WHERE seq > ?", (seq,)).fetchall()
    records = (read_act(*row).record for row in rows)
    return {text.owner for record in records if isinstance(record, PurgeRecord) for text in record.texts}


def last_purge(connection: DatabaseConnection) -> int:
    """Returns the number of the last act that purged something, or 0."""
    row: Any = connection.execute("SELECT coalesce(max(seq), 0) FROM acts WHERE kind = ?", (PURGE,)).fetchone()
    return int(row[0])
