"""Searches slice files and turns. It starts fast: the database is opened only if there are turns."""

from typing import TYPE_CHECKING, Final

from slicebase.context.query import Query, read
from slicebase.core.times import EARLIEST, milliseconds
from slicebase.errors import SlicebaseError, refuse_out_of_range
from slicebase.index.entries import EVERY_FILE, Filters
from slicebase.verbs.found import FoundSession, FoundTurn, SearchResults
from slicebase.verbs.parts import Parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicebase.index.turn_search import TurnHit


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
    refuse_out_of_range("limit", limit, 1)
    chosen, asked = filters or EVERY_FILE, read(query)
    if not asked.terms and not asked.filters:
        hint = 'a text that begins with a dash is searched in quotation marks: "-rf"' if asked.excluded else ""
        raise SlicebaseError("no-words", f"there is no word to search for in {query!r}", hint=hint)

    def found(*, some: bool) -> SearchResults:
        files = parts.finder.search(query, chosen, former_rows=former_rows, either=some, limit=limit)
        return SearchResults(files, *_turns(parts, asked, chosen, some, limit))

    results = found(some=either)
    if either or len(results) or len(asked.terms) < 2:
        return results
    some = found(some=True)
    if not len(some):
        return results
    some.partial = True
    return some


_BEST: Final = 3  # turns of a session that are shown
_EXAMINED: Final = 20  # turns for each result that may be shown, to find the sessions


def _turns(
    parts: Parts, asked: Query, chosen: Filters, some: bool, limit: int
) -> tuple[list[FoundTurn], list[FoundSession]]:
    """Returns the best turns, and the best sessions with theirs."""
    of_files = chosen._replace(archived=False, changed_since=None, changed_before=None) != EVERY_FILE
    if of_files or not parts.workspace.database.exists():
        return [], []
    from slicebase.verbs.narrow import narrowed
    from slicebase.verbs.turns import TurnReader, turn_hits

    wanted = narrowed(parts, asked, chosen, parts.surroundings.now()).turns
    if wanted is None:
        return [], []
    if chosen.changed_since is not None:
        wanted = wanted._replace(since=max(wanted.since or EARLIEST, milliseconds(chosen.changed_since) + 1))
    reader = TurnReader(parts.truth)
    hits = turn_hits(parts, asked, wanted, reader, most=_EXAMINED * limit, either=some, sessions=limit)
    found = {hit.turn: reader.found(hit) for hit in _shown(hits, limit)}
    turns = [found[hit.turn] for hit in hits[:limit]]
    return turns, _folded(parts, hits, found, limit)


def _shown(hits: "list[TurnHit]", limit: int) -> "Iterator[TurnHit]":
    """Yields the hits whose texts are needed: the first ones, and the best of each of the first sessions."""
    yield from hits[:limit]
    for group in list(_by_session(hits).values())[:limit]:
        yield from group[:_BEST]


def _by_session(hits: "list[TurnHit]") -> "dict[str, list[TurnHit]]":
    groups: dict[str, list[TurnHit]] = {}
    for hit in hits:
        groups.setdefault(hit.session, []).append(hit)
    return groups


def _folded(parts: Parts, hits: "list[TurnHit]", found: dict[str, FoundTurn], limit: int) -> list[FoundSession]:
    folded = []
    for session, group in list(_by_session(hits).items())[:limit]:
        best = tuple(found[hit.turn] for hit in group[:_BEST])
        folded.append(FoundSession(parts.truth.turns.session(session), best, len(group) - len(best)))
    return folded
