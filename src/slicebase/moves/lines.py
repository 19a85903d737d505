"""The lines of an export: rows of chains, texts and purges as JSON, read strictly and written with one form.

A record is the text of the canonical bytes that were hashed, so that nobody can change them by reading and writing
JSON. Keys and hashes that are bytes are hex digits. Every line is one object; the first one says what the file has.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, get_args

import msgspec
from msgspec import Meta, Struct

from slicebase.errors import SlicebaseError, Where
from slicebase.truth.texts import StoredText
from slicebase.truth.transfer import MOVED_COLUMNS, MovedRow, MovedText
from slicebase.workspace.atomic import read_chunks

_LONGEST: Final = 512 << 20  # bytes of a line: more than any text of ours has in JSON
_BYTES: Final = frozenset({"turn", "child", "payload", "text", "hash"})  # columns that are hex digits in a line

_Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
_Uuid = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$")]
_Number = Annotated[int, Meta(ge=1, le=2**53 - 1)]


class FileHead(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The first line of a file: what its lines are, and whose. Of a run with purged events, what only they said."""

    lines: str  # rows, texts or purges
    owner: str = ""
    cost: float | None = None
    stopped: str | None = None


class ChainLine(Struct, frozen=True, forbid_unknown_fields=True, tag_field="table"):
    """A row of a chain."""

    seq: _Number

    table: ClassVar[str] = ""


class _SessionLine(ChainLine, frozen=True, tag="sessions"):
    record: str
    hash: _Digest


class _TurnLine(ChainLine, frozen=True, tag="turns"):
    turn: _Uuid
    record: str
    hash: _Digest


class _LinkLine(ChainLine, frozen=True, tag="links"):
    child: _Uuid
    record: str
    hash: _Digest


class _AnnotationLine(ChainLine, frozen=True, tag="annotations"):
    first: _Number
    last: _Number
    record: str
    hash: _Digest


class _EventLine(ChainLine, frozen=True, tag="events"):
    payload: _Digest
    record: str
    hash: _Digest


class _SnapshotLine(ChainLine, frozen=True, tag="snapshots"):
    snapshot: str
    record: str
    hash: _Digest


class _PolicyLine(ChainLine, frozen=True, tag="policies"):
    policy: str
    record: str
    hash: _Digest


class _PolicyNameLine(ChainLine, frozen=True, tag="policy_names"):
    name: str
    record: str
    hash: _Digest


class _EvidenceLine(ChainLine, frozen=True, tag="evidence"):
    evidence: str
    chunk: str
    record: str
    hash: _Digest


class _BlobLine(ChainLine, frozen=True, tag="blobs"):
    run: str
    text: _Digest
    hash: _Digest


class _ManifestLine(ChainLine, frozen=True, tag="manifests"):
    manifest: str
    recorded: str
    text: _Digest
    hash: _Digest


class TextLine(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A text by its digest, as text or, where it is not UTF-8, as base64. Of a purged one, what is left of it."""

    hash: _Digest
    text: str | None = None
    base64: bytes | None = None
    purged: str | None = None  # when and why


class PurgeLine(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The purge of a text: when, whose it was, its digest and that of what is left of it, why, and what was named."""

    time: str
    owner: str
    text: str
    left: str | None = None
    reason: str = ""
    what: str = ""


_ROWS: Final = (
    _SessionLine | _TurnLine | _LinkLine | _AnnotationLine | _EventLine | _SnapshotLine | _PolicyLine | _PolicyNameLine
    | _EvidenceLine | _BlobLine | _ManifestLine
)  # fmt: skip
ROW_LINE: Final = msgspec.json.Decoder(_ROWS)
TEXT_LINE: Final = msgspec.json.Decoder(TextLine)
PURGE_LINE: Final = msgspec.json.Decoder(PurgeLine)
_HEAD: Final = msgspec.json.Decoder(FileHead)
_LINES: Final[dict[str, Any]] = {str(each.__struct_config__.tag): each for each in get_args(_ROWS)}


def row_line(table: str, row: MovedRow) -> ChainLine:
    """Returns a row as a line."""
    columns = dict(zip((*MOVED_COLUMNS[table], "hash"), (*row.values, row.hash), strict=True))
    try:
        shown = {name: _shown(name, value) for name, value in columns.items()}
    except UnicodeDecodeError:
        message = f"record {row.seq} of {table} is not UTF-8"
        raise SlicebaseError("broken-record", message, hint="`tt verify` says more") from None
    made: ChainLine = _LINES[table](row.seq, **shown)
    return made


def _shown(name: str, value: Any) -> Any:
    if name == "record":
        return value.decode()
    return value.hex() if name in _BYTES else value


def moved_row(line: Any) -> tuple[str, MovedRow]:
    """Returns the table and the row of a line."""
    table = str(line.__struct_config__.tag)
    values = [_stored(name, getattr(line, name)) for name in MOVED_COLUMNS[table]]
    return table, MovedRow(line.seq, tuple(values), bytes.fromhex(line.hash))


def _stored(name: str, value: Any) -> Any:
    if name == "record":
        return value.encode()
    return bytes.fromhex(value) if name in _BYTES else value


def text_line(text: MovedText) -> TextLine:
    """Returns a text as a line."""
    name, (data, purged) = text.hash.hex(), text.stored
    if data is None:
        return TextLine(name, purged=purged)
    try:
        return TextLine(name, text=data.decode(), purged=purged)
    except UnicodeDecodeError:
        return TextLine(name, base64=data, purged=purged)


def moved_text(line: TextLine) -> MovedText:
    """Returns the text of a line. Raises ValueError for one that has two, or none that was not purged."""
    if line.text is not None and line.base64 is not None:
        raise ValueError("a text is given twice")
    data = line.text.encode() if line.text is not None else line.base64
    if data is None and line.purged is None:
        raise ValueError("there is neither a text nor the note of a purge")
    return MovedText(bytes.fromhex(line.hash), StoredText(data, line.purged))


def encoded(line: Struct) -> bytes:
    """Returns the bytes of a line, with its end."""
    return msgspec.json.encode(line) + b"\n"


def read_lines(path: Path, shown: str, decoder: "msgspec.json.Decoder[Any]") -> Iterator[Any]:
    """Yields the head of a file and then its lines. Raises `bad-move`, with the place, for a line that is none."""
    for number, line in enumerate(_split(path, shown), 1):
        where = Where(shown, number)
        try:
            yield _HEAD.decode(line) if number == 1 else decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise bad_line(str(error), where, line) from None


def _split(path: Path, shown: str) -> Iterator[bytes]:
    left: list[bytes] = []
    for chunk in read_chunks(path):
        first, *others = chunk.split(b"\n")
        left.append(first)
        if sum(map(len, left)) > _LONGEST:
            raise SlicebaseError("too-large", "a line is longer than 512 MiB", where=Where(shown))
        for line in others:
            yield b"".join(left)
            left = [line]
    if any(left):
        raise bad_line("the last line has no end", Where(shown), b"".join(left))


def bad_line(message: str, where: Where, line: bytes = b"") -> SlicebaseError:
    """Returns the error for a line of an export that cannot be taken."""
    begins = f"; it begins {line[:60]!r}" if line else ""
    hint = "nothing of this file was stored; export it again where it comes from"
    return SlicebaseError("bad-move", f"{message}{begins}", hint=hint, where=where)
