"""Search over slice files and turns. It starts quickly: the graph is loaded only where there are turns."""

from typing import TYPE_CHECKING, NamedTuple

from slicebase.core.times import from_text
from slicebase.index.entries import EVERY_FILE, Filters
from slicebase.verbs.parts import Parts

if TYPE_CHECKING:
    from slicebase.index.search import Results
    from slicebase.verbs.graph import TurnView


class SearchResults(NamedTuple):
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
    """Finds slice files by their words, best first; and turns, unless filters ask for what only files have."""
    chosen = filters or EVERY_FILE
    files = parts.finder.search(query, chosen, former_rows=former_rows, either=either, limit=limit)
    asks_for_files = chosen._replace(archived=False, changed_since=None) != EVERY_FILE
    if asks_for_files or not parts.workspace.database.exists():
        return SearchResults(files, [])
    from slicebase.verbs.graph import Graph

    turns = Graph(parts).search(query, limit)
    since = chosen.changed_since
    return SearchResults(files, [turn for turn in turns if since is None or from_text(turn.record.time) > since])
