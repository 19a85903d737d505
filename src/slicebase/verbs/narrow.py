"""What a query leaves out: its filters, checked and resolved, for turns and for slice files.

Filters that only turns can meet leave slice files out, and the other way round.
"""

import re
from typing import NamedTuple

from slicebase.context.match import without
from slicebase.context.query import Filter, Query
from slicebase.graph.contents import KINDS_OF_TURNS
from slicebase.graph.session import fact
from slicebase.index.asked import file_filters, span_of
from slicebase.index.entries import Filters
from slicebase.index.narrow import TurnFilters
from slicebase.verbs.parts import Parts


class Narrowed(NamedTuple):
    """The conditions on turns and on slice files; None where none of them can be found."""

    turns: TurnFilters | None
    files: Filters | None


def narrowed(parts: Parts, query: Query, files: Filters, now: int) -> Narrowed:
    """Returns what a query searches, together with other filters for slice files. Raises an error for a bad value."""
    files_left = file_filters(query, files, now)
    return Narrowed(_turns(parts, query, *span_of(query, now)), files_left)


def _turns(parts: Parts, query: Query, since: int | None, before: int | None) -> TurnFilters | None:
    kinds = query.values("kind")
    of_turns = [kind for kind in kinds if kind in KINDS_OF_TURNS]
    if (kinds and not of_turns and "turn" not in kinds) or "turn" in query.values("kind", excluded=True):
        return None
    on_turns = tuple(
        each
        for each in query.filters
        if each.name in ("role", "tool", "file")
        or (each.name == "kind" and each.value in KINDS_OF_TURNS and ("turn" not in kinds or each.excludes))
    )
    return TurnFilters(on_turns, _sessions(parts, query), since, before, without(query))


def _sessions(parts: Parts, query: Query) -> frozenset[str] | None:
    """Returns the sessions that `session:` and `project:` leave; None for all."""
    names = {excludes: set(query.values("session", excluded=excludes)) for excludes in (False, True)}
    projects = [each for each in query.filters if each.name == "project"]
    if (not any(names.values()) and not projects) or not parts.workspace.has_memory:
        return None
    wanted, unwanted = ({_session(parts, name) for name in names[excludes]} for excludes in (False, True))
    found = [session for session, _ in parts.truth.turns.sessions() if not wanted or session.id in wanted]
    return frozenset(
        session.id for session in found if session.id not in unwanted and _is_of(fact(session, "cwd"), projects)
    )


def _session(parts: Parts, given: str) -> str:
    return parts.truth.turns.session(parts.stored_names.id("session", given)).id


def _is_of(folder: str, projects: list[Filter]) -> bool:
    """Returns whether a folder is one of those that are named: by its path, or by a folder in it."""
    path = f"/{_usual(folder)}/" if folder else ""
    wanted = [each for each in projects if not each.excludes]
    return (not wanted or any(_names(each, path) for each in wanted)) and not any(
        _names(each, path) for each in projects if each.excludes
    )


def _names(project: Filter, path: str) -> bool:
    """Returns whether a folder is in a path; one that is given by its whole path is at the beginning."""
    inside = _usual(project.value)
    pattern = re.escape(f"/{inside}/" if inside else "/").replace(r"\*", "[^/]*")
    return (re.match if project.value[0] in r"\/" else re.search)(pattern, path) is not None


def _usual(path: str) -> str:
    return path.lower().replace("\\", "/").strip("/")
