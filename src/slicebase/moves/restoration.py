"""Puts a backup back into a workspace that has no memory. Everything is proved before any of it is put in place."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from slicebase.core.hashing import digest_of_pieces
from slicebase.errors import SlicebaseError, Where
from slicebase.moves.archive import bad_archive, unpacked
from slicebase.moves.backup import BACKUP_VERSION
from slicebase.moves.manifest import BACKUP
from slicebase.moves.places import MANIFEST, SLICES
from slicebase.truth.acts import identities
from slicebase.truth.transfer import Transfer, heads_digest
from slicebase.truth.truth import open_copy
from slicebase.verbs.parts import Parts
from slicebase.verbs.verify import Verdict, verify_workspace
from slicebase.workspace.atomic import (
    TEMPORARY,
    create_folder,
    file_errors,
    locked,
    own_temporary,
    read_bytes,
    read_chunks,
    write_bytes,
)
from slicebase.workspace.machine import keep_id, known_ids
from slicebase.workspace.stage import place_database, stage, staging
from slicebase.workspace.surroundings import Surroundings
from slicebase.workspace.workspace import (
    DATABASE,
    EXPORTS,
    LIBRARY,
    LOCAL,
    SETTINGS,
    Workspace,
    create_local_folder,
    own_folder,
)

_LARGEST_MANIFEST: Final = 256 << 20  # bytes


class BackedUpFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a backup, as its manifest lists it."""

    path: str
    sha256: str
    size: int


class BackupManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a backup says about itself."""

    database: str
    files: tuple[BackedUpFile, ...]
    format: str
    heads: str
    version: int


class Restored(NamedTuple):
    """What was restored: the workspace, the id of the database in the backup and its new one, and the verification."""

    root: Path
    before: str
    database: str
    heads: str
    files: int
    verdict: Verdict


def restore_backup(parts: Parts, source: Path, progress: Callable[[str], None]) -> Restored:
    """Puts a backup into a workspace. Raises `has-memory` where there is memory already.

    The database keeps its history and gets a new id, by a record in it (ruling 45).
    """
    with file_errors(source, "cannot-read"):
        if not source.is_file():
            hint = "`tt backup FILE` writes one"
            raise SlicebaseError("no-input", "there is no such backup", hint=hint, where=Where(str(source)))
    workspace = parts.workspace
    _refuse_memory(workspace, {})
    with staging(workspace.root) as staged:
        found = _unpacked(source, staged)
        manifest = _manifest(source, found)
        slices = {
            name.removeprefix(f"{SLICES}/"): path for name, path in found.items() if name.startswith(f"{SLICES}/")
        }
        private = Workspace(staged, found[DATABASE])
        around = Surroundings(private, parts.surroundings.clock, parts.surroundings.entropy)
        before, database, heads = _reopened(private, around, workspace, source)
        if manifest.heads != heads:
            raise bad_archive(source, "the heads of its database are not those that its manifest states")
        with Parts(private, around) as copy:
            verdict = verify_workspace(copy, progress)
        if verdict.status == "BROKEN":
            first = next(finding for finding in verdict.findings if finding.status == "BROKEN")
            hint = "nothing was restored: restore an earlier backup"
            message = f"`tt verify` says BROKEN of it: {first.check} {first.place}"
            raise SlicebaseError("bad-move", message, hint=hint, where=Where(str(source)))
        create_local_folder(workspace.root)
        with locked(workspace.lock):
            _refuse_memory(workspace, slices)
            _put_files(workspace, slices, found)
            place_database(private.database, workspace.database)
            keep_id(workspace.id_files, database)
    return Restored(workspace.root, before, database, heads, len(slices), verdict)


def _refuse_memory(workspace: Workspace, slices: dict[str, Path]) -> None:
    """Raises `has-memory` for a workspace with a database, or with slice files other than those to restore.

    Those are what a restoration that was killed has left.
    """
    has_database = os.path.lexists(workspace.database) and workspace.database.lstat().st_size > 0
    other = None
    for path in sorted(workspace.library.rglob("*")):
        name = path.relative_to(workspace.library).as_posix()
        if slices and path.is_file() and name in slices and read_bytes(path) == read_bytes(slices[name]):
            continue
        if slices and not path.is_dir() and not path.name.startswith(TEMPORARY):
            other = other or f"{LIBRARY}/{name}"
    if has_database or other:
        what = "a database" if has_database else other
        raise SlicebaseError(
            "has-memory",
            f"the workspace has {what} already",
            hint="restore into another folder; `tt import` adds what an export has"
            if has_database
            else f"restore into another folder; or move {LIBRARY}/ away first, and let git bring its version back",
            where=Where(str(workspace.root)),
        )


def _unpacked(source: Path, staged: Path) -> dict[str, Path]:
    """Unpacks a backup, and returns its files by their names. Names that no backup has are refused."""
    found = {}
    for member in unpacked(source):
        name, _, rest = member.name.partition("/")
        if not (member.name in (MANIFEST, DATABASE, SETTINGS, EXPORTS) or (name == SLICES and rest)):
            raise bad_archive(source, f"{member.name!a} is no file of a backup")
        place = {SLICES: f"{LIBRARY}/{rest}", DATABASE: f"{LOCAL}/{DATABASE}"}.get(name, member.name)
        found[member.name] = stage(staged, place, member.chunks)
    return found


def _manifest(source: Path, found: dict[str, Path]) -> BackupManifest:
    """Returns the manifest of a backup, with which all of its files agree."""
    path = found.pop(MANIFEST, None)
    if path is None or DATABASE not in found:
        raise bad_archive(source, f"it is no backup: it has no {MANIFEST if path is None else DATABASE}")
    try:
        manifest = msgspec.json.decode(read_bytes(path, most=_LARGEST_MANIFEST), type=BackupManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise bad_archive(source, f"{MANIFEST} cannot be read: {error}") from None
    if (manifest.format, manifest.version) != (BACKUP, BACKUP_VERSION):
        raise bad_archive(
            source, f"it is {manifest.format!r} version {manifest.version}, not {BACKUP} {BACKUP_VERSION}"
        )
    listed = {file.path: file for file in manifest.files}
    for name in sorted(listed.keys() | found.keys()):
        stated = listed[name].sha256 if name in listed else "no such file"
        there = digest_of_pieces(read_chunks(found[name]))[7:] if name in found else "no such file"
        if stated != there:
            raise bad_archive(source, f"{name}: the manifest says {stated}, and there is {there}")
    return manifest


def _reopened(private: Workspace, around: Surroundings, workspace: Workspace, source: Path) -> tuple[str, str, str]:
    """Records the restoration in the copy. Returns the id that it had, its new one, and the digest of its heads."""
    truth = open_copy(private.database, around)
    try:
        stated: list[Any] = identities(truth.database.connection)
        known = known_ids(workspace.id_files)
        if known and not known & {identity.database for identity in stated}:
            raise SlicebaseError(
                "database-not-ours",
                f"this workspace had the database {min(known)}, and the backup is of {stated[-1].before}",
                hint="restore into another folder, or begin here without the old one: `tt init --adopt`",
                where=Where(str(source)),
            )
        outgoing = Transfer(truth.database)
        return str(stated[-1].before), truth.identity.database, heads_digest(outgoing.heads())
    finally:
        truth.close()


def _put_files(workspace: Workspace, slices: dict[str, Path], found: dict[str, Path]) -> None:
    for name, path in slices.items():
        to = workspace.library / name
        create_folder(to.parent, within=workspace.root)
        write_bytes(to, read_chunks(path), within=workspace.root)
    if SETTINGS in found and not os.path.lexists(workspace.root / SETTINGS):
        write_bytes(workspace.root / SETTINGS, read_chunks(found[SETTINGS]), within=workspace.root)
    if EXPORTS in found and not os.path.lexists(workspace.exports):
        folder = workspace.exports.parent
        own_folder(folder)
        write_bytes(
            workspace.exports, read_chunks(found[EXPORTS]), within=folder, private=True, temporary=own_temporary()
        )
