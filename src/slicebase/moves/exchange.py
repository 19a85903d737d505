"""What two sides of an exchange had in common: of each slice file, the versions that were here and there.

It is kept in the cache: the digests of all versions, and the bytes of the last ones, until something is purged. Without
it nothing is lost: where both sides differ, nobody can tell then which one is newer, so that more is a conflict.
"""

from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from slicebase.core.hashing import digest, digest_of_pieces, raw_digest
from slicebase.errors import SlicebaseError
from slicebase.workspace.atomic import own_temporary, read_bytes, read_chunks, remove, write_bytes
from slicebase.workspace.boundary import private_folder
from slicebase.workspace.workspace import EXCHANGED, Workspace

_LARGEST_BASE: Final = 4 << 20  # bytes of a version that is kept to merge with


class MoveConflict(NamedTuple):
    """What differs so that neither side has all of the other: its name, and what is here and there."""

    what: str
    here: str
    there: str


class SharedVersions:
    """The versions of slice files that were exchanged with one folder or archive."""

    def __init__(self, workspace: Workspace, place: Path) -> None:
        self._workspace = workspace
        self._folder = workspace.local("cache", EXCHANGED)
        self._file = self._folder / f"{raw_digest(str(place).encode('utf-8', 'surrogateescape')).hex()[:32]}.json"
        self._known: dict[str, list[str]] = {}  # the digests of versions that both had, by path; the last one last
        self._replaced: set[str] = set()  # versions that were the last ones
        self._is_changed = False
        with suppress(OSError, SlicebaseError, msgspec.MsgspecError):
            self._known = msgspec.json.decode(read_bytes(self._file), type=dict[str, list[str]])

    def was_ours(self, path: str, name: str) -> bool:
        """Returns whether the version of a file with this digest was here when it was exchanged: it is no news."""
        return name in self._known.get(path, ())

    def had(self, path: str) -> bool:
        """Returns whether some version of a file was exchanged."""
        return path in self._known

    def is_last(self, path: str, data: bytes) -> bool:
        """Returns whether this version of a file is the one that both had last."""
        return self._known.get(path, [])[-1:] == [digest(data)]

    def base(self, path: str) -> bytes | None:
        """Returns the version that both had last, if it was kept."""
        known = self._known.get(path)
        if not known:
            return None
        with suppress(OSError, SlicebaseError):
            data = read_bytes(self._folder / known[-1][7:])
            return data if digest(data) == known[-1] else None
        return None

    def agree(self, path: str, data: bytes) -> None:
        """Notes that what is here has all of this version, which is there, and keeps it to merge with."""
        name = digest(data)
        if self.agree_on(path, name) and len(data) <= _LARGEST_BASE:
            self._write(self._folder / name[7:], data)

    def agree_on(self, path: str, name: str) -> bool:
        """Notes the digest of a version that both have; returns whether that is new."""
        known = self._known.setdefault(path, [])
        if known[-1:] == [name]:
            return False
        self._replaced.update(known[-1:])
        self._known[path] = [*(each for each in known if each != name), name]
        self._is_changed = True
        return True

    def save(self) -> None:
        """Writes what was noted. Where that cannot be written, the next exchange knows less."""
        if self._is_changed:
            self._write(self._file, msgspec.json.encode(self._known, order="sorted"))
            self._remove_replaced()
            self._is_changed = False

    def _remove_replaced(self) -> None:
        """Removes the bytes of versions that no exchange had last: only the last one is merged with."""
        with suppress(OSError, SlicebaseError, msgspec.MsgspecError):
            for path in self._folder.glob("*.json"):
                known = msgspec.json.decode(read_bytes(path), type=dict[str, list[str]])
                self._replaced.difference_update(each for names in known.values() for each in names[-1:])
            for name in self._replaced:
                remove(self._folder / name[7:], within=self._folder)
            self._replaced.clear()

    def _write(self, path: Path, data: bytes) -> None:
        with suppress(OSError, SlicebaseError):
            private_folder(self._workspace.root, self._folder)
            write_bytes(path, [data], within=self._workspace.root, private=True, temporary=own_temporary())


def slice_conflict(path: str, here: bytes, there: bytes) -> MoveConflict:
    """Returns the conflict of a file of which both sides have another version."""
    return MoveConflict(path, digest(here), digest(there))


def digest_in(path: Path) -> str | None:
    """Returns the digest of a file, which may be large; None where there is none."""
    try:
        return digest_of_pieces(read_chunks(path))
    except FileNotFoundError:
        return None
