"""The truth in a file of SQLite: how it is opened, written and erased.

After each write, the heads of the chains that have grown are logged, many together.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path

import apsw

from slicebase.errors import SlicebaseError, Where
from slicebase.truth.acts import ADOPT, CREATE, RESTORE, act_row, identities
from slicebase.truth.chains import LOG, Chain, ChainHead, append_rows, head_of, log_heads, unlogged
from slicebase.truth.connection import Dialect
from slicebase.truth.database import LONGEST_WAIT, Database
from slicebase.truth.failures import database_errors
from slicebase.truth.ownership import Opener, is_of_others, is_there, refuse_lost, refuse_others
from slicebase.truth.schema import SCHEMA
from slicebase.workspace.boundary import not_a_file, not_a_log, real_path

DATABASE_VERSION = 7
_APPLICATION_ID = 0x534C4342  # "SLCB": marks the file as a Slicebase database
_BUSY_AT_END = 1000  # milliseconds that the log waits for another process
_UNLOGGED = 32  # transactions after which the heads of their chains are logged


class SqliteDatabase(Database):
    """A connection to the truth in a file."""

    dialect = Dialect(
        item="json_extract(CAST({0} AS TEXT), '$[{1}]')",
        field="CASE WHEN json_valid(CAST({0} AS TEXT)) THEN json_extract(CAST({0} AS TEXT), '$.{1}') END",
        each="json_each({})",
    )
    connection: apsw.Connection
    is_shared = False

    def __init__(self, path: Path, connection: apsw.Connection, *, has_grown: bool = False) -> None:
        super().__init__()
        self.path = path
        self.connection = connection
        self.read_only = connection.readonly("main") or bool(connection.pragma("query_only"))
        self.file_id = _file_id(path)  # of the file that was opened; another one may have its path later
        self._has_grown = has_grown  # rows were appended through this connection, and not logged
        self._unlogged = 0

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
    def state(self) -> tuple[int, ...]:
        """A value that changes with every write of this connection or another."""
        return int(self.connection.pragma("data_version")), self.connection.total_changes()

    def errors(self) -> AbstractContextManager[None]:
        """Turns errors of SQLite and of the system inside the block into errors of ours."""
        return database_errors(self.path)

    # Chains

    def _has_appended(self, chain: Chain, head: ChainHead) -> None:
        self._has_grown = True

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
                log_heads(connection, given | self.unlogged())
        except BaseException:
            self._has_grown = has_grown
            raise

    def unlogged(self) -> set[Chain]:
        """Returns the chains that have grown since their heads were logged, whoever wrote them."""
        return unlogged(self.connection)

    # Transactions

    def _begin(self, *, writes: bool) -> None:
        self.connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    def _finish(self) -> None:
        """Leaves the log for later: one entry stands for many transactions."""

    def _has_committed(self) -> None:
        self._unlogged += self._has_grown
        if self._unlogged > _UNLOGGED:
            with suppress(SlicebaseError):  # the transaction itself is stored
                self.log()

    @contextmanager
    def rolled_back(self) -> Iterator[None]:
        """Runs a transaction that is always rolled back, for a dry run."""
        before = self._has_grown
        try:
            with super().rolled_back():
                yield
        finally:
            self._has_grown = before

    def wait(self, milliseconds: int) -> None:
        """Waits at most so long for a lock of another process, from now on."""
        self.connection.set_busy_timeout(milliseconds)

    def problems(self) -> list[str]:
        """Returns the damage that SQLite finds, at most ten problems."""
        found = [str(problem) for (problem,) in self.connection.execute("PRAGMA integrity_check(10)")]
        return [] if found == ["ok"] else found

    def differences(self) -> Iterator[tuple[str, str, str]]:
        """Yields the tables, indexes and triggers that are not as they were created."""
        expected, found = _as_created(), _objects(self.connection)
        for name in sorted({*expected, *found}):
            if expected.get(name) != found.get(name):
                there = "another one" if name in found and name in expected else "none" if name in expected else "one"
                yield name, "as Slicebase creates it" if name in expected else "nothing", there

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

    def purging(self) -> AbstractContextManager[None]:
        """Does nothing: a trigger lets texts be replaced by tombstones."""
        return nullcontext()

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


@cache
def _as_created() -> dict[str, str]:
    """Returns the tables, indexes and triggers that a new database has."""
    connection = apsw.Connection(":memory:")
    connection.execute(SCHEMA)
    return _objects(connection)


def _objects(connection: apsw.Connection) -> dict[str, str]:
    """Returns the tables, indexes, views and triggers of a database by their names, but for those of SQLite itself."""
    query = "SELECT type || ' ' || name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"
    return {str(name): str(sql) for name, sql in connection.execute(query)}


def _flush(path: Path) -> None:
    with suppress(FileNotFoundError), path.open("rb") as log:
        os.fsync(log.fileno())


# Opening


def open_database(
    path: Path, *, create: bool = False, or_empty: bool = False, opener: Opener | None = None
) -> SqliteDatabase:
    """Opens the database at `path`. Creates it only with `create`.

    Where it is missing and cannot be created, or with `or_empty`, it is an empty one in memory that is only read.
    """
    opener = opener or Opener()
    refuse_lost(path, opener)
    if or_empty and not is_there(path):
        return empty_database(path)
    if not create and not is_there(path):
        raise SlicebaseError(
            "no-database", f"there is no database at {path} yet", hint="`tt import` creates it with a conversation"
        )
    if _cannot_be_created(path):
        return empty_database(path)
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
    return SqliteDatabase(path, connection, has_grown=has_new_act)


def can_only_be_read(path: Path) -> bool:
    """Returns whether nothing can be stored in the database at `path`, which may be missing."""
    return _cannot_be_created(path) or _is_frozen(path)


def _cannot_be_created(path: Path) -> bool:
    """Returns whether the database is missing, and the folder that it would be created in cannot be written."""
    nearest = next(folder for folder in path.parents if os.path.lexists(folder))
    return not os.path.lexists(path) and nearest.is_dir() and not os.access(nearest, os.W_OK)


def empty_database(path: Path) -> SqliteDatabase:
    """Returns an empty database in memory that is only read."""
    connection = apsw.Connection(":memory:")
    connection.execute(SCHEMA)
    # Its id is no id: nothing that an index keeps of it names a database.
    append_rows(connection, Chain("acts"), [act_row(CREATE, Opener(new_id=lambda: "-").identity())])
    connection.pragma("query_only", True)
    return SqliteDatabase(path, connection)


def _is_frozen(path: Path) -> bool:
    """Returns whether the database can only be read: no write-ahead log can be created in its folder."""
    log = Path(f"{path}-wal")
    return is_there(path) and not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)


def _connected_to_frozen(path: Path) -> apsw.Connection:
    return apsw.Connection(
        f"{real_path(path).as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )


def _connected(path: Path, *, create: bool) -> apsw.Connection:
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0))


def _configure(connection: apsw.Connection, *, is_frozen: bool) -> None:
    connection.set_busy_timeout(LONGEST_WAIT)
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


def _ensure_ours(connection: apsw.Connection, path: Path, opener: Opener) -> bool:
    """Refuses a database of somebody else, or another one than the workspace had.

    With `adopt`, takes it over instead; returns whether it did.
    """
    stated = identities(connection)
    if not (opener.adopt or opener.restore):
        refuse_others(stated, path, opener)
        return False
    with _transaction(connection):
        log = head_of(connection, Chain(LOG)).length
        kind = ADOPT if is_of_others(stated, opener) and not opener.restore else RESTORE
        append_rows(connection, Chain("acts"), [act_row(kind, opener.identity(stated[-1].database, log))])
        log_heads(connection, [Chain("acts")])
    return True


def _file_id(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
