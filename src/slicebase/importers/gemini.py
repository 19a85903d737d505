"""Gemini CLI's sessions, in all the forms that Gemini CLI has used.

- One JSON object with `sessionId` and `messages`; the assistant's message holds its calls and their results.
- JSON Lines: the session's facts, then messages, each written again as it grows, `$set` for facts and for all messages
  of the context, and `$rewindTo`, after which another branch begins. The last record of a message is its turn; what
  `$set` says of it again, as after a resume, is a copy. If `$set` leaves messages out and has others in their place, it
  is a compaction, and the first of those is the summary, a turn of the system. What hooks add to a prompt is hidden.
- A checkpoint: `history`, or a bare list, of contents in the shape of the Gemini interface.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from slicebase.graph.turn import Part, Role
from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import (
    ROLES_BY_NAME,
    Flag,
    as_name,
    as_objects,
    as_text,
    content_uri,
    only_results,
    pointer,
    summary_parts,
    text_parts,
    unknown,
)
from slicebase.importers.elements import json_records
from slicebase.importers.gemini_messages import CHANGES, reader
from slicebase.importers.json_stream import RecordLine, pieces, without
from slicebase.importers.seen import KeyedMessage
from slicebase.importers.silence import holds_text, settle, without_turn
from slicebase.importers.thread import LAST, Fault, NonTurn, SourceRecord, Thread, TurnDraft, read_sessions
from slicebase.importers.times import moment
from slicebase.importers.values import BATCH_TURNS, Batch, Format, Head, ImportSource, Options, Read

NAME: Final = "gemini"
ESSENCE: Final = without("tokens", "displayContent", "resultDisplay")
NOTICES: Final = frozenset({"info", "warning", "error"})
INJECTED_TEXT: Final = "<session_context>"  # the beginning of what Gemini CLI itself writes as the user
_HOOKS_ADDED: Final = re.compile(r"\s*<hook_context>.*?</hook_context>\s*", re.DOTALL)  # before a prompt, or after it


def sniff(head: Head) -> bool:
    return any(map(_is_session, head.records))


def _is_session(value: SourceRecord) -> bool:
    """Returns whether a value is a session, a checkpoint or a part of one."""
    history = as_objects(value.get("history"))
    return {"projectHash", "sessionId"} <= value.keys() or _is_content(value) or any(map(_is_content, history))


def _is_content(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("parts"), list) and value.get("role") in ("user", "model")


def _unread(value: SourceRecord) -> SourceRecord:
    """Returns what a session or a change of it says beside its messages, its title and its facts."""
    return {key: inner for key, inner in value.items() if key not in _READ}


_RESULT: Final = "_response"  # the end of the id of a message that Gemini CLI makes of a call's result
_READ: Final = frozenset({"messages", "history", "sessionId", "summary", "directories"})


def _is_time(changes: SourceRecord) -> bool:
    """Returns whether a change says only when the last message was written. One follows every message."""
    time = changes.get("lastUpdated")
    return len(changes) == 1 and isinstance(time, str) and time.isascii() and len(time.split()) == 1


def start(options: Options) -> Read:
    return lambda source: _Recording(source, options).read()


FORMAT: Final = Format(NAME, sniff, start)


class _Recording:
    """The reader of a session. A newer state of one of the last messages replaces the older state."""

    def __init__(self, source: ImportSource, options: Options) -> None:
        self.source = source
        self.builder = BatchBuilder(NAME)
        self.thread = Thread(self.builder, None, options.session or source.stem)
        self.named: str | None = None  # the session that the source names
        self.held: dict[str, tuple[SourceRecord, str]] = {}  # by message id: its latest state and its place
        self.above: dict[str, Any] = {}  # the parent of each held message
        self.order: list[str] = []  # ids of the messages on the current branch
        self.rewound: Any = LAST
        self.known: set[str] = set()  # ids of all messages of the session
        self.context: set[str] = set()  # of those that the model has now
        self.summaries: set[str] = set()
        self.growing: str | None = None  # the last message, if a later record may complete it

    def read(self) -> Iterator[Batch]:
        read = reader(self.source.seen) if self.source.seen else pieces
        yield from read_sessions(self.builder, json_records(self.source, _is_content, read), self._value)
        yield from self._end(is_growing=self.source.is_growing)
        yield from self.builder.close()

    def _begin(self, session: str) -> Iterator[Batch]:
        """Begins the session that the source names. A source may contain several, one after the other."""
        yield from self._end()
        self.named = session
        self.thread = Thread(self.builder, session, clock=self.thread.clock)

    def _end(self, *, is_growing: bool = False) -> Iterator[Batch]:
        waits = is_growing and self.growing is not None
        yield from self._release(1 if waits else 0)
        for _, where in self.held.values():
            self.builder.skip("unfinished", where, lost=False)
        self.order, self.rewound, self.growing = [], LAST, None
        self.known, self.context, self.summaries = set(), set(), set()
        if self.thread.last is not None:
            self.builder.facts(self.thread.session)["shown_last"] = self.thread.last

    def _value(self, value: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        if isinstance(value, KeyedMessage) and value.seen:
            yield from self._message(value, line.where, 0)
        elif "$rewindTo" in value:
            self._count("$rewindTo", {}, line)
            self._rewind(value["$rewindTo"])
        elif isinstance(changes := value.get(CHANGES), dict):
            if _is_time(changes):
                self.builder.record(line.size)
                self.builder.other(CHANGES)
                return
            self._count(CHANGES, changes, line)
            self._restate(as_objects(changes.get("messages")))
            yield from self._document(changes, line, is_restated=True)
        elif _is_content(value) or ("type" in value and value.keys() & {"content", "parts", "message", "toolCalls"}):
            yield from self._message(value, line.where, line.size)
        elif value.keys() & {"sessionId", "messages", "history"}:
            if holds_text(_unread(value)) or not (value.get("messages") or value.get("history")):
                self._count("session", value, line)
            yield from self._document(value, line)
        else:
            self.builder.record(line.size)
            self.builder.skip("unknown-record", line.where, lost=holds_text(value))

    def _count(self, kind: str, value: SourceRecord, line: RecordLine) -> None:
        self.builder.record(line.size)
        settle(self.thread, without_turn(kind, _unread(value)), line.where)

    def _restate(self, messages: list[SourceRecord]) -> None:
        """Reads which messages the model has from now on. Those in the place of others begin with a summary."""
        ids = [as_name(message.get("id")) or "" for message in messages]
        roles = [ROLES_BY_NAME.get(str(message.get("type"))) if own not in self.known else None
                 for own, message in zip(ids, messages, strict=True)]  # fmt: skip
        for own, *pair in zip(ids, roles, roles[1:], strict=False):
            if pair == ["user", "assistant"] and not self.context <= set(ids):
                self.summaries.add(own)
                break
        if messages:
            self.context = set(ids)

    def _document(self, value: SourceRecord, line: RecordLine, *, is_restated: bool = False) -> Iterator[Batch]:
        """Reads the facts of the session, and its messages if there are any."""
        session = as_name(value.get("sessionId"))
        if session is not None and session != self.named:
            yield from self._begin(session)
        self._describe(value)
        for key in ("messages", "history"):
            messages = value.get(key)
            for number, message in enumerate(messages if isinstance(messages, list) else ()):
                place = f"{line.where}.{key}[{number}]"
                if isinstance(message, dict):
                    size = line.size // len(messages or "-")
                    yield from self._message(message, place, size, is_restated=is_restated)
                else:
                    self.builder.record()
                    self.builder.skip("not-object", place)

    def _describe(self, value: SourceRecord) -> None:
        started = moment(value.get("startTime") or value.get("start_time"))
        if started is not None and self.thread.last is None:
            self.thread.clock.now = started
        if as_name(value.get("summary")):
            self.builder.title(self.thread.session, value["summary"])
        facts = self.builder.facts(self.thread.session)
        facts |= {field: value[field] for field in ("projectHash", "kind") if as_name(value.get(field))}

    def _message(self, message: SourceRecord, where: str, size: int, *, is_restated: bool = False) -> Iterator[Batch]:
        self.builder.record(size)
        own = as_name(message.get("id"))
        if own is not None and is_restated and self._is_copy(own):
            self.builder.other("copy")
            _keep_other(message)
            return
        self.builder.answered_by(self.thread.session, message.get("model"))
        if own is None:
            yield from self._release(0)
            yield from self.thread.admit(message, where, ESSENCE, _build)
        elif own in self.held:
            self.builder.other("earlier state")
            _keep_other(self.held[own][0])
            self.held[own] = (message, where)
        else:
            self.held[own] = (message, where)
            self.above[own] = self.rewound if self.rewound is not LAST else (self.order[-1] if self.order else LAST)
            self.rewound = LAST
            self.order.append(own)
            self.known.add(own)
            yield from self._release(BATCH_TURNS)
        if not is_restated:
            self.context.add(own or "")
            is_reply = ROLES_BY_NAME.get(str(message.get("type"))) == "assistant"
            self.growing = own if is_reply and own in self.held else None

    def _is_copy(self, own: str) -> bool:
        """Returns whether a message was read before, or is the result of a call in one that was."""
        return own in self.known or own.removesuffix(_RESULT) in self.known

    def _rewind(self, target: Any) -> None:
        """Leaves the target and the messages after it: the next message is a child of the message before the target."""
        at = self.order.index(target) if target in self.order else 0
        self.rewound = self.order[at - 1] if at else None
        self.context.difference_update(self.order[at:])
        del self.order[at:]

    def _release(self, keep: int) -> Iterator[Batch]:
        while len(self.held) > keep:
            own = next(iter(self.held))
            message, where = self.held.pop(own)
            above = self.above.pop(own)
            build = partial(_build_below, above, is_summary=own in self.summaries)
            yield from self.thread.admit(message, where, ESSENCE, build, above)


def _keep_other(message: SourceRecord) -> None:
    if isinstance(message, KeyedMessage):
        message.memory.keep_other(message)


def _build_below(
    above: Any, message: SourceRecord, flag: Flag, *, is_summary: bool = False
) -> TurnDraft | NonTurn | Fault:
    drafted = _build(message, flag)
    if isinstance(drafted, TurnDraft):
        if is_summary:
            drafted = drafted._replace(role="system", parts=summary_parts(drafted.parts))
        return drafted._replace(parent=above)
    return drafted._replace(parent=None if above is LAST else above)


def _build(message: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
    own = message.get("id") if "id" in message else message.get("messageId")
    kind = str(message.get("type") or message.get("role"))
    content = next((message[key] for key in ("content", "parts", "message") if message.get(key)), None)
    if content is None and not message.keys() & {"content", "parts", "message", "toolCalls", "thoughts"}:
        return Fault("no-message", kind, own, lost=holds_text(message))
    role: Role | None = "system" if kind in NOTICES else ROLES_BY_NAME.get(kind)
    if role is None:
        flag("unknown-role", kind)
    parts = (*_thoughts(message), *_contents(content, flag), *_tool_calls(message, flag))
    if role == "user":
        parts = tuple(_as_shown(parts))
        role = "tool" if only_results(parts) else role
    time = message.get("timestamp") or message.get("ts")
    return TurnDraft(role or "system", parts, own, time=time)


def _as_shown(parts: tuple[Part, ...]) -> Iterator[Part]:
    """Yields the parts of a user's message. What Gemini CLI or its hooks put there is hidden."""
    for part in parts:
        added = _HOOKS_ADDED.match(part.text) if part.type == "text" and part.text else None
        if added is not None and part.text:
            yield replace(part, text=added[0].strip(), hidden=True)
            yield from text_parts(part.text[added.end() :])
        else:
            yield replace(part, hidden=True) if (part.text or "").lstrip().startswith(INJECTED_TEXT) else part


