"""The folder `.slices/`: finds files by id, reads them, and replaces them under the library's lock.

A file is named by its id (§ Storage), but its id counts, not its name: a file that somebody renamed is found by reading
the files whose names are not ULIDs. A file that cannot be read is reported where it is met, and never written.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from slicebase.core.ids import is_ulid
from slicebase.core.short_ids import the_only
from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.whole import object_version
from slicebase.files.check.file import new_paths
from slicebase.files.check.version import checked_bytes
from slicebase.files.links import SUFFIX, file_name, is_safe, resolve
from slicebase.files.slice_file import SliceFile
from slicebase.workspace.atomic import create_folder, file_errors, locked, read_bytes, remove, write_all
from slicebase.workspace.boundary import not_a_file, real_path
from slicebase.workspace.journal import Journal, Replaced
from slicebase.workspace.surroundings import state_on_disk
from slicebase.workspace.workspace import LIBRARY, StrPath, Workspace, create_local_folder

PAYLOADS: Final = "payloads"  # payloads that were copied into the library


_Value = TypeVar("_Value")
_ABSENT: Final = ("no-file", "bad-id", "short-id", "ambiguous-id")


class SliceFolder:
    """The slice files of a workspace on disk."""

    def __init__(self, workspace: Workspace) -> None:
        self.root = workspace.root
        self.path = workspace.library
        self.payloads = workspace.library / PAYLOADS
        self.payloads_lock = workspace.payloads_lock
        self.journal = Journal(workspace)
        self.before_write: Callable[[], None] = lambda: None  # may raise: then nothing is written
        self._lock = workspace.lock
        self._ids: dict[str, tuple[object, str]] = {}  # of files with other names, with the state of each
        self._names: dict[str, str] = {}  # those names, by id: hints, since anybody may rename files

    # Reading: takes no lock, since a file is replaced in one step. What a killed process left is undone first.

    def names(self) -> list[str]:
        """Returns the names of all slice files, readable or not."""
        self._refuse_linked_folder()
        self.journal.settle_if_free()
        try:
            with file_errors(self.path, "cannot-read"):
                names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        return sorted(name for name in names if name.endswith(SUFFIX))

    def read(self, name: str) -> SliceFile:
        """Returns the file with this name. Messages show its path from the workspace's folder."""
        self._refuse_linked_folder()
        return SliceFile.parse(read_bytes(self.path / name), f"{LIBRARY}/{name}")

    def all(self) -> Iterator[SliceFile | SlicebaseError]:
        """Yields every file, or the error for a file that cannot be read."""
        for name in self.names():
            try:
                yield self.read(name)
            except SlicebaseError as error:
                yield error
            except FileNotFoundError:
                continue  # gone since the folder was listed

    def mentioning(self, *words: bytes, names: Iterable[str] | None = None) -> Iterator[SliceFile]:
        """Yields the readable files that contain one of these words anywhere. Other files are not parsed.

        With `names`, only these files are read.
        """
        for name in self.names() if names is None else names:
            try:
                data = read_bytes(self.path / name)
                if any(word in data for word in words):
                    yield SliceFile.parse(data, f"{LIBRARY}/{name}")
            except (SlicebaseError, FileNotFoundError):
                continue

    def find(self, given: str) -> SliceFile:
        """Returns the file with this id or reference, or with the only id that begins with it (ruling 53)."""
        given = given.removeprefix("file:")
        self.journal.settle_if_free()
        try:
            file = self.read(file_name(given))
        except FileNotFoundError:
            return self._find_elsewhere(given)
        if file.id != given:
            raise SlicebaseError(
                "id-mismatch",
                f"the file is named {given}, but its id is {file.id}",
                hint=f"rename it to {file.id}{SUFFIX}"
                if is_safe(file.id or "")
                else "give it an id that can be a file name",
                where=file.where("slice.id"),
            )
        return file

    def get(self, given: str) -> SliceFile | None:
        """Returns the file as `find` does, or None if there is no such file, or several."""
        try:
            return self.find(given)
        except SlicebaseError as error:
            if error.code in _ABSENT:
                return None
            raise

    def has(self, given: str) -> bool:
        """Returns whether there is such a file, also one that cannot be read."""
        try:
            return self.get(given) is not None
        except SlicebaseError:
            return True

    def readable(self, given: str) -> SliceFile | None:
        """Returns the file as `find` does, or None if there is none, it cannot be read, or several match."""
        with suppress(SlicebaseError):
            return self.find(given)
        return None

    def once(self, what: str, file: SliceFile | None, read: Callable[[], _Value]) -> _Value:
        """Returns what a function reads from a file, or from all of them; a view of the folder keeps it.

        `what` is the name under which it is kept.
        """
        return read()

    def version(self, file: SliceFile, *instead: SliceFile) -> str:
        """Returns the version of a file with all its parts; `instead` are versions that are not on the disk."""
        new = {each.id: each.to_bytes() for each in (file, *instead)}
        return object_version(file, lambda part_id: new.get(part_id) or self._bytes_of(part_id))

    def _bytes_of(self, file_id: str) -> bytes | None:
        try:
            return read_bytes(self.path / file_name(file_id))
        except FileNotFoundError:
            found = self.readable(file_id)
            return found.to_bytes() if found else None
        except SlicebaseError:
            return None

    def _find_elsewhere(self, given: str) -> SliceFile:
        with suppress(SlicebaseError, FileNotFoundError):
            if (name := self._names.get(given)) and (file := self.read(name)).id == given:
                return file
        found = self.beginning(given)
        only = given if given in found else the_only(given, found, "files")
        with suppress(FileNotFoundError):  # gone since the folder was listed
            if only:
                return self.read(found[only])
        raise SlicebaseError("no-file", f"there is no file with the id {given}", hint="`tt list` shows the files")

    def beginning(self, prefix: str) -> dict[str, str]:
        """Returns the names of the files whose id begins with a prefix, by id.

        A name that is a ULID counts as the id; files with other names are read.
        """
        found = {}
        for name in self.names():
            file_id = name.removesuffix(SUFFIX)
            if not is_ulid(file_id):
                file_id = self._id_in(name) or file_id
            if file_id.startswith(prefix):
                found[file_id] = name
        return found

    def _id_in(self, name: str) -> str:
        """Returns the id in a file, which is read again when the disk shows that it may have changed."""
        state = state_on_disk(os.path.join(self.path, name))
        known, file_id = self._ids.get(name, (None, ""))
        if state is None or state != known:
            file_id = ""
            with suppress(SlicebaseError, FileNotFoundError):  # `find` by the full name reports the error
                file_id = self.read(name).id or ""
            self._ids[name] = state, file_id
            self._names[file_id] = name
        return file_id

    def _refuse_linked_folder(self) -> None:
        if self.path.is_symlink():
            raise not_a_file(self.path)

    def path_of(self, file: SliceFile) -> Path:
        return self.root / file.name

    def inside(self, to: str) -> Path | None:
        """Returns the real path of a path in a slice file, or None if it leads out of the workspace (ruling 29)."""
        path = resolve(LIBRARY, to)
        real = _real_or_none(self.root / path) if path is not None else None
        return real if real and real.is_relative_to(self.root) else None

    def time_of(self, file: SliceFile) -> int | None:
        """Returns when a file was changed according to the disk, in milliseconds since 1970."""
        try:
            return self.path_of(file).stat().st_mtime_ns // 1_000_000
        except OSError:
            return None

    # Writing

    @contextmanager
    def writing(self) -> Iterator["FolderWriter"]:
        """Holds the lock from a writer's first read to its last write."""
        create_local_folder(self.root)
        with locked(self._lock):
            self._refuse_linked_folder()
            create_folder(self.path, within=self.root)
            self.journal.settle()
            yield FolderWriter(self)


