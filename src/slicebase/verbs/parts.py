"""The parts of an open workspace that verbs work with. Each part is created when it is first used.

So a verb creates only what it needs: a verb that uses the folder of slice files opens no index.

Before this process is forked, everything is closed: a child that inherits a connection of SQLite has worthless locks,
also on connections that it opens itself, and both processes would destroy the database.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Self
from weakref import WeakSet

from slicebase.errors import SlicebaseError
from slicebase.workspace.surroundings import Surroundings, one_thread_at_a_time, part
from slicebase.workspace.workspace import Workspace

if TYPE_CHECKING:  # keeps start-up fast: a part is imported when it is created
    from slicebase.context.assemble import Context
    from slicebase.index.schema import ReadProgress
    from slicebase.index.turns import TurnIndex
    from slicebase.library.chunks import LibraryChunks
    from slicebase.library.finder import Finder
    from slicebase.library.folder import SliceFolder
    from slicebase.library.library import Library
    from slicebase.truth.truth import Truth
    from slicebase.workspace.settings import Settings


@one_thread_at_a_time
class Parts:
    """The truth, the indexes, the library and the settings of one workspace."""

    def __init__(self, workspace: Workspace, surroundings: Surroundings | None = None) -> None:
        if not isinstance(workspace, Workspace):
            raise TypeError(f"{type(self).__name__}.open(folder) opens a workspace, {type(self).__name__}(…) does not")
        self.workspace = workspace
        self.surroundings = surroundings or Surroundings(workspace)
        self.index_progress: ReadProgress = lambda done, total: None
        _opened.add(self)

    @property
    def root(self) -> Path:
        """The folder of the workspace."""
        return self.workspace.root

    @property
    def settings(self) -> "Settings":
        """The settings of the workspace, as their file has them now."""
        return self.surroundings.settings

    @part
    def truth(self) -> "Truth":
        """The database with turns, runs, manifests and texts."""
        from slicebase.truth.truth import Truth

        _refuse_left_open(self.workspace.database)
        return Truth(self.workspace.database, create=True)

    @part
    def turn_index(self) -> "TurnIndex":
        """The full-text index of turns, as it was last updated."""
        from slicebase.index.turns import TurnIndex

        return TurnIndex(self.workspace.turns)

    @part
    def folder(self) -> "SliceFolder":
        """The slice files on disk, without index or settings."""
        from slicebase.library.folder import SliceFolder

        return SliceFolder(self.workspace)

    @part
    def finder(self) -> "Finder":
        """The verbs of the library that only read; they start faster than those that write."""
        from slicebase.library.finder import Finder

        return Finder(self.workspace, self.surroundings, self.index_progress)

    @part
    def library(self) -> "Library":
        """The library of slice files, with all its verbs."""
        from slicebase.library.library import Library

        return Library(self.workspace, lambda: self.truth, self.surroundings, self.index_progress)

    @part
    def library_chunks(self) -> "LibraryChunks":
        """The rows and sections of slice files, with the index in which questions find them."""
        from slicebase.index.turns import TurnIndex
        from slicebase.library.chunks import LibraryChunks

        return LibraryChunks(self.library, TurnIndex(self.workspace.chunks))

    def recorded(self, built: "Context", record: bool = True) -> "Context":
        """Records a context if that is asked for and the workspace can be written.

        Every context is recorded here, and nowhere else. Returns the context, which says whether it is recorded.
        """
        if not record or self.truth.database.read_only:
            return built
        for pinned in built.manifest.slices:
            self.truth.turns.get(pinned.anchor_turn_id)  # raises `no-turn` for a slice of another workspace
        with self.truth.database.writing():
            if built.policy is not None:
                self.truth.policies.keep(built.policy)
            self.truth.manifests.keep(built, self.surroundings.now())
        return built._replace(recorded=True)

    def close(self) -> None:
        """Closes the database and the indexes; a later verb opens them again."""
        for name in ("library_chunks", "turn_index", "truth"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_opened: WeakSet[Parts] = WeakSet()
_left_open: dict[Path, int] = {}  # databases that were in use when a process was forked, with that process
_PATIENCE = 5.0  # seconds that a fork waits for the verbs of other threads


def _close_before_fork() -> None:
    """Closes what is open, after the verbs that run in other threads. The next verb opens it again."""
    for parts in list(_opened):
        around = parts.surroundings
        if around.is_of_this_process and not around.try_alone(parts.close, _PATIENCE):
            _left_open[parts.workspace.database] = os.getpid()


os.register_at_fork(before=_close_before_fork)


def _refuse_left_open(database: Path) -> None:
    """Raises `other-process` for a database that another thread was using when this process was forked."""
    if _left_open.get(database, os.getpid()) != os.getpid():
        raise SlicebaseError(
            "other-process",
            "the database was in use when this process was forked, so that it cannot be used here",
            hint="fork when no verb runs, or start the process with spawn",
        )
