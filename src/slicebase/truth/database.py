"""The SQLite database of the truth: its tables, and how it is opened, migrated and written.

A truth table holds records as the canonical bytes that were hashed, next to the keys that find them. A key begins with
the session, the run or the manifest that the row belongs to. Rows of one owner are numbered without gaps, so that
`verify` notices a removed row. Triggers forbid every change and removal, except the purge of a text. Derived tables can
be filled again from the truth tables, and `verify` compares them.

A database of an older version is backed up and then migrated. A locked, damaged or full database is an error of ours.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.disk import disk_full, is_full

DATABASE_VERSION = 1


# The tables, and their triggers

# Tables whose rows are numbered, each with the column of the owner within which they are numbered.
_NUMBERED = {
    "sessions": "session",
    "turns": "session",
    "links": "session",
    "annotations": "session",
    "events": "run",
    "snapshots": "run",
}
# Tables in which the second insert of a key adds nothing, each with the columns of its key.
_KEYED = {
    "texts": ("owner", "hash"),
    "policies": ("hash",),
    "manifests": ("manifest",),
    "evidence": ("evidence",),
}

_TABLES = """
CREATE TABLE sessions (
  session TEXT NOT NULL, seq INTEGER NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (session, seq)
);
CREATE TABLE turns (
  session TEXT NOT NULL, seq INTEGER NOT NULL, turn BLOB NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (session, seq)
);
CREATE INDEX turns_by_id ON turns (turn);
CREATE TABLE links (
  session TEXT NOT NULL, seq INTEGER NOT NULL, child BLOB NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (session, seq)
);
CREATE INDEX links_by_child ON links (child);
-- a record annotates several turns, whose numbers in the session lie between first and last
CREATE TABLE annotations (
  session TEXT NOT NULL, seq INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (session, seq)
);
CREATE INDEX annotations_by_turn ON annotations (session, last, first);
CREATE TABLE texts (
  owner TEXT NOT NULL, hash BLOB NOT NULL, bytes BLOB, purged TEXT,
  PRIMARY KEY (owner, hash),
  CHECK ((bytes IS NULL) = (purged IS NOT NULL))
);
CREATE INDEX texts_purged ON texts (owner) WHERE purged IS NOT NULL;
CREATE TABLE policies (hash TEXT PRIMARY KEY, record BLOB NOT NULL);
-- a manifest's id is made from its record; the hash covers the id and the time of recording
CREATE TABLE manifests (manifest TEXT PRIMARY KEY, recorded TEXT NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL);
-- what a run's chain covers; payloads are texts of the run
CREATE TABLE events (
  run TEXT NOT NULL, seq INTEGER NOT NULL, payload BLOB NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (run, seq)
) STRICT;
-- a record names the text of the run that holds the snapshot, complete or as what it adds to the one before
CREATE TABLE snapshots (
  run TEXT NOT NULL, seq INTEGER NOT NULL, snapshot TEXT NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL,
  PRIMARY KEY (run, seq)
) STRICT;
CREATE INDEX snapshots_by_id ON snapshots (snapshot);
-- evidence is named by the hash of its record; its quote is a text of the corpus that it was cut from
CREATE TABLE evidence (evidence TEXT PRIMARY KEY, chunk TEXT NOT NULL, record BLOB NOT NULL) STRICT;
CREATE INDEX evidence_by_chunk ON evidence (chunk);

