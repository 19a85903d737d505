"""Builds the indexes of turns, of slice files and of their pieces, each in a thread of its own.

After a large import an index takes longer than a request may. A request that needs it then gets `index-building` at
once, with how far it is, and holds no place that others need; the page asks again.
"""

from threading import Lock, Thread
from typing import TYPE_CHECKING, Final, NamedTuple

from slicebase.errors import SlicebaseError
from slicebase.index.upkeep import ask_turns
from slicebase.workspace.surroundings import load_for_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slicebase.base import Slicebase
    from slicebase.index.disposable import Disposable
    from slicebase.index.schema import ReadProgress
    from slicebase.verbs.parts import IndexName


class IndexKind(NamedTuple):
    """How an index is called, what it counts, and how it is built: that returns its file."""

    name: str
    unit: str
    fill: "Callable[[Slicebase, ReadProgress], Disposable]"


def _fill_turns(memory: "Slicebase", progress: "ReadProgress") -> "Disposable":
    memory.turn_index.progress = progress
    ask_turns(memory.turn_index, memory.truth, lambda: None)
    return memory.turn_index.file


def _fill_files(memory: "Slicebase", progress: "ReadProgress") -> "Disposable":
    index = memory.finder.index
    index.progress = progress
    index.ask(bool)
    return index.database


def _fill_chunks(memory: "Slicebase", progress: "ReadProgress") -> "Disposable":
    chunks = memory.library_chunks
    chunks.index.progress = progress
    chunks.fill(memory.surroundings.now())
    return chunks.index.file


_KINDS: "Final[Mapping[IndexName, IndexKind]]" = {
    "turns": IndexKind("the index of turns", "turns", _fill_turns),
    "files": IndexKind("the index of files", "files", _fill_files),
    "chunks": IndexKind("the index of the pieces of files", "files", _fill_chunks),
}


class IndexBuilds:
    """The builds of a server: of each index at most one, while it runs."""

    def __init__(self, open_memory: "Callable[[], Slicebase]") -> None:
        self._builds = {name: IndexBuild(open_memory, kind) for name, kind in _KINDS.items()}

    def begin(self, index: "IndexName", number: int) -> None:
        """Begins to build an index, which lacks so many, unless that is being done. Raises `index-building`."""
        self._builds[index].begin(number)

    def close(self) -> None:
        """Lets the builds end soon."""
        for build in self._builds.values():
            build.close()


class IndexBuild:
    """The one build of an index, while it runs."""

    def __init__(self, open_memory: "Callable[[], Slicebase]", kind: IndexKind) -> None:
        self._open = open_memory
        self._kind = kind
        self._lock = Lock()
        self._runs = False
        self._has_failed = False  # then a request does it itself, and says why it cannot be done
        self._disk_is_full = False  # so that what was built last could not be kept
        self._is_closed = False
        self._done = self._total = 0

    def begin(self, number: int) -> None:
        """Begins to build the index, which lacks so many, unless that is being done. Raises `index-building`."""
        with self._lock:
            if self._has_failed:
                self._has_failed = False
                return
            if not self._runs:
                self._runs, self._done, self._total = True, 0, number
                Thread(target=self._build, name=f"slicebase-{self._kind.unit}", daemon=True).start()
            done, total = self._done, self._total
        message = f"{self._kind.name} is being built: {done:,} of {total:,} {self._kind.unit}"
        message += "; the disk is full, so that it cannot be kept" if self._disk_is_full else ""
        raise SlicebaseError("index-building", message, hint="ask again: it is built once after a large import")

    def close(self) -> None:
        """Lets the build end soon."""
        self._is_closed = True

    def _build(self) -> None:
        is_kept = is_full = False
        try:
            load_for_threads()
            with self._open() as memory:
                memory.creates_database = False
                file = self._kind.fill(memory, self._progress)
                is_kept = not file.is_in_memory
                is_full = not is_kept and file.was_full
        except Exception as error:  # the next request finds out what it is
            is_kept, is_full = False, isinstance(error, SlicebaseError) and error.code == "disk-full"
        finally:
            with self._lock:
                self._runs, self._has_failed, self._disk_is_full = False, not is_kept, is_full

    def _progress(self, done: int, total: int) -> None:
        if self._is_closed:
            raise SlicebaseError("server-busy", "the server ends")
        self._done, self._total = done, total
