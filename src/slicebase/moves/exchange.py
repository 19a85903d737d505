"""What two sides of an exchange had in common: of each slice file, the versions that were here and there.

It is kept in the cache: the digests of all versions, and the bytes of the last ones, until something is purged. Without
it nothing is lost: where both sides differ, nobody can tell then which one is newer, so that more is a conflict.
"""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from slicebase.core.hashing import digest, digest_of_pieces, raw_digest
from slicebase.errors import SlicebaseError
from slicebase.moves.manifest import ListedFile
from slicebase.workspace.atomic import own_temporary, read_bytes, read_chunks, remove, write_bytes
from slicebase.workspace.boundary import private_folder
from slicebase.workspace.workspace import EXCHANGED, Workspace

_LARGEST_BASE: Final = 4 << 20  # bytes of a version that is kept to merge with
_KEPT: Final = 8  # versions of a file that are kept to merge with: as many exports can wait for a merge of git
_MOST_BEFORE: Final = 256  # versions that are listed of a file


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
        self._replaced: set[str] = set()  # versions that are not among the last ones any more
        self._is_changed = False
        self._known = _read(self._file)
        others = [_read(file) for file in sorted(self._folder.glob("*.json")) if file != self._file]
        self._elsewhere = [known for known in others if known]

    def was_ours(self, path: str, name: str) -> bool:
        """Returns whether the version of a file with this digest was here when it was exchanged: it is no news."""
        return name in self._known.get(path, ())

    def had(self, path: str) -> bool:
        """Returns whether some version of a file was exchanged."""
        return path in self._known

    def is_last(self, path: str, data: bytes) -> bool:
        """Returns whether this version of a file is the one that both had last."""
        return self._known.get(path, [])[-1:] == [digest(data)]

    def base(self, path: str, before: Collection[str]) -> bytes | None:
        """Returns the last version that both had and that the one there was made from, if it was kept.

        The one there was made from the versions `before`. What was exported last need not be one of them: the folder
        can be another branch of git by now, which never had it.
        """
        name = next((each for each in reversed(self._versions(path)) if each[7:] in before), None)
        if name is None:
            return None
        with suppress(OSError, SlicebaseError):
            data = read_bytes(self._folder / name[7:])
            return data if digest(data) == name else None
        return None

    def made_from(self, path: str, data: bytes, there: ListedFile | None) -> tuple[str, ...]:
        """Returns the versions that the one here was made from, which replaces the one there: the last ones of them."""
        listed = (*there.before, there.sha256) if there else ()
        own, known = digest(data)[7:], [each[7:] for each in self._versions(path)]
        return tuple(each for each in dict.fromkeys((*listed, *known)) if each != own)[-_MOST_BEFORE:]

    def _versions(self, path: str) -> list[str]:
        """Returns the versions that were exchanged here and in other places: the one here was made from all of them."""
        elsewhere = [each for known in self._elsewhere for each in known.get(path, ())]
        return [*elsewhere, *self._known.get(path, ())]

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
        self._known[path] = [*(each for each in known if each != name), name]
        self._replaced.update(self._known[path][:-_KEPT])
        self._is_changed = True
        return True

    def save(self) -> None:
        """Writes what was noted. Where that cannot be written, the next exchange knows less."""
        if self._is_changed:
            self._write(self._file, msgspec.json.encode(self._known, order="sorted"))
            self._remove_replaced()
            self._is_changed = False

    def _remove_replaced(self) -> None:
        """Removes the bytes of versions that no exchange had among its last ones."""
        with suppress(OSError, SlicebaseError, msgspec.MsgspecError):
            for path in self._folder.glob("*.json"):
                known = msgspec.json.decode(read_bytes(path), type=dict[str, list[str]])
                self._replaced.difference_update(each for names in known.values() for each in names[-_KEPT:])
            for name in self._replaced:
                remove(self._folder / name[7:], within=self._folder)
            self._replaced.clear()

    def _write(self, path: Path, data: bytes) -> None:
        with suppress(OSError, SlicebaseError):
            private_folder(self._workspace.root, self._folder)
            write_bytes(path, [data], within=self._workspace.root, private=True, temporary=own_temporary())


def _read(file: Path) -> dict[str, list[str]]:
    """Returns the digests of the versions that were exchanged with one place, by path; the last one last."""
    with suppress(OSError, SlicebaseError, msgspec.MsgspecError):
        return msgspec.json.decode(read_bytes(file), type=dict[str, list[str]])
    return {}


def slice_conflict(path: str, here: bytes, there: bytes) -> MoveConflict:
    """Returns the conflict of a file of which both sides have another version."""
    return MoveConflict(path, digest(here), digest(there))


def digest_in(path: Path) -> str | None:
    """Returns the digest of a file, which may be large; None where there is none."""
    try:
        return digest_of_pieces(read_chunks(path))
    except FileNotFoundError:
        return None
