"""Plain lists of messages in the shape of the OpenAI or the Anthropic interface.

- A list of messages, or JSON Lines of them, is one session, named by `--session` or the file.
- Objects with `messages` (or `conversations` of `from` and `value`) are a session each, named by their own id, else by
  the file's name and their number.

- Logs of several agents and of benchmarks (Who&When, τ-bench, τ²-bench) have such a list as `history`, `traj` or below
  `simulations`. What else they say about it or about a message (rewards, tasks, mistakes) are facts of the session,
  named by their path.

A message follows the one before it, unless it names its parent. The name of who speaks is the name of the message's
parts: `name`, or a role that is the name of an agent. A role that is not known is one where only logs of agents have
such a list, or where no message has the role of a model. Beside an assistant it is unknown, which is reported.
Items of the Responses interface are also read.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

from slicebase.graph.session import stated_facts
from slicebase.graph.turn import Part, Role
from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import (
    CACHE,
    ROLES_BY_NAME,
    Flag,
    arguments_of,
    as_name,
    as_objects,
    as_text,
    only_results,
    parts_of,
    same_content,
    spoken_by,
    text_alone,
    text_parts,
)
from slicebase.importers.elements import json_records
from slicebase.importers.json_stream import RecordLine, repaired, without
from slicebase.importers.responses import is_item, item_content
from slicebase.importers.silence import holds_text
from slicebase.importers.thread import LAST, Fault, NonTurn, SourceRecord, Thread, TurnDraft, read_sessions
from slicebase.importers.times import start_of
from slicebase.importers.values import Batch, Format, Head, ImportSource, Options, Read

NAME: Final = "messages"
_AS_SAID: Final = without("usage", CACHE)

AGENT_LISTS: Final = ("history", "traj", "trajectory", "chat_history")  # of logs with several agents
# A `history` may belong to any program. One of these fields beside it, or names of speakers in it, mark such a log.
LOG_MARKS: Final = frozenset(
    {"reward", "task_id", "trial", "mistake_agent", "mistake_step", "mistake_reason", "is_correct", "is_corrected",
     "question", "ground_truth"}
)  # fmt: skip
# What a log says about one of its messages.
JUDGEMENTS: Final = frozenset(
    {"reward", "reward_info", "score", "mistake", "mistake_agent", "mistake_step", "mistake_reason", "is_correct",
     "is_corrected", "is_mistake", "ground_truth"}
)  # fmt: skip
MESSAGE_LISTS: Final = ("messages", "conversations", "conversation", *AGENT_LISTS)
SESSION_GROUPS: Final = ("simulations", "results", "runs", "trajectories")  # lists of objects with such a list
SPEAKERS: Final = ("name", "speaker", "sender", "agent", "agent_name")
SESSION_IDS: Final = ("session_id", "conversation_id", "thread_id", "id")
IDS: Final = ("id", "uuid", "message_id")
PARENTS: Final = ("parent_id", "parent")
TIMES: Final = ("timestamp", "ts", "created_at", "create_time", "time")
# Not facts: what is read otherwise, and definitions of tools.
_NO_FACTS: Final = frozenset(
    {
        "title", "name", "system", "system_prompt", "tasks", "tools", "functions", "info.environment_info.policy",
        "info.environment_info.tool_defs", *SESSION_IDS, *TIMES, *MESSAGE_LISTS, *SESSION_GROUPS,
    }
)  # fmt: skip
_LOOK_AHEAD: Final = 200  # messages that are not in a list: among these, one with the role of a model is looked for
_FACT_LENGTH: Final = 10_000  # characters
_FACTS_LENGTH: Final = 50_000  # of all facts of a session


def _essence(message: SourceRecord) -> SourceRecord:
    """Returns what identifies a message. A text is its own content alone or as the only block."""
    kept = _AS_SAID(message)
    content = kept.get("content")
    if isinstance(content, list) and any(isinstance(block, dict) for block in content):
        kept["content"] = text_alone(same_content(content))
    return kept


def sniff(head: Head) -> bool:
    return any(map(_is_record, head.records))


def _is_record(value: Any) -> bool:
    return _is_message(value) or bool(_logs(value, ""))


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if as_name(value.get("role")):
        return "content" in value or (_role_named(value["role"].strip()) is not None and bool(value.keys() & _CALLS))
    return {"from", "value"} <= value.keys() or is_item(value)


_CALLS: Final = frozenset({"tool_calls", "function_call"})


def _role_named(name: str) -> Role | None:
    return ROLES_BY_NAME.get(name) or ROLES_BY_NAME.get(name.lower())


def _is_by_model(message: Any) -> bool:
    """Returns whether a message has the role of a model: then other roles are not the names of agents."""
    name = _role_of(message) if isinstance(message, dict) else None
    return name is not None and _role_named(name) == "assistant"


def _role_of(message: SourceRecord) -> str | None:
    """Returns the role of a message without the blanks around it; None where that is no text, or an empty one."""
    names = (as_name(message.get(key)) for key in ("role", "from"))
    return next((name.strip() for name in names if name and name.strip()), None)


class MessageLog(NamedTuple):
    """An object with a list of messages, and what the object around it says about all its lists."""

    value: SourceRecord
    messages: list[Any]
    where: str
    around: SourceRecord | None = None
    of_agents: bool = False  # a role that is not known is the name of an agent
    key: str = "messages"  # of the list


def _logs(value: Any, where: str) -> list[MessageLog]:
    """Returns the lists of messages of an object: its own, or those of the objects that it lists."""
    if not isinstance(value, dict):
        return []
    own = _log(value, where)
    groups = ((key, value[key]) for key in SESSION_GROUPS if isinstance(value.get(key), list))
    found = ([_log(each, f"{where}.{key}[{at}]", value) for at, each in enumerate(group)] for key, group in groups)
    listed = next((logs for logs in found if any(log.messages for log in logs)), [])
    return [own] if own.messages else listed


def _log(value: Any, where: str, around: SourceRecord | None = None) -> MessageLog:
    """Returns the list of messages of an object, which is empty if it has none."""
    if not isinstance(value, dict):
        return MessageLog({"content": value}, [], where)
    key = next((key for key in MESSAGE_LISTS if any(map(_is_message, as_objects(value.get(key))))), "")
    messages = as_objects(value.get(key))
    is_marked = bool(value.keys() & LOG_MARKS) or any("name" in message for message in messages)
    if key in AGENT_LISTS and not is_marked:
        return MessageLog(value, [], where)
    of_agents = key in AGENT_LISTS or "mistake_agent" in value or not any(map(_is_by_model, messages))
    return MessageLog(value, value.get(key) or [], where, around, of_agents, key)


def start(options: Options) -> Read:
    return lambda source: _read(source, options)


FORMAT: Final = Format(NAME, sniff, start)


def _read(source: ImportSource, options: Options) -> Iterator[Batch]:
    builder = BatchBuilder(NAME)
    fallback = options.session or source.stem
    common = Thread(builder, None, fallback)
    facts = _Facts(builder, common.session)
    sessions = number = 0

    def line_of(value: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        nonlocal sessions, number
        logs = _logs(value, line.where)
        for log in logs or [MessageLog(value, [], line.where)]:
            if not log.messages:
                builder.record(line.size)
                facts.add(_judged(log.value, f"messages[{number}]."), log.where)
                number += 1
                yield from common.admit(log.value, log.where, _essence, _build_agents if of_agents else _build)
                continue
            named = as_name(_first(log.value, SESSION_IDS))
            thread = Thread(builder, named, fallback if sessions == 0 else f"{fallback}#{sessions}")
            sessions += 1
            yield from _session(thread, log, line.size // len(logs))

    of_agents, records = _agents_among(json_records(source, _is_record))
    common.clock.now, lines = start_of(records, _first_time)
    yield from read_sessions(builder, lines, line_of)
    yield from builder.close()


def _agents_among(lines: Iterable[RecordLine]) -> tuple[bool, Iterator[RecordLine]]:
    """Returns whether roles that are not known are names of agents, by the first messages, and all lines."""
    ahead: list[RecordLine] = []
    rest = iter(lines)
    for line in rest:
        ahead.append(line)
        if _is_by_model(line.piece.value):
            return False, chain(ahead, rest)
        if len(ahead) >= _LOOK_AHEAD or _logs(line.piece.value, ""):
            break
    return True, chain(ahead, rest)


def _session(thread: Thread, log: MessageLog, size: int) -> Iterator[Batch]:
    builder = thread.builder
    title = as_name(log.value.get("title")) or as_name(log.value.get("name"))
    if title:
        builder.title(thread.session, title)
    facts = _Facts(builder, thread.session)
    facts.add(_said_of(log), log.where)
    thread.clock.now, _ = start_of(log.messages, _time)
    given = _instructions(log)
    messages = [*given, *log.messages]
    for number, message in enumerate(messages):
        builder.record(size // len(messages))
        place = f"{log.where}.messages[{number}]"
        if isinstance(message, dict):
            facts.add(_judged(message, f"{log.key}[{number - len(given)}]."), place)
            yield from thread.admit(message, place, _essence, _build_agents if log.of_agents else _build)
        else:
            builder.skip("not-object", place)
    yield from builder.close(thread.session)


# Facts


class _Facts:
    """The facts of a session, up to a length in all."""

    def __init__(self, builder: BatchBuilder, session: str) -> None:
        self._builder = builder
        self._session = session
        self._left = _FACTS_LENGTH
        self._is_noted = False

    def add(self, stated: Iterable[tuple[str, Any]], where: str) -> None:
        given, _ = repaired(stated_facts(dict(stated)))
        for name, value in given.items():
            shown = _cut(value)
            if (self._left < 0 or shown != value) and not self._is_noted:
                self._is_noted = True
                self._builder.note("long-facts", where)
            if self._left < 0:
                return
            self._builder.facts(self._session)[name] = shown
            self._left -= len(name) + len(str(shown))


def _said_of(log: MessageLog) -> Iterator[tuple[str, Any]]:
    """Yields what is said about a list of messages: by the object around it, by its task there, and by its object."""
    around = log.around or {}
    tasks = as_objects(around.get("tasks"))
    task = next((each for each in tasks if each.get("id") == log.value.get("task_id")), {})
    return chain(_stated(around), _stated(task, "task."), _stated(log.value))


def _judged(message: SourceRecord, path: str) -> Iterator[tuple[str, Any]]:
    """Yields what a log says about a message."""
    said = {key: message[key] for key in JUDGEMENTS & message.keys()}
    return _stated({key: said[key] for key in sorted(said)}, path)


def _stated(value: SourceRecord, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the values in an object by their paths. A list is its JSON, and a number that is no integer its text."""
    for key, inner in value.items():
        name = f"{path}{key}"
        if name in _NO_FACTS or inner in (None, [], ""):
            continue
        if isinstance(inner, dict):
            yield from _stated(inner, f"{name}.")
        else:
            yield name, inner if isinstance(inner, str | int) else json.dumps(inner, ensure_ascii=False)


