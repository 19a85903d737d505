"""The git repository of a workspace: it registers our merge driver in the attributes and in the configuration."""

import shlex
import sys
from pathlib import Path
from typing import Final

from slicebase.errors import SlicebaseError
from slicebase.workspace import repository
from slicebase.workspace.atomic import TEXT_FILE, own_temporary, read_bytes, remove, write_bytes
from slicebase.workspace.boundary import inside
from slicebase.workspace.repository import repository_of, run_git
from slicebase.workspace.workspace import LIBRARY

ATTRIBUTES: Final = ".gitattributes"
_DRIVER: Final = "slicebase"
_CONFLICT: Final = 9  # no other exit status of the program, of Python or of a shell
_MARK: Final = "# slicebase: slice files are merged by their keys, links and rows"
_LINE: Final = f"{LIBRARY}/*.slice merge={_DRIVER}"


def is_repository(root: Path) -> bool:
    """Returns whether the folder is inside a git repository."""
    return repository_of(root) is not None


def branch_of(root: Path) -> str | None:
    """Returns the branch that is checked out, or None where there is no branch or no git."""
    try:
        return run_git(root, "symbolic-ref", "--quiet", "--short", "HEAD").strip() or None
    except SlicebaseError:
        return None


def is_tracked(root: Path, path: str) -> bool:
    """Returns whether git tracks this path, or a file under it."""
    try:
        return repository.is_tracked(root, path)
    except SlicebaseError:
        return False


def merge_command() -> str:
    """Returns the command with which git merges slice files: this program, or git itself where it does not run.

    Without the second part, git would take our side alone when the interpreter is gone or was killed. If git cannot
    merge the lines either, our side is removed, which stops git. -P keeps Python from importing code of the repository.

    A conflict has an exit status of its own here, since Python exits with 1 where the package is gone.
    """
    program = f"{shlex.quote(sys.executable)} -P -m slicebase"
    ours = f"{program} merge-driver --conflict-status {_CONFLICT} -- %O %A %B %P"
    by_lines = "git merge-file -L ours -L base -L theirs %A %O %B"
    stop = "{ s=$?; test $s -lt 128 || rm -f %A; exit $s; }"
    return f"{ours} || {{ test $? -ne {_CONFLICT} || exit 1; {by_lines} || {stop}; }}"


# The line in .gitattributes, which everybody shares


def has_attributes(root: Path) -> bool:
    """Returns whether .gitattributes names our merge driver."""
    return _LINE in _attributes(root).splitlines()


def add_attributes(root: Path) -> bool:
    """Names our merge driver in .gitattributes. Returns whether the line is new."""
    text = _attributes(root)
    if _LINE in text.splitlines():
        return False
    before = text if not text or text.endswith("\n") else text + "\n"
    _write(root, f"{before}{_MARK}\n{_LINE}\n")
    return True


def remove_attributes(root: Path) -> bool:
    """Removes our lines from .gitattributes, and the file if nothing else is in it. Returns whether it changed."""
    text = _attributes(root)
    kept = "".join(line for line in text.splitlines(keepends=True) if line.strip() not in (_MARK, _LINE))
    if kept == text:
        return False
    if kept.strip():
        _write(root, kept)
    else:
        remove(root / ATTRIBUTES, within=root)
    return True


def _attributes(root: Path) -> str:
    path = inside(root, root / ATTRIBUTES)
    try:
        return read_bytes(path, most=TEXT_FILE).decode(errors="surrogateescape")
    except FileNotFoundError:
        return ""


def _write(root: Path, text: str) -> None:
    data = text.encode(errors="surrogateescape")
    write_bytes(root / ATTRIBUTES, [data], within=root, temporary=own_temporary())  # no lock is held


# The command in the configuration of the repository, which belongs to this machine


def driver_of(root: Path) -> str | None:
    """Returns the command that git runs to merge slice files, or None."""
    try:
        return run_git(root, "config", "--local", "--get", f"merge.{_DRIVER}.driver").strip()
    except SlicebaseError:
        return None


def add_driver(root: Path, command: str) -> bool:
    """Configures the command that merges slice files. Returns whether it is new. `command` takes %O %A %B %P."""
    if driver_of(root) == command:
        return False
    run_git(root, "config", "--local", f"merge.{_DRIVER}.name", "merge slice files by their keys, links and rows")
    run_git(root, "config", "--local", f"merge.{_DRIVER}.driver", command)
    return True


def remove_driver(root: Path) -> bool:
    """Removes the command, unless another workspace of the repository needs it. Returns whether it was removed."""
    if driver_of(root) is None or _is_needed_elsewhere(root):
        return False
    run_git(root, "config", "--local", "--remove-section", f"merge.{_DRIVER}")
    return True


def _is_needed_elsewhere(root: Path) -> bool:
    found = repository_of(root)
    pattern = (f"merge={_DRIVER}", "--", f":(glob)**/{ATTRIBUTES}")
    try:
        # also in ignored folders: the files that say what is ignored can be pipes, which git would wait for
        everywhere = ("--untracked", "--no-exclude-standard")
        files = run_git(found.top if found else root, "grep", *everywhere, "-l", "-F", *pattern)
    except SlicebaseError:
        return False
    return bool(files.strip())
