"""Claude's account export: `conversations.json`, conversations with their `chat_messages`.

Newer exports name the parent of each message, so that edited prompts and retried answers stay branches. In older ones a
message follows the one before it. Attachments become the text that was extracted from them, files become a pointer.
"""

from collections.abc import Iterator
from typing import Any, Final

from slicebase.graph.turn import Part
from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import ROLES_BY_NAME, Flag, as_name, as_objects, parts_of, pointer, text_parts
from slicebase.importers.elements import json_records
from slicebase.importers.json_stream import RecordLine, without
from slicebase.importers.silence import holds_text
from slicebase.importers.thread import LAST, Fault, NonTurn, SourceRecord, Thread, TurnDraft, read_sessions
from slicebase.importers.times import SourceClock, moment
from slicebase.importers.values import Batch, Format, Head, ImportSource, Options, Read

NAME: Final = "claude"

# These change between exports: addresses of files, parents, states (ruling 15).
ESSENCE: Final = without(
    "updated_at", "index", "truncated", "stop_reason", "files", "files_v2", "sync_sources", "parent_message_uuid"
)
NO_PARENT: Final = "00000000-0000-4000-8000-000000000000"  # the parent of a first message


def sniff(head: Head) -> bool:
    return any(map(_is_conversation, head.records))


def start(options: Options) -> Read:
    return lambda source: _read(source, options)


FORMAT: Final = Format(NAME, sniff, start)


def _is_conversation(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("chat_messages"), list)


def _read(source: ImportSource, options: Options) -> Iterator[Batch]:
    builder = BatchBuilder(NAME)

    def conversation(value: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        if not _is_conversation(value):
            builder.record()
            builder.skip("unknown-record", line.where, "a conversation without messages", lost=holds_text(value))
            return
        yield from _conversation(builder, value, options.session or source.stem, line)

    yield from read_sessions(builder, json_records(source, _is_conversation), conversation)
    yield from builder.close()


def _conversation(builder: BatchBuilder, value: SourceRecord, fallback: str, line: RecordLine) -> Iterator[Batch]:
    messages = value["chat_messages"]
    thread = Thread(
        builder, as_name(value.get("uuid")), fallback, clock=SourceClock(moment(value.get("created_at")) or 0)
    )
    _describe(builder, thread, value)
    for number, message in enumerate(messages):
        builder.record(line.size // len(messages))
        place = f"{line.where}.chat_messages[{number}]"
        if isinstance(message, dict):
            yield from thread.admit(message, place, ESSENCE, _build)
        else:
            builder.skip("not-object", place)
    yield from builder.close(thread.session)


def _describe(builder: BatchBuilder, thread: Thread, value: SourceRecord) -> None:
    if as_name(value.get("name")):
        builder.title(thread.session, value["name"])
    facts = builder.facts(thread.session)
    shown = thread.id_of(value.get("current_leaf_message_uuid"))
    if shown:
        facts["shown_last"] = shown
    facts |= {field: value[field] for field in ("model", "summary") if as_name(value.get(field))}


def _build(message: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
    own, parent = message.get("uuid"), _parent(message)
    if not message.keys() & {"content", "text", "attachments", "files"}:
        return Fault("no-message", "", own, None if parent is LAST else parent, lost=holds_text(message))
    role = ROLES_BY_NAME.get(str(message.get("sender")))
    if role is None:
        flag("unknown-role", str(message.get("sender")))
    content = parts_of(message.get("content"), flag) or text_parts(message.get("text"))
    parts = (*content, *_attachments(message, flag), *_files(message, flag))
    return TurnDraft(role or "system", parts, own, parent, time=message.get("created_at"))


def _parent(message: SourceRecord) -> Any:
    if "parent_message_uuid" not in message:
        return LAST
    parent = message["parent_message_uuid"]
    return None if parent == NO_PARENT else parent


def _attachments(message: SourceRecord, flag: Flag) -> Iterator[Part]:
    for each in as_objects(message.get("attachments")):
        text, name = as_name(each.get("extracted_content")), as_name(each.get("file_name"))
        if text is None:
            yield pointer(as_name(each.get("id")), flag, media_type=each.get("file_type"), name=name)
        else:
            yield Part("text", text=text, name=name, media_type=as_name(each.get("file_type")))


def _files(message: SourceRecord, flag: Flag) -> Iterator[Part]:
    for each in as_objects(message.get("files")):
        media = "image/*" if each.get("file_kind") == "image" else None
        yield pointer(as_name(each.get("file_uuid")), flag, media_type=media, name=each.get("file_name"))
