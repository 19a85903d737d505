"""A SQLite database that can be deleted at any time: if it is missing, damaged or of another version, it is rebuilt.

A process that uses the database holds a shared lock, and a process that deletes it holds an exclusive one. So nobody
opens one file of an old database with another file of a new one. Where nothing can be written, the database is built in
memory for one query.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import apsw

from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.boundary import PRIVATE_MODE, narrow_opened, private_database
from slicebase.workspace.disk import disk_full, has_no_space, is_full
from slicebase.workspace.workspace import own_folder

_OPEN: Final = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOFOLLOW
_FILES: Final = ("", "-wal", "-shm")

_Answer = TypeVar("_Answer")

# With these errors, the file cannot be used, and the database is built in memory instead.
_UNUSABLE: Final = (
    OSError, apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError, apsw.FullError, apsw.PermissionsError,
)  # fmt: skip


class DatabaseLayout(NamedTuple):
    """What a database must have to be used as it is; a database with another layout is rebuilt."""

    application: int
    version: int
    schema: str


class Patience(NamedTuple):
    """How long to wait for others, in seconds: for their transactions, and for their locks."""

    transactions: float = 120  # long enough for another process to fill a large database
    locks: float = 5


PATIENT: Final = Patience()


class Disposable:
    """A database at a path that is built when it is needed."""

    def __init__(self, path: Path, layout: DatabaseLayout, patience: Patience = PATIENT) -> None:
        self.path = path
        self._lock = path.with_suffix(".lock")
        self._layout = layout
        self._patience = patience

    def ask(self, question: Callable[[apsw.Connection], _Answer]) -> _Answer:
        """Calls `question` with a connection and returns its result.

        It may also write. If the database has to be rebuilt, it is called again.
        """

        def in_file() -> _Answer:
            with self._opened() as connection:
                return question(connection)

        def in_memory() -> _Answer:
            with self._in_memory() as connection:
                return question(connection)

        return self._with_fallback(in_file, in_memory)

    def open(self) -> "OpenDatabase":
        """Opens the database until the result is closed. Nobody can delete it meanwhile."""
        return self._with_fallback(lambda: OpenDatabase.of(self._opened()), self.open_in_memory)

    def open_in_memory(self) -> "OpenDatabase":
        """Opens a new database in memory."""
        return OpenDatabase.of(self._in_memory())

    def _with_fallback(self, in_file: Callable[[], _Answer], in_memory: Callable[[], _Answer]) -> _Answer:
        """Calls `in_file`, again after a rebuild if the file is damaged or has another layout; else `in_memory`."""
        for _ in range(2):
            try:
                return in_file()
            except apsw.BusyError:
                raise SlicebaseError(
                    "locked",
                    "another process is building the index",
                    hint="try again later",
                    where=Where(str(self.path)),
                ) from None
            except _UNUSABLE:
                break
            except (apsw.Error, _OtherLayoutError):
                if not self.discard():
                    break
            except (ValueError, TypeError, LookupError):  # as values that nobody has written cause
                if self.is_sound() or not self.discard():
                    raise
        return in_memory()

    def exists(self) -> bool:
        """Returns whether any file of the database exists, or might exist where that cannot be seen."""
        for suffix in _FILES:
            try:
                os.lstat(f"{self.path}{suffix}")
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                pass
            return True
        return False

    def discard(self) -> bool:
        """Deletes the database. Returns whether that was possible."""
        try:
            self._delete()
        except OSError:
            return False
        return True

    def purge(self) -> None:
        """Deletes the database because it holds purged words. Raises `locked` or `cannot-write` if it cannot."""
        if not self.exists():
            return
        kept = "the index still holds what was purged"
        try:
            self._delete()
        except BlockingIOError:
            hint = "purge it again when the other process is done"
            raise SlicebaseError("locked", f"{kept}: it is in use", hint=hint, where=Where(str(self.path))) from None
        except OSError as error:
            hint = "delete the file and its -wal and -shm files"
            message = f"{kept}, and cannot be deleted: {error.strerror}"
            raise SlicebaseError("cannot-write", message, hint=hint, where=Where(str(self.path))) from None

    def _delete(self) -> None:
        with self._locked(fcntl.LOCK_EX):
            for suffix in _FILES:
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def is_sound(self) -> bool:
        """Returns whether SQLite finds no damage. A database that is missing or of another version is sound.

        Raises `disk-full` where there is no space to look: that is not damage.
        """
        if not self.path.exists():
            return True
        try:
            with self._opened() as connection:
                check_words(connection)
                return not problems_of(connection)
        except (apsw.BusyError, BlockingIOError):
            return True  # another process uses it
        except (OSError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError) as error:
            if is_full(error) or has_no_space(self.path.parent):
                raise disk_full(Where(str(self.path))) from None
            return not os.access(self.path.parent, os.W_OK)  # in a read-only folder, this is not a sign of damage
        except _OtherLayoutError:
            return True  # it is rebuilt when it is needed
        except apsw.Error:
            return False

    def tick(self) -> int:
        """Returns the time by the disk's clock, in nanoseconds: a file that is changed later has no earlier time."""
        try:
            os.utime(self._lock, follow_symlinks=False)
            return os.lstat(self._lock).st_mtime_ns
        except OSError:
            return 0

    @contextmanager
    def _opened(self) -> Iterator[apsw.Connection]:
        own_folder(self.path.parent)
        with self._locked(fcntl.LOCK_SH):
            private_database(self.path)
            with _connected(str(self.path), self._patience) as connection:
                self._ensure_layout(connection)
                yield connection

    @contextmanager
    def _in_memory(self) -> Iterator[apsw.Connection]:
        with _connected(":memory:", self._patience) as connection:
            self._ensure_layout(connection)
            yield connection

    @contextmanager
    def _locked(self, mode: int) -> Iterator[None]:
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_MODE)
        try:
            narrow_opened(lock)
            _wait_for(lock, mode, self._patience)
            yield
        finally:
            os.close(lock)

    def _ensure_layout(self, connection: apsw.Connection) -> None:
        application, version, schema = self._layout
        if _layout_of(connection) == (application, version):
            return
        connection.pragma("journal_mode", "WAL")
        with writing(connection):  # only one process creates it
            if not connection.pragma("schema_version"):
                connection.execute(schema)
                connection.pragma("application_id", application)
                connection.pragma("user_version", version)
            elif _layout_of(connection) != (application, version):
                raise _OtherLayoutError


