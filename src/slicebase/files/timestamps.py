"""Times as slice files carry them: any ISO-8601 is read (§ Row Envelope), only RFC 3339 is written (ruling 6)."""

from datetime import UTC, datetime
from typing import NamedTuple

from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.files.findings import shown


class TimeProblem(NamedTuple):
    rule: str
    message: str
    hint: str = "write it like 2026-01-31T12:00:00.000Z"


def read_time(value: object) -> int | None:
    """Milliseconds since 1970, or None for what is no time. A time without a zone is UTC."""
    if not isinstance(value, str):
        return None
    try:
        return from_text(value)
    except SlicebaseError:
        return _loosely(value)


def time_problem(value: object) -> TimeProblem | None:
    if read_time(value) is None:
        return TimeProblem("time", f"{shown(value)} is no ISO-8601 time")
    try:
        from_text(str(value))
    except SlicebaseError:
        return TimeProblem("time-form", f"{shown(value)} is read, but it is not RFC 3339")
    return None


def _loosely(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
        return from_text((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat())
    except (ValueError, SlicebaseError):
        return None
