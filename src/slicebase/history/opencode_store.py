"""Sessions where opencode keeps them: its database (`opencode.db`), and before that a folder of small files.

Each session is one input, in the form that `opencode export` writes, with `growing` if it changed a short time ago: its
last message may not be finished then. A message or a part that is not JSON is kept as text, and does not affect the
others. The database is opened for reading only.

A session that was read before is read with what is known of its messages: of those that have not changed since, it
says only which ones they are. A message in the database is known by a digest of its rows, one in the folder by the
sizes and times of its files.
"""

import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from slicebase.errors import SlicebaseError, Where
from slicebase.history.live_files import open_regular
from slicebase.importers.opencode import GROWING, SEEN_KEY
from slicebase.importers.seen import SeenMessages, key_of
from slicebase.workspace.boundary import not_a_log

STORE_FOLDERS: Final = frozenset({"session", "message", "part"})
_SQLITE: Final = b"SQLite format 3\0"
_TABLES: Final = STORE_FOLDERS
QUIET: Final = 24 * 60 * 60  # seconds without a change after which nothing is expected to follow
_SETTLED: Final = 2.0  # seconds after which a change of a file changes its times
_COLUMNS: Final = {"title": "title", "directory": "directory", "version": "version", "parent_id": "parentID"}


class StoredSession(NamedTuple):
    """A session: its name as reports show it, and how to read it, with what is known of its messages or without."""

    name: str
    chunks: Callable[..., Iterator[bytes]]


class StoredMessage(NamedTuple):
    """A message: its id, how to read it, and what it is known by if it was read before."""

    name: str
    read: Callable[[], tuple[Any, list[Any]]]  # the text of the message, and those of its parts
    key: bytes | None


def stored_sessions(path: Path) -> Iterator[StoredSession]:
    """Yields the sessions of a folder or a database of opencode."""
    return folder_sessions(path) if path.is_dir() else database_sessions(path)


# The folder of small files


class _StoredFile(NamedTuple):
    path: str
    status: os.stat_result

    @property
    def state(self) -> tuple[Any, ...]:
        """What changes whenever the file does."""
        status = self.status
        return self.path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def folder_sessions(storage: Path) -> Iterator[StoredSession]:
    """Yields the sessions of a folder with `session`, `message` and `part`."""
    for path in sorted((storage / "session").rglob("*.json")):
        if path.is_symlink() or path.is_file():
            yield StoredSession(str(path), partial(_of_folder, storage, path))


def _of_folder(storage: Path, path: Path, seen: SeenMessages | None = None) -> Iterator[bytes]:
    try:
        messages = _files(storage / "message" / path.stem)
        parts = [_files(storage / "part" / Path(message.path).stem) for message in messages]
        files = [_StoredFile(str(path), path.lstat()), *messages, *chain.from_iterable(parts)]
        if any(stat.S_ISLNK(file.status.st_mode) for file in files):
            raise SlicebaseError("no-input", "symbolic links in it are not followed", where=Where(str(path)))
        newest = max(file.status.st_mtime for file in files)
        yield _encoded_head(_info_of(path.read_bytes(), path.stem), newest)
        stored = (_in_files(*pair) for pair in zip(messages, parts, strict=True))
        yield from _encoded_messages(list(stored), seen)
    except OSError as error:
        raise SlicebaseError("no-input", str(error.strerror), where=Where(str(path))) from None


def _in_files(message: _StoredFile, parts: list[_StoredFile]) -> StoredMessage:
    """Returns a message that is known by the states of its files, unless they may change without showing it."""

    def read() -> tuple[Any, list[Any]]:
        return Path(message.path).read_bytes(), [Path(part.path).read_bytes() for part in parts]

    files = (message, *parts)
    is_settled = all(abs(time.time() - file.status.st_mtime) > _SETTLED for file in files)
    key = key_of(msgspec.msgpack.encode([file.state for file in files])) if is_settled else None
    return StoredMessage(Path(message.path).stem, read, key)


def _files(folder: Path) -> list[_StoredFile]:
    """Returns the files of a folder in the order of their ids, which is that of their times; the folder if a link."""
    if folder.is_symlink():
        return [_StoredFile(str(folder), folder.lstat())]
    found: list[_StoredFile] = []
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError), os.scandir(folder) as entries:
        kept = (each for each in entries if each.name.endswith(".json") and (each.is_symlink() or each.is_file()))
        found += (_StoredFile(each.path, each.stat(follow_symlinks=False)) for each in kept)
    return sorted(found, key=lambda file: file.path)


# The form of the export


def _encoded_head(info: dict[str, Any], changed: float) -> bytes:
    """Returns the beginning of a session that changed at a time, in seconds."""
    growing = {GROWING: True} if time.time() - changed < QUIET else {}
    return _encoded({**growing, "info": info})[:-1] + b',"messages":['


