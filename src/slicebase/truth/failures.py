"""Errors of SQLite and of the system, as errors of ours: locked, damaged, full, or not to be read.

Also the error of rows that contradict others.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.boundary import cannot_read
from slicebase.workspace.disk import disk_full, is_full

if TYPE_CHECKING:
    from slicebase.truth.database import Database


@contextmanager
def database_errors(path: Path) -> Iterator[None]:
    """Turns an error of SQLite or of the system into a SlicebaseError."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        ours = _as_unreadable(error, path) or as_our_error(error)
        if ours is None:
            raise
        raise ours.at(Where(str(path))) from None


def _is_schema_error(error: Exception) -> bool:
    """Returns whether a statement failed since a table or a column is missing, which only damage can cause."""
    return isinstance(error, apsw.SQLError) and str(error).startswith(("no such table", "no such column", "table "))


def _as_unreadable(error: Exception, path: Path) -> SlicebaseError | None:
    """Returns the error for a database that exists and that this user may not read, or None."""
    if isinstance(error, apsw.CantOpenError) and os.path.isfile(path) and not os.access(path, os.R_OK):
        return cannot_read(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), path)
    return None


def as_our_error(error: Exception) -> SlicebaseError | None:
    """Returns our error for an error of SQLite or of the system, or None where only a bug of ours can cause it."""
    if isinstance(error, apsw.BusyError):
        return SlicebaseError("locked", "another process is writing", hint="try again when it is done")
    if isinstance(error, apsw.NotADBError | apsw.CorruptError) or _is_schema_error(error):
        return SlicebaseError(
            "database-damaged",
            f"SQLite cannot read the database: {error}",
            hint="restore it from a backup; the transcripts can be imported again",
        )
    if is_full(error):
        return disk_full()
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.IOError | OSError):
        return SlicebaseError("cannot-write", f"the database cannot be used: {error}")
    return None


def damaged(message: str) -> SlicebaseError:
    """Returns the error for rows that contradict others, which only damage can cause."""
    return SlicebaseError("database-damaged", message, hint="`tt verify` says what else is wrong")


class LostTurns:
    """Whether turns were removed from a database: one that is not found may be of these."""

    def __init__(self, database: "Database") -> None:
        self._database = database
        self._checked: object = None  # the state of the database in which none was missing

    def refuse(self) -> None:
        """Raises `database-damaged` if there are fewer turns than were stored. Each state is counted once."""
        state = self._database.state
        if state == self._checked:
            return
        query = "SELECT (SELECT coalesce(sum(turns), 0) FROM shapes), (SELECT count(*) FROM turns)"
        stored, there = next(self._database.connection.execute(query))
        if there < stored:
            raise damaged(f"{stored} turns were stored, and only {there} are there")
        self._checked = state
