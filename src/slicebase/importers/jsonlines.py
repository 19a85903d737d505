"""JSON Lines from a stream of bytes: one record after the other, in bounded memory, with its place."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from slicebase.importers.jsonvalues import IsRecord, Piece, pieces
from slicebase.importers.values import Source

MAX_RECORD: Final = 64 << 20  # bytes; images stand in transcripts, films do not
BOM: Final = b"\xef\xbb\xbf"
_COMMENTS: Final = (b"#", b"//")


class Line(NamedTuple):
    """A record, or what stands where one should be. `kind` is set where the line is known to be no record's."""

    where: str
    size: int
    piece: Piece
    kind: str | None = None


def json_lines(source: Source, is_record: IsRecord, lines_before: int = 0) -> Iterator[Line]:
    """Every record of a source; blank lines are none. Nothing is raised."""
    for number, data in enumerate(_lines(source), start=lines_before + 1):
        where = f"{source.name}:{number}"
        stripped = data.strip()
        if data is _OVERLONG:
            yield Line(where, 0, Piece(problem="too-large", detail=f"more than {MAX_RECORD >> 20} MiB"))
        elif stripped.startswith(_COMMENTS):
            yield Line(where, len(data), Piece(), kind="comment")
        elif stripped:
            for piece in pieces(stripped, is_record):
                yield Line(where, len(data), piece)


_OVERLONG = b"(a line that is too long)"


def _lines(source: Source) -> Iterator[bytes]:
    """The lines of a source without a mark of byte order; one that is too long is let go and named."""
    held: list[bytes] = []
    size = 0
    overlong = False
    for chunk in without_bom(source):
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield _OVERLONG if overlong else b"".join((*held, line))
            held, size, overlong = [], 0, False
        size += len(rest)
        overlong = overlong or size > MAX_RECORD
        if overlong:
            held = []
        elif rest:
            held.append(rest)
    if held or overlong:
        yield _OVERLONG if overlong else b"".join(held)


def without_bom(source: Source) -> Iterator[bytes]:
    chunks = iter(source.chunks)
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= len(BOM):
            break
    yield head.removeprefix(BOM)
    yield from chunks
