"""The records of Codex's rollouts: which there are, what identifies one, and what it says."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from slicebase.graph.turn import Part
from slicebase.importers.blocks import ROLES_BY_NAME, Content, Flag, as_name, as_text, marked, parts_of
from slicebase.importers.json_stream import DecodedValue, RecordLine, without
from slicebase.importers.responses import is_item
from slicebase.importers.silence import is_text
from slicebase.importers.thread import SourceRecord, TurnDraft

NO_TURNS: Final = frozenset(
    {"session_meta", "turn_context", "world_state", "inter_agent_communication_metadata", "ghost_snapshot", "state"}
)
WRAPPERS: Final = NO_TURNS | {"response_item", "event_msg", "compacted"}
# The beginnings of texts that Codex itself writes as the user.
INJECTED_TAGS: Final = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
)
FACTS: Final = {
    "cwd": "cwd", "cli_version": "version", "originator": "originator", "forked_from_id": "forked_from",
    "parent_thread_id": "parent_session", "agent_nickname": "agent", "agent_role": "agent_role",
    "agent_path": "agent_path",
}  # fmt: skip
# Fields with texts for the model in records that are no turns otherwise, however short, at any depth outside
# `dynamic_tools`. Longer texts are told under any name.
TOLD_FIELDS: Final = frozenset(
    {
        "instructions", "base_instructions", "user_instructions", "developer_instructions", "environments_instructions",
        "apps_instructions", "plugins_instructions", "text", "body", "multi_agent_usage_hint",
    }
)  # fmt: skip


def is_record(value: Any) -> bool:
    """Returns whether a value is a record of a rollout, whatever the file is called."""
    if not isinstance(value, dict):
        return False
    wrapped = as_name(value.get("type")) in WRAPPERS and isinstance(value.get("payload"), dict)
    return wrapped or is_old_head(value) or is_document(value)


def is_old_head(value: SourceRecord) -> bool:
    """Returns whether a record is the first line of an older rollout, about the session."""
    return "type" not in value and {"id", "timestamp", "instructions"} <= value.keys()


def is_document(value: SourceRecord) -> bool:
    """Returns whether a record is a complete rollout of the oldest form."""
    return isinstance(value.get("session"), dict) and isinstance(value.get("items"), list)


def is_loose(value: Any) -> bool:
    """Returns whether a value may be a record of a rollout without the wrapper of the current form."""
    return isinstance(value, dict) and (is_item(value) or "role" in value)


# What identifies a record

_AROUND: Final = without("ordinal", "cwd", "version", "cli_version")


def essence(record: SourceRecord) -> SourceRecord:
    """Returns what identifies a record. One about a session, a context or the world is what it tells the model."""
    kind, payload = as_name(record.get("type")), record.get("payload")
    if kind in NO_TURNS or is_old_head(record):
        return {"type": kind, "told": [*instructions(payload if isinstance(payload, dict) else record)]}
    kept = _AROUND(record)
    return {**kept, "payload": _AROUND(payload)} if isinstance(payload, dict) else kept


# What a record says


def call_of(payload: Any) -> str | None:
    """Returns the call that a record makes, answers or reports on."""
    return as_name(payload.get("call_id")) if isinstance(payload, dict) else None


def started_by(source: Any) -> str | None:
    """Returns the thread that started an agent, as the older form of a session's record names it."""
    for key in ("subagent", "thread_spawn", "parent_thread_id"):
        source = source.get(key) if isinstance(source, dict) else None
    return as_name(source)


def instructions(value: Any, name: str = "") -> Iterator[str]:
    """Yields the texts for the model in a record about the session, a turn's context or the world."""
    if isinstance(value, str):
        if name in TOLD_FIELDS or is_text(value):
            yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key != "dynamic_tools":
                yield from instructions(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from instructions(inner, name)


def as_turn(content: Content, item: SourceRecord, time: Any) -> TurnDraft:
    """Returns the turn of an item; what Codex itself writes as the user is hidden."""
    role, parts = content
    injected = role == "user" and all((part.text or "").lstrip().startswith(INJECTED_TAGS) for part in parts)
    return TurnDraft(role, marked(parts, hidden=injected), source_id=item.get("id"), time=time)


def loose_content(record: SourceRecord, flag: Flag) -> Content | None:
    """Returns the content of an irregular record: a role and a message, or the result of a function."""
    role = ROLES_BY_NAME.get(str(record.get("role")))
    if role is not None:
        return role, tuple(parts_of(record.get("content") or record.get("message"), flag))
    if record.get("type") == "function_result":
        text = as_text(record.get("result"))
        return "tool", (
            Part("tool_result", text=text, name=as_name(record.get("name")), call_id=as_name(record.get("call_id"))),
        )
    return None


# Lines


def unfolded(lines: Iterable[RecordLine]) -> Iterator[RecordLine]:
    """Yields the lines. The oldest rollouts are one object, and each of its items becomes a line."""
    for line in lines:
        value = line.piece.value
        if isinstance(value, dict) and is_document(value):
            about = DecodedValue({**value["session"], "record_type": "session_meta"})
            yield line._replace(where=f"{line.where}.session", piece=about)
            for number, item in enumerate(value["items"]):
                yield line._replace(where=f"{line.where}.items[{number}]", size=0, piece=DecodedValue(item))
        else:
            yield line


def time_of(line: RecordLine) -> Any:
    """Returns the time of a record as it states it."""
    value = line.piece.value
    return (value.get("timestamp") or value.get("created_at")) if isinstance(value, dict) else None
