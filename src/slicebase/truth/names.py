"""The ids of what is stored: those that begin like a short id, and the neighbours that decide how short one may be."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import apsw

from slicebase.core.ids import uuid_of
from slicebase.truth.database import Database

_MOST_FOUND: Final = 20  # ids that begin alike; the first few are shown
_LAST: Final = "\U0010ffff"  # comes after every text that begins alike


class _Column(NamedTuple):
    """Where the ids of a kind are, as a table and an indexed column."""

    table: str
    name: str
    text: Callable[[Any], str] = str


_COLUMNS: Final[Mapping[str, _Column]] = {
    "turn": _Column("turns", "turn", uuid_of),
    "session": _Column("sessions", "session"),
    "run": _Column("runs", "run"),
    "ev": _Column("evidence", "evidence"),
    "mf": _Column("manifests", "manifest"),
    "sn": _Column("snapshots", "snapshot"),
}
STORED_KINDS: Final = tuple(_COLUMNS)


class StoredNames:
    """The ids of a database, by the kinds of references. Those of evidence, manifests and snapshots begin with them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def _connection(self) -> apsw.Connection:
        return self._database.connection

    def knows(self, kind: str, name: str) -> bool:
        """Returns whether something of this kind has this id."""
        column = _COLUMNS[kind]
        query = f"SELECT 1 FROM {column.table} WHERE {column.name} = ? LIMIT 1"
        return self._connection.execute(query, (_stored(kind, name),)).fetchone() is not None

    def beginning(self, kind: str, prefix: str) -> list[str]:
        """Returns ids that begin with a prefix, in their order; of very many, the first ones."""
        column = _COLUMNS[kind]
        first, last = _range(kind, prefix)
        query = f"""SELECT DISTINCT {column.name} FROM {column.table}
            WHERE {column.name} BETWEEN ? AND ? ORDER BY {column.name} LIMIT {_MOST_FOUND}"""
        return [column.text(found) for (found,) in self._connection.execute(query, (first, last))]

    def beside(self, kind: str, name: str) -> tuple[str | None, str | None]:
        """Returns the ids before and after an id in the order of text, if there are any."""
        column = _COLUMNS[kind]
        query = f"""SELECT (SELECT max({column.name}) FROM {column.table} WHERE {column.name} < ?1),
            (SELECT min({column.name}) FROM {column.table} WHERE {column.name} > ?1)"""
        before, after = next(self._connection.execute(query, (_stored(kind, name),)))
        return tuple(None if each is None else column.text(each) for each in (before, after))  # type: ignore[return-value]


def _stored(kind: str, name: str) -> Any:
    """Returns an id as its column has it."""
    return bytes.fromhex(name.replace("-", "")) if kind == "turn" else name


def _range(kind: str, prefix: str) -> tuple[Any, Any]:
    """Returns the first and the last value that an id with this prefix can have."""
    if kind != "turn":
        return prefix, prefix + _LAST
    digits = prefix.replace("-", "")
    return bytes.fromhex(digits.ljust(32, "0")), bytes.fromhex(digits.ljust(32, "f"))
