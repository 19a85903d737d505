"""The verbs that find and describe slice files. Each asks the index, which first checks the folder for changes."""

import re
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Final

from slicebase.errors import refuse_out_of_range, refuse_unknown
from slicebase.index.entries import EVERY_FILE, FileEntry, Filters, broken_files, list_files
from slicebase.index.files import FileIndex
from slicebase.index.schema import ReadProgress
from slicebase.workspace.surroundings import Surroundings, one_thread_at_a_time
from slicebase.workspace.workspace import Workspace

if TYPE_CHECKING:  # start-up time matters: a verb imports what it needs when it is called
    from slicebase.context.match import Attempt
    from slicebase.context.query import Query
    from slicebase.errors import SlicebaseError
    from slicebase.files.explore import Direction
    from slicebase.index.info import Info
    from slicebase.index.links import Exploration
    from slicebase.index.results import Results
    from slicebase.index.staleness import StaleFile

_SHORTEST: Final = 1e-6  # days
_MOST: Final = 1 << 40  # files
_WORD: Final = re.compile(r"\w+")


@one_thread_at_a_time
class Finder:
    """Finds and describes the slice files of a workspace."""

    def __init__(
        self,
        workspace: Workspace,
        surroundings: Surroundings | None = None,
        progress: ReadProgress = lambda done, total: None,
    ) -> None:
        self.workspace = workspace
        self.surroundings = surroundings or Surroundings(workspace)
        self.index = FileIndex(workspace, self.surroundings.redaction, progress)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.workspace.root)!r})"

    def search(
        self,
        query: str,
        filters: Filters = EVERY_FILE,
        *,
        former_rows: bool = False,
        either: bool = False,
        limit: int = 10,
    ) -> "Results":
        """Returns files that contain all words, quoted texts and prefixes of a query, or with `either` any, best first.

        If none has an identifier of the query, files with its parts follow. Filters in the query narrow it further.
        """
        from slicebase.context.match import tries
        from slicebase.context.query import read
        from slicebase.index.asked import refuse_unsearchable
        from slicebase.index.results import Results

        asked = read(query)
        refuse_unsearchable(asked)
        files = FileSearch(self, asked, filters, former_rows=former_rows, limit=limit)
        for attempt in tries(asked, either=either):
            if attempt.some == either:
                found = files.found(attempt)
                if found.hits:
                    return found
        return Results((), 0, tuple(files.hints() or ["there is no similar word here: `tt list` shows the files"]))

    def explore(
        self,
        file_id: str,
        *,
        direction: "Direction" = "out",
        rel: str | None = None,
        depth: int = 1,
        infer: bool = False,
    ) -> "Exploration":
        """Returns the links around a file to a given depth; with `infer`, also what follows from them (ruling 28)."""
        from slicebase.files.explore import DIRECTIONS
        from slicebase.index.links import explore_files

        refuse_unknown("direction", direction, DIRECTIONS)
        refuse_out_of_range("depth", depth, 0)
        root = self.workspace.root
        return self.index.ask(
            lambda connection: explore_files(
                connection, root, file_id, direction=direction, rel=rel, depth=depth, infer=infer
            )
        )

    def stale(
        self, half_life: float | None = None, filters: Filters = EVERY_FILE, *, largest: int | None = None
    ) -> "list[StaleFile]":
        """Returns the files that should be reviewed, and why: their age, or a source or a document that changed.

        `half_life` is the number of days after which a file is half stale; by default, the setting. The document of a
        pointer is read, unless it has more than `largest` bytes: then its size is compared.
        """
        from slicebase.index.payloads import with_payload_state
        from slicebase.index.staleness import stale_files

        now, days = self.surroundings.now(), half_life
        if days is None:
            days = self.surroundings.settings.freshness_half_life_days
        refuse_out_of_range("half_life", days, _SHORTEST)
        compared = partial(with_payload_state, self.workspace.root, largest=largest)
        return self.index.ask(
            lambda connection: stale_files(connection, filters, now, days, self.later_snapshot, compared)
        )

    def later_snapshot(self, snapshot_id: str) -> str | None:
        """Returns the snapshot that passed after this one in its run, which makes a narrative stale (ruling 41)."""
        if not self.workspace.has_memory:
            return None
        from slicebase.truth.truth import open_truth

        truth = open_truth(self.workspace, self.surroundings)
        try:
            return truth.runs.later(snapshot_id)
        finally:
            truth.close()

    def list_files(self, filters: Filters = EVERY_FILE) -> list[FileEntry]:
        """Returns the files, the last changed first."""
        return self.index.ask(lambda connection: list_files(connection, filters))

    def part_links(self) -> list[tuple[str, str]]:
        """Returns the pairs of files that are joined into one log (ruling 32)."""
        from slicebase.index.links import part_links

        return self.index.ask(part_links)

    def broken(self) -> "list[SlicebaseError]":
        """Returns the errors of the files that cannot be read."""
        return self.index.ask(broken_files)

    def info(self, file_id: str) -> "Info":
        """Returns everything that is known about one file."""
        from slicebase.index.info import file_info

        found = self.index.ask(lambda connection: file_info(connection, self.workspace, file_id))
        return found._replace(findings=tuple(map(self.surroundings.redaction.finding, found.findings)))


# For a search that looks for turns as well


class FileSearch:
    """One search in the files. It looks at the folder once, however many ways to match are tried: a look takes long."""

    def __init__(self, finder: Finder, query: "Query", filters: Filters, *, former_rows: bool, limit: int) -> None:
        from slicebase.index.asked import Search, file_filters

        narrowed = file_filters(query, filters, finder.surroundings.now())
        self._index = finder.index
        self._has_looked = False
        self._wanted: Search | None = None
        if narrowed is not None and finder.index.has_files():
            self._wanted = Search(query, narrowed, former_rows, limit=limit)

    def found(self, attempt: "Attempt") -> "Results":
        """Returns the files that match in one way, best first."""
        from slicebase.index.results import Results

        if self._wanted is None:
            return Results((), 0, ())
        from slicebase.index.search import search

        wanted = self._wanted._replace(attempt=attempt)
        ask_again, self._has_looked = self._has_looked, True
        if ask_again:
            return self._index.ask_again(lambda connection: search(connection, wanted))
        return self._index.ask(lambda connection: search(connection, wanted))

    def among(self, ids: tuple[str, ...]) -> "FileSearch":
        """Returns the same search among the files with these ids."""
        narrowed = copy(self)
        if self._wanted is not None:
            narrowed._wanted = self._wanted._replace(filters=self._wanted.filters._replace(ids=ids))
        return narrowed

    def hints(self) -> list[str]:
        """Returns what to try after a search that found no file."""
        if self._wanted is None:
            return []
        from slicebase.index.search import hints

        wanted = self._wanted
        return self._index.ask_again(lambda connection: hints(connection, wanted))


def ids_with_words(finder: Finder, text: str) -> list[str]:
    """Returns the ids of all files that have one of the words of a text, best first. The text is no query."""
    from slicebase.context.match import tries
    from slicebase.context.query import read
    from slicebase.index.asked import Search
    from slicebase.index.search import ranked_ids

    asked = read(" ".join(_WORD.findall(text)))
    for attempt in tries(asked, either=True) if asked.terms else ():
        wanted = Search(asked, EVERY_FILE, False, attempt, _MOST)
        if found := finder.index.ask(partial(ranked_ids, wanted=wanted)):
            return found
    return []
