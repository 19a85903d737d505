"""OpenAssistant's message trees: one tree on each line, with nested replies; or one message on each line.

Each tree is a session. Where the ranks of replies differ from their order, the order in the file counts.
"""

from collections.abc import Iterator
from typing import Any, Final

from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import ROLES_BY_NAME, Flag, as_name, text_parts
from slicebase.importers.elements import json_records
from slicebase.importers.json_stream import RecordLine
from slicebase.importers.thread import Fault, NonTurn, SourceRecord, Thread, TurnDraft, read_sessions
from slicebase.importers.values import Batch, Format, Head, ImportSource, Options, Read

NAME: Final = "oasst"


def sniff(head: Head) -> bool:
    return any(map(_is_marked, head.records))


def _is_marked(value: SourceRecord) -> bool:
    """Returns whether a value is a tree or a message that can be nothing else."""
    prompt = value.get("prompt")
    nested = isinstance(prompt, dict) and _is_marked(prompt)
    return "message_tree_id" in value or {"replies", "message_id"} <= value.keys() or nested


def start(options: Options) -> Read:
    return lambda source: _read(source, options)


FORMAT: Final = Format(NAME, sniff, start)


def _is_tree(value: Any) -> bool:
    return isinstance(value, dict) and ("prompt" in value or "message_id" in value)


def _read(source: ImportSource, options: Options) -> Iterator[Batch]:
    builder = BatchBuilder(NAME)
    fallback = options.session or source.stem
    flat: dict[str, Thread] = {}  # sessions with one message on each line, in any order

    def line_of(value: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        thread = Thread(builder, as_name(value.get("message_tree_id")), fallback)
        if "prompt" not in value and "replies" not in value:
            thread = flat.setdefault(thread.session, thread)
            builder.record(line.size)
            yield from thread.admit(value, line.where, _essence, _build)
            return
        for message, place in _messages(value.get("prompt", value), line.where):
            builder.record()
            if isinstance(message, dict):
                yield from thread.admit(message, place, _essence, _build)
            else:
                builder.skip("not-object", place)
        yield from builder.close(thread.session)

    yield from read_sessions(builder, json_records(source, _is_tree), line_of)
    yield from builder.close()


def _messages(root: Any, where: str) -> Iterator[tuple[Any, str]]:
    """Yields the messages of a tree with their places: parents first, replies in their order, each with its parent."""
    ahead = [(root, f"{where}.prompt")]
    while ahead:
        message, place = ahead.pop()
        yield message, place
        replies = message.get("replies") if isinstance(message, dict) else None
        if isinstance(replies, list):
            named = [_with_parent(reply, message) for reply in replies]
            ahead += reversed([(reply, f"{place}.replies[{number}]") for number, reply in enumerate(named)])


def _with_parent(reply: Any, parent: SourceRecord) -> Any:
    return {"parent_id": parent.get("message_id"), **reply} if isinstance(reply, dict) else reply


def _essence(message: SourceRecord) -> SourceRecord:
    """Returns the fields that are hashed. Reviews change labels, ranks and counts of a message later (ruling 15)."""
    return {key: message.get(key) for key in ("message_id", "parent_id", "text", "role", "created_date")}


def _build(message: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
    own, parent = message.get("message_id"), message.get("parent_id")
    if not isinstance(message.get("text"), str):
        return Fault("no-message", "", own, parent)
    role = ROLES_BY_NAME.get(str(message.get("role")))
    if role is None:
        flag("unknown-role", str(message.get("role")))
    return TurnDraft(
        role or "system", tuple(text_parts(message["text"])), own, parent, time=message.get("created_date")
    )
