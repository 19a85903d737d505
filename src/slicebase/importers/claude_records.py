"""The records of Claude Code's transcripts: which of them are turns, with which content, and what identifies one."""

from typing import Any, Final

from slicebase.importers.attachments import attachment_content
from slicebase.importers.blocks import (
    Content,
    Flag,
    as_name,
    as_objects,
    is_absent,
    marked,
    only_results,
    parts_of,
    same_content,
    summary_parts,
    text_parts,
)
from slicebase.importers.silence import without_turn
from slicebase.importers.thread import NonTurn, SourceRecord

# Records that are not turns themselves. Some of them contain one.
NO_TURNS: Final = frozenset(
    {
        "agent-name", "agent-setting", "ai-title", "api-request", "api-request-blob", "api-request-shape", "atis-latch",
        "attribution-snapshot", "bridge-session", "content-replacement", "cost-state", "custom-title",
        "file-history-delta", "file-history-snapshot", "last-prompt", "mode", "permission-mode", "pr-link", "progress",
        "queue-operation", "result", "started", "summary", "tag", "task-summary", "tools-used", "worktree-state",
    }
)  # fmt: skip
# Those that no model saw: what the client keeps for itself, and shows while a tool runs. `api-request` and its parts
# are the client's copy of a request: its own prompt, the descriptions of tools, and what other records say already.
SILENT: Final = (NO_TURNS - {"progress", "content-replacement"}) | {
    "queue-operation/dequeue", "queue-operation/enqueue", "queue-operation/popAll", "queue-operation/remove",
    "progress/bash_progress", "progress/hook_progress", "progress/mcp_progress", "progress/powershell_progress",
    "progress/query_update", "progress/search_results_received", "progress/waiting_for_task",
    "system/api_error", "system/api_metrics", "system/bridge_status", "system/stop_hook_summary",
    "system/turn_duration",
}  # fmt: skip
BOUNDARY: Final = "compact_boundary"
_HOOK_CONTEXT: Final = "saved_hook_context"
_MESSAGES: Final = ("user", "assistant")
_KINDS: Final = (*_MESSAGES, "system", "attachment", _HOOK_CONTEXT)
_REPLACEMENT: Final = "content-replacement"
_MARKS: Final = frozenset({"sessionId", "uuid", "messageId", "leafUuid", "agentId"})
# What a client types for the user, or writes about a command: `<command-name>`, `<local-command-stdout>`.
_COMMANDS: Final = ("<command-", "<local-command-")


