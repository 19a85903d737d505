"""JSON values from bytes that may be damaged: what can be mended is mended and named, the rest is refused.

The fast way is msgspec's decoder. Whatever it refuses goes the slow way, which repairs one thing after the other:
bytes that are no UTF-8, NUL bytes, bare control characters, records glued together, lone surrogates, numbers that JSON
readers disagree on (ruling 1).

JSON Lines from a stream of bytes: one record after the other, in bounded memory, with its place.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from slicebase.core.hashing import LARGEST_INTEGER, digest_of
from slicebase.errors import SlicebaseError
from slicebase.importers.values import ImportSource

MAX_DEPTH: Final = 128
_TRIES: Final = 32  # places at which a whole record is looked for behind a broken one

_decode = msgspec.json.Decoder().decode
_SURROGATE = re.compile("[\ud800-\udfff]")
_OPENING = re.compile(r'\{\s*"')
_JOINT = re.compile(r"[\s,]*(?:\][\s,\]]*$)?")  # what stands between records on a line or in an array, and at its end
# What may follow a whole record that is found behind a broken one: on a line the next, in an array a comma.
LINE_JOINT: Final = re.compile(r"\s*(?:\{|$)")
ARRAY_JOINT: Final = re.compile(r"\s*(?:,|\]|$)")


class DecodedValue(NamedTuple):
    """One value found in a stretch of bytes, with what was repaired; or why there is none."""

    value: Any = None
    repairs: tuple[str, ...] = ()
    problem: str | None = None
    detail: str = ""


IsRecord = Callable[[Any], bool]


def pieces(data: bytes, is_record: IsRecord, joint: re.Pattern[str] = LINE_JOINT) -> list[DecodedValue]:
    """The values in `data`, which should hold one. `is_record` tells a whole record from a part of a broken one."""
    try:
        value = _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, RecursionError):
        return list(_repaired_pieces(data, is_record, joint))
    if _may_be_deep(data) and too_deep(value):
        return [DecodedValue(problem="too-deep")]
    return [DecodedValue(value)]


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


def _repaired_pieces(data: bytes, is_record: IsRecord, joint: re.Pattern[str]) -> Iterator[DecodedValue]:
    text, repairs = _repaired_text(data)
    if not text:
        yield DecodedValue(problem="only-nul")
        return
    position = 0
    while position < len(text):
        try:
            value, end, bare = _decoded_at(text, position)
        except RecursionError:
            yield DecodedValue(problem="too-deep")
            return
        except ValueError as error:
            yield DecodedValue(problem="not-json", detail=f"{error}"[:200])
            position = _next_record(text, position, is_record, joint)
            continue
        glued = ("glued",) if position or text[end:].strip() else ()
        yield _repaired_piece(value, (*repairs, *bare, *glued))
        position = _after(text, end)


def _decoded_at(text: str, position: int) -> tuple[Any, int, tuple[str, ...]]:
    """A value, where it ends, and whether bare control characters stand in it."""
    try:
        return *_strict_decoder.raw_decode(text, position), ()
    except ValueError:
        return *_lax_decoder.raw_decode(text, position), ("control-characters",)


def _repaired_text(data: bytes) -> tuple[str, tuple[str, ...]]:
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


def _next_record(text: str, start: int, is_record: IsRecord, joint: re.Pattern[str]) -> int:
    """Where a whole record begins behind one that was cut off: it looks like one, and ends where one may end."""
    position = start + 1
    failures = 0
    while failures < _TRIES and (opening := _OPENING.search(text, position)) is not None:
        try:
            value, end = _lax_decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            failures += 1
            position = opening.start() + 1
            continue
        if is_record(value) and joint.match(text, end):
            return opening.start()
        position = end  # no record stands inside a whole object that is none
    return len(text)


def _after(text: str, position: int) -> int:
    between = _JOINT.match(text, position)
    return between.end() if between else position


def _repaired_piece(value: Any, repairs: tuple[str, ...]) -> DecodedValue:
    if too_deep(value):
        return DecodedValue(problem="too-deep")
    value, more = mended(value)
    return DecodedValue(value, (*repairs, *more))


class _Digits(str):
    """An integer with more digits than Python likes to read, or JSON readers agree on."""

    __slots__ = ()


def _integer(digits: str) -> int | _Digits:
    return int(digits) if len(digits) <= 16 else _Digits(digits)


_strict_decoder = json.JSONDecoder(parse_int=_integer)
_lax_decoder = json.JSONDecoder(parse_int=_integer, strict=False)


def mended(value: Any) -> tuple[Any, tuple[str, ...]]:
    """The value as canonical JSON can carry it, and what had to be changed for it (ruling 1)."""
    reasons: dict[str, None] = {}
    return _repair(value, reasons), tuple(reasons)


def _repair(value: Any, reasons: dict[str, None]) -> Any:
    if isinstance(value, _Digits):
        reasons["integer-range"] = None
        return str(value)
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
        return [_repair(inner, reasons) for inner in value]
    if isinstance(value, dict):
        return {_repair(key, reasons): _repair(inner, reasons) for key, inner in value.items()}
    return value


# --- fingerprints


class Fingerprint(NamedTuple):
    """A record as canonical JSON can carry it, what had to be repaired for that, and its source hash."""

    record: dict[str, Any]
    hash: str
    repairs: tuple[str, ...] = ()


Essence = Callable[[dict[str, Any]], dict[str, Any]]


def without(*fields: str) -> Essence:
    """What of a record is hashed: all but the fields that change when it is copied or grows (ruling 15)."""
    left_out = frozenset(fields)
    return lambda record: {key: value for key, value in record.items() if key not in left_out}


def fingerprint(record: dict[str, Any], essence: Essence) -> Fingerprint:
    try:
        return Fingerprint(record, digest_of(essence(record)))
    except SlicebaseError:
        record, repairs = mended(record)
        return Fingerprint(record, digest_of(essence(record)), repairs)


MAX_RECORD: Final = 64 << 20  # bytes; images stand in transcripts, films do not
BOM: Final = b"\xef\xbb\xbf"
_COMMENTS: Final = (b"#", b"//")


class RecordLine(NamedTuple):
    """A record, or what stands where one should be. `kind` is set where the line is known to be no record's."""

    where: str
    size: int
    piece: DecodedValue
    kind: str | None = None


