"""The workspace of a folder, and the paths of its library, its database and its cache.

.slices/                                    slice files, in git
<git common dir>/slicebase/slicebase.db     the truth, shared by worktrees, never committed
<git common dir>/slicebase/at/<path>/…      the truth of a workspace in a subfolder of the repository
.slicebase/slicebase.db                     the truth outside git
.slicebase/cache/                           disposable
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.boundary import PRIVATE_MODE, cannot_read, inside, private_database, private_folder, real_path
from slicebase.workspace.repository import is_tracked, repository_of
from slicebase.workspace.server import server_url, shown_url

LIBRARY = ".slices"
LOCAL = ".slicebase"
SETTINGS = "slicebase.toml"
DATABASE = "slicebase.db"
DATABASE_ID = "slicebase.id"
STEPS = "open-steps"
EXPORTS = "exports.json"
JOURNAL = "journal.json"
TRANSCRIPTS = "transcripts"
LOSSES = "losses"
EXCHANGED = "exchanged"
_IN_GIT = "slicebase"  # the folder in the git directory
_MARKERS = (LIBRARY, LOCAL, SETTINGS)

StrPath = str | os.PathLike[str]


class Workspace(NamedTuple):
    """A folder with a library, and the path of its database; or the address of the server that has its memory.

    Of the paths of this machine, none is or follows a symbolic link: a property raises the error for one.
    """

    root: Path
    database: Path
    url: str = ""

    @property
    def has_memory(self) -> bool:
        """Whether there is a database, or a server that has one; or there was one, and the workspace knows its id."""
        return bool(self.url) or self.database.exists() or any(os.path.lexists(path) for path in self.id_files)

    @property
    def place(self) -> str:
        """Where the memory is, for people: the path of the database, or the address of the server."""
        return shown_url(self.url) if self.url else str(self.database)

    @property
    def library(self) -> Path:
        return self.root / LIBRARY

    @property
    def cache(self) -> Path:
        return self.local("cache")

    @property
    def files(self) -> Path:
        """The index of slice files. It is a cache."""
        return self.local("cache", "files.db")

    @property
    def turns(self) -> Path:
        """The full-text index of turns. It is a cache."""
        return self.local("cache", "turns.db")

    @property
    def chunks(self) -> Path:
        """The ranker's index of the library. It is a cache."""
        return self.local("cache", "chunks.db")

    @property
    def transcripts(self) -> Path:
        """What was read of transcripts that grow. It is a cache."""
        return self.local("cache", TRANSCRIPTS)

    @property
    def losses(self) -> Path:
        """What compactions lost, as far as it was found before somebody asked. It is a cache."""
        return self.local("cache", LOSSES)

    @property
    def id_files(self) -> tuple[Path, ...]:
        """The files that keep the id of the database: beside it, and in the folder of this machine."""
        return tuple(dict.fromkeys((self.database.with_name(DATABASE_ID), self.local(DATABASE_ID))))

    @property
    def steps(self) -> Path:
        """The folder with the files of the steps that are open. It is beside the database, for all worktrees."""
        return self.database.with_name(STEPS)

    @property
    def lock(self) -> Path:
        """The lock file that a writer of the library holds."""
        return self.local("library.lock")

    @property
    def journal(self) -> Path:
        """What the files were that are being written together. It is there only while a process writes them."""
        return self.local(JOURNAL)

    @property
    def payloads_lock(self) -> Path:
        """The lock file that is held while a payload is copied, which can take long."""
        return self.local("payloads.lock")

    @property
    def notes_lock(self) -> Path:
        """The lock file that is held while notes are added or followed, which can take long."""
        return self.local("notes.lock")

    @property
    def purge_lock(self) -> Path:
        """The lock file of a purge, beside the database: there is one purge at a time, in all worktrees."""
        return self.database.with_name("purge.lock")

    @property
    def exports(self) -> Path:
        """The list of the files that something was exported to, beside the database, for all worktrees."""
        return self.database.with_name(EXPORTS)

    @property
    def exports_lock(self) -> Path:
        """The lock file that is held while the list of exports is written."""
        return self.exports.with_suffix(".lock")

    @property
    def earlier_exports(self) -> Path:
        """The list from before the folder became a repository, which moved the database."""
        return self.local(EXPORTS)

    def local(self, *names: str) -> Path:
        """Returns the path of a file or folder of this machine, which a new clone does not have."""
        path = self.root.joinpath(LOCAL, *names)
        inside(self.root, path, linked=False)
        return path


