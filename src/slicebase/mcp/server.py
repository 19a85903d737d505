"""The server: what answers requests for tools, resources and prompts.

It carries out one request at a time, whatever thread calls it; mcp/dispatch.py decides when and where. The main thread
loads this module, with the YAML library: `load_for_threads` says why.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import yaml_rs  # noqa: F401

from slicebase.errors import Exit, SlicebaseError
from slicebase.mcp import prompts, resources
from slicebase.mcp.calls import McpClient, ServerEnvironment, ToolCall
from slicebase.mcp.messages import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from slicebase.mcp.protocol import Asked
from slicebase.mcp.refusals import refusal_text
from slicebase.mcp.runs import READING_ACTIONS
from slicebase.mcp.tools import call_tool, described, offered

_Value = TypeVar("_Value")

ERROR_KEY: Final = "slicebase/error"  # in `_meta` of a tool's error


class Server:
    """Answers the requests of clients about one workspace. Nothing is opened before a request needs it."""

    def __init__(self, environment: ServerEnvironment) -> None:
        self._tools = offered(environment.read_only)
        self._read_only = environment.read_only
        self._methods: Mapping[str, Callable[[ServerEnvironment, Asked], dict[str, Any]]] = {
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": _list_resources,
            "resources/templates/list": _list_templates,
            "resources/read": _read_resource,
            "prompts/list": _list_prompts,
            "prompts/get": _get_prompt,
        }

    def writes(self, asked: Asked) -> bool:
        """Returns whether a request may write, and must wait for those that came before it."""
        tool = self._tools.get(asked.params["name"]) if asked.method == "tools/call" else None
        given = asked.params.get("arguments")
        only_reads = isinstance(given, dict) and given.get("action") in READING_ACTIONS
        return bool(tool and tool.writes and not only_reads)

    def answer(self, environment: ServerEnvironment, asked: Asked) -> dict[str, Any]:
        """Carries out a request, and returns its result. Raises RpcError."""
        try:
            return self._methods[asked.method](environment, asked)
        except SlicebaseError as error:
            return self.refusal(environment, asked, error)

    def refusal(self, environment: ServerEnvironment, asked: Asked, raised: SlicebaseError) -> dict[str, Any]:
        """Returns the result that tells an error of ours. Raises RpcError where a result cannot be an error.

        The error of a tool has no structured content: that would have to match the tool's output schema. Some clients
        show a model all of it, so stored text is in its fence only, here too.
        """
        error = environment.shown(raised)
        if asked.method != "tools/call":
            raise _protocol_error(error)
        return {"content": _text(refusal_text(error)), "isError": True, "_meta": {ERROR_KEY: {"code": error.code}}}

    def _list_tools(self, environment: ServerEnvironment, asked: Asked) -> dict[str, Any]:
        return {"tools": [described(name, tool, self._read_only) for name, tool in self._tools.items()]}

    def _call_tool(self, environment: ServerEnvironment, asked: Asked) -> dict[str, Any]:
        name = asked.params["name"]
        tool = self._tools.get(name)
        if tool is None:
            hint = f"use one of {', '.join(self._tools)}"
            unknown = SlicebaseError("no-tool", f"there is no tool {name!r}", hint=hint)
            raise _protocol_error(environment.shown(unknown))  # no result: it is not on the list
        output = call_tool(environment, _client(asked), tool, asked.params.get("arguments") or {})
        return {"content": _text(output.text), "structuredContent": output.structured, "isError": False}


def _client(asked: Asked) -> McpClient | None:
    return McpClient(*asked.client) if asked.client else None


def _opened(environment: ServerEnvironment, asked: Asked, do: Callable[[ToolCall], _Value]) -> _Value:
    """Opens the workspace for one request."""
    with environment.open() as base:
        return do(ToolCall(environment, base, _client(asked)))


# Resources


def _list_resources(environment: ServerEnvironment, asked: Asked) -> dict[str, Any]:
    found, following = _opened(environment, asked, lambda call: resources.listed(call.base, asked.params.get("cursor")))
    listed = [
        {
            "uri": each.uri,
            "name": each.uri.removeprefix(resources.SCHEME),
            "title": each.title,
            "description": each.description,
            "mimeType": each.mime_type,
        }
        for each in found
    ]
    return {"resources": listed, **_next(following)}


def _list_templates(environment: ServerEnvironment, asked: Asked) -> dict[str, Any]:
    templates = [
        {
            "uriTemplate": kind.template,
            "name": name,
            "title": kind.title,
            "description": kind.description,
            "mimeType": kind.mime_type,
        }
        for name, kind in resources.RESOURCE_KINDS.items()
    ]
    return {"resourceTemplates": templates}


def _read_resource(environment: ServerEnvironment, asked: Asked) -> dict[str, Any]:
    uri = asked.params["uri"]
    text, mime_type = _opened(environment, asked, lambda call: resources.read(call, uri))
    return {"contents": [{"uri": uri, "text": text, "mimeType": mime_type}]}


# Prompts


def _list_prompts(environment: ServerEnvironment, asked: Asked) -> dict[str, Any]:
    found, following = _opened(environment, asked, lambda call: prompts.listed(call.base, asked.params.get("cursor")))
    listed = [
        {
            "name": each.name,
            "title": each.title,
            "description": each.description,
            "arguments": [each.argument._asdict()] if each.argument else [],
        }
        for each in found
    ]
    return {"prompts": listed, **_next(following)}


def _get_prompt(environment: ServerEnvironment, asked: Asked) -> dict[str, Any]:
    arguments = asked.params.get("arguments") or {}
    description, text = _opened(environment, asked, lambda call: prompts.get(call, asked.params["name"], arguments))
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": description, "messages": [message]}


def _next(cursor: str | None) -> dict[str, str]:
    return {"nextCursor": cursor} if cursor else {}


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _protocol_error(error: SlicebaseError) -> RpcError:
    code = INTERNAL_ERROR if error.exit is Exit.CONFLICT else INVALID_PARAMS
    return RpcError(code, refusal_text(error), {"code": error.code})
