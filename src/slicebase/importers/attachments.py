"""Attachments of Claude Code's transcripts: what the client put before the model beside the messages.

Files brought in with `@`, contexts of hooks, plans, to-do lists, memories, reminders. What reached the model is the
content of a turn of the system that the client does not show. The client also records attachments for itself: these are
`UNSEEN`. Of an attachment of an unknown type every text is kept, because a model may have seen it.
"""

import re
from collections.abc import Container, Iterator
from typing import Any, Final

from slicebase.graph.turn import Part
from slicebase.importers.blocks import Content, Flag, as_name, content_uri, marked, parts_of, pointer
from slicebase.importers.silence import holds_text

Attachment = dict[str, Any]

# Types that the client never sends to a model.
UNSEEN: Final = frozenset(
    {
        "already_read_file", "bagel_console", "command_permissions", "current_session_memory", "dynamic_skill",
        "edited_image_file", "hook_cancelled", "hook_error_during_execution", "hook_non_blocking_error",
        "hook_permission_decision", "hook_system_message", "max_turns_reached", "structured_output",
        "teammate_shutdown_batch",
    }
)  # fmt: skip
# The output of a hook that succeeded reaches the model at these events only.
_HEARD_EVENTS: Final = frozenset({"SessionStart", "UserPromptSubmit"})
_HOOK: Final = frozenset({"hookEvent", "toolUseID"})
# The fields that the client does not send, by type, at any depth: names for itself, and what another field says, too.
ASIDE: Final[dict[str, frozenset[str]]] = {
    "agent_listing_delta": frozenset({"addedTypes"}),
    "async_hook_response": _HOOK | {"hookEventName", "hookName", "processId", "stderr", "stdout", "toolName"},
    "auto_mode": frozenset({"reminderType"}),
    "compact_file_reference": frozenset({"displayPath"}),
    "deferred_tools_delta": frozenset({"addedNames"}),
    "diagnostics": frozenset(),
    "directory": frozenset({"displayPath"}),
    "file": frozenset({"displayPath", "filePath", "type"}),
    "hook_additional_context": _HOOK,
    "hook_blocking_error": _HOOK,
    "hook_stopped_continuation": _HOOK,
    "hook_success": _HOOK | {"command", "stderr", "stdout"},
    "mcp_instructions_delta": frozenset({"addedNames"}),
    "mcp_resource": frozenset({"mimeType"}),
    "nested_memory": frozenset({"displayPath", "type"}),
    "pdf_reference": frozenset({"displayPath"}),
    "plan_mode": frozenset({"reminderType"}),
    "selected_lines_in_ide": frozenset({"displayPath", "ideName"}),
    "skill_discovery": frozenset({"shortId", "signal", "source"}),
    "task_reminder": frozenset({"activeForm"}),
    "task_status": frozenset({"taskType"}),
    "team_context": frozenset({"agentId"}),
    "teammate_mailbox": frozenset({"color", "timestamp"}),
    "todo_reminder": frozenset({"activeForm"}),
}


def attachment_content(attachment: Any, flag: Flag) -> Content | str | None:
    """Returns role and parts of what reached the model, or the kind of an attachment that did not.

    Returns None for what has text and is no attachment.
    """
    if not isinstance(attachment, dict):
        return None if holds_text({"content": attachment}) else "attachment/-"
    kind = as_name(attachment.get("type")) or "-"
    if kind == "queued_command" and attachment.get("prompt"):
        typed = attachment.get("commandMode", "prompt") == "prompt" and attachment.get("isMeta") is not True
        return "user" if typed else "system", tuple(parts_of(attachment["prompt"], flag))
    if kind in UNSEEN or (kind == "hook_success" and attachment.get("hookEvent") not in _HEARD_EVENTS):
        return f"attachment/{kind}"
    if kind == "hook_success" and not attachment.get("content"):  # then the client says nothing about it
        return f"attachment/{kind}"
    given = {key: value for key, value in attachment.items() if key != "type"}
    found = list(_pieces(given, ASIDE.get(kind, ()), flag))
    text = "\n".join(piece for piece in found if isinstance(piece, str))
    pointers = [piece for piece in found if isinstance(piece, Part)]
    parts = (*([Part("text", text=text)] if text else []), *pointers)
    return ("system", marked(parts, hidden=True)) if parts else f"attachment/{kind}"


def _pieces(value: Any, aside: Container[str], flag: Flag) -> Iterator[str | Part]:
    """Yields the texts in a value, in the source's order, and pointers to the media in it."""
    if isinstance(value, str):
        if value:
            yield pointer(content_uri(value), flag) if _is_binary(value) else value
    elif isinstance(value, list):
        for inner in value:
            yield from _pieces(inner, aside, flag)
    elif isinstance(value, dict):
        yield from _pieces_of_object(value, aside, flag)


def _pieces_of_object(value: Attachment, aside: Container[str], flag: Flag) -> Iterator[str | Part]:
    if as_name(value.get("content")) and as_name(value.get("status")):  # an entry of a to-do list
        yield f"[{value['status']}] {value['content']}"
        value = {key: inner for key, inner in value.items() if key not in ("content", "status")}
    media = next((value[key] for key in _MEDIA_TYPES if "/" in str(value.get(key))), None)
    for key, inner in value.items():
        if isinstance(inner, str) and (key in _BYTES or (key == "data" and media)) and _ENCODED.fullmatch(inner):
            yield pointer(content_uri(inner), flag, media_type=media, name=value.get("filePath"))
        elif key not in aside:
            yield from _pieces(inner, aside, flag)


_BYTES: Final = ("base64", "blob")
_MEDIA_TYPES: Final = ("mimeType", "media_type", "mime_type", "type")
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_=\s-]*+")
_LEAST_BINARY: Final = 256  # characters of encoded bytes in a field that does not say so


def _is_binary(text: str) -> bool:
    """Returns whether a string is bytes as base64: a data URI, or so many letters without a space between them."""
    if text.startswith("data:") and ";base64," in text[:200]:
        return True
    return len(text) >= _LEAST_BINARY and not re.search(r"\s", text[:_LEAST_BINARY]) and bool(_ENCODED.fullmatch(text))
