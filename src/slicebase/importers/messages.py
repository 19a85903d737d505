"""Plain lists of messages in the shape of the OpenAI or the Anthropic interface.

- A list of messages, or JSON Lines of them, is one session, named by `--session` or the file.
- Objects with `messages` (or `conversations` of `from` and `value`) are a session each, named by their own id, else by
  the file's name and their number.

A message follows the one before it, unless it names its parent. Items of the Responses interface are also read.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from slicebase.graph.turn import Part
from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import (
    ROLES_BY_NAME,
    Flag,
    arguments_of,
    as_name,
    as_text,
    only_results,
    parts_of,
    text_parts,
)
from slicebase.importers.elements import first_values, json_records
from slicebase.importers.json_stream import RecordLine, without
from slicebase.importers.responses import is_item, item_content
from slicebase.importers.thread import LAST, Fault, NonTurn, SourceRecord, Thread, TurnDraft, read_sessions
from slicebase.importers.times import start_of
from slicebase.importers.values import Batch, Format, ImportSource, Options, Read

NAME: Final = "messages"
ESSENCE: Final = without("usage")

MESSAGE_LISTS: Final = ("messages", "conversations", "conversation")
SESSION_IDS: Final = ("session_id", "conversation_id", "thread_id", "id")
IDS: Final = ("id", "uuid", "message_id")
PARENTS: Final = ("parent_id", "parent")
TIMES: Final = ("timestamp", "ts", "created_at", "create_time", "time")
_LIST_OPENS: Final = re.compile(rb'"(?:messages|conversations?)"\s*:\s*\[\s*\{\s*"(?:role|from)"')


def sniff(head: bytes, name: str) -> bool:
    return any(map(_is_record, first_values(head, name, 5))) or _is_cut_document(head)


def _is_cut_document(head: bytes) -> bool:
    """Returns whether the head is the beginning of one large object with messages."""
    opening = _LIST_OPENS.search(head)
    before = head[: opening.start()] if opening else b""
    return before.lstrip().startswith(b"{") and before.count(b"{") - before.count(b"}") == 1


def _is_record(value: Any) -> bool:
    return _is_message(value) or _list_in(value) is not None


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if as_name(value.get("role")) in ROLES_BY_NAME and value.keys() & {"content", "tool_calls", "function_call"}:
        return True
    return {"from", "value"} <= value.keys() or is_item(value)


def _list_in(value: Any) -> list[Any] | None:
    if not isinstance(value, dict):
        return None
    found = next((value[key] for key in MESSAGE_LISTS if isinstance(value.get(key), list)), None)
    return found if found and any(_is_message(message) for message in found) else None


def start(options: Options) -> Read:
    return lambda source: _read(source, options)


FORMAT: Final = Format(NAME, sniff, start)


def _read(source: ImportSource, options: Options) -> Iterator[Batch]:
    builder = BatchBuilder(NAME)
    fallback = options.session or source.stem
    common = Thread(builder, None, fallback)
    sessions = 0

    def line_of(value: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        nonlocal sessions
        messages = _list_in(value)
        if messages is None:
            builder.record(line.size)
            yield from common.admit(value, line.where, ESSENCE, _build)
            return
        named = as_name(_first(value, SESSION_IDS))
        thread = Thread(builder, named, fallback if sessions == 0 else f"{fallback}#{sessions}")
        sessions += 1
        yield from _session(thread, value, messages, line)

    common.clock.now, lines = start_of(json_records(source, _is_record), _first_time)
    yield from read_sessions(builder, lines, line_of)
    yield from builder.close()


def _session(thread: Thread, value: SourceRecord, messages: list[Any], line: RecordLine) -> Iterator[Batch]:
    builder = thread.builder
    title = as_name(value.get("title")) or as_name(value.get("name"))
    if title:
        builder.title(thread.session, title)
    thread.clock.now, _ = start_of(messages, _time)
    if value.get("system"):
        messages = [{"role": "system", "content": value["system"]}, *messages]
    for number, message in enumerate(messages):
        builder.record(line.size // len(messages))
        place = f"{line.where}.messages[{number}]"
        if isinstance(message, dict):
            yield from thread.admit(message, place, ESSENCE, _build)
        else:
            builder.skip("not-object", place)
    yield from builder.close(thread.session)


def _first(value: Any, keys: tuple[str, ...]) -> Any:
    return next((value[key] for key in keys if value.get(key) is not None), None) if isinstance(value, dict) else None


def _time(value: Any) -> Any:
    return _first(value, TIMES)


def _first_time(line: RecordLine) -> Any:
    """Returns the time of a message, or of a list's first message, so that a search for a time holds few lists."""
    listed = _list_in(line.piece.value)
    return _time(listed[0] if listed else line.piece.value)


def _build(message: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
    own, time = _first(message, IDS), _time(message)
    parent = next((message[key] for key in PARENTS if key in message), LAST)
    if "role" not in message and "from" not in message:
        content = item_content(message, flag)
        if content is None:
            return Fault("unknown-record", str(message.get("type")), own, lost="content" in message)
        return TurnDraft(*content, source_id=own, parent=parent, time=time)
    name = str(message.get("role") or message.get("from"))
    role = ROLES_BY_NAME.get(name)
    if role is None:
        flag("unknown-role", name)
    parts = tuple(_parts(message, name, flag))
    if role == "user" and only_results(parts):
        role = "tool"
    return TurnDraft(role or "system", parts, own, parent, time=time)


def _parts(message: SourceRecord, role: str, flag: Flag) -> Iterator[Part]:
    yield from text_parts(message.get("reasoning_content") or message.get("reasoning"), "thinking")
    content = parts_of(message.get("content") if "content" in message else message.get("value"), flag)
    if ROLES_BY_NAME.get(role) == "tool" and not any(part.type == "tool_result" for part in content):
        yield _result(message, content)
        content = [part for part in content if part.type == "pointer"]
    yield from content
    yield from text_parts(message.get("refusal"))
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        yield _call(call if isinstance(call, dict) else {"function": call})
    if message.get("function_call"):
        yield _call({"function": message["function_call"]})


def _result(message: SourceRecord, content: list[Part]) -> Part:
    text = "\n".join(part.text for part in content if part.text is not None)
    call_id = as_name(message.get("tool_call_id"))
    return Part("tool_result", text=text, call_id=call_id, name=as_name(message.get("name")))


def _call(call: SourceRecord) -> Part:
    function = call.get("function")
    named = function if isinstance(function, dict) else call
    arguments = arguments_of(named.get("arguments", named.get("input", named.get("args"))))
    return Part("tool_call", name=as_text(named.get("name")), arguments=arguments, call_id=as_name(call.get("id")))
