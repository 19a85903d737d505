"""Times as sources write them, and the replacement for a missing time."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final, TypeVar

from slicebase.core.times import EARLIEST, LATEST, from_text
from slicebase.errors import SlicebaseError

_T = TypeVar("_T")

_MILLISECONDS_FROM: Final = 10**11  # a number from here on is milliseconds: as seconds it would be the year 5138
_LOOK_AHEAD: Final = 200


def moment(value: Any) -> int | None:
    """Returns milliseconds since 1970, or None for a value that is not a time.

    A time is RFC 3339 text (without a zone it is UTC), or a number of seconds or milliseconds.
    """
    if isinstance(value, str):
        return _from_text(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return None
    milliseconds = value if value >= _MILLISECONDS_FROM else value * 1000
    return round(milliseconds) if EARLIEST <= milliseconds <= LATEST else None


def _from_text(text: str) -> int | None:
    for candidate in (text, f"{text}Z"):
        try:
            return from_text(candidate)
        except SlicebaseError:
            continue
    return None


class SourceClock:
    """The time of the current record; if it has none, the nearest earlier time in its source."""

    def __init__(self, start: int = 0) -> None:
        self.now = start

    def read(self, value: Any) -> tuple[int, bool]:
        """Returns the time of a record, and whether it had to be repaired."""
        known = moment(value)
        if known is None:
            return self.now, True
        self.now = known
        return known, False


def start_of(items: Iterable[_T], time_of: Callable[[_T], Any]) -> tuple[int, Iterator[_T]]:
    """Returns the first time among the first items, and an iterator over all items.

    The time is for the items before it, which have none. It is 0 if no time is found.
    """
    ahead: list[_T] = []
    rest = iter(items)
    for item in rest:
        ahead.append(item)
        found = moment(time_of(item))
        if found is not None:
            return found, chain(ahead, rest)
        if len(ahead) >= _LOOK_AHEAD:
            break
    return 0, chain(ahead, rest)
