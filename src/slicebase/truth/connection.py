"""What the truth asks of a connection to its database: the part that SQLite and PostgreSQL have in common.

Statements are written for both: values are question marks, rows come in the order of bytes, and a row number `rowid`
grows with every row that arrives in a table. What cannot be said for both is in `Dialect`.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol


class ResultRows(Protocol):
    """The result of a statement. Each row is read once."""

    def __iter__(self) -> Iterator[Any]: ...

    def __next__(self) -> Any: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    @property
    def get(self) -> Any:
        """The only value of the only row; a tuple of several, and None for no row."""


class DatabaseConnection(Protocol):
    """A connection to a database. It belongs to one thread at a time."""

    @property
    def in_transaction(self) -> bool: ...

    def execute(self, statement: str, values: Any = ..., /) -> ResultRows: ...

    def executemany(self, statement: str, rows: Iterable[Any], /) -> object: ...

    def close(self) -> None: ...


class Dialect(NamedTuple):
    """How the two databases say what they say differently: each is a text with a place for an expression."""

    item: str  # an item of the JSON array in bytes, by its number
    field: str  # a field of the JSON object in bytes, by its name; NULL if they are no JSON
    each: str  # a table with the column `value`: the items of the JSON array of texts in a text
