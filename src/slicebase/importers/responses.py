"""Items of OpenAI's Responses interface, which Codex records: messages, reasoning, calls and outputs."""

from collections.abc import Callable
from typing import Any, Final

from slicebase.graph.turn import Part
from slicebase.importers.blocks import (
    ROLES_BY_NAME,
    Content,
    Flag,
    arguments_of,
    as_name,
    as_text,
    content_uri,
    marked,
    parts_of,
    pointer,
    spoken_by,
    with_call,
)

ResponseItem = dict[str, Any]

_BOOKKEEPING: Final = frozenset(
    {"type", "id", "call_id", "status", "metadata", "internal_chat_message_metadata_passthrough"}
)


def is_item(value: Any) -> bool:
    """Returns whether a value is an item of the Responses interface."""
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and (kind in ITEM_READERS or kind.endswith(("_call", "_output")))


def item_content(item: ResponseItem, flag: Flag) -> Content | None:
    """Returns the role and the parts of an item; None if its type is not known."""
    kind = item.get("type")
    if not isinstance(kind, str):
        return None
    read = ITEM_READERS.get(kind)
    if read is None and kind.endswith("_output"):
        read = _output
    if read is None and kind.endswith("_call"):
        read = _call
    return read(item, flag) if read else None


def _message(item: ResponseItem, flag: Flag) -> Content:
    role = ROLES_BY_NAME.get(str(item.get("role")))
    if role is None:
        flag("unknown-role", str(item.get("role")))
    return role or "system", tuple(parts_of(item.get("content"), flag))


def _agent_message(item: ResponseItem, flag: Flag) -> Content:
    """Reads a message from one agent to another. Its speaker is `author (to recipient)`."""
    author, recipient = as_name(item.get("author")), as_name(item.get("recipient"))
    speaker = f"{author or '-'} (to {recipient})" if recipient else author
    return "assistant", tuple(spoken_by(speaker, part) for part in parts_of(item.get("content"), flag))


def _reasoning(item: ResponseItem, flag: Flag) -> Content:
    content = [*parts_of(item.get("content"), flag), *parts_of(item.get("summary"), flag)]
    parts = tuple(Part("thinking", text=part.text) for part in content if part.text)
    return "assistant", parts or _encrypted(item, flag)


def _encrypted(item: ResponseItem, flag: Flag) -> tuple[Part, ...]:
    encrypted = item.get("encrypted_content")
    name = as_name(item.get("type"))
    return (pointer(content_uri(encrypted), flag, name=name, reason="unreadable"),) if encrypted else ()


def _compaction(item: ResponseItem, flag: Flag) -> Content:
    return "system", marked(tuple(parts_of(item.get("summary"), flag)) or _encrypted(item, flag), summary=True)


def _function_call(item: ResponseItem, _flag: Flag) -> Content:
    function = item.get("function")
    own = item.get("name") or (function.get("name") if isinstance(function, dict) else None)
    name = ".".join(part for part in (as_name(item.get("namespace")), as_text(own)) if part)
    arguments = item.get("arguments") if "arguments" in item else item.get("input")
    return "assistant", (Part("tool_call", name=name, arguments=arguments_of(arguments), call_id=_call_id(item)),)


def _shell_call(item: ResponseItem, _flag: Flag) -> Content:
    return "assistant", (Part("tool_call", name="shell", arguments=item.get("action"), call_id=_call_id(item)),)


def _image_call(item: ResponseItem, flag: Flag) -> Content:
    call = Part("tool_call", name="image_generation", arguments=item.get("revised_prompt"), call_id=_call_id(item))
    image = item.get("result")
    return "assistant", (call, pointer(content_uri(image), flag, media_type="image/*")) if image else (call,)


def _call(item: ResponseItem, _flag: Flag) -> Content:
    """Reads a call of one of OpenAI's own tools: its arguments are all fields that are not bookkeeping."""
    name = str(item["type"]).removesuffix("_call")
    given = {key: value for key, value in item.items() if key not in _BOOKKEEPING}
    arguments = given["action"] if given.keys() == {"action"} else given
    return "assistant", (Part("tool_call", name=name, arguments=arguments, call_id=_call_id(item)),)


def _call_id(item: ResponseItem) -> str | None:
    return as_name(item.get("call_id")) or as_name(item.get("id"))


def _output(item: ResponseItem, flag: Flag) -> Content:
    output, failed = _unwrapped(item.get("output") if "output" in item else item.get("tools"))
    call = as_name(item.get("call_id"))
    inner = parts_of(output, flag)
    text = "\n".join(part.text for part in inner if part.text is not None)
    result = Part("tool_result", text=text, call_id=call, name=as_name(item.get("name")), error=failed)
    return "tool", (result, *(with_call(part, call) for part in inner if part.type == "pointer"))


def _unwrapped(output: Any) -> tuple[Any, bool]:
    """Returns the output, and whether it is a failure. Shells wrap their output in an object, or in its JSON text."""
    if isinstance(output, str) and output.startswith('{"output"'):
        output = arguments_of(output)
    if not isinstance(output, dict):
        return output, False
    metadata = output.get("metadata")
    exit_code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    failed = output.get("success") is False or (isinstance(exit_code, int) and exit_code != 0)
    wrapped = [output[key] for key in ("output", "content") if key in output]
    return (wrapped[0] if wrapped else as_text(output)), failed


ITEM_READERS: Final[dict[str, Callable[[ResponseItem, Flag], Content]]] = {
    "message": _message,
    "agent_message": _agent_message,
    "reasoning": _reasoning,
    "function_call": _function_call,
    "custom_tool_call": _function_call,
    "local_shell_call": _shell_call,
    "image_generation_call": _image_call,
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "compaction": _compaction,
    "compaction_summary": _compaction,
    "context_compaction": _compaction,
}
