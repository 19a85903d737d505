"""A SQLite database that can be deleted at any time: if it is missing, damaged or of another version, it is rebuilt.

A process that uses the database holds a shared lock, and a process that deletes it holds an exclusive one. So nobody
opens one file of an old database with another file of a new one.

A question never fails because of the file. Where it cannot be written, because another process holds it for long, the
disk is full, or nothing there may be changed, the question is asked in memory: of a copy of the file if it can be read,
which the question brings up to date, and else of an empty database, which it fills.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import apsw

from slicebase.errors import SlicebaseError, Where
from slicebase.truth.failures import database_errors
from slicebase.workspace.boundary import PRIVATE_MODE, narrow_opened, not_a_log, private_database
from slicebase.workspace.disk import disk_full, has_no_space, is_full
from slicebase.workspace.workspace import own_folder

_OPEN: Final = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOFOLLOW
_FILES: Final = ("", "-journal", "-wal", "-shm")

_Answer = TypeVar("_Answer")

# With these errors, the file cannot be used now.
_OBSTACLES: Final = (
    OSError, apsw.BusyError, apsw.LockedError, apsw.ProtocolError, apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError,
    apsw.FullError, apsw.PermissionsError, apsw.AuthError,
)  # fmt: skip


class DatabaseLayout(NamedTuple):
    """What a database must have to be used as it is; a database with another layout is rebuilt."""

    application: int
    version: int
    schema: str


class Patience(NamedTuple):
    """How long to wait for others, in seconds: for their transactions, and for their locks."""

    transactions: float = 60  # to build a large index again costs more; see `hurry`
    locks: float = 5


PATIENT: Final = Patience()
_HURRIED: Final = 2.0  # seconds
_KEPT_LOCKS: Final = 0.25  # seconds; others may keep a database open for as long as they run


class OtherDatabaseError(Exception):
    """The database belongs to another program, has another version, or describes something else: it is built again."""


class _UnusableError(Exception):
    """The file, or a copy of it, cannot be used now."""


class _DoubtfulError(Exception):
    """A question fails: because the file has values that nobody has written, or because of a bug of ours."""


class Disposable:
    """A database at a path that is built when it is needed; without a path, in memory.

    With `keeps_open` it stays open from one question to the next, until it is closed.
    """

    def __init__(self, path: Path | None, layout: DatabaseLayout, *, keeps_open: bool = False) -> None:
        self.path = path or Path(":memory:")
        self._lock = self.path.with_suffix(".lock")
        self._layout = layout
        self._keeps_open = keeps_open
        self._has_waited = False  # in vain: then the next question does not wait
        self.was_full = False  # whether there was no space for the file when it was asked last
        self._file = ExitStack()
        self._file_connection: apsw.Connection | None = None
        self._memory: apsw.Connection | None = None  # what the last question was asked of, if not the file
        self._has_file = path is not None

    @property
    def is_in_memory(self) -> bool:
        """Whether the last question was not asked of the file."""
        return self._memory is not None

    def close(self) -> None:
        """Closes what is open; the next question opens it again."""
        self._close_file()
        self._close_memory()

    def _close_file(self) -> None:
        self._file_connection = None
        self._file.close()

    def _close_memory(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    # Asking

    def ask(self, question: Callable[[apsw.Connection], _Answer]) -> _Answer:
        """Calls `question` with a connection and returns its result.

        It may also write. If the database has to be rebuilt, or the file cannot be used, it is called again.
        """
        if self._has_file:
            try:
                return self._ask_file(question)
            except _DoubtfulError:
                self._close_memory()
                answer = self._ask_memory(question)  # raises the error again if it comes from a bug
                self.discard()
                return answer
            except _UnusableError:
                with suppress(_UnusableError):
                    return self._ask_copy(question)
        return self._ask_memory(question)

    def fill(self, action: Callable[[apsw.Connection], object]) -> None:
        """Calls `action` with a connection to the file, for questions to come; not if the file cannot be used."""
        if not self._has_file:
            self._ask_memory(action)
            return
        with suppress(_UnusableError, _DoubtfulError):
            self._ask_file(action)

    def _ask_file(self, question: Callable[[apsw.Connection], _Answer]) -> _Answer:
        """Asks the file. One that is damaged or has another layout is deleted, and built again by the question."""
        for _ in range(2):
            try:
                answer = self._with_file(question)
            except SlicebaseError:
                raise  # it is about something else
            except _OBSTACLES as error:
                self._has_waited = True
                self.was_full = is_full(error) or has_no_space(self.path.parent)
                raise _UnusableError from error
            except (apsw.CorruptError, apsw.NotADBError, OtherDatabaseError):
                if not self.discard():
                    break
            except Exception as error:
                raise _DoubtfulError from error
            else:
                self._has_waited = self.was_full = False
                self._close_memory()
                return answer
        raise _UnusableError

    def _with_file(self, question: Callable[[apsw.Connection], _Answer]) -> _Answer:
        if not self._keeps_open:
            with self._opened() as connection:
                return question(connection)
        if self._file_connection is None:
            self._file_connection = self._file.enter_context(self._opened())
        _set_patience(self._file_connection, self._patience)
        return question(self._file_connection)

    def hurry(self) -> None:
        """Lets a question that adds little wait shortly for other processes: it adds the same to a copy soon enough."""
        if self._file_connection is not None:
            longest = self._patience
            _set_patience(self._file_connection, longest._replace(transactions=min(longest.transactions, _HURRIED)))

    def _ask_copy(self, question: Callable[[apsw.Connection], _Answer]) -> _Answer:
        """Asks a copy of the file, or the database in memory that the last question has left."""
        try:
            self._memory = self._memory or self._copied()
            return question(self._memory)
        except SlicebaseError:
            raise
        except Exception as error:  # it cannot be copied, or what was copied is damaged
            self._close_memory()
            raise _UnusableError from error

    def _copied(self) -> apsw.Connection:
        copy = _in_memory()
        with self._opened() as source, copy.backup("main", source, "main") as backup:
            backup.step()
        return copy

    def _ask_memory(self, question: Callable[[apsw.Connection], _Answer]) -> _Answer:
        """Asks a database in memory, at first an empty one."""
        if self._memory is None:
            self._memory = _in_memory()
            self._ensure_layout(self._memory)
        with database_errors(self.path):
            return question(self._memory)

    @property
    def _patience(self) -> Patience:
        if self._has_waited:
            return Patience(0, 0)
        return PATIENT._replace(locks=min(PATIENT.locks, _KEPT_LOCKS)) if self._keeps_open else PATIENT

    # Deleting

    def exists(self) -> bool:
        """Returns whether any file of the database exists, or might exist where that cannot be seen."""
        if not self._has_file:  # a file that is called `:memory:` is somebody's
            return False
        for suffix in _FILES:
            try:
                os.lstat(f"{self.path}{suffix}")
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                pass
            return True
        return False

    def size(self) -> int:
        """Returns the bytes of the file; 0 if there is none, or it cannot be seen."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

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
        self._has_waited = False
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
        self._close_file()
        with self._locked(fcntl.LOCK_EX):
            for suffix in _FILES:
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def is_sound(self) -> bool:
        """Returns whether SQLite finds no damage. A database that is missing or of another version is sound.

        Raises `disk-full` where there is no space to look: that is not damage.
        """
        if not self.exists():
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
        except OtherDatabaseError:
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
            with _connected(self.path, self._patience) as connection:
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
                raise OtherDatabaseError


