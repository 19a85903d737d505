"""What a search asks for: the query, and its filters, checked: the times and the slice files that they leave."""

import re
from datetime import date
from typing import Final, NamedTuple

from slicebase.context.match import ALL_WORDS, Attempt
from slicebase.context.query import Filter, Query
from slicebase.core.times import EARLIEST, LATEST, from_text, milliseconds
from slicebase.errors import SlicebaseError
from slicebase.graph.contents import KINDS_OF_TURNS
from slicebase.graph.turn import ROLES
from slicebase.index.entries import EVERY_FILE, Filters

_FILE_KINDS: Final = ("context", "pointer")
_ALL_KINDS: Final = ("turn", *KINDS_OF_TURNS, "file", *_FILE_KINDS)
_OF_TURNS: Final = frozenset({"session", "role", "tool", "project"})  # filters that no slice file meets


class Search(NamedTuple):
    """A search: the words and the filters."""

    query: Query
    filters: Filters = EVERY_FILE
    former: bool = False  # also search in rows that are not active
    attempt: Attempt = ALL_WORDS
    limit: int = 10


_MOST_TYPED: Final = 10_000  # characters


def refuse_unsearchable(query: Query) -> None:
    """Raises an error for a query that asks for nothing, or that is a page and no query."""
    if len(query.typed) > _MOST_TYPED:
        message = f"the query has more than {_MOST_TYPED} characters"
        raise SlicebaseError("too-large", message, hint="search for a part of it")
    if not query.terms and not query.filters:
        hint = 'a text that begins with a dash is searched in quotation marks: "-rf"' if query.excluded else ""
        raise SlicebaseError("no-words", f"there is no word to search for in {query.typed!r}", hint=hint)


def check_filters(query: Query) -> None:
    """Raises an error for a filter whose value has no meaning."""
    for each in query.filters:
        _check(each)


def _check(given: Filter) -> None:
    if given.excludes and given.name in ("after", "before"):
        raise SlicebaseError("unknown-value", f"{given} has no meaning", hint="use after: or before:")
    known = {"role": sorted(ROLES), "kind": _ALL_KINDS}.get(given.name)
    if known and given.value not in known:
        hint = f'give one of {", ".join(known)}; in quotation marks, "{given.name}:…" is text'
        raise SlicebaseError("unknown-value", f"{given} names no {given.name}", hint=hint)


def span_of(query: Query, now: int) -> tuple[int | None, int | None]:
    """Returns the first time that a query allows, and the first that it does not allow any more."""
    since = max((_time(value, now) for value in query.values("after")), default=None)
    before = min((_time(value, now) for value in query.values("before")), default=None)
    return since, before


def file_filters(query: Query, files: Filters, now: int) -> Filters | None:
    """Returns the conditions on slice files that a query adds to others; None if it leaves all files out."""
    check_filters(query)
    since, before = span_of(query, now)
    kinds = query.values("kind")
    if any(each.name in _OF_TURNS and not each.excludes for each in query.filters):
        return None
    if (kinds and not {"file", *_FILE_KINDS}.intersection(kinds)) or "file" in query.values("kind", excluded=True):
        return None
    of_files = [kind for kind in kinds if kind in _FILE_KINDS]
    if len(of_files) == 1 and "file" not in kinds:
        files = files._replace(kind=of_files[0])
    if names := query.values("file"):
        files = files._replace(ids=tuple(names))
    if since is not None:
        given = EARLIEST if files.changed_since is None else milliseconds(files.changed_since)
        files = files._replace(changed_since=max(since - 1, given) / 1000)
    return files._replace(changed_before=before / 1000) if before is not None else files


# Times

_DAY: Final = 86_400_000
_AGE: Final = r"(\d{1,6})(h|d|w|mo|y)"
_UNITS: Final = {"h": _DAY // 24, "d": _DAY, "w": 7 * _DAY, "mo": 30 * _DAY, "y": 365 * _DAY}
_DATE: Final = r"(\d{4})(?:[-/](\d\d?)(?:[-/](\d\d?))?)?"
_EPOCH: Final = date(1970, 1, 1)


def _time(given: str, now: int) -> int:
    """Returns the time that `before:` or `after:` names, in milliseconds: the beginning of a day, month or year in UTC.

    An age such as `7d`, and a date such as "last week", are counted from now.
    """
    if match := re.fullmatch(_AGE, given):
        return max(EARLIEST, now - int(match[1]) * _UNITS[match[2]])
    if match := re.fullmatch(_DATE, given):
        try:
            first = date(*(int(part or 1) for part in match.groups()))
        except ValueError:
            raise _bad_time(given) from None
        return (first - _EPOCH).days * _DAY
    try:
        return min(LATEST, from_text(given))
    except SlicebaseError:
        pass
    from slicebase.context.dates import only_date  # imported here for a fast start

    found = only_date(given, now)
    for start, _ in found.spans(1970, 1970) if found else ():  # it has a year
        return start
    raise _bad_time(given)


def _bad_time(given: str) -> SlicebaseError:
    hint = 'write 2026-01-31, 2026-01, 2026, yesterday, "last week", 7d or 2026-01-31T12:00:00Z'
    return SlicebaseError("bad-time", f"{given!r} is not a date", hint=hint)
