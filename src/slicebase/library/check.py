"""Checks slice files on disk (`tt validate`): finds and reads them, and shows the rules the workspace around them."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final

from slicebase.errors import SlicebaseError, Where
from slicebase.files.check.between import LIBRARY, Checked, FileLocation, Target, part_links
from slicebase.files.check.file import ValidationReport, check_file, check_workspace, report
from slicebase.files.findings import Finding
from slicebase.files.links import SUFFIX
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.load import MAX_HEADER
from slicebase.workspace.boundary import real_path
from slicebase.workspace.doors import Redaction, is_on
from slicebase.workspace.journal import Journal
from slicebase.workspace.surroundings import Surroundings
from slicebase.workspace.workspace import JOURNAL, LOCAL, Workspace, database_of, find_root

LARGEST_READ: Final = 64 * 1024 * 1024  # bytes; the body of a larger file is not checked
_HEAD: Final = MAX_HEADER + 1024  # bytes, with the markers
_SKIPPED: Final = frozenset({".git", ".slicebase"})


def validate(paths: Sequence[Path], root: Path | None = None, redaction: Redaction | None = None) -> ValidationReport:
    """Checks files and folders. Each belongs to the workspace at `root` if it is inside, else to the nearest one.

    What findings repeat of a file has no secrets, by the rules of its workspace if no redaction is given.
    """
    for path in paths:
        if not os.path.lexists(path):
            raise SlicebaseError("no-input", "there is no such file or folder", where=Where(str(path)))
    top = real_path(root) if root else None
    for path in paths:
        _settle(_workspace_of(_resolved((path if path.is_dir() else path.parent).absolute()), top))
    findings: list[Finding] = []
    workspaces: dict[Path, CheckedWorkspace] = {}
    names = {os.path.abspath(name): name for path in reversed(paths) for name in _slice_files(path, findings)}
    clean = {}
    for folder, files in _by_folder(names.values()):
        own = _workspace_of(folder, top)
        workspace = workspaces.setdefault(own, CheckedWorkspace(own))
        clean[own] = (redaction or _redaction_of(own)).finding
        relative = folder.relative_to(own).as_posix()
        findings.extend(clean[own](finding) for name in files if (finding := workspace.add(name, relative)))
    for own, workspace in workspaces.items():
        findings.extend(map(clean[own], check_workspace(workspace.files, workspace)))
    return report(len(names), findings)


def _redaction_of(root: Path) -> Redaction:
    return Surroundings(Workspace(root, root), redact=is_on(os.environ)).redaction


def library_of(start: Path, root: Path | None = None) -> Path:
    """Returns the folder of slice files of the workspace at `root`, else of the nearest one from `start` upwards."""
    workspace = root or find_root(start)
    library = workspace / LIBRARY if workspace else None
    if library is None or not library.is_dir():
        raise SlicebaseError(
            "no-workspace",
            f"{root or start} has no {LIBRARY}/" + ("" if root else ", and no folder above it has one"),
            hint="create a workspace with `tt init`, or name the files to check",
            where=Where(str(root or start)),
        )
    return Path(os.path.relpath(library, start))


def _settle(root: Path) -> None:
    """Undoes what a killed process left in a workspace, as other readers do: half of a write is not what to check."""
    if os.path.lexists(root / LOCAL / JOURNAL):
        with suppress(SlicebaseError):  # what is checked has no errors of its own, as where nobody can write
            Journal(Workspace(root, database_of(root))).settle_if_free()


def _workspace_of(folder: Path, root: Path | None) -> Path:
    """Returns the workspace of a folder. Without a workspace, links may lead anywhere on the disk."""
    if root and folder.is_relative_to(root):
        return root
    if folder.name == LIBRARY:
        return folder.parent
    return find_root(folder) or Path(folder.anchor)


def _slice_files(path: Path, findings: list[Finding]) -> Iterator[str]:
    """Yields a file's name, or the names of all slice files below a folder. Links to folders are not followed."""
    if not path.is_dir():
        yield str(path)
        return
    for folder, folders, names in os.walk(path, onerror=lambda error: findings.append(_unreadable(error))):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(SUFFIX))


def _by_folder(names: Iterable[str]) -> Iterator[tuple[Path, list[str]]]:
    folders: dict[str, list[str]] = {}
    for name in names:
        folders.setdefault(os.path.dirname(name), []).append(name)
    for folder, files in folders.items():
        yield _resolved(Path(folder).absolute()), files


