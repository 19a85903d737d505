"""Messages of JSON-RPC 2.0: reading and writing them, and their errors.

A line that is not JSON, or not a message, gets an error, so that its sender does not wait forever. The error has the id
of the request where that can be told, else null (§ 5).
"""

import json
import re
from typing import Any, Final, NamedTuple, NoReturn

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

LONGEST_MESSAGE: Final = 8 * 1024 * 1024  # bytes of a message to the server

RequestId = str | int


class RpcError(Exception):
    """An error that answers a request."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class UnreadError(RpcError):
    """An error that answers what is no message; `id` is that of the request, where it can be told."""

    def __init__(self, code: int, message: str, request: RequestId | None) -> None:
        super().__init__(code, message)
        self.id = request


class Message(NamedTuple):
    """A request, or a notification, which has no id."""

    method: str
    params: dict[str, Any]
    id: RequestId | None = None


def read_message(line: bytes) -> Message | None:
    """Returns the message in a line; None for an empty line, and for a response, as this side asks nothing.

    Raises UnreadError.
    """
    if len(line) > LONGEST_MESSAGE:
        beginning = line[:1000].decode("utf-8", "replace")
        message = f"the message is longer than {LONGEST_MESSAGE:,} bytes"
        raise UnreadError(INVALID_REQUEST, message, _id_in(beginning))
    try:
        text = line.decode()
        if not text.strip():
            return None
        value = json.loads(text, parse_constant=_refuse_constant)
        if _ESCAPED_SURROGATE.search(line):
            json.dumps(value, ensure_ascii=False).encode()  # raises for half of a surrogate pair
    except (ValueError, RecursionError):
        shown = line.decode("utf-8", "replace")
        raise UnreadError(PARSE_ERROR, "the message is not JSON that can be read", _id_in(shown)) from None
    return _checked(value)


def _checked(value: Any) -> Message | None:
    """Returns what a JSON value is as a message."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        _refuse(value)
    if "method" not in value and "id" in value and ("result" in value) != ("error" in value):
        return None
    method, params = value.get("method"), value.get("params")
    request = _valid_id(value)
    if not isinstance(method, str) or not isinstance(params, dict | None) or ("id" in value and request is None):
        _refuse(value)
    return Message(method, params or {}, request)


def _refuse(value: Any) -> NoReturn:
    raise UnreadError(INVALID_REQUEST, "this is not one message of JSON-RPC 2.0", _valid_id(value))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are no JSON


_ESCAPED_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
# A text without an end is the last token. Nothing is tried twice: a line cut short may have many quotation marks.
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)|[{}\[\]]', re.DOTALL)
_VALUE: Final = re.compile(r'\s*:\s*(-?\d{1,15}(?=\s*[,}])|"[^"\\]{0,200}")')
_STEPS: Final = {"{": 1, "[": 1, "}": -1, "]": -1}


def _id_in(line: str) -> RequestId | None:
    """Returns the id of a request that is not JSON, if only one member of the outermost object is named so."""
    found, depth = [], 0
    for token in _TOKEN.finditer(line):
        depth += _STEPS.get(token[0], 0)
        value = _VALUE.match(line, token.end()) if depth == 1 and token[0] == '"id"' else None
        if value:
            found.append(value[1])
    return _valid_id({"id": json.loads(found[0], strict=False)}) if len(found) == 1 else None


def _valid_id(value: Any) -> RequestId | None:
    found = value.get("id") if isinstance(value, dict) else None
    if isinstance(found, str):
        return found if found.isprintable() else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def encoded(message: dict[str, Any]) -> bytes:
    """Returns a message as one line of JSON without its end. Half of a surrogate pair stays an escape of JSON."""
    text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def error_response(error: RpcError, request: RequestId | None) -> dict[str, Any]:
    """Returns the response that tells an error."""
    told: dict[str, Any] = {"code": error.code, "message": str(error)}
    if error.data is not None:
        told["data"] = error.data
    return {"id": request, "error": told}
