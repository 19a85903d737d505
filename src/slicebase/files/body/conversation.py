"""Reads the lines of a conversation body, and checks the header that describes them (§ Conversation)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct

from slicebase.files.body.lines import JsonLine, judge_time, read_lines
from slicebase.files.findings import Finding, HeaderProblem, shown
from slicebase.files.model import FLAG, TEXT, Form, is_texts, is_whole, misfits, text_or_none

COMPACTION_NOTE: Final = "compaction_note"
CONVERSATION_FORMATS: Final = ("messages", "transcript", "compacted")

# The fields that a line of each role must have, besides the role.
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "user": ("content",),
    "assistant": ("content",),
    "system": ("content",),
    "developer": ("content",),
    "tool": ("content",),
    "tool_call": ("name",),
    "tool_result": ("content",),
    COMPACTION_NOTE: ("summary",),
}
CONVERSATION_ROLES: Final = frozenset(_REQUIRED) - {COMPACTION_NOTE}
TOOL_ROLES: Final = frozenset({"tool", "tool_call", "tool_result"})


class ConversationEntry(Struct, frozen=True):
    """A message, a tool call, a tool result, or a note that older turns were compacted."""

    role: str  # one of the roles, or `compaction_note`
    text: str  # its content, or the note's summary
    time: int | None
    name: str | None
    args: Any
    call_id: str | None
    turns_summarized: int | None
    line: JsonLine


class Entries(NamedTuple):
    """The entries of a conversation body, and the findings about its lines."""

    entries: tuple[ConversationEntry, ...]
    findings: tuple[Finding, ...]


def read_conversation(body: bytes, first_line: int = 1, file: str = "") -> Entries:
    """Returns the entries of a conversation body and the findings about them. `first_line` is its line in the file."""
    lines, unreadable = read_lines(body, first_line, file)
    findings = list(unreadable)
    entries = [entry for line in lines if (entry := _read_entry(line, findings)) is not None]
    findings.extend(flow_findings(entries))
    return Entries(tuple(entries), tuple(findings))


def _read_entry(line: JsonLine, findings: list[Finding]) -> ConversationEntry | None:
    value = line.value
    role = COMPACTION_NOTE if value.get("type") == COMPACTION_NOTE else value.get("role")
    if not isinstance(role, str) or not role:
        message = "the line has no role" if role is None else f"{shown(role)} is not a role"
        hint = f"roles are {', '.join(sorted(CONVERSATION_ROLES))}; a compaction note has `type`: {COMPACTION_NOTE}"
        findings.append(line.finding("conversation-role", message, "role", hint=hint))
        return None
    findings.extend(_line_findings(line, role))
    time, problem = judge_time(value["ts"]) if "ts" in value else (None, None)
    if problem:
        findings.append(line.finding(problem.rule, problem.message, "ts", hint=problem.hint))
    text = value.get("summary" if role == COMPACTION_NOTE else "content")
    turns = value.get("turns_summarized")
    return ConversationEntry(
        role=role,
        text=text if isinstance(text, str) else "",
        time=time,
        name=text_or_none(value.get("name")),
        args=value.get("args"),
        call_id=text_or_none(value.get("call_id")),
        turns_summarized=turns if is_whole(turns) else None,
        line=line,
    )


def _line_findings(line: JsonLine, role: str) -> Iterator[Finding]:
    if role not in _REQUIRED:
        yield line.finding("conversation-role-unknown", f"{shown(role)} is not a known role", "role")
    for key in _REQUIRED.get(role, ()):
        value = line.value.get(key)
        if not isinstance(value, str):
            message = f"a {role} line needs text as `{key}`" + (f", not {shown(value)}" if key in line.value else "")
            yield line.finding("conversation-line", message, key)
    if role in ("tool_call", "tool_result") and not isinstance(line.value.get("call_id"), str):
        yield line.finding("call-id", f"the {role} has no call_id, so call and result cannot be paired", "call_id")
    turns = line.value.get("turns_summarized")
    if turns is not None and not is_whole(turns):
        message = f"`turns_summarized` is {shown(turns)}, not a count"
        yield line.finding("conversation-line", message, "turns_summarized")


# The rules that concern several lines.
FLOW_RULES: Final = frozenset({"call-pairs", "call-unknown", "call-unanswered", "conversation-order"})


def flow_findings(entries: Sequence[ConversationEntry]) -> Iterator[Finding]:
    """Yields the findings about lines that depend on each other: calls and their results, and times."""
    yield from _call_findings(entries)
    yield from _order_findings(entries)


def _call_findings(entries: Sequence[ConversationEntry]) -> Iterator[Finding]:
    """Checks that each result comes after its call, and that each call has its own id and one result."""
    calls: dict[str, JsonLine] = {}
    finished: set[str] = set()
    for line, kind, name in (piece for entry in entries for piece in _tool_pieces(entry)):
        if kind == "tool_call":
            if name in calls:
                yield line.finding("call-pairs", f"another call has the id {shown(name)}", "call_id")
            calls.setdefault(name, line)
            continue
        if name not in calls:
            yield line.finding(
                "call-unknown", f"the result names {shown(name)}, but no call before it has that id", "call_id"
            )
        elif name in finished:
            yield line.finding("call-pairs", f"the call {shown(name)} already has a result", "call_id")
        finished.add(name)
    for name, line in calls.items():
        if name not in finished:
            yield line.finding("call-unanswered", f"the call {shown(name)} has no result", "call_id")


def _tool_pieces(entry: ConversationEntry) -> Iterator[tuple[JsonLine, str, str]]:
    """Yields the calls and results of a line: its own, or those in the parts in an exported message's `_meta`."""
    if entry.role in TOOL_ROLES and entry.call_id is not None:
        yield entry.line, entry.role, entry.call_id
        return
    meta = entry.line.value.get("_meta")
    parts = meta.get("parts") if isinstance(meta, dict) else None
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and part.get("type") in TOOL_ROLES and isinstance(part.get("call_id"), str):
            yield entry.line, part["type"], part["call_id"]


