"""What a folder has that is exported to: an export, one that was interrupted, or nothing yet.

Of an interrupted one, and of one whose manifest and files are of two exports, the files say themselves what they have.
"""

import os
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from slicebase.errors import SlicebaseError, Where
from slicebase.moves.exported import (
    PURGES,
    ExportFolder,
    listed_file,
    place_of_rows,
    place_of_shared,
    place_of_texts,
    read_rows,
    read_texts,
)
from slicebase.moves.lines import ROW_LINE, FileHead, read_lines
from slicebase.moves.manifest import ExportManifest, ListedFile, manifest_of, read_listing
from slicebase.moves.places import MANIFEST, README_FILE, SCHEMAS, SLICES, TEXTS, refuse_unsafe
from slicebase.truth.chains import Chain
from slicebase.truth.transfer import SHARED, Heads, head_of_texts, shared_head, shared_key

EXPORTING: Final = ".exporting"  # is there while somebody exports: the manifest is older than the files then
_LINES: Final = ".jsonl"


def found_export(folder: Path) -> ExportFolder:
    """Returns the export that a folder has; one that was interrupted is read from its files."""
    if os.path.lexists(folder / EXPORTING):
        return ExportFolder(folder, surveyed(folder))
    if os.path.lexists(folder / MANIFEST):
        return ExportFolder(folder, read_listing(folder, folder.name))
    others = [name for name in sorted(os.listdir(folder)) if not name.startswith(".")]
    if others:
        message = f"the folder has {others[0]}, and no export"
        hint = "export into a new folder, or into one that only an export is in"
        raise SlicebaseError("file-exists", message, hint=hint, where=Where(str(folder)))
    return ExportFolder(folder, manifest_of({}, {}))


def surveyed(folder: Path) -> ExportManifest:
    """Returns the manifest of what is in a folder, from every file that is one of an export.

    What others keep beside them is none: other names, and copies of a file under another name.
    """
    heads: Heads = {}
    files: dict[str, ListedFile] = {}
    known = _listed_before(folder)
    for path in _paths(folder):
        top = path.partition("/")[0]
        if top in ("sessions", "runs", TEXTS) or path in map(place_of_shared, SHARED):
            found = _texts(folder / path, path) if top == TEXTS else _rows(folder / path, path)
            if found is None:
                continue
            heads.update(found)
        elif top not in (SLICES, SCHEMAS, README_FILE, PURGES):
            continue
        files[path] = _with_versions(listed_file(folder, path), known.get(path))
    return manifest_of(files, heads)


def _listed_before(folder: Path) -> dict[str, ListedFile]:
    """Returns the files that the manifest lists, which is older than they are; none where it cannot be read."""
    try:
        return read_listing(folder, folder.name).by_path()
    except SlicebaseError:
        return {}


def _with_versions(file: ListedFile, known: ListedFile | None) -> ListedFile:
    """Returns a slice file with the versions that it was made from, as far as an older manifest says so."""
    if known is None or not file.path.startswith(f"{SLICES}/"):
        return file
    return replace(file, before=known.before) if known.sha256 == file.sha256 else file


def _paths(folder: Path) -> list[str]:
    """Returns the paths of the regular files in a folder that an export can list."""
    found = []
    for place in folder.rglob("*"):
        path = os.fspath(place.relative_to(folder))
        try:
            refuse_unsafe(path, path)
        except SlicebaseError:
            continue
        if not path.startswith(".") and not place.name.startswith(".") and not place.is_symlink() and place.is_file():
            found.append(path)
    return sorted(found)


def _rows(place: Path, path: str) -> Heads | None:
    """Returns the heads of the rows in a file; None where the file has another name than theirs."""
    if not path.endswith(_LINES):
        return None
    owner = _owner_in(place, path)
    kind, is_owned, name = owner.partition(":")
    if path != (place_of_rows(kind, name) if is_owned and kind in ("session", "run") else place_of_shared(owner)):
        return None
    heads: Heads = {}
    for table, rows in read_rows(place, path).items():
        if table in SHARED:
            heads[table] = shared_head(shared_key(table, row.values) for row in rows)
        else:
            heads[str(Chain(table, name))] = (rows[-1].seq, rows[-1].hash.hex())
    return heads


def _texts(place: Path, path: str) -> Heads | None:
    """Returns the head of the texts in a file; None where the file has another name than theirs."""
    if not path.endswith(_LINES):
        return None
    found = read_texts(place, path)
    if path != place_of_texts(found.head.owner):
        return None
    return {f"{TEXTS}/{found.head.owner}": head_of_texts([found.texts[name] for name in sorted(found.texts)])}


def _owner_in(place: Path, path: str) -> str:
    head = next(iter(read_lines(place, path, ROW_LINE)), None)
    return head.owner if isinstance(head, FileHead) else ""