-- derived: a parent that has not arrived yet, and the turns that wait for it
CREATE TABLE waiting (parent BLOB NOT NULL, child BLOB NOT NULL, PRIMARY KEY (parent, child)) WITHOUT ROWID;
-- derived: how large a session is, and how many turns of it have two parents
CREATE TABLE shapes (session TEXT PRIMARY KEY, turns INTEGER NOT NULL, joins INTEGER NOT NULL) WITHOUT ROWID;
-- derived, for large sessions: the root and depth of a turn, so that a slice reads only a window of its tree
CREATE TABLE places (
  session TEXT NOT NULL, root BLOB NOT NULL, depth INTEGER NOT NULL, seq INTEGER NOT NULL,
  PRIMARY KEY (session, root, depth, seq)
) WITHOUT ROWID;
CREATE INDEX places_by_seq ON places (session, seq);
-- derived: the head and the counts of each run, and the last event of each of its steps
CREATE TABLE runs (
  run TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash BLOB NOT NULL, started TEXT NOT NULL, updated TEXT NOT NULL,
  sequence INTEGER NOT NULL, compacted INTEGER NOT NULL, counted INTEGER NOT NULL, steps INTEGER NOT NULL,
  all_steps INTEGER NOT NULL, cost REAL NOT NULL, stopped TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE steps (
  run TEXT NOT NULL, step INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (run, step)
) STRICT, WITHOUT ROWID;
"""


def _append_only(table: str) -> str:
    """Returns the triggers that forbid changes and removals. Of a text, the bytes can be purged."""
    change = "NEW.bytes IS NULL AND NEW.owner IS OLD.owner AND NEW.hash IS OLD.hash" if table == "texts" else "0"
    return f"""
CREATE TRIGGER {table}_keep BEFORE DELETE ON {table}
BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END;
CREATE TRIGGER {table}_fixed BEFORE UPDATE ON {table} WHEN NOT ({change})
BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END;
"""


def _numbered(table: str, owner: str) -> str:
    """Returns the trigger that numbers rows without gaps.

    It also stops INSERT OR REPLACE, which would pass the other triggers on a connection of another program.
    """
    return f"""
CREATE TRIGGER {table}_next BEFORE INSERT ON {table}
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM {table} WHERE {owner} = NEW.{owner})
BEGIN SELECT RAISE(ABORT, '{table} is numbered without gaps'); END;
"""


def _keyed(table: str, columns: tuple[str, ...]) -> str:
    """Returns the trigger that keeps the first row of a key: any kind of INSERT with the same key adds nothing."""
    same = " AND ".join(f"{column} = NEW.{column}" for column in columns)
    return f"""
CREATE TRIGGER {table}_once BEFORE INSERT ON {table} WHEN EXISTS (SELECT 1 FROM {table} WHERE {same})
BEGIN SELECT RAISE(IGNORE); END;
"""


SCHEMA = (
    _TABLES
    + "".join(map(_append_only, (*_NUMBERED, *_KEYED)))
    + "".join(_numbered(table, owner) for table, owner in _NUMBERED.items())
    + "".join(_keyed(table, columns) for table, columns in _KEYED.items())
)


# Opening

_APPLICATION_ID = 0x534C4342  # "SLCB": marks the file as a Slicebase database
_BUSY_MILLISECONDS = 10_000

Migration = Callable[[apsw.Connection], None]
# MIGRATIONS[n] changes a database from version n to version n + 1.
MIGRATIONS: Mapping[int, Migration] = {}


class Database:
    """A connection to the truth."""

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self.path = path
        self.connection = connection
        self.read_only = connection.readonly("main") or bool(connection.pragma("query_only"))

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Runs one transaction: everything is stored, or nothing. Inside another transaction, it is a part of that."""
        if self.connection.in_transaction:
            with self._part():
                yield self.connection
            return
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
        with database_errors(self.path):
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                yield
            finally:
                self._roll_back()

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
        with database_errors(self.path):
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self.connection.execute("VACUUM")
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def _flush(path: Path) -> None:
    with suppress(FileNotFoundError), path.open("rb") as log:
        os.fsync(log.fileno())


