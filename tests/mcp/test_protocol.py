"""The same requests, sent to our server and to one that the SDK serves: the answers are the same.

The SDK's server calls our handlers, so that only the protocol differs. Errors are compared by their codes.
"""

import asyncio
from queue import SimpleQueue
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.server import Server as SdkServer
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter

from slicebase.mcp.calls import ServerEnvironment
from slicebase.mcp.dispatch import Dispatcher, Peer, Sent
from slicebase.mcp.messages import RpcError, encoded, read_message
from slicebase.mcp.protocol import INSTRUCTIONS, SERVER_INFO, Asked
from slicebase.mcp.server import Server

PREFIX = "io.modelcontextprotocol/"
ENVELOPE = {
    f"{PREFIX}protocolVersion": "2026-07-28",
    f"{PREFIX}clientCapabilities": {},
    f"{PREFIX}clientInfo": {"name": "weaver", "version": "3"},
}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "weaver", "version": "3"}}
Request = tuple[str, Any]
REQUESTS: tuple[Request, ...] = (
    ("ping", None),
    ("server/discover", None),
    ("tools/list", None),
    ("tools/list", {"cursor": 5}),
    ("tools/list", {"cursor": None}),
    ("tools/list", {"more": 5}),
    ("resources/list", None),
    ("resources/templates/list", None),
    ("prompts/list", None),
    ("prompts/get", {"name": "hand_over"}),
    ("prompts/get", {"name": "hand_over", "arguments": {"run": 5}}),
    ("prompts/get", {"name": "hand_over", "arguments": None}),
    ("prompts/get", {}),
    ("prompts/get", {"name": "nope"}),
    ("resources/read", {"uri": "slicebase://file/nowhere"}),
    ("resources/read", {"uri": 5}),
    ("resources/read", {}),
    ("tools/call", {"name": "nope", "arguments": {}}),
    ("tools/call", {"name": "search", "arguments": {"query": "x"}}),
    ("tools/call", {"name": "search", "arguments": {"query": 5}}),
    ("tools/call", {"name": "search", "arguments": []}),
    ("tools/call", {"name": "search"}),
    ("tools/call", {"name": 7}),
    ("tools/call", {"name": "search", "arguments": {"query": "x"}, "_meta": {"progressToken": 5}}),
    ("tools/call", {"name": "search", "arguments": {"query": "x"}, "_meta": {"progressToken": []}}),
    ("tools/call", {"name": "search", "arguments": {"query": "x"}, "_meta": 7}),
    ("logging/setLevel", {"level": "info"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}}),
    ("resources/subscribe", {"uri": "slicebase://file/x"}),
    ("tasks/list", None),
    ("nope", None),
)


def with_envelope(params: Any) -> Any:
    meta = (params or {}).get("_meta", {})
    return {**(params or {}), "_meta": {**meta, **ENVELOPE} if isinstance(meta, dict) else meta}


def without(key: str) -> dict[str, Any]:
    return {"_meta": {name: value for name, value in ENVELOPE.items() if name != PREFIX + key}}


def but(key: str, value: Any) -> dict[str, Any]:
    return {"_meta": {**ENVELOPE, PREFIX + key: value}}


HANDSHAKE: tuple[Request, ...] = (
    ("ping", None),
    ("tools/list", None),
    ("nope", None),
    ("initialize", {}),
    ("initialize", {**HELLO, "clientInfo": {"name": "weaver"}}),
    ("initialize", {**HELLO, "clientInfo": 5}),
    ("initialize", {**HELLO, "capabilities": None}),
    *(("initialize", {**HELLO, "protocolVersion": version}) for version in ("2024-11-05", "2025-11-25", "1999-01-01")),
    ("initialize", HELLO),
    *REQUESTS,
    ("tools/list", {"_meta": ENVELOPE}),
    ("initialize", {**HELLO, "_meta": ENVELOPE}),
)
STATELESS: tuple[Request, ...] = (
    ("server/discover", {"_meta": ENVELOPE}),
    *((method, with_envelope(params)) for method, params in REQUESTS),
    ("initialize", HELLO),
    ("initialize", with_envelope(HELLO)),
    ("tools/list", None),
    ("tools/list", {}),
    *(("tools/list", without(key)) for key in ("protocolVersion", "clientCapabilities", "clientInfo")),
    ("tools/list", but("protocolVersion", "1999-01-01")),
    ("tools/list", but("protocolVersion", "2025-06-18")),
    ("tools/list", but("protocolVersion", 5)),
    ("tools/list", but("clientInfo", 5)),
    ("tools/list", but("clientInfo", {"name": "weaver"})),
    ("tools/list", but("clientInfo", None)),
    ("tools/list", but("clientCapabilities", 5)),
)


