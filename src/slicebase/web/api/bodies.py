"""The bodies of slice files, window by window: texts, rows with their history, conversations and routines."""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from slicebase.core.refs import parse, recorded
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.conversation import read_conversation
from slicebase.files.body.routine import read_routine
from slicebase.files.body.sections import section_names, section_ref
from slicebase.files.body.windows import TextWindow, cited_span, text_window
from slicebase.library.log_rows import RowLine, log_rows
from slicebase.library.texts import FoundNote, SectionedText, note_of, sectioned
from slicebase.web.endpoints import Name, Paged, Parameters, cursor_of, get, read_number

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.files.slice_file import SliceFile

_LONG: Final = 600  # characters of a field of a row in a table
_LONGEST: Final = 20_000  # characters of an entry of a conversation, and of the JSON of a row
_FORMER: Final = 20  # former versions of a row in a table
_FIELDS: Final = 40  # fields of a row in a table
Offset = Annotated[int, Meta(ge=0, le=1 << 40, description="In code points.")]


class BodyQuery(Parameters, frozen=True, kw_only=True):
    """A window of a body: where it begins, or the section that it shows, and a cited span of that."""

    id: Name
    start: Offset = 0
    size: Annotated[int, Meta(ge=1, le=400_000)] = 40_000
    at: Annotated[str, Meta(max_length=2000, description="A reference to a section; the window begins there.")] = ""
    span_start: Offset = 0
    span_end: Annotated[int, Meta(ge=-1, le=1 << 40, description="-1 for the end of the section.")] = -1


class BodyHeading(Struct, frozen=True):
    """A section of a body: where it begins, and the reference that cites it."""

    ref: str
    title: str
    level: int
    start: int
    line: int


class MarkedPlace(Struct, frozen=True):
    """The place that a reference names, as spans of the whole text; `state` is `drifted` if the text has changed."""

    ref: str
    state: Literal["same", "drifted", "gone"]
    start: int
    end: int
    span_start: int
    span_end: int


class BodyAnswer(Struct, frozen=True):
    """A window of a text; `line` is that of its first character in the text."""

    text: str
    start: int
    end: int
    total: int
    line: int
    headings: tuple[BodyHeading, ...]  # the first of its `sections`
    sections: int
    at: MarkedPlace | None
    problem: str | None  # why there is no text


_HEADINGS: Final = 200


def body(memory: "Slicebase", asked: BodyQuery) -> BodyAnswer:
    """Returns a window of the text of a file, or of the note that it points to."""
    found = _readable(memory, asked.id)
    note = note_of(memory.folder, found, memory.surroundings.redaction.uncounted)
    if note and note.problem:
        return BodyAnswer("", 0, 0, 0, 1, (), 0, None, note.problem)
    text, digest, parts = _text(found, note)
    place = _cited(asked, SectionedText(text, digest, parts), found.id or "") if asked.at else None
    first = place.start if place and place.state != "gone" else asked.start
    is_blocks = found.body_type in ("markdown", "none")
    shown = text_window(text, first, asked.size, blocks=is_blocks)
    listed = [each for each in parts if each.level] if is_blocks else []
    headings = tuple(
        BodyHeading(str(section_ref(found.id or "", digest, each)), each.title, each.level, each.start, each.line)
        for each in listed[:_HEADINGS]
    )
    return BodyAnswer(shown.text, shown.start, shown.end, shown.total, shown.line, headings, len(listed), place, None)


def _readable(memory: "Slicebase", name: str) -> "SliceFile":
    found = memory.folder.find(name)
    if found.purged:
        reason = f": {found.purged.reason}" if found.purged.reason else ""
        raise SlicebaseError("purged", f"the content was purged{reason}", where=Where(found.name))
    return found


def _text(found: "SliceFile", note: FoundNote | None) -> SectionedText:
    if note is None and found.body_type != "markdown":
        return SectionedText(found.text_for_model(), found.hash or "", ())
    return sectioned(found, note)


def _cited(asked: BodyQuery, found: SectionedText, file_id: str) -> MarkedPlace:
    version, _, slugs = parse(asked.at).local.partition("#")
    section = next((each for each in found.sections if slugs in section_names(each)), None)
    is_same = bool(version) and found.digest.removeprefix("sha256:").startswith(version)
    if section is None:
        return MarkedPlace(asked.at, "gone", 0, 0, 0, 0)
    end = section.end - section.start if asked.span_end < 0 else asked.span_end
    start, stop = cited_span(found.text, asked.span_start, end, (section.start, section.end))
    return MarkedPlace(asked.at, "same" if is_same else "drifted", section.start, section.end, start, stop)


