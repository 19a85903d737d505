"""The SQLite database of the truth: how it is opened, written and erased.

A database says which one it is, and who made it. One that another user or machine made, or that is not the one that the
workspace had, is opened only when it is adopted (rulings 45 and 49). After each write, the heads of the chains that
have grown are logged, many together. A locked, damaged or full database is an error of ours.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError, Where
from slicebase.truth.acts import ADOPT, CREATE, RESTORE, Identity, act_row, identities
from slicebase.truth.chains import LOG, Chain, ChainHead, append_rows, head_of, insert_rows, log_heads, unlogged
from slicebase.truth.failures import database_errors
from slicebase.truth.schema import SCHEMA
from slicebase.workspace.boundary import cannot_read, not_a_file, not_a_log, real_path

DATABASE_VERSION = 7
_APPLICATION_ID = 0x534C4342  # "SLCB": marks the file as a Slicebase database
_BUSY_MILLISECONDS = 10_000
_BUSY_AT_END = 1000  # milliseconds that the log waits for another process
_UNLOGGED = 32  # transactions after which the heads of their chains are logged


class Database:
    """A connection to the truth."""

    def __init__(self, path: Path, connection: apsw.Connection, *, has_grown: bool = False) -> None:
        self.path = path
        self.connection = connection
        self.read_only = connection.readonly("main") or bool(connection.pragma("query_only"))
        self.file_id = _file_id(path)  # of the file that was opened; another one may have its path later
        self._has_grown = has_grown  # rows were appended through this connection, and not logged
        self._unlogged = 0
        self.before_commit: Callable[[], None] = lambda: None  # may raise: then nothing is stored

    def close(self) -> None:
        """Logs what has grown, and closes the connection. What cannot be logged is logged after the next write."""
        with suppress(SlicebaseError, apsw.Error):
            self.connection.set_busy_timeout(_BUSY_AT_END)
            self.log()
        self.connection.close()

    def is_in_place(self) -> bool:
        """Returns whether the file that was opened is still at its path; where there was none, still none."""
        return _file_id(self.path) == self.file_id

    @property
    def state(self) -> tuple[int, int]:
        """A value that changes with every write of this connection or another."""
        return int(self.connection.pragma("data_version")), self.connection.total_changes()

    # Chains

    def append(self, chain: Chain, rows: Iterable[tuple[Any, ...]]) -> ChainHead:
        """Appends rows to a chain, each given as its keys and its record. Call it inside a transaction."""
        self._has_grown = True
        return append_rows(self.connection, chain, rows)

    def append_hashed(self, chain: Chain, rows: list[tuple[Any, ...]]) -> None:
        """Appends complete rows, which are numbered and hashed already, to a chain."""
        self._has_grown = True
        insert_rows(self.connection, chain.table, rows)

    def log(self, chains: Iterable[Chain] = ()) -> None:
        """Logs the heads of these chains and, after a write through this connection, of all that have grown.

        So one that grew through a process that was killed before it could log is logged by the next one that writes.
        """
        given = set(chains)
        if not (self._has_grown or given) or self.read_only or self.connection.in_transaction:
            return
        has_grown, self._has_grown, self._unlogged = self._has_grown, False, 0
        try:
            with self._transaction() as connection:
                log_heads(connection, given | unlogged(connection))
        except BaseException:
            self._has_grown = has_grown
            raise

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Runs one transaction: everything is stored, or nothing. Inside another transaction, it is a part of that."""
        if self.connection.in_transaction:
            with self._part():
                yield self.connection
            return
        with self._transaction() as connection:
            yield connection
            self.before_commit()
        self._unlogged += self._has_grown
        if self._unlogged > _UNLOGGED:
            with suppress(SlicebaseError):  # the transaction itself is stored
                self.log()

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        with database_errors(self.path):
            try:
                self.connection.execute("BEGIN IMMEDIATE")  # inside: an interruption after it must not leave it open
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    @contextmanager
    def _part(self) -> Iterator[None]:
        """Runs a part of a transaction. After an error, nothing of the part is left in the transaction."""
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
        before = self._has_grown
        with database_errors(self.path):
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                yield
            finally:
                self._roll_back()
                self._has_grown = before

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keeps one view of the database inside the block, even if another process writes meanwhile."""
        if self.connection.in_transaction:
            yield
            return
        with database_errors(self.path):
            try:
                self.connection.execute("BEGIN")
                yield
            finally:
                self._roll_back()

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Inside the block, a lock of another process is an error at once."""
        self.connection.set_busy_timeout(0)
        try:
            yield
        finally:
            self.connection.set_busy_timeout(_BUSY_MILLISECONDS)

    def _roll_back(self) -> None:
        if self.connection.in_transaction:  # SQLite rolls back by itself when the disk is full
            self.connection.execute("ROLLBACK")

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """Makes many transactions durable together: the write-ahead log is flushed to the disk once, at the end."""
        self.connection.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            with database_errors(self.path):
                self.connection.execute("PRAGMA synchronous = FULL")
                _flush(Path(f"{self.path}-wal"))
                with suppress(apsw.BusyError):  # another process does the same
                    self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    @contextmanager
    def erasing(self) -> Iterator[None]:
        """Erases what is removed inside, also from the free pages of the file and from the write-ahead log."""
        self.connection.execute("PRAGMA secure_delete = ON")
        yield
        try:
            with database_errors(self.path):
                self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                self.connection.execute("VACUUM")
                self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except SlicebaseError as error:
            if error.code == "locked":
                error.message = (
                    "it is purged, but another process reads the database: the old pages are still in its log"
                )
                error.hint = "repeat the purge when the other process is done"
            raise