class FileWrite(NamedTuple):
    """A file to write: its old version, unless it is new, its new version, and the ids of rows that are new in it.

    `moved_from` is the file that the content of a new file comes from.
    """

    old: SliceFile | None
    new: SliceFile
    rows: tuple[str, ...] = ()
    moved_from: SliceFile | None = None


class FolderWriter:
    """The right to write to the folder, held by one process at a time."""

    def __init__(self, folder: SliceFolder) -> None:
        self.folder = folder
        self._is_in: dict[str, bool] = {}  # whether folders that new files name are inside

    def find(self, given: str, if_version: str | None = None) -> SliceFile:
        """Returns the file to change. Raises a conflict if it is no longer the version that the change is based on."""
        file = self.folder.find(given)
        if if_version is not None and self.folder.version(file) != if_version:
            raise _conflict(file)
        return file

    def add(self, file: SliceFile) -> None:
        """Creates a file."""
        self.write(FileWrite(None, file))

    def replace(self, old: SliceFile, new: SliceFile, *, dry_run: bool = False) -> None:
        """Replaces a file. What editors or git, which take no lock, wrote since `old` was read is not overwritten."""
        self.write(FileWrite(old, new), dry_run=dry_run)

    def remove(self, file: SliceFile) -> None:
        """Deletes a file of which everything is elsewhere, unless somebody has changed it since it was read."""
        if not self._is_unchanged(file):
            raise _conflict(file)
        self.folder.before_write()
        remove(self.folder.path_of(file), within=self.folder.root)

    def write(self, *writes: "FileWrite", dry_run: bool = False) -> None:
        """Writes all files or none, after all of them were checked: no caller checks for itself."""
        checked = [(each, self._checked(each)) for each in writes]
        files = [
            Replaced(_own_name(each.old or each.new), each.old.to_bytes() if each.old else None, data)
            for each, data in checked
            if data is not None
        ]
        if files and not dry_run:
            self.folder.before_write()
            self.folder.journal.write(files)

    def _checked(self, given: "FileWrite") -> bytes | None:
        """Returns the bytes to write, None if nothing changes."""
        old, new = given.old, given.new
        if old is None:
            self._refuse_existing(new)
        elif not self._is_unchanged(old):
            raise _conflict(old)
        elif new.to_bytes() == old.to_bytes():
            return None
        self._refuse_outside(old or given.moved_from, new)
        return checked_bytes(old, new, also=[given.moved_from] if given.moved_from else (), rows=given.rows)

    def _is_unchanged(self, file: SliceFile) -> bool:
        try:
            return read_bytes(self.folder.path_of(file)) == file.to_bytes()
        except FileNotFoundError:
            return False

    def _refuse_existing(self, file: SliceFile) -> None:
        if os.path.lexists(self.folder.path_of(file)):
            raise SlicebaseError(
                "file-exists",
                f"the file {file.name} exists already",
                hint="choose another id; where Slicebase chooses it, pass an entropy that varies",
                where=Where(file.name),
            )

    def write_all(
        self, changes: Iterable[tuple[SliceFile | None, SliceFile]]
    ) -> list[tuple[SliceFile, SlicebaseError]]:
        """Creates and replaces many files, with one flush of the folder. Returns those that were refused, with errors.

        A change has the version that was read, or None for a new file, and the new version.
        """
        refused: list[tuple[SliceFile, SlicebaseError]] = []
        written: list[tuple[str, bytes]] = []
        for old, new in changes:
            try:
                data = self._checked(FileWrite(old, new))
            except SlicebaseError as error:
                refused.append((new, error))
            else:
                written += [] if data is None else [(_own_name(new), data)]
        if written:
            self.folder.before_write()
        write_all(self.folder.path, written, within=self.folder.root)
        return refused

    def _refuse_outside(self, old: SliceFile | None, new: SliceFile) -> None:
        """Refuses new paths that lead out of the workspace; `tt validate` reports those that were there before."""
        for to in sorted(new_paths(old, new)):
            if not self._is_inside(to):
                raise outside_workspace(to)

    def _is_inside(self, to: str) -> bool:
        """Returns whether a path in a slice file stays in the workspace (ruling 29). Many files name few folders."""
        path = resolve(LIBRARY, to)
        if path is None:
            return False
        full = os.path.join(self.folder.root, path)
        if os.path.islink(full):
            return self.folder.inside(to) is not None
        above = os.path.dirname(full)
        if above not in self._is_in:
            real = _real_or_none(above)
            self._is_in[above] = real is not None and real.is_relative_to(self.folder.root)
        return self._is_in[above]


def _own_name(file: SliceFile) -> str:
    return file.name.rpartition("/")[2]


def _real_or_none(path: StrPath) -> Path | None:
    try:
        return real_path(path)
    except SlicebaseError:  # nothing can have this path
        return None


def outside_workspace(to: str) -> SlicebaseError:
    """Returns the error for a path that leads out of the workspace."""
    return SlicebaseError("outside-workspace", f"{to} leads out of the workspace")


def _conflict(file: SliceFile) -> SlicebaseError:
    return SlicebaseError(
        "conflict",
        "the file has changed since the version that this write is based on",
        hint="read it again, and base the write on the new version",
        where=Where(file.name),
    )
