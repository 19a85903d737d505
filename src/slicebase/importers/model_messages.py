"""Messages of pydantic-ai as JSON: a request to a model with prompts and results of tools, or the model's response.

A message is one turn, with what a person, the model and the tools said. A turn has system prompts, feedback about a
response, and what a program added to a prompt only if there is nothing else. State of the framework has no parts.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from slicebase.graph.turn import Part
from slicebase.importers.blocks import (
    Content,
    arguments_of,
    as_name,
    as_objects,
    as_text,
    content_uri,
    marked,
    no_flag,
    pointer,
    text_parts,
)

ModelMessageJson = dict[str, Any]

ADDED_BY: Final = "slicebase"  # the key in the metadata of a text that an adapter has added to a prompt


def message_content(message: ModelMessageJson) -> Content:
    """Returns the role and the parts of a message."""
    parts = message_parts(message)
    said = tuple(part for part in parts if not part.hidden)
    if message.get("kind") == "response":
        return "assistant", said
    if any(part.type != "tool_result" and not part.summary for part in said):
        return "user", said
    if any(part.type == "tool_result" for part in said):
        return "tool", said
    return "system", said or tuple(replace(part, hidden=False) for part in parts)


def message_parts(message: ModelMessageJson) -> tuple[Part, ...]:
    """Returns all parts of a message. Hidden ones are neither of a person nor of the model."""
    return tuple(part for each in as_objects(message.get("parts")) for part in _parts(each))


def _parts(part: ModelMessageJson) -> list[Part]:
    kind = part.get("part_kind")
    return _READERS.get(kind if isinstance(kind, str) else "", _unknown)(part)


def _unknown(part: ModelMessageJson) -> list[Part]:
    return list(marked(tuple(text_parts(part)), hidden=True))


def _system(part: ModelMessageJson) -> list[Part]:
    return [replace(each, hidden=True) for each in text_parts(part.get("content"))]


def _user(part: ModelMessageJson) -> list[Part]:
    content = part.get("content")
    return [each for block in (content if isinstance(content, list) else [content]) for each in _block(block)]


def _block(block: Any) -> list[Part]:
    """Reads text, or a medium, of which the turn has a pointer."""
    kind = block.get("kind") if isinstance(block, dict) else None
    if kind == "cache-point":
        return []
    if kind in _MEDIA:
        uri = as_name(block.get("url")) or as_name(block.get("file_id")) or content_uri(block.get("data"))
        return [pointer(uri, no_flag, media_type=block.get("media_type"), name=block.get("identifier"))]
    if not isinstance(block, dict) or "content" not in block:
        return text_parts(block)
    metadata = block.get("metadata")
    is_added = isinstance(metadata, dict) and ADDED_BY in metadata
    return [replace(each, hidden=is_added) for each in text_parts(block["content"])]


_MEDIA: Final = frozenset({"image-url", "audio-url", "document-url", "video-url", "binary", "uploaded-file"})


def _tool_return(part: ModelMessageJson) -> list[Part]:
    content = part.get("content")
    blocks = content if isinstance(content, list) else [content]
    media = [
        each for block in blocks if isinstance(block, dict) and block.get("kind") in _MEDIA for each in _block(block)
    ]
    said = [block for block in blocks if not (isinstance(block, dict) and block.get("kind") in _MEDIA)]
    text = as_text(said if isinstance(content, list) else said[0] if said else None)
    call, failed = as_name(part.get("tool_call_id")), part.get("outcome", "success") != "success"
    result = Part("tool_result", text=text, call_id=call, name=as_name(part.get("tool_name")), error=failed)
    return [result, *(replace(each, call_id=call) for each in media)]


def _tool_call(part: ModelMessageJson) -> list[Part]:
    name, call = as_text(part.get("tool_name")), as_name(part.get("tool_call_id"))
    return [Part("tool_call", name=name, arguments=arguments_of(part.get("args")), call_id=call)]


def _compaction(part: ModelMessageJson) -> list[Part]:
    text = text_parts(part.get("content"))
    details = part.get("provider_details")
    unread = [pointer(content_uri(details), no_flag, name="compaction", reason="unreadable")] if details else []
    return list(marked(tuple(text or unread), summary=True))


def _speech(part: ModelMessageJson) -> list[Part]:
    audio = part.get("audio")
    return [*text_parts(part.get("transcript")), *(_block(audio) if audio else [])]


_READERS: Final[Mapping[str, Callable[[ModelMessageJson], list[Part]]]] = {
    "system-prompt": _system,
    "retry-feedback": _system,
    "user-prompt": _user,
    "speech": _speech,
    "tool-return": _tool_return,
    "builtin-tool-return": _tool_return,
    "tool-call": _tool_call,
    "builtin-tool-call": _tool_call,
    "text": lambda part: text_parts(part.get("content")),
    "thinking": lambda part: text_parts(part.get("content"), "thinking"),
    "file": lambda part: _block(part.get("content")),
    "compaction": _compaction,
    **dict.fromkeys(
        (
            "tool-availability-delta",
            "capability-load-delta",
            "model-settings-delta",
            "instruction-delta",
            "instruction-baseline",
        ),
        lambda part: [],
    ),
}