def _resolved(folder: Path) -> Path:
    """Resolves a folder. A library that is a symbolic link still belongs to the workspace that contains the link."""
    return real_path(folder.parent) / LIBRARY if folder.name == LIBRARY else real_path(folder)


class CheckedWorkspace:
    """A workspace on disk, as the rules see it (`files.check.between.WorkspaceView`)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._root = str(root)
        self._inside = tuple(os.path.join(folder, "") for folder in (root, real_path(root / LIBRARY)))
        self.files: list[Checked] = []
        self._names: dict[str, str] = {}  # of the checked files, by id

    def add(self, name: str, folder: str) -> Finding | None:
        """Reads and checks a file in this folder of the workspace. Returns a finding if the file cannot be read."""
        path = os.path.normpath(os.path.join(folder, os.path.basename(name)))
        printable = _printable(name)
        try:
            if os.path.islink(name) and self.target_at(path) == "outside":
                return Finding("path-outside", None, None, "a symbolic link leads out of the workspace", file=printable)
            data, size = _read(name, LARGEST_READ)
        except OSError as error:
            return _unreadable(error, name)
        result = check_file(data, FileLocation(printable, path), size)
        if isinstance(result, Finding):
            return result
        self.files.append(result)
        if result.id:
            self._names.setdefault(result.id, name)
        return None

    # Files by id

    def knows(self, file_id: str) -> bool:
        return self._name_of(file_id) is not None

    def load(self, file_id: str) -> SliceFile | None:
        """Returns a file with its complete body, or None if it is too large or cannot be read."""
        name = self._name_of(file_id)
        if name is None or os.path.getsize(name) > LARGEST_READ:
            return None
        return _parsed(name, LARGEST_READ)

    def part_links(self) -> Iterator[tuple[str, str]]:
        for _, file in self._others.values():
            yield from part_links(file)

    def _name_of(self, file_id: str) -> str | None:
        """Returns the file name for an id. If no file is named by the id, the heads of all other files are read."""
        if file_id in self._names:
            return self._names[file_id]
        named = os.path.join(self._root, LIBRARY, file_id + SUFFIX)
        if os.path.isfile(named):
            return named
        return self._others[file_id][0] if file_id in self._others else None

    @cached_property
    def _others(self) -> dict[str, tuple[str, SliceFile]]:
        """The names and heads of the library's files that are not checked themselves, by id."""
        checked_paths = {real_path(os.path.join(self._root, checked.location.path)) for checked in self.files}
        names = _slice_files(self.root / LIBRARY, []) if (self.root / LIBRARY).is_dir() else ()
        heads = ((name, _parsed(name, _HEAD)) for name in names if real_path(name) not in checked_paths)
        return {head.id: (name, head) for name, head in heads if head and head.id}

    # Paths

    def target_at(self, path: str) -> Target:
        try:
            real = str(real_path(os.path.join(self._root, path)))
        except SlicebaseError:  # nothing can have this path
            return "missing"
        if not f"{real}/".startswith(self._inside):
            return "outside"
        if os.path.isdir(real):
            return "folder"
        return "file" if os.path.exists(real) else "missing"

    def size(self, path: str) -> int | None:
        try:
            status = os.stat(os.path.join(self._root, path))
        except (OSError, ValueError):  # ValueError: nothing can have this path
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def digest(self, path: str) -> str | None:
        if self.size(path) is None:  # opening a pipe would wait forever
            return None
        try:
            with open(os.path.join(self._root, path), "rb") as payload:
                return "sha256:" + hashlib.file_digest(payload, "sha256").hexdigest()
        except OSError:
            return None


def _unreadable(error: OSError, name: str = "") -> Finding:
    return Finding("unreadable", None, None, error.strerror or str(error), file=_printable(name or error.filename))


def _read(name: str, largest: int) -> tuple[bytes, int | None]:
    """Returns a file's bytes. For a file above `largest` bytes, returns its beginning and its size."""
    status = os.stat(name)
    if not stat.S_ISREG(status.st_mode):
        raise OSError("this is not a regular file")  # opening a pipe would wait forever
    with open(name, "rb") as file:
        if status.st_size > largest:
            return file.read(_HEAD), status.st_size
        return file.read(), None


def _parsed(name: str, largest: int) -> SliceFile | None:
    try:
        return SliceFile.parse(_read(name, largest)[0], _printable(name))
    except (OSError, SlicebaseError):
        return None


def _printable(name: str) -> str:
    """Returns a name that can be printed: replacement characters stand for bytes that are not UTF-8."""
    return os.fsencode(name).decode(errors="replace")
