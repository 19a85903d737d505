"""Opening the truth: settings, schema version, migrations with a backup before, locks as errors."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import apsw

from slicebase.errors import SlicebaseError, Where
from slicebase.store.schema import SCHEMA, VERSION

_APPLICATION_ID = 0x534C4342  # "SLCB": this file is a Slicebase database and no other program's
_BUSY_MILLISECONDS = 10_000

Migration = Callable[[apsw.Connection], None]
# MIGRATIONS[n] brings a database from version n to n + 1.
MIGRATIONS: Mapping[int, Migration] = {}


class Database:
    """A connection to the truth."""

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self.path = path
        self.connection = connection
        self.read_only = connection.readonly("main")

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """One transaction: all of it is stored, or nothing. Inside another one it is a part of that."""
        if self.connection.in_transaction:
            yield self.connection
            return
        with translated(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:  # SQLite itself rolls back when the disk is full
                    self.connection.execute("ROLLBACK")
                raise

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Everything inside happens, and nothing of it stays."""
        with translated(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                self.connection.execute("ROLLBACK")

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """Many transactions, durable together: the log reaches the disk once, at the end."""
        self.connection.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            with translated(self.path):
                self.connection.execute("PRAGMA synchronous = FULL")
                self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)

    @contextmanager
    def erasing(self) -> Iterator[None]:
        """Neither the free pages of the file nor the log keep what is taken away inside."""
        self.connection.execute("PRAGMA secure_delete = ON")
        yield
        with translated(self.path):
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self.connection.execute("VACUUM")
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def open_database(path: Path, *, create: bool = False, migrations: Mapping[int, Migration] = MIGRATIONS) -> Database:
    if not create and not path.exists():
        raise SlicebaseError(
            "no-database", f"there is no database at {path} yet", hint="bring a conversation in with `tt import`"
        )
    with translated(path):
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        is_frozen = _is_frozen(path)
        connection = _connected_to_frozen(path) if is_frozen else _connected(path, create=create)
        try:
            _settle(connection, is_frozen=is_frozen)
            _ensure_schema(connection, path, migrations)
        except BaseException:
            connection.close()
            raise
    return Database(path, connection)


def _is_frozen(path: Path) -> bool:
    """Whether the database can be read, but not shared with a writer: its folder takes no write-ahead log."""
    log = Path(f"{path}-wal")
    return path.exists() and not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)


def _connected_to_frozen(path: Path) -> apsw.Connection:
    return apsw.Connection(
        f"{path.resolve().as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )


def _connected(path: Path, *, create: bool) -> apsw.Connection:
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0))


def _settle(connection: apsw.Connection, *, is_frozen: bool) -> None:
    connection.set_busy_timeout(_BUSY_MILLISECONDS)
    if not is_frozen:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA recursive_triggers = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cache_size = -65536")


def _ensure_schema(connection: apsw.Connection, path: Path, migrations: Mapping[int, Migration]) -> None:
    if _version(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")  # so that one process alone makes or migrates it
    try:
        version = _version(connection)
        if version == 0 and not connection.pragma("schema_version"):
            connection.execute(SCHEMA)
            connection.pragma("application_id", _APPLICATION_ID)
        elif connection.pragma("application_id") != _APPLICATION_ID:
            raise SlicebaseError("not-our-database", f"{path} belongs to another program", where=Where(str(path)))
        elif version > VERSION:
            raise SlicebaseError(
                "database-newer",
                f"the database has version {version}, this program knows {VERSION}",
                hint="update Slicebase",
                where=Where(str(path)),
            )
        else:
            _migrate(connection, path, version, migrations)
        connection.pragma("user_version", VERSION)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself rolls back when the disk is full
            connection.execute("ROLLBACK")
        raise


def _version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))


def _migrate(connection: apsw.Connection, path: Path, version: int, migrations: Mapping[int, Migration]) -> None:
    backup(path, path.with_suffix(f".v{version}.backup"))
    for step in range(version, VERSION):
        migrations[step](connection)


def backup(path: Path, to: Path) -> None:
    """A consistent copy of a database that others may be reading and writing."""
    source, target = apsw.Connection(str(path)), apsw.Connection(str(to))
    try:
        with target.backup("main", source, "main") as copying:
            copying.step()
    finally:
        target.close()
        source.close()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's and the system's complaints as errors of ours."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        told = in_our_words(error)
        if told is None:
            raise
        raise told.at(Where(str(path))) from None


def in_our_words(error: Exception) -> SlicebaseError | None:
    """What SQLite or the system says of a database; None for what only a fault of the program can cause."""
    if isinstance(error, apsw.BusyError):
        return SlicebaseError("locked", "another process is writing", hint="try again when it is done")
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return SlicebaseError(
            "database-damaged",
            f"SQLite cannot read the database: {error}",
            hint="restore it from a backup; the transcripts can be imported again",
        )
    if isinstance(error, apsw.FullError):
        return SlicebaseError("disk-full", "the disk is full; nothing was written")
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.IOError | OSError):
        return SlicebaseError("cannot-write", f"the database cannot be used: {error}")
    return None
