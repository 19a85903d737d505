"""Canonical JSON (RFC 8785): one value, one sequence of bytes, and hashes are over those bytes.

Stricter than the RFC where it would lose something silently: a lone surrogate and an integer beyond
±(2^53−1) are refused (ruling 1).
"""

import math
from collections.abc import Mapping
from json.encoder import encode_basestring as _quoted_plain
from typing import Any

from slicebase.errors import SlicebaseError

try:
    from _json import encode_basestring as _quoted  # what json.encoder uses where it can
except ImportError:  # an interpreter without the accelerator
    _quoted = _quoted_plain

LARGEST_INTEGER = 2**53 - 1


def canonical(value: Any) -> bytes:
    """The RFC 8785 bytes of a JSON value."""
    pieces: list[str] = []
    try:
        _write(value, pieces)
        return "".join(pieces).encode()
    except UnicodeEncodeError as error:
        raise lone_surrogate(error) from None
    except RecursionError:
        raise SlicebaseError("not-json-value", "the value is nested too deeply") from None


def lone_surrogate(error: UnicodeEncodeError) -> SlicebaseError:
    return SlicebaseError(
        "lone-surrogate",
        f"a lone surrogate U+{ord(error.object[error.start]):04X} stands at character {error.start}",
        hint="replace it, for example by U+FFFD",
    )


def _write(value: Any, pieces: list[str]) -> None:
    if isinstance(value, str):
        pieces.append(_quoted(value))
    elif value is None or value is True or value is False:
        pieces.append(_CONSTANTS[value])
    elif isinstance(value, int):
        pieces.append(_integer(value))
    elif isinstance(value, float):
        pieces.append(number(value))
    elif isinstance(value, Mapping):
        _write_object(value, pieces)
    elif isinstance(value, list | tuple):
        _write_array(value, pieces)
    else:
        raise SlicebaseError("not-json-value", f"a {type(value).__name__} has no JSON form")


_CONSTANTS = {None: "null", True: "true", False: "false"}


def _write_array(values: list[Any] | tuple[Any, ...], pieces: list[str]) -> None:
    separator = "["
    for value in values:
        pieces.append(separator)
        _write(value, pieces)
        separator = ","
    pieces.append("]" if values else "[]")


def _write_object(values: Mapping[Any, Any], pieces: list[str]) -> None:
    separator = "{"
    for key in sorted(values, key=_utf16_order):
        pieces.append(f"{separator}{_quoted(key)}:")
        _write(values[key], pieces)
        separator = ","
    pieces.append("}" if values else "{}")


def _utf16_order(key: Any) -> bytes:
    """RFC 8785, section 3.2.3: keys sort by their UTF-16 code units."""
    if not isinstance(key, str):
        raise SlicebaseError("not-json-value", f"the key {key!r} of an object is no string")
    return key.encode("utf-16-be", "surrogatepass")


def _integer(value: int) -> str:
    if not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
        raise SlicebaseError("integer-range", f"the integer {value} lies beyond ±(2^53−1)", hint="write it as a string")
    return int.__repr__(value)


def number(value: float) -> str:
    """A double as ECMAScript prints it (RFC 8785, section 3.2.2.3)."""
    if not math.isfinite(value):
        raise SlicebaseError("not-finite", f"{value!r} has no JSON form")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, point = _shortest_digits(abs(value))
    if len(digits) <= point <= 21:
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"


def _shortest_digits(value: float) -> tuple[str, int]:
    """The shortest digits that read back to the value, and where its decimal point stands among them."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    padded = whole + fraction
    digits = padded.lstrip("0")
    return digits.rstrip("0"), point - (len(padded) - len(digits))