def _order_findings(entries: Sequence[ConversationEntry]) -> Iterator[Finding]:
    latest: int | None = None
    for entry in entries:
        if entry.time is None:
            continue
        if latest is not None and entry.time < latest:
            yield entry.line.finding("conversation-order", "the line is older than a line before it", "ts")
        latest = entry.time if latest is None else max(latest, entry.time)


def _hex(digits: int) -> Form:
    form = re.compile(rf"[0-9a-fA-F]{{{digits}}}")
    return Form(lambda value: isinstance(value, str) and form.fullmatch(value) is not None, f"{digits} hex digits")


_HEADER: Final = {
    "participants": Form(is_texts, "a list of names"),
    "agent_id": TEXT,
    "session_id": TEXT,
    "trace_id": _hex(32),
    "span_id": _hex(16),
    "format": Form(CONVERSATION_FORMATS.__contains__, f"one of {', '.join(CONVERSATION_FORMATS)}"),
    "includes_tool_calls": FLAG,
    "includes_compaction": FLAG,
}


def header_problems(header: Mapping[str, Any]) -> Iterator[HeaderProblem]:
    """Yields the header's values that do not have their form. Paths start at the keys of `conversation`."""
    for misfit in misfits(header, _HEADER):
        message = f"`{misfit.name}` is {shown(misfit.value)}, not {misfit.form}"
        yield HeaderProblem("conversation-header", misfit.path, message)


_STATEMENTS: Final = (
    ("includes_tool_calls", TOOL_ROLES, "tool calls"),
    ("includes_compaction", frozenset({COMPACTION_NOTE}), "compaction notes"),
)


def contradictions(header: Mapping[str, Any], entries: Sequence[ConversationEntry]) -> Iterator[HeaderProblem]:
    """Yields the statements of the header that do not agree with the lines."""
    roles = {entry.role: None for entry in entries}
    participants = header.get("participants")
    if isinstance(participants, list):
        absent = [role for role in roles if role != COMPACTION_NOTE and role not in participants]
        if absent:
            message = f"`participants` does not list {', '.join(absent)}, but the body has these roles"
            yield HeaderProblem("conversation-contradiction", ("participants",), message)
    for key, stated_roles, name in _STATEMENTS:
        found = not stated_roles.isdisjoint(roles)
        if isinstance(header.get(key), bool) and header[key] != found and entries:
            message = f"`{key}` is {str(header[key]).lower()}, but the body has {'' if found else 'no '}{name}"
            yield HeaderProblem("conversation-contradiction", (key,), message)
