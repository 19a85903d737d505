"""A SQLite database that can be deleted at any time: what is missing, damaged or of another version is made anew.

Who uses it holds a shared lock, who throws it away an exclusive one, so that nobody opens half of an old database and
half of a new one. Where nothing can be written, it is made in memory for one question.
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

_BUSY_MILLISECONDS: Final = 120_000  # as long as another process may take to fill a large one
_PATIENCE: Final = 100  # tries, a twentieth of a second apart
_FILES: Final = ("", "-wal", "-shm")

Answer = TypeVar("Answer")


# The place cannot be used: the database is made in memory instead.
_UNUSABLE: Final = (
    OSError, apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError, apsw.FullError, apsw.PermissionsError,
)  # fmt: skip


class DatabaseLayout(NamedTuple):
    """What a database has to be in order to be used as it is."""

    application: int
    version: int
    schema: str


class Disposable:
    def __init__(self, path: Path, layout: DatabaseLayout) -> None:
        self.path = path
        self._lock = path.with_suffix(".lock")
        self._layout = layout

    def ask(self, question: Callable[[apsw.Connection], Answer]) -> Answer:
        """Returns the answer to a question that may also write; it is asked again where the database was rebuilt."""

        def in_file() -> Answer:
            with self._opened() as connection:
                return question(connection)

        def in_memory() -> Answer:
            with self._in_memory() as connection:
                return question(connection)

        return self._tried(in_file, in_memory)

    def hold(self) -> "Held":
        """Opens the database until it is closed. Nobody can throw it away meanwhile."""
        return self._tried(lambda: Held.of(self._opened()), self.hold_in_memory)

    def hold_in_memory(self) -> "Held":
        """Opens a new database in memory."""
        return Held.of(self._in_memory())

    def _tried(self, in_file: Callable[[], Answer], in_memory: Callable[[], Answer]) -> Answer:
        """Uses the file, after rebuilding it where it is damaged or of another layout; else memory."""
        for _ in range(2):
            try:
                return in_file()
            except apsw.BusyError:
                raise SlicebaseError(
                    "locked", "another process fills the index", hint="try again later", where=Where(str(self.path))
                ) from None
            except _UNUSABLE:
                break
            except (apsw.Error, _OtherLayoutError):
                if not self.discard():
                    break
        return in_memory()

    def discard(self) -> bool:
        """Deletes the database; answers whether that was possible."""
        try:
            with self._locked(fcntl.LOCK_EX):
                for suffix in _FILES:
                    Path(f"{self.path}{suffix}").unlink(missing_ok=True)
                return True
        except OSError:
            return False

    def is_sound(self) -> bool:
        """Whether SQLite finds nothing wrong with what is there."""
        if not self.path.exists():
            return True
        try:
            with self._opened() as connection:
                return str(connection.execute("PRAGMA integrity_check").get) == "ok"
        except (OSError, apsw.CantOpenError, apsw.ReadOnlyError):
            return not os.access(self.path.parent, os.W_OK)  # where nothing can be written, nothing can be said
        except (apsw.Error, _OtherLayoutError):
            return False

    def tick(self) -> int:
        """The disk's own clock, in nanoseconds: a file that is changed later has no earlier time."""
        try:
            os.utime(self._lock)
            return os.stat(self._lock).st_mtime_ns
        except OSError:
            return 0

    @contextmanager
    def _opened(self) -> Iterator[apsw.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked(fcntl.LOCK_SH), _connected(str(self.path)) as connection:
            self._ensure_layout(connection)
            yield connection

    @contextmanager
    def _in_memory(self) -> Iterator[apsw.Connection]:
        with _connected(":memory:") as connection:
            self._ensure_layout(connection)
            yield connection

    @contextmanager
    def _locked(self, mode: int) -> Iterator[None]:
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            _wait_for(lock, mode)
            yield
        finally:
            os.close(lock)

    def _ensure_layout(self, connection: apsw.Connection) -> None:
        application, version, schema = self._layout
        if _layout_of(connection) == (application, version):
            return
        connection.pragma("journal_mode", "WAL")
        with writing(connection):  # one process alone makes it
            if not connection.pragma("schema_version"):
                connection.execute(schema)
                connection.pragma("application_id", application)
                connection.pragma("user_version", version)
            elif _layout_of(connection) != (application, version):
                raise _OtherLayoutError


class Held(NamedTuple):
    """An open database, and how to close it."""

    connection: apsw.Connection
    close: Callable[[], None]

    @classmethod
    def of(cls, opening: AbstractContextManager[apsw.Connection]) -> "Held":
        stack = ExitStack()
        return cls(stack.enter_context(opening), stack.close)


class _OtherLayoutError(Exception):
    """Another program's database, or one of another version."""


@contextmanager
def reading(connection: apsw.Connection) -> Iterator[None]:
    """One view of the database, whoever writes meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


@contextmanager
def writing(connection: apsw.Connection) -> Iterator[None]:
    """One transaction that waits for other writers before it begins."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself rolls back when the disk is full
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _connected(path: str) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(path)
    try:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        connection.execute("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536; PRAGMA trusted_schema = OFF")
        yield connection
    finally:
        connection.close()


def _layout_of(connection: apsw.Connection) -> tuple[int, int]:
    return int(connection.pragma("application_id")), int(connection.pragma("user_version"))


def _wait_for(lock: int, mode: int) -> None:
    for _ in range(_PATIENCE):
        try:
            return fcntl.flock(lock, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.05)
    raise BlockingIOError("the lock of the index is held")
