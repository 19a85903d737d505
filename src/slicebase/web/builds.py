"""Builds the index of turns in a thread of its own, one at a time.

After a large import the index takes longer than a request may. A request that needs it then gets `index-building` at
once, with how far it is, and holds no place that others need; the page asks again.
"""

from threading import Lock, Thread
from typing import TYPE_CHECKING

from slicebase.errors import SlicebaseError
from slicebase.index.upkeep import ask_turns
from slicebase.workspace.surroundings import load_for_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from slicebase.base import Slicebase


class IndexBuild:
    """The one build of a server, while it runs."""

    def __init__(self, open_memory: "Callable[[], Slicebase]") -> None:
        self._open = open_memory
        self._lock = Lock()
        self._runs = False
        self._has_failed = False  # then a request does it itself, and says why it cannot be done
        self._is_closed = False
        self._done = self._total = 0

    def begin(self, turns: int) -> None:
        """Begins to build the index, which lacks so many turns, unless that is being done. Raises `index-building`."""
        with self._lock:
            if self._has_failed:
                self._has_failed = False
                return
            if not self._runs:
                self._runs, self._done, self._total = True, 0, turns
                Thread(target=self._build, name="slicebase-index", daemon=True).start()
            done, total = self._done, self._total
        message = f"the index of turns is being built: {done:,} of {total:,}"
        raise SlicebaseError("index-building", message, hint="ask again: it is built once after a large import")

    def close(self) -> None:
        """Lets the build end soon."""
        self._is_closed = True

    def _build(self) -> None:
        is_kept = False
        try:
            load_for_threads()
            with self._open() as memory:
                memory.creates_database = False
                memory.turn_index.progress = self._progress
                ask_turns(memory.turn_index, memory.truth, lambda: None)
                is_kept = not memory.turn_index.file.is_in_memory
        except Exception:  # the next request finds out what it is
            is_kept = False
        finally:
            with self._lock:
                self._runs, self._has_failed = False, not is_kept

    def _progress(self, done: int, total: int) -> None:
        if self._is_closed:
            raise SlicebaseError("server-busy", "the server ends")
        self._done, self._total = done, total
