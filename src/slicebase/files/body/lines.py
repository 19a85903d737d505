"""Times as slice files carry them: any ISO-8601 is read (§ Row Envelope), only RFC 3339 is written (ruling 6).

Bodies with one JSON object per line: jsonl, conversation and routine share this reader.

Any bytes give lines and findings, never an exception. Blank lines carry nothing and are passed over; a line may
end with CRLF. Places are found only for what is reported.
"""

import json
from datetime import UTC, datetime
from json import JSONDecodeError
from typing import Any, NamedTuple

import msgspec

from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.files.findings import Finding, refusal, shown
from slicebase.files.yaml.load import decode


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


_read_json = msgspec.json.Decoder().decode
_value_at = json.JSONDecoder().raw_decode
_SPACE = " \t\r\n"
MANY = 100


class JsonLine(NamedTuple):
    """A JSON object and the line that holds it."""

    number: int
    value: dict[str, Any]
    raw: bytes  # without its line end
    file: str = ""

    def column(self, *path: str | int) -> int:
        """Where the value at this path starts; where an object on the way starts, if the path ends there."""
        return locate(self.raw, *path)

    def finding(self, rule: str, message: str, *path: str | int, hint: str = "") -> Finding:
        return Finding(rule, self.number, self.column(*path), message, hint, self.file)


class Lines(NamedTuple):
    lines: tuple[JsonLine, ...]
    findings: tuple[Finding, ...]


def read_lines(body: bytes, first_line: int = 1, file: str = "") -> Lines:
    """The objects of a body whose first line has this number in this file.

    The first hundred lines that hold none are findings of their own, all others together one: a body of another
    type gives no millions of them.
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
        message = f"{len(more)} more lines from here on hold no JSON object"
        findings.append(Finding("json-line", more[0], 1, message, file=file))
    return Lines(tuple(lines), tuple(findings))


def _read_object(raw: bytes) -> dict[str, Any] | None:
    try:
        value = _read_json(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _no_object(number: int, raw: bytes) -> Finding:
    """The quick decoder says only that a line is bad; the standard library's says where."""
    try:
        json.loads(decode(raw, number))
        _read_json(raw)
    except SlicebaseError as error:
        return refusal(error, "")
    except JSONDecodeError as error:
        return Finding("json-line", number, error.pos + 1, f"no JSON: {error.msg}")
    except RecursionError:
        return Finding("json-line", number, 1, "the line is nested too deeply")
    except (msgspec.MsgspecError, ValueError) as error:
        # What Python would read and JSON does not know: NaN, 1e999, half a surrogate pair.
        return Finding("json-line", number, 1, f"no JSON: {error}")
    return Finding("json-object", number, locate(raw), "the line holds JSON, but no object")


def locate(raw: bytes, *path: str | int) -> int:
    """The column, in characters, of the value that stands at a path in a line of well-formed JSON."""
    text = raw.decode()
    position = _after_space(text, 0)
    try:
        for step in path:
            inside = _enter(text, position, step)
            if inside is None:
                break
            position = inside
    except RecursionError:
        pass  # deeper than the standard library looks: the place of the enclosing value has to do
    return position + 1


def _enter(text: str, position: int, step: str | int) -> int | None:
    """Where the member or element `step` of the container at `position` starts. Of a key given twice, the last."""
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