def _cut(value: Any) -> Any:
    return f"{value[:_FACT_LENGTH]}…" if isinstance(value, str) and len(value) > _FACT_LENGTH else value


def _instructions(log: MessageLog) -> list[SourceRecord]:
    """Returns what the system said before the first message: for all, for each agent, or as the policy of a task."""
    given = log.value.get("system") or log.value.get("system_prompt") or _policy(log.around)
    if isinstance(given, dict) and "type" not in given:
        return [{"role": "system", "name": name, "content": text} for name, text in given.items()]
    return [{"role": "system", "content": given}] if given else []


def _policy(around: Any) -> Any:
    """Returns what a τ²-bench agent was told, which stands once for all simulations."""
    for key in ("info", "environment_info", "policy"):
        around = around.get(key) if isinstance(around, dict) else None
    return around


def _first(value: Any, keys: tuple[str, ...]) -> Any:
    return next((value[key] for key in keys if value.get(key) is not None), None) if isinstance(value, dict) else None


def _time(value: Any) -> Any:
    return _first(value, TIMES)


def _first_time(line: RecordLine) -> Any:
    """Returns the time of a message, or of a list's first message, so that a search for a time holds few lists."""
    logs = _logs(line.piece.value, "")
    return _time(logs[0].messages[0] if logs and logs[0].messages else line.piece.value)