def _thoughts(message: SourceRecord) -> Iterator[Part]:
    for thought in as_objects(message.get("thoughts")):
        texts = (as_text(thought.get(field)) for field in ("subject", "description"))
        yield from text_parts("\n\n".join(filter(None, texts)), "thinking")


def _tool_calls(message: SourceRecord, flag: Flag) -> Iterator[Part]:
    for call in as_objects(message.get("toolCalls")):
        name, call_id = as_text(call.get("name")), as_name(call.get("id"))
        yield Part("tool_call", name=name, arguments=call.get("args"), call_id=call_id)
        result = call.get("result")
        if result is None and call.get("resultDisplay") is None:
            continue
        failed = call.get("status") in ("error", "cancelled")
        inner = [*_contents(result, flag)] or text_parts(call.get("resultDisplay"))
        text = "\n".join(part.text for part in inner if part.text is not None)
        failed = failed or any(part.error for part in inner)
        yield Part("tool_result", text=text, name=name, call_id=call_id, error=failed)
        yield from (part for part in inner if part.type == "pointer")


# Parts in the shape of the Gemini interface


def _contents(content: Any, flag: Flag) -> Iterator[Part]:
    for piece in content if isinstance(content, list) else [content]:
        if piece is None or isinstance(piece, str):
            yield from text_parts(piece)
            continue
        read = next((PIECES[key] for key in PIECES if key in piece), None) if isinstance(piece, dict) else None
        yield from read(piece, flag) if read else unknown(piece, flag)


