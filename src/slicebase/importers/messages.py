"""Plain lists of messages in the shape of the OpenAI or the Anthropic interface.

- A list of messages, or JSON Lines of them, is one session, named by `--session` or the file.
- Objects with `messages` (or `conversations` of `from` and `value`) are a session each, named by their own id, else by
  the file's name and their number.

- Logs of several agents and of benchmarks (Who&When, τ-bench, τ²-bench) have such a list as `history`, `traj` or below
  `simulations`. What else they say about it (rewards, tasks, mistakes) are facts of the session.

A message follows the one before it, unless it names its parent. The name of who speaks is the name of the message's
parts: `name`, or a role that is the name of an agent. Items of the Responses interface are also read.
"""

from collections.abc import Iterator
from typing import Any, Final

from slicebase.graph.turn import Part
from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import (
    ROLES_BY_NAME,
    Flag,
    arguments_of,
    as_name,
    as_objects,
    as_text,
    only_results,
    parts_of,
    spoken_by,
    text_parts,
)
from slicebase.importers.elements import json_records
from slicebase.importers.json_stream import RecordLine, without
from slicebase.importers.responses import is_item, item_content
from slicebase.importers.thread import LAST, Fault, NonTurn, SourceRecord, Thread, TurnDraft, read_sessions
from slicebase.importers.times import start_of
from slicebase.importers.values import Batch, Format, Head, ImportSource, Options, Read

NAME: Final = "messages"
ESSENCE: Final = without("usage")

AGENT_LISTS: Final = ("history", "traj", "trajectory", "chat_history")  # of logs with several agents
# A `history` may belong to any program. One of these fields beside it, or names of speakers in it, mark such a log.
LOG_MARKS: Final = frozenset(
    {"reward", "task_id", "trial", "mistake_agent", "mistake_step", "mistake_reason", "is_correct", "is_corrected",
     "question", "ground_truth"}
)  # fmt: skip
MESSAGE_LISTS: Final = ("messages", "conversations", "conversation", *AGENT_LISTS)
SESSION_GROUPS: Final = ("simulations", "results", "runs", "trajectories")  # lists of objects with such a list
SPEAKERS: Final = ("name", "speaker", "sender", "agent", "agent_name")
SESSION_IDS: Final = ("session_id", "conversation_id", "thread_id", "id")
IDS: Final = ("id", "uuid", "message_id")
PARENTS: Final = ("parent_id", "parent")
TIMES: Final = ("timestamp", "ts", "created_at", "create_time", "time")
_FACT_LENGTH: Final = 10_000  # characters


def sniff(head: Head) -> bool:
    return any(map(_is_record, head.records))


def _is_record(value: Any) -> bool:
    return _is_message(value) or any(_list_in(each) is not None for each in _unfolded(value))


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if as_name(value.get("role")) in ROLES_BY_NAME and value.keys() & {"content", "tool_calls", "function_call"}:
        return True
    return {"from", "value"} <= value.keys() or is_item(value)


def _list_in(value: Any) -> list[Any] | None:
    if not isinstance(value, dict):
        return None
    key = next((key for key in MESSAGE_LISTS if isinstance(value.get(key), list)), "")
    messages = [message for message in value.get(key) or () if _is_message(message)]
    if key in AGENT_LISTS and not (value.keys() & LOG_MARKS or any("name" in message for message in messages)):
        return None
    return value[key] if messages else None


def _unfolded(value: Any) -> list[Any]:
    """Returns the value itself, or the objects with messages that it lists."""
    groups = (as_objects(value.get(key)) for key in SESSION_GROUPS) if isinstance(value, dict) else ()
    return next((group for group in groups if any(_list_in(each) is not None for each in group)), [value])


def start(options: Options) -> Read:
    return lambda source: _read(source, options)


FORMAT: Final = Format(NAME, sniff, start)


