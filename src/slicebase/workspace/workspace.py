"""The workspace of a folder, and the paths of its library, its database and its cache.

.slices/                                    slice files, in git
<git common dir>/slicebase/slicebase.db     the truth, shared by worktrees, never committed
<git common dir>/slicebase/at/<path>/…      the truth of a workspace in a subfolder of the repository
.slicebase/slicebase.db                     the truth outside git
.slicebase/cache/                           disposable
"""

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from slicebase.errors import SlicebaseError, Where

LIBRARY = ".slices"
LOCAL = ".slicebase"
SETTINGS = "slicebase.toml"
DATABASE = "slicebase.db"
DATABASE_ID = "slicebase.id"
TRANSCRIPTS = "transcripts"
_MARKERS = (LIBRARY, LOCAL, SETTINGS)

StrPath = str | os.PathLike[str]


class Workspace(NamedTuple):
    """A folder with a library, and the path of its database."""

    root: Path
    database: Path

    @property
    def library(self) -> Path:
        return self.root / LIBRARY

    @property
    def cache(self) -> Path:
        return self.root / LOCAL / "cache"

    @property
    def turns(self) -> Path:
        """The full-text index of turns. It is a cache."""
        return self.cache / "turns.db"

    @property
    def chunks(self) -> Path:
        """The ranker's index of the library. It is a cache."""
        return self.cache / "chunks.db"

    @property
    def transcripts(self) -> Path:
        """What was read of transcripts that grow. It is a cache."""
        return self.cache / TRANSCRIPTS

    @property
    def id_files(self) -> tuple[Path, ...]:
        """The files that keep the id of the database: beside it, and in the folder of this machine."""
        folders = (self.database.parent, self.root / LOCAL)
        return tuple(dict.fromkeys(folder / DATABASE_ID for folder in folders))

    @property
    def lock(self) -> Path:
        """The lock file that a writer of the library holds."""
        return self.root / LOCAL / "library.lock"

    @property
    def payloads_lock(self) -> Path:
        """The lock file that is held while a payload is copied, which can take long."""
        return self.root / LOCAL / "payloads.lock"


def each_path(paths: StrPath | Iterable[StrPath]) -> list[Path]:
    """Returns one path, or several, as a list. An empty path names nothing, not the current folder."""
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not all(map(os.fspath, several)):
        raise SlicebaseError("no-input", "a path is empty")
    return [Path(each) for each in several]


_IMPOSSIBLE = frozenset({errno.ENAMETOOLONG, errno.ELOOP})


def given_path(path: StrPath, code: str = "no-input") -> Path:
    """Returns a path that a caller names. Raises an error with this code where nothing can have such a path."""
    try:
        os.stat(path)
    except (OSError, ValueError) as error:  # ValueError: NUL, or half of a surrogate pair
        if not isinstance(error, OSError) or error.errno in _IMPOSSIBLE or not os.fspath(path):
            raise SlicebaseError(code, f"no file can have the path {ascii(os.fspath(path))[:100]}") from None
    return Path(path)


def given_folder(path: StrPath) -> Path:
    """Returns the full path of a folder that a caller names. Raises `no-workspace` if it does not exist."""
    folder = given_path(path, "no-workspace")
    try:
        return folder.resolve(strict=True)
    except (FileNotFoundError, NotADirectoryError):
        hint = "create the folder first; `~` is not expanded"
        raise SlicebaseError("no-workspace", "there is no such folder", hint=hint, where=Where(str(folder))) from None
    except OSError as error:
        raise _cannot_read(error, folder) from None


def _cannot_read(error: OSError, folder: Path) -> SlicebaseError:
    return SlicebaseError("cannot-read", f"the folder cannot be read: {error.strerror}", where=Where(str(folder)))


class Repository(NamedTuple):
    """A git repository, seen from one of its worktrees."""

    common: Path  # the git directory that all worktrees share
    top: Path  # the top folder of the worktree


def find_root(start: Path) -> Path | None:
    """Returns the nearest folder, from `start` upwards, that is a workspace, or None."""
    start = start.resolve()
    try:
        for folder in (start, *start.parents):
            if any((folder / marker).exists() for marker in _MARKERS):
                return folder
    except OSError as error:
        raise _cannot_read(error, start) from None
    return None


