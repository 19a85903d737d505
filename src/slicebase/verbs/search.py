"""Searches slice files and turns. It starts fast: the graph is loaded only if there are turns."""

from typing import TYPE_CHECKING, NamedTuple

from slicebase.core.times import from_text, milliseconds
from slicebase.index.entries import EVERY_FILE, Filters
from slicebase.verbs.parts import Parts

if TYPE_CHECKING:
    from slicebase.index.search import Results
    from slicebase.verbs.graph import TurnView


class SearchResults(NamedTuple):
    """The files and the turns that a search found."""

    files: "Results"
    turns: "list[TurnView]"


def search(
    parts: Parts,
    query: str,
    filters: Filters | None = None,
    *,
    former_rows: bool = False,
    either: bool = False,
    limit: int = 10,
) -> SearchResults:
    """Finds slice files and turns by their words, best first; filters that only files can match leave turns out."""
    chosen = filters or EVERY_FILE
    files = parts.finder.search(query, chosen, former_rows=former_rows, either=either, limit=limit)
    asks_for_files = chosen._replace(archived=False, changed_since=None) != EVERY_FILE
    if asks_for_files or not parts.workspace.database.exists():
        return SearchResults(files, [])
    from slicebase.verbs.graph import Graph

    turns = Graph(parts).search(query, limit)
    since = None if chosen.changed_since is None else milliseconds(chosen.changed_since)
    return SearchResults(files, [turn for turn in turns if since is None or from_text(turn.record.time) > since])
