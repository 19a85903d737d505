"""The parts of an open workspace that verbs work with. Each part is created when it is first used.

So a verb creates only what it needs: a verb that uses the folder of slice files opens no index.

Before this process is forked, everything is closed: a child that inherits a connection of SQLite has worthless locks,
also on connections that it opens itself, and both processes would destroy the database.
"""

import os
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal, Self
from weakref import WeakSet

from slicebase.errors import SlicebaseError
from slicebase.workspace.surroundings import Surroundings, one_thread_at_a_time, part
from slicebase.workspace.workspace import Workspace

if TYPE_CHECKING:  # keeps start-up fast: a part is imported when it is created
    from collections.abc import Callable, Mapping

    from slicebase.index.schema import ReadProgress
    from slicebase.index.turns import TurnIndex
    from slicebase.index.word_vectors import WordVectors
    from slicebase.library.chunks import LibraryChunks
    from slicebase.library.finder import Finder
    from slicebase.library.folder import SliceFolder
    from slicebase.library.library import Library
    from slicebase.library.names import Names
    from slicebase.truth.names import StoredNames
    from slicebase.truth.truth import Truth
    from slicebase.workspace.settings import Settings

IndexName = Literal["turns", "files", "chunks"]  # of those that read everything after a large import


@one_thread_at_a_time
class Parts:
    """The truth, the indexes, the library and the settings of one workspace."""

    def __init__(self, workspace: Workspace, surroundings: Surroundings | None = None) -> None:
        if not isinstance(workspace, Workspace):
            raise TypeError(f"{type(self).__name__}.open(folder) opens a workspace, {type(self).__name__}(…) does not")
        self.workspace = workspace
        self.surroundings = surroundings or Surroundings(workspace)
        self.index_progress: ReadProgress = lambda done, total: None
        self.creates_database = True  # else a workspace without one looks as if it had an empty one
        self.before_first_write: Callable[[], None] = lambda: None  # may raise: then nothing is stored
        # Called with which index lacks how many of what it reads. May raise: then nothing is indexed.
        self.before_long_update: Callable[[IndexName, int], None] = lambda index, number: None
        self._has_written = False
        _refuse_unsafe_process()
        _opened.add(self)

    @property
    def root(self) -> Path:
        """The folder of the workspace."""
        return self.workspace.root

    @property
    def settings(self) -> "Settings":
        """The settings of the workspace, as their file has them now."""
        return self.surroundings.settings

    @property
    def redacted(self) -> "Mapping[str, int]":
        """The secrets that were replaced in what entered since the workspace was opened, by rule. Never a value."""
        return dict(sorted(self.surroundings.redaction.counts.items()))

    @part
    def truth(self) -> "Truth":
        """The database with turns, runs, manifests and texts."""
        from slicebase.truth.truth import open_truth

        creates = self.creates_database
        truth = open_truth(self.workspace, self.surroundings, create=creates, or_empty=not creates)
        truth.database.before_commit = self._before_write
        return truth

    @part
    def turn_index(self) -> "TurnIndex":
        """The full-text index of turns, as it was last updated."""
        from slicebase.index.turns import TurnIndex

        index = TurnIndex(self.workspace.turns, vectors=self._vectors)
        index.before_long_update = self._before_long("turns")
        return index

    @part
    def folder(self) -> "SliceFolder":
        """The slice files on disk, without index or settings."""
        from slicebase.library.folder import SliceFolder

        return SliceFolder(self.workspace)

    def _before_write(self) -> None:
        """Looks before the first write to the database or to slice files: what has begun is not left half done."""
        if not self._has_written:
            self.before_first_write()
        self._has_written = True

    @part
    def names(self) -> "Names":
        """Completes short ids and references."""
        from slicebase.library.names import Names

        return Names(self.workspace, self.surroundings, self.folder, lambda: self.stored_names)

    @property
    def stored_names(self) -> "StoredNames":
        """Completes short ids of what is in the database."""
        from slicebase.truth.names import StoredNames

        return StoredNames(self.truth.database, self.surroundings)

    @part
    def finder(self) -> "Finder":
        """The verbs of the library that only read; they start faster than those that write."""
        from slicebase.library.finder import Finder

        finder = Finder(self.workspace, self.surroundings, self.index_progress)
        finder.index.before_long_update = self._before_long("files")
        return finder

    @part
    def library(self) -> "Library":
        """The library of slice files, with all its verbs."""
        from slicebase.library.library import Library

        library = Library(self.workspace, lambda: self.truth, self.surroundings, self.index_progress)
        library.folder.before_write = self._before_write
        library.index.before_long_update = self._before_long("files")
        return library

    @part
    def library_chunks(self) -> "LibraryChunks":
        """The rows and sections of slice files, with the index in which questions find them."""
        from slicebase.index.turn_schema import CHUNKS_LAYOUT
        from slicebase.index.turns import TurnIndex
        from slicebase.library.chunks import LibraryChunks

        index = TurnIndex(self.workspace.chunks, CHUNKS_LAYOUT, self._vectors)
        index.before_long_update = self._before_long("chunks")
        return LibraryChunks(self.library, index)

    def _before_long(self, index: "IndexName") -> "Callable[[int], None]":
        return lambda number: self.before_long_update(index, number)

    def _vectors(self) -> "WordVectors | None":
        """Returns the vectors of words, if they are installed and switched on."""
        if not self.settings.context_semantic:
            return None
        from slicebase.index.word_vectors import word_vectors  # imported here for a fast start

        return word_vectors()

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
_held: list[Surroundings] = []  # whose verbs wait until the fork is over
_unsafe: set[int] = set()  # this process, if a verb was running when it was forked
_forking = Lock()  # one fork at a time
_PATIENCE = 5.0  # seconds that a fork waits for the verbs of other threads


def _before_fork() -> None:
    """Closes what is open, after the verbs that run in other threads, and keeps it closed until the fork is over.

    A verb that takes longer, or that forks itself, goes on undisturbed; then no workspace can be opened in the child.
    """
    _forking.acquire()
    _unsafe.clear()
    for parts in list(_opened):
        around = parts.surroundings
        if not around.is_of_this_process:
            continue
        if around.enter_alone(_PATIENCE):
            _held.append(around)
            try:
                parts.close()
            except Exception:  # it cannot stop the fork, only make the child unsafe
                _unsafe.add(os.getpid())
        else:
            _unsafe.add(os.getpid())


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().leave()
    _forking.release()


def _after_fork_in_child() -> None:
    _held.clear()  # objects of the other process refuse to be used before they look at their locks
    _forking.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


def _refuse_unsafe_process() -> None:
    """Raises `other-process` in a process that was forked while a verb was running: SQLite may hold locks forever."""
    if _unsafe - {os.getpid()}:
        raise SlicebaseError(
            "other-process",
            "a database was in use when this process was forked, so that no workspace can be opened here",
            hint="fork when no verb runs, or start the process with spawn",
        )
