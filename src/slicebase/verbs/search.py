"""Searches slice files and turns. It starts fast: the database is opened only if there are turns."""

from collections.abc import Collection, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final

from slicebase.context.match import ALL_WORDS, Attempt, tries
from slicebase.context.query import Query, read
from slicebase.core.times import EARLIEST, milliseconds
from slicebase.errors import refuse_out_of_range
from slicebase.index.asked import refuse_unsearchable
from slicebase.index.entries import EVERY_FILE, Filters
from slicebase.index.results import Results
from slicebase.library.finder import FileSearch
from slicebase.verbs.found import FoundSession, FoundTurns, SearchResults
from slicebase.verbs.parts import Parts

if TYPE_CHECKING:
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
    refuse_unsearchable(asked)
    among_files = FileSearch(parts.finder, asked, chosen, former_rows=former_rows, limit=limit)
    attempts = tries(asked, either=either)
    for attempt in attempts:
        files = among_files.found(attempt)
        turns = _turns(parts, asked, chosen, attempt, limit)
        if files.hits or turns.turns:
            found = SearchResults(files, turns, attempt, either=either)
            if not attempt.some and files.total + turns.total < limit:
                found.rest = _rest(parts, asked, chosen, among_files, attempts, found, limit - len(found))
            return found
    hints = [
        *among_files.hints(),
        *_without_filters(parts, asked, chosen),
        *_similar_words(parts, asked),
    ]
    return SearchResults(files, turns, ALL_WORDS, either=either, hints=tuple(dict.fromkeys(hints or [_nothing(asked)])))


def _rest(
    parts: Parts,
    asked: Query,
    chosen: Filters,
    among_files: FileSearch,
    attempts: Iterator[Attempt],
    first: SearchResults,
    limit: int,
) -> SearchResults | None:
    """Returns the best files and turns that have some of the words, beside the few that have all."""
    own = tuple(hit.entry.id for hit in first.files)
    for attempt in attempts:
        if attempt.some:
            found = among_files.found(attempt)
            hits = tuple(hit for hit in found.hits if hit.entry.id not in own)[:limit]
            known = sum(hit.entry.id in own for hit in among_files.among(own).found(attempt).hits) if own else 0
            turns = _turns(parts, asked, chosen, attempt, limit, but={turn.id for turn in first.turns})
            if hits or turns.turns:
                return SearchResults(Results(hits, found.total - known, ()), turns, attempt, either=False)
    return None


_BEST: Final = 3  # turns of a session that are shown, where it is not the only one
_EXAMINED: Final = 20  # turns for each result that may be shown, to find the best of each session
_NONE: Final = FoundTurns([], [])


def _turns(
    parts: Parts,
    asked: Query,
    chosen: Filters,
    attempt: Attempt,
    limit: int,
    but: Collection[str] = (),
) -> FoundTurns:
    """Returns the best turns, but for some, and the best sessions with theirs."""
    of_files = chosen._replace(archived=False, changed_since=None, changed_before=None) != EVERY_FILE
    if of_files or not parts.workspace.has_memory:
        return _NONE
    from slicebase.index.turn_search import Bounds
    from slicebase.verbs.narrow import narrowed
    from slicebase.verbs.turns import TurnReader, turn_hits

    wanted = narrowed(parts, asked, chosen, parts.surroundings.now()).turns
    if wanted is None:
        return _NONE
    if chosen.changed_since is not None:
        wanted = wanted._replace(since=max(wanted.since or EARLIEST, milliseconds(chosen.changed_since) + 1))
    reader = TurnReader(parts.truth)
    found = turn_hits(parts, asked, wanted._replace(but=but), reader, Bounds(_EXAMINED * limit, limit), attempt)
    groups = list(_by_session(found.hits).items())[:limit]
    most = limit if len(found.by_session) == 1 else _BEST
    shown = [(session, group[:most]) for session, group in groups]
    views = {hit.turn: reader.view(hit) for hit in chain(found.hits[:limit], *(group for _, group in shown))}
    sessions = []
    for session, group in shown:
        best = tuple(views[hit.turn] for hit in group)
        sessions.append(FoundSession(parts.truth.turns.session(session), best, found.by_session[session] - len(best)))
    return FoundTurns([views[hit.turn] for hit in found.hits[:limit]], sessions, found.total, found.is_exact)


def _by_session(hits: "list[TurnHit]") -> "dict[str, list[TurnHit]]":
    groups: dict[str, list[TurnHit]] = {}
    for hit in hits:
        groups.setdefault(hit.session, []).append(hit)
    return groups


def _without_filters(parts: Parts, asked: Query, chosen: Filters) -> list[str]:
    """Returns a hint about the turns that only the filters of a query leave out."""
    if not asked.filters or not asked.terms:
        return []
    found = _turns(parts, asked._replace(filters=()), chosen, ALL_WORDS, 1)
    turns = f"{'' if found.is_exact else 'at least '}{found.total} turn{'s' if found.total > 1 else ''}"
    return [f"{turns} would match without the filters"] if found.total else []


def _nothing(asked: Query) -> str:
    """Returns the hint where nothing else helps."""
    shown = "`tt list` shows the files, and `tt turns` the sessions"
    if asked.terms:
        return f"there is no similar word here: {shown}"
    return f"nothing passes {' '.join(map(str, asked.filters))}: {shown}, with their dates"


def _similar_words(parts: Parts, asked: Query) -> list[str]:
    """Returns hints about words of turns that are similar to those that were not found."""
    if not parts.workspace.has_memory:
        return []
    from slicebase.index.upkeep import ask_turns
    from slicebase.verbs.turns import TurnReader

    index, reader = parts.turn_index, TurnReader(parts.truth)
    return ask_turns(index, parts.truth, lambda: index.similar_words(asked.terms, reader.text))
