"""Searches the raw bytes of every file that Slicebase writes in a workspace for what was purged."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from slicebase.core.passages import PASSAGE, Stretch
from slicebase.errors import SlicebaseError
from slicebase.library.exported import exported_files
from slicebase.truth.erasure import PassageSearch
from slicebase.workspace.atomic import read_chunks
from slicebase.workspace.workspace import LOCAL, Workspace


class Remnant(NamedTuple):
    """A place in a file of ours that still holds a passage of what was purged."""

    file: str
    offset: int
    length: int


def remnants_in(workspace: Workspace, search: PassageSearch) -> Iterator[Remnant]:
    """Yields the places that still hold what was purged: in the database, the caches, the library and exports."""
    for path in _files(workspace):
        name = os.path.relpath(path, workspace.root) if path.is_relative_to(workspace.root) else str(path)
        yield from _merged(
            Remnant(name, at + found.start, found.end - found.start)
            for at, data in chunks_of(path)
            for found in search.passages_in(data)
            if not is_name(data, found)
        )


def _files(workspace: Workspace) -> Iterator[Path]:
    folders = {workspace.database.parent, workspace.root / LOCAL, workspace.library}
    inside = {path: None for folder in sorted(folders) for path in sorted(folder.rglob("*"))}
    exports = dict.fromkeys(Path(each.path) for each in exported_files(workspace))
    for path in inside | exports:
        if os.path.isfile(path) and not os.path.islink(path):
            yield path


def _merged(remnants: Iterable[Remnant]) -> list[Remnant]:
    """Returns the places in order; those that overlap are one."""
    merged: list[Remnant] = []
    for each in sorted(remnants):
        last = merged[-1] if merged else None
        if last and last.file == each.file and each.offset <= last.offset + last.length:
            length = max(last.offset + last.length, each.offset + each.length) - last.offset
            merged[-1] = last._replace(length=length)
        else:
            merged.append(each)
    return merged


_ID: Final = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-f]{32,64}|[0-9A-HJKMNP-TV-Z]{26}")
_AROUND: Final = 64  # bytes


def is_name(data: bytes, found: Stretch | None = None) -> bool:
    """Returns whether a passage is an id of a record, and the bytes that happen to stand beside it."""
    start, end = found or (0, len(data))
    first = max(0, start - _AROUND)
    masked = _ID.sub(lambda each: b"\0" * len(each[0]), data[first : end + _AROUND])
    return len(masked[start - first : end - first].replace(b"\0", b"")) < PASSAGE // 2


_OVERLAP: Final = 4 << 10  # bytes that two chunks share, so that no passage is cut


def chunks_of(path: Path, overlap: int = _OVERLAP) -> Iterator[tuple[int, bytes]]:
    """Yields the bytes of a file in overlapping chunks, each with its place; nothing if it cannot be read."""
    at, before = 0, b""
    with suppress(OSError, SlicebaseError):  # not a regular file, or one that changes meanwhile
        for data in read_chunks(path):
            yield at - len(before), before + data
            at, before = at + len(data), (before + data)[-overlap:] if overlap else b""
