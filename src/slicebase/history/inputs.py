"""Inputs of an import: files, folders, zips and stdin as byte streams, and where coding agents keep their sessions.

Nothing is unpacked to disk. Stdin is copied to a file without a name, because an input is read several times.
"""

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from time import time_ns
from typing import NamedTuple
from weakref import finalize

from slicebase.errors import SlicebaseError, Where
from slicebase.history.opencode_store import STORE_FOLDERS, database_sessions, folder_sessions, is_store
from slicebase.workspace.boundary import real_path

try:
    from lzma import LZMAError
except ImportError:  # a Python without this compression
    LZMAError = OSError  # type: ignore[misc, assignment]

_SAMPLES = Path(__file__).parent.parent / "samples"
SAMPLE = _SAMPLES / "claude-code-session.jsonl"
LONG_SAMPLE = _SAMPLES / "long-session.jsonl"  # several hundred turns, with a compaction
_CHUNK = 1 << 20
# The endings that a folder or a zip is searched for; a file that the user names may have any ending.
_ENDINGS = (".json", ".jsonl", ".slice", ".traj")
_STORE = "opencode.db"
_DAY = 24 * 60 * 60


class Input(NamedTuple):
    """One stream: its name as reports show it, its size, whether the user named it, and how to read it."""

    name: str
    size: int
    named: bool
    chunks: Callable[[], Iterator[bytes]]
    given: str = ""  # the path that the user named: of the file, or of the folder or zip that contains it
    file: Path | None = None  # the file on disk, from whose state one can see whether the input changed
    member: str = ""  # inside a zip: its name and checksum


def inputs(paths: Iterable[Path], stdin: Iterable[bytes] | None = None) -> Iterator[Input]:
    """Yields the inputs at these paths: files, and what folders and zips contain. With `stdin`, `-` stands for it.

    A path that cannot be read is an input whose error is raised when it is read, so that it does not affect the others.
    """
    for path in paths:
        try:
            found = _named(path) if stdin is None or str(path) != "-" else iter((_stream(stdin),))
            yield from (each._replace(given=str(path)) for each in found)
        except SlicebaseError as error:
            yield _unreadable(path, error, named=True)


def _stream(data: Iterable[bytes]) -> Input:
    """Returns what comes from stdin as one input. Its copy is gone when the input is."""
    name, copy = "stdin", TemporaryFile()  # noqa: SIM115  it is read long after this
    try:
        copy.writelines(data)
        size = copy.tell()
        if not size:
            raise SlicebaseError("no-input", "there is nothing on stdin", where=Where(name))
        if zipfile.is_zipfile(copy):
            raise SlicebaseError("no-input", "a zip cannot be read from stdin", hint="name its file", where=Where(name))
    except BaseException as error:
        copy.close()
        if isinstance(error, OSError):
            raise _no_input(Path(name), error) from None
        raise

    def chunks() -> Iterator[bytes]:
        for place in range(0, size, _CHUNK):
            copy.seek(place)
            yield copy.read(_CHUNK)

    finalize(chunks, copy.close)
    return Input(name, size, True, chunks)


def _named(path: Path) -> Iterator[Input]:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise _no_input(path, error) from None
    if stat.S_ISDIR(mode):
        found = _folder(path)
    elif stat.S_ISREG(mode):
        found = _file(path, named=True)
    else:
        raise SlicebaseError("no-input", "this is neither a file nor a folder", where=Where(str(path)))
    first = next(found, None)
    if first is None:
        why = f"it contains no file that could be a conversation ({', '.join(_ENDINGS)})"
        raise SlicebaseError("no-input", why, where=Where(str(path)))
    yield first
    yield from found


def _no_input(path: Path, error: OSError | ValueError) -> SlicebaseError:
    why = getattr(error, "strerror", None) or str(error)
    return SlicebaseError("no-input", why, where=Where(str(path)))


def _unreadable(path: Path, error: SlicebaseError, *, named: bool = False) -> Input:
    """Returns an input that raises an error when it is read."""
    return Input(str(path), 0, named, partial(_fail, error))


def _fail(error: SlicebaseError) -> Iterator[bytes]:
    raise error


def _folder(folder: Path) -> Iterator[Input]:
    """Yields regular files below a folder. Symbolic links are not followed: they may lead anywhere, or in a circle."""
    closed: list[OSError] = []  # folders that cannot be listed
    for parent, folders, names in os.walk(folder, onerror=closed.append):
        folders.sort()
        yield from (_passed_over(path) for path in _links_out(folder, (Path(parent, name) for name in folders)))
        if set(folders) >= STORE_FOLDERS:  # opencode's: a session is in many small files
            yield from (Input(name, 0, False, chunks) for name, chunks in folder_sessions(Path(parent)))
            folders[:] = [name for name in folders if name not in STORE_FOLDERS]
        paths = [path for path in (Path(parent, name) for name in sorted(names)) if _may_be_conversation(path)]
        yield from (_passed_over(path) for path in _links_out(folder, paths))
        for path in paths:
            yield from _file_of_folder(path)
    for error in closed:
        path = Path(error.filename)
        yield _unreadable(path, _no_input(path, error), named=path == folder)


def _may_be_conversation(path: Path) -> bool:
    return path.suffix.lower() in (*_ENDINGS, ".zip") or path.name == _STORE


def _links_out(folder: Path, paths: Iterable[Path]) -> Iterator[Path]:
    """Yields the symbolic links among some paths, except those to what is read at its own place below the folder."""
    top = real_path(folder)
    for path in paths:
        if os.path.islink(path):
            target = real_path(path)
            is_read = os.path.isdir(target) or (os.path.isfile(target) and _may_be_conversation(target))
            if not (is_read and target.is_relative_to(top)):
                yield path


