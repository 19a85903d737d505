"""A scripted reply in the protocols of the clients: of Anthropic, of Gemini, and two of OpenAI."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple


class ToolCall(NamedTuple):
    """A call that the model asks for: a command of the shell, or a tool of an MCP server with its arguments."""

    shell: str = ""
    server: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = {}


class Reply(NamedTuple):
    """What the model says, and the calls that it asks for."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


class Encoded(NamedTuple):
    """The media type and the bytes of an answer."""

    media: str
    data: bytes


_OUTPUT_TOKENS: Final = 20


def _anthropic(number: int, body: dict[str, Any], reply: Reply, tokens: int) -> Encoded:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    for index, call in enumerate(reply.calls):
        name = "Bash" if call.shell else f"mcp__{call.server}__{call.tool}"
        given = {"command": call.shell} if call.shell else dict(call.arguments)
        blocks.append({"type": "tool_use", "id": f"toolu_{number:04}_{index}", "name": name, "input": given})
    usage = {
        "input_tokens": tokens,
        "output_tokens": _OUTPUT_TOKENS,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    stop = "tool_use" if reply.calls else "end_turn"
    message = {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }
    if not body.get("stream"):
        return Encoded("application/json", json.dumps(message).encode())
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    ]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    events += [
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return _stream(events)


def _responses(number: int, body: dict[str, Any], reply: Reply, tokens: int) -> Encoded:
    items: list[dict[str, Any]] = []
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        items.append({"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content})
    for index, call in enumerate(reply.calls):
        item = {
            "type": "function_call",
            "id": f"fc_{number}_{index}",
            "call_id": f"call_{number}_{index}",
            "name": "exec_command" if call.shell else call.tool,
            "arguments": json.dumps({"cmd": call.shell} if call.shell else dict(call.arguments)),
        }
        items.append(item if call.shell else {**item, "namespace": f"mcp__{call.server}"})
    items = [{**item, "status": "completed"} for item in items]
    usage = {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": _OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens + _OUTPUT_TOKENS,
    }
    response = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": items, "usage": usage}
    if not body.get("stream"):
        return Encoded("application/json", json.dumps(response).encode())
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": response["id"]}}]
    for index, item in enumerate(items):
        about = {"output_index": index, "item": item}
        events += [{"type": f"response.output_item.{kind}", **about} for kind in ("added", "done")]
    return _stream([*events, {"type": "response.completed", "response": response}])


def _stream(events: list[dict[str, Any]]) -> Encoded:
    lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return Encoded("text/event-stream", "".join(lines).encode())


def _contents(number: int, body: dict[str, Any], reply: Reply, tokens: int) -> Encoded:
    parts: list[dict[str, Any]] = [{"text": reply.text}] if reply.text else []
    for call in reply.calls:
        name = "run_shell_command" if call.shell else f"mcp_{call.server}_{call.tool}"
        given = {"command": call.shell} if call.shell else dict(call.arguments)
        parts.append({"functionCall": {"name": name, "args": given}})
    usage = {"promptTokenCount": tokens, "candidatesTokenCount": _OUTPUT_TOKENS}
    answer = {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {**usage, "totalTokenCount": tokens + _OUTPUT_TOKENS},
        "modelVersion": "scripted",
    }
    data = json.dumps(answer)
    if body.get("stream"):
        return Encoded("text/event-stream", f"data: {data}\r\n\r\n".encode())
    return Encoded("application/json", data.encode())


def _completions(number: int, body: dict[str, Any], reply: Reply, tokens: int) -> Encoded:
    calls = []
    for index, call in enumerate(reply.calls):
        name = "bash" if call.shell else f"{call.server}_{call.tool}"
        given = {"command": call.shell, "description": "scripted"} if call.shell else dict(call.arguments)
        function = {"name": name, "arguments": json.dumps(given)}
        calls.append({"index": index, "id": f"call_{number}_{index}", "type": "function", "function": function})
    said = {"role": "assistant", "content": reply.text, **({"tool_calls": calls} if calls else {})}
    stop = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": tokens, "completion_tokens": _OUTPUT_TOKENS, "total_tokens": tokens + _OUTPUT_TOKENS}
    answer = {"id": f"chatcmpl-{number}", "created": 0, "model": body.get("model", "scripted"), "usage": usage}
    if not body.get("stream"):
        choice = {"index": 0, "message": said, "finish_reason": stop}
        return Encoded(
            "application/json", json.dumps({**answer, "object": "chat.completion", "choices": [choice]}).encode()
        )
    chunks = [{"index": 0, "delta": said}, {"index": 0, "delta": {}, "finish_reason": stop}]
    events = [json.dumps({**answer, "object": "chat.completion.chunk", "choices": [chunk]}) for chunk in chunks]
    return Encoded("text/event-stream", "".join(f"data: {event}\n\n" for event in (*events, "[DONE]")).encode())


class Protocol(NamedTuple):
    """How a reply is written, and which member of a request holds the conversation."""

    encode: Callable[[int, dict[str, Any], Reply, int], Encoded]
    messages: str


_ANTHROPIC: Final = Protocol(_anthropic, "messages")
_RESPONSES: Final = Protocol(_responses, "input")
_GEMINI: Final = Protocol(_contents, "contents")
_COMPLETIONS: Final = Protocol(_completions, "messages")


def protocol_of(path: str) -> Protocol:
    """Returns the protocol of a request by its path, without a query."""
    endings = {"/messages": _ANTHROPIC, "/responses": _RESPONSES, "/completions": _COMPLETIONS}
    return next((protocol for ending, protocol in endings.items() if path.endswith(ending)), _GEMINI)


_REMINDER: Final = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_TEXT_KEYS: Final = ("text", "content", "parts", "output", "functionResponse", "response", "result")


def last_message(protocol: Protocol, body: dict[str, Any]) -> str:
    """Returns the text of the last prompt or tool result, without what the client or its hooks add after it."""
    said = body.get(protocol.messages) or []
    if isinstance(said, list):
        said = [item for item in said if item.get("role") not in ("system", "developer")][-1:]
    return _REMINDER.sub("", "\n".join(texts_in(said)))


def texts_in(value: Any) -> list[str]:
    """Returns the strings below the keys that hold text, in their order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in texts_in(item)]
    if isinstance(value, dict):
        return [text for key in _TEXT_KEYS if key in value for text in texts_in(value[key])]
    return []
