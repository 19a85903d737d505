"""Errors of PostgreSQL as errors of ours. None of them shows the address, which can hold a password."""

from typing import Final

import psycopg
from psycopg import errors

from slicebase.errors import SlicebaseError
from slicebase.workspace.disk import disk_full

_WAITED: Final = (errors.LockNotAvailable, errors.SerializationFailure, errors.DeadlockDetected)
_LOST: Final = (
    errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow, errors.IdleInTransactionSessionTimeout,
    errors.TooManyConnections,
)  # fmt: skip
_NOT_OURS: Final = (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction, errors.DataCorrupted)


def as_our_error(error: psycopg.Error) -> SlicebaseError:
    """Returns our error for one of PostgreSQL."""
    said = _first_line(error)
    if isinstance(error, _WAITED):
        return SlicebaseError("locked", f"another process is writing: {said}", hint="try again when it is done")
    if isinstance(error, errors.QueryCanceled):
        hint = "its administrator says how long a statement may take (statement_timeout)"
        return SlicebaseError("no-server", f"PostgreSQL ended a statement: {said}", hint=hint)
    if isinstance(error, errors.DiskFull):
        return disk_full()
    if isinstance(error, errors.InsufficientPrivilege):
        hint = "a user of the memory is a member of the role slicebase_writer, and of slicebase_purger to purge"
        return SlicebaseError("cannot-write", f"PostgreSQL refuses it: {said}", hint=hint)
    if isinstance(error, _NOT_OURS):
        hint = "restore it from a backup, or name another database"
        return SlicebaseError("database-damaged", f"the tables are not those of Slicebase: {said}", hint=hint)
    if isinstance(error, _LOST) or (isinstance(error, psycopg.OperationalError) and error.sqlstate is None):
        hint = "try again when the server answers: what was not acknowledged may or may not be stored"
        return SlicebaseError("no-server", f"PostgreSQL does not answer: {said}", hint=hint)
    return SlicebaseError("cannot-write", f"PostgreSQL cannot do it: {said}")


def _first_line(error: psycopg.Error) -> str:
    """Returns what happened in one line: the server's own words, or those of its client without the address."""
    primary = error.diag.message_primary
    text = primary or str(error).partition("\n")[0]
    return text.rpartition("failed: ")[2] or type(error).__name__
