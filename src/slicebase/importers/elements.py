"""JSON documents that are too large for memory: reads the elements of a top-level array one after the other.

Memory is bounded. In a document that is one object, or several objects one after the other, each object is an element.
This module reads only the brackets outside strings. Each element is decoded separately, so that a damaged element does
not affect the others. Where a closing bracket is missing, the element never ends: at the end of the source, the rest is
searched for complete records.
"""

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

import msgspec

from slicebase.importers.json_stream import (
    ARRAY_JOINT,
    BOM,
    COMMENTS,
    MAX_RECORD,
    DecodedValue,
    IsRecord,
    ReadPieces,
    RecordLine,
    json_lines,
    pieces,
)
from slicebase.importers.values import ImportSource

# Everything up to the next bracket outside a string. The quantifiers are possessive (they never backtrack), so the time
# is linear. A string that continues in the next chunk does not match.
_BRACKET: Final = re.compile(
    rb'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+([{}\[\]])',
    re.DOTALL,
)
_OPENING: Final = (b"{", b"[")
_BLANK: Final = b" \t\r\n"
_raw = msgspec.json.Decoder(msgspec.Raw)  # which finds the end of a value, and whether anything follows
_BETWEEN: Final = b" \t\r\n,\x00"


def json_elements(source: ImportSource, is_record: IsRecord, read: ReadPieces = pieces) -> Iterator[RecordLine]:
    """Yields every element of a source, with its index as its place. Raises nothing. `read` decodes an element."""
    for number, data in enumerate(split_elements(source) if source.seen is None else _whole_or_split(source)):
        where = f"{source.name}[{number}]"
        if data is None:
            yield RecordLine(where, 0, DecodedValue(problem="too-large", detail=f"more than {MAX_RECORD >> 20} MiB"))
        else:
            for piece in read(data, is_record, ARRAY_JOINT):
                yield RecordLine(where, len(data), piece)


def _whole_or_split(source: ImportSource) -> Iterator[bytes | None]:
    """Yields the bytes of each element of a source that is read again and again: most are one sound object."""
    chunks, read, size = iter(source.chunks), [], 0
    for chunk in chunks:
        read.append(chunk)
        size += len(chunk)
        if size > MAX_RECORD:
            break
    data = b"".join(read)
    whole = data.removeprefix(BOM).strip(_BLANK)
    try:
        if size <= MAX_RECORD and whole.startswith(b"{") and _raw.decode(whole):
            yield whole
            return
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass  # it is damaged
    yield from split_elements(source._replace(chunks=chain([data], chunks)))


def split_elements(source: ImportSource) -> Iterator[bytes | None]:
    """Yields the bytes of each element; None for one that is too large."""
    splitter = _Splitter()
    waiting: list[bytes] = []
    size = 0
    for chunk in _without_bom(source):
        waiting.append(chunk)
        size += len(chunk)
        if size >= splitter.held:  # so that a long element is not scanned again with every chunk
            yield from splitter.feed(b"".join(waiting))
            waiting, size = [], 0
    yield from splitter.feed(b"".join(waiting))
    yield from splitter.close()


def _without_bom(source: ImportSource) -> Iterator[bytes]:
    chunks = iter(source.chunks)
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= len(BOM):
            break
    yield head.removeprefix(BOM)
    yield from chunks


class _Splitter:
    """Splits chunks of bytes into the elements of a document."""

    def __init__(self) -> None:
        self._buffer = b""
        self._start = 0  # of the element, or of the bytes between two elements
        self._scanned = 0  # the bytes before this position have been scanned
        self._depth = 0
        self._in_array = 0
        self._is_too_large = False  # the current element

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
            # The rest of the element is not read. If a single string is that long, its end cannot be found.
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
    """Yields the bytes between elements if they are more than a comma: a number, a word, an element that never ends."""
    left = between.strip(_BETWEEN)
    if left:
        yield left


# Lines or elements

HEAD_BYTES: Final = 64 << 10  # of a source that show what it is


def json_records(source: ImportSource, is_record: IsRecord, read: ReadPieces = pieces) -> Iterator[RecordLine]:
    """Returns the records of a source that is JSON Lines or one JSON document. Its beginning shows which."""
    chunks = iter(source.chunks)
    head = b"".join(_first_lines(chunks))
    whole = source._replace(chunks=chain([head], chunks))
    if is_lines(head, source.name):
        return json_lines(whole, is_record, read=read)
    return json_elements(whole, is_record, read)


def _first_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields chunks until they show what a source is: some lines, or a line that is long. A list shows it at once."""
    size, has_ended = 0, False
    for chunk in chunks:
        yield chunk
        has_ended = has_ended or b"\n" in chunk or (size == 0 and _is_list(chunk))
        size += len(chunk)
        if size >= HEAD_BYTES and (has_ended or size > MAX_RECORD):
            return


def _is_list(text: bytes) -> bool:
    return text.removeprefix(BOM).lstrip().startswith(b"[")


def is_lines(head: bytes, name: str) -> bool:
    """Returns whether a source is JSON Lines. Its content decides, and its name only where that shows nothing.

    The first line of JSON Lines is an object. If it is damaged, one of the next lines is an object. A list is a
    document. So is JSON whose first value does not end with its first line.
    """
    if _is_list(head):
        return False
    text = head.removeprefix(BOM).lstrip()
    end = text.find(b"\n") + 1
    text = text[: end + HEAD_BYTES] if end else text
    lines = [line for line in (line.strip() for line in text.split(b"\n")) if line and not line.startswith(COMMENTS)]
    first = lines[0] if lines else b""
    if _is_object(first):
        return True
    if end and _spans_lines(text, is_cut=len(head) >= HEAD_BYTES):
        return False
    if any(map(_is_object, lines[1:_LOOKED_AT])):
        return True
    is_named = name.lower().endswith((".jsonl", ".ndjson"))
    return is_named and not (first == b"{" and len(lines) > 1)


_LOOKED_AT: Final = 20  # lines


def _spans_lines(text: bytes, *, is_cut: bool) -> bool:
    """Returns whether a text is JSON, or the beginning of it, whose first value goes on after its first line."""
    written = text.decode(errors="ignore").rstrip()
    try:
        return "\n" in written[: _strict.raw_decode(written)[1]]
    except json.JSONDecodeError as error:
        if error.msg.startswith("Unterminated string"):
            return "\n" not in written[error.pos :]
        return error.pos >= len(written) - (_ESCAPE if is_cut else 1)
    except RecursionError:
        return False


_ESCAPE: Final = len("\\ud83d\\ude00")  # what the end of the head may cut
_strict = json.JSONDecoder(parse_int=str)  # an integer of any length is JSON


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