# Rows


class RowsQuery(Paged, frozen=True, kw_only=True):
    """A page of the rows of a log."""

    id: Name
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class RowField(Struct, frozen=True):
    """A value of a row, as text; `characters` is its length where it is cut."""

    name: str
    value: str
    is_text: bool
    characters: int


class LogRow(Struct, frozen=True):
    """A row of a log, with long values cut."""

    id: str
    ref: str
    file: str
    line: int
    time: str | None
    holds: bool
    status: str | None
    confidence: float | None
    agent: str | None
    source: str | None
    supersedes: tuple[str, ...]
    fields: tuple[RowField, ...]
    bytes: int


class RowGroup(Struct, frozen=True):
    """Rows that replace each other. More than one current row: people have to decide which of them holds."""

    current: tuple[LogRow, ...]
    former: tuple[LogRow, ...]
    more: int  # former rows that are not listed


class LogPage(Struct, frozen=True):
    """A page of a log: what holds, with what it replaced, the newest first."""

    groups: tuple[RowGroup, ...]
    total: int  # groups
    rows: int
    active: int
    unreadable: int
    forks: int  # groups with several current rows
    next: str | None


def rows(memory: "Slicebase", asked: RowsQuery) -> LogPage:
    """Returns the rows of a log, each with the rows that it replaced."""
    log = log_rows(memory.library.reader().logs, _readable(memory, asked.id))
    first = read_number(asked) or 0
    groups = tuple(_group(each) for each in log.groups[first : first + asked.limit])
    end = first + len(groups)
    return LogPage(
        groups, len(log.groups), log.total, log.active, log.unreadable, log.forks,
        cursor_of(asked, str(end)) if end < len(log.groups) else None,
    )  # fmt: skip


def _group(lines: tuple[RowLine, ...], former: int = _FORMER) -> RowGroup:
    current = [line for line in lines if line.holds]
    others = [line for line in lines if not line.holds]
    return RowGroup(tuple(map(_log_row, current)), tuple(map(_log_row, others[:former])), max(0, len(others) - former))


def _log_row(line: RowLine) -> LogRow:
    row = line.row
    fields = [(name, value) for name, value in row.line.value.items() if name != "_meta"][:_FIELDS]
    by = row.provenance
    return LogRow(
        id=row.id,
        ref=recorded(f"row:{line.file}/{row.id}"),
        file=line.file,
        line=line.line,
        time=None if row.time is None else to_text(row.time),
        holds=line.holds,
        status=row.status,
        confidence=row.confidence,
        agent=by.agent if by else None,
        source=by.source if by else None,
        supersedes=row.supersedes[:_FORMER],
        fields=tuple(_field(name, value) for name, value in fields),
        bytes=len(line.raw),
    )


def _field(name: str, value: Any) -> RowField:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return RowField(name[:_LONG], text[:_LONG], isinstance(value, str), len(text))


class RowQuery(Parameters, frozen=True, kw_only=True):
    """A row of a log, and a cited span of its text."""

    id: Name
    row: Name
    start: Offset = 0
    size: Annotated[int, Meta(ge=1, le=400_000)] = 40_000


class RowAnswer(Struct, frozen=True):
    """A row with its text as evidence quotes it, window by window, its JSON, and the other versions of it."""

    row: LogRow
    group: RowGroup
    text: str
    start: int
    end: int
    total: int
    json: str
    json_characters: int


def row(memory: "Slicebase", asked: RowQuery) -> RowAnswer:
    """Returns one row of a log with its history."""
    found = _readable(memory, asked.id)
    log = log_rows(memory.library.reader().logs, found)
    lines = log.groups[log.group_of(asked.row, found.id or "")]
    line = min(lines, key=lambda each: (each.id != asked.row, not each.id.startswith(asked.row)))
    read = line.row
    shown: TextWindow = text_window(read.text, asked.start, asked.size)
    pretty = msgspec.json.format(line.raw, indent=2).decode(errors="replace")
    return RowAnswer(
        _log_row(line), _group(lines, 200), shown.text, shown.start, shown.end, shown.total,
        pretty[:_LONGEST], len(pretty),
    )  # fmt: skip


