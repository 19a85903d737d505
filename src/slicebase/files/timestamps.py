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


def judge_time(value: object) -> tuple[int | None, TimeProblem | None]:
    """Milliseconds since 1970, None for what is no time, and what is to be said about it. Without a zone it is UTC."""
    if isinstance(value, str):
        try:
            return from_text(value), None
        except SlicebaseError:
            loose = _loosely(value)
            if loose is not None:
                return loose, TimeProblem("time-form", f"{shown(value)} is read, but it is not RFC 3339")
    return None, TimeProblem("time", f"{shown(value)} is no ISO-8601 time")


def read_time(value: object) -> int | None:
    return judge_time(value)[0]


def _loosely(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
        return from_text((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat())
    except (ValueError, SlicebaseError):
        return None
