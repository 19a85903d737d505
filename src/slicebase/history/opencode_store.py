"""Sessions where opencode keeps them: its database (`opencode.db`), and before that a folder of small files.

Each session is one input, in the form that `opencode export` writes, with `growing` if it changed a short time ago: its
last message may not be finished then. A message or a part that is not JSON is kept as text, and does not affect the
others. The database is opened for reading only.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

from slicebase.errors import SlicebaseError, Where
from slicebase.importers.opencode import GROWING

STORE_FOLDERS: Final = frozenset({"session", "message", "part"})
_SQLITE: Final = b"SQLite format 3\0"
_TABLES: Final = STORE_FOLDERS
QUIET: Final = 24 * 60 * 60  # seconds without a change after which nothing is expected to follow
_COLUMNS: Final = {"title": "title", "directory": "directory", "version": "version", "parent_id": "parentID"}


class StoredSession(NamedTuple):
    """A session: its name as reports show it, and how to read it."""

    name: str
    chunks: Callable[[], Iterator[bytes]]


# The folder of small files


def folder_sessions(storage: Path) -> Iterator[StoredSession]:
    """Yields the sessions of a folder with `session`, `message` and `part`."""
    for path in sorted((storage / "session").rglob("*.json")):
        if path.is_symlink() or path.is_file():
            yield StoredSession(str(path), partial(_of_folder, storage, path))


def _of_folder(storage: Path, path: Path) -> Iterator[bytes]:
    try:
        messages = _files(storage / "message" / path.stem)
        parts = {message: _files(storage / "part" / message.stem) for message in messages}
        files = [path, *messages, *(part for each in parts.values() for part in each)]
        if any(file.is_symlink() for file in files):
            raise SlicebaseError("no-input", "symbolic links in it are not followed", where=Where(str(path)))
        newest = max(file.stat().st_mtime for file in files)
        yield _encoded_head(_info_of(path.read_bytes(), path.stem), newest)
        for number, message in enumerate(messages):
            info = _info_of(message.read_bytes(), message.stem)
            content = {"info": info, "parts": [_value(part.read_bytes()) for part in parts[message]]}
            yield b"," * bool(number) + _encoded(content)
        yield b"]}"
    except OSError as error:
        raise SlicebaseError("no-input", str(error.strerror), where=Where(str(path))) from None


def _files(folder: Path) -> list[Path]:
    """Returns the files of a folder in the order of their ids, which is that of their times; the folder if a link."""
    if folder.is_symlink():
        return [folder]
    return sorted(path for path in folder.glob("*.json") if path.is_symlink() or path.is_file())


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


# The database


def is_store(path: Path) -> bool:
    """Returns whether a file is opencode's database."""
    try:
        with path.open("rb") as stream:
            if stream.read(len(_SQLITE)) != _SQLITE:
                return False
        with _opened(path) as connection:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    except (OSError, apsw.Error):
        return False
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


def _of_database(path: Path, session: str) -> Iterator[bytes]:
    try:
        with _opened(path) as connection:
            yield _encoded_head(_session_info(connection, session), _changed(connection, path, session))
            query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
            for number, (message, data) in enumerate(connection.execute(query, (session,)).fetchall()):
                parts = connection.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (message,))
                content = {"info": _info_of(data, str(message)), "parts": [_value(part) for _, part in parts]}
                yield b"," * bool(number) + _encoded(content)
            yield b"]}"
    except apsw.Error as error:
        raise _damaged(path, error) from None


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
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(1000)
        yield connection
    finally:
        connection.close()


def _damaged(path: Path, error: apsw.Error) -> SlicebaseError:
    return SlicebaseError("no-input", f"opencode's database cannot be read: {error}", where=Where(str(path)))
