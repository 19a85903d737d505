"""Writes of several slice files that are made completely or not at all, also by a process that is killed.

Before the first file is replaced, the journal says what each of them was. It is deleted when all are written. Who finds
it later undoes that write: nobody was told that it was done. A file that an editor or git has changed since is not
touched, nor are the others then, because they may be needed with it.
"""

import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.workspace.atomic import locked, read_bytes, remove, write_all, write_bytes
from slicebase.workspace.workspace import Workspace

_LARGEST: Final = 512 << 20  # bytes of a journal that is read


class Replaced(NamedTuple):
    """A file of the library to write: its name, its bytes as they were, None for a new one, and its new bytes."""

    name: str
    old: bytes | None
    new: bytes


class _Entry(NamedTuple):
    """A file that is written: its name, its bytes as they were, and the digest of the new ones."""

    name: str
    old: bytes | None
    new: str


class Journal:
    """The journal of the library of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._root = workspace.root
        self._library = workspace.library
        self._lock = workspace.lock
        self._path = workspace.journal

    def write(self, files: Sequence[Replaced]) -> None:
        """Creates and replaces files: all or none. The caller holds the lock of the library."""
        if len(files) == 1:
            write_bytes(self._library / files[0].name, [files[0].new], within=self._root)
            return
        from msgspec import json  # imported here to keep start-up fast

        entries = json.encode([_Entry(name, old, digest(new)) for name, old, new in files])
        try:
            write_bytes(self._path, [entries], within=self._root, private=True)
        except SlicebaseError as error:
            if error.code != "not-flushed":
                raise
            self.settle()  # no file is written yet, whatever that error says
            raise SlicebaseError("cannot-write", "the disk confirms no write", where=error.where) from None
        try:
            write_all(self._library, [(name, new) for name, _, new in files], within=self._root)
        finally:
            self.settle()

    def settle_if_free(self) -> None:
        """Undoes what a killed process left, for a reader: not while a process writes, nor where nobody can write."""
        self.obstacle()

    def obstacle(self) -> SlicebaseError | None:
        """Undoes what a killed process left. Returns why that fails; None, too, while a process writes."""
        if not os.path.lexists(self._path):
            return None
        try:
            with locked(self._lock, 0):
                self.settle()
        except FileNotFoundError:
            return None
        except SlicebaseError as error:
            return error if error.code != "locked" else None
        return None

    def settle(self) -> None:
        """Deletes the journal, after undoing a write of which only a part is done. The caller holds the lock."""
        if not os.path.lexists(self._path):
            return
        entries = self._entries()
        now = [self._bytes(entry.name) for entry in entries]
        written = [data is not None and digest(data) == entry.new for entry, data in zip(entries, now, strict=True)]
        left = [data == entry.old for entry, data in zip(entries, now, strict=True)]
        if not all(written) and all(map(any, zip(written, left, strict=True))):
            for entry, is_written in reversed([*zip(entries, written, strict=True)]):
                if is_written:
                    self._undo(entry)
        remove(self._path, within=self._root)

    def _entries(self) -> list[_Entry]:
        """Returns what the journal says; nothing, if it is none of ours. One that cannot be read may be ours."""
        from msgspec import DecodeError, json

        try:
            entries = json.decode(read_bytes(self._path, most=_LARGEST), type=list[_Entry])
        except DecodeError:
            return []
        except SlicebaseError as error:
            if error.code == "cannot-read":
                raise
            return []
        return entries if all(_is_name(entry.name) for entry in entries) else []

    def _bytes(self, name: str) -> bytes | None:
        try:
            return read_bytes(self._library / name)
        except (FileNotFoundError, SlicebaseError):
            return None

    def _undo(self, entry: _Entry) -> None:
        path = self._library / entry.name
        if entry.old is None:
            remove(path, within=self._root)
        else:
            write_bytes(path, [entry.old], within=self._root)


def _is_name(name: str) -> bool:
    """Returns whether a slice file can have this name."""
    return name == os.path.basename(name) and name.endswith(".slice") and "\0" not in name
