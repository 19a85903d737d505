"""Remembers where something was exported to, so that a purge can search these files and name them.

The list is a private file beside the database, for all worktrees. It has paths and ids, and no texts.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from slicebase.errors import SlicebaseError
from slicebase.workspace.atomic import locked, own_temporary, read_bytes, write_bytes
from slicebase.workspace.workspace import Workspace, own_folder

EVERYTHING_EXPORTED: Final = "workspace:"  # what a backup has, or an export of a workspace; no session has this name


class ExportedFile(NamedTuple):
    """A file or folder that something was exported to: a session, by its id, or what a reference names."""

    what: str
    path: str  # absolute

    @property
    def is_there(self) -> bool:
        return os.path.exists(self.path)


_LIST = msgspec.json.Decoder(list[ExportedFile])


def remember_export(workspace: Workspace, what: str, path: Path) -> None:
    """Adds a file to the list, before it is written: a process that is killed leaves no file that is not in it.

    Files that are no longer there stay in the list: they may have been moved. Does nothing where nothing can be
    written: there, nothing can be purged either.
    """
    place = workspace.exports
    try:
        own_folder(place.parent)
        with locked(workspace.exports_lock):
            known = dict.fromkeys([*exported_files(workspace), ExportedFile(what, str(path))])
            data = msgspec.json.encode(list(known))
            write_bytes(place, [data], within=place.parent, private=True, temporary=own_temporary())
    except OSError:
        return
    except SlicebaseError as error:
        if error.code != "cannot-write":
            raise


def exported_files(workspace: Workspace) -> list[ExportedFile]:
    """Returns the files that something was exported to, oldest first; none from a list that cannot be read."""
    found: dict[ExportedFile, None] = {}
    for path in (workspace.earlier_exports, workspace.exports):
        with suppress(OSError, SlicebaseError, msgspec.MsgspecError):
            found.update(dict.fromkeys(_LIST.decode(read_bytes(path))))
    return list(found)
