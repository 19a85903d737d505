"""JSON text into typed values, with the place of whatever does not fit: its path, line and column.

The way without errors is msgspec's decoder alone. Only when it refuses, the text is read again to find the place.
"""

import json
import re
from typing import Final, TypeVar

import msgspec

from slicebase.errors import SlicebaseError, Where

Step = str | int
Path = tuple[Step, ...]
_T = TypeVar("_T")

_BOM: Final = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\n\r]*")
_MALFORMED = re.compile(r"(?:JSON is malformed: )?(.*?)(?: \(byte (\d+)\))?", re.DOTALL)
_MISFIT = re.compile(r"(.*?)(?: - at `\$(.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
# What msgspec's words mean to us; the first that is found counts.
_CODES: Final = (
    ("missing required field", "missing-field"),
    ("contains unknown field", "unknown-field"),
    ("Invalid enum value", "unknown-value"),
    ("Number out of range", "not-finite"),
    ("<=", "out-of-range"),
    (">=", "out-of-range"),
    ("", "wrong-type"),
)


def decode(data: bytes, decoder: msgspec.json.Decoder[_T]) -> _T:
    """Bytes as a typed value, or our own error with its place. A byte order mark is passed over."""
    data = data.removeprefix(_BOM)
    try:
        if not data.isascii():
            str(data, "utf-8")  # msgspec does not look into fields that it passes over
        return decoder.decode(data)
    except UnicodeDecodeError as error:
        raise SlicebaseError("bad-json", f"no UTF-8: {error.reason}", where=_where(data, error.start)) from None
    except msgspec.ValidationError as error:
        raise _misfit(data, str(error)) from None
    except msgspec.DecodeError as error:
        raise _malformed(data, str(error)) from None
    except RecursionError:
        raise SlicebaseError("bad-json", "the text is nested too deeply") from None


def refusal(data: bytes, code: str, path: Path, problem: str, hint: str = "") -> SlicebaseError:
    """An error at a place in a text that has been decoded."""
    data = data.removeprefix(_BOM)
    where = _where(data, offset) if (offset := _offset(data, path)) is not None else Where()
    return SlicebaseError(code, f"{path_text(path)}: {problem}", hint=hint, where=where)


def path_text(path: Path) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".") or "the whole"


def _malformed(data: bytes, words: str) -> SlicebaseError:
    match = _MALFORMED.fullmatch(words)
    problem, offset = (match[1], match[2]) if match else (words, None)
    place = int(offset) if offset is not None else len(data)
    code = "lone-surrogate" if "surrogate" in problem else "bad-json"
    return SlicebaseError(code, f"no JSON: {problem}", where=_where(data, place))


def _misfit(data: bytes, words: str) -> SlicebaseError:
    match = _MISFIT.fullmatch(words)
    problem, place = (match[1], match[2] or "") if match else (words, "")
    path = tuple(int(step[2]) if step[2] else step[1] for step in _STEP.finditer(place))
    code = next(code for sign, code in _CODES if sign in problem)
    return refusal(data, code, path, problem.replace("`", ""))


def _where(data: bytes, offset: int) -> Where:
    """Line and column, in characters, of a byte."""
    start = data.rfind(b"\n", 0, offset) + 1
    return Where(None, data.count(b"\n", 0, offset) + 1, len(data[start:offset].decode("utf-8", "replace")) + 1)


def _offset(data: bytes, path: Path) -> int | None:
    """The byte at which the value at this path begins."""
    text = data.decode("utf-8", "replace")
    try:
        at = _after_space(text, 0)
        for step in path:
            at = _member(text, at, step)
    except (ValueError, IndexError, RecursionError):
        return None  # the path names something that is not there
    return len(text[:at].encode())


_scan = json.JSONDecoder(strict=False).raw_decode


def _member(text: str, at: int, wanted: Step) -> int:
    """Where the wanted member of the object or array at this place begins."""
    in_object = text[at] == "{"
    at = _after_space(text, at + 1)
    position = 0
    while True:
        key: Step = position
        if in_object:
            key, at = _scan(text, at)
            at = _after_space(text, _after_space(text, at) + 1)  # past the colon
        if key == wanted:
            return at
        _, at = _scan(text, at)
        at = _after_space(text, _after_space(text, at) + 1)  # past the comma
        position += 1


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
