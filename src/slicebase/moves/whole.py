"""The verbs of a workspace as a whole: they keep it, and put it back.

They are verbs of the one object that an application holds, which has them from here: each is about all of its parts at
once, and none of them is needed for anything else.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from slicebase.verbs.parts import Parts
from slicebase.workspace.given_paths import given_path
from slicebase.workspace.surroundings import one_thread_at_a_time
from slicebase.workspace.workspace import StrPath

if TYPE_CHECKING:  # keeps start-up fast: a verb imports what it needs when it is called
    from slicebase.moves.backup import Backup
    from slicebase.moves.export import ExportReport
    from slicebase.moves.imported import TakenReport
    from slicebase.moves.restoration import Restored


@one_thread_at_a_time
class WholeMemory(Parts):
    """A workspace that can be kept as a whole."""

    def backup(self, path: StrPath) -> "Backup":
        """Writes the database, the slice files and the settings, as they are at one moment, to a new .tar.zst file."""
        from slicebase.moves.backup import backup

        return backup(self, self._new_path(path))

    def export_workspace(self, path: StrPath) -> "ExportReport":
        """Exports everything in open formats, into a folder or a .tar.zst file; what is there is added to."""
        from slicebase.moves.export import export_workspace

        return export_workspace(self, self._new_path(path))

    def import_workspace(self, path: StrPath, *, progress: Callable[[str], None] = lambda what: None) -> "TakenReport":
        """Takes an export of a workspace: what it has beyond what is here; conflicts are reported, and nothing lost."""
        from slicebase.moves.imported import import_workspace

        return import_workspace(self, given_path(path), progress)

    def restore_backup(self, path: StrPath, *, progress: Callable[[str], None] = lambda what: None) -> "Restored":
        """Puts a backup into this workspace, which has no memory yet, after all of it was verified."""
        from slicebase.moves.restoration import restore_backup

        self.close()
        return restore_backup(self, given_path(path), progress)

    def _new_path(self, path: StrPath) -> Path:
        """Returns the path of a file or folder to write, which is remembered: so it has no secret."""
        self.surroundings.redaction.refuse("the path", os.fspath(path))
        return given_path(path, "cannot-write")
