"""Reads a JSON object with long arrays from a stream of bytes: some elements at a time, so that memory is bounded."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from slicebase.graph.graph_file import BOM

Decoders = Mapping[str, msgspec.json.Decoder[list[Any]]]


class UnusualFileError(Exception):
    """The file cannot be read in pieces: only `read_graph` knows whether it is a graph file."""


_SPACE: Final = re.compile(rb"[ \t\n\r]*")
_COMMA: Final = re.compile(rb"[ \t\n\r]*,[ \t\n\r]*")
_KEY: Final = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")[ \t\n\r]*:', re.DOTALL)
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{}]', re.DOTALL)
_SCALAR: Final = re.compile(rb'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^",\[\]{}\s]+)(?=[\s,}])', re.DOTALL)
_MOST_IGNORED: Final = 1 << 20  # bytes of a member that graph files do not have
_MOST_AT_ONCE: Final = 64 << 20  # bytes of a turn
_QUOTE: Final = ord('"')
_ANYTHING: Final = msgspec.json.Decoder()


class _Text:
    """The part of a JSON text that has arrived and was not taken."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self.data = b""
        self.at = 0

    def more(self) -> None:
        """Reads at least as much again as there is, so that a long value is not searched for its end too often."""
        rest = self.data[self.at :]
        if len(rest) > _MOST_AT_ONCE:
            raise UnusualFileError
        pieces = [rest]
        wanted = max(1, len(rest))
        while wanted > 0:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            pieces.append(chunk)
            wanted -= len(chunk)
        if len(pieces) == 1:
            raise UnusualFileError
        self.data, self.at = b"".join(pieces), 0

    def take(self, pattern: re.Pattern[bytes]) -> "re.Match[bytes]":
        """Takes what the text goes on with. It must be followed by something."""
        while (match := pattern.match(self.data, self.at)) is None or match.end() == len(self.data):
            self.more()
        self.at = match.end()
        return match

    def peek(self) -> bytes:
        """Returns the next character that is not a space."""
        self.take(_SPACE)
        return self.data[self.at : self.at + 1]

    def is_at_end(self) -> bool:
        """Returns whether only spaces are left."""
        while not self.data[self.at :].strip(b" \t\n\r"):
            self.at = len(self.data)
            try:
                self.more()
            except UnusualFileError:
                return True
        return False


def _decoded(data: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    try:
        if not data.isascii():
            str(data, "utf-8")  # msgspec does not check fields that it ignores
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UnusualFileError from None


def array_pieces(chunks: Iterable[bytes], decoders: Decoders) -> Iterator[tuple[str, list[Any]]]:
    """Yields the elements of those members of an object that have decoders, in the order of the text.

    These members must be arrays of objects, and all must be there.
    """
    text = _Text(chunks)
    text.more()
    text.data = text.data.removeprefix(BOM)
    found = set()
    opening = b"{"
    while text.peek() == opening:
        text.at += 1
        text.peek()
        key = _decoded(text.take(_KEY)[1], _ANYTHING)
        if key in found:
            raise UnusualFileError  # a later one would count
        found.add(key)
        if key in decoders:
            yield from ((key, piece) for piece in _elements(text, decoders[key]))
        else:
            _pass_over(text)
        opening = b","
    if text.data[text.at : text.at + 1] != b"}" or not found >= decoders.keys():
        raise UnusualFileError
    text.at += 1
    if not text.is_at_end():
        raise UnusualFileError


def _elements(text: _Text, decoder: msgspec.json.Decoder[list[Any]]) -> Iterator[list[Any]]:
    """Yields the elements of the array that begins here, as they arrive."""
    if text.peek() != b"[":
        raise UnusualFileError
    text.at += 1
    if text.peek() == b"]":
        text.at += 1
        return
    is_closed = False
    while not is_closed:
        piece = _quick_piece(text, decoder)
        if piece is None:
            end, is_closed = _whole(text.data, text.at)
            if not text.data[text.at : end].strip():
                if is_closed:
                    raise UnusualFileError  # a comma, and nothing after it
                text.more()
                continue
            piece = _decoded(b"[%b]" % text.data[text.at : end], decoder)
            text.at = end
            is_closed = text.peek() == b"]"
            if is_closed:
                text.at += 1
            else:
                text.take(_COMMA)
        yield piece


def _quick_piece(text: _Text, decoder: msgspec.json.Decoder[list[Any]]) -> list[Any] | None:
    """Takes what has arrived up to its last object, if that is an element of the array: then the decoder accepts it."""
    end = text.data.rfind(b"}", text.at) + 1
    comma = _COMMA.match(text.data, end) if end else None
    if comma is None:
        return None
    try:
        piece: list[Any] = _decoded(b"[%b]" % text.data[text.at : end], decoder)
    except UnusualFileError:
        return None
    text.at = comma.end()
    return piece


def _whole(data: bytes, start: int, most: int = -1) -> tuple[int, bool]:
    """Returns where the last complete value of an array ends, or the value number `most`.

    Where the array itself ends, returns the place of that, and True.
    """
    depth, end = 0, start
    for token in _TOKEN.finditer(data, start):
        sign = data[token.start()]
        if sign == _QUOTE:
            if token.end() - token.start() == 1:
                break  # the end of this string has not arrived
        elif sign in b"[{":
            depth += 1
        elif depth == 0:
            return token.start(), True
        else:
            depth -= 1
            if depth == 0:
                end = token.end()
                most -= 1
                if most == 0:
                    break
    return end, False


def _pass_over(text: _Text) -> None:
    """Takes a value that graph files do not have."""
    is_nested = text.peek() in (b"[", b"{")
    while True:
        scalar = None if is_nested else _SCALAR.match(text.data, text.at)
        end = _whole(text.data, text.at, 1)[0] if is_nested else scalar.end() if scalar else text.at
        if end > text.at:
            _decoded(text.data[text.at : end], _ANYTHING)
            text.at = end
            return
        if len(text.data) - text.at > _MOST_IGNORED:
            raise UnusualFileError
        text.more()
