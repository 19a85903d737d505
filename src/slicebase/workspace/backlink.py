"""The way back: whether the git directory that a folder names is the one of this folder.

A `.git` file, or a symbolic link with this name, can come with any archive that somebody unpacks, and name the git
directory of another project, where the memory of that project is. So the git directory has to name the folder, too:
the `gitdir` file of a worktree does, and `core.worktree` of a submodule. A directory `.git` belongs to the folder that
it is in. Of a git directory elsewhere (`git init --separate-git-dir`), git keeps no way back: see `is_ours`.
"""

import os
import re
from pathlib import Path
from typing import Final

from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.boundary import real_path

_LONGEST_POINTER: Final = 64 << 10  # bytes of a file with one path that are read
_REMOVE: Final = (
    "if you did not set this up, delete .git here; else let core.worktree in that repository name this folder"
)
_LONGEST_CONFIG: Final = 1 << 20
# Compiled on first use for a fast start: most folders have a directory `.git`, or none.
_ENTRY: Final = r"\s*+(?:\[\s*+([\w.-]++)[^\]\n]*+\])?\s*+(?:(\w[\w-]*+)\s*+(?:=(.*))?)?"
_VALUE: Final = r'"((?:\\.|[^"\\])*+)"?|[#;].*|((?:\\.|[^"\\#;])++)'


def pointer(path: Path) -> str:
    """Returns the text of a file that contains a path. Raises OSError or ValueError where it is no such file."""
    return _text(path, _LONGEST_POINTER)


def is_ours(marker: Path, gitdir: Path, common: Path) -> bool:
    """Returns whether a git directory says that it belongs to the folder of `marker`, its `.git` file or link.

    Raises `no-repository` if it says that it belongs to another folder, or to none. False means that nothing says whose
    it is: then a memory that is in it already belongs to the folder that knows its id.
    """
    top = marker.parent
    if gitdir != common:
        back = _path(gitdir, _text_or_none(gitdir / "gitdir"))
        # The folders are compared: `.git` itself could be a link to that of a true worktree.
        if gitdir.parent != common / "worktrees" or back is None or not _is_same(back.parent, top):
            raise _not_ours(marker, common, f"run `git worktree repair` in it with the path of this folder, {top}")
        return True
    named, is_bare = _configured(gitdir)
    is_inside = gitdir.is_relative_to(real_path(top))
    belongs_to = gitdir.parent if named is None and gitdir.name == ".git" else _path(gitdir, named)
    if belongs_to is None and not (is_bare and not is_inside):
        return is_inside
    if not _is_same(belongs_to, top):
        raise _not_ours(marker, common, _REMOVE)
    return True


def _not_ours(marker: Path, common: Path, hint: str) -> SlicebaseError:
    message = f"this folder names the git repository {common}, which does not say that the folder is a part of it"
    return SlicebaseError("no-repository", message, hint=hint, where=Where(str(marker)))


def _path(folder: Path, text: str | None) -> Path | None:
    return folder / text.strip() if text else None


def _is_same(path: Path | None, other: Path) -> bool:
    try:
        return path is not None and os.path.samefile(path, other)
    except (OSError, ValueError):
        return False


# The configuration is read here, and not by git: git would also do what the configuration says.


def _configured(gitdir: Path) -> tuple[str | None, bool]:
    """Returns the folder that `core.worktree` names, and whether the repository says that it has none."""
    found: dict[str, str] = {}
    for name in ("config", "config.worktree"):
        section = ""
        for line in (_text_or_none(gitdir / name) or "").split("\n"):
            entry = re.match(_ENTRY, line)
            if entry is None:
                continue
            section = (entry[1] or section).lower()
            if section == "core" and entry[2]:
                found[entry[2].lower()] = _value(entry[3])
    return found.get("worktree"), found.get("bare", "false").lower() in ("true", "yes", "on", "1")


def _value(written: str | None) -> str:
    """Returns the value of an entry; an entry without one is true."""
    if written is None:
        return "true"
    value, length = "", 0  # without the spaces at its end that have no quotes
    for quoted, plain in re.findall(_VALUE, written.lstrip()):
        value += _unescaped(quoted or plain)
        length = len(value) if quoted else max(length, len(value.rstrip(" \t\r")))
    return value[:length]


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t", "b": "\b"}.get(match[1], match[1]), text)


def _text_or_none(path: Path) -> str | None:
    try:
        return _text(path, _LONGEST_CONFIG)
    except (OSError, ValueError):
        return None


def _text(path: Path, most: int) -> str:
    if not path.is_file():  # a pipe would be read forever
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        return file.read(most).decode(errors="surrogateescape")
