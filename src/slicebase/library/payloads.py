"""Payloads of pointers: a local file by hash and size, read as a stream, or a copy of it in the library (§ Pointer)."""

import hashlib
import os
import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from slicebase.core.ids import is_ulid
from slicebase.errors import SlicebaseError, Where
from slicebase.files.links import resolve
from slicebase.files.model import Payload
from slicebase.library.folder import PAYLOADS, SliceFolder
from slicebase.workspace.atomic import create_folder, locked, read_chunks, remove, write_bytes
from slicebase.workspace.doors import Redaction
from slicebase.workspace.workspace import LIBRARY, create_local_folder


@contextmanager
def new_payload(
    folder: SliceFolder, path: Path | None, file_id: str, redaction: Redaction, *, copy: bool
) -> Iterator[Payload | None]:
    """Yields the payload of a new pointer. A copy is removed again if the pointer is not created.

    A copy has no secrets, and the hash is that of the copy. A file in place stays as it is: only its hash is stored.
    A payload may be large, so copies have a lock of their own: only another copy waits for it.
    """
    if path is None or not copy:
        payload = _in_place(folder, path) if path else None
        redaction.refuse("the path of the file", payload.uri if payload else None)
        yield payload
        return
    create_local_folder(folder.root)
    with locked(folder.payloads_lock):
        payload = _copied(folder, path, file_id, redaction)
        try:
            yield payload
        except BaseException:
            remove_copy(folder, payload.uri)
            raise


def remove_copy(folder: SliceFolder, uri: str | None) -> bool:
    """Deletes a payload that was copied into the library. Returns whether it did: files elsewhere are not ours."""
    path = resolve(LIBRARY, uri) if uri else None
    parent, _, name = (path or "").rpartition("/")
    return parent == f"{LIBRARY}/{PAYLOADS}" and remove(folder.payloads / name, within=folder.root)


def unclaimed_copies(folder: SliceFolder) -> list[Path]:
    """Returns copies that no file names: their writer died, or their pointer is gone or on another branch."""
    if not folder.payloads.is_dir():
        return []
    create_local_folder(folder.root)
    with locked(folder.payloads_lock):
        copies = sorted(path for path in folder.payloads.iterdir() if is_ulid(path.name.partition(".")[0]))
        pointers = (file.payload for file in folder.mentioning(PAYLOADS.encode()))
        claimed = {payload.uri.rpartition("/")[2] for payload in pointers if payload and payload.uri}
        return [path for path in copies if path.name not in claimed]


def _in_place(folder: SliceFolder, path: Path) -> Payload:
    """Returns the payload for a file of the workspace, which stays where it is."""
    real = _real(path)
    if not real.is_relative_to(folder.root):
        raise SlicebaseError(
            "outside-workspace",
            "the file is outside the workspace, where nobody else has it",
            hint="--copy puts a copy of it into the library",
            where=Where(str(path)),
        )
    measured = _Measured(read_chunks(real))
    for _ in measured:
        pass
    uri = posixpath.relpath(real.relative_to(folder.root).as_posix(), LIBRARY)
    return measured.payload(uri if uri.startswith(".") else f"./{uri}")


_ENDING: Final = re.compile(r"(?:\.[A-Za-z0-9]{1,10}){1,2}$")


def _copied(folder: SliceFolder, path: Path, file_id: str, redaction: Redaction) -> Payload:
    """Copies a file into the library, named by the pointer's id. Returns its payload."""
    ending = _ENDING.search(path.name)
    name = file_id + (ending[0] if ending else "")
    create_folder(folder.payloads, within=folder.root)
    measured = _Measured(redaction.copied("the file", read_chunks(_real(path))))
    write_bytes(folder.payloads / name, measured, within=folder.root)
    return measured.payload(f"./{PAYLOADS}/{name}")


class _Measured:
    """Counts and hashes the bytes that pass through it."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._hash = hashlib.sha256()
        self._size = 0

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self._hash.update(chunk)
            self._size += len(chunk)
            yield chunk

    def payload(self, uri: str) -> Payload:
        return Payload(uri, "sha256:" + self._hash.hexdigest(), self._size)


def _real(path: Path) -> Path:
    """Returns the real path: a symbolic link inside the workspace may lead out of it."""
    try:
        return Path(os.path.realpath(path, strict=True))
    except OSError as error:
        raise SlicebaseError("no-input", str(error.strerror), where=Where(str(path))) from None
