"""What a folder has that is exported to: an export, one that was interrupted, or nothing yet.

Of an interrupted one, and of one whose manifest and files are of two exports, the files say themselves what they have.
"""

import os
from pathlib import Path
from typing import Final

from slicebase.errors import SlicebaseError, Where
from slicebase.moves.exported import (
    PURGES,
    ExportFolder,
    listed_file,
    place_of_shared,
    read_rows,
    read_texts,
)
from slicebase.moves.lines import ROW_LINE, FileHead, read_lines
from slicebase.moves.manifest import ExportManifest, ListedFile, manifest_of, read_listing
from slicebase.moves.places import MANIFEST, SLICES, TEXTS
from slicebase.truth.chains import Chain
from slicebase.truth.transfer import SHARED, Heads, head_of_texts, shared_head, shared_key

EXPORTING: Final = ".exporting"  # is there while somebody exports: the manifest is older than the files then
README_FILE: Final = "README.md"
SCHEMAS: Final = "schemas"


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
    """Returns the manifest of what an interrupted export left, from every file that is one of an export."""
    heads: Heads = {}
    files: dict[str, ListedFile] = {}
    for place in sorted(folder.rglob("*")):
        path = place.relative_to(folder).as_posix()
        top = path.partition("/")[0]
        if path.startswith(".") or place.is_symlink() or not place.is_file() or place.name.startswith("."):
            continue
        if top in ("sessions", "runs") or path in map(place_of_shared, SHARED):
            for table, rows in read_rows(place, path).items():
                owner = _owner_in(place, path)
                name = table if table in SHARED else str(Chain(table, owner.partition(":")[2]))
                keys = [shared_key(table, row.values) for row in rows] if table in SHARED else []
                heads[name] = shared_head(keys) if keys else (rows[-1].seq, rows[-1].hash.hex())
        elif top == TEXTS:
            found = read_texts(place, path)
            heads[f"{TEXTS}/{found.head.owner}"] = head_of_texts([found.texts[name] for name in sorted(found.texts)])
        elif top not in (SLICES, SCHEMAS, README_FILE, PURGES):
            continue
        files[path] = listed_file(folder, path)
    return manifest_of(files, heads)


def _owner_in(place: Path, path: str) -> str:
    head = next(iter(read_lines(place, path, ROW_LINE)))
    return head.owner if isinstance(head, FileHead) else ""
