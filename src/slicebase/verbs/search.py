"""Searches slice files and turns. It starts fast: the graph is loaded only if there are turns."""

from typing import TYPE_CHECKING, overload

from slicebase.core.times import from_text, milliseconds
from slicebase.index.entries import EVERY_FILE, Filters
from slicebase.verbs.parts import Parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicebase.index.search import Hit, Results
    from slicebase.verbs.graph import TurnView


class SearchResults:
    """The slice files and the turns that a search found, best first.

    It is a sequence of the files, then the turns. Each of them has a `ref` and a `text`.
    """

    def __init__(self, files: "Results", turns: "list[TurnView]") -> None:
        self.files = files
        self.turns = turns

    def __iter__(self) -> "Iterator[Hit | TurnView]":
        yield from self.files
        yield from self.turns

    def __len__(self) -> int:
        return len(self.files) + len(self.turns)

    @overload
    def __getitem__(self, place: int) -> "Hit | TurnView": ...
    @overload
    def __getitem__(self, place: slice) -> "list[Hit | TurnView]": ...
    def __getitem__(self, place: int | slice) -> "Hit | TurnView | list[Hit | TurnView]":
        return list(self)[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SearchResults) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SearchResults(files={len(self.files)}, turns={len(self.turns)})"


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
    if chosen.changed_since is not None:
        since = milliseconds(chosen.changed_since)
        turns = [turn for turn in turns if from_text(turn.time) > since]
    return SearchResults(files, turns)
