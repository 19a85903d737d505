"""The freshness of a file: by its age and, for a derived file, by its source's hash (§ Staleness, ruling 26).

Every time is an argument, in milliseconds since 1970: this module reads no clock.
"""

import math
import re
from enum import StrEnum
from typing import Final, Literal

from slicebase.core.ids import is_ulid, ulid_time

HALF_LIFE_DAYS: Final = 90.0
_DAY: Final = 86_400_000


class Label(StrEnum):
    """The four labels of freshness, from new to old."""

    FRESH = "FRESH"
    AGING = "AGING"
    STALE = "STALE"
    DECAYED = "DECAYED"


_BELOW: Final = ((0.25, Label.FRESH), (0.5, Label.AGING), (0.75, Label.STALE))
_WARNED: Final = frozenset({Label.STALE, Label.DECAYED})


def staleness(days: float, half_life: float = HALF_LIFE_DAYS) -> float:
    """Returns a number from 0, just written, towards 1. A time in the future counts as now, because clocks differ."""
    return 1 - math.pow(0.5, max(days, 0) / half_life)


def label(stale: float) -> Label:
    """Returns the label of a staleness."""
    return next((name for limit, name in _BELOW if stale < limit), Label.DECAYED)


def oldest(name: Label, half_life: float = HALF_LIFE_DAYS) -> float:
    """Returns the number of days after which a file has this label."""
    labels = list(Label)
    limits = [0.0, *(limit for limit, _ in _BELOW)]
    return -half_life * math.log2(1 - limits[labels.index(name)])


_AGE: Final = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)(h|d|w|mo|y)")
_AGE_UNITS: Final = {"h": _DAY / 24, "d": _DAY, "w": 7 * _DAY, "mo": 30 * _DAY, "y": 365 * _DAY}


def age_in_milliseconds(age: str, half_life: float = HALF_LIFE_DAYS) -> int | None:
    """Returns an age such as 12h, 30d, 8w, 3mo or 1y, or that of a label, in milliseconds; None if it is neither."""
    if age.upper() in (Label.AGING, Label.STALE, Label.DECAYED):
        return round(oldest(Label(age.upper()), half_life) * _DAY)
    match = _AGE.fullmatch(age.lower())
    return round(float(match[1]) * _AGE_UNITS[match[2]]) if match else None


def changed_at(
    file_id: str,
    *,
    updated_at: int | None = None,
    newest_row: int | None = None,
    created_at: int | None = None,
    file_time: int | None = None,
) -> int | None:
    """Returns the time from which a file's age is counted.

    It is the last known change, else when the file was created, else the time of the file system.
    """
    changes = [time for time in (updated_at, newest_row) if time is not None]
    if changes:
        return max(changes)
    created = born_at(file_id, created_at)
    return file_time if created is None else created


def born_at(file_id: str, created_at: int | None) -> int | None:
    """Returns when a file was created: as it states, else by its id; None if neither says so."""
    if created_at is not None:
        return created_at
    return ulid_time(file_id) if is_ulid(file_id) else None


def label_at(now: int, changed: int, half_life: float = HALF_LIFE_DAYS) -> Label:
    """Returns the label that a file has now."""
    return label(staleness((now - changed) / _DAY, half_life))


def annotation(now: int, changed: int, half_life: float = HALF_LIFE_DAYS) -> str:
    """Returns the freshness as a search result shows it, with a warning sign if the file should be reviewed."""
    name = label_at(now, changed, half_life)
    return f"[{name} - {age_in_words(now - changed)}]" + (" ⚠️" if name in _WARNED else "")


# The first unit that fits is used; a month is 30 days, a year 365.
_UNITS: Final = (
    ("year", 365 * _DAY),
    ("month", 30 * _DAY),
    ("day", _DAY),
    ("hour", 3_600_000),
    ("minute", 60_000),
)


def age_in_words(milliseconds: int) -> str:
    """Returns an age in its largest unit, such as "3 days ago"."""
    for unit, length in _UNITS:
        if milliseconds >= length:
            count = milliseconds // length
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def derivation(recorded: str, current: str | None) -> Literal["fresh", "stale", "unknown"]:
    """Compares the hash that a derived file recorded with the source's hash now (ruling 24)."""
    if current is None:
        return "unknown"
    return "fresh" if recorded == current else "stale"
