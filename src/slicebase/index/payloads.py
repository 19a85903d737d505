"""What has become of the documents that pointers name, compared with the size and the hash that the pointers state.

The specification (§ Staleness) compares hashes for derived files, and its labels are by age alone (ruling 26). The hash
of a pointer is that of its payload (ruling 24): when the document changes, the pointer says what is no longer so, and
what is derived from it does not know. So it is stale, by the rule of `tt validate`, as the pointer of a note is.
`tt stale`, `tt info` and the page of a file say it. Lists do not: they would have to read every document.
"""

import hashlib
import os
import stat
import time
from functools import lru_cache
from pathlib import Path
from typing import Literal

from slicebase.core.hashing import is_digest
from slicebase.errors import SlicebaseError
from slicebase.files.links import resolve, target_kind
from slicebase.files.model import Payload
from slicebase.files.slice_file import SliceFile
from slicebase.index.entries import FileEntry
from slicebase.workspace.atomic import read_bytes
from slicebase.workspace.boundary import real_path
from slicebase.workspace.note_files import is_certain, stamp_of
from slicebase.workspace.workspace import LIBRARY

PayloadState = Literal["same", "changed", "missing"]


def with_payload_state(root: Path, entry: FileEntry, largest: int | None = None) -> FileEntry:
    """Returns an entry that says what has become of its payload, if it is a pointer to a document of the workspace.

    A document of more than `largest` bytes is compared by its size alone. An archived pointer says what was.
    """
    if entry.kind != "pointer" or entry.note is not None or entry.archived or entry.purged:
        return entry
    try:
        payload = SliceFile.parse(read_bytes(root / LIBRARY / entry.name), entry.name).payload
    except (SlicebaseError, OSError):
        return entry
    return entry._replace(payload_state=_state(root, payload, largest) if payload else None)


def _state(root: Path, payload: Payload, largest: int | None) -> PayloadState | None:
    path = resolve(LIBRARY, payload.uri) if payload.uri and target_kind(payload.uri) != "uri" else None
    if path is None:  # it is not here; what leads out of the workspace is an error of `tt validate`
        return None
    try:
        real = real_path(root / path)
        status = os.stat(real)
    except (SlicebaseError, OSError):
        return "missing"
    if not real.is_relative_to(real_path(root)):
        return None
    if not stat.S_ISREG(status.st_mode):
        return "missing"
    if payload.size is not None and payload.size != status.st_size:
        return "changed"
    if payload.hash is None or not is_digest(payload.hash) or (largest is not None and status.st_size > largest):
        return "same"
    try:
        return "same" if _digest(str(real), stamp_of(status)) == payload.hash else "changed"
    except OSError:
        return "missing"


def _digest(path: str, stamp: str) -> str:
    """Returns the hash of a file. It is kept as long as the stamp shows that the file is the same."""
    return _kept_digest(path, stamp) if is_certain(stamp, time.time_ns()) else _read_digest(path)


def _read_digest(path: str) -> str:
    with open(path, "rb") as document:
        return "sha256:" + hashlib.file_digest(document, "sha256").hexdigest()


@lru_cache(maxsize=4096)
def _kept_digest(path: str, stamp: str) -> str:
    return _read_digest(path)
