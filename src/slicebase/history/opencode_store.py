"""Sessions where opencode keeps them: its database (`opencode.db`), and before that a folder of small files.

Each session is one input, in the form that `opencode export` writes. The database is opened for reading only.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

from slicebase.errors import SlicebaseError, Where

STORE_FOLDERS: Final = frozenset({"session", "message", "part"})
_SQLITE: Final = b"SQLite format 3\0"
_TABLES: Final = STORE_FOLDERS
_COLUMNS: Final = {"title": "title", "directory": "directory", "version": "version", "parent_id": "parentID"}


class StoredSession(NamedTuple):
    """A session: its name as reports show it, and how to read it."""

    name: str
    chunks: Callable[[], Iterator[bytes]]


# The folder of small files


def folder_sessions(storage: Path) -> Iterator[StoredSession]:
    """Yields the sessions of a folder with `session`, `message` and `part`."""
    for path in sorted((storage / "session").rglob("*.json")):
        if not path.is_symlink() and path.is_file():
            yield StoredSession(str(path), partial(_of_folder, storage, path))


def _of_folder(storage: Path, path: Path) -> Iterator[bytes]:
    try:
        yield b'{"info":' + path.read_bytes() + b',"messages":['
        for number, message in enumerate(_files(storage / "message" / path.stem)):
            parts = b",".join(part.read_bytes() for part in _files(storage / "part" / message.stem))
            yield b"," * bool(number) + b'{"info":' + message.read_bytes() + b',"parts":[' + parts + b"]}"
        yield b"]}"
    except OSError as error:
        raise SlicebaseError("no-input", str(error.strerror), where=Where(str(path))) from None


def _files(folder: Path) -> list[Path]:
    """Returns the files of a folder in the order of their ids, which is that of their times."""
    return sorted(path for path in folder.glob("*.json") if not path.is_symlink() and path.is_file())


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
            yield b'{"info":' + _encoded(_info(connection, session)) + b',"messages":['
            query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
            for number, (message, data) in enumerate(connection.execute(query, (session,)).fetchall()):
                parts = connection.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (message,))
                content = {"info": {**_object(data), "id": message}, "parts": [_object(part) for _, part in parts]}
                yield b"," * bool(number) + _encoded(content)
            yield b"]}"
    except apsw.Error as error:
        raise _damaged(path, error) from None


def _info(connection: apsw.Connection, session: str) -> dict[str, Any]:
    cursor = connection.execute("SELECT * FROM session WHERE id = ?", (session,))
    row = next(cursor, ())
    named = dict(zip((name for name, *_ in cursor.get_description()), row, strict=True)) if row else {}
    info = {field: named[column] for column, field in _COLUMNS.items() if isinstance(named.get(column), str)}
    return {"id": session, **info, "time": {"created": named.get("time_created")}}


def _object(data: Any) -> dict[str, Any]:
    """Returns the object in a column, or an empty one for what is not JSON."""
    try:
        value = json.loads(data)
    except (TypeError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


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
