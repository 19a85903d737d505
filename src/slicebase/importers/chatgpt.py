"""ChatGPT's account export: `conversations.json`, as one file or several; each conversation is a tree, its `mapping`.

- Every node with a message is a turn, on every branch. The others (usually the root) are bridged.
- The order of children is that of the parent's list. A node's `parent` names its parent; where it is missing, the lists
  of children do.
- The assistant's message to a tool (`recipient`) is a tool call, the tool's message is a tool result.
- Messages that ChatGPT does not show are marked hidden. The branch that it showed last is a fact of the session.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from slicebase.graph.turn import Part
from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import (
    ROLES_BY_NAME,
    Flag,
    arguments_of,
    as_name,
    as_text,
    marked,
    pointer,
    text_parts,
    unknown,
)
from slicebase.importers.elements import json_records
from slicebase.importers.json_stream import RecordLine
from slicebase.importers.silence import holds_text, without_turn
from slicebase.importers.thread import Fault, NonTurn, SourceRecord, Thread, TurnDraft, read_sessions
from slicebase.importers.times import SourceClock, moment
from slicebase.importers.values import Batch, Format, Head, ImportSource, Options, Read

NAME: Final = "chatgpt"

# Other fields change between exports: child lists grow, metadata and states appear and disappear (ruling 15).
_HASHED: Final = ("id", "author", "recipient", "content", "create_time")


def sniff(head: Head) -> bool:
    return any(_is_tree(each) for value in head.records for _, each, _ in _conversations(value, ""))


def start(options: Options) -> Read:
    return lambda source: _read(source, options)


FORMAT: Final = Format(NAME, sniff, start)


def _is_conversation(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("mapping"), dict)


def _is_tree(value: Any) -> bool:
    nodes = value["mapping"].values() if _is_conversation(value) else ()
    return any(isinstance(node, dict) and node.keys() & {"children", "parent"} for node in nodes)


def _read(source: ImportSource, options: Options) -> Iterator[Batch]:
    builder = BatchBuilder(NAME)

    def element(value: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        for name, conversation, where in _conversations(value, line.where):
            yield from _conversation(builder, conversation, (name, options.session or source.stem), where, line.size)

    yield from read_sessions(builder, json_records(source, _is_conversation), element)
    yield from builder.close()


def _conversations(value: SourceRecord, where: str) -> Iterator[tuple[str | None, Any, str]]:
    """Yields the value if it is a conversation, else the conversations one level down, by name or in a list."""
    inner = value.get("conversations")
    if _is_conversation(value):
        yield None, value, where
    elif isinstance(inner, list):
        for number, each in enumerate(inner):
            yield None, each, f"{where}.conversations[{number}]"
    elif any(map(_is_conversation, value.values())):
        for name, each in value.items():
            yield name, each, f"{where}.{name}"
    else:
        yield None, value, where


def _conversation(
    builder: BatchBuilder, conversation: Any, names: tuple[str | None, str], where: str, size: int
) -> Iterator[Batch]:
    if not _is_conversation(conversation):
        builder.record()
        builder.skip("unknown-record", where, "a conversation without a mapping", lost=holds_text(conversation))
        return
    mapping = conversation["mapping"]
    stated = as_name(conversation.get("conversation_id")) or as_name(conversation.get("id")) or names[0]
    thread = Thread(builder, stated, names[1], clock=SourceClock(moment(conversation.get("create_time")) or 0))
    _describe(builder, thread, conversation)
    parents = _parents(mapping)
    for node in _ordered(mapping, parents):
        builder.record(size // len(mapping))
        record = mapping[node] if isinstance(mapping[node], dict) else {}
        place = f"{where}.mapping.{node}"
        builder.answered_by(thread.session, _model_of(record))
        yield from thread.admit({**record, "id": node, "parent": parents[node]}, place, _essence, _build)
    yield from builder.close(thread.session)


def _describe(builder: BatchBuilder, thread: Thread, conversation: SourceRecord) -> None:
    title = as_name(conversation.get("title"))
    if title:
        builder.title(thread.session, title)
    facts = builder.facts(thread.session)
    shown = thread.id_of(conversation.get("current_node"))
    if shown:
        facts["shown_last"] = shown
    for field, fact in (("default_model_slug", "model"), ("gizmo_id", "gizmo")):
        if as_name(conversation.get(field)):
            facts[fact] = conversation[field]


def _model_of(node: SourceRecord) -> Any:
    message = node.get("message")
    metadata = message.get("metadata") if isinstance(message, dict) else None
    return metadata.get("model_slug") if isinstance(metadata, dict) else None


def _essence(node: SourceRecord) -> SourceRecord:
    message = node.get("message")
    kept = {key: message[key] for key in _HASHED if key in message} if isinstance(message, dict) else message
    return {"id": node["id"], "parent": node["parent"], "message": kept}


# The tree


def _parents(mapping: SourceRecord) -> dict[str, str | None]:
    """Returns the parent of each node: the one that it names, else the node that lists it as a child."""
    listed = {child: name for name in mapping for child in _children(mapping, name)}
    stated = {name: as_name(node.get("parent")) if isinstance(node, dict) else None for name, node in mapping.items()}
    return {name: parent or listed.get(name) for name, parent in stated.items()}


def _children(mapping: SourceRecord, name: str) -> list[str]:
    node = mapping[name]
    children = node.get("children") if isinstance(node, dict) else None
    return [child for child in children if isinstance(child, str)] if isinstance(children, list) else []


def _ordered(mapping: SourceRecord, parents: dict[str, str | None]) -> Iterator[str]:
    """Yields every node once, parents first, siblings in the order of their parent's list."""
    below: dict[str | None, list[str]] = {}
    for name, parent in parents.items():
        below.setdefault(parent if parent in mapping else None, []).append(name)
    for parent, names in below.items():
        if parent is not None:
            rank = {child: place for place, child in enumerate(_children(mapping, parent))}
            names.sort(key=lambda name: rank.get(name, len(rank)))
    seen: set[str] = set()
    for root in (*below.get(None, ()), *mapping):  # the second pass finds nodes in a cycle
        ahead = [root]
        while ahead:
            name = ahead.pop()
            if name not in seen:
                seen.add(name)
                yield name
                ahead += reversed(below.get(name, ()))


