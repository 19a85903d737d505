"""The git repository around a folder, and git as a program that runs nothing of what the repository configures."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.backlink import is_ours, pointer
from slicebase.workspace.boundary import cannot_read, inside, not_a_file, real_path

_LONGEST_WAIT: Final = 120  # seconds for git


class Repository(NamedTuple):
    """A git repository, seen from one of its worktrees."""

    common: Path  # the git directory that all worktrees share
    top: Path  # the top folder of the worktree
    is_certain: bool = True  # whether the repository, too, says that the folder is its worktree


def repository_of(folder: Path) -> Repository | None:
    """Returns the git repository whose worktree contains the folder, or None.

    Raises `no-repository` for a worktree or submodule whose repository is not where its `.git` file says, or belongs to
    another folder, and `cannot-read` for a repository that may not be read.
    """
    for top in (folder, *folder.parents):
        marker = top / ".git"
        try:
            if marker.is_dir() and (marker / "HEAD").exists():
                return _linked(marker) if marker.is_symlink() else Repository(marker, top)
            is_pointer = marker.is_file()
        except OSError as error:
            raise cannot_read(error, marker) from None
        if is_pointer:
            return _pointed_to(marker)
    return None


def _linked(marker: Path) -> Repository:
    """Returns the repository that a symbolic link `.git` leads to."""
    common = real_path(marker)
    return Repository(common, marker.parent, is_ours(marker, common, common))


def _pointed_to(marker: Path) -> Repository:
    """Follows the `.git` file of a worktree or submodule to the directory that holds the repository."""
    try:
        gitdir = real_path(marker.parent / pointer(marker).removeprefix("gitdir:").strip(), "no-repository")
        shared = gitdir / "commondir"
        common = real_path(gitdir / pointer(shared).strip(), "no-repository") if shared.is_file() else gitdir
        if (common / "HEAD").exists():
            return Repository(common, marker.parent, is_ours(marker, gitdir, common))
    except PermissionError as error:
        raise cannot_read(error, marker) from None
    except (OSError, ValueError):  # ValueError: a path that nothing can have
        pass
    raise SlicebaseError(
        "no-repository",
        "this folder is a worktree or a submodule of a git repository that is not there",
        hint="if the repository has moved, run `git worktree repair` in it with the path of this folder",
        where=Where(str(marker)),
    )


def other_worktrees(folder: Path) -> list[Path]:
    """Returns the other worktrees of the repository of a folder that exist."""
    repository = repository_of(folder)
    if repository is None:
        return []
    tops = {repository.common.parent} if repository.common.name == ".git" else set()
    for each in (repository.common / "worktrees").glob("*/gitdir"):
        with suppress(OSError, ValueError):
            tops.add((each.parent / pointer(each).strip()).parent)
    return sorted(top for top in tops if top != repository.top and (top / ".git").exists())


# A repository that was unpacked or copied brings its own configuration, which can name programs. None of them runs:
# neither a monitor of the files, nor hooks, nor what fetches missing objects; and a folder in a clone that looks like
# a bare repository is not taken for one.
_HARMLESS: Final = tuple(
    word
    for setting in (
        "core.fsmonitor=false",
        f"core.hooksPath={os.devnull}",
        "core.sshCommand=false",
        "safe.bareRepository=explicit",
        "protocol.allow=never",
    )
    for word in ("-c", setting)
)
_VARIABLES: Final = {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


def run_git(folder: Path, *arguments: str) -> str:
    """Runs git in a folder, and returns what it prints. Raises `no-git` if it fails."""
    import subprocess  # imported here to keep start-up fast: most commands do not need git

    _refuse_linked_configuration(folder)
    command = ["git", *_HARMLESS, "--no-pager", "-C", str(folder), *arguments]
    variables = {**os.environ, **_VARIABLES}
    try:
        done = subprocess.run(command, env=variables, capture_output=True, check=False, timeout=_LONGEST_WAIT)
    except OSError as error:
        raise SlicebaseError("no-git", f"git cannot be run: {error.strerror}", hint="install git") from None
    except subprocess.TimeoutExpired:
        raise SlicebaseError("no-git", f"git {arguments[0]} does not end", where=Where(str(folder))) from None
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip()
        raise SlicebaseError("no-git", f"git {arguments[0]} failed: {message}", where=Where(str(folder)))
    return done.stdout.decode(errors="surrogateescape")


def _refuse_linked_configuration(folder: Path) -> None:
    """Refuses a configuration that git would write outside the repository, or read from a device forever."""
    found = repository_of(folder)
    path = inside(found.common, found.common / "config") if found else None
    if path is not None and path.exists() and not path.is_file():
        raise not_a_file(path)


def is_tracked(root: Path, path: str) -> bool:
    """Returns whether git tracks this path, or a file under it. Raises `no-git` if git cannot say."""
    return bool(run_git(root, "ls-files", "--", path))
