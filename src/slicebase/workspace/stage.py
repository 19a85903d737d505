"""What is put together before it is put in place: staging folders in the folder of this machine, and databases.

The name of a staging folder says which process works in it. What a killed process left is removed by the next one.
"""

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_native_id
from typing import Final

from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.atomic import (
    file_errors,
    names_running_process,
    own_temporary,
    read_chunks,
    take_lock,
    write_bytes,
)
from slicebase.workspace.boundary import PRIVATE_MODE, inside, private_folder
from slicebase.workspace.workspace import LOCAL, create_local_folder, own_folder

_STAGING: Final = "staging-"


@contextmanager
def staging(root: Path) -> Iterator[Path]:
    """Gives an empty folder in the workspace's folder of this machine, and removes it afterwards."""
    create_local_folder(root)
    remove_left_staging(root)
    folder = root / LOCAL / f"{_STAGING}{os.getpid()}-{get_native_id()}"
    with file_errors(folder):
        inside(root, folder, linked=False)
        shutil.rmtree(folder, ignore_errors=True)  # of a killed process that had the same number
        private_folder(root, folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_left_staging(root: Path) -> None:
    """Removes the staging folders of processes that were killed: they have copies of what is in the workspace."""
    with suppress(OSError):
        for name in os.listdir(root / LOCAL):
            if name.startswith(_STAGING) and not names_running_process(name.removeprefix(_STAGING)):
                shutil.rmtree(inside(root, root / LOCAL / name, linked=False), ignore_errors=True)


def stage(folder: Path, name: str, chunks: Iterable[bytes]) -> Path:
    """Writes a new file in a staging folder, private and not flushed: it is nothing until it is put in place."""
    path = inside(folder, folder / name, linked=False)
    with file_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(path, flags, PRIVATE_MODE), "wb") as file:
                for chunk in chunks:
                    file.write(chunk)
        except (FileExistsError, NotADirectoryError):
            message = f"{name} is there twice, or as a file and a folder"
            raise SlicebaseError("bad-move", message, where=Where(name)) from None
    return path


def place_database(source: Path, database: Path) -> None:
    """Puts a copy of a database where there is none, in one step. Raises `file-exists` where there is one."""
    for log in (Path(f"{database}{suffix}") for suffix in ("-wal", "-journal")):
        if log.exists() and log.stat().st_size:
            hint = "move it away: it has the last writes of a database that is gone"
            raise SlicebaseError("file-exists", "there is a log without its database", hint=hint, where=Where(str(log)))
    own_folder(database.parent)
    arriving = database.with_suffix(f".arriving-{os.getpid()}")
    write_bytes(arriving, read_chunks(source), within=database.parent, private=True, temporary=own_temporary())
    try:
        if database.exists() and not database.stat().st_size:
            database.unlink()
        os.link(arriving, database)  # unlike a renaming, it replaces nothing
    except FileExistsError:
        raise SlicebaseError("file-exists", "there is a database already", where=Where(str(database))) from None
    finally:
        arriving.unlink(missing_ok=True)


@contextmanager
def folder_locked(folder: Path) -> Iterator[None]:
    """Holds a lock on a folder itself, so that no file is left in it. Other processes wait for it.

    On a network disk that knows no locks, nobody waits.
    """
    with file_errors(folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            take_lock(descriptor, folder)
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EBADF):
                raise
        yield
    finally:
        os.close(descriptor)
