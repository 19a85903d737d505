"""The files of `.slices/`: finding them by id, reading them, and replacing them under the library's lock.

A file is named by its id (§ Storage), but its id counts, not its name: a file that somebody renamed is found by looking
into those whose names are no ULIDs. A file that cannot be read is reported where it is met, and never written.

Logs of several files: those that `part_of` joins are one (ruling 32).

Finishing what a killed writer began: overflow writes a part first, and then the file that it is a part of.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from slicebase.core.ids import is_ulid
from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.overflow import parts_of, whole_of, with_parts
from slicebase.files.body.rows import Row, read_rows
from slicebase.files.check.between import part_links
from slicebase.files.check.file import new_paths
from slicebase.files.links import SUFFIX, file_name, is_safe, reach, resolve
from slicebase.files.slice_file import SliceFile
from slicebase.workspace.atomic import clean, locked, no_file, read_bytes, translated, write_bytes
from slicebase.workspace.workspace import LIBRARY, Workspace, make_local_folder

PAYLOADS: Final = "payloads"  # payloads that were copied into the library
_SHOWN: Final = 5


class SliceFolder:
    def __init__(self, workspace: Workspace) -> None:
        self.root = workspace.root
        self.path = workspace.library
        self.payloads = workspace.library / PAYLOADS
        self.payloads_lock = workspace.payloads_lock
        self._lock = workspace.lock

    # ---- reading: no lock, since a file is replaced at once

    def names(self) -> list[str]:
        """The names of all slice files, readable or not."""
        self._refuse_linked_folder()
        try:
            with translated(self.path, "cannot-read"):
                names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        return sorted(name for name in names if name.endswith(SUFFIX))

    def read(self, name: str) -> SliceFile:
        """The file of this name, which messages call as it is called from the workspace's folder."""
        self._refuse_linked_folder()
        return SliceFile.parse(read_bytes(self.path / name), f"{LIBRARY}/{name}")

    def all(self) -> Iterator[SliceFile | SlicebaseError]:
        """Every file, or what is wrong with it."""
        for name in self.names():
            try:
                yield self.read(name)
            except SlicebaseError as error:
                yield error
            except FileNotFoundError:
                continue  # gone since the folder was listed

    def mentioning(self, *words: bytes) -> Iterator[SliceFile]:
        """The readable files in which one of these words stands somewhere; the others are not even parsed."""
        for name in self.names():
            try:
                data = read_bytes(self.path / name)
                if any(word in data for word in words):
                    yield SliceFile.parse(data, f"{LIBRARY}/{name}")
            except (SlicebaseError, FileNotFoundError):
                continue

    def find(self, given: str) -> SliceFile:
        """The file with this id or reference, or with the only id that starts so (rulings 7 and 21)."""
        given = given.removeprefix("file:")
        try:
            file = self.read(file_name(given))
        except FileNotFoundError:
            return self._find_elsewhere(given)
        if file.id != given:
            raise SlicebaseError(
                "id-mismatch",
                f"the file is named {given}, and its id is {file.id}",
                hint=f"rename it to {file.id}{SUFFIX}"
                if is_safe(file.id or "")
                else "give it an id that can be its name",
                where=file.where("slice.id"),
            )
        return file

    def get(self, given: str) -> SliceFile | None:
        """The same, None where there is no such file."""
        try:
            return self.find(given)
        except SlicebaseError as error:
            if error.code in ("no-file", "bad-id"):
                return None
            raise

    def readable(self, given: str) -> SliceFile | None:
        """The same, None also where the file is broken, or where several would do."""
        with suppress(SlicebaseError):
            return self.find(given)
        return None

    def _find_elsewhere(self, given: str) -> SliceFile:
        found = self._starting_with(given)
        only = found.get(given) or (next(iter(found.values())) if len(found) == 1 else None)
        with suppress(FileNotFoundError):  # gone since the folder was listed
            if only:
                return self.read(only)
        if len(found) > 1:
            shown = ", ".join(sorted(found)[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")
            raise SlicebaseError("ambiguous-id", f"{len(found)} files have an id that starts with {given}", hint=shown)
        raise SlicebaseError("no-file", f"there is no file with the id {given}", hint="`tt list` shows what there is")

    def _starting_with(self, prefix: str) -> dict[str, str]:
        """The names of files by their ids. A name that is a ULID is taken for the id; others are looked into."""
        found = {}
        for name in self.names():
            file_id = name.removesuffix(SUFFIX)
            if not is_ulid(file_id):
                with suppress(SlicebaseError, FileNotFoundError):  # named outright, it says what is wrong with it
                    file_id = self.read(name).id or file_id
            if file_id.startswith(prefix):
                found[file_id] = name
        return found

    def _refuse_linked_folder(self) -> None:
        if self.path.is_symlink():
            raise no_file(self.path)

    def path_of(self, file: SliceFile) -> Path:
        return self.root / file.name

    def inside(self, to: str) -> Path | None:
        """Where a path that a slice file names really leads; None where that is outside the workspace (ruling 29)."""
        path = resolve(LIBRARY, to)
        real = Path(os.path.realpath(self.root / path)) if path is not None else None
        return real if real and real.is_relative_to(self.root) else None

    def time_of(self, file: SliceFile) -> int | None:
        """When the disk says that a file was changed, in milliseconds since 1970."""
        try:
            return self.path_of(file).stat().st_mtime_ns // 1_000_000
        except OSError:
            return None

    # ---- writing

    @contextmanager
    def writing(self) -> Iterator["FolderWriter"]:
        """Everything between one writer's reading and its last write."""
        make_local_folder(self.root)
        with locked(self._lock):
            self._refuse_linked_folder()
            with translated(self.path):
                self.path.mkdir(exist_ok=True)
            yield FolderWriter(self)

    def clean(self) -> list[Path]:
        """Removes what killed writers left behind; answers what that was."""
        make_local_folder(self.root)
        return [*clean(self.path, self._lock), *clean(self.payloads, self.payloads_lock)]


class FolderWriter:
    """The right to write, held by one process at a time."""

    def __init__(self, folder: SliceFolder) -> None:
        self.folder = folder

    def find(self, given: str, if_version: str | None = None) -> SliceFile:
        """The file to change; a conflict where it is no longer the version that the change is based on."""
        file = self.folder.find(given)
        if if_version is not None and file.version != if_version:
            raise _conflict(file)
        return file

    def add(self, file: SliceFile, moved_from: SliceFile | None = None) -> None:
        """Makes a file; `moved_from` is the one whose content it takes over."""
        self._refuse_outside(moved_from, file)
        if os.path.lexists(self.folder.path_of(file)):
            raise SlicebaseError("file-exists", f"there is a file {file.name} already", where=Where(file.name))
        write_bytes(self.folder.path_of(file), [file.head, file.body])

    def replace(self, old: SliceFile, new: SliceFile) -> None:
        """Editors and git take no lock: what they wrote since the old version was read is not overwritten."""
        path = self.folder.path_of(old)
        try:
            unchanged = read_bytes(path) == old.to_bytes()
        except FileNotFoundError:
            unchanged = False
        if not unchanged:
            raise _conflict(old)
        self._refuse_outside(old, new)
        if new.to_bytes() != old.to_bytes():
            write_bytes(path, [new.head, new.body])

    def _refuse_outside(self, old: SliceFile | None, new: SliceFile) -> None:
        """Nothing new leads out of the workspace; what did so before is for `tt validate` to tell."""
        for to in sorted(new_paths(old, new)):
            if self.folder.inside(to) is None:
                raise outside(to)


def outside(to: str) -> SlicebaseError:
    return SlicebaseError("outside-workspace", f"{to} leads out of the workspace")


def _conflict(file: SliceFile) -> SlicebaseError:
    return SlicebaseError(
        "conflict",
        "the file has changed since the version that this write is based on",
        hint="read it again, and write again on top of that",
        where=Where(file.name),
    )


Pairs = Callable[[], Iterable[tuple[str, str]]]  # which files of a library are joined


class Logs:
    """Finds the files of a log. Who is joined with whom is read from all files, unless somebody knows it already."""

    def __init__(self, folder: SliceFolder, pairs: Pairs | None = None) -> None:
        self._folder = folder
        self._pairs = pairs or self._stated

    def of(self, file: SliceFile) -> list[SliceFile]:
        """The files of the log that a file belongs to, itself first, the others in the order of ids."""
        joined: dict[str, list[str]] = {}
        for one, other in self._pairs():
            joined.setdefault(one, []).append(other)
            joined.setdefault(other, []).append(one)
        others = sorted(reach(joined, [file.id or ""]) - {file.id})
        return [file, *self._readable(others, file.body_type)]

    def rows_elsewhere(self, file: SliceFile) -> list[Row]:
        """The rows of the log's other files. A row that was caught while it moved counts once."""
        own = {row.line.raw for row in read_rows(file.body).rows}
        rows = (row for part in self.of(file)[1:] for row in read_rows(part.body, part.body_line, part.name).rows)
        return [row for row in rows if row.line.raw not in own]

    def _stated(self) -> Iterator[tuple[str, str]]:
        for file in self._folder.mentioning(b"part_of", b"has_part"):
            yield from part_links(file)

    def _readable(self, ids: Iterable[str], body_type: str | None) -> Iterator[SliceFile]:
        found = map(self._folder.readable, ids)
        return (part for part in found if part and part.body_type == body_type)


def unfinished(folder: SliceFolder) -> list[str]:
    """The ids of files that do not name a part which overflow made of them."""
    parts = [(whole, part.id) for part in folder.mentioning(b"part_of") if (whole := whole_of(part))]
    files = {whole: folder.readable(whole) for whole, _ in parts}
    return sorted({whole for whole, part in parts if (file := files[whole]) and part not in parts_of(file)})


def finish_overflow(writer: FolderWriter, logs: Logs, file: SliceFile) -> bool:
    """Joins such parts to their file; answers whether there were any."""
    new = with_parts(file, logs.of(file)[1:])
    writer.replace(file, new)
    return new is not file


def finish_all(folder: SliceFolder) -> list[str]:
    """The same for every file; answers which they were."""
    logs = Logs(folder)
    with folder.writing() as writer:
        return [name for name in unfinished(folder) if finish_overflow(writer, logs, writer.find(name))]