def problems_of(connection: apsw.Connection) -> list[str]:
    """Returns the damage that SQLite finds in a database, at most ten problems."""
    found = [str(problem) for (problem,) in connection.execute("PRAGMA integrity_check(10)")]
    return [] if found == ["ok"] else found


def check_words(connection: apsw.Connection) -> None:
    """Checks the full-text indexes of a database. Raises an error of SQLite if one is damaged."""
    query = "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5 (%'"
    for (name,) in connection.execute(query).fetchall():
        connection.execute(f"INSERT INTO {name} ({name}) VALUES ('integrity-check')")


class OpenDatabase(NamedTuple):
    """An open database, and the function that closes it."""

    connection: apsw.Connection
    close: Callable[[], None]

    @classmethod
    def of(cls, opened: AbstractContextManager[apsw.Connection]) -> "OpenDatabase":
        """Enters a context manager that is left when the result is closed."""
        stack = ExitStack()
        return cls(stack.enter_context(opened), stack.close)


class _OtherLayoutError(Exception):
    """The database belongs to another program, or has another version."""


@contextmanager
def reading(connection: apsw.Connection) -> Iterator[None]:
    """Keeps one view of the database inside the block, even if another process writes meanwhile."""
    try:
        connection.execute("BEGIN")
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def writing(connection: apsw.Connection) -> Iterator[None]:
    """Runs one transaction, which waits for other writers before it begins."""
    try:
        connection.execute("BEGIN IMMEDIATE")  # inside: an interruption after it must not leave it open
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite rolls back by itself when the disk is full
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _connected(path: str, patience: Patience) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(path, flags=_OPEN)
    try:
        connection.set_busy_timeout(int(patience.transactions * 1000))
        connection.execute("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536; PRAGMA trusted_schema = OFF")
        yield connection
    finally:
        connection.close()


def _layout_of(connection: apsw.Connection) -> tuple[int, int]:
    return int(connection.pragma("application_id")), int(connection.pragma("user_version"))


_BETWEEN_TRIES: Final = 0.05  # seconds between two tries to take the lock


def _wait_for(lock: int, mode: int, patience: Patience) -> None:
    for _ in range(max(1, int(patience.locks / _BETWEEN_TRIES))):
        try:
            return fcntl.flock(lock, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_BETWEEN_TRIES)
    raise BlockingIOError("the lock of the index is held")
