"""JSON documents too large to hold: the elements of a top-level array, one after the other, in bounded memory.

A document that is one object, or several objects one after the other, gives each of them as an element. Only brackets
outside strings are looked at here; decoding is per element, so that a damaged element costs itself alone. Where a
bracket is missing, nothing closes any more: what is left is searched for whole records at the end.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from slicebase.importers.json_stream import (
    ARRAY_JOINT,
    BOM,
    MAX_RECORD,
    DecodedValue,
    IsRecord,
    RecordLine,
    json_lines,
    pieces,
    without_bom,
)
from slicebase.importers.values import ImportSource

# Anything up to the next bracket that stands outside a string. The quantifiers never give back what they took, so the
# time is linear; a string that goes on in the next chunk does not match.
_BRACKET: Final = re.compile(
    rb'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+([{}\[\]])',
    re.DOTALL,
)
_OPENING: Final = (b"{", b"[")
_BETWEEN: Final = b" \t\r\n,\x00"
_HEAD: Final = 64 << 10


def json_elements(source: ImportSource, is_record: IsRecord) -> Iterator[RecordLine]:
    """Every element of a source, with its index as its place. Nothing is raised."""
    for number, data in enumerate(_split(source)):
        where = f"{source.name}[{number}]"
        if data is None:
            yield RecordLine(where, 0, DecodedValue(problem="too-large", detail=f"more than {MAX_RECORD >> 20} MiB"))
        else:
            for piece in pieces(data, is_record, ARRAY_JOINT):
                yield RecordLine(where, len(data), piece)


def _split(source: ImportSource) -> Iterator[bytes | None]:
    """The bytes of each element; None for one that is too large."""
    splitter = _Splitter()
    waiting: list[bytes] = []
    size = 0
    for chunk in without_bom(source):
        waiting.append(chunk)
        size += len(chunk)
        if size >= splitter.held:  # a long element is not to be scanned anew with every chunk
            yield from splitter.feed(b"".join(waiting))
            waiting, size = [], 0
    yield from splitter.feed(b"".join(waiting))
    yield from splitter.close()


class _Splitter:
    def __init__(self) -> None:
        self._buffer = b""
        self._start = 0  # of the element, or of what stands between two elements
        self._scanned = 0  # what stands before it has been looked at
        self._depth = 0
        self._in_array = 0
        self._is_too_large = False  # the element that is being read

    @property
    def held(self) -> int:
        return len(self._buffer) - self._start

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        self._buffer = self._buffer[self._start :] + data
        self._scanned -= self._start
        self._start = 0
        while (found := _BRACKET.match(self._buffer, self._scanned)) is not None:
            self._scanned = found.end()
            if found[1] in _OPENING:
                yield from self._open(found[1])
            else:
                yield from self._close()
            if self._is_too_large:
                self._start = self._scanned
        if self.held > MAX_RECORD:
            if not self._is_too_large:
                yield None
            # What is left of it goes by unread; where one string alone is that long, nothing tells where it ends.
            self._is_too_large = True
            self._start = self._scanned if len(self._buffer) - self._scanned <= MAX_RECORD else len(self._buffer)
            self._scanned = max(self._scanned, self._start)

    def _open(self, bracket: bytes) -> Iterator[bytes]:
        if self._depth == self._in_array:
            yield from _stray(self._buffer[self._start : self._scanned - 1])
            self._start = self._scanned - 1
        if self._depth == 0 and bracket == b"[":
            self._in_array = 1
            self._start = self._scanned
        self._depth += 1

    def _close(self) -> Iterator[bytes]:
        self._depth = max(self._depth - 1, 0)
        if self._depth <= self._in_array:
            end = self._scanned if self._depth == self._in_array else self._scanned - 1
            if not self._is_too_large:
                yield from _stray(self._buffer[self._start : end])
            self._is_too_large = False
            self._start = self._scanned
            self._in_array = min(self._in_array, self._depth)

    def close(self) -> Iterator[bytes]:
        if not self._is_too_large:
            yield from _stray(self._buffer[self._start :])


def _stray(between: bytes) -> Iterator[bytes]:
    """What stands between elements and is more than a comma: a number, a word, an element that never ends."""
    left = between.strip(_BETWEEN)
    if left:
        yield left


def json_records(source: ImportSource, is_record: IsRecord) -> Iterator[RecordLine]:
    """The records of a source that may be JSON Lines or one JSON document, as its beginning shows."""
    chunks = iter(source.chunks)
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= _HEAD:
            break
    whole = ImportSource(source.name, _chained(head, chunks))
    return json_lines(whole, is_record) if is_lines(head, source.name) else json_elements(whole, is_record)


def first_values(head: bytes, name: str, count: int) -> list[Any]:
    """The first records of a source, for recognising it: whole ones only, nothing is searched for in a broken one."""
    lines = json_records(ImportSource(name, [head]), lambda _: False)
    return [line.piece.value for line in islice(lines, count)]


def _chained(head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from chunks


def is_lines(head: bytes, name: str) -> bool:
    """Whether a source is JSON Lines: by its name, or because one of its first lines is a whole object."""
    if name.lower().endswith((".jsonl", ".ndjson")):
        return True
    lines = [line.strip() for line in head.removeprefix(BOM).strip().split(b"\n")]
    return lines[0] not in (b"{", b"[") and any(map(_is_object, lines[:3]))


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
