"""Responses to messages that the SDK cannot read and would drop: their sender would wait forever.

A line that is not JSON, or not a message, gets an error of JSON-RPC. It has the id of the request where that can be
told, else null, as JSON-RPC 2.0 § 5 requires.
"""

import json
import re
from contextvars import Context
from types import TracebackType
from typing import Any, Final, Self

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_VALUE: Final = re.compile(r'\s*:\s*(-?\d{1,15}(?=\s*[,}])|"[^"\\]{0,200}")')
_STEPS: Final = {"{": 1, "[": 1, "}": -1, "]": -1}


class Answered:
    """A stream of messages that answers those that cannot be read, and passes on the others."""

    def __init__(self, read: Any, write: Any) -> None:
        self._read = read
        self._write = write

    @property
    def last_context(self) -> Context | None:
        """The context of the sender of the last message, as the SDK keeps it."""
        found: Context | None = self._read.last_context
        return found

    async def receive(self) -> SessionMessage | Exception:
        while True:
            item: SessionMessage | Exception = await self._read.receive()
            if not isinstance(item, ValidationError):
                return item
            response = response_to(_line_of(item))
            if response is not None:
                await self._write.send(SessionMessage(response))

    async def aclose(self) -> None:
        await self._read.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _line_of(error: ValidationError) -> Any:
    """Returns what could not be read: a line that is not JSON, or the value of one that is no message."""
    first = error.errors(include_url=False, include_context=False)[0]
    return first["input"] if first["type"] == "json_invalid" or isinstance(first["input"], dict) else None


def response_to(line: Any) -> types.JSONRPCError | None:
    """Returns the response to a line or a value that is no message; None for an empty line."""
    if isinstance(line, str):
        if not line.strip():
            return None
        return _response(types.PARSE_ERROR, "the message is not JSON that can be read", _id_in(line))
    return _response(types.INVALID_REQUEST, "this is not a message of JSON-RPC 2.0", _valid_id(line))


def _response(code: int, message: str, request: str | int | None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request, error=types.ErrorData(code=code, message=message))


def _id_in(line: str) -> str | int | None:
    """Returns the id of a request that is not JSON, if only one member of the outermost object is named so."""
    found, depth = [], 0
    for token in _TOKEN.finditer(line):
        depth += _STEPS.get(token[0], 0)
        value = _VALUE.match(line, token.end()) if depth == 1 and token[0] == '"id"' else None
        if value:
            found.append(value[1])
    return _valid_id({"id": json.loads(found[0], strict=False)}) if len(found) == 1 else None


def _valid_id(value: Any) -> str | int | None:
    found = value.get("id") if isinstance(value, dict) else None
    if isinstance(found, str):
        return found if found.isprintable() else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None
