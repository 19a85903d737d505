"""Paths that a caller names: they are checked before anything is opened."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.arguments import wrong_type
from slicebase.workspace.boundary import cannot_read
from slicebase.workspace.workspace import StrPath


def each_path(paths: StrPath | Iterable[StrPath]) -> list[Path]:
    """Returns one path, or several, as a list. An empty path names nothing, not the current folder.

    `./-` is a file. As a relative `Path` it would be `-`, which stands for stdin.
    """
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not all(map(os.fspath, several)):
        raise SlicebaseError("no-input", "a path is empty")
    found = [Path(each) for each in several]
    return [
        path.absolute() if str(path) == "-" != os.fspath(each) else path
        for path, each in zip(found, several, strict=True)
    ]


_IMPOSSIBLE = frozenset({errno.ENAMETOOLONG, errno.ELOOP})
_LONGEST_SHOWN = 100  # characters of a path in an error


def given_path(path: StrPath, code: str = "no-input") -> Path:
    """Returns a path that a caller names. Raises an error with this code where nothing can have such a path."""
    if not isinstance(path, str | os.PathLike):  # `open` and `init` have no object yet that checks for them
        raise wrong_type("path", path, "a path")
    try:
        os.stat(path)
    except (OSError, ValueError) as error:  # ValueError: NUL, or half of a surrogate pair
        if not isinstance(error, OSError) or error.errno in _IMPOSSIBLE or not os.fspath(path):
            raise SlicebaseError(code, f"no file can have the path {_shortened(ascii(os.fspath(path)))}") from None
    return Path(path)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def given_folder(path: StrPath) -> Path:
    """Returns the full path of a folder that a caller names. Raises `no-workspace` if it does not exist."""
    folder = given_path(path, "no-workspace")
    try:
        return Path(os.path.realpath(folder, strict=True))
    except (FileNotFoundError, NotADirectoryError):
        hint = "create the folder first; `~` is not expanded"
        raise SlicebaseError("no-workspace", "there is no such folder", hint=hint, where=Where(str(folder))) from None
    except OSError as error:
        raise cannot_read(error, folder) from None
