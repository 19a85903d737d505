"""The beginning of a source, by which its format is recognised: as many bytes as its first complete records need.

A record may be long: a prompt with a pasted file, instructions, a whole conversation. What was cut off or damaged is
closed at that place, so that a format looks at the same values in a complete source and in a damaged one.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from slicebase.importers.elements import HEAD_BYTES, json_records, split_elements
from slicebase.importers.json_stream import BOM, MAX_RECORD
from slicebase.importers.values import Head, ImportSource

_HEAD_RECORDS: Final = 20


def heads(source: ImportSource) -> Iterator[Head]:
    """Yields the beginning of a source: up to the end of its first record, then, if there is more, of some records."""
    read: list[bytes] = []
    ends = split_elements(ImportSource(source.name, _kept(source.chunks, read)))
    for count in (1, _HEAD_RECORDS - 1):
        before = len(read)
        for _ in islice(ends, count):
            if len(read) * HEAD_BYTES > MAX_RECORD:
                break
        if len(read) > before:
            yield head_of(b"".join(read), source.name)


def _kept(chunks: Iterable[bytes], kept: list[bytes]) -> Iterator[bytes]:
    """Yields a source in pieces of `HEAD_BYTES` or less, and keeps them."""
    for chunk in chunks:
        for start in range(0, len(chunk), HEAD_BYTES):
            kept.append(chunk[start : start + HEAD_BYTES])
            yield kept[-1]


def head_of(data: bytes, name: str) -> Head:
    """Returns the beginning of a source with the first objects in it. One that was cut off or damaged is closed."""
    lines = islice(json_records(ImportSource(name, [data]), lambda _: False), _HEAD_RECORDS)
    records = [line.piece.value for line in lines if isinstance(line.piece.value, dict)]
    return Head(name, data, records or _closed(data))


def beginning(source: ImportSource, words: Iterable[bytes]) -> Head:
    """Returns the first bytes of a source and, if they contain one of the words, the first objects in them.

    What goes on after these bytes is closed there.
    """
    data = next(_kept(source.chunks, []), b"")
    return Head(source.name, data, _closed(data) if any(word in data for word in words) else [])


_MOST_CLOSED: Final = 1 << 20  # bytes
_STRUCTURE: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)


def _closed(data: bytes) -> list[dict[str, Any]]:
    """Returns the objects of a document up to its end or to its damage, as if all brackets were closed there."""
    text = data[:_MOST_CLOSED].removeprefix(BOM).decode(errors="replace").lstrip()
    text = text[: _readable(text)]
    end, closing = 0, []
    for sign in _STRUCTURE.finditer(text):
        if sign[0] in "{[":
            closing.append("}" if sign[0] == "{" else "]")
        elif sign[0] in "}]" and closing:
            closing.pop()
        if sign[0] in "{}[],":
            end = sign.start() if sign[0] == "," else sign.end()
    try:
        value = msgspec.json.decode(text[:end] + "".join(reversed(closing)))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]


def _readable(text: str) -> int:
    """Returns how far a text is the beginning of JSON."""
    try:
        return _decoder.raw_decode(text)[1]
    except json.JSONDecodeError as error:
        return error.pos
    except RecursionError:
        return 0


_decoder = json.JSONDecoder(strict=False, parse_int=str)  # an integer of any length is JSON