def open_workspace(start: Path, root: Path | None = None) -> Workspace:
    """Opens the workspace at `root` if that is given, else the nearest one from `start` upwards."""
    found = find_root(start) if root is None else (root.resolve() if find_root(root) == root.resolve() else None)
    if found is None:
        raise SlicebaseError(
            "no-workspace",
            "this folder is not a workspace" + ("" if root else ", and no folder above it is one"),
            hint="create one with `tt init`, or name one with --root",
            where=Where(str(root or start)),
        )
    workspace = Workspace(found, database_of(found))
    _bring_database_into_git(workspace)
    return workspace


def create_workspace(root: Path) -> Workspace:
    """Creates a workspace in the folder, and the folder in an existing one. Files that exist already stay."""
    if root.parts[:1] and root.parts[0].startswith("~") and not root.exists():
        hint = "`~` is not expanded: pass Path(…).expanduser()"
        raise SlicebaseError("cannot-write", f"there is no folder {root}", hint=hint, where=Where(str(root)))
    try:
        root.mkdir(exist_ok=True)
        (root / LIBRARY).mkdir(exist_ok=True)
    except OSError as error:
        raise SlicebaseError("cannot-write", f"{error.strerror}: {error.filename}", where=Where(str(root))) from None
    create_local_folder(root)
    return open_workspace(root, root)


def create_local_folder(root: Path) -> None:
    """Creates the folder for the files of this machine, which a new clone does not have."""
    try:
        (root / LOCAL / "cache").mkdir(parents=True, exist_ok=True)
        # The folder has its own ignore rule, not a line in the project's: it is removed with the folder.
        ignore = root / LOCAL / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
    except OSError as error:
        raise SlicebaseError("cannot-write", f"{error.strerror}: {error.filename}", where=Where(str(root))) from None


def database_of(root: Path) -> Path:
    """Returns the path of the database of the workspace at `root`."""
    repository = repository_of(root)
    if repository is None:
        return root / LOCAL / DATABASE
    path = root.relative_to(repository.top)
    return repository.common / "slicebase" / (Path("at") / path if path.parts else "") / DATABASE


def repository_of(folder: Path) -> Repository | None:
    """Returns the git repository whose worktree contains the folder, or None."""
    for top in (folder, *folder.parents):
        marker = top / ".git"
        if marker.is_dir() and (marker / "HEAD").exists():
            return Repository(marker, top)
        if marker.is_file():
            common = _common_directory(marker)
            return Repository(common, top) if common else None
    return None


def _common_directory(marker: Path) -> Path | None:
    """Follows the `.git` file of a worktree or submodule to the directory that holds the repository."""
    try:
        gitdir = (marker.parent / marker.read_text().removeprefix("gitdir:").strip()).resolve()
        pointer = gitdir / "commondir"
        common = (gitdir / pointer.read_text().strip()).resolve() if pointer.exists() else gitdir
    except (OSError, UnicodeDecodeError):
        return None
    return common if (common / "HEAD").exists() else None


def _bring_database_into_git(workspace: Workspace) -> None:
    """Moves the database into the git directory, if the folder has become a repository since."""
    old = workspace.root / LOCAL / DATABASE
    if old == workspace.database or not old.exists():
        return
    if workspace.database.exists():
        raise SlicebaseError(
            "two-databases",
            f"there are two databases, {old} and {workspace.database}",
            hint="keep the one with your history and move the other to another folder",
            where=Where(str(old)),
        )
    import shutil  # imported here, because it is rarely needed

    _fold_log_into_file(old)
    workspace.database.parent.mkdir(parents=True, exist_ok=True)
    arriving = workspace.database.with_suffix(".arriving")
    shutil.copyfile(old, arriving)
    with arriving.open("rb") as copy:
        os.fsync(copy.fileno())
    arriving.replace(workspace.database)
    old.unlink()


def _fold_log_into_file(path: Path) -> None:
    """Writes the write-ahead log into the database file. Raises `locked` while another process has it open."""
    import apsw  # imported here: it is rarely needed, and takes a tenth of the time of a short command

    connection = apsw.Connection(str(path))
    try:
        connection.execute("PRAGMA journal_mode = DELETE")
    except apsw.BusyError:
        raise SlicebaseError(
            "locked", f"{path} is in use", hint="try again when the other process is done", where=Where(str(path))
        ) from None
    finally:
        connection.close()
