"""Reads the rows of a jsonl body with their envelope `_meta`, and writes new rows (§ JSONL Body, ruling 27).

Reading is tolerant: every object with an id in `_meta` is a row, and everything wrong with it is a finding.
Writing is strict: a line that would give a finding is refused.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeGuard

from msgspec import Struct

from slicebase.errors import SlicebaseError
from slicebase.files.body.lines import JsonLine, judge_time, read_lines
from slicebase.files.body.objects import json_line
from slicebase.files.findings import Finding, shown
from slicebase.files.model import SHARE, TEXT, Form, Forms, Link, is_share, misfits, text_or_none

ValuePath = tuple[str | int, ...]

_BEFORE_ALL: Final = -(2**63)  # a row without a readable time is older than every other


class Provenance(Struct, frozen=True, omit_defaults=True):
    """Where knowledge came from (§ Provenance).

    Rows have two shapes of it. The shorter one is read into this one: its author as agent, its method as source.
    """

    agent: str | None = None
    session: str | None = None
    source: str | None = None
    confidence: float | None = None
    context: str | None = None


class Row(Struct, frozen=True):
    """A row of a log, with the fields of its envelope."""

    id: str
    time: int | None  # milliseconds since 1970
    supersedes: tuple[str, ...]
    confidence: float | None
    provenance: Provenance | None
    status: str | None
    line: JsonLine

    @property
    def age_key(self) -> tuple[int, str, bytes]:
        """Sorts rows from the oldest to the newest, whatever their order in the file (ruling 27)."""
        return older_first(self.time, self.id, self.line.raw)

    @property
    def raw(self) -> bytes:
        return self.line.raw

    @property
    def links(self) -> tuple[Link, ...]:
        return tuple(dict.fromkeys(link for _, link in placed_links(self.line.value)))

    @property
    def text(self) -> str:
        return row_text(self.line.value)


class Rows(NamedTuple):
    """The rows of a log, and the findings about its lines."""

    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]


def read_rows(body: bytes, first_line: int = 1, file: str = "") -> Rows:
    """Returns the rows of a jsonl body and the findings about them. `first_line` is its line in the file."""
    lines, unreadable = read_lines(body, first_line, file)
    findings = list(unreadable)
    rows = [row for line in lines if (row := _read_row(line, findings)) is not None]
    return Rows(tuple(rows), tuple(findings))


def older_first(time: int | None, row_id: str, raw: bytes) -> tuple[int, str, bytes]:
    """Returns what sorts rows from the oldest to the newest (ruling 27)."""
    return (_BEFORE_ALL if time is None else time, row_id, raw)


def row_text(fields: Mapping[str, Any]) -> str:
    """Returns a row's text for evidence and search: `text`, then its other top-level texts in order (ruling 36)."""
    others = (value for key, value in fields.items() if key != "text")
    return "\n\n".join(value for value in (fields.get("text"), *others) if isinstance(value, str) and value)


SHORTEST_PREFIX: Final = 8  # characters that name a row (ruling 53)
_SHOWN: Final = 5  # ids in a hint