def sdk_server(environment: ServerEnvironment) -> SdkServer[Any]:
    """Returns a server of the SDK whose handlers are ours."""
    ours = Server(environment)

    def handler(method: str, result: type[types.Result]) -> Any:
        async def handle(ctx: ServerRequestContext[Any], params: Any) -> types.Result:
            given = params.model_dump(by_alias=True, exclude_none=True) if params else {}
            asked = Asked(1, method, given, None, stateless=False)
            try:
                return result.model_validate(ours.answer(environment, asked))
            except RpcError as error:
                raise MCPError(error.code, str(error), error.data) from None

        return handle

    return SdkServer(
        SERVER_INFO["name"],
        version=SERVER_INFO["version"],
        title=SERVER_INFO["title"],
        instructions=INSTRUCTIONS,
        on_list_tools=handler("tools/list", types.ListToolsResult),
        on_call_tool=handler("tools/call", types.CallToolResult),
        on_list_resources=handler("resources/list", types.ListResourcesResult),
        on_list_resource_templates=handler("resources/templates/list", types.ListResourceTemplatesResult),
        on_read_resource=handler("resources/read", types.ReadResourceResult),
        on_list_prompts=handler("prompts/list", types.ListPromptsResult),
        on_get_prompt=handler("prompts/get", types.GetPromptResult),
    )


def lines(requests: tuple[Request, ...]) -> list[bytes]:
    return [
        encoded({"id": number, "method": method, **({} if params is None else {"params": params})})
        for number, (method, params) in enumerate(requests)
    ]


def answers_of_the_sdk(environment: ServerEnvironment, requests: tuple[Request, ...]) -> list[Any]:
    async def ask() -> list[Any]:
        to_server, server_reads = anyio.create_memory_object_stream[Any](100)
        server_writes, from_server = anyio.create_memory_object_stream[Any](100)
        server, found = sdk_server(environment), []
        async with anyio.create_task_group() as group:
            group.start_soon(server.run, server_reads, server_writes, server.create_initialization_options())
            for line in lines(requests):
                await to_server.send(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))
                answer = (await from_server.receive()).message
                found.append(answer.model_dump(mode="json", by_alias=True, exclude_none=True))
            group.cancel_scope.cancel()
        for stream in (to_server, server_reads, server_writes, from_server):
            await stream.aclose()
        return found

    return asyncio.run(ask())


def answers_of_ours(environment: ServerEnvironment, requests: tuple[Request, ...]) -> list[Any]:
    dispatcher, peer, sent = Dispatcher(lambda: environment), Peer(), SimpleQueue[Sent]()
    found = []
    for line in lines(requests):
        message = read_message(line)
        assert message
        dispatcher.take(peer, message, sent.put)
        found.append(jsonrpc_message_adapter.validate_json(sent.get(timeout=60).line, by_name=False))
    dispatcher.finish()
    return [answer.model_dump(mode="json", by_alias=True, exclude_none=True) for answer in found]


def comparable(answer: Any) -> Any:
    return {"id": answer["id"], "error": answer["error"]["code"]} if "error" in answer else answer


@pytest.mark.parametrize("requests", [HANDSHAKE, STATELESS], ids=["handshake", "stateless"])
def test_the_answers_are_those_of_a_server_of_the_sdk(
    environment: ServerEnvironment, requests: tuple[Request, ...]
) -> None:
    theirs, ours = answers_of_the_sdk(environment, requests), answers_of_ours(environment, requests)
    for request, expected, found in zip(requests, theirs, ours, strict=True):
        assert comparable(found) == comparable(expected), request
