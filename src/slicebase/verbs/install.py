"""What `tt init` sets up around a workspace, and `tt uninit` removes.

Slice files are never changed: they belong to the user. The database is removed only on request.
"""

import shutil
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from slicebase.agents.agent_files import files_with_block, keep_block
from slicebase.agents.hooks import ClientHooks
from slicebase.errors import SlicebaseError, Where
from slicebase.truth.truth import join_memory, open_truth
from slicebase.workspace import git
from slicebase.workspace.surroundings import Surroundings
from slicebase.workspace.workspace import LOCAL, Workspace, create_local_folder


class RemovalStep(NamedTuple):
    """Something to remove, and the function that removes it."""

    what: str
    do: Callable[[], object]


def install(
    workspace: Workspace, driver: str | None, adopting: Surroundings | None = None, join: str | None = None
) -> list[str]:
    """Sets up what is missing: the folder that git ignores and, in a repository, the merge driver.

    `adopting` makes the database that is there the one of this workspace, by a record in it; `join` is the id of a
    memory on the user's server that becomes it. Returns what was set up for git.
    """
    create_local_folder(workspace.root)
    if join is not None:
        join_memory(workspace, join)
    if adopting is not None:
        open_truth(workspace, adopting, create=True, adopt=True).close()
    if driver is None or not git.is_repository(workspace.root):
        return []
    done = []
    if git.add_attributes(workspace.root):
        done.append(f"a line in {git.ATTRIBUTES}")
    if git.add_driver(workspace.root, driver):
        done.append("the merge driver in git's configuration")
    return done


def uninstall(workspace: Workspace, *, delete_data: bool = False, dry_run: bool = False) -> list[str]:
    """Removes everything except slice files and settings; the database only with `delete_data`.

    Returns what is removed. A memory on a server is not this workspace's to delete.
    """
    if delete_data and workspace.url:
        hint = "without --delete-data it stays there; its administrator can delete the rows of a memory"
        raise SlicebaseError("bad-arguments", f"the memory is on the server {workspace.place}", hint=hint)
    steps = list(_steps(workspace, delete_data))
    for step in () if dry_run else steps:
        try:
            step.do()
        except OSError as error:
            raise SlicebaseError(
                "cannot-write", f"{step.what}: {error.strerror}", where=Where(error.filename)
            ) from None
    return [step.what for step in steps]


def _steps(workspace: Workspace, delete_data: bool) -> Iterator[RemovalStep]:
    root = workspace.root
    if git.has_attributes(root):
        yield RemovalStep(f"the line in {git.ATTRIBUTES}", lambda: git.remove_attributes(root))
    if git.is_repository(root) and git.driver_of(root):
        yield RemovalStep("the merge driver in git's configuration", lambda: git.remove_driver(root))
    hooks = ClientHooks(workspace)
    for client in hooks.marked():
        yield RemovalStep(f"the hooks of {client}", partial(hooks.uninstall, client))
    for file in files_with_block(workspace):
        yield RemovalStep(f"the block in {file}", partial(keep_block, workspace, file, remove=True))
    if workspace.cache.exists():
        yield RemovalStep(f"the cache {workspace.cache}", lambda: _remove_tree(workspace.cache))
    if delete_data:
        for path in _database_files(workspace):
            yield RemovalStep(f"the database {path}", path.unlink)
        if workspace.steps.exists():
            yield RemovalStep(f"the folder {workspace.steps}", lambda: _remove_tree(workspace.steps))
    local = root / LOCAL
    if local.exists():
        yield RemovalStep(f"the folder {local}, if nothing else is in it", lambda: _remove_if_empty(workspace))


def _remove_tree(path: Path) -> None:
    """Removes a folder with everything in it, or what a clone has in its place: to open a pipe would wait forever."""
    if stat.S_ISDIR(path.lstat().st_mode):
        shutil.rmtree(path)
    else:
        path.unlink()


def _database_files(workspace: Workspace) -> list[Path]:
    files = [Path(f"{workspace.database}{suffix}") for suffix in ("", "-wal", "-shm")]
    lists = (workspace.exports, workspace.earlier_exports, workspace.exports_lock)
    beside = dict.fromkeys((*files, *workspace.id_files, workspace.purge_lock, *lists))
    return [path for path in beside if path.exists()]


def _remove_if_empty(workspace: Workspace) -> None:
    """Removes the local folder if only our own small files are left in it, and the database's empty folder."""
    local = workspace.root / LOCAL
    ours = {local / ".gitignore", workspace.lock, workspace.payloads_lock}
    if workspace.database.parent != local:
        ours |= {*workspace.id_files}
    if set(local.iterdir()) <= ours:
        shutil.rmtree(local)
    data = workspace.database.parent
    if data.name != LOCAL and data.is_dir() and not any(data.iterdir()):
        data.rmdir()
