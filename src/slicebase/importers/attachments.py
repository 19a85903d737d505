"""Attachments of Claude Code's transcripts: what the client put before the model beside the messages.

Files brought in with `@`, contexts of hooks, plans, to-do lists, memories, reminders. What reached the model is the
content of a turn of the system that the client does not show. The client also records attachments for itself: these are
`UNSEEN`. An attachment of an unknown type is kept, because a model may have seen it.
"""

from collections.abc import Iterator
from typing import Any, Final

from slicebase.graph.turn import Part
from slicebase.importers.blocks import Content, Flag, as_name, content_uri, marked, parts_of, pointer

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
# Fields with names and kinds instead of text, or with what another field says, too.
_NOT_TEXT: Final = frozenset(
    {
        "activeForm", "color", "command", "commandMode", "displayPath", "durationMs", "filePath", "hookEvent",
        "hookName", "id", "isSubAgent", "origin", "priority", "reminderType", "source_uuid", "stderr", "stdout",
        "taskType", "timestamp", "toolUseID", "toolUseIDs", "type", "uuid",
    }
)  # fmt: skip


def attachment_content(attachment: Any, flag: Flag) -> Content | str:
    """Returns role and parts of what reached the model, or the kind of an attachment that did not."""
    if not isinstance(attachment, dict):
        return "attachment/-"
    kind = as_name(attachment.get("type")) or "-"
    if kind == "queued_command" and attachment.get("prompt"):
        typed = attachment.get("commandMode", "prompt") == "prompt" and attachment.get("isMeta") is not True
        return "user" if typed else "system", tuple(parts_of(attachment["prompt"], flag))
    if kind in UNSEEN or (kind == "hook_success" and attachment.get("hookEvent") not in _HEARD_EVENTS):
        return f"attachment/{kind}"
    parts = _parts(attachment, flag)
    return ("system", marked(parts, hidden=True)) if parts else f"attachment/{kind}"


def _parts(attachment: Attachment, flag: Flag) -> tuple[Part, ...]:
    found = list(_pieces(attachment, flag))
    text = "\n".join(piece for piece in found if isinstance(piece, str))
    pointers = [piece for piece in found if isinstance(piece, Part)]
    return (*([Part("text", text=text)] if text else []), *pointers)


def _pieces(value: Any, flag: Flag) -> Iterator[str | Part]:
    """Yields the texts in a value, in the source's order, and pointers to the media in it."""
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _pieces(inner, flag)
    elif isinstance(value, dict):
        yield from _pieces_of_object(value, flag)


def _pieces_of_object(value: Attachment, flag: Flag) -> Iterator[str | Part]:
    if as_name(value.get("content")) and as_name(value.get("status")):  # an entry of a to-do list
        yield f"[{value['status']}] {value['content']}"
        return
    for key, inner in value.items():
        if key in ("base64", "data") and isinstance(inner, str):
            yield pointer(content_uri(inner), flag, media_type=value.get("type"), name=value.get("filePath"))
        elif key not in _NOT_TEXT:
            yield from _pieces(inner, flag)