# A message


def _build(node: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
    message = node.get("message")
    if message is None:
        return without_turn("empty node", node, source_id=node["id"], parent=node["parent"])
    author = message.get("author") if isinstance(message, dict) else None
    if not isinstance(author, dict) or not isinstance(message.get("content"), dict):
        return Fault("no-message", "", node["id"], node["parent"])
    role = ROLES_BY_NAME.get(str(author.get("role")))
    if role is None:
        flag("unknown-role", str(author.get("role")))
    metadata = message.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    parts = _parts(message, author, metadata, flag)
    hidden = metadata.get("is_visually_hidden_from_conversation") is True or message.get("weight") == 0
    if hidden and not parts:
        parts = [Part("text", text="")]
    return TurnDraft(
        role or "system",
        marked(tuple(parts), hidden=hidden),
        source_id=node["id"],
        parent=node["parent"],
        time=message.get("create_time"),
    )


def _parts(message: SourceRecord, author: SourceRecord, metadata: SourceRecord, flag: Flag) -> list[Part]:
    content = message["content"]
    kind = content.get("content_type")
    read = CONTENTS.get(kind) if isinstance(kind, str) else None
    parts = read(content, flag) if read else _unknown_content(content, flag)
    recipient = as_name(message.get("recipient"))
    if author.get("role") == "assistant" and recipient not in (None, "all"):
        parts = [_as_call(part, recipient) for part in parts]
    elif author.get("role") == "tool":
        parts = [_as_result(part, as_name(author.get("name")), _failed(metadata)) for part in parts]
    return [*parts, *_attachments(metadata, parts, flag)]


def _as_call(part: Part, recipient: str | None) -> Part:
    if part.type not in ("text", "code"):
        return part
    return Part("tool_call", name=recipient, arguments=arguments_of(part.text), language=part.language)


def _as_result(part: Part, name: str | None, failed: bool) -> Part:
    if part.type not in ("text", "code"):
        return part
    return Part("tool_result", text=part.text, name=name, error=failed or part.error)


def _failed(metadata: SourceRecord) -> bool:
    result = metadata.get("aggregate_result")
    return isinstance(result, dict) and result.get("status") in ("error", "failed_with_in_kernel_exception")


def _attachments(metadata: SourceRecord, parts: list[Part], flag: Flag) -> Iterator[Part]:
    """Yields pointers to the files of a message, except those that a part already points to."""
    attachments = metadata.get("attachments")
    known = [part.uri for part in parts if part.uri]
    for attachment in attachments if isinstance(attachments, list) else ():
        if not isinstance(attachment, dict):
            continue
        name = as_name(attachment.get("id")) or as_name(attachment.get("file_id"))
        if name is None or not any(name in uri for uri in known):
            media_type = attachment.get("mime_type") or attachment.get("mimeType")
            yield pointer(name, flag, media_type=media_type, name=attachment.get("name"))


# Contents by type

ContentReader = Callable[[SourceRecord, Flag], list[Part]]


def _pieces(content: SourceRecord) -> list[Any]:
    parts = content.get("parts")
    return parts if isinstance(parts, list) else [content.get("text")]


def _multimodal(content: SourceRecord, flag: Flag) -> list[Part]:
    return [part for piece in _pieces(content) for part in _piece(piece, flag)]


def _piece(piece: Any, flag: Flag) -> list[Part]:
    if piece is None or isinstance(piece, str):
        return text_parts(piece)
    kind = piece.get("content_type") if isinstance(piece, dict) else None
    read = CONTENTS.get(kind) if isinstance(kind, str) else None
    return read(piece, flag) if read else unknown(piece, flag)


def _code(content: SourceRecord, _flag: Flag) -> list[Part]:
    language = as_name(content.get("language"))
    text = as_text(content.get("text"))
    return [Part("code", text=text, language=None if language == "unknown" else language)] if text else []


def _asset(content: SourceRecord, flag: Flag) -> list[Part]:
    """Reads an image, a sound or a file. A live recording names its assets one level down."""
    inner = [value for value in content.values() if isinstance(value, dict) and "asset_pointer" in value]
    uri = as_name(content.get("asset_pointer")) or next((as_name(value["asset_pointer"]) for value in inner), None)
    kind = str(content.get("content_type"))
    media = next((media for word, media in _MEDIA.items() if word in kind), None)
    return [pointer(uri, flag, media_type=media, detail=kind)]


_MEDIA: Final = {"image": "image/*", "audio": "audio/*", "video": "video/*"}


def _quote(content: SourceRecord, _flag: Flag) -> list[Part]:
    """Reads a web page that was quoted: its text and its URL."""
    texts = [as_text(content.get(field)) for field in ("title", "text", "snippet")]
    url = as_name(content.get("url"))
    text = "\n\n".join(text for text in texts if text)
    return [*text_parts(text), *([Part("pointer", uri=url)] if url else [])]


def _display(content: SourceRecord, _flag: Flag) -> list[Part]:
    return [*text_parts(content.get("result")), *text_parts(content.get("summary"))]


def _thoughts(content: SourceRecord, _flag: Flag) -> list[Part]:
    thoughts = content.get("thoughts")
    if not isinstance(thoughts, list):
        return [part for piece in _pieces(content) for part in text_parts(piece, "thinking")]
    return [part for thought in thoughts for part in text_parts(_thought(thought), "thinking")]


def _thought(thought: Any) -> Any:
    if not isinstance(thought, dict):
        return thought
    return "\n\n".join(as_text(thought[field]) for field in ("summary", "content") if thought.get(field))


def _recap(content: SourceRecord, _flag: Flag) -> list[Part]:
    recap = content.get("content")
    return [part for piece in ([recap] if recap else _pieces(content)) for part in text_parts(piece, "thinking")]


def _editable(content: SourceRecord, _flag: Flag) -> list[Part]:
    """Reads what a person wrote about themselves for ChatGPT, or what ChatGPT noted about them: every text in it."""
    return [part for key in sorted(content) if key != "content_type" for part in text_parts(content[key] or None)]


def _error(content: SourceRecord, flag: Flag) -> list[Part]:
    return list(marked(tuple(_multimodal(content, flag)), error=True))


def _unknown_content(content: SourceRecord, flag: Flag) -> list[Part]:
    kind = as_text(content.get("content_type"))
    known = [
        part
        for field in ("text", "result")
        if isinstance(content.get(field), str)
        for part in text_parts(content[field])
    ]
    if not known:
        return unknown({**content, "type": kind}, flag)
    flag("unknown-content", kind)
    return known


CONTENTS: Final[dict[str, ContentReader]] = {
    "text": _multimodal,
    "multimodal_text": _multimodal,
    "audio_transcription": _multimodal,
    "code": _code,
    "execution_output": _multimodal,
    "computer_output": _multimodal,
    "system_error": _error,
    "tether_quote": _quote,
    "sonic_webpage": _quote,
    "tether_browsing_display": _display,
    "tether_browsing_code": _code,
    "thoughts": _thoughts,
    "reasoning_recap": _recap,
    "user_editable_context": _editable,
    "model_editable_context": _editable,
    "image_asset_pointer": _asset,
    "audio_asset_pointer": _asset,
    "file_asset_pointer": _asset,
    "video_container_asset_pointer": _asset,
    "real_time_user_audio_video_asset_pointer": _asset,
}