def _flush(path: Path) -> None:
    with suppress(FileNotFoundError), path.open("rb") as log:
        os.fsync(log.fileno())


# Opening


class Opener(NamedTuple):
    """Who opens a database: a digest of user and machine, and the ids by which the workspace knows its database."""

    home: str = ""
    known: Set[str] = frozenset()
    adopt: bool = False  # take over a database of somebody else, or an older copy
    new_id: Callable[[], str] = lambda: os.urandom(16).hex()
    time: Callable[[], str] = lambda: to_text(time.time_ns() // 1_000_000)
    restore: bool = False  # the same, of a copy that is put back, whoever made it

    def identity(self, before: str | None = None, log: int = 0) -> Identity:
        """Returns a new identity of the database."""
        return Identity(self.new_id(), self.home, self.time(), before, log)


def open_database(
    path: Path, *, create: bool = False, or_empty: bool = False, opener: Opener | None = None
) -> Database:
    """Opens the database at `path`. Creates it only with `create`.

    Where it is missing and cannot be created, or with `or_empty`, it is an empty one in memory that is only read.
    """
    opener = opener or Opener()
    refuse_lost(path, opener)
    if or_empty and not _is_there(path):
        return _empty(path)
    if not create and not _is_there(path):
        raise SlicebaseError(
            "no-database", f"there is no database at {path} yet", hint="`tt import` creates it with a conversation"
        )
    if _cannot_be_created(path):
        return _empty(path)
    if special := not_a_log(path):
        raise not_a_file(special)
    with database_errors(path):
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        is_frozen = _is_frozen(path)
        connection = _connected_to_frozen(path) if is_frozen else _connected(path, create=create)
        try:
            _configure(connection, is_frozen=is_frozen)
            has_new_act = _ensure_schema(connection, path, opener) or _ensure_ours(connection, path, opener)
        except BaseException:
            connection.close()
            raise
    return Database(path, connection, has_grown=has_new_act)


def can_only_be_read(path: Path) -> bool:
    """Returns whether nothing can be stored in the database at `path`, which may be missing."""
    return _cannot_be_created(path) or _is_frozen(path)


def _cannot_be_created(path: Path) -> bool:
    """Returns whether the database is missing, and the folder that it would be created in cannot be written."""
    nearest = next(folder for folder in path.parents if os.path.lexists(folder))
    return not os.path.lexists(path) and nearest.is_dir() and not os.access(nearest, os.W_OK)


def _empty(path: Path) -> Database:
    connection = apsw.Connection(":memory:")
    connection.execute(SCHEMA)
    # Its id is no id: nothing that an index keeps of it names a database.
    append_rows(connection, Chain("acts"), [act_row(CREATE, Opener(new_id=lambda: "-").identity())])
    connection.pragma("query_only", True)
    return Database(path, connection)


def _is_there(path: Path) -> bool:
    """Returns whether a file exists. Raises `cannot-read` where this user may not know."""
    try:
        return path.exists()
    except PermissionError as error:
        raise cannot_read(error, path) from None


def _is_frozen(path: Path) -> bool:
    """Returns whether the database can only be read: no write-ahead log can be created in its folder."""
    log = Path(f"{path}-wal")
    return _is_there(path) and not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)


