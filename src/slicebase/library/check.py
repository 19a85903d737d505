"""`tt validate` on the disk: finds the files, reads them, and answers what the rules ask about their surroundings."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
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
from slicebase.workspace.workspace import find_root

LARGEST_READ: Final = 64 * 1024 * 1024  # the body of a larger file is not looked at
_HEAD: Final = MAX_HEADER + 1024  # markers included
_PASSED_OVER: Final = frozenset({".git", ".slicebase"})


def validate(paths: Sequence[Path], root: Path | None = None) -> ValidationReport:
    """Checks files and folders. Each belongs to the workspace at `root` if it is in there, else to the nearest one."""
    for path in paths:
        if not os.path.lexists(path):
            raise SlicebaseError("no-input", "there is no such file or folder", where=Where(str(path)))
    findings: list[Finding] = []
    workspaces: dict[Path, Surroundings] = {}
    names = {os.path.abspath(name): name for path in reversed(paths) for name in _slice_files(path, findings)}
    for folder, files in _by_folder(names.values()):
        place = _workspace_of(folder, root.resolve() if root else None)
        surroundings = workspaces.setdefault(place, Surroundings(place))
        inside = folder.relative_to(place).as_posix()
        findings.extend(finding for name in files if (finding := surroundings.take(name, inside)))
    for surroundings in workspaces.values():
        findings.extend(check_workspace(surroundings.files, surroundings))
    return report(len(names), findings)


def library_of(start: Path, root: Path | None = None) -> Path:
    """The folder of slice files of the workspace at `root`, else of the nearest one from `start` upwards."""
    workspace = root or find_root(start)
    library = workspace / LIBRARY if workspace else None
    if library is None or not library.is_dir():
        raise SlicebaseError(
            "no-workspace",
            f"{root or start} has no {LIBRARY}/" + ("" if root else ", and none of the folders above it has"),
            hint="make a workspace with `tt init`, or name the files to check",
            where=Where(str(root or start)),
        )
    return Path(os.path.relpath(library, start))


def _workspace_of(folder: Path, root: Path | None) -> Path:
    """Without a workspace, nothing bounds a file's links but the disk."""
    if root and folder.is_relative_to(root):
        return root
    if folder.name == LIBRARY:
        return folder.parent
    return find_root(folder) or Path(folder.anchor)


def _slice_files(path: Path, findings: list[Finding]) -> Iterator[str]:
    """A file as it is named; of a folder, every slice file in it and below, without following links to folders."""
    if not path.is_dir():
        yield str(path)
        return
    for folder, folders, names in os.walk(path, onerror=lambda error: findings.append(_unreadable(error))):
        folders[:] = sorted(name for name in folders if name not in _PASSED_OVER)
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(SUFFIX))


def _by_folder(names: Iterable[str]) -> Iterator[tuple[Path, list[str]]]:
    folders: dict[str, list[str]] = {}
    for name in names:
        folders.setdefault(os.path.dirname(name), []).append(name)
    for folder, files in folders.items():
        yield _resolved(Path(folder).absolute()), files


def _resolved(folder: Path) -> Path:
    """A library that is a symbolic link still belongs to the workspace that it stands in."""
    return folder.parent.resolve() / LIBRARY if folder.name == LIBRARY else folder.resolve()


class Surroundings:
    """One workspace, as the rules ask about it (`files.checks.between.World`)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._root = str(root)
        self._inside = tuple(os.path.join(place, "") for place in (root, os.path.realpath(root / LIBRARY)))
        self.files: list[Checked] = []
        self._names: dict[str, str] = {}  # the files by id

    def take(self, name: str, folder: str) -> Finding | None:
        """Reads and checks a file of this folder of the workspace; answers what keeps it from being read."""
        path = os.path.normpath(os.path.join(folder, os.path.basename(name)))
        shown = _shown(name)
        try:
            if os.path.islink(name) and self.look(path) == "outside":
                return Finding("path-outside", None, None, "a symbolic link leads out of the workspace", file=shown)
            data, size = _read(name, LARGEST_READ)
        except OSError as error:
            return _unreadable(error, name)
        result = check_file(data, FileLocation(shown, path), size)
        if isinstance(result, Finding):
            return result
        self.files.append(result)
        if result.id:
            self._names.setdefault(result.id, name)
        return None

    # ---- files by id

    def knows(self, file_id: str) -> bool:
        return self._name_of(file_id) is not None

    def load(self, file_id: str) -> SliceFile | None:
        """A file with its whole body; None for one that is too large or cannot be read."""
        name = self._name_of(file_id)
        if name is None or os.path.getsize(name) > LARGEST_READ:
            return None
        return _parsed(name, LARGEST_READ)

    def part_links(self) -> Iterator[tuple[str, str]]:
        for _, file in self._others.values():
            yield from part_links(file)

    def _name_of(self, file_id: str) -> str | None:
        """Ids do not depend on names: where a name does not answer, the heads of the whole library are read."""
        if file_id in self._names:
            return self._names[file_id]
        named = os.path.join(self._root, LIBRARY, file_id + SUFFIX)
        if os.path.isfile(named):
            return named
        return self._others[file_id][0] if file_id in self._others else None

    @cached_property
    def _others(self) -> dict[str, tuple[str, SliceFile]]:
        """The library's files that are not checked themselves: their names and heads."""
        taken = {os.path.realpath(os.path.join(self._root, checked.location.path)) for checked in self.files}
        names = _slice_files(self.root / LIBRARY, []) if (self.root / LIBRARY).is_dir() else ()
        heads = ((name, _parsed(name, _HEAD)) for name in names if os.path.realpath(name) not in taken)
        return {head.id: (name, head) for name, head in heads if head and head.id}

    # ---- paths

    def look(self, path: str) -> Target:
        real = os.path.realpath(os.path.join(self._root, path))
        if not f"{real}/".startswith(self._inside):
            return "outside"
        if os.path.isdir(real):
            return "folder"
        return "file" if os.path.exists(real) else "missing"

    def size(self, path: str) -> int | None:
        try:
            status = os.stat(os.path.join(self._root, path))
        except OSError:
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def digest(self, path: str) -> str | None:
        try:
            with open(os.path.join(self._root, path), "rb") as payload:
                return "sha256:" + hashlib.file_digest(payload, "sha256").hexdigest()
        except OSError:
            return None


def _unreadable(error: OSError, name: str = "") -> Finding:
    return Finding("unreadable", None, None, error.strerror or str(error), file=_shown(name or error.filename))


def _read(name: str, largest: int) -> tuple[bytes, int | None]:
    """A file's bytes. Of a larger one its beginning, with its size."""
    status = os.stat(name)
    if not stat.S_ISREG(status.st_mode):
        raise OSError("this is no regular file")  # opening a pipe would wait for ever
    with open(name, "rb") as file:
        if status.st_size > largest:
            return file.read(_HEAD), status.st_size
        return file.read(), None


def _parsed(name: str, largest: int) -> SliceFile | None:
    try:
        return SliceFile.parse(_read(name, largest)[0], _shown(name))
    except (OSError, SlicebaseError):
        return None


def _shown(name: str) -> str:
    """A name that can be printed: one that is not UTF-8 is shown with replacement characters."""
    return os.fsencode(name).decode(errors="replace")
