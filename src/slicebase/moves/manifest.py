"""The manifest of an export: what is in it, by digests, so that anybody can check it with sha256sum and jq."""

import re
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct, to_builtins

from slicebase.core.hashing import canonical
from slicebase.errors import SlicebaseError, Where
from slicebase.moves.places import MANIFEST, refuse_unsafe
from slicebase.truth.transfer import Heads, heads_digest
from slicebase.workspace.atomic import read_bytes

EXPORT: Final = "slicebase-workspace"  # the format in the manifest
EXPORT_VERSION: Final = 1
BACKUP: Final = "slicebase-backup"  # that of a backup
_LARGEST: Final = 512 << 20  # bytes of a manifest


_NAMED: Final = re.compile(rb'"format"\s*:\s*"' + EXPORT.encode() + b'"')  # also where a tool has formatted it


class _Format(Struct):
    format: str = ""


class ListedFile(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A file of an export. Of a slice file, also the digests of the versions that it was made from, oldest first."""

    path: str
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    size: Annotated[int, Meta(ge=0)]
    before: tuple[Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")], ...] = ()


class ExportManifest(Struct, frozen=True, forbid_unknown_fields=True):
    """What an export says about itself: the heads of its chains and texts, one digest of them, and its files."""

    digest: str
    files: tuple[ListedFile, ...]
    format: str
    heads: Heads
    version: int

    def by_path(self) -> dict[str, ListedFile]:
        """Returns the files by their paths."""
        return {file.path: file for file in self.files}


def manifest_of(files: "dict[str, ListedFile]", heads: Heads) -> ExportManifest:
    """Returns the manifest of an export with these files and heads."""
    listed = tuple(files[path] for path in sorted(files))
    return ExportManifest(heads_digest(heads), listed, EXPORT, dict(sorted(heads.items())), EXPORT_VERSION)


def export_manifest_bytes(manifest: ExportManifest) -> bytes:
    """Returns the canonical bytes of a manifest, and a line end."""
    return canonical(to_builtins(manifest)) + b"\n"


def is_export(folder: Path) -> bool:
    """Returns whether a folder is an export, or looks like one that is damaged."""
    try:
        data = read_bytes(folder / MANIFEST, most=_LARGEST)
    except (OSError, SlicebaseError):
        return False
    return _NAMED.search(data) is not None


def read_listing(folder: Path, shown: str) -> ExportManifest:
    """Returns the manifest of an export. Raises `bad-move` where it contradicts itself."""
    where = Where(f"{shown}/{MANIFEST}")
    try:
        data = read_bytes(folder / MANIFEST, most=_LARGEST)
        if msgspec.json.decode(data, type=_Format).format == BACKUP:
            hint = "`tt restore` puts a backup back, into a workspace without memory"
            raise SlicebaseError("bad-move", "it is a backup, not an export", hint=hint, where=where)
        manifest = msgspec.json.decode(data, type=ExportManifest)
    except FileNotFoundError:
        raise _bad("there is no manifest", where) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _bad(f"the manifest cannot be read: {error}", where) from None
    if (manifest.format, manifest.version) != (EXPORT, EXPORT_VERSION):
        raise _bad(f"it is {manifest.format!r} version {manifest.version}, not {EXPORT} {EXPORT_VERSION}", where)
    if heads_digest(manifest.heads) != manifest.digest:
        raise _bad("the digest of its heads is another one than it states", where)
    for file in manifest.files:
        refuse_unsafe(file.path, str(where))
    if len(manifest.by_path()) < len(manifest.files):
        raise _bad("a file is listed twice", where)
    return manifest


def _bad(message: str, where: Where) -> SlicebaseError:
    hint = "after a merge of git, take one side of it whole, import it, and export again"
    return SlicebaseError("bad-move", message, hint=hint, where=where)
