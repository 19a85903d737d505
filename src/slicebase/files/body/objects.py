"""Reads the JSON objects that a text consists of, strictly and without loss, and writes them again on one line each.

Numbers keep their spelling: 1.0 stays 1.0. What a reader would change or drop is refused with its place: a key that
occurs twice, NaN, a number that no reader holds exactly, half a surrogate pair.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from slicebase.core.hashing import LARGEST_INTEGER, lone_surrogate
from slicebase.errors import SlicebaseError, Where

Objects = list[dict[str, Any]]
HINT: Final = 'correct it; {"text": "…"} or `tt remember --as-text` stores any text as it is'

# A text that begins like this is meant as JSON. A list in brackets is, if its first item is an object.
_BEGINNING: Final = re.compile(r"\s*(?:\{|\[\s*\{)")
_BOM: Final = "\ufeff"


def objects_in(text: str) -> Objects | None:
    """Returns the JSON objects that a text consists of, None if the text is not meant as JSON.

    A text is meant as JSON if it begins with `{`, or if two of its lines are JSON objects. Raises `bad-json`, with line
    and column, if it is meant as JSON and is not.
    """
    text = text.removeprefix(_BOM)
    if not _BEGINNING.match(text) and not _has_objects(text):
        return None
    try:
        return [_object(text)]
    except SlicebaseError:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        if len(lines) < 2 or not _is_object(lines[0][1]):
            raise
    return [_object(line, number) for number, line in lines]


def json_line(value: Mapping[str, Any]) -> bytes:
    """Returns an object as one line of JSON with its line end."""
    try:
        return msgspec.json.encode(value) + b"\n"
    except UnicodeEncodeError as error:
        raise lone_surrogate(error) from None
    except RecursionError:
        raise SlicebaseError("not-json-value", "the value is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise SlicebaseError("not-json-value", str(error)) from None


def _has_objects(text: str) -> bool:
    """Returns whether two lines of a text are JSON objects."""
    lines = (line.strip() for line in text.split("\n"))
    found = (line for line in lines if line.startswith("{") and line.endswith("}") and _is_object(line))
    return next(found, None) is not None and next(found, None) is not None


def _is_object(text: str) -> bool:
    try:
        _object(text)
    except SlicebaseError:
        return False
    return True


def _object(text: str, first_line: int = 1) -> dict[str, Any]:
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _refused(text, error.pos, f"it looks like JSON and is not: {error.msg}", first_line) from None
    except _Unfit as unfit:
        raise _refused(text, unfit.find(text), unfit.message, first_line, unfit.code) from None
    except RecursionError:
        raise _refused(text, 0, "it is nested too deeply", first_line) from None
    if not isinstance(value, dict):
        raise _refused(text, 0, "it is a JSON list, and not one object on each line", first_line)
    return value


def _refused(text: str, at: int, message: str, first_line: int, code: str = "bad-json") -> SlicebaseError:
    line, column = text.count("\n", 0, at) + first_line, at - text.rfind("\n", 0, at)
    rest = text[at:].partition("\n")[0]
    shown = f", at {rest[:20]!r}" if rest else ""
    message = f"the text cannot be stored: {message}{shown}"
    return SlicebaseError(code, message, hint=HINT, where=Where("-", line, column))


# What the decoder of the standard library accepts, and we do not


class _Unfit(Exception):  # noqa: N818  (it never leaves this module)
    """A value that cannot be kept, and a function that finds its place in a text."""

    def __init__(self, code: str, message: str, find: Callable[[str], int]) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.find = find


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Unfit("bad-json", "a key of the object occurs twice", _place_of_second_key)
    return found


def _whole(text: str) -> msgspec.Raw:
    if len(text) > 17 or not -LARGEST_INTEGER <= int(text) <= LARGEST_INTEGER:
        message = "an integer is outside ±(2^53−1), where readers disagree; write it as a string"
        raise _Unfit("integer-range", message, _place_of(text))
    return msgspec.Raw(text.encode())


def _fraction(text: str) -> msgspec.Raw:
    if float(text) in (float("inf"), float("-inf")):
        raise _Unfit("not-finite", "a number is too large", _place_of(text))
    return msgspec.Raw(text.encode())


def _constant(text: str) -> Any:
    raise _Unfit("bad-json", f"JSON has no {text}", _place_of(text))


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_once, parse_int=_whole, parse_float=_fraction, parse_constant=_constant
)
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def _place_of(token: str) -> Callable[[str], int]:
    return lambda text: next((found.start() for found in _TOKEN.finditer(text) if found[0] == token), 0)


def _place_of_second_key(text: str) -> int:
    """Returns the place of the first key that its object already has."""
    opened: list[set[str] | None] = []  # the keys of the objects around a place; None for a list
    is_key = False
    for found in _TOKEN.finditer(text):
        token = found[0]
        keys = opened[-1] if opened else None
        if is_key and keys is not None and token.startswith('"'):
            key = json.loads(token)
            if key in keys:
                return found.start()
            keys.add(key)
        if token in "{[":
            opened.append(set() if token == "{" else None)
        elif token in "]}" and opened:
            opened.pop()
        is_key = token in "{,"
    return 0


# Joining what an object states with what is added to it


def joined(stated: Any, added: Mapping[str, Any] | None) -> Any:
    """Returns an object with the entries of another that it does not have. Null counts as nothing stated."""
    if stated is None:
        return dict(added) if added else None
    if not added or not isinstance(stated, dict):
        return stated
    return {**stated, **{key: value for key, value in added.items() if stated.get(key) is None}}


def distinct(values: Iterator[Any] | list[Any]) -> list[Any]:
    """Returns values without those that are written like an earlier one."""
    return list({msgspec.json.encode(value): value for value in values}.values())
