"""The boundary of a workspace: where it may write, and who may read what it keeps for itself.

A cloned repository is data: each of its paths may be a symbolic link to anywhere. So every path that is written goes
through `inside`, and the folders on the way are opened one by one, without following a link that appears meanwhile.

What belongs to this machine (databases, caches, locks, states) is readable by its owner alone.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final

from slicebase.errors import SlicebaseError, Where

PRIVATE_MODE: Final = 0o600  # the permissions of a file of this machine
_PRIVATE_FOLDER: Final = 0o700
_OTHERS: Final = 0o077
_SQLITE_FILES: Final = ("", "-wal", "-shm")
_SQLITE_LOGS: Final = ("-journal", "-wal", "-shm")
_SHOWN: Final = 100  # characters of a path in an error
_OPEN_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def real_path(path: str | os.PathLike[str], code: str = "no-input") -> Path:
    """Returns a path without its symbolic links. One through a loop of links stays as it is: nobody can open it.

    (`realpath` goes on behind a loop as if it were a folder, and can leave a link in the path that leads anywhere.)
    Raises an error with this code where nothing can have such a path: it contains a NUL, or half of a surrogate pair.
    `Path.resolve` raises errors of Python's own for both. A file or a database may name any path, so all resolve here.
    """
    try:
        given, real = os.fspath(path), os.path.realpath(path)
        return Path(real) if real == given or os.path.realpath(real) == real else Path(path)
    except ValueError:
        raise SlicebaseError(code, f"no file can have the path {ascii(os.fspath(path))[:_SHOWN]}") from None


def inside(root: Path, path: Path, *, linked: bool = True) -> Path:
    """Returns where a path is written: the target of its symbolic links, which must be inside `root`.

    Raises `outside-workspace` for a link that leads out of `root`. Without `linked`, which is for files of our own, any
    link below `root` raises `not-a-file`, and so does a loop of links.
    """
    home, real = str(real_path(root)), str(real_path(path))
    if real != home and not real.startswith(os.path.join(home, "")):
        raise SlicebaseError(
            "outside-workspace",
            f"{path.name} is a symbolic link, or below one, that leads out of {root}, to {real}",
            hint="remove the link, or replace it with a file or folder",
            where=Where(str(path)),
        )
    is_moved = real != str(path) or home != str(root)
    if _is_loop(path) or (not linked and is_moved and real != os.path.join(home, os.path.relpath(path, root))):
        raise SlicebaseError(
            "not-a-file",
            f"{path.name} is a symbolic link, or below one",
            hint="replace the link with a file or folder",
            where=Where(str(path)),
        )
    return Path(real)


def _is_loop(path: Path) -> bool:
    try:
        os.stat(path)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def opened_folder(root: Path, folder: Path) -> AbstractContextManager[int]:
    """Opens a folder in or below `root`, both as `inside` returns them. No link is followed on the way."""
    return opened_below(root, folder.relative_to(root).parts)


@contextmanager
def opened_below(root: Path, names: Iterable[str]) -> Iterator[int]:
    """Opens the folder that these names lead to from `root`, one after the other. None of them may be a link."""
    descriptor = os.open(root, _OPEN_FOLDER)
    try:
        for name in names:
            below = os.open(name, _OPEN_FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def not_a_file(path: Path) -> SlicebaseError:
    """Returns the error for a path that is not a regular file."""
    return SlicebaseError(
        "not-a-file",
        f"{path.name} is not a regular file",
        hint="replace it with a regular file: symbolic links, folders and devices are not read",
        where=Where(str(path)),
    )


def cannot_read(error: OSError, path: Path) -> SlicebaseError:
    """Returns the error for a file or folder that the system does not let this user read."""
    name = error.filename if isinstance(error.filename, str) else str(path)
    return SlicebaseError(
        "cannot-read",
        f"{os.path.basename(name) or name} cannot be read: {error.strerror or error}",
        hint="check its owner and its permissions" if isinstance(error, PermissionError) else "",
        where=Where(name),
    )


# Files of this machine


def private_folder(root: Path, folder: Path) -> None:
    """Creates a folder below `root`, and those between them, for their owner alone. Narrows existing ones."""
    real, home = inside(root, folder, linked=False), real_path(root)
    levels = [level for level in (real, *real.parents) if level.is_relative_to(home) and level != home]
    for level in reversed(levels):
        with suppress(FileExistsError):
            os.mkdir(level, _PRIVATE_FOLDER)
        _narrow(level, _PRIVATE_FOLDER)


def not_a_log(path: Path) -> Path | None:
    """Returns what is not a regular file where SQLite keeps a log of a database: it would wait for a pipe forever."""
    for suffix in _SQLITE_LOGS:
        file = Path(f"{path}{suffix}")
        with suppress(OSError):
            if not stat.S_ISREG(os.stat(file).st_mode):
                return file
    return None


def private_database(path: Path) -> None:
    """Creates an empty file for a SQLite database that only its owner can use, or narrows an existing database.

    SQLite gives its log the permissions of the database. An existing database is not opened here: closing it again
    would release the locks of this process.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_MODE))
    except FileExistsError:
        for suffix in _SQLITE_FILES:
            _narrow(Path(f"{path}{suffix}"), PRIVATE_MODE)
        _give_back(path)


def _give_back(path: Path) -> None:
    """Lets the owner of a database write its log again, which SQLite made while the database was read-only."""
    with suppress(OSError):
        own = os.lstat(path)
        for file in (Path(f"{path}{suffix}") for suffix in _SQLITE_FILES if suffix):
            with suppress(FileNotFoundError):
                found = os.lstat(file)
                if stat.S_ISREG(found.st_mode) and own.st_mode & ~found.st_mode & PRIVATE_MODE:
                    os.chmod(file, own.st_mode & PRIVATE_MODE)


def narrow_opened(descriptor: int) -> None:
    """Makes an open file private, if it belongs to this user."""
    found = os.fstat(descriptor)
    if found.st_uid == os.geteuid() and found.st_mode & _OTHERS:
        with suppress(OSError):  # a disk that can only be read, or that has no permissions
            os.fchmod(descriptor, found.st_mode & PRIVATE_MODE)  # what its owner made read-only stays so


def _narrow(path: Path, mode: int) -> None:
    """Takes all permissions but these from a file or folder of this user, if others have any; never adds one.

    Raises OSError for anything else.
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if mode == PRIVATE_MODE and not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "this is not a regular file", str(path))
    if mode == _PRIVATE_FOLDER and not stat.S_ISDIR(found.st_mode):
        raise OSError(errno.ENOTDIR, "this is not a folder", str(path))
    if found.st_uid == os.geteuid() and found.st_mode & _OTHERS:
        with suppress(OSError):  # a disk that can only be read, or that has no permissions
            os.chmod(path, found.st_mode & mode)