def _passed_over(path: Path) -> Input:
    why = "this is a symbolic link, which is not followed; name it to import what is there"
    return _unreadable(path, SlicebaseError("no-input", why, where=Where(str(path))))


def _file_of_folder(path: Path) -> Iterator[Input]:
    try:
        if not path.is_symlink() and path.is_file():
            yield from _file(path, named=False)
    except OSError as error:
        yield _unreadable(path, _no_input(path, error))
    except SlicebaseError as error:
        yield _unreadable(path, error)


def _file(path: Path, *, named: bool) -> Iterator[Input]:
    if path.suffix.lower() == ".zip" or zipfile.is_zipfile(path):
        yield from _zip(path)
    elif path.suffix.lower() == ".db" and is_store(path):
        yield from (Input(name, 0, False, chunks) for name, chunks in database_sessions(path))
    else:
        yield Input(str(path), path.stat().st_size, named, lambda: file_chunks(path), file=path)


def file_chunks(path: Path) -> Iterator[bytes]:
    """Yields the bytes of a file, up to the size that it has now: what is added meanwhile is for the next import."""
    try:
        with open(path, "rb") as stream:
            left = os.fstat(stream.fileno()).st_size
            while left > 0 and (chunk := stream.read(min(_CHUNK, left))):
                left -= len(chunk)
                yield chunk
    except OSError as error:
        raise _no_input(path, error) from None


def is_recent(moment: int, seconds: float) -> bool:
    """Returns whether a file's time, in nanoseconds, lies within the last seconds.

    The clock of a disk may be ahead of ours. A time further in the future than a day is wrong, and says nothing.
    """
    return -_DAY < (time_ns() - moment) / 1e9 < seconds


# A damaged zip raises many kinds of errors.
_ZIP_FAULTS = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, struct.error, LZMAError)


def _zip(path: Path) -> Iterator[Input]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = sorted(archive.infolist(), key=lambda member: member.filename)
    except _ZIP_FAULTS as error:
        raise SlicebaseError("bad-zip", f"this is not a readable zip: {error}", where=Where(str(path))) from None
    for member in members:
        if member.filename.lower().endswith(_ENDINGS) and not member.is_dir():
            name, read = f"{path}!{member.filename}", _member_reader(path, member)
            yield Input(name, member.file_size, False, read, file=path, member=f"{member.filename} {member.CRC}")


# A member of a zip that claims to be both this large and packed this well is a bomb.
_SUSPECT_BYTES = 1 << 30
_SUSPECT_RATIO = 1000


def _member_reader(path: Path, member: zipfile.ZipInfo) -> Callable[[], Iterator[bytes]]:
    def read() -> Iterator[bytes]:
        where = Where(f"{path}!{member.filename}")
        if member.file_size > max(_SUSPECT_BYTES, member.compress_size * _SUSPECT_RATIO):
            raise SlicebaseError("bad-zip", f"the member claims to have {member.file_size} bytes", where=where)
        if member.flag_bits & 1:
            raise SlicebaseError("bad-zip", "the member is encrypted", where=where)
        try:
            with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
                while chunk := stream.read(_CHUNK):
                    yield chunk
        except _ZIP_FAULTS as error:
            raise SlicebaseError("bad-zip", f"the member cannot be read: {error}", where=where) from None

    return read


# Sessions of coding agents on this machine


class Home(NamedTuple):
    """An agent's folder in the user's home, the environment variable that moves it, and where its sessions are."""

    format: str
    folder: str
    variable: str
    sessions: tuple[str, ...]
    below: str = ""  # the folder below the one that the variable names


HOMES = (
    Home("claude-code", ".claude", "CLAUDE_CONFIG_DIR", ("projects",)),
    Home("codex", ".codex", "CODEX_HOME", ("sessions", "archived_sessions")),
    Home("gemini", ".gemini", "", ("tmp/*/chats",)),
    Home("opencode", ".local/share/opencode", "XDG_DATA_HOME", ("opencode.db", "storage"), below="opencode"),
)


class FoundHistory(NamedTuple):
    """A folder of sessions, or a file with many, with the number of files and their bytes."""

    format: str
    folder: Path
    files: int
    bytes: int


def discover(home: Path, variables: Mapping[str, str]) -> list[FoundHistory]:
    """Returns where coding agents keep sessions on this machine, as far as it exists and is not empty.

    A folder that cannot be read is one of them: an import says so.
    """
    found = []
    for agent in HOMES:
        moved = variables.get(agent.variable)
        top = Path(moved, agent.below) if moved else home / agent.folder
        if os.path.lexists(top) and not top.is_file() and not os.access(top, os.R_OK | os.X_OK):
            found.append(FoundHistory(agent.format, top, 0, 0))
        for folder in (path for pattern in agent.sessions for path in sorted(top.glob(pattern))):
            unreadable: list[OSError] = []
            files = [folder] if folder.is_file() else list(_conversations_in(folder, unreadable.append))
            if files or unreadable:
                found.append(FoundHistory(agent.format, folder, len(files), sum(_size(path) for path in files)))
    return found


def _conversations_in(folder: Path, on_error: Callable[[OSError], None]) -> Iterator[Path]:
    for parent, _, names in os.walk(folder, onerror=on_error):
        paths = (Path(parent, name) for name in names)
        yield from (path for path in paths if _may_be_conversation(path) and not os.path.islink(path))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # gone since the folder was listed
        return 0
