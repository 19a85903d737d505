"""A connection to PostgreSQL that is asked like one to SQLite, and whose errors are ours."""

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from itertools import count
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8Dumper

from slicebase.errors import SlicebaseError
from slicebase.truth.postgres.failures import as_our_error

_CONNECT: Final = 10  # seconds that a server is waited for, where the address does not say
_FIRST_WORD: Final = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE)\b")
_HAS_ROWS: Final = re.compile(r"^\s*SELECT\b|\bRETURNING\b")
_MARK: Final = re.compile(r"\?(\d*)")


class PostgresRows:
    """The rows of a statement. Inside a transaction that writes, they are waited for when they are read."""

    def __init__(self, cursor: "psycopg.Cursor[Any] | None") -> None:
        self._cursor = cursor

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fetchall())

    def __next__(self) -> Any:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def fetchone(self) -> Any:
        with _our_errors():
            return self._cursor.fetchone() if self._cursor else None

    def fetchall(self) -> list[Any]:
        with _our_errors():
            return self._cursor.fetchall() if self._cursor else []

    @property
    def get(self) -> Any:
        """The only value of the only row; a tuple of several, and None for no row."""
        row = self.fetchone()
        return row[0] if row is not None and len(row) == 1 else row


class PostgresConnection:
    """A connection to PostgreSQL. `setup` is what each new connection begins with.

    A transaction that writes sends its statements without waiting for the server, and waits only for what is read, and
    for the end.
    """

    def __init__(self, url: str, setup: str) -> None:
        self._url = url
        self.setup = setup
        self.changes = 0  # statements that may have changed something
        self._entered = ExitStack()
        self._sending: psycopg.Pipeline | None = None  # while a transaction writes
        self._connection = self._connected()

    def _connected(self) -> "psycopg.Connection[Any]":
        with _our_errors():
            try:
                wait = conninfo_to_dict(self._url).get("connect_timeout", _CONNECT)
            except psycopg.ProgrammingError:  # its text may repeat a part of a password
                hint = "it is postgresql://user@host/name?parameter=value"
                raise SlicebaseError("bad-setting", "PostgreSQL cannot read its address", hint=hint) from None
            opened = psycopg.connect(self._url, autocommit=True, connect_timeout=wait, cursor_factory=psycopg.RawCursor)
            opened.adapters.register_dumper(int, Int8Dumper)  # else a statement is prepared for each size of a number
            opened.execute(self.setup.encode(), prepare=False)
            return opened

    @property
    def in_transaction(self) -> bool:
        idle = (TransactionStatus.IDLE, TransactionStatus.UNKNOWN)
        return self._sending is not None or self._connection.info.transaction_status not in idle

    def begin(self, statements: str, *, writes: bool) -> None:
        """Begins a transaction with these statements, on a new connection where the old one was lost."""
        with _our_errors():
            try:
                self._connection.execute(statements.encode(), prepare=False)
            except psycopg.OperationalError:
                if not self._connection.broken:
                    raise
                self._connection = self._connected()
                self._connection.execute(statements.encode(), prepare=False)
            if writes:
                self._sending = self._entered.enter_context(self._connection.pipeline())

    def commit(self) -> None:
        """Ends a transaction, and waits until it is stored."""
        with _our_errors():
            self._connection.execute(b"COMMIT")
            self._wait()

    def roll_back(self) -> None:
        """Ends a transaction that must leave nothing. A lost connection has ended it already."""
        with suppress(psycopg.Error):
            self._wait()
        if self.in_transaction:
            with _our_errors():
                self._connection.execute(b"ROLLBACK", prepare=False)

    def _wait(self) -> None:
        self._sending = None
        self._entered.close()

    def execute(self, statement: str, values: Any = (), /) -> PostgresRows:
        """Runs a statement. A question outside of a transaction is repeated where the connection was lost."""
        first = _FIRST_WORD.match(statement)
        is_question = first is not None and first[1] == "SELECT"
        self.changes += first is not None and not is_question
        if is_question and any(isinstance(value, str) and "\0" in value for value in values):
            return PostgresRows(None)  # no text of PostgreSQL has this character, and none is found
        can_repeat = is_question and not self.in_transaction
        with _our_errors():
            try:
                return self._run(statement, values, has_values=first is not None)
            except psycopg.OperationalError:
                if not (can_repeat and self._connection.broken):
                    raise
            self._connection = self._connected()
            return self._run(statement, values, has_values=True)

    def _run(self, statement: str, values: Any, *, has_values: bool) -> PostgresRows:
        if not has_values:
            if self._sending is not None and statement.startswith("ROLLBACK TO"):
                with suppress(psycopg.Error):  # what has failed is forgotten with the part
                    self._sending.sync()
            for each in statement.split(";") if self._sending else (statement,):  # one by one, or all together
                self._connection.execute(each.encode(), prepare=False)
            return PostgresRows(None)
        cursor = self._connection.execute(_translated(statement).encode(), tuple(values))
        return PostgresRows(cursor if _HAS_ROWS.search(statement) else None)

    def executemany(self, statement: str, rows: Iterable[Any], /) -> None:
        """Runs a statement for each of some rows."""
        given = list(rows)
        if given:
            self.changes += 1
            with _our_errors(), self._connection.cursor() as cursor:
                cursor.executemany(_translated(statement).encode(), given)

    def close(self) -> None:
        self._connection.close()


@lru_cache(1000)
def _translated(statement: str) -> str:
    """Returns a statement with numbered places for its values, as PostgreSQL wants them."""
    numbers = count(1)
    return _MARK.sub(lambda mark: f"${mark[1] or next(numbers)}", statement)


@contextmanager
def _our_errors() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise as_our_error(error) from None