def open_database(path: Path, *, create: bool = False, migrations: Mapping[int, Migration] = MIGRATIONS) -> Database:
    """Opens the database at `path`, and migrates it if it is older. Creates it only with `create`.

    Where it is missing and its folder cannot be written, it is an empty one in memory that can only be read.
    """
    if not create and not path.exists():
        raise SlicebaseError(
            "no-database", f"there is no database at {path} yet", hint="`tt import` creates it with a conversation"
        )
    if _cannot_be_created(path):
        return _empty(path)
    with database_errors(path):
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        is_frozen = _is_frozen(path)
        connection = _connected_to_frozen(path) if is_frozen else _connected(path, create=create)
        try:
            _configure(connection, is_frozen=is_frozen)
            _ensure_schema(connection, path, migrations)
        except BaseException:
            connection.close()
            raise
    return Database(path, connection)


def _cannot_be_created(path: Path) -> bool:
    """Returns whether the database is missing, and the folder that it would be created in cannot be written."""
    nearest = next(folder for folder in path.parents if os.path.lexists(folder))
    return not os.path.lexists(path) and nearest.is_dir() and not os.access(nearest, os.W_OK)


def _empty(path: Path) -> Database:
    connection = apsw.Connection(":memory:")
    connection.execute(SCHEMA)
    connection.pragma("query_only", True)
    return Database(path, connection)


def _is_frozen(path: Path) -> bool:
    """Returns whether the database can only be read: no write-ahead log can be created in its folder."""
    log = Path(f"{path}-wal")
    return path.exists() and not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)


def _connected_to_frozen(path: Path) -> apsw.Connection:
    return apsw.Connection(
        f"{path.resolve().as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
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


def _ensure_schema(connection: apsw.Connection, path: Path, migrations: Mapping[int, Migration]) -> None:
    if _version(connection) == DATABASE_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")  # so that only one process creates or migrates it
    try:
        version = _version(connection)
        if version == 0 and not connection.pragma("schema_version"):
            connection.execute(SCHEMA)
            connection.pragma("application_id", _APPLICATION_ID)
        elif connection.pragma("application_id") != _APPLICATION_ID:
            raise SlicebaseError("not-our-database", f"{path} belongs to another program", where=Where(str(path)))
        elif version > DATABASE_VERSION:
            raise SlicebaseError(
                "database-newer",
                f"the database has version {version}, but this program knows only versions up to {DATABASE_VERSION}",
                hint="update Slicebase",
                where=Where(str(path)),
            )
        else:
            _migrate(connection, path, version, migrations)
        connection.pragma("user_version", DATABASE_VERSION)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite rolls back by itself when the disk is full
            connection.execute("ROLLBACK")
        raise


def _version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))


def _migrate(connection: apsw.Connection, path: Path, version: int, migrations: Mapping[int, Migration]) -> None:
    backup(path, path.with_suffix(f".v{version}.backup"))
    for step in range(version, DATABASE_VERSION):
        migrations[step](connection)


def backup(path: Path, to: Path) -> None:
    """Writes a consistent copy of a database, which other processes can read and write meanwhile."""
    source, target = apsw.Connection(str(path)), apsw.Connection(str(to))
    try:
        with target.backup("main", source, "main") as copy:
            copy.step()
    finally:
        target.close()
        source.close()


@contextmanager
def database_errors(path: Path) -> Iterator[None]:
    """Turns an error of SQLite or of the system into a SlicebaseError."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        ours = as_our_error(error)
        if ours is None:
            raise
        raise ours.at(Where(str(path))) from None


def as_our_error(error: Exception) -> SlicebaseError | None:
    """Returns our error for an error of SQLite or of the system, or None where only a bug of ours can cause it."""
    if isinstance(error, apsw.BusyError):
        return SlicebaseError("locked", "another process is writing", hint="try again when it is done")
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return SlicebaseError(
            "database-damaged",
            f"SQLite cannot read the database: {error}",
            hint="restore it from a backup; the transcripts can be imported again",
        )
    if is_full(error):
        return disk_full()
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.IOError | OSError):
        return SlicebaseError("cannot-write", f"the database cannot be used: {error}")
    return None