def _text(piece: SourceRecord, _flag: Flag) -> list[Part]:
    return text_parts(piece["text"], "thinking" if piece.get("thought") is True else "text")


def _inner(piece: SourceRecord, key: str) -> SourceRecord:
    return piece[key] if isinstance(piece[key], dict) else {}


def _call(piece: SourceRecord, _flag: Flag) -> list[Part]:
    call = _inner(piece, "functionCall")
    return [
        Part("tool_call", name=as_text(call.get("name")), arguments=call.get("args"), call_id=as_name(call.get("id")))
    ]


def _response(piece: SourceRecord, _flag: Flag) -> list[Part]:
    given = _inner(piece, "functionResponse")
    response = given.get("response")
    output = response.get("output", response.get("error", response)) if isinstance(response, dict) else response
    failed = isinstance(response, dict) and "error" in response
    name, call_id = as_name(given.get("name")), as_name(given.get("id"))
    return [Part("tool_result", text=as_text(output), name=name, call_id=call_id, error=failed)]


def _inline(piece: SourceRecord, flag: Flag) -> list[Part]:
    data = _inner(piece, "inlineData")
    return [pointer(content_uri(data.get("data")), flag, media_type=data.get("mimeType"))]


def _file(piece: SourceRecord, flag: Flag) -> list[Part]:
    data = _inner(piece, "fileData")
    return [pointer(as_name(data.get("fileUri")), flag, media_type=data.get("mimeType"))]


def _code(piece: SourceRecord, _flag: Flag) -> list[Part]:
    code = _inner(piece, "executableCode")
    return [Part("code", text=as_text(code.get("code")), language=as_name(code.get("language")))]


def _code_result(piece: SourceRecord, _flag: Flag) -> list[Part]:
    result = _inner(piece, "codeExecutionResult")
    return [
        Part("tool_result", text=as_text(result.get("output")), error=result.get("outcome") not in (None, "OUTCOME_OK"))
    ]


PIECES: Final[dict[str, Callable[[SourceRecord, Flag], list[Part]]]] = {
    "text": _text,
    "functionCall": _call,
    "functionResponse": _response,
    "inlineData": _inline,
    "fileData": _file,
    "executableCode": _code,
    "codeExecutionResult": _code_result,
}
