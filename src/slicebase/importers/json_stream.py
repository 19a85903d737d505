"""JSON Lines from a stream of bytes that may be damaged: yields one record after the other, with its place.

Memory is bounded. Damage that can be repaired is repaired and reported; a record that cannot be repaired is refused.
The fast path is msgspec's decoder. Bytes that it refuses go to the slow path, which repairs one problem after another:
bytes that are not UTF-8, NUL bytes, bare control characters, several records on one line, lone surrogates, numbers that
JSON readers disagree on (ruling 1).
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from slicebase.core.hashing import LARGEST_INTEGER, canonical, digest
from slicebase.errors import SlicebaseError
from slicebase.importers.values import ImportSource

# Values

MAX_DEPTH: Final = 128
MAX_VALUES: Final = 500_000  # in a record; a value takes up to 600 bytes of memory, and two bytes of source
_decode = msgspec.json.Decoder().decode
# What may follow a complete record that is found after a broken one: on a line the next record, in an array a comma.
LINE_JOINT: Final = re.compile(r"\s*(?:\{|$)")
ARRAY_JOINT: Final = re.compile(r"\s*(?:,|\]|$)")


class DecodedValue(NamedTuple):
    """One value found in some bytes, with its repairs; or the reason why there is none."""

    value: Any = None
    repairs: tuple[str, ...] = ()
    problem: str | None = None
    detail: str = ""


IsRecord = Callable[[Any], bool]
ReadPieces = Callable[[bytes, IsRecord, re.Pattern[str]], list[DecodedValue]]


def pieces(data: bytes, is_record: IsRecord, joint: re.Pattern[str] = LINE_JOINT) -> list[DecodedValue]:
    """Returns the values in `data`, which should hold one.

    `is_record` distinguishes a complete record from a part of a broken one.
    """
    if too_many_values(data):
        return [DecodedValue(problem="too-large", detail=f"more than {MAX_VALUES} values")]
    try:
        value = _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, RecursionError):
        return list(_repaired_pieces(data, is_record, joint))
    if _may_be_deep(data) and too_deep(value):
        return [DecodedValue(problem="too-deep")]
    return [DecodedValue(value)]


_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def too_many_values(data: bytes) -> bool:
    """Returns whether a JSON text has more than `MAX_VALUES` values; most texts are too short for that."""
    if len(data) < 2 * MAX_VALUES or _values_in(data, 0, len(data)) <= MAX_VALUES:
        return False
    found = position = 0
    for text in _STRING.finditer(data):  # whose commas do not count
        found += _values_in(data, position, text.start())
        position = text.end()
        if found > MAX_VALUES:
            return True
    return found + _values_in(data, position, len(data)) > MAX_VALUES


def _values_in(data: bytes, start: int, end: int) -> int:
    return sum(data.count(sign, start, end) for sign in (b",", b"[", b"{"))


def _may_be_deep(data: bytes) -> bool:
    return data.count(b"{") + data.count(b"[") > MAX_DEPTH


def too_deep(value: Any, most: int = MAX_DEPTH) -> bool:
    """Returns whether a value is nested more deeply than it may be."""
    level = [value]
    for _ in range(most + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


# The slow path

_MOST_PIECES: Final = 1_000  # of one line; a line that was glued together has a few
_TRIES: Final = 32  # how many places after a broken record are searched for a complete one
_SURROGATE = re.compile("[\ud800-\udfff]")
_OPENING = re.compile(r'\{\s*"')
_JOINT = re.compile(r"[\s,]*(?:\][\s,\]]*$)?")  # the text between records on a line or in an array, and at its end


def _repaired_pieces(data: bytes, is_record: IsRecord, joint: re.Pattern[str]) -> Iterator[DecodedValue]:
    text, repairs = _repaired_text(data)
    if not text:
        yield DecodedValue(problem="only-nul")
        return
    position = count = 0
    while position < len(text):
        count += 1
        if count > _MOST_PIECES:
            yield DecodedValue(problem="not-json", detail=f"more than {_MOST_PIECES} values follow one another")
            return
        try:
            value, end, bare = _decoded_at(text, position)
        except RecursionError:
            yield DecodedValue(problem="too-deep")
            return
        except ValueError as error:
            yield DecodedValue(problem="not-json", detail=f"{error}")
            position = _next_record(text, position, is_record, joint)
            continue
        glued = ("glued",) if position or text[end:].strip() else ()
        yield _repaired_piece(value, (*repairs, *bare, *glued))
        position = _after(text, end)


def _decoded_at(text: str, position: int) -> tuple[Any, int, tuple[str, ...]]:
    """Returns a value, where it ends, and a repair if it contains bare control characters."""
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
    """Returns where a complete record begins after one that was cut off.

    It must look like a record, and end where a record may end.
    """
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
        position = end  # an object that is complete and not a record contains no record
    return len(text)


def _after(text: str, position: int) -> int:
    between = _JOINT.match(text, position)
    return between.end() if between else position


def _repaired_piece(value: Any, repairs: tuple[str, ...]) -> DecodedValue:
    if too_deep(value):
        return DecodedValue(problem="too-deep")
    value, more = repaired(value)
    return DecodedValue(value, (*repairs, *more))


class _Digits(str):
    """An integer with more digits than Python converts, or than JSON readers agree on."""

    __slots__ = ()


def _integer(digits: str) -> int | _Digits:
    return int(digits) if len(digits) <= 16 else _Digits(digits)


_strict_decoder = json.JSONDecoder(parse_int=_integer)
_lax_decoder = json.JSONDecoder(parse_int=_integer, strict=False)


def repaired(value: Any) -> tuple[Any, tuple[str, ...]]:
    """Returns the value in a form that canonical JSON can represent, and the repairs that this needed (ruling 1)."""
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


# Fingerprints


class Fingerprint(NamedTuple):
    """A record in a form that canonical JSON can represent, its source hash, and the repairs that this needed."""

    record: dict[str, Any]
    hash: str
    repairs: tuple[str, ...] = ()


Essence = Callable[[dict[str, Any]], dict[str, Any]]


def without(*fields: str) -> Essence:
    """Returns a function that removes the fields of a record that are not hashed.

    They are the fields that change when the record is copied or grows (ruling 15).
    """
    left_out = frozenset(fields)
    return lambda record: {key: value for key, value in record.items() if key not in left_out}


def fingerprint(record: dict[str, Any], essence: Essence) -> Fingerprint:
    """Returns a record with its source hash, repaired where it has no canonical form."""
    try:
        return Fingerprint(record, _essential_digest(essence(record)))
    except SlicebaseError:
        record, repairs = repaired(record)
        return Fingerprint(record, _essential_digest(essence(record)), repairs)


def _essential_digest(value: Any) -> str:
    """Returns the digest of a record. A field that is null counts as absent: clients write it, or leave it out."""
    data = canonical(value)
    return digest(canonical(_without_nulls(value)) if b":null" in data else data)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


# Lines

MAX_RECORD: Final = 64 << 20  # bytes; transcripts contain images, but not films
BOM: Final = b"\xef\xbb\xbf"
COMMENTS: Final = (b"#", b"//")


class LinePlace(NamedTuple):
    """Where a line begins in its file."""

    lines: int  # before it
    offset: int


class RecordLine(NamedTuple):
    """A record, or what is in its place. `kind` is set if the line is known not to hold a record."""

    where: str
    size: int
    piece: DecodedValue
    kind: str | None = None
    place: LinePlace | None = None  # in JSON Lines


def json_lines(
    source: ImportSource,
    is_record: IsRecord,
    lines_before: int = 0,
    bytes_before: int = 0,
    read: ReadPieces = pieces,
) -> Iterator[RecordLine]:
    """Yields every record of a source, and ignores blank lines. Raises nothing. `read` decodes a line."""
    for number, (data, size) in enumerate(_lines(source), start=lines_before + 1):
        where = f"{source.name}:{number}"
        place = LinePlace(number - 1, bytes_before)
        bytes_before += size
        stripped = (data.removeprefix(BOM) if number == 1 else data).strip()
        if data is _OVERLONG:
            refused = DecodedValue(problem="too-large", detail=f"more than {MAX_RECORD >> 20} MiB")
            yield RecordLine(where, 0, refused, place=place)
        elif stripped.startswith(COMMENTS):
            yield RecordLine(where, len(data), DecodedValue(), "comment", place)
        elif stripped:
            for piece in read(stripped, is_record, LINE_JOINT):
                yield RecordLine(where, len(data), piece, place=place)


_OVERLONG = b"(a line that is too long)"


def _lines(source: ImportSource) -> Iterator[tuple[bytes, int]]:
    """Yields the lines of a source, each with its size and that of its end; `_OVERLONG` for one that is too long."""
    held: list[bytes] = []
    size = 0
    overlong = False
    for chunk in source.chunks:
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield _OVERLONG if overlong else b"".join((*held, line)), size + len(line) + 1
            held, size, overlong = [], 0, False
        size += len(rest)
        overlong = overlong or size > MAX_RECORD
        if overlong:
            held = []
        elif rest:
            held.append(rest)
    if held or overlong:
        yield _OVERLONG if overlong else b"".join(held), size
