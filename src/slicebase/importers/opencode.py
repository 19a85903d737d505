"""opencode's sessions: one JSON object with `info` and `messages`, each of which has `info` and `parts`.

That is what `opencode export` writes. Sessions in opencode's own folder and database are read in the same form.

- A message is a turn that follows the one before it. A tool's part is the call and, once it has ended, its result.
- The summary of a compaction is a turn of the system. What opencode itself added to a message is marked hidden.
- The instructions that a message names as `system` are a hidden turn of the system before it: of those that messages
  repeat, each text once.
- The session of a subagent continues the turn whose call names it.
- The last message of a session that still grows is not a turn until it is finished.
- A store that was read before says of each message which one it is (`SEEN_KEY`), and only so much of those seen before.
"""

import json
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, Final

from slicebase.core.hashing import raw_digest
from slicebase.graph.turn import Part
from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import (
    ROLES_BY_NAME,
    Flag,
    as_name,
    as_objects,
    as_text,
    content_uri,
    marked,
    pointer,
    text_parts,
    unknown,
)
from slicebase.importers.elements import json_elements
from slicebase.importers.json_stream import RecordLine
from slicebase.importers.seen import KeyedMessage, SeenMessages
from slicebase.importers.silence import holds_text
from slicebase.importers.subagents import session_keys
from slicebase.importers.thread import Fault, NonTurn, SourceRecord, Thread, TurnDraft, read_sessions
from slicebase.importers.values import Batch, Format, Head, ImportSource, KnownAgents, Options, Read, StarterKey

NAME: Final = "opencode"
SESSION: Final = "ses_"  # how the ids of sessions begin
GROWING: Final = "growing"  # set in a session that changed a short time ago
SYSTEM: Final = "#system"  # after the id of a message: the turn of its instructions
SEEN_KEY: Final = "seen"  # the digest of a message, from a store that was read before
FACTS: Final = {"directory": "cwd", "version": "version", "parentID": "parent_session"}
# Parts without content for the model: steps, snapshots of files, errors of the provider that were retried.
_SILENT: Final = frozenset({"step-start", "step-finish", "snapshot", "patch", "retry", "compaction"})


def sniff(head: Head) -> bool:
    return any(_is_session(value) and _is_named(value) for value in head.records)


def start(options: Options) -> Read:
    return lambda source: _read(source, options)


FORMAT: Final = Format(NAME, sniff, start)


def _is_session(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("info"), dict) and isinstance(value.get("messages"), list)


def _is_named(value: SourceRecord) -> bool:
    """Returns whether a session has an id of opencode, or a message that names one."""
    infos = [value["info"], *(message.get("info") for message in as_objects(value["messages"]))]
    ids = (info.get(key) for info in infos if isinstance(info, dict) for key in ("id", "sessionID"))
    return any(isinstance(each, str) and each.startswith(SESSION) for each in ids)


