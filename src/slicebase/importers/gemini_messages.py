"""The messages of a Gemini CLI session that was read before: each is known by the digest of its bytes.

A message is a line, or an element of the list in a document or in a `$set` record. What was seen before is not decoded.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from slicebase.importers.json_stream import (
    MAX_DEPTH,
    DecodedValue,
    IsRecord,
    ReadPieces,
    pieces,
    too_deep,
    too_many_values,
)
from slicebase.importers.seen import SeenMessages, key_of

CHANGES: Final = "$set"
LISTS: Final = ("messages", "history")
_PLACED_BY: Final = ("id", "type", "model")  # the fields of a message that the reader of a session looks at
_MARKS: Final = tuple(f'"{name}"'.encode() for name in LISTS)
_COMMAND: Final = b'{"$'  # how a line begins that is not a message
_SHORT: Final = 256  # bytes of such a line that are decoded as fast as they are known by a digest
_DEEPEST: Final = MAX_DEPTH - 4  # of a message or a field: in the list of a record it is deeper
_decode = msgspec.json.Decoder().decode
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_elements = msgspec.json.Decoder(list[msgspec.Raw])


def fields_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of a message by which a session is read without what the message says."""
    return {name: message[name] for name in _PLACED_BY if isinstance(message.get(name), str)}


def reader(seen: SeenMessages) -> ReadPieces:
    """Returns a function that decodes a record as `pieces` does, except messages that were seen before."""

    def read(data: bytes, is_record: IsRecord, joint: re.Pattern[str]) -> list[DecodedValue]:
        if data.startswith(_COMMAND) and len(data) < _SHORT:  # no message
            return pieces(data, is_record, joint)
        key = key_of(data)
        known = seen.find(key)
        if known is not None:
            return [DecodedValue(known)]
        if any(mark in data for mark in _MARKS) and not too_many_values(data):
            try:
                return [DecodedValue(_record(data, seen))]
            except (msgspec.MsgspecError, ValueError, RecursionError):
                return pieces(data, is_record, joint)  # it is damaged, or something else
        found = pieces(data, is_record, joint)
        is_sound = len(found) == 1 and not found[0].repairs and isinstance(found[0].value, dict)
        return [DecodedValue(seen.new(found[0].value, key))] if is_sound else found

    return read


def _record(data: bytes, seen: SeenMessages) -> dict[str, Any]:
    """Returns a record whose messages are known by their digests. Raises an error for what is not one."""
    value: dict[str, Any] = {}
    for name, raw in _fields.decode(data).items():
        inner = bytes(raw)
        if name == CHANGES and inner.startswith(b"{"):
            value[name] = _record(inner, seen)
        elif name in LISTS and inner.startswith(b"["):
            value[name] = [_message(bytes(each), seen) for each in _elements.decode(inner)]
        else:
            value[name] = _shallow(inner)
    return value


def _message(data: bytes, seen: SeenMessages) -> Any:
    key = key_of(b"," + data)  # not that of a line: what is in a list is a message, whatever it looks like
    known = seen.find(key)
    if known is not None:
        return known
    value = _shallow(data)
    return seen.new(value, key) if isinstance(value, dict) else value


def _shallow(data: bytes) -> Any:
    value = _decode(data)
    if data.count(b"{") + data.count(b"[") > _DEEPEST and too_deep(value, _DEEPEST):
        raise ValueError("nested deeply")
    return value
