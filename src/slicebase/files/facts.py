"""Reads from a slice file, in one pass, what search, walks along links and freshness checks need."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Struct

from slicebase.files.body.lines import JsonLine, read_lines, read_time
from slicebase.files.body.rows import Row, read_rows, row_text
from slicebase.files.body.supersession import active
from slicebase.files.freshness import changed_at
from slicebase.files.model import Link
from slicebase.files.slice_file import SliceFile

if TYPE_CHECKING:
    from slicebase.files.note import NotePlace


class BodyPassage(NamedTuple):
    """A piece of a body: a row, a line of a conversation or routine, or the complete body of any other type."""

    line: int  # of the file
    row: str  # the row's id; empty if the passage is not a row
    text: str


class StatedLink(NamedTuple):
    """A link, and where the file states it."""

    link: Link
    row: str  # the id of the row that states it; empty for a link in the frontmatter
    active: bool  # whether that row is still active


class Facts(Struct, frozen=True):
    """What search, walks along links and freshness checks need to know about a file."""

    id: str | None
    title: str
    summary: str
    kind: str
    body_type: str
    hash: str | None
    source: str | None
    source_hash: str | None
    changed: int | None  # milliseconds since 1970; None if only the file system knows
    due: str | None  # work that a writer left to be done, such as a summary (ruling 32)
    archived: bool
    purged: bool
    rows: int
    meta: tuple[tuple[str, str], ...]  # dotted keys, values as text
    links: tuple[StatedLink, ...]
    passages: tuple[BodyPassage, ...]  # active rows, and all other content
    former: tuple[BodyPassage, ...]  # rows that were superseded, or whose status is not active
    supersedes_elsewhere: tuple[str, ...]  # superseded row ids that are not in this file
    note: Any = None  # a NotePlace, if the file points to a note


def read_facts(file: SliceFile, log: Sequence[Row] = ()) -> Facts:
    """Returns the facts of a file. `log` holds the rows of the other files that `part_of` joins with it (ruling 32)."""
    rows = own_rows(file)
    active_rows = {(row.id, row.status) for row in active((*rows, *log))} if rows else set()
    former = {row.line.number for row in rows if (row.id, row.status) not in active_rows}
    lines = _lines(file, rows)
    passages = tuple(_passages(file, rows, lines))
    source, known = file.derived_from, {row.id for row in rows}
    superseded = dict.fromkeys(old for row in rows for old in row.supersedes if old not in known)
    return Facts(
        id=file.id,
        title=file.title or "",
        summary=file.summary or "",
        kind=file.kind,
        body_type=file.body_type or "",
        hash=file.hash,
        source=source.id if source else None,
        source_hash=source.hash if source else None,
        changed=_changed(file, rows, lines),
        due=file.due,
        archived=file.archived is not None,
        purged=file.purged is not None,
        rows=len(rows),
        meta=tuple(_texts(file.meta)),
        links=tuple(_links(file, rows, former)),
        passages=tuple(passage for passage in passages if passage.line not in former),
        former=tuple(passage for passage in passages if passage.line in former),
        supersedes_elsewhere=tuple(superseded),
        note=_note(file),
    )


def _note(file: SliceFile) -> "NotePlace | None":
    if file.body_type != "none":
        return None
    from slicebase.files.note import note_place  # start-up counts: most libraries have no notes

    return note_place(file)


def own_rows(file: SliceFile) -> tuple[Row, ...]:
    """Returns the rows of a jsonl body; other bodies have none."""
    return read_rows(file.body, file.body_line, file.name).rows if file.body_type == "jsonl" else ()


def _lines(file: SliceFile, rows: Sequence[Row]) -> Sequence[JsonLine]:
    """Returns the readable lines of a body with one JSON object per line."""
    if file.body_type == "jsonl":
        return [row.line for row in rows]
    return read_lines(file.body, file.body_line).lines if file.body_type in _LINE_TEXTS else ()


def _changed(file: SliceFile, rows: Sequence[Row], lines: Sequence[JsonLine]) -> int | None:
    """Returns the time of the last change.

    Appending to a conversation does not change the frontmatter, as with rows, so the times of lines count (ruling 26).
    """
    times = [row.time for row in rows] or [read_time(line.value.get("ts")) for line in lines]
    newest = max((time for time in times if time is not None), default=None)
    created = read_time(file.created_at)
    return changed_at(file.id or "", updated_at=read_time(file.updated_at), newest_row=newest, created_at=created)


def _links(file: SliceFile, rows: Sequence[Row], former: set[int]) -> Iterator[StatedLink]:
    """Yields the links of the file and its rows, and `derived_from`, which states the relationship of that name."""
    source = file.derived_from
    derived = [Link("derived_from", source.id)] if source and source.id else []
    own = {(link.rel, link.to): link for link in (*derived, *file.links) if link.rel and link.to}
    yield from (StatedLink(link, "", active=True) for link in own.values())
    for row in rows:
        is_active = row.line.number not in former
        yield from (StatedLink(link, row.id, is_active) for link in row.links if link.rel and link.to)


# The body's text


def _passages(file: SliceFile, rows: Sequence[Row], lines: Sequence[JsonLine]) -> Iterator[BodyPassage]:
    text_of = _LINE_TEXTS.get(file.body_type or "")
    if text_of is None:
        text = file.body.decode(errors="replace")
        if text.strip():
            yield BodyPassage(file.body_line, "", text)
        return
    ids = {row.line.number: row.id for row in rows}
    values = {line.number: line.value for line in lines}
    for number, raw in enumerate(file.body.split(b"\n"), file.body_line):
        if raw.strip():
            # Search still finds a line that is not readable JSON.
            text = text_of(values[number]) if number in values else raw.decode(errors="replace")
            yield BodyPassage(number, ids.get(number, ""), text)


# Keys of a conversation's or routine's line that are not content.
_NO_CONTENT: Final = frozenset({"_meta", "role", "type", "ts", "call_id"})


def _content(value: Mapping[str, Any]) -> str:
    return "\n\n".join(text for key, item in value.items() if key not in _NO_CONTENT for text in _leaves(item) if text)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)


_LINE_TEXTS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "jsonl": row_text,
    "conversation": _content,
    "routine": _content,
}


# Meta


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yields every value below a key as the text that a filter compares. A list gives each of its items."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(item, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, key)
    elif isinstance(value, bool) or value is None:
        yield key, {True: "true", False: "false", None: "null"}[value]
    else:
        yield key, str(value)