def json_lines(source: ImportSource, is_record: IsRecord, lines_before: int = 0) -> Iterator[RecordLine]:
    """Every record of a source; blank lines are none. Nothing is raised."""
    for number, data in enumerate(_lines(source), start=lines_before + 1):
        where = f"{source.name}:{number}"
        stripped = data.strip()
        if data is _OVERLONG:
            yield RecordLine(where, 0, DecodedValue(problem="too-large", detail=f"more than {MAX_RECORD >> 20} MiB"))
        elif stripped.startswith(_COMMENTS):
            yield RecordLine(where, len(data), DecodedValue(), kind="comment")
        elif stripped:
            for piece in pieces(stripped, is_record):
                yield RecordLine(where, len(data), piece)


_OVERLONG = b"(a line that is too long)"


def _lines(source: ImportSource) -> Iterator[bytes]:
    """The lines of a source without a mark of byte order; one that is too long is let go and named."""
    held: list[bytes] = []
    size = 0
    overlong = False
    for chunk in without_bom(source):
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield _OVERLONG if overlong else b"".join((*held, line))
            held, size, overlong = [], 0, False
        size += len(rest)
        overlong = overlong or size > MAX_RECORD
        if overlong:
            held = []
        elif rest:
            held.append(rest)
    if held or overlong:
        yield _OVERLONG if overlong else b"".join(held)


def without_bom(source: ImportSource) -> Iterator[bytes]:
    chunks = iter(source.chunks)
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= len(BOM):
            break
    yield head.removeprefix(BOM)
    yield from chunks