def _read(source: ImportSource, options: Options) -> Iterator[Batch]:
    builder = BatchBuilder(NAME)
    fallback = options.session or source.stem
    common = Thread(builder, None, fallback)
    sessions = 0

    def line_of(value: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        for each in _unfolded(value):
            yield from value_of(each, line)

    def value_of(value: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        nonlocal sessions
        messages = _list_in(value)
        if messages is None:
            builder.record(line.size)
            yield from common.admit(value, line.where, ESSENCE, _build)
            return
        named = as_name(_first(value, SESSION_IDS))
        thread = Thread(builder, named, fallback if sessions == 0 else f"{fallback}#{sessions}")
        sessions += 1
        yield from _session(thread, value, messages, line)

    common.clock.now, lines = start_of(json_records(source, _is_record), _first_time)
    yield from read_sessions(builder, lines, line_of)
    yield from builder.close()


def _session(thread: Thread, value: SourceRecord, messages: list[Any], line: RecordLine) -> Iterator[Batch]:
    builder = thread.builder
    title = as_name(value.get("title")) or as_name(value.get("name"))
    if title:
        builder.title(thread.session, title)
    builder.facts(thread.session).update(_facts(value))
    thread.clock.now, _ = start_of(messages, _time)
    build = _build_agents if any(isinstance(value.get(key), list) for key in AGENT_LISTS) else _build
    messages = [*_instructions(value), *messages]
    for number, message in enumerate(messages):
        builder.record(line.size // len(messages))
        place = f"{line.where}.messages[{number}]"
        if isinstance(message, dict):
            yield from thread.admit(message, place, ESSENCE, build)
        else:
            builder.skip("not-object", place)
    yield from builder.close(thread.session)


def _facts(value: SourceRecord) -> SourceRecord:
    """Returns what an object says about its messages: values that are neither lists nor objects."""
    scalars = {key: each for key, each in value.items() if isinstance(each, str | int | float)}
    left_out = ("title", "name", "system", *SESSION_IDS, *TIMES)
    kept = {key: each for key, each in scalars.items() if key not in left_out and len(str(each)) <= _FACT_LENGTH}
    return {key: str(each) if isinstance(each, float) else each for key, each in kept.items()}


def _instructions(value: SourceRecord) -> list[SourceRecord]:
    """Returns what the system said before the first message: for all, or for each agent."""
    given = value.get("system") or value.get("system_prompt")
    if isinstance(given, dict) and "type" not in given:
        return [{"role": "system", "name": name, "content": text} for name, text in given.items()]
    return [{"role": "system", "content": given}] if given else []


def _first(value: Any, keys: tuple[str, ...]) -> Any:
    return next((value[key] for key in keys if value.get(key) is not None), None) if isinstance(value, dict) else None


def _time(value: Any) -> Any:
    return _first(value, TIMES)


def _first_time(line: RecordLine) -> Any:
    """Returns the time of a message, or of a list's first message, so that a search for a time holds few lists."""
    listed = _list_in(line.piece.value)
    return _time(listed[0] if listed else line.piece.value)


def _build(message: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
    own, time = _first(message, IDS), _time(message)
    parent = next((message[key] for key in PARENTS if key in message), LAST)
    if "role" not in message and "from" not in message:
        content = item_content(message, flag)
        if content is None:
            return Fault("unknown-record", str(message.get("type")), own, lost="content" in message)
        return TurnDraft(*content, source_id=own, parent=parent, time=time)
    name = str(message.get("role") or message.get("from"))
    role = ROLES_BY_NAME.get(name)
    if role is None:
        flag("unknown-role", name)
    speaker = as_name(_first(message, SPEAKERS)) or (name if role is None else None)
    parts = tuple(spoken_by(speaker, part) for part in _parts(message, name, flag))
    if role == "user" and only_results(parts):
        role = "tool"
    return TurnDraft(role or "system", parts, own, parent, time=time)


def _build_agents(message: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
    """Reads a message of a log in which a role that is not known is the name of an agent."""
    role = as_name(message.get("role"))
    if role is None or role in ROLES_BY_NAME:
        return _build(message, flag)
    named = message if _first(message, SPEAKERS) else {**message, "name": role}
    return _build({**named, "role": "assistant"}, flag)


def _parts(message: SourceRecord, role: str, flag: Flag) -> Iterator[Part]:
    yield from text_parts(message.get("reasoning_content") or message.get("reasoning"), "thinking")
    content = parts_of(message.get("content") if "content" in message else message.get("value"), flag)
    if ROLES_BY_NAME.get(role) == "tool" and not any(part.type == "tool_result" for part in content):
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
