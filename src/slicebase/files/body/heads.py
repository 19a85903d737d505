"""Reads of the rows of a log only what decides which of them hold, and in which order: a large log has many fields.

A line in the usual form is read without creating its other values. Any other line is read as `read_rows` reads it, so
that both find the same rows.
"""

import re
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.files.body.rows import Row, older_first, read_rows


class RowHead(Struct, frozen=True, gc=False):
    """A row of a log: its line, and the fields that say what it replaces."""

    id: str
    time: int | None  # milliseconds since 1970
    supersedes: tuple[str, ...]
    status: str | None
    raw: bytes
    number: int  # of the line in its file

    @property
    def age_key(self) -> tuple[int, str, bytes]:
        """Sorts rows from the oldest to the newest, whatever their order in the file (ruling 27)."""
        return older_first(self.time, self.id, self.raw)


class RowHeads(NamedTuple):
    """The heads of the rows of a body, and how many lines with text are no rows."""

    heads: list[RowHead]
    unreadable: int


class _Meta(Struct):
    id: str
    created_at: str | None = None
    supersedes: list[str] | None = None
    status: str | None = None


class _Line(Struct):
    meta: _Meta = msgspec.field(name="_meta")


_read_line: Final = msgspec.json.Decoder(_Line).decode
# What a reader that passes over values does not judge: numbers that are too large, and how deep values are nested.
# Each pattern begins with a letter: a set of letters takes three times as long.
_LARGE: Final = re.compile(rb"e\+?[0-9]{3}").search
_LARGE_TOO: Final = re.compile(rb"E\+?[0-9]{3}").search
_LONG: Final = re.compile(rb"[0-9]{200}").search  # with an exponent of two digits, still below the largest number
_DEEP: Final = 100  # brackets


def read_heads(body: bytes, first_line: int = 1) -> RowHeads:
    """Returns the heads of the rows of a jsonl body. `first_line` is its line in the file."""
    is_usual = _is_text(body) and not _LONG(body)
    heads: list[RowHead] = []
    lines = 0
    for number, raw in enumerate(body.split(b"\n"), first_line):
        if raw.strip():
            lines += 1
            head = _usual_head(raw.removesuffix(b"\r"), number) if is_usual else None
            if head is not None:
                heads.append(head)
            else:
                heads += (head_of(row) for row in read_rows(raw, number).rows)
    return RowHeads(heads, lines - len(heads))


def head_of(row: Row) -> RowHead:
    """Returns the head of a row."""
    return RowHead(row.id, row.time, row.supersedes, row.status, row.line.raw, row.line.number)


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _usual_head(raw: bytes, number: int) -> RowHead | None:
    """Returns the head of a row in the usual form; None for any other line."""
    if _LARGE(raw) or _LARGE_TOO(raw) or raw.count(b"[") + raw.count(b"{") > _DEEP:
        return None
    try:
        meta = _read_line(raw).meta
        time = None if meta.created_at is None else from_text(meta.created_at)
    except (msgspec.MsgspecError, ValueError, RecursionError, SlicebaseError):
        return None
    if meta.id.split() != [meta.id]:
        return None
    supersedes = tuple(dict.fromkeys(meta.supersedes)) if meta.supersedes else ()
    return RowHead(meta.id, time, supersedes, meta.status, raw, number)
