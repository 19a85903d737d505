"""Codex CLI's rollouts: JSON Lines, in all the forms that Codex has used.

- Current form: `{timestamp, type, payload}`. A `response_item` is a turn. An `event_msg` shows on the screen what a
  response item says to the model; it is not a turn, unless the rollout has no response items. `compacted` is a turn of
  the system.
- Older forms: a first line about the session, then bare response items without times; or one JSON object with `session`
  and `items`.
- Irregular records: bare records with `role` and `message`, function calls and results.

Instructions in records about the session, a turn's context or the world are a turn of the system, each text once. A
turn follows the one before it; the result of a call names its call.
"""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Final

from slicebase.core.hashing import digest
from slicebase.graph.turn import Part
from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import ROLES_BY_NAME, Content, Flag, as_name, as_text, marked, parts_of, text_parts
from slicebase.importers.elements import first_values, json_records
from slicebase.importers.json_stream import DecodedValue, RecordLine, without
from slicebase.importers.responses import is_item, item_content
from slicebase.importers.thread import Fault, NonTurn, SourceRecord, Thread, TurnDraft, read_records
from slicebase.importers.times import start_of
from slicebase.importers.values import Batch, Format, ImportSource, Options, Read

NAME: Final = "codex"
ESSENCE: Final = without("ordinal", "cwd", "version", "cli_version")

NO_TURNS: Final = frozenset(
    {"session_meta", "turn_context", "world_state", "inter_agent_communication_metadata", "ghost_snapshot", "state"}
)
WRAPPERS: Final = NO_TURNS | {"response_item", "event_msg", "compacted"}
# Events with the same text as a response item, and the field that holds the text.
MESSAGES: Final = {"user_message": "message", "agent_message": "message", "agent_reasoning": "text"}
# The beginnings of texts that Codex itself writes as the user.
INJECTED_TAGS: Final = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
)
FACTS: Final = {"cwd": "cwd", "cli_version": "version", "originator": "originator", "forked_from_id": "forked_from"}
_LOOK_AHEAD: Final = 200
# The fields with texts for the model in records that are no turns otherwise, at any depth outside `dynamic_tools`.
TOLD_FIELDS: Final = frozenset(
    {
        "instructions", "base_instructions", "user_instructions", "developer_instructions", "environments_instructions",
        "apps_instructions", "plugins_instructions", "text", "body", "multi_agent_usage_hint",
    }
)  # fmt: skip


def sniff(head: bytes, name: str) -> bool:
    values = first_values(head, name, 20)
    stem = ImportSource(name, ()).stem
    return any(map(_is_record, values)) or (stem.startswith("rollout-") and any(map(_is_loose, values)))


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


class _Rollout:
    """The reader of one rollout."""

    def __init__(self, source: ImportSource, options: Options) -> None:
        self.source = source
        self.builder = BatchBuilder(NAME)
        self.thread = Thread(self.builder, None, options.session or source.stem)
        self.knows_session = False
        self.is_mirrored = True
        self.told: set[str] = set()  # the digests of instructions that were read

    def read(self) -> Iterator[Batch]:
        lines = _unfolded(json_records(self.source, _is_record))
        ahead = list(islice(lines, _LOOK_AHEAD))
        self.is_mirrored = any(_kind(line) == "response_item" for line in ahead)
        self.thread.clock.now, lines = start_of(chain(ahead, lines), _time_of)
        yield from read_records(self.builder, lines, self._record)
        if self.thread.last is not None:
            self.builder.facts(self.thread.session)["shown_last"] = self.thread.last
        yield from self.builder.close()

    def _record(self, record: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        self._read_session(record)
        if record.get("type") == "turn_context" and isinstance(context := record.get("payload"), dict):
            self.builder.answered_by(self.thread.session, context.get("model"))
        yield from self.thread.admit(record, line.where, ESSENCE, self._build)

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

    def _build(self, record: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
        kind = as_name(record.get("type")) or as_name(record.get("record_type"))
        payload = record.get("payload")
        time = record.get("timestamp") or record.get("created_at")
        if kind in NO_TURNS or _is_old_head(record):
            return self._told(kind or "session_meta", payload if isinstance(payload, dict) else record, time)
        if kind == "event_msg" and isinstance(payload, dict):
            return self._event(payload, time)
        if kind == "compacted" and isinstance(payload, dict):
            return _drafted(("system", marked(_compacted(payload, flag), summary=True)), record, time)
        item = payload if kind == "response_item" and isinstance(payload, dict) else record
        item_kind = as_name(item.get("type"))
        if item_kind in NO_TURNS:
            return NonTurn(item_kind)
        content = item_content(item, flag) or _loose_content(item, flag)
        if content is None:
            lost = bool(item.keys() & {"content", "message", "text", "output"})
            return Fault("unknown-record", str(item.get("type")), lost=lost)
        return _drafted(content, item, time)

    def _told(self, kind: str, payload: SourceRecord, time: Any) -> TurnDraft | NonTurn:
        """Returns the instructions in a record that were not given before as a turn."""
        new = [text for text in _instructions(payload) if digest(text.encode()) not in self.told]
        self.told.update(digest(text.encode()) for text in new)
        parts = tuple(part for text in dict.fromkeys(new) for part in text_parts(text))
        return TurnDraft("system", marked(parts, hidden=True), time=time) if parts else NonTurn(kind)

    def _event(self, payload: SourceRecord, time: Any) -> TurnDraft | NonTurn:
        kind = as_text(payload.get("type"))
        if kind == "thread_name_updated" and as_name(payload.get("thread_name")):
            self.builder.title(self.thread.session, payload["thread_name"])
        text = payload.get(MESSAGES.get(kind, ""))
        if self.is_mirrored or not text:
            return NonTurn(f"event_msg/{kind}")
        if kind == "user_message":
            return TurnDraft("user", tuple(text_parts(text)), time=time)
        return TurnDraft(
            "assistant", tuple(text_parts(text, "text" if kind == "agent_message" else "thinking")), time=time
        )


def _instructions(value: Any) -> Iterator[str]:
    for key, inner in value.items() if isinstance(value, dict) else ():
        if isinstance(inner, str):
            if key in TOLD_FIELDS:
                yield inner
        elif key != "dynamic_tools":
            yield from _instructions(inner)


def _drafted(content: Content, item: SourceRecord, time: Any) -> TurnDraft:
    role, parts = content
    injected = role == "user" and all((part.text or "").lstrip().startswith(INJECTED_TAGS) for part in parts)
    return TurnDraft(role, marked(parts, hidden=injected), source_id=item.get("id"), time=time)


def _compacted(payload: SourceRecord, flag: Flag) -> tuple[Part, ...]:
    """Returns the summary; where it is empty, the history that replaces the compacted turns."""
    summary = text_parts(payload.get("message"))
    history = payload.get("replacement_history")
    if summary or not isinstance(history, list):
        return tuple(summary)
    contents = [item_content(item, flag) for item in history if isinstance(item, dict)]
    return tuple(part for content in contents if content is not None for part in content[1])


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


def _kind(line: RecordLine) -> Any:
    return line.piece.value.get("type") if isinstance(line.piece.value, dict) else None


def _time_of(line: RecordLine) -> Any:
    value = line.piece.value
    return (value.get("timestamp") or value.get("created_at")) if isinstance(value, dict) else None
