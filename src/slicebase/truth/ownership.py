"""Whose database it is: a workspace opens the one that it had, made by its user on its machine (rulings 45 and 49)."""

import os
import time
from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError, Where
from slicebase.truth.acts import Identity
from slicebase.workspace.boundary import cannot_read


class Opener(NamedTuple):
    """Who opens a database: a digest of user and machine, and the ids by which the workspace knows its database."""

    home: str = ""
    known: Set[str] = frozenset()
    adopt: bool = False  # take over a database of somebody else, or an older copy
    new_id: Callable[[], str] = lambda: os.urandom(16).hex()
    time: Callable[[], str] = lambda: to_text(time.time_ns() // 1_000_000)
    restore: bool = False  # the same, of a copy that is put back, whoever made it

    def identity(self, before: str | None = None, log: int = 0) -> Identity:
        """Returns a new identity of the database."""
        return Identity(self.new_id(), self.home, self.time(), before, log)


def refuse_lost(path: Path, opener: Opener) -> None:
    """Raises `database-lost` where the workspace knows a database that is gone or empty."""
    size = path.stat().st_size if is_there(path) else None
    if opener.known and not opener.adopt and not size:
        raise SlicebaseError(
            "database-lost",
            f"the database {min(opener.known)} of this workspace is {'gone' if size is None else 'empty'}",
            hint="put a copy of it back, or name the server that has it (SLICEBASE_URL); or `tt init --adopt` begins a "
            "new one, and keeps a record of that",
            where=Where(str(path)),
        )


def refuse_others(stated: Sequence[Identity], path: Path, opener: Opener) -> None:
    """Raises `database-not-ours` for a database of somebody else, and for another one than the workspace had.

    `stated` is what the database says about itself, the newest last.
    """
    if is_of_others(stated, opener):
        whose = "is not the one that this workspace had"
        if _is_foreign(stated, opener):
            whose = "was made by another user or machine"
        raise SlicebaseError(
            "database-not-ours",
            f"the database {stated[-1].database} {whose}",
            hint="if you trust it, `tt init --adopt` makes it the memory of this workspace",
            where=Where(str(path)),
        )


def is_of_others(stated: Sequence[Identity], opener: Opener) -> bool:
    """Returns whether a database is somebody else's, or another one than the workspace had."""
    names = {identity.database for identity in stated}
    return _is_foreign(stated, opener) or (bool(opener.known) and not opener.known & names)


def _is_foreign(stated: Sequence[Identity], opener: Opener) -> bool:
    return bool(opener.home) and stated[-1].home != opener.home


def is_there(path: Path) -> bool:
    """Returns whether a file exists. Raises `cannot-read` where this user may not know."""
    try:
        return path.exists()
    except PermissionError as error:
        raise cannot_read(error, path) from None