def full_row_id(ids: Collection[str], given: str, log: str) -> str:
    """Returns the id of a row that is named by its id, or by the beginning of it, which only one row may have."""
    if given in ids:
        return given
    found = sorted({row_id for row_id in ids if row_id.startswith(given)}) if len(given) >= SHORTEST_PREFIX else []
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(found[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")
        raise SlicebaseError("ambiguous-id", f"{len(found)} rows have an id that starts with {given}", hint=shown)
    hint = f"a row is named by its id, or by {SHORTEST_PREFIX} or more characters that it starts with"
    raise SlicebaseError("no-row", f"there is no row {given} in {log}", hint=hint)


def placed_links(row: Mapping[str, Any]) -> Iterator[tuple[ValuePath, Link]]:
    """Yields the links of a row, from both places where they may be (ruling 27), each with its path in the row."""
    meta = row.get("_meta")
    places = (
        (("_meta", "links"), meta.get("links") if isinstance(meta, dict) else None),
        (("links",), row.get("links")),
    )
    for path, links in places:
        for index, link in enumerate(links if isinstance(links, list) else ()):
            if _is_link(link):
                yield (*path, index), Link(link["rel"], link["to"], link.get("label"))


def row_line(meta: Mapping[str, Any], content: Mapping[str, Any]) -> bytes:
    """Returns the line of a new row with its line end: `_meta` first, then the content in its order."""
    if "_meta" in content:
        raise SlicebaseError("breaks-rule", "a row's content cannot have `_meta`: the envelope is created for it")
    line = json_line({"_meta": meta, **content})
    for finding in read_rows(line).findings:
        raise SlicebaseError("breaks-rule", finding.message, hint=finding.hint)
    return line


def _read_row(line: JsonLine, findings: list[Finding]) -> Row | None:
    meta = line.value.get("_meta")
    if not isinstance(meta, dict):
        message = "the row has no `_meta`" if meta is None else f"`_meta` is {shown(meta)}, not an object"
        findings.append(line.finding("row-meta", message, "_meta", hint="add `_meta` with the row's id and created_at"))
        return None
    row_id = meta.get("id")
    if not _is_id(row_id):
        message = "the row has no id" if row_id is None else f"{shown(row_id)} is not a row id"
        findings.append(line.finding("row-id", message, "_meta", "id", hint="an id is text without spaces"))
        return None
    time = _read_created_at(line, meta, findings)
    findings.extend(_field_findings(line))
    provenance = _read_provenance(meta.get("provenance"))
    stated = meta.get("confidence")
    return Row(
        id=row_id,
        time=time,
        supersedes=_read_supersedes(meta.get("supersedes")),
        confidence=float(stated) if is_share(stated) else (provenance.confidence if provenance else None),
        provenance=provenance,
        status=text_or_none(meta.get("status")),
        line=line,
    )


def _field_findings(line: JsonLine) -> Iterator[Finding]:
    for misfit in misfits(line.value, _FORMS):
        message = f"`{misfit.name}` is {shown(misfit.value)}, not {misfit.form}"
        yield line.finding("row-field", message, *misfit.path)


def _read_created_at(line: JsonLine, meta: Mapping[str, Any], findings: list[Finding]) -> int | None:
    if meta.get("created_at") is None:
        findings.append(line.finding("row-created-at", "the row has no created_at", "_meta"))
        return None
    time, problem = judge_time(meta["created_at"])
    if problem:
        findings.append(line.finding(problem.rule, problem.message, "_meta", "created_at", hint=problem.hint))
    return time


def _is_id(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value.split() == [value]


def _is_ids(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_id, value))


def _is_link(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("rel"), str)
        and isinstance(value.get("to"), str)
        and isinstance(value.get("label", ""), str)
    )


def is_links(value: object) -> bool:
    """Returns whether a value is a list of links."""
    return isinstance(value, list) and all(map(_is_link, value))


def _is_links_or_content(value: object) -> bool:
    """Returns whether a `links` beside `_meta` is acceptable. It may be a field of the user's own.

    It must have the form of links only if one of its items has `rel` or `to`.
    """
    has_links = isinstance(value, list) and any(
        isinstance(item, dict) and ("rel" in item or "to" in item) for item in value
    )
    return not has_links or is_links(value)


_LINKS: Final = "a list of links with rel and to"
_FORMS: Final[Forms] = {
    "_meta": {
        "supersedes": Form(_is_ids, "a list of row ids"),
        "confidence": SHARE,
        "provenance": {
            "confidence": SHARE,
            **dict.fromkeys(("agent", "session", "source", "context", "author", "method"), TEXT),
        },
        "status": TEXT,
        "links": Form(is_links, _LINKS),
    },
    "links": Form(_is_links_or_content, _LINKS),
}


def _read_supersedes(value: object) -> tuple[str, ...]:
    """Returns the superseded ids. A bare id is read as a list of one; ignoring it would make an old row active."""
    if value is None:
        return ()
    ids = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(item for item in ids if isinstance(item, str)))


def _read_provenance(value: object) -> Provenance | None:
    if not isinstance(value, dict):
        return None
    stated = value.get("confidence")
    return Provenance(
        agent=text_or_none(value.get("agent")) or text_or_none(value.get("author")),
        session=text_or_none(value.get("session")),
        source=text_or_none(value.get("source")) or text_or_none(value.get("method")),
        confidence=float(stated) if is_share(stated) else None,
        context=text_or_none(value.get("context")),
    )
