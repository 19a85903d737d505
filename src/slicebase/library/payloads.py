"""Payloads of pointers: a local file by hash and size, read as a stream, or a copy of it in the library (§ Pointer)."""

import hashlib
import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from slicebase.core.hashing import is_digest
from slicebase.core.ids import is_ulid
from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.entries import Stamp
from slicebase.files.body.write import refuse_closed
from slicebase.files.findings import shown
from slicebase.files.links import resolve
from slicebase.files.model import Payload
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key
from slicebase.library.folder import PAYLOADS, SliceFolder, outside_workspace
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


# Schemes of a URI that names nothing that others can get.
_NOT_SHARED: Final[Mapping[str, str]] = {
    "file": "it names a place on one machine; `--from` points to a file of the workspace",
    **dict.fromkeys(("data", "javascript", "vbscript", "blob", "about"), "it does not name content that is elsewhere"),
}
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_LONGEST_URI: Final = 2048


def stated_payload(payload: Payload) -> Payload:
    """Returns a payload that a pointer states by itself, after checking its form. A URI is never fetched (ruling 29).

    A path stays a path from the folder of the pointer; the folder refuses one that leads out of the workspace.
    """
    uri = payload.uri or ""
    scheme = _SCHEME.match(uri)
    if not uri or len(uri) > _LONGEST_URI or not uri.isprintable() or " " in uri:
        problem = f"a uri has 1 to {_LONGEST_URI} characters, without spaces and control characters"
    elif scheme and scheme[1].lower() in _NOT_SHARED:
        problem = _NOT_SHARED[scheme[1].lower()]
    elif payload.hash is not None and not is_digest(payload.hash):
        uri, problem = payload.hash, "a hash is sha256: and 64 lower-case hex digits"
    elif payload.size is not None and payload.size < 0:
        uri, problem = str(payload.size), "a size is a number of bytes, from 0"
    else:
        return payload
    raise SlicebaseError("breaks-rule", f"a payload cannot have {shown(uri)}", hint=problem)


def measured_again(folder: SliceFolder, file: SliceFile) -> Payload:
    """Returns the payload of a pointer with the hash and size that its local file has now."""
    payload = file.payload
    if file.purged or file.archived:
        refuse_closed(file)
    if file.kind != "pointer":
        hint = "only the payload of a pointer is measured; give the new text of a derived file"
        raise SlicebaseError("nothing-given", "there is no text to write", hint=hint, where=Where(file.name))
    if file.write_mode == "error":
        hint = "create a new pointer for new content"
        raise SlicebaseError("write-mode", "the pointer is read-only", hint=hint, where=Where(file.name))
    if payload is None or not payload.uri or _SCHEME.match(payload.uri):
        hint = f"`tt define {file.id} payload.hash=… payload.size=…` states another version"
        raise SlicebaseError("write-mode", "the payload is not a file here", hint=hint, where=Where(file.name))
    real = folder.inside(payload.uri)
    if real is None:
        raise outside_workspace(payload.uri)
    return _measured(_real(real)).payload(payload.uri)


def refuse_other_payload(file: SliceFile, measured: Payload | None) -> None:
    """Raises an error if a pointer has another payload than the one that was measured."""
    if file.payload != measured:
        message = "the pointer has changed since its payload was measured"
        raise SlicebaseError("conflict", message, hint="try again", where=Where(file.name))


def with_payload(file: SliceFile, payload: Payload, stamp: Stamp) -> SliceFile:
    """Returns a pointer with a payload that was measured, and the time of the change, if it differs (ruling 26)."""
    if payload == file.payload:
        return file
    changed = set_key(set_key(file, "slice.payload.hash", payload.hash), "slice.payload.size", payload.size)
    return set_key(changed, "slice.updated_at", stamp.time)


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
    uri = posixpath.relpath(real.relative_to(folder.root).as_posix(), LIBRARY)
    return _measured(real).payload(uri if uri.startswith(".") else f"./{uri}")


_ENDING: Final = re.compile(r"(?:\.[A-Za-z0-9]{1,10}){1,2}$")


def _copied(folder: SliceFolder, path: Path, file_id: str, redaction: Redaction) -> Payload:
    """Copies a file into the library, named by the pointer's id. Returns its payload."""
    ending = _ENDING.search(path.name)
    name = file_id + (ending[0] if ending else "")
    create_folder(folder.payloads, within=folder.root)
    measured = _Measured(redaction.copied("the file", read_chunks(_real(path))))
    write_bytes(folder.payloads / name, measured, within=folder.root)
    return measured.payload(f"./{PAYLOADS}/{name}")


def _measured(path: Path) -> "_Measured":
    measured = _Measured(read_chunks(path))
    for _ in measured:
        pass
    return measured


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
