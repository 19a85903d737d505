"""The database of the truth, whatever keeps it: its transactions, its chains, and the log of their heads.

A database says which one it is, and who made it. One that another user or machine made, or that is not the one that the
workspace had, is opened only when it is adopted (rulings 45 and 49). The heads of the chains that have grown are
logged. A locked, damaged or full database is an error of ours.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Set
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

from slicebase.truth.chains import Chain, ChainHead, append_rows, insert_rows
from slicebase.truth.connection import DatabaseConnection, Dialect
from slicebase.truth.schema import CHAINS

LONGEST_WAIT: Final = 10_000  # milliseconds that a lock of another process is waited for, mostly


class Database(ABC):
    """A connection to the truth."""

    dialect: Dialect
    path: Path  # where SQLite's file is or would be: files of this machine are beside it
    is_shared: bool  # whether processes of other machines use it
    connection: DatabaseConnection
    read_only: bool
    file_id: Hashable  # which database was opened; another one may be at its path later

    def __init__(self) -> None:
        self.before_commit: Callable[[], None] = lambda: None  # may raise: then nothing is stored
        self._is_undivided = False  # inside `writing_undivided`
        self._has_failed = False  # inside it, something has

    @abstractmethod
    def close(self) -> None:
        """Logs what has grown, and closes the connection."""

    @abstractmethod
    def is_in_place(self) -> bool:
        """Returns whether the database that was opened is still there."""

    @property
    @abstractmethod
    def state(self) -> tuple[int, ...]:
        """A value that changes with every write of this connection or another."""

    @abstractmethod
    def errors(self) -> AbstractContextManager[None]:
        """Turns errors of the database and of the system inside the block into errors of ours."""

    @abstractmethod
    def log(self, chains: Iterable[Chain] = ()) -> None:
        """Logs the heads of these chains, and of all that have grown."""

    @abstractmethod
    def unlogged(self) -> Set[Chain]:
        """Returns the chains that have grown since their heads were logged, whoever wrote them."""

    @abstractmethod
    def wait(self, milliseconds: int) -> None:
        """Waits at most so long for a lock of another process, from now on."""

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Inside the block, a lock of another process is an error at once."""
        self.wait(0)
        try:
            yield
        finally:
            self.wait(LONGEST_WAIT)

    @abstractmethod
    def problems(self) -> list[str]:
        """Returns the damage that the database itself finds in its pages and indexes, at most ten problems."""

    @abstractmethod
    def differences(self) -> Iterator[tuple[str, str, str]]:
        """Yields what somebody changed in the tables and their protection: name, expected state, found state."""

    @abstractmethod
    def bulk(self) -> AbstractContextManager[None]:
        """Makes many transactions durable together, at the end of the block."""

    @abstractmethod
    def purging(self) -> AbstractContextManager[None]:
        """Inside the block, which is a part of a transaction, texts may be replaced."""

    @abstractmethod
    def erasing(self) -> AbstractContextManager[None]:
        """Erases what is removed inside, also where the database keeps what was there before."""

    # Chains

    def append(self, chain: Chain, rows: Iterable[tuple[Any, ...]]) -> ChainHead:
        """Appends rows to a chain, each given as its keys and its record. Call it inside a transaction."""
        head = append_rows(self.connection, chain, rows)
        self._has_appended(chain, head)
        return head

    def append_hashed(self, chain: Chain, rows: list[tuple[Any, ...]]) -> None:
        """Appends complete rows, which are numbered and hashed already, to a chain."""
        insert_rows(self.connection, chain.table, rows)
        if rows:
            self._has_appended(chain, ChainHead(rows[-1][1 if CHAINS[chain.table] else 0], rows[-1][-1]))

    @abstractmethod
    def _has_appended(self, chain: Chain, head: ChainHead) -> None:
        """Notes that a chain has grown inside the transaction."""

    # Transactions

    @abstractmethod
    def _begin(self, *, writes: bool) -> None:
        """Begins a transaction. One that writes is alone; one that reads has one view of the database."""

    @abstractmethod
    def _finish(self) -> None:
        """Writes what belongs to the end of a transaction that writes."""

    @abstractmethod
    def _has_committed(self) -> None:
        """Does what follows a transaction that writes."""

    @contextmanager
    def writing(self) -> Iterator[DatabaseConnection]:
        """Runs one transaction: everything is stored, or nothing. Inside another transaction, it is a part of that."""
        if self.connection.in_transaction:
            with self._in_undivided() if self._is_undivided else self.part():
                yield self.connection
            return
        with self._transaction() as connection:
            yield connection
            self.before_commit()
            self._finish()
        self._has_committed()

    @contextmanager
    def writing_undivided(self) -> Iterator[DatabaseConnection]:
        """Runs a transaction for much that is stored completely or not at all: what is written inside is no part of it.

        For a part, SQLite keeps a copy of each page as it was before, which takes longer than all else where keys are
        in no order. So if something inside fails, everything fails, also where that error is caught.
        """
        with self.writing() as connection:
            if self._is_undivided:
                yield connection
                return
            self._is_undivided, self._has_failed = True, False
            try:
                yield connection
                if self._has_failed:
                    raise RuntimeError("something has failed inside a transaction without parts")
            finally:
                self._is_undivided = False

    @contextmanager
    def _in_undivided(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._has_failed = True
            raise

    @contextmanager
    def _transaction(self) -> Iterator[DatabaseConnection]:
        with self.errors():
            try:
                self._begin(writes=True)  # inside: an interruption after it must not leave it open
                yield self.connection
                self._commit()
            except BaseException:
                self._roll_back()
                raise

    @contextmanager
    def part(self) -> Iterator[None]:
        """Runs a part of a transaction, if there is one. After an error, nothing of the part is left in it."""
        if not self.connection.in_transaction:
            yield
            return
        try:
            self.connection.execute("SAVEPOINT part")
            yield
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK TO part; RELEASE part")
            raise
        self.connection.execute("RELEASE part")

    @contextmanager
    def rolled_back(self) -> Iterator[None]:
        """Runs a transaction that is always rolled back, for a dry run."""
        with self.errors():
            try:
                self._begin(writes=True)
                yield
            finally:
                self._roll_back()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keeps one view of the database inside the block, even if another process writes meanwhile."""
        if self.connection.in_transaction:
            yield
            return
        with self.errors():
            try:
                self._begin(writes=False)
                yield
            finally:
                self._roll_back()

    def _commit(self) -> None:
        self.connection.execute("COMMIT")

    def _roll_back(self) -> None:
        if self.connection.in_transaction:  # a full disk or a lost connection has ended it already
            self.connection.execute("ROLLBACK")
