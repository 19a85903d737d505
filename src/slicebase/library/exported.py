"""Remembers where conversations were exported to, so that a purge can search these files and name them.

The list is a private file beside the database, for all worktrees. It has paths and the ids of sessions, and no texts.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from slicebase.errors import SlicebaseError
from slicebase.workspace.atomic import locked, own_temporary, read_bytes, write_bytes
from slicebase.workspace.workspace import Workspace, own_folder


class ExportedFile(NamedTuple):
    """A file that a session was exported to."""

    session: str
    path: str  # absolute

    @property
    def is_there(self) -> bool:
        return os.path.isfile(self.path)


_LIST = msgspec.json.Decoder(list[ExportedFile])


def remember_export(workspace: Workspace, session: str, path: Path) -> None:
    """Adds a file to the list, before it is written: a process that is killed leaves no file that is not in it.

    Files that are no longer there stay in the list: they may have been moved. Does nothing where nothing can be
    written: there, nothing can be purged either.
    """
    place = workspace.exports
    try:
        own_folder(place.parent)
        with locked(place.with_name(f"{place.name}.lock")):
            known = [*exported_files(workspace), ExportedFile(session, str(path))]
            data = msgspec.json.encode(list(dict.fromkeys(known)))
            write_bytes(place, [data], within=place.parent, private=True, temporary=own_temporary())
    except OSError:
        return
    except SlicebaseError as error:
        if error.code != "cannot-write":
            raise


def exported_files(workspace: Workspace) -> Iterator[ExportedFile]:
    """Yields the files that sessions were exported to, oldest first; none from a list that cannot be read."""
    try:
        yield from _LIST.decode(read_bytes(workspace.exports))
    except (OSError, SlicebaseError, msgspec.MsgspecError):
        return
