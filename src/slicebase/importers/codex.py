"""Codex CLI's rollouts: JSON Lines, in all the forms that Codex has used.

- Current form: `{timestamp, type, payload}`. A `response_item` is a turn. An `event_msg` shows on the screen what a
  response item says to the model; it is a turn only if no item says it. `compacted` is a turn of the system: the
  summary, and what the history that replaces the compacted turns says for the first time.
- Older forms: a first line about the session, then bare response items without times; or one JSON object with `session`
  and `items`.
- Irregular records: bare records with `role` and `message`, function calls and results.

Instructions in records about the session, a turn's context or the world are a turn of the system, each text once. A
turn follows the one before it; the result of a call names its call. The session of a subagent continues the turn whose
call started it.
"""

from collections.abc import Iterator
from typing import Any, Final

from slicebase.graph.turn import Part
from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import (
    ROLES_BY_NAME,
    Content,
    Flag,
    as_name,
    as_objects,
    as_text,
    marked,
    no_flag,
    parts_of,
    summary_parts,
    text_parts,
)
from slicebase.importers.codex_events import ToldTexts, agents_in, event_content, event_kind, is_silent
from slicebase.importers.elements import json_records
from slicebase.importers.json_stream import DecodedValue, RecordLine, without
from slicebase.importers.responses import is_item, item_content
from slicebase.importers.silence import holds_text, is_text, without_turn
from slicebase.importers.subagents import session_keys
from slicebase.importers.thread import Fault, NonTurn, SourceRecord, Thread, TurnDraft, read_records
from slicebase.importers.times import start_of
from slicebase.importers.values import Batch, Format, Head, ImportSource, KnownAgents, Options, Read, StarterKey

NAME: Final = "codex"

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


def sniff(head: Head) -> bool:
    is_rollout = ImportSource(head.name, ()).stem.startswith("rollout-")
    return any(map(_is_record, head.records)) or (is_rollout and any(map(_is_loose, head.records)))