def find_root(start: Path) -> Path | None:
    """Returns the nearest folder, from `start` upwards, that is a workspace, or None."""
    start = real_path(start)
    try:
        for folder in (start, *start.parents):
            if any((folder / marker).exists() for marker in _MARKERS):
                return folder
    except OSError as error:
        raise cannot_read(error, start) from None
    return None


def open_workspace(start: Path, root: Path | None = None, *, adopt: bool = False) -> Workspace:
    """Opens the workspace at `root` if that is given, else the nearest one from `start` upwards.

    A database that came with the repository is refused, unless it is to be adopted.
    """
    found = find_root(start) if root is None else (real_path(root) if find_root(root) == real_path(root) else None)
    if found is None:
        raise SlicebaseError(
            "no-workspace",
            "this folder is not a workspace" + ("" if root else ", and no folder above it is one"),
            hint="create one with `tt init`, or name one with --root",
            where=Where(str(root or start)),
        )
    database = database_of(found)
    workspace = Workspace(found, database, "" if os.path.lexists(database) else server_url())
    inside(found, workspace.library, linked=False)
    inside(found, found / LOCAL, linked=False)
    try:
        if not adopt:
            _refuse_memory_of_another(workspace)
        _settle_database(workspace, adopt=adopt)
    except PermissionError as error:
        raise cannot_read(error, workspace.database) from None
    return workspace


def create_workspace(root: Path, *, adopt: bool = False) -> Workspace:
    """Creates a workspace in the folder, and the folder in an existing one. Files that exist already stay."""
    if root.parts[:1] and root.parts[0].startswith("~") and not root.exists():
        hint = "`~` is not expanded: pass Path(…).expanduser()"
        raise SlicebaseError("cannot-write", f"there is no folder {root}", hint=hint, where=Where(str(root)))
    root = real_path(root)
    repository_of(root)  # raises an error before anything is created
    try:
        root.mkdir(exist_ok=True)
        inside(root, root / LIBRARY, linked=False).mkdir(exist_ok=True)
    except OSError as error:
        raise _cannot_write(error, root) from None
    create_local_folder(root)
    return open_workspace(root, root, adopt=adopt)


def create_local_folder(root: Path) -> None:
    """Creates the folder for the files of this machine, which a new clone does not have."""
    try:
        private_folder(root, root / LOCAL / "cache")
        # The folder has its own ignore rule, not a line in the project's: it is removed with the folder.
        ignore = root / LOCAL / ".gitignore"
        inside(root, ignore, linked=False)
        with suppress(FileExistsError):
            descriptor = os.open(ignore, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_MODE)
            with open(descriptor, "w") as file:
                file.write("*\n")
    except OSError as error:
        raise _cannot_write(error, root) from None


def _cannot_write(error: OSError, root: Path) -> SlicebaseError:
    return SlicebaseError("cannot-write", f"{error.strerror}: {error.filename}", where=Where(str(root)))


# The database


def database_of(root: Path) -> Path:
    """Returns the path of the database of the workspace at `root`."""
    repository = repository_of(root)
    if repository is None:
        return root / LOCAL / DATABASE
    path = root.relative_to(repository.top)
    folder = repository.common / _IN_GIT / (Path("at") / path if path.parts else "")
    inside(repository.common, folder, linked=False)
    return folder / DATABASE


def own_database(database: Path) -> None:
    """Creates a database's file and its folders, so that only their owner can use them, or narrows existing ones.

    Does nothing where nothing can be written.
    """
    with suppress(OSError):
        own_folder(database.parent)
        private_database(database)


def own_folder(folder: Path) -> None:
    """Creates a folder in or below a folder of ours, so that only its owner can use it; elsewhere, an ordinary one."""
    ours = next(filter(_is_ours, (folder, *folder.parents)), None)
    if ours is None:
        folder.mkdir(parents=True, exist_ok=True)
    else:
        private_folder(ours.parent, folder)