def is_record(value: Any) -> bool:
    """Returns whether a value is a record of a transcript."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    kind = value["type"]
    if kind in _KINDS:
        return "uuid" in value and ("parentUuid" in value or "sessionId" in value)
    return kind in NO_TURNS and bool(value.keys() & _MARKS)


# What identifies a record

# The fields that say what a record is. All others differ between a record and its copy (ruling 15): in a resumed or
# forked session, by another version of the client, or in the progress of a subagent that has a file, too.
_IDENTITY: Final[tuple[str, ...]] = (
    "type", "subtype", "content", "attachment", "planContent", "replacements", "isMeta", "isCompactSummary",
    "isApiErrorMessage",
)  # fmt: skip


def essence(record: SourceRecord) -> SourceRecord:
    """Returns what identifies a record: its kind, and what was said in it. A field that is null or false is absent."""
    kept: SourceRecord = {key: record[key] for key in _IDENTITY if key in record and not is_absent(record[key])}
    message = record.get("message")
    if isinstance(message, dict):
        kept["message"] = {"role": message.get("role"), "content": same_content(message.get("content"))}
    return kept


# The content of a record


def content_of(record: SourceRecord, flag: Flag) -> Content | str | None:
    """Returns role and parts of a turn, or the kind of a record that is not a turn.

    Returns None for a record that should hold a turn and does not, and for one of an unknown type.
    """
    kind = record.get("type")
    if kind in _MESSAGES:
        return _message(record, kind, flag)
    if kind == "system":
        return _system(record, flag)
    if kind == _HOOK_CONTEXT:
        parts = marked(tuple(parts_of(record.get("content"), flag)), hidden=True)
        return ("system", parts) if parts else kind
    if kind == _REPLACEMENT:
        return _replacements(record)
    return attachment_content(record.get("attachment"), flag) if kind == "attachment" else None


def _message(record: SourceRecord, kind: str, flag: Flag) -> Content | None:
    message = record.get("message")
    if not isinstance(message, dict) or "content" not in message:
        return None
    parts = tuple(parts_of(message["content"], flag))
    if kind == "assistant":
        return "assistant", marked(parts, error=record.get("isApiErrorMessage") is True)
    parts = marked(parts, hidden=record.get("isMeta") is True)
    if record.get("isCompactSummary") is True:
        return "system", summary_parts(parts)
    plan = as_name(record.get("planContent"))
    if plan and not any(plan in (part.text or "") for part in parts):
        parts = (*parts, *marked(tuple(text_parts(plan)), hidden=True))
    return "tool" if only_results(parts) else "user", parts


def _system(record: SourceRecord, flag: Flag) -> Content | str | None:
    kind = f"system/{as_name(record.get('subtype')) or '-'}"
    parts = () if kind in SILENT else tuple(parts_of(record.get("content"), flag))
    if parts:
        return "system", marked(parts, hidden=record.get("isMeta") is True)
    return kind if isinstance(without_turn(kind, record, SILENT), NonTurn) else None


def _replacements(record: SourceRecord) -> Content | str:
    """Reads what the model saw from then on instead of long results."""
    given = as_objects(record.get("replacements"))
    parts = [part for each in given for part in text_parts(each.get("replacement"))]
    return ("system", marked(tuple(parts), hidden=True)) if parts else _REPLACEMENT


def is_command(record: SourceRecord) -> bool:
    """Returns whether a record is about a command of the client, and no message of a person or a model."""
    if record.get("isMeta") is True or record.get("type") in ("system", "attachment"):
        return True
    content = _content(record)
    texts = [content] if isinstance(content, str) else [block.get("text") for block in as_objects(content)]
    return record.get("type") == "user" and any(str(text).lstrip().startswith(_COMMANDS) for text in texts)


def is_prompt(record: SourceRecord) -> bool:
    """Returns whether a record is what a user wrote, or a command: no result, no summary, nothing of the client."""
    if record.get("type") != "user" or record.get("isMeta") is True or record.get("isCompactSummary") is True:
        return False
    content = _content(record)
    return isinstance(content, str) or any(block.get("type") != "tool_result" for block in as_objects(content))


# The calls of an answer


def answer_of(record: SourceRecord) -> str | None:
    """Returns the id of the answer that a record is a block of."""
    message = record.get("message")
    return as_name(message.get("id")) if isinstance(message, dict) else None


def call_ids(record: SourceRecord) -> list[str]:
    """Returns the ids of the calls in a record."""
    return _ids(record, "tool_use", "id")


def result_ids(record: SourceRecord) -> list[str]:
    """Returns the ids of the calls whose results are in a record."""
    return _ids(record, "tool_result", "tool_use_id")


def _ids(record: SourceRecord, kind: str, field: str) -> list[str]:
    blocks = as_objects(_content(record))
    return [name for block in blocks if block.get("type") == kind and (name := as_name(block.get(field)))]


def _content(record: SourceRecord) -> Any:
    message = record.get("message")
    return message.get("content") if isinstance(message, dict) else None


# Records inside records


FACTS: Final = {"cwd": "cwd", "gitBranch": "git_branch", "version": "version", "agentId": "agent"}


def add_facts(facts: dict[str, Any], record: SourceRecord) -> None:
    """Adds what a record says about its session, where no record before it did."""
    for field, fact in FACTS.items():
        if fact not in facts and as_name(record.get(field)):
            facts[fact] = record[field]


def model_of(record: SourceRecord) -> Any:
    """Returns the model that a record of an answer names."""
    message = record.get("message")
    return message.get("model") if record.get("type") == "assistant" and isinstance(message, dict) else None


def other_kind(record: SourceRecord) -> str:
    """Returns the kind of a record that is not a turn, as accounts name it: `progress/bash_progress`."""
    kind = str(record["type"])
    data = record.get("data")
    detail = data.get("type") if isinstance(data, dict) else record.get("operation")
    named = as_name(detail)
    return f"{kind}/{named}" if named and kind in ("progress", "queue-operation") else kind


_OF_SESSION: Final = ("sessionId", "cwd", "gitBranch", "version")
_OF_AGENTS: Final = ("agent_progress", "skill_progress")


def record_inside(record: SourceRecord) -> SourceRecord | None:
    """Returns the record with a turn that a record contains: of a subagent in its progress, or of replaced results.

    It is as the file of the subagent would have it.
    """
    if is_aside(record):
        return {**record, "isSidechain": as_name(record.get("agentId")) is not None}
    agent = agent_of(record)
    inner = record["data"].get("message") if agent else None
    if not isinstance(inner, dict):
        return None
    shared = {key: record[key] for key in _OF_SESSION if key in record}
    inner = {"timestamp": record.get("timestamp"), **inner, **shared}
    if inner.get("type") == "progress":  # of an agent that the agent started
        return record_inside(inner)
    return {**inner, "isSidechain": True, "agentId": agent} if inner.get("type") in _KINDS else None


def agent_of(record: SourceRecord) -> str | None:
    """Returns the agent whose progress a record is. One without an id is named by the call that started it."""
    data = record.get("data")
    if record.get("type") != "progress" or not isinstance(data, dict) or data.get("type") not in _OF_AGENTS:
        return None
    return as_name(data.get("agentId")) or as_name(record.get("parentToolUseID"))


def is_aside(record: SourceRecord) -> bool:
    """Returns whether a record is a turn beside the others: nothing follows it, and it names no parent."""
    return record.get("type") == _REPLACEMENT
