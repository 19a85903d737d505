"""Message content in the shapes of the Anthropic and OpenAI interfaces, as parts of a turn.

Both interfaces give a message's content as text or as a list of typed blocks. The names of the types do not collide, so
one table reads both. No content is dropped: media become a pointer, an unknown block becomes its JSON text.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from slicebase.core.hashing import canonical, digest
from slicebase.errors import SlicebaseError
from slicebase.graph.turn import SPOKEN, Part, Role
from slicebase.importers.json_stream import too_deep, too_many_values

Flag = Callable[[str, str], None]  # takes a code of `REASONS` and a detail
Content = tuple[Role, tuple[Part, ...]]  # of a turn
Block = dict[str, Any]

ROLES_BY_NAME: Final[dict[str, Role]] = {
    "user": "user",
    "human": "user",
    "prompter": "user",
    "assistant": "assistant",
    "model": "assistant",
    "gemini": "assistant",
    "gpt": "assistant",
    "tool_call": "assistant",
    "function_call": "assistant",
    "reasoning": "assistant",
    "tool": "tool",
    "function": "tool",
    "tool_result": "tool",
    "outputs": "tool",
    "system": "system",
    "developer": "system",
}


def no_flag(_reason: str, _detail: str) -> None:
    """Takes the flags of content that is compared, and not kept."""


def parts_of(content: Any, flag: Flag) -> list[Part]:
    """Returns the parts of a message's content: text, one block, or a list of blocks and texts."""
    if isinstance(content, list):
        return [part for block in content for part in _parts_of_block(block, flag)]
    return _parts_of_block(content, flag)


def _parts_of_block(block: Any, flag: Flag) -> list[Part]:
    if block is None:
        return []
    if isinstance(block, str):
        return text_parts(block)
    if isinstance(block, dict):
        kind = block.get("type")
        read = BLOCKS.get(kind) if isinstance(kind, str) else None
        if read is None and isinstance(kind, str) and kind.endswith("_tool_result"):
            read = _tool_result
        if read is not None:
            return read(block, flag)
    return unknown(block, flag)


def unknown(block: Any, flag: Flag) -> list[Part]:
    """Returns content of an unknown type as text, which is its JSON unless it is a text, and flags it."""
    kind = block.get("type", "an object without a type") if isinstance(block, dict) else type(block).__name__
    flag("unknown-content", str(kind))
    return [Part("text", text=as_text(block))]


def text_parts(text: Any, kind: str = "text") -> list[Part]:
    """Returns one part with the text, or none where the text is empty."""
    written = as_text(text)
    return [Part(kind, text=written)] if written else []


def as_text(value: Any) -> str:
    """Returns text as it is, None as the empty text, and any other value as its JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else canonical(value).decode()


def as_name(value: Any) -> str | None:
    """Returns a value that is text and not empty; None for any other value."""
    return value if isinstance(value, str) and value else None


def as_objects(values: Any) -> list[dict[str, Any]]:
    """Returns the objects of a list; none for any other value."""
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def arguments_of(value: Any) -> Any:
    """Returns the arguments of a call, which many sources write as JSON text.

    Text that cannot be kept as JSON stays text.
    """
    if not isinstance(value, str):
        return value
    try:
        data = value.encode()
        if too_many_values(data):
            return value
        decoded = msgspec.json.decode(data)
        canonical(decoded)
    except (msgspec.MsgspecError, ValueError, RecursionError, SlicebaseError):
        return value
    return decoded if isinstance(decoded, dict | list) and not too_deep(decoded) else value


def pointer(
    uri: str | None,
    flag: Flag,
    *,
    media_type: Any = None,
    name: Any = None,
    reason: str = "media",
    detail: str = "",
    call_id: str | None = None,
) -> Part:
    """Returns a pointer to content that is not stored, and flags it."""
    flag(reason, detail or as_name(media_type) or as_name(name) or "")
    return Part("pointer", uri=uri, media_type=as_name(media_type), name=as_name(name), call_id=call_id)


def content_uri(data: Any) -> str | None:
    """Returns the digest of bytes that are not kept, as their name."""
    return digest(as_text(data).encode()) if data else None


def with_call(part: Part, call_id: str | None) -> Part:
    """Returns a pointer with the id of the call that it belongs to."""
    return Part(part.type, uri=part.uri, media_type=part.media_type, name=part.name, call_id=call_id)


def marked(parts: tuple[Part, ...], **marks: bool) -> tuple[Part, ...]:
    """Returns the parts with the marks (hidden, error, summary) that are true."""
    wanted = {name: True for name, is_so in marks.items() if is_so}
    return tuple(replace(part, **wanted) for part in parts) if wanted else parts


def summary_parts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Returns the parts of the summary of a compaction. One that says nothing is one, too: it kept nothing."""
    return marked(parts or (Part("text", text=""),), summary=True)


def spoken_by(speaker: str | None, part: Part) -> Part:
    """Returns a part with the name of who speaks, if it is one that is spoken."""
    return replace(part, name=speaker) if speaker and part.type in SPOKEN else part


def only_results(parts: Iterable[Part]) -> bool:
    """Returns whether all parts are results of tools: such a record of the user is a turn of the tools (ruling 18)."""
    kinds = {part.type for part in parts if not (part.type == "pointer" and part.call_id)}
    return kinds == {"tool_result"}


# Blocks by type


def _text(block: Block, _flag: Flag) -> list[Part]:
    return text_parts(block.get("text"))


def _refusal(block: Block, _flag: Flag) -> list[Part]:
    return text_parts(block.get("refusal"))


def _thinking(block: Block, _flag: Flag) -> list[Part]:
    return text_parts(block.get("thinking") or block.get("text"), "thinking")