def problems_of(connection: apsw.Connection) -> list[str]:
    """Returns the damage that SQLite finds in a database, at most ten problems."""
    found = [str(problem) for (problem,) in connection.execute("PRAGMA integrity_check(10)")]
    return [] if found == ["ok"] else found


def check_words(connection: apsw.Connection) -> None:
    """Checks the full-text indexes of a database. Raises an error of SQLite if one is damaged."""
    query = "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5 (%'"
    for (name,) in connection.execute(query).fetchall():
        connection.execute(f"INSERT INTO {name} ({name}) VALUES ('integrity-check')")


@contextmanager
def reading(connection: apsw.Connection) -> Iterator[None]:
    """Keeps one view of the database inside the block, even if another process writes meanwhile."""
    if connection.in_transaction:
        yield
        return
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
def _connected(path: Path, patience: Patience) -> Iterator[apsw.Connection]:
    if special := not_a_log(path):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(special))
    connection = apsw.Connection(str(path), flags=_OPEN)
    try:
        _set_patience(connection, patience)
        connection.execute("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536; PRAGMA trusted_schema = OFF")
        yield connection
    finally:
        connection.close()


def _in_memory() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute("PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF")  # the disk may be full
    return connection


def _set_patience(connection: apsw.Connection, patience: Patience) -> None:
    connection.set_busy_timeout(int(patience.transactions * 1000))


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
