"""Times: milliseconds since 1970 inside, RFC 3339 in UTC with milliseconds and `Z` outside (ruling 6)."""

import re
from datetime import UTC, datetime, timedelta

from slicebase.errors import SlicebaseError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
EARLIEST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
LATEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND


def to_text(milliseconds: int) -> str:
    if not EARLIEST <= milliseconds <= LATEST:
        raise SlicebaseError("bad-time", f"{milliseconds} ms since 1970 lies outside the years 1 to 9999")
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    # strftime's %Y does not pad years below 1000 on every platform; isoformat does.
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def from_text(text: str) -> int:
    """Milliseconds since 1970 of an RFC 3339 time; finer fractions are rounded down."""
    try:
        if not _RFC3339.fullmatch(text):
            raise ValueError
        moment = datetime.fromisoformat(_six_digits(text).upper())
        return (moment - _EPOCH) // _MILLISECOND
    except (ValueError, OverflowError):
        raise SlicebaseError(
            "bad-time", f"{text!r} is no RFC 3339 time", hint="write it like 2026-01-31T12:00:00.000Z"
        ) from None


def _six_digits(text: str) -> str:
    """fromisoformat takes up to six digits of a fraction; RFC 3339 allows any number."""
    return re.sub(r"(\.\d{6})\d+", r"\1", text)


def whole_seconds(milliseconds: int) -> int:
    """Seconds since 1970, rounded down (ruling 4)."""
    return milliseconds // 1000