def _info_of(data: Any, name: str) -> dict[str, Any]:
    """Returns what is said about a session or a message, at least its id."""
    value = _value(data)
    return {**value, "id": name} if isinstance(value, dict) else {"id": name}


def _value(data: Any) -> Any:
    """Returns the value of a JSON text, or the text itself if it is not JSON."""
    try:
        return json.loads(data)
    except (TypeError, ValueError, RecursionError):
        return data.decode(errors="replace") if isinstance(data, bytes) else data


def _encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def _encoded_messages(messages: list[StoredMessage], seen: SeenMessages | None) -> Iterator[bytes]:
    """Yields the messages and the end of a session. Of those that were seen before, only which ones they are.

    The last message is always complete: only its text says whether it is finished.
    """
    for number, message in enumerate(messages):
        content: dict[str, Any] = {"info": {}, "parts": []}
        key = message.key if seen is not None and number < len(messages) - 1 else None
        if seen is None or key is None or key not in seen.known:
            data, parts = message.read()
            content = {"info": _info_of(data, message.name), "parts": [_value(part) for part in parts]}
        if key is not None:
            content[SEEN_KEY] = key.hex()
        yield b"," * bool(number) + _encoded(content)
    yield b"]}"


# The database


def is_store(path: Path) -> bool:
    """Returns whether a file is opencode's database. Raises `no-input` for a database that cannot be read now."""
    try:
        with open(open_regular(str(path), path), "rb") as stream:
            if stream.read(len(_SQLITE)) != _SQLITE:
                return False
        with _opened(path) as connection:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    except OSError:
        return False
    except apsw.Error as error:  # such as one that another process holds: it is not another kind of transcript then
        raise _damaged(path, error) from None
    return names >= _TABLES


def database_sessions(path: Path) -> Iterator[StoredSession]:
    """Yields the sessions of opencode's database, the oldest first."""
    try:
        with _opened(path) as connection:
            names = [str(name) for (name,) in connection.execute("SELECT id FROM session ORDER BY time_created, id")]
    except apsw.Error as error:
        raise _damaged(path, error) from None
    for name in names:
        yield StoredSession(f"{path}!{name}.json", partial(_of_database, path, name))


def _of_database(path: Path, session: str, seen: SeenMessages | None = None) -> Iterator[bytes]:
    try:
        with _opened(path) as connection:
            connection.execute("BEGIN")  # one state of it, even if opencode writes meanwhile
            yield _encoded_head(_session_info(connection, session), _changed(connection, path, session))
            query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
            rows = connection.execute(query, (session,)).fetchall()
            yield from _encoded_messages([_in_rows(connection, *row) for row in rows], seen)
    except apsw.Error as error:
        raise _damaged(path, error) from None


def _in_rows(connection: apsw.Connection, message: Any, data: Any) -> StoredMessage:
    """Returns a message that is known by its row and those of its parts: a part is updated where it is."""
    parts = connection.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (message,)).fetchall()
    key = key_of(msgspec.msgpack.encode([message, data, parts]))
    return StoredMessage(str(message), lambda: (data, [part for _, part in parts]), key)


def _changed(connection: apsw.Connection, path: Path, session: str) -> float:
    """Returns when a session changed last, in seconds; in a database that does not say it, when the database did."""
    try:
        rows = [
            connection.execute(f"SELECT max(time_updated) FROM {table} WHERE {column} = ?", (session,)).get
            for table, column in (("session", "id"), ("message", "session_id"), ("part", "session_id"))
        ]
        return float(max(row for row in rows if row is not None) / 1000)
    except (apsw.SQLError, TypeError, ValueError):
        logs = (path, path.with_name(f"{path.name}-wal"))
        return max(os.stat(each).st_mtime for each in logs if each.exists())


def _session_info(connection: apsw.Connection, session: str) -> dict[str, Any]:
    cursor = connection.execute("SELECT * FROM session WHERE id = ?", (session,))
    row = next(cursor, ())
    named = dict(zip((name for name, *_ in cursor.get_description()), row, strict=True)) if row else {}
    info = {field: named[column] for column, field in _COLUMNS.items() if isinstance(named.get(column), str)}
    return {"id": session, **info, "time": {"created": named.get("time_created")}}


@contextmanager
def _opened(path: Path) -> Iterator[apsw.Connection]:
    if special := not_a_log(path):
        raise SlicebaseError("no-input", "this is not a regular file", where=Where(str(special)))
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(1000)
        yield connection
    finally:
        connection.close()


def _damaged(path: Path, error: apsw.Error) -> SlicebaseError:
    return SlicebaseError("no-input", f"the database cannot be read: {error}", where=Where(str(path)))
