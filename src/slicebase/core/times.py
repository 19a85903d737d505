"""Times: milliseconds since 1970 in the code, RFC 3339 in UTC with milliseconds and `Z` in texts (ruling 6).

A caller of the API may give a time in any usual form: a `Moment`.
"""

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from slicebase.errors import SlicebaseError

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII)
_UNIX_EPOCH = date(1970, 1, 1).toordinal()
_DAY = 86_400_000
EARLIEST = (date.min.toordinal() - _UNIX_EPOCH) * _DAY
LATEST = (date.max.toordinal() - _UNIX_EPOCH + 1) * _DAY - 1

# The time of a turn whose source states no date is of 1970: 0, or the time since the source began.
LAST_UNDATED = 365 * _DAY - 1

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Moment = float | str | datetime  # seconds since 1970, RFC 3339 text, or a datetime with a time zone


def milliseconds(moment: Moment) -> int:
    """Returns a time that is given in any form, in milliseconds since 1970."""
    if isinstance(moment, str):
        return from_text(moment)
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise SlicebaseError(
                "bad-time",
                f"{moment.isoformat()} has no time zone",
                hint="pass datetime.now(timezone.utc), for example",
            )
        return (moment - _EPOCH) // timedelta(milliseconds=1)
    if isinstance(moment, bool) or not isinstance(moment, int | float):
        raise SlicebaseError(
            "bad-time", f"{moment!r} is not a time", hint="give seconds since 1970, as time.time() does"
        )
    if not EARLIEST <= moment * 1000 <= LATEST:  # true for what is not a number, too
        raise SlicebaseError("bad-time", "a time is outside the years 1 to 9999", hint="give seconds since 1970")
    return round(moment * 1000)


def is_up_to(time: int, moment: int | None) -> bool:
    """Returns whether a turn of this time has a date that is not later; for None, always."""
    return moment is None or (time <= moment and not 0 <= time <= LAST_UNDATED)


def to_text(milliseconds: int) -> str:
    """Returns a time as RFC 3339 text in UTC."""
    if not EARLIEST <= milliseconds <= LATEST:
        raise SlicebaseError("bad-time", f"{milliseconds} ms since 1970 is outside the years 1 to 9999")
    minutes, rest = divmod(milliseconds, 60_000)
    seconds, thousandths = divmod(rest, 1000)
    return f"{_minute_text(minutes)}{seconds:02}.{thousandths:03}Z"


def known_time(time: str | int) -> str | None:
    """Returns the time of a turn as text; None for one whose source does not state a date."""
    text = to_text(time) if isinstance(time, int) else time
    return None if text.startswith("1970-") else text


def from_text(text: str) -> int:
    """Returns an RFC 3339 time in milliseconds since 1970; finer fractions are rounded down."""
    found = _stored_time(text)
    return _any_time(text) if found is None else found


def _stored_time(text: str) -> int | None:
    """Returns a time in the form that is stored, by its minute, which neighbours share; None in any other form."""
    rest = text[17:19] + text[20:23]
    if len(text) != 24 or text[19] != "." or text[23] != "Z" or not (rest.isascii() and rest.isdecimal()):
        return None
    minute = _minute(text[:17])
    return None if minute is None or rest > "59999" else minute + int(rest)


@lru_cache(maxsize=1024)
def _minute(text: str) -> int | None:
    """Returns when a minute begins. `text` is its date, hour and minute, with a colon."""
    try:
        return _any_time(f"{text}00Z")
    except SlicebaseError:
        return None


def _any_time(text: str) -> int:
    match = _RFC3339.fullmatch(text)
    milliseconds = _milliseconds(*match.groups()) if match else None
    if milliseconds is None or not EARLIEST <= milliseconds <= LATEST:
        raise SlicebaseError(
            "bad-time", f"{text!r} is not an RFC 3339 time", hint="write it like 2026-01-31T12:00:00.000Z"
        )
    return milliseconds


def _milliseconds(
    day: str, hour: str, minute: str, second: str, fraction: str | None,
    sign: str | None, offset_hours: str | None, offset_minutes: str | None,
) -> int | None:  # fmt: skip
    days = _days(day)
    if days is None or hour > "23" or minute > "59" or second > "59":
        return None
    if (offset_hours or "00") > "23" or (offset_minutes or "00") > "59":
        return None
    offset = int(offset_hours or 0) * 60 + int(offset_minutes or 0)
    minutes = int(hour) * 60 + int(minute) + (offset if sign == "-" else -offset)
    return days * _DAY + minutes * 60_000 + int(second) * 1000 + int((fraction or "")[:3].ljust(3, "0"))


@lru_cache(maxsize=1024)
def _minute_text(minutes: int) -> str:
    """Returns the date, hour and minute as text. The cache helps, since neighbouring turns often share them."""
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{date.fromordinal(days + _UNIX_EPOCH).isoformat()}T{hour:02}:{minute:02}:"


@lru_cache(maxsize=1024)
def _days(text: str) -> int | None:
    try:
        return date.fromisoformat(text).toordinal() - _UNIX_EPOCH
    except ValueError:
        return None


def whole_seconds(milliseconds: int) -> int:
    """Returns seconds since 1970, rounded down (ruling 4)."""
    return milliseconds // 1000


# Spans of texts


def first_time(known: str | None, time: str) -> str:
    """Returns the first of two times that follow each other; the second if only that is a date."""
    is_undated = not known or (known.startswith(_UNDATED) and not time.startswith(_UNDATED))
    return time if is_undated else known or time


_UNDATED = "1970-"


def seconds_between(first: str | None, last: str | None) -> float:
    """Returns the seconds from one time to another; 0 if the clock ran backwards or a time is missing."""
    return max(0.0, (from_text(last) - from_text(first)) / 1000) if first and last else 0.0
