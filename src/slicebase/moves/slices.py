"""The files of a library as they are: slice files and the payloads beside them, to be copied elsewhere."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.moves.places import is_git_folder, refuse_unsafe
from slicebase.workspace.atomic import TEMPORARY, file_errors
from slicebase.workspace.boundary import not_a_file
from slicebase.workspace.workspace import Workspace


class LibraryFile(NamedTuple):
    """A file of the library: its path below `.slices/`, and where it is."""

    name: str
    path: Path


def library_files(workspace: Workspace) -> tuple[list[LibraryFile], list[str]]:
    """Returns the files of a library in the order of their names, and the names of what cannot be moved.

    Links and devices are no files, a name that could mean something else elsewhere is none either, and a folder of git
    is not for others.
    """
    if workspace.library.is_symlink():
        raise not_a_file(workspace.library)
    found, others = [], []
    for path in _below(workspace.library):
        name = path.relative_to(workspace.library).as_posix()
        try:
            refuse_unsafe(name, name)
            name.encode()
        except (SlicebaseError, UnicodeEncodeError):
            others.append(ascii(name))
            continue
        with suppress(FileNotFoundError):
            if stat.S_ISREG(path.lstat().st_mode):
                found.append(LibraryFile(name, path))
            else:
                others.append(name)
    return sorted(found), sorted(others)


def refuse_own(workspace: Workspace, folder: Path) -> None:
    """Raises `outside-workspace` for a folder of the workspace's own, where each copy would hold those before it."""
    for own in (workspace.library, workspace.local()):
        if folder.is_relative_to(own):
            message = "a memory cannot hold a copy of itself"
            raise SlicebaseError("outside-workspace", message, where=Where(str(folder)))


def _below(folder: Path) -> Iterator[Path]:
    """Yields what is in a folder and those below it, but for folders and for what is being written.

    A folder of git is yielded as one thing, which cannot be moved.
    """
    with file_errors(folder, "cannot-read"):
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False) and not is_git_folder(entry.name):
                        yield from _below(folder / entry.name)
                    elif not entry.name.startswith(TEMPORARY):
                        yield folder / entry.name
        except FileNotFoundError:
            return
