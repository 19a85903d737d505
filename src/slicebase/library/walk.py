"""Walks through a folder of notes: which files there are, and which are passed over, with the reason.

Hidden files and folders (`.git`, `.obsidian`) are passed over without a word. No symbolic link is followed: its target
is a note of its own, or outside.
"""

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import Final, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.files.note import LARGEST_NOTE, is_hidden
from slicebase.workspace.boundary import cannot_read, opened_folder, real_path
from slicebase.workspace.given_paths import given_path
from slicebase.workspace.workspace import StrPath

GLOBS: Final = ("*.md", "*.markdown", "*.txt")
_DEEPEST: Final = 64  # folders in each other
_LONGEST: Final = 1000  # bytes of a path


class FoundFile(NamedTuple):
    """A regular file: its path from the root of the walk, and its size."""

    path: str
    size: int


class SkippedNote(NamedTuple):
    """A file that was passed over, and why."""

    path: str
    reason: str


class Walked(NamedTuple):
    """The files of a folder in the order of their paths."""

    found: list[FoundFile]
    skipped: list[SkippedNote]


def given_globs(glob: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the patterns that a caller names, or the usual ones. An empty pattern is an error."""
    globs = (glob,) if isinstance(glob, str) else tuple(glob) or GLOBS
    if not all(globs):
        raise SlicebaseError("usage", "a pattern is empty", hint="write it like *.md")
    return globs


def notes_folder(folder: StrPath) -> Path:
    """Returns the real path of a folder that a caller names."""
    path = given_path(folder)
    try:
        real = Path(os.path.realpath(path, strict=True))
    except OSError as error:
        raise SlicebaseError("no-input", error.strerror or "there is no such folder", where=Where(str(path))) from None
    if not real.is_dir():
        raise SlicebaseError("no-input", "this is not a folder", where=Where(str(path)))
    return real


def folder_in(root: Path, folder: StrPath) -> str:
    """Returns the path of a folder of notes from the workspace. Refuses one outside, and a hidden one."""
    real, home = notes_folder(folder), real_path(root)
    if not real.is_relative_to(home):
        raise SlicebaseError(
            "outside-workspace",
            "the folder is outside the workspace, where nobody else has it",
            hint="make the folder that holds it a workspace (`tt init`), or take copies: `tt create --from FOLDER`",
            where=Where(str(folder)),
        )
    path = real.relative_to(home).as_posix()
    if path != "." and (is_hidden(path) or _trouble(path)):
        raise SlicebaseError(
            "no-input", "a hidden folder, or one with such a name, has no notes", where=Where(str(folder))
        )
    return path


def walk(root: Path, folder: str, globs: Sequence[str] | None) -> Walked:
    """Returns the files in a folder and below it whose names match; without patterns, all files.

    A pattern is compared with the name of a file or, if it has a slash, with its path below the folder.
    """
    walked = Walked([], [])
    start = "" if folder == "." else folder
    waiting = [start]
    patterns = [pattern.lower() for pattern in globs] if globs is not None else None
    while waiting:
        at = waiting.pop()
        for path, status in _entries(root, at, walked.skipped):
            if S_ISDIR(status.st_mode):
                if path.count("/") >= _DEEPEST:
                    walked.skipped.append(SkippedNote(path, "it is nested too deeply"))
                else:
                    waiting.append(path)
            elif patterns is None or _matches(path, path[len(start) :].lstrip("/"), patterns, status):
                _sort_in(walked, path, status)
    return Walked(sorted(walked.found), sorted(walked.skipped))


def _entries(root: Path, folder: str, skipped: list[SkippedNote]) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with opened_folder(root, root / folder) as descriptor, os.scandir(descriptor) as entries:
            for entry in entries:
                if not entry.name.startswith("."):
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    try:
                        yield path, entry.stat(follow_symlinks=False)
                    except OSError as error:
                        skipped.append(SkippedNote(path, error.strerror or "it cannot be read"))
    except OSError as error:
        skipped.append(SkippedNote(folder or ".", cannot_read(error, root / folder).message))


def _sort_in(walked: Walked, path: str, status: os.stat_result) -> None:
    reason = (
        "it is a symbolic link" if S_ISLNK(status.st_mode)
        else "it is not a regular file" if not S_ISREG(status.st_mode)
        else f"it has more than {LARGEST_NOTE >> 20} MiB" if status.st_size > LARGEST_NOTE
        else _trouble(path)
    )  # fmt: skip
    if reason:
        walked.skipped.append(SkippedNote(path, reason))
    else:
        walked.found.append(FoundFile(path, status.st_size))


def _matches(path: str, below: str, patterns: Sequence[str], status: os.stat_result) -> bool:
    name = path.rpartition("/")[2].lower()
    if S_ISLNK(status.st_mode) and "." not in name:
        return True  # perhaps a folder: that it is passed over is said
    return any(fnmatchcase(below.lower() if "/" in pattern else name, pattern) for pattern in patterns)


_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def _trouble(path: str) -> str:
    """Returns why a path cannot be stored, or an empty text."""
    if _CONTROL.search(path):
        return "its name has a control character"
    try:
        return "its path is too long" if len(path.encode()) > _LONGEST else ""
    except UnicodeEncodeError:
        return "its name is not UTF-8"
