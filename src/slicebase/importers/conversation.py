"""Reading and writing conversation slice files (§ Conversation).

A line of the body is a message with `role`, `content` and `ts`, a `tool_call`, a `tool_result` or a `compaction_note`.
What those fields cannot hold is in the line's `_meta`: a turn's id, its parents, its source hash and, where the line
does not hold everything, its parts. So an exported session imports to the same ids and branches (ruling 15).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from slicebase.core.hashing import canonical, is_digest
from slicebase.core.ids import is_uuid
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.graph.session import SHOWN_FACT, stated_facts
from slicebase.graph.turn import EDGE_TYPES, Edge, Parent, Part, Session, Turn, turn_text
from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import ROLES_BY_NAME, Flag, as_name, as_text, marked, parts_of, text_parts
from slicebase.importers.json_stream import BOM, RecordLine, json_lines, repaired, without
from slicebase.importers.silence import holds_text
from slicebase.importers.thread import Fault, NonTurn, SourceRecord, Thread, TurnDraft, read_records
from slicebase.importers.times import start_of
from slicebase.importers.values import Batch, Format, Head, ImportSource, Options, Read

NAME: Final = "conversation"
ESSENCE: Final = without("_meta")


# Reading

_MAX_HEADER: Final = 80 << 10  # the largest header of a slice file, with room for its markers
_NOTE: Final = "compaction_note"


def sniff(head: Head) -> bool:
    return (
        head.data.removeprefix(BOM).startswith(b"---") and _header(head.data[:_MAX_HEADER], head.name).is_conversation
    )


class _Header(NamedTuple):
    is_conversation: bool = False
    session: str | None = None
    title: str | None = None
    facts: Mapping[str, Any] = MappingProxyType({})
    lines: int = 0


def _header(head: bytes, name: str) -> _Header:
    """Returns the fields of the frontmatter that concern a conversation."""
    from slicebase.files.slice_file import SliceFile  # imported here for a fast start: an export does not need it

    try:
        file = SliceFile.parse(head, name)
    except SlicebaseError:
        return _Header()
    is_conversation = file.body_type == "conversation"
    return _Header(is_conversation, file.conversation.session_id, file.title, _facts(file.meta), file.body_line - 1)


def _facts(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts in the metadata of a file. An export also names the turn that is shown last."""
    given = {key: value for key, value in meta.items() if isinstance(value, str | int | bool)}
    shown = {key: value for key, value in given.items() if key == SHOWN_FACT and is_uuid(str(value))}
    return stated_facts({key: value for key, value in given.items() if key not in shown}) | shown


def start(options: Options) -> Read:
    return lambda source: _read(source, options)


FORMAT: Final = Format(NAME, sniff, start)


def _read(source: ImportSource, options: Options) -> Iterator[Batch]:
    header, body = _split(source)
    builder = BatchBuilder(NAME)
    thread = Thread(builder, header.session or None, options.session or source.stem)
    if header.title:
        builder.title(thread.session, header.title)
    builder.facts(thread.session).update(header.facts)

    def line_of(record: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        yield from thread.admit(record, line.where, ESSENCE, _build)
        for child, parent in _links(record):
            above, below = thread.id_of(parent.id), thread.id_of(child)
            if above is not None and below is not None:
                builder.link(Edge(above, below, parent.type))

    thread.clock.now, lines = start_of(json_lines(body, _is_line, header.lines), _time_of)
    yield from read_records(builder, lines, line_of)
    yield from builder.close()


def _split(source: ImportSource) -> tuple[_Header, ImportSource]:
    """Returns the header, and the body as a separate source. A file without a header is only a body."""
    chunks = iter(source.chunks)
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) > _MAX_HEADER:
            break
    header = _header(head, source.name)
    rest = head.split(b"\n", header.lines)[-1] if header.lines else head
    return header, ImportSource(source.name, chain([rest], chunks))


def _is_line(value: Any) -> bool:
    return isinstance(value, dict) and ("role" in value or value.get("type") == _NOTE)


def _time_of(line: RecordLine) -> Any:
    return line.piece.value.get("ts") if isinstance(line.piece.value, dict) else None


