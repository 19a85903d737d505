"""Reads bodies with one JSON object per line (jsonl, conversation, routine), and the times in slice files.

Any bytes give lines and findings, never an exception. Blank lines are skipped, and a line may end with CRLF. Columns
are computed only for findings.
"""

import json
from datetime import UTC, datetime
from json import JSONDecodeError
from typing import Any, NamedTuple

import msgspec

from slicebase.core.parsers import decode
from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.files.findings import Finding, refusal, shown

# Times: any ISO-8601 is read (§ Row Envelope), only RFC 3339 is written (ruling 6)


class TimeProblem(NamedTuple):
    """What is wrong with a time: the broken rule, a message and a hint."""

    rule: str
    message: str
    hint: str = "write it like 2026-01-31T12:00:00.000Z"


def judge_time(value: object) -> tuple[int | None, TimeProblem | None]:
    """Returns milliseconds since 1970, None if the value is not a time, and a problem, None if there is none.

    A time without a zone is UTC.
    """
    if isinstance(value, str):
        try:
            return from_text(value), None
        except SlicebaseError:
            loose = _loosely(value)
            if loose is not None:
                return loose, TimeProblem("time-form", f"{shown(value)} can be read, but it is not RFC 3339")
    return None, TimeProblem("time", f"{shown(value)} is not an ISO-8601 time")


def read_time(value: object) -> int | None:
    """Returns milliseconds since 1970, None if the value is not a time."""
    return judge_time(value)[0]


def _loosely(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
        return from_text((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat())
    except (ValueError, SlicebaseError):
        return None


# Lines


_read_json = msgspec.json.Decoder().decode
MANY = 100


class JsonLine(NamedTuple):
    """A JSON object and the line that holds it."""

    number: int
    value: dict[str, Any]
    raw: bytes  # without its line end
    file: str = ""

    def column(self, *path: str | int) -> int:
        """Returns the column of the value at this path, or of the last enclosing value that exists."""
        return locate(self.raw, *path)

    def finding(self, rule: str, message: str, *path: str | int, hint: str = "") -> Finding:
        return Finding(rule, self.number, self.column(*path), message, hint, self.file)


class Lines(NamedTuple):
    """The JSON objects of a body, and the findings about its lines."""

    lines: tuple[JsonLine, ...]
    findings: tuple[Finding, ...]


def read_lines(body: bytes, first_line: int = 1, file: str = "") -> Lines:
    """Returns the objects of a body. `first_line` is the number of the body's first line in the file.

    Each of the first hundred lines without an object is a finding; all further ones together are one finding. So a
    body of another type does not give millions of them.
    """
    lines: list[JsonLine] = []
    findings: list[Finding] = []
    more: list[int] = []
    for number, raw in enumerate(body.split(b"\n"), first_line):
        if not raw.strip():
            continue
        value = _read_object(raw)
        if value is not None:
            lines.append(JsonLine(number, value, raw.removesuffix(b"\r"), file))
        elif len(findings) < MANY:
            findings.append(_no_object(number, raw)._replace(file=file))
        else:
            more.append(number)
    if more:
        message = f"{len(more)} more lines from here on are not JSON objects"
        findings.append(Finding("json-line", more[0], 1, message, file=file))
    return Lines(tuple(lines), tuple(findings))


def _read_object(raw: bytes) -> dict[str, Any] | None:
    try:
        value = _read_json(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _no_object(number: int, raw: bytes) -> Finding:
    """Returns the finding for a bad line. The fast decoder does not say where it is bad; the standard library does."""
    try:
        json.loads(decode(raw, number))
        _read_json(raw)
    except SlicebaseError as error:
        return refusal(error, "")
    except JSONDecodeError as error:
        return Finding("json-line", number, error.pos + 1, f"the line is not JSON: {error.msg}")
    except RecursionError:
        return Finding("json-line", number, 1, "the line is nested too deeply")
    except (msgspec.MsgspecError, ValueError) as error:
        # Values that Python reads but JSON does not have: NaN, 1e999, half a surrogate pair.
        return Finding("json-line", number, 1, f"the line is not JSON: {error}")
    return Finding("json-object", number, locate(raw), "the line is JSON, but not an object")


# Columns

_value_at = json.JSONDecoder().raw_decode
_SPACE = " \t\r\n"


def locate(raw: bytes, *path: str | int) -> int:
    """Returns the column, in characters, of the value at a path in a line of well-formed JSON."""
    text = raw.decode()
    position = _after_space(text, 0)
    try:
        for step in path:
            inside = _enter(text, position, step)
            if inside is None:
                break
            position = inside
    except RecursionError:
        pass  # too deep for the standard library: the position of the enclosing value is used
    return position + 1


def _enter(text: str, position: int, step: str | int) -> int | None:
    """Returns the start of the member or element `step` of the container at `position`, None if there is none.

    If a key occurs twice, the last one counts.
    """
    found = None
    opening = text[position]
    position = _after_space(text, position + 1)
    index = 0
    while opening in "[{" and text[position] not in "]}":
        name: str | int = index
        if opening == "{":
            name, position = _value_at(text, position)
            position = _after_space(text, _after_space(text, position) + 1)
        if name == step:
            found = position
        _, position = _value_at(text, position)
        position = _after_space(text, position)
        if text[position] == ",":
            position = _after_space(text, position + 1)
        index += 1
    return found


def _after_space(text: str, position: int) -> int:
    while text[position : position + 1] in _SPACE and position < len(text):
        position += 1
    return position