def _read(source: ImportSource, options: Options) -> Iterator[Batch]:
    builder = BatchBuilder(NAME)

    def session(value: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        if not _is_session(value):
            builder.record(line.size)
            builder.skip("unknown-record", line.where, lost=holds_text(value))
            return
        thread = Thread(builder, as_name(value["info"].get("id")), options.session or source.stem)
        if source.seen is not None:
            source.seen.is_sound &= not line.piece.repairs
            value = {**value, "messages": [_keyed(message, source.seen) for message in value["messages"]]}
        yield from _session(builder, thread, value, line)

    yield from read_sessions(builder, json_elements(source, _is_session), session)
    yield from builder.close()


def _keyed(message: Any, seen: SeenMessages) -> Any:
    """Returns a message of a store as one that is known by its digest."""
    if not isinstance(message, dict) or not isinstance(message.get(SEEN_KEY), str):
        return message
    key = bytes.fromhex(message[SEEN_KEY])
    return seen.find(key) or seen.new({name: value for name, value in message.items() if name != SEEN_KEY}, key)


def fields_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of a message by which a session is read without what the message says."""
    info = {name: message["info"][name] for name in ("id", "modelID") if isinstance(message["info"].get(name), str)}
    if given := _instructions(message["info"]):
        info["system"] = [_key(each) for each in given]
    parts = [{"tool": "task", "state": {"metadata": {"sessionId": child}}} for child in _children(message)]
    return {"info": info, "parts": parts}


def _instructions(info: Mapping[str, Any]) -> list[Any]:
    """Returns the texts of the instructions that a message names: clients write a list of them, or one."""
    given = info.get("system")
    return [each for each in (given if isinstance(given, list) else [given]) if each]


def _key(given: Any) -> str:
    return raw_digest(json.dumps(given, sort_keys=True).encode())[:20].hex()


def _session(builder: BatchBuilder, thread: Thread, value: SourceRecord, line: RecordLine) -> Iterator[Batch]:
    info, messages = value["info"], value["messages"]
    title = as_name(info.get("title"))
    if title:
        builder.title(thread.session, title)
    facts = builder.facts(thread.session)
    facts |= {fact: info[field] for field, fact in FACTS.items() if as_name(info.get(field))}
    thread.clock.read(_created(info))  # for messages without a time
    starters: list[tuple[StarterKey, str]] = []
    first: str | None = None
    told: set[str] = set()  # the instructions that were turns, by their keys
    for number, message in enumerate(messages):
        place = f"{line.where}.messages[{number}]"
        builder.record(line.size // len(messages))
        if not isinstance(message, dict) or not isinstance(message.get("info"), dict):
            builder.skip("not-object", place)
            continue
        if number == len(messages) - 1 and value.get(GROWING) is True and _is_unfinished(message["info"]):
            builder.skip("unfinished", place, lost=False)
            continue
        builder.answered_by(thread.session, message["info"].get("modelID"))
        own = yield from _told(thread, message, f"{place}.info.system", told)
        first = first or thread.last
        yield from thread.admit(own, place, _essence, _build)
        first = first or thread.last
        if turn := thread.last:
            keys = (key for child in _children(message) for key in session_keys(thread.session, child))
            starters += ((key, turn) for key in keys)
    if thread.last is not None:
        facts["shown_last"] = thread.last
    yield from builder.close(thread.session)
    parent = as_name(info.get("parentID"))
    waits = [(key, [first]) for key in session_keys(parent, thread.session)] if first and parent else []
    if starters or waits:
        yield Batch(None, agents=KnownAgents(starters, waits))


def _told(thread: Thread, message: SourceRecord, place: str, told: set[str]) -> Generator[Batch, None, SourceRecord]:
    """Adds the turn of the instructions of a message that no message before it had. Returns the message to read.

    A message with such a turn is not kept as one that was seen: its instructions have to be read again, too.
    """
    info = message["info"]
    is_seen = isinstance(message, KeyedMessage) and message.seen is not None
    named = {each if is_seen else _key(each): each for each in _instructions(info)}
    new = {key: each for key, each in named.items() if key not in told}
    told.update(new)
    if not new:
        return message
    if isinstance(message, KeyedMessage) and is_seen:  # the message that had them before it is gone
        message.memory.fits = False
        return message
    thread.builder.record()
    name = f"{info['id']}{SYSTEM}" if as_name(info.get("id")) else None
    parts = [{"type": "text", "text": each, "synthetic": True} for each in new.values()]
    record = {"info": {"id": name, "role": "system", "time": {"created": _created(info)}}, "parts": parts}
    yield from thread.admit(record, place, _essence, _build)
    return dict(message)


def _created(info: SourceRecord) -> Any:
    time = info.get("time")
    return time.get("created") if isinstance(time, dict) else None


def _is_unfinished(info: SourceRecord) -> bool:
    time = info.get("time")
    is_complete = isinstance(time, dict) and time.get("completed")
    return info.get("role") == "assistant" and not is_complete and not info.get("error")


def _children(message: Mapping[str, Any]) -> Iterator[str]:
    """Yields the sessions that the calls of a message started."""
    for part in as_objects(message.get("parts")):
        metadata = _state(part).get("metadata")
        child = metadata.get("sessionId") if isinstance(metadata, dict) else None
        if part.get("tool") == "task" and as_name(child):
            yield str(child)


def _state(part: SourceRecord) -> SourceRecord:
    state = part.get("state")
    return state if isinstance(state, dict) else {}


def _essence(message: SourceRecord) -> SourceRecord:
    """Returns what identifies a message: who spoke, and what. Times, costs and titles of tools change."""
    parts = [_said(part) for part in _parts_of(message) if not _is_silent(part)]
    return {"id": message["info"].get("id"), "role": message["info"].get("role"), "parts": parts}


_SAID: Final = ("type", "text", "tool", "callID", "filename", "mime", "url", "prompt")


def _said(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    state = {key: _state(part).get(key) for key in ("input", "output", "error")}
    return {**{key: part[key] for key in _SAID if key in part}, **state}


# The content of a message


def _build(message: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
    info = message["info"]
    name = str(info.get("role"))
    role = ROLES_BY_NAME.get(name)
    if role is None:
        flag("unknown-role", name)
    parts = tuple(piece for part in _parts_of(message) if not _is_silent(part) for piece in _parts(part, flag))
    if not parts:
        return NonTurn("empty message", info.get("id"))  # its parts are of kinds that no model saw
    if info.get("summary") is True:
        role, parts = "system", marked(parts, summary=True)
    return TurnDraft(role or "system", parts, source_id=info.get("id"), time=_created(info))


def _parts_of(message: SourceRecord) -> list[Any]:
    parts = message.get("parts")
    return parts if isinstance(parts, list) else [parts]


def _is_silent(part: Any) -> bool:
    return not part or (isinstance(part, dict) and as_name(part.get("type")) in _SILENT)


def _parts(part: Any, flag: Flag) -> list[Part]:
    kind = as_name(part.get("type")) if isinstance(part, dict) else None
    return _PARTS[kind](part, flag) if kind in _PARTS else unknown(part, flag)


def _text(part: SourceRecord, _flag: Flag) -> list[Part]:
    return [*marked(tuple(text_parts(part.get("text"))), hidden=part.get("synthetic") is True)]


def _tool(part: SourceRecord, flag: Flag) -> list[Part]:
    state, call_id, name = _state(part), as_name(part.get("callID")), as_text(part.get("tool"))
    found = [Part("tool_call", name=name, arguments=state.get("input"), call_id=call_id)]
    if state.get("status") in ("completed", "error"):
        failed = state["status"] == "error"
        text = as_text(state.get("error") if failed else state.get("output"))
        found.append(Part("tool_result", text=text, name=name, call_id=call_id, error=failed))
    return [*found, *(_file(each, flag)[0] for each in as_objects(state.get("attachments")))]


def _file(part: SourceRecord, flag: Flag) -> list[Part]:
    url = as_name(part.get("url"))
    uri = content_uri(url) if url and url.startswith("data:") else url
    return [pointer(uri, flag, media_type=part.get("mime"), name=part.get("filename"))]


_PARTS: Final[dict[str, Callable[[SourceRecord, Flag], list[Part]]]] = {
    "text": _text,
    "reasoning": lambda part, _flag: text_parts(part.get("text"), "thinking"),
    "tool": _tool,
    "file": _file,
    "subtask": lambda part, _flag: text_parts(part.get("prompt")),
    "agent": lambda part, _flag: text_parts(part.get("name")),
}