def _is_record(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    wrapped = as_name(value.get("type")) in WRAPPERS and isinstance(value.get("payload"), dict)
    return wrapped or _is_old_head(value) or _is_document(value)


def _is_old_head(value: SourceRecord) -> bool:
    return "type" not in value and {"id", "timestamp", "instructions"} <= value.keys()


def _is_document(value: SourceRecord) -> bool:
    return isinstance(value.get("session"), dict) and isinstance(value.get("items"), list)


def _is_loose(value: Any) -> bool:
    return isinstance(value, dict) and (is_item(value) or "role" in value)


def start(options: Options) -> Read:
    return lambda source: _Rollout(source, options).read()


FORMAT: Final = Format(NAME, sniff, start)


# What identifies a record

_AROUND: Final = without("ordinal", "cwd", "version", "cli_version")


def _essence(record: SourceRecord) -> SourceRecord:
    """Returns what identifies a record. One about a session, a context or the world is what it tells the model."""
    kind, payload = as_name(record.get("type")), record.get("payload")
    if kind in NO_TURNS or _is_old_head(record):
        return {"type": kind, "told": [*_instructions(payload if isinstance(payload, dict) else record)]}
    kept = _AROUND(record)
    return {**kept, "payload": _AROUND(payload)} if isinstance(payload, dict) else kept


class _Rollout:
    """The reader of one rollout."""

    def __init__(self, source: ImportSource, options: Options) -> None:
        self.source = source
        self.builder = BatchBuilder(NAME)
        self.thread = Thread(self.builder, None, options.session or source.stem)
        self.knows_session = False
        self.told = ToldTexts()
        self.first: str | None = None
        self.calls: dict[str, str] = {}  # the turns of calls
        self.starters: dict[StarterKey, str] = {}

    def read(self) -> Iterator[Batch]:
        records = _unfolded(json_records(self.source, _is_record))
        lines = self.told.following(records, is_growing=self.source.is_growing)
        self.thread.clock.now, lines = start_of(lines, _time_of)
        yield from read_records(self.builder, lines, self._record)
        for line in self.told.undecided:
            self.builder.record(line.size)
            self.builder.skip("unfinished", line.where, lost=False)
        facts, own = self.builder.facts(self.thread.session), self.thread.session
        parent = facts.get("parent_session")
        if self.thread.last is not None:
            facts["shown_last"] = self.thread.last
        yield from self.builder.close()
        waits = [(key, [self.first]) for key in session_keys(parent, own)] if parent and self.first else []
        if self.starters or waits:
            yield Batch(None, agents=KnownAgents(list(self.starters.items()), waits))

    def _record(self, record: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        self._read_session(record)
        if record.get("type") == "turn_context" and isinstance(context := record.get("payload"), dict):
            self.builder.answered_by(self.thread.session, context.get("model"))
        yield from self.thread.admit(record, line.where, _essence, self._build)
        self.first = self.first or self.thread.last
        call = _call_of(record.get("payload"))
        if call and self.thread.last:
            self.calls.setdefault(call, self.thread.last)

    def _read_session(self, record: SourceRecord) -> None:
        """Reads the session's name and facts from the first record about a session.

        In a fork, the records of the sessions that it came from follow; they are ignored.
        """
        if self.knows_session or not (record.get("type") == "session_meta" or _is_old_head(record)):
            return
        self.knows_session = True
        payload = record.get("payload")
        meta = payload if isinstance(payload, dict) else record
        session = as_name(meta.get("id"))
        if session is not None and self.thread.last is None:
            self.thread = Thread(self.builder, session, clock=self.thread.clock)
        facts = self.builder.facts(self.thread.session)
        facts |= {fact: meta[field] for field, fact in FACTS.items() if as_name(meta.get(field))}
        if isinstance(git := meta.get("git"), dict) and as_name(git.get("branch")):
            facts["git_branch"] = git["branch"]
        parent = _started_by(meta.get("source"))
        if parent:
            facts.setdefault("parent_session", parent)

    def _build(self, record: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
        drafted = self._drafted(record, flag)
        if isinstance(drafted, TurnDraft):
            self.told.add(drafted.parts)
        return drafted

    def _drafted(self, record: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
        kind = as_name(record.get("type")) or as_name(record.get("record_type"))
        payload = record.get("payload")
        time = record.get("timestamp") or record.get("created_at")
        if kind in NO_TURNS or _is_old_head(record):
            return self._told(kind or "session_meta", payload if isinstance(payload, dict) else record, time)
        if kind == "event_msg" and isinstance(payload, dict):
            return self._event(payload, time)
        if kind == "compacted" and isinstance(payload, dict):
            return _as_turn(("system", summary_parts(self._compacted(payload, flag))), record, time)
        item = payload if kind == "response_item" and isinstance(payload, dict) else record
        item_kind = as_name(item.get("type"))
        if item_kind in NO_TURNS:
            return NonTurn(item_kind)
        content = item_content(item, flag) or _loose_content(item, flag)
        if content is None:
            return Fault("unknown-record", str(item.get("type")), lost=holds_text(item))
        return _as_turn(content, item, time)

    def _told(self, kind: str, payload: SourceRecord, time: Any) -> TurnDraft | NonTurn:
        """Returns the instructions in a record that were not given before as a turn."""
        parts = self.told.new(part for text in _instructions(payload) for part in text_parts(text))
        return TurnDraft("system", marked(parts, hidden=True), time=time) if parts else NonTurn(kind)

    def _event(self, event: SourceRecord, time: Any) -> TurnDraft | NonTurn | Fault:
        if event.get("type") == "thread_name_updated" and as_name(event.get("thread_name")):
            self.builder.title(self.thread.session, event["thread_name"])
        for agent in agents_in(event):
            starter = self.calls.get(_call_of(event) or "", self.thread.last)
            if starter is None:
                continue
            for key in session_keys(self.thread.session, agent):
                self.starters.setdefault(key, starter)
        role, parts = event_content(event) or ("system", ())
        parts = self.told.new_in_event(event, parts)
        if parts:
            return TurnDraft(role, parts, time=time)
        kind = event_kind(event)
        return NonTurn(kind) if is_silent(event) else without_turn(kind, event)

    def _compacted(self, payload: SourceRecord, flag: Flag) -> tuple[Part, ...]:
        """Returns the summary, and what the history that replaces the compacted turns says for the first time.

        Where the summary is empty, that history is the summary, whether it was told before or not.
        """
        summary = tuple(text_parts(payload.get("message")))
        given = as_objects(payload.get("replacement_history"))
        items = (item_content(item, no_flag if summary else flag) for item in given)
        history = tuple(part for content in items if content is not None for part in content[1])
        if not summary:
            return history
        new = self.told.new(history)
        is_repeated = any(str(summary[0].text) in (part.text or "") for part in new)
        return new if is_repeated else (*summary, *new)


def _call_of(payload: Any) -> str | None:
    return as_name(payload.get("call_id")) if isinstance(payload, dict) else None


def _started_by(source: Any) -> str | None:
    """Returns the thread that started an agent, as the older form of a session's record names it."""
    for key in ("subagent", "thread_spawn", "parent_thread_id"):
        source = source.get(key) if isinstance(source, dict) else None
    return as_name(source)


def _instructions(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, str):
        if name in TOLD_FIELDS or is_text(value):
            yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key != "dynamic_tools":
                yield from _instructions(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _instructions(inner, name)


def _as_turn(content: Content, item: SourceRecord, time: Any) -> TurnDraft:
    role, parts = content
    injected = role == "user" and all((part.text or "").lstrip().startswith(INJECTED_TAGS) for part in parts)
    return TurnDraft(role, marked(parts, hidden=injected), source_id=item.get("id"), time=time)


def _loose_content(record: SourceRecord, flag: Flag) -> Content | None:
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


def _unfolded(lines: Iterator[RecordLine]) -> Iterator[RecordLine]:
    """Yields the lines. The oldest rollouts are one object, and each of its items becomes a line."""
    for line in lines:
        value = line.piece.value
        if isinstance(value, dict) and _is_document(value):
            yield RecordLine(
                f"{line.where}.session", line.size, DecodedValue({**value["session"], "record_type": "session_meta"})
            )
            for number, item in enumerate(value["items"]):
                yield RecordLine(f"{line.where}.items[{number}]", 0, DecodedValue(item))
        else:
            yield line


def _time_of(line: RecordLine) -> Any:
    value = line.piece.value
    return (value.get("timestamp") or value.get("created_at")) if isinstance(value, dict) else None
