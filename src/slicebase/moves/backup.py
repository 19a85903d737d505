"""Backups: one file with the database, the slice files and the settings of a workspace, as they were at one moment.

Others go on writing. The moment is that at which the lock of the library is held and the view of the database begins:
the slice files are read under the lock, and the database is copied from that view afterwards.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from slicebase.core.hashing import canonical, digest_of_pieces
from slicebase.errors import SlicebaseError, Where
from slicebase.library.exported import EVERYTHING_EXPORTED, remember_export
from slicebase.moves.archive import ARCHIVE_SUFFIX, Member, is_archive, packed
from slicebase.moves.manifest import BACKUP
from slicebase.moves.places import MANIFEST, SLICES
from slicebase.moves.slices import library_files, refuse_own
from slicebase.truth.transfer import Transfer, copy_to, heads_digest
from slicebase.verbs.parts import Parts
from slicebase.workspace.atomic import left_behind, locked, own_temporary, read_chunks, remove, write_bytes
from slicebase.workspace.boundary import private_database, real_path
from slicebase.workspace.stage import stage, staging
from slicebase.workspace.workspace import DATABASE, EXPORTS, SETTINGS, Workspace

BACKUP_VERSION: Final = 1


class Backup(NamedTuple):
    """A backup that was written: its file, the id of the database, the digest of all heads, and how much there is."""

    path: Path
    database: str
    heads: str
    files: int  # of the library
    bytes: int
    left_out: tuple[str, ...] = ()  # what is in the library and is no regular file


def backup(parts: Parts, to: Path) -> Backup:
    """Writes a backup of a workspace to a new file. Raises `file-exists` where there is one already."""
    if not is_archive(to):
        message = f"the name of a backup ends in {ARCHIVE_SUFFIX}, and {to.name} does not"
        raise SlicebaseError("bad-move", message, where=Where(str(to)))
    if os.path.lexists(to):
        hint = "choose another name; a backup never replaces another"
        raise SlicebaseError("file-exists", f"{to} exists already", hint=hint, where=Where(str(to)))
    folder = real_path(to.parent)
    refuse_own(parts.workspace, folder)
    for path in left_behind(folder):
        remove(path, within=folder)
    database, workspace = parts.truth.database, parts.workspace
    with suppress(SlicebaseError):  # what cannot be logged now is unwitnessed in the copy, too
        database.log()
    with staging(workspace.root) as staged, database.reading():
        made = _Copies(workspace, staged)
        with locked(workspace.lock):
            parts.folder.journal.settle()
            outgoing = Transfer(database)
            identity = parts.truth.identity.database  # the view of the database begins here
            made.copy_files()
        copy = staged / DATABASE
        private_database(copy)
        copy_to(database, copy)
        made.add(DATABASE, copy)
        heads = heads_digest(outgoing.heads())
        remember_export(workspace, EVERYTHING_EXPORTED, folder / to.name)
        members = made.members({"database": identity, "heads": heads})
        write_bytes(folder / to.name, packed(members), within=folder, private=True, temporary=own_temporary())
    return Backup(to, identity, heads, made.files, to.stat().st_size, tuple(made.left_out))


class _Copies:
    """The files of a backup, each copied once, so that nobody can change them before they are packed."""

    def __init__(self, workspace: Workspace, staged: Path) -> None:
        self._workspace = workspace
        self._staged = staged
        self._paths: dict[str, Path] = {}
        self.left_out: list[str] = []
        self.files = 0

    def copy_files(self) -> None:
        """Copies the library, the settings and the list of exports. The caller holds the lock of the library."""
        found, self.left_out = library_files(self._workspace)
        self.files = len(found)
        for file in found:
            self._copy(f"{SLICES}/{file.name}", file.path)
        for name, path in ((SETTINGS, self._workspace.root / SETTINGS), (EXPORTS, self._workspace.exports)):
            if path.is_file() and not path.is_symlink():
                self._copy(name, path)

    def _copy(self, name: str, path: Path) -> None:
        self.add(name, stage(self._staged, name, read_chunks(path)))

    def add(self, name: str, path: Path) -> None:
        """Adds a file that is staged already."""
        self._paths[name] = path

    def members(self, about: dict[str, Any]) -> Iterator[Member]:
        """Yields the files in the order of their names, and then the manifest, which has their digests."""
        listed = []
        for name, path in sorted(self._paths.items()):
            size = path.stat().st_size
            listed.append({"path": name, "sha256": digest_of_pieces(read_chunks(path))[7:], "size": size})
            yield Member(name, size, read_chunks(path))
        manifest = canonical({"files": listed, "format": BACKUP, "version": BACKUP_VERSION, **about}) + b"\n"
        yield Member(MANIFEST, len(manifest), [manifest])
