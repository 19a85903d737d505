"""A full disk: which errors of the system and of SQLite mean it, and the one error that we raise for all of them.

SQLite reports a disk without space as FULL, but a file beyond its largest size, or a quota that is used up, as an I/O
error of a write. The number that the system gave then is on the connection.
"""

import errno
import os
import sys
from contextlib import suppress
from typing import Final

from slicebase.errors import NOWHERE, SlicebaseError, Where

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# The operations of SQLite that need space, by the end of their names: SQLITE_IOERR_WRITE, …
_WRITES: Final = ("WRITE", "TRUNCATE", "FSYNC", "DIR_FSYNC", "SHMOPEN", "SHMSIZE")


def is_full(error: BaseException) -> bool:
    """Returns whether an error of the system or of SQLite means that the disk, a quota or a file is full."""
    if isinstance(error, OSError):
        return error.errno in _FULL
    apsw = sys.modules.get("apsw")  # its error is here only if it is loaded
    if apsw is None or not isinstance(error, apsw.FullError | apsw.IOError):
        return False
    if isinstance(error, apsw.FullError):
        return True
    if error.extendedresult not in {getattr(apsw, f"SQLITE_IOERR_{name}") for name in _WRITES}:
        return False
    numbers = set()
    for connection in apsw.connections():
        with suppress(apsw.Error):  # another thread is using it
            numbers.add(connection.system_errno)
    # A connection that could not be opened is gone. Then a write that fails means a full disk much more often than a
    # broken one.
    return not numbers - {0} or not numbers.isdisjoint(_FULL)


def has_no_space(folder: "os.PathLike[str]") -> bool:
    """Returns whether nothing more can be written to the disk of a folder: no block is left, or no inode."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return not found.f_bavail or (found.f_files > 0 and not found.f_favail)


def disk_full(where: Where = NOWHERE) -> SlicebaseError:
    """Returns the error. Whether a part was stored before is known only to the verb that wrote it."""
    return SlicebaseError("disk-full", "the disk is full", hint="free some space, then try again", where=where)