def _connected_to_frozen(path: Path) -> apsw.Connection:
    return apsw.Connection(
        f"{real_path(path).as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )


def _connected(path: Path, *, create: bool) -> apsw.Connection:
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0))


def _configure(connection: apsw.Connection, *, is_frozen: bool) -> None:
    connection.set_busy_timeout(_BUSY_MILLISECONDS)
    if not is_frozen:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA recursive_triggers = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cache_size = -65536")


def _ensure_schema(connection: apsw.Connection, path: Path, opener: Opener) -> bool:
    """Creates the tables in an empty file; returns whether it did.

    Refuses a database of another program or another version.
    """
    if _layout(connection) == (_APPLICATION_ID, DATABASE_VERSION):
        return False
    with _transaction(connection):  # so that only one process creates it
        if not connection.pragma("schema_version"):
            connection.execute(SCHEMA)
            connection.pragma("application_id", _APPLICATION_ID)
            connection.pragma("user_version", DATABASE_VERSION)
            append_rows(connection, Chain("acts"), [act_row(CREATE, opener.identity(min(opener.known, default=None)))])
            return True
        _refuse_layout(*_layout(connection), path)
    return False


@contextmanager
def _transaction(connection: apsw.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite rolls back by itself when the disk is full
            connection.execute("ROLLBACK")
        raise


def _layout(connection: apsw.Connection) -> tuple[int, int]:
    return int(connection.pragma("application_id")), int(connection.pragma("user_version"))


def _refuse_layout(application: int, version: int, path: Path) -> None:
    """Raises the error for a database that is not one of this program and version."""
    where = Where(str(path))
    if application != _APPLICATION_ID:
        hint = "move the file away, if it is not yours; a new database is created in its place"
        raise SlicebaseError("not-our-database", f"{path} belongs to another program", hint=hint, where=where)
    if version > DATABASE_VERSION:
        message = f"the database has version {version}, but this program knows only version {DATABASE_VERSION}"
        raise SlicebaseError("database-newer", message, hint="update Slicebase", where=where)
    if version != DATABASE_VERSION:
        message = f"the database has version {version}, which no release of Slicebase wrote"
        hint = "move the file away and import the transcripts again, or restore a copy of it"
        raise SlicebaseError("database-damaged", message, hint=hint, where=where)


# Whose database it is (rulings 45 and 49)


def refuse_lost(path: Path, opener: Opener) -> None:
    """Raises `database-lost` where the workspace knows a database that is gone or empty."""
    size = path.stat().st_size if _is_there(path) else None
    if opener.known and not opener.adopt and not size:
        raise SlicebaseError(
            "database-lost",
            f"the database {min(opener.known)} of this workspace is {'gone' if size is None else 'empty'}",
            hint="put a copy of it back; or `tt init --adopt` begins a new one, and keeps a record of that",
            where=Where(str(path)),
        )


def _ensure_ours(connection: apsw.Connection, path: Path, opener: Opener) -> bool:
    """Refuses a database of somebody else, or another one than the workspace had.

    With `adopt`, takes it over instead; returns whether it did.
    """
    stated = identities(connection)
    current, names = stated[-1], {identity.database for identity in stated}
    is_another = bool(opener.known) and not opener.known & names
    is_foreign = bool(opener.home) and current.home != opener.home
    if opener.adopt or opener.restore:
        with _transaction(connection):
            identity = opener.identity(current.database, head_of(connection, Chain(LOG)).length)
            kind = ADOPT if (is_foreign or is_another) and not opener.restore else RESTORE
            append_rows(connection, Chain("acts"), [act_row(kind, identity)])
            log_heads(connection, [Chain("acts")])
    elif is_foreign or is_another:
        whose = "was made by another user or machine" if is_foreign else "is not the one that this workspace had"
        raise SlicebaseError(
            "database-not-ours",
            f"the database {current.database} {whose}",
            hint="if you trust it, `tt init --adopt` makes it the memory of this workspace",
            where=Where(str(path)),
        )
    return opener.adopt or opener.restore


def _file_id(path: Path) -> tuple[int, int] | None:
    with suppress(OSError, ValueError):
        status = os.stat(path)
        return status.st_dev, status.st_ino
    return None