def _meta(record: SourceRecord) -> SourceRecord:
    meta = record.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _build(record: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
    meta, repairs = repaired(_meta(record))  # it is no part of the record's hash, with which the others are repaired
    for reason in repairs:
        flag(reason, "_meta")
    if record.get("type") != _NOTE and "role" not in record:
        return Fault("unknown-record", str(record.get("type")), meta.get("id"), lost=holds_text(record))
    name = "system" if record.get("type") == _NOTE else str(record["role"])
    role = ROLES_BY_NAME.get(name)
    if role is None:
        flag("unknown-role", name)
    return TurnDraft(
        role or "system",
        _given_parts(meta) or _parts(record, flag),
        source_id=meta.get("id"),
        time=record.get("ts"),
        source_hash=_given_hash(meta),
        given=_given_parents(meta),
    )


def _parts(record: SourceRecord, flag: Flag) -> tuple[Part, ...]:
    """Returns the parts that the line itself gives, without its `_meta`."""
    call_id, name = as_name(record.get("call_id")), as_name(record.get("name"))
    if record.get("type") == _NOTE:
        return marked(tuple(text_parts(record.get("summary"))), summary=True)
    if record.get("role") == "tool_call":
        return (Part("tool_call", name=name, arguments=record.get("args"), call_id=call_id),)
    if record.get("role") == "tool_result":
        failed = record.get("error") is True
        return (Part("tool_result", text=as_text(record.get("content")), name=name, call_id=call_id, error=failed),)
    return tuple(parts_of(record.get("content"), flag))


def _given_parts(meta: SourceRecord) -> tuple[Part, ...]:
    try:
        return msgspec.convert(meta.get("parts", []), tuple[Part, ...])
    except msgspec.ValidationError:
        return ()


def _given_hash(meta: SourceRecord) -> str | None:
    given = as_name(meta.get("source_hash"))
    return given if given and is_digest(given) else None


def _given_parents(meta: SourceRecord) -> tuple[Parent, ...] | None:
    return None if "parents" not in meta else _pairs(meta["parents"])


def _pairs(value: Any) -> tuple[Parent, ...]:
    pairs = value if isinstance(value, list) else []
    return tuple(
        Parent(pair[0], pair[1])
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) and as_name(pair[1]) in EDGE_TYPES
    )


def _links(record: SourceRecord) -> list[tuple[str, Parent]]:
    """Returns the parents of a turn that are not in its own record, each with the turn."""
    meta = _meta(record)
    child = as_name(meta.get("id"))
    return [(child, parent) for parent in _pairs(meta.get("links"))] if child else []


# Writing


class Exported(NamedTuple):
    """A session as a slice file: the fields of its frontmatter below `slice`, and the lines of its body."""

    header: dict[str, Any]
    lines: tuple[bytes, ...]


def export_conversation(session: Session, turns: Iterable[Turn], links: Iterable[Edge] = ()) -> Exported:
    """Returns a session as a slice file. `links` are the edges to its turns that are not in the turns' own records."""
    links_to = defaultdict(list)
    for link in sorted(links):
        links_to[link.child].append([link.parent, link.edge_type])
    records = [_line(turn, links_to.get(turn.id, [])) for turn in turns]
    roles = sorted({record["role"] for record in records})
    header = {
        "title": session.title or session.id,
        "summary": f"{len(records)} turns of a {session.format} session.",
        "body": {
            "type": "conversation",
            "conversation": {
                "participants": roles,
                "session_id": session.id,
                "format": "messages",
                "includes_tool_calls": "tool_call" in roles or "tool_result" in roles,
                "includes_compaction": False,  # a summary is exported as a turn of the system
            },
        },
        "meta": {key: value for key, value in session.facts.items() if isinstance(value, str | int | bool)},
    }
    return Exported(header, tuple(canonical(record) + b"\n" for record in records))


def _line(turn: Turn, links: list[list[str]]) -> SourceRecord:
    record = {**_fields(turn), "ts": to_text(turn.time)}
    meta: SourceRecord = {
        "id": turn.id,
        "parents": [[parent.id, parent.type] for parent in turn.parents],
        "source_hash": turn.source_hash,
    }
    if links:
        meta["links"] = links
    if ROLES_BY_NAME[record["role"]] != turn.role or _parts(record, lambda _reason, _detail: None) != turn.parts:
        meta["parts"] = [msgspec.to_builtins(part) for part in turn.parts]
    return {**record, "_meta": meta}


def _fields(turn: Turn) -> SourceRecord:
    """Returns the fields of the line that the specification defines."""
    part = turn.parts[0] if len(turn.parts) == 1 else None
    if part is not None and part.type == "tool_call" and turn.role == "assistant":
        return _without_empty({"role": "tool_call", "name": part.name, "args": part.arguments, "call_id": part.call_id})
    if part is not None and part.type == "tool_result" and turn.role == "tool":
        result = {"role": "tool_result", "call_id": part.call_id, "name": part.name, "content": part.text}
        return _without_empty({**result, "error": part.error or None})
    return {"role": turn.role, "content": turn_text(turn.parts)}


def _without_empty(record: SourceRecord) -> SourceRecord:
    return {key: value for key, value in record.items() if value is not None}