# Conversations and routines


class LinesQuery(Paged, frozen=True, kw_only=True):
    """A page of a body with one object a line."""

    id: Name
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class ConversationLine(Struct, frozen=True):
    """A message, a tool call, a tool result or a note of a compaction; `characters` is its length where it is cut."""

    line: int
    role: str
    time: str | None
    name: str | None
    call_id: str | None
    text: str
    characters: int
    args: str | None
    turns_summarized: int | None


class ConversationPage(Struct, frozen=True):
    """A page of a conversation."""

    entries: tuple[ConversationLine, ...]
    unreadable: int
    next: str | None


class _Lines(msgspec.Struct, frozen=True):
    body: bytes
    first: int
    count: int
    next: str | None


def _lines(found: "SliceFile", asked: LinesQuery) -> _Lines:
    """Returns the next lines of a body: the cursor is the byte at which they begin."""
    start = min(read_number(asked) or 0, len(found.body))
    end, count = start, 0
    while count < asked.limit and end < len(found.body):
        line_end = found.body.find(b"\n", end)
        end = len(found.body) if line_end == -1 else line_end + 1
        count += 1
    part = found.body[start:end]
    first = found.body_line + found.body.count(b"\n", 0, start)
    full = sum(1 for line in part.split(b"\n") if line.strip())
    return _Lines(part, first, full, cursor_of(asked, str(end)) if end < len(found.body) else None)


def conversation(memory: "Slicebase", asked: LinesQuery) -> ConversationPage:
    """Returns the messages of a conversation, in their order."""
    part = _lines(_of_type(memory, asked.id, "conversation"), asked)
    entries = read_conversation(part.body, part.first).entries
    shown = tuple(
        ConversationLine(
            line=each.line.number,
            role=each.role,
            time=None if each.time is None else to_text(each.time),
            name=each.name,
            call_id=each.call_id,
            text=each.text[:_LONGEST],
            characters=len(each.text),
            args=None if each.args is None else msgspec.json.encode(each.args).decode()[:_LONGEST],
            turns_summarized=each.turns_summarized,
        )
        for each in entries
    )
    return ConversationPage(shown, part.count - len(shown), part.next)


class RoutineLine(Struct, frozen=True):
    """A step of a routine: an instruction, or the name of what it reads or runs, with the title of that file."""

    line: int
    kind: Literal["instruction", "read", "run"]
    what: str
    title: str | None
    args: str | None
    note: str | None
    requirements: tuple[str, ...]


class RoutinePage(Struct, frozen=True):
    """A page of the steps of a routine."""

    steps: tuple[RoutineLine, ...]
    unreadable: int
    next: str | None


def routine(memory: "Slicebase", asked: LinesQuery) -> RoutinePage:
    """Returns the steps of a routine, in their order. Nothing is executed."""
    part = _lines(_of_type(memory, asked.id, "routine"), asked)
    steps = read_routine(part.body, part.first).steps
    shown = tuple(
        RoutineLine(
            line=each.line.number,
            kind=each.kind,
            what=each.what[:_LONGEST],
            title=_title(memory, each.what) if each.kind != "instruction" else None,
            args=None if each.args is None else msgspec.json.encode(each.args).decode()[:_LONGEST],
            note=each.note,
            requirements=each.requirements,
        )
        for each in steps
    )
    return RoutinePage(shown, part.count - len(shown), part.next)


def _title(memory: "Slicebase", name: str) -> str | None:
    found = memory.folder.readable(name)
    return found.title if found else None


def _of_type(memory: "Slicebase", name: str, body_type: str) -> "SliceFile":
    found = _readable(memory, name)
    if found.body_type != body_type:
        raise SlicebaseError("write-mode", f"a {found.body_type} body is no {body_type}", where=Where(found.name))
    return found


ENDPOINTS: Final = (
    get("/files/{id}/body", "library.reader", body),
    get("/files/{id}/rows", "library.reader", rows),
    get("/files/{id}/rows/{row:path}", "library.reader", row),
    get("/files/{id}/conversation", "library.reader", conversation),
    get("/files/{id}/routine", "library.routine", routine),
)
