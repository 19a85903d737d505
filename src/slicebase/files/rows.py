"""Rows of a jsonl body: the envelope `_meta`, what is read from it, and a new row's line (§ JSONL Body, ruling 27).

Reading is tolerant: a row with an id is a row, whatever else is wrong with it, and every wrong thing is a finding.
Writing is strict: a line that would give a finding is refused.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeGuard

import msgspec
from msgspec import Struct

from slicebase.core.canonical import canonical
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.files.findings import Finding, shown
from slicebase.files.jsonl import Line, read_lines
from slicebase.files.parts import Link
from slicebase.files.timestamps import read_time, time_problem

Path = tuple[str | int, ...]

_BEFORE_ALL: Final = -(2**63)  # a row without a readable time is older than every other


class Provenance(Struct, frozen=True, omit_defaults=True):
    """Where knowledge came from (§ Provenance).

    Rows show two shapes of it; the shorter one is read into this one: its author as agent, its method as source.
    """

    agent: str | None = None
    session: str | None = None
    source: str | None = None
    confidence: float | None = None
    context: str | None = None


class Row(Struct, frozen=True):
    id: str
    time: int | None  # milliseconds since 1970
    supersedes: tuple[str, ...]
    confidence: float | None
    provenance: Provenance | None
    status: str | None
    links: tuple[Link, ...]
    line: Line

    @property
    def age_key(self) -> tuple[int, str, bytes]:
        """Sorts rows from the oldest to the newest, wherever they stand (ruling 27)."""
        return (_BEFORE_ALL if self.time is None else self.time, self.id, self.line.raw)

    @property
    def text(self) -> str:
        return row_text(self.line.value)


class Rows(NamedTuple):
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]


def read_rows(body: bytes, first_line: int = 1, file: str = "") -> Rows:
    """The rows of a jsonl body whose first line has this number in this file."""
    lines, unreadable = read_lines(body, first_line, file)
    findings = list(unreadable)
    rows = [row for line in lines if (row := _read_row(line, findings)) is not None]
    return Rows(tuple(rows), tuple(findings))


def row_text(fields: Mapping[str, Any]) -> str:
    """A row as evidence and search see it: `text`, then its other top-level texts in their order (ruling 36)."""
    others = (value for key, value in fields.items() if key != "text")
    return "\n\n".join(value for value in (fields.get("text"), *others) if isinstance(value, str) and value)


def placed_links(row: Mapping[str, Any]) -> Iterator[tuple[Path, Link]]:
    """The links of a row, from both places where they are read (ruling 27), each with its path in the row."""
    meta = row.get("_meta")
    places = (
        (("_meta", "links"), meta.get("links") if isinstance(meta, dict) else None),
        (("links",), row.get("links")),
    )
    for path, links in places:
        for index, link in enumerate(links if isinstance(links, list) else ()):
            if _is_link(link):
                yield (*path, index), Link(link["rel"], link["to"], link.get("label"))


def row_line(
    content: Mapping[str, Any],
    row_id: str,
    milliseconds: int,
    *,
    supersedes: Iterable[str] = (),
    confidence: float | None = None,
    provenance: Provenance | None = None,
    status: str | None = None,
    links: Iterable[Link] = (),
) -> bytes:
    """The line of a new row, line end included: `_meta` first, then the content in its order."""
    optional = {
        "supersedes": list(supersedes),
        "confidence": confidence,
        "provenance": msgspec.to_builtins(provenance),
        "status": status,
        "links": [_written(link) for link in links],
    }
    meta = {"id": row_id, "created_at": to_text(milliseconds)} | {
        k: v for k, v in optional.items() if v not in (None, [])
    }
    if "_meta" in content:
        raise SlicebaseError("bad-row", "a row's content has no `_meta`: the envelope is made for it")
    row = {"_meta": meta, **content}
    canonical(row)  # refuses what would be lost on the way: NaN, half a surrogate pair, integers beyond 2^53
    line = msgspec.json.encode(row) + b"\n"
    for finding in read_rows(line).findings:
        raise SlicebaseError("bad-row", finding.message, hint=finding.hint)
    return line


def _written(link: Link) -> dict[str, Any]:
    return {key: value for key, value in msgspec.to_builtins(link).items() if value is not None}


def _read_row(line: Line, findings: list[Finding]) -> Row | None:
    meta = line.value.get("_meta")
    if not isinstance(meta, dict):
        message = "the row has no `_meta`" if meta is None else f"`_meta` is {shown(meta)}, no object"
        findings.append(line.finding("row-meta", message, "_meta", hint="a row begins with its id and created_at"))
        return None
    row_id = meta.get("id")
    if not _is_id(row_id):
        message = "the row has no id" if row_id is None else f"{shown(row_id)} is no row id"
        findings.append(line.finding("row-id", message, "_meta", "id", hint="an id is text without spaces"))
        return None
    findings.extend(_envelope_findings(line, meta))
    provenance = _read_provenance(meta.get("provenance"))
    stated = _share(meta.get("confidence"))
    return Row(
        id=row_id,
        time=read_time(meta.get("created_at")),
        supersedes=_read_supersedes(meta.get("supersedes")),
        confidence=provenance.confidence if stated is None and provenance else stated,
        provenance=provenance,
        status=_text(meta.get("status")),
        links=tuple(dict.fromkeys(link for _, link in placed_links(line.value))),
        line=line,
    )


def _envelope_findings(line: Line, meta: dict[str, Any]) -> Iterator[Finding]:
    if meta.get("created_at") is None:
        yield line.finding("row-created-at", "the row has no created_at", "_meta")
    elif problem := time_problem(meta["created_at"]):
        yield line.finding(problem.rule, problem.message, "_meta", "created_at", hint=problem.hint)
    for field in _FIELDS:
        value: Any = line.value
        for step in field.path:
            value = value.get(step) if isinstance(value, dict) else None
        if value is not None and not field.fits(value):
            name = ".".join(field.path)
            yield line.finding("row-field", f"`{name}` is {shown(value)}, not {field.form}", *field.path)


def _is_id(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != "" and not any(map(str.isspace, value))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_share(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_ids(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_id, value))


def _is_link(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("rel"), str)
        and isinstance(value.get("to"), str)
        and isinstance(value.get("label", ""), str)
    )


def _is_links(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_link, value))


def _is_links_or_content(value: object) -> bool:
    """Beside `_meta`, `links` may be anybody's own field: it is held to the form only where it has begun it."""
    begun = isinstance(value, list) and any(
        isinstance(item, dict) and ("rel" in item or "to" in item) for item in value
    )
    return not begun or _is_links(value)


