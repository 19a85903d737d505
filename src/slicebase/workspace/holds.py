"""Files that a process holds while something of it is open, so that others see whether it still lives.

The system releases the lock of a file when its process ends, however it ends. Each opened file has a lock of its own,
so the threads and the tasks of one process count as others do. A process that is forked from this one holds nothing.
"""

import errno
import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final
from weakref import WeakSet

from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.atomic import file_errors
from slicebase.workspace.boundary import PRIVATE_MODE
from slicebase.workspace.workspace import own_folder

_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_PATIENCE: Final = 2.0  # seconds: others have the lock only for the moment in which they look
_PAUSE: Final = 0.001
# A disk without such locks. What is held there seems to be held forever, which ends nothing that goes on.
_NO_LOCKS: Final = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


class HeldFile:
    """A file that this process holds until it is removed, or until the object or the process is gone."""

    _descriptor: int | None = None  # an interruption can come before the first line below

    def __init__(self, path: Path) -> None:
        """Creates the file if it is missing, and takes its lock. Raises `locked` if another one holds it."""
        self.path = path
        try:
            with file_errors(path):
                own_folder(path.parent)
                self._descriptor = _taken(path)
        except FileNotFoundError:  # somebody has deleted the folder
            raise SlicebaseError("cannot-write", "the folder is gone", where=Where(str(path))) from None
        _held.add(self)

    def remove(self) -> None:
        """Deletes the file and releases it. Does nothing the second time, and in a forked process."""
        if self._descriptor is not None:
            with suppress(OSError):  # a file that stays is free, as one is that is gone
                os.unlink(self.path)
            self.release()

    def release(self) -> None:
        """Closes the file, which leaves it to others as the end of the process does."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __del__(self) -> None:
        self.release()


def _taken(path: Path) -> int:
    """Returns the open file with its lock. Somebody may have deleted it before the lock was taken: then a new one."""
    end = time.monotonic() + _PATIENCE
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False)):
                return descriptor
        except (BlockingIOError, FileNotFoundError):
            pass
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return descriptor
            os.close(descriptor)
            raise
        os.close(descriptor)
        if time.monotonic() > end:
            raise SlicebaseError("locked", "another process holds the file", where=Where(str(path)))
        time.sleep(_PAUSE)


def is_free(path: Path) -> bool:
    """Returns whether nobody holds a file: it is gone, or its lock can be taken. In doubt, it is held."""
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # several may look at the same time
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def remove_free(path: Path) -> bool:
    """Deletes a file that nobody holds. Returns whether it is gone."""
    try:
        descriptor = os.open(path, _READ)
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


_held: WeakSet[HeldFile] = WeakSet()


def _release_in_child() -> None:
    """Closes what a forked process has inherited: the file stays held by this process's parent alone."""
    for held in list(_held):
        held.release()
    _held.clear()


os.register_at_fork(after_in_child=_release_in_child)
