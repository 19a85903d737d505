"""The headers of a request of 2026-07-28: they repeat what the message says, for those who pass it on.

A request whose headers say something else than its message is refused: what looks at the headers and what looks at the
message would take it for two different requests.
"""

import base64
import binascii
import re
from email.message import Message as Headers
from typing import Final

from slicebase.mcp.messages import Message, RpcError
from slicebase.mcp.protocol import STATELESS_VERSIONS, VERSION_KEY, unsupported

HEADER_MISMATCH: Final = -32020
_VERSION: Final = "Mcp-Protocol-Version"
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}  # by what `Mcp-Name` repeats
_WRAPPED: Final = re.compile(r"=\?base64\?(.*)\?=")


def check_headers(message: Message, headers: Headers) -> None:
    """Raises RpcError if a header of a message contradicts it."""
    for name in (_VERSION, "Mcp-Method", "Mcp-Name"):
        if len(headers.get_all(name, [])) > 1:
            raise RpcError(HEADER_MISMATCH, f"the header {name} is there more than once")
    version = _value(headers, _VERSION)
    if message.id is None:
        if version not in STATELESS_VERSIONS:
            raise unsupported(version)
        return
    meta = message.params.get("_meta")
    if not isinstance(meta, dict) or VERSION_KEY not in meta:
        return  # the message itself is refused
    if version != meta[VERSION_KEY]:
        raise _mismatch(_VERSION)
    if _value(headers, "Mcp-Method") != message.method:
        raise _mismatch("Mcp-Method")
    said = message.params.get(_NAMED.get(message.method, ""))
    if said is not None and _plain(_value(headers, "Mcp-Name")) != said:
        raise _mismatch("Mcp-Name")


def _value(headers: Headers, name: str) -> str | None:
    """Returns the value of a header, without the spaces around it, which do not belong to it."""
    value: str | None = headers.get(name)
    return value and value.strip(" \t")


def _mismatch(name: str) -> RpcError:
    return RpcError(HEADER_MISMATCH, f"the header {name} is missing or differs from the message")


def _plain(value: str | None) -> str | None:
    """Returns the value of a header; one that HTTP cannot carry is wrapped in base64. None if it cannot be read."""
    wrapped = _WRAPPED.fullmatch(value or "")
    if not wrapped:
        return value
    try:
        data = base64.b64decode(wrapped[1], validate=True)
        return data.decode() if base64.b64encode(data).decode() == wrapped[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None