class _Field(NamedTuple):
    path: tuple[str, ...]
    fits: Callable[[object], bool]
    form: str


_FIELDS: Final = (
    _Field(("_meta", "supersedes"), _is_ids, "a list of row ids"),
    _Field(("_meta", "confidence"), _is_share, "a number from 0 to 1"),
    _Field(("_meta", "provenance"), _is_object, "an object"),
    _Field(("_meta", "provenance", "confidence"), _is_share, "a number from 0 to 1"),
    *(
        _Field(("_meta", "provenance", name), _is_text, "text")
        for name in ("agent", "session", "source", "context", "author", "method")
    ),
    _Field(("_meta", "status"), _is_text, "text"),
    _Field(("_meta", "links"), _is_links, "a list of links with rel and to"),
    _Field(("links",), _is_links_or_content, "a list of links with rel and to"),
)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _share(value: object) -> float | None:
    return float(value) if _is_share(value) else None


def _read_supersedes(value: object) -> tuple[str, ...]:
    """A bare id is read as a list of one: losing it would bring an old row back to life."""
    ids = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(item for item in ids if isinstance(item, str)))


def _read_provenance(value: object) -> Provenance | None:
    if not isinstance(value, dict):
        return None
    return Provenance(
        agent=_text(value.get("agent")) or _text(value.get("author")),
        session=_text(value.get("session")),
        source=_text(value.get("source")) or _text(value.get("method")),
        confidence=_share(value.get("confidence")),
        context=_text(value.get("context")),
    )