def _is_ours(folder: Path) -> bool:
    """Returns whether Slicebase created the folder: in a workspace, or in a git directory."""
    return folder.name == LOCAL or (folder.name == _IN_GIT and (folder.parent / "HEAD").exists())


def _settle_database(workspace: Workspace, *, adopt: bool) -> None:
    """Moves the database into the git directory, if the folder has become a repository since.

    What came with the repository is refused: a database that git tracks, or a link to one. `adopt` accepts it.
    """
    old, new = workspace.root / LOCAL / DATABASE, workspace.database
    if old == new or not os.path.lexists(old):
        if _is_foreign(new):
            _adopt_linked(new, new, adopt=adopt)
        return
    tracked = is_tracked(workspace.root, f"{LOCAL}/{DATABASE}")
    if os.path.lexists(new):
        if tracked and not adopt:
            return  # this workspace has a database of its own, and `tt doctor` reports the other one
        raise SlicebaseError(
            "two-databases",
            f"there are two databases, {old} and {new}",
            hint="keep the one with your history and move the other to another folder",
            where=Where(str(old)),
        )
    if _is_foreign(old):
        _adopt_linked(old, new, adopt=adopt)
        return
    if tracked and not adopt:
        raise _not_ours(old, "git tracks this database, so it came with the repository")
    _fold_log_into_file(old)
    _copy_database(old, new)
    old.unlink()


def _refuse_memory_of_another(workspace: Workspace) -> None:
    """Refuses a database in a git directory that does not say whose it is, unless this folder knows the database's id.

    A new workspace writes the id into its own folder. Who merely names the git directory of somebody else has none.
    """
    repository = repository_of(workspace.root)
    memory = workspace.id_files[0] if workspace.url else workspace.database
    if repository is None or repository.is_certain or not os.path.lexists(memory):
        return
    from slicebase.workspace.machine import home_digest, known_ids

    home = home_digest() if workspace.url else ""
    beside, here = (known_ids((path,), home) for path in workspace.id_files)
    if not beside & here:
        raise SlicebaseError(
            "database-not-ours",
            f"this folder names the git directory {repository.common}, and does not know the memory in it",
            hint="if it is yours, `tt init --adopt` makes it the memory of this workspace",
            where=Where(str(workspace.database)),
        )


def _is_foreign(path: Path) -> bool:
    """Returns whether something that is not a regular file is where a database should be."""
    try:
        return not stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _adopt_linked(link: Path, new: Path, *, adopt: bool) -> None:
    """Replaces a link by a copy of the database that it names, which stays as it is."""
    if not adopt or not link.is_file():
        raise _not_ours(link, "this database is not a regular file, but a symbolic link, a folder or a device")
    source = real_path(link)
    log = Path(f"{source}-wal")
    if log.exists() and log.stat().st_size:
        raise _in_use(source)
    _copy_database(source, new)
    if link != new:
        link.unlink()


def _copy_database(source: Path, new: Path) -> None:
    from slicebase.workspace.atomic import read_chunks, write_bytes  # imported here, because it is rarely needed

    own_folder(new.parent)
    arriving = new.with_suffix(".arriving")
    arriving.unlink(missing_ok=True)
    write_bytes(arriving, read_chunks(source), within=new.parent, private=True)
    arriving.replace(new)


def _not_ours(path: Path, message: str) -> SlicebaseError:
    hint = "`tt init --adopt` accepts what is in it; delete the file to begin without it"
    return SlicebaseError("database-not-ours", message, hint=hint, where=Where(str(path)))


def _in_use(path: Path) -> SlicebaseError:
    return SlicebaseError(
        "locked", f"{path} is in use", hint="try again when the other process is done", where=Where(str(path))
    )


def _fold_log_into_file(path: Path) -> None:
    """Writes the write-ahead log into the database file. Raises `locked` while another process has it open."""
    import apsw  # imported here: it is rarely needed, and takes a tenth of the time of a short command

    connection = apsw.Connection(str(path))
    try:
        connection.execute("PRAGMA journal_mode = DELETE")
    except apsw.BusyError:
        raise _in_use(path) from None
    finally:
        connection.close()