def _build(message: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
    own, time = _first(message, IDS), _time(message)
    parent = next((message[key] for key in PARENTS if key in message), LAST)
    if "role" not in message and "from" not in message:
        content = item_content(message, flag)
        if content is None:
            return Fault("unknown-record", str(message.get("type")), own, lost=holds_text(message))
        return TurnDraft(*content, source_id=own, parent=parent, time=time)
    name = _role_of(message)
    role = _role_named(name) if name else None
    if role is None:
        flag("unknown-role", name or as_text(_first(message, ("role", "from"))))
    speaker = as_name(_first(message, SPEAKERS)) or (name if role is None else None)
    parts = tuple(spoken_by(speaker, part) for part in _parts(message, role, flag))
    if role == "user" and only_results(parts):
        role = "tool"
    return TurnDraft(role or "system", parts, own, parent, time=time)


def _build_agents(message: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
    """Reads a message where a role that is not known is the name of an agent."""
    role = _role_of(message)
    if role is None or _role_named(role):
        return _build(message, flag)
    named = message if _first(message, SPEAKERS) else {**message, "name": role}
    return _build({**named, "role": "assistant"}, flag)


def _parts(message: SourceRecord, role: Role | None, flag: Flag) -> Iterator[Part]:
    yield from text_parts(message.get("reasoning_content") or message.get("reasoning"), "thinking")
    content = parts_of(message.get("content") if "content" in message else message.get("value"), flag)
    if role == "tool" and not any(part.type == "tool_result" for part in content):
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
