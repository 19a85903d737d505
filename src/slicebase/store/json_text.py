"""Adding to and taking from a JSON text, and nothing else: order, spacing and every other byte stay.

It looks for places only; whoever calls it reads the result again and compares what it says.
"""

import json
import re
from typing import Any, Final, NamedTuple

Step = str | int
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_INDENT: Final = re.compile(r"\n([ \t]+)\S")
_decoder = json.JSONDecoder(strict=False)


class Item(NamedTuple):
    """A member of an object or an element of an array; `start` is its key's, `value` its value's first character."""

    step: Step
    start: int
    value: int
    end: int


def items(text: str, start: int) -> list[Item]:
    """What stands in the object or array that begins at `start`, in its order."""
    is_object = text[start] == "{"
    found: list[Item] = []
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        step: Step = len(found)
        value = at
        if is_object:
            step, after_key = _decoder.raw_decode(text, at)
            value = _skip(text, _skip(text, after_key) + 1)
        _, end = _decoder.raw_decode(text, value)
        found.append(Item(step, at, value, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def find(text: str, *path: Step) -> int | None:
    """Where the value at a path begins; of keys that stand twice the last counts, as for readers."""
    at: int | None = _skip(text, 0)
    for step in path:
        if at is None or text[at] not in "{[":
            return None
        at = next((item.value for item in reversed(items(text, at)) if item.step == step), None)
    return at


def with_item(text: str, path: tuple[Step, ...], value: Any, key: str | None = None) -> str:
    """The text with one more element in the array at a path, or one more member in the object there."""
    start = find(text, *path)
    assert start is not None
    unit = _unit(text)
    depth = len(path) + 1
    line = "\n" + unit * depth
    shown = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", line)
    told = shown if key is None else f"{json.dumps(key, ensure_ascii=False)}: {shown}"
    there = items(text, start)
    if there:
        return text[: there[-1].end] + "," + line + told + text[there[-1].end :]
    end = _skip(text, start + 1)
    return text[: start + 1] + line + told + "\n" + unit * (depth - 1) + text[end:]


def without_item(text: str, path: tuple[Step, ...], step: Step) -> str:
    """The text without one item, its comma and the space before it; a container that it leaves empty is closed up."""
    start = find(text, *path)
    assert start is not None
    there = items(text, start)
    at = next(place for place in reversed(range(len(there))) if there[place].step == step)
    if len(there) == 1:
        return text[: start + 1] + text[_skip(text, there[0].end) :]
    if at:
        return text[: there[at - 1].end] + text[there[at].end :]
    return text[: there[0].start] + text[there[1].start :]


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _unit(text: str) -> str:
    """The indentation of one level, as the text has it."""
    match = _INDENT.search(text)
    return match[1] if match else "  "
