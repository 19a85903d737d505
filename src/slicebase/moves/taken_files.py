"""Takes the slice files of an export: new ones, newer ones, and what a merge with those here gives.

A version that was exchanged before is no news. Without a version that both had, only what was added at the end is
taken: nobody can tell then what was removed on purpose. A file that was deleted here stays deleted.
"""

import os
from pathlib import Path

from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError, Where
from slicebase.files.links import SUFFIX
from slicebase.files.merge import merge_bytes
from slicebase.moves.exchange import MoveConflict, SharedVersions, digest_in, slice_conflict
from slicebase.moves.exported import ExportFolder
from slicebase.moves.manifest import ListedFile
from slicebase.moves.places import SLICES
from slicebase.verbs.parts import Parts
from slicebase.workspace.atomic import create_folder, locked, read_bytes, read_chunks, write_bytes
from slicebase.workspace.workspace import create_local_folder

_LARGEST_MERGED = 64 << 20  # bytes of a slice file that is merged
# Errors that leave the other files as good as they are; `conflict` is that of a file that changes while it is read.
_OF_ONE_FILE = frozenset({"bad-move", "not-a-file", "outside-workspace", "cannot-read", "conflict"})


def take_files(
    parts: Parts,
    export: ExportFolder,
    exchange: SharedVersions,
    taken: list[str],
    conflicts: list[MoveConflict],
    refused: list[SlicebaseError],
) -> None:
    """Takes the files below `slices/`, and adds what became of each to these lists."""
    root = parts.workspace.library
    paths = [path for path in sorted(export.listed) if path.startswith(f"{SLICES}/")]
    # New ones first: what a log has moved into another file is there before it is gone from the log.
    paths.sort(key=lambda path: os.path.lexists(root / path.removeprefix(f"{SLICES}/")))
    if not paths:
        return
    workspace = parts.workspace
    create_local_folder(workspace.root)
    with locked(workspace.lock):
        parts.folder.journal.settle()
        parts.folder.before_write()
        for path in paths:
            try:
                place = root / path.removeprefix(f"{SLICES}/")
                if not path.endswith(SUFFIX):
                    _take_payload(parts, export.file(path), place, path, exchange, taken, conflicts)
                    continue
                there = export.data(path)
                new = _decided(there, place, export.listed[path], exchange)
                if isinstance(new, MoveConflict):
                    conflicts.append(new)
                elif new is not None:
                    create_folder(place.parent, within=workspace.root)
                    write_bytes(place, [new], within=workspace.root)
                    taken.append(path)
                if not isinstance(new, MoveConflict):
                    exchange.agree(path, there)
            except SlicebaseError as error:
                if error.code not in _OF_ONE_FILE:
                    raise
                refused.append(error.at(Where(path)))


def _take_payload(
    parts: Parts,
    source: Path,
    place: Path,
    path: str,
    exchange: SharedVersions,
    taken: list[str],
    conflicts: list[MoveConflict],
) -> None:
    """Takes a file that is no slice file: it may be large, and nobody merges it."""
    there, here = digest_in(source) or "", digest_in(place)
    if here is None and not exchange.had(path):
        create_folder(place.parent, within=parts.root)
        write_bytes(place, read_chunks(source), within=parts.root)
        taken.append(path)
    elif here not in (None, there) and not exchange.was_ours(path, there):
        conflicts.append(MoveConflict(path, here or "", there))
        return
    exchange.agree_on(path, there)


def _decided(there: bytes, place: Path, listed: ListedFile, exchange: SharedVersions) -> bytes | MoveConflict | None:
    """Returns the bytes that a file gets here, None if it stays as it is, or the conflict."""
    path = listed.path
    try:
        here = read_bytes(place)
    except FileNotFoundError:
        return None if exchange.had(path) else there
    if here == there or exchange.was_ours(path, digest(there)):
        return None
    base = exchange.base(path, listed.before)
    if base is None:
        if there.startswith(here) or here.startswith(there):
            return there if len(there) > len(here) else None
        return slice_conflict(path, here, there)
    if here == base:
        return there
    if max(len(here), len(there)) > _LARGEST_MERGED:
        return slice_conflict(path, here, there)
    merged = merge_bytes(base, here, there, path)
    return slice_conflict(path, here, there) if merged.conflicts else merged.data