def _redacted_thinking(block: Block, flag: Flag) -> list[Part]:
    return [pointer(content_uri(block.get("data")), flag, name="redacted_thinking", reason="unreadable")]


def _encrypted(block: Block, flag: Flag) -> list[Part]:
    return [pointer(content_uri(block.get("encrypted_content")), flag, name="encrypted_content", reason="unreadable")]


def _tool_call(block: Block, _flag: Flag) -> list[Part]:
    call_id = as_name(block.get("id")) or as_name(block.get("call_id"))
    return [Part("tool_call", name=as_text(block.get("name")), arguments=block.get("input"), call_id=call_id)]


def _tool_result(block: Block, flag: Flag) -> list[Part]:
    call_id = as_name(block.get("tool_use_id")) or as_name(block.get("call_id"))
    inner = parts_of(block.get("content"), flag)
    text = "\n".join(part.text for part in inner if part.text is not None)
    result = Part(
        "tool_result", text=text, call_id=call_id, name=as_name(block.get("name")), error=block.get("is_error") is True
    )
    return [result, *(with_call(part, call_id) for part in inner if part.type == "pointer")]


def _media(block: Block, flag: Flag) -> list[Part]:
    """Reads an image or a document: its text if it has one, else a pointer to its address or the hash of its bytes."""
    source = block.get("source")
    if not isinstance(source, dict):
        return [
            pointer(
                _where(block), flag, media_type=block.get("media_type"), name=_name(block), detail=str(block["type"])
            )
        ]
    if source.get("type") == "text" or (source.get("type") == "content" and isinstance(source.get("content"), str)):
        return text_parts(source.get("data") or source.get("content"))
    if source.get("type") == "content":
        return parts_of(source.get("content"), flag)
    uri = as_name(source.get("url")) or as_name(source.get("file_id")) or content_uri(source.get("data"))
    return [pointer(uri, flag, media_type=source.get("media_type"), name=_name(block), detail=str(block["type"]))]


def _where(block: Block) -> str | None:
    """Returns the address of OpenAI's media: a URL in the block or one level down, a file's id, or the bytes' hash."""
    for key in ("image_url", "file", "input_audio", "url", "file_id", "file_data", "data"):
        value = block.get(key)
        if isinstance(value, dict):
            value = value.get("url") or value.get("file_id") or value.get("file_data") or value.get("data")
        if isinstance(value, str) and value:
            return value if _is_name(value) else content_uri(value)
    return None


def _is_name(value: str) -> bool:
    return len(value) <= 2000 and not value.startswith("data:")


def _name(block: Block) -> str | None:
    inner = block.get("file")
    return as_name(
        block.get("title") or block.get("filename") or (inner.get("filename") if isinstance(inner, dict) else None)
    )


def _search_result(block: Block, flag: Flag) -> list[Part]:
    """Reads a search result that was given to the model as content: its title, its content and its source."""
    found = parts_of(block.get("content"), flag)
    source = as_name(block.get("source"))
    return [*text_parts(block.get("title")), *found, *([Part("pointer", uri=source)] if source else [])]


def _knowledge(block: Block, _flag: Flag) -> list[Part]:
    """Reads a search result of Claude's export: its title, its text and its URL."""
    url = as_name(block.get("url"))
    return [
        *text_parts(block.get("title")),
        *text_parts(block.get("text")),
        *([Part("pointer", uri=url)] if url else []),
    ]


def _nothing(_block: Block, _flag: Flag) -> list[Part]:
    return []


def _tool_reference(block: Block, _flag: Flag) -> list[Part]:
    return text_parts(block.get("tool_name"))


BLOCKS: Final[dict[str, Callable[[Block, Flag], list[Part]]]] = {
    "text": _text,
    "input_text": _text,
    "output_text": _text,
    "summary_text": _text,
    "refusal": _refusal,
    "thinking": _thinking,
    "reasoning_text": _thinking,
    "redacted_thinking": _redacted_thinking,
    "encrypted_content": _encrypted,
    "tool_use": _tool_call,
    "server_tool_use": _tool_call,
    "mcp_tool_use": _tool_call,
    "tool_result": _tool_result,
    "tool_reference": _tool_reference,
    "image": _media,
    "document": _media,
    "image_url": _media,
    "input_image": _media,
    "input_audio": _media,
    "input_file": _media,
    "file": _media,
    "search_result": _search_result,
    "knowledge": _knowledge,
    "voice_note": _text,
    "token_budget": _nothing,  # bookkeeping between text blocks
}


# What is the same content, whatever a client changes around what was said (ruling 15)


CACHE: Final = "cache_control"  # where a request may be cached, which moves from one copy to the next
_OF_REQUEST: Final = ("caller", CACHE)  # in a block: what a client asked for, and nothing that was said


def is_absent(value: Any) -> bool:
    return value is None or value is False


def same_content(content: Any) -> Any:
    """Returns the content of a message as a list: clients write a text alone, or as the only block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [_block(block) for block in content] if isinstance(content, list) else content


def _block(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    kept = {key: value for key, value in block.items() if not is_absent(value) and key not in _OF_REQUEST}
    if isinstance(kept.get("content"), list):
        inside = [_block(inner) for inner in kept["content"]]
        kept["content"] = text_alone(inside) if kept.get("type") == "tool_result" else inside
    return kept


def text_alone(blocks: Any) -> Any:
    """Returns the text of content that is its only block: clients write that, or the text alone."""
    only = blocks[0] if isinstance(blocks, list) and len(blocks) == 1 and isinstance(blocks[0], dict) else {}
    return only["text"] if only.keys() == {"type", "text"} and only["type"] == "text" else blocks
