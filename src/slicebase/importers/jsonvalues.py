"""JSON values from bytes that may be damaged: what can be mended is mended and named, the rest is refused.

The fast way is msgspec's decoder. Whatever it refuses goes the slow way, which repairs one thing after the other:
bytes that are no UTF-8, NUL bytes, bare control characters, records glued together, lone surrogates, numbers that JSON
readers disagree on (ruling 1).
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from slicebase.core.canonical import LARGEST_INTEGER
from slicebase.core.digests import digest_of
from slicebase.errors import SlicebaseError

MAX_DEPTH: Final = 128
_TRIES: Final = 32  # places at which a whole record is looked for behind a broken one

_decode = msgspec.json.Decoder().decode
_SURROGATE = re.compile("[\ud800-\udfff]")
_OPENING = re.compile(r'\{\s*"')
_CONTROL = re.compile("[\x00-\x1f]")


class Piece(NamedTuple):
    """One value found in a stretch of bytes, with what was repaired; or why there is none."""

    value: Any = None
    repairs: tuple[str, ...] = ()
    problem: str | None = None
    detail: str = ""


def pieces(data: bytes, is_record: Callable[[Any], bool]) -> list[Piece]:
    """The values in `data`, which should hold one. `is_record` tells a whole record from a part of a broken one."""
    try:
        value = _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, RecursionError):
        return list(_mended_pieces(data, is_record))
    if _may_be_deep(data) and too_deep(value):
        return [Piece(problem="too-deep")]
    return [Piece(value)]


def _may_be_deep(data: bytes) -> bool:
    return data.count(b"{") + data.count(b"[") > MAX_DEPTH


def too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


# --- the slow way


def _mended_pieces(data: bytes, is_record: Callable[[Any], bool]) -> Iterator[Piece]:
    text, repairs = _mended_text(data)
    if not text:
        yield Piece(problem="nul-bytes")
        return
    found = 0
    position = 0
    while position < len(text):
        try:
            value, end = _slow_decoder.raw_decode(text, position)
        except RecursionError:
            yield Piece(problem="too-deep")
            return
        except ValueError as error:
            yield Piece(problem="not-json", detail=f"{error}"[:200])
            position = _next_record(text, position, is_record)
            found += 1
            continue
        found += 1
        glued = ("glued",) if found > 1 or text[end:].strip() else ()
        yield _mended_piece(value, (*repairs, *_control_repair(text[position:end]), *glued))
        position = _skip_spaces(text, end)


def _mended_text(data: bytes) -> tuple[str, tuple[str, ...]]:
    repairs = []
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode(errors="replace")
        repairs.append("not-utf8")
    if "\0" in text:
        text = text.replace("\0", "")
        repairs.append("nul-bytes")
    return text.lstrip("\ufeff").strip(), tuple(repairs)


def _control_repair(text: str) -> tuple[str, ...]:
    # Spaces between tokens may be control characters too; msgspec has refused the text, so these stand in a string.
    inside = _CONTROL.search(re.sub(r"[\t\r\n]+(?=[\s\"\{\}\[\],:])", "", text))
    return ("control-characters",) if inside else ()


def _next_record(text: str, start: int, is_record: Callable[[Any], bool]) -> int:
    """Where a whole record begins that runs to the end, behind one that was cut off."""
    for number, opening in enumerate(_OPENING.finditer(text, start + 1)):
        if number >= _TRIES:
            break
        try:
            value, end = _slow_decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            continue
        if is_record(value) and not text[end:].strip():
            return opening.start()
    return len(text)


def _skip_spaces(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _mended_piece(value: Any, repairs: tuple[str, ...]) -> Piece:
    if too_deep(value):
        return Piece(problem="too-deep")
    value, more = mended(value)
    return Piece(value, (*repairs, *more))


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= 17 else digits


_slow_decoder = json.JSONDecoder(strict=False, parse_int=_integer, parse_constant=str)


def mended(value: Any) -> tuple[Any, tuple[str, ...]]:
    """The value as canonical JSON can carry it, and what had to be changed for it (ruling 1)."""
    reasons: dict[str, None] = {}
    return _mend(value, reasons), tuple(reasons)


def _mend(value: Any, reasons: dict[str, None]) -> Any:
    if isinstance(value, str):
        if not _SURROGATE.search(value):
            return value
        reasons["lone-surrogate"] = None
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        reasons["integer-range"] = None
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        reasons["not-finite"] = None
        return str(value)
    if isinstance(value, list):
        return [_mend(inner, reasons) for inner in value]
    if isinstance(value, dict):
        return {_mend(key, reasons): _mend(inner, reasons) for key, inner in value.items()}
    return value


# --- fingerprints


class Fingerprint(NamedTuple):
    """A record as canonical JSON can carry it, what had to be repaired for that, and its source hash."""

    record: dict[str, Any]
    hash: str
    repairs: tuple[str, ...] = ()


def fingerprint(record: dict[str, Any], left_out: frozenset[str]) -> Fingerprint:
    """`left_out` names the fields that change when a conversation grows or is copied (ruling 15)."""
    try:
        return Fingerprint(record, digest_of(_essence(record, left_out)))
    except SlicebaseError:
        record, repairs = mended(record)
        return Fingerprint(record, digest_of(_essence(record, left_out)), repairs)


def _essence(record: dict[str, Any], left_out: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in left_out}
