"""Where a slice file's frontmatter ends and its body begins (§ File Structure, ruling 20)."""

import re
from typing import Final, NamedTuple

from slicebase.errors import SlicebaseError, Where

MAX_HEADER: Final = 64 * 1024
BOM: Final = b"\xef\xbb\xbf"

_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*(?:\r?\n|\Z)")
_CLOSING = re.compile(rb"\n---[ \t]*(?:\r?\n|\r?\Z)")


class Head(NamedTuple):
    """Offsets into a file: the YAML text between the markers, and the body behind them."""

    start: int
    end: int
    body: int


def split(data: bytes, name: str | None = None) -> Head:
    """Finds the markers. Only the size of the header counts for the time it takes."""
    opening = _OPENING.match(data)
    if not opening:
        raise SlicebaseError(
            "no-frontmatter",
            f"the file starts with {data[:20]!r}, not with a `---` line" if data else "the file is empty",
            hint="a slice file starts with a line `---`, its metadata and another `---`",
            where=Where(name, 1, 1),
        )
    start = opening.end()
    closing = _CLOSING.search(data, start - 1)
    if closing is None:
        raise SlicebaseError(
            "frontmatter-open",
            "the frontmatter never ends",
            hint="end it with a line `---`",
            where=Where(name, data.count(b"\n") + 1, 1),
        )
    end = closing.start() + 1
    if end - start > MAX_HEADER:
        raise SlicebaseError(
            "frontmatter-size",
            f"the frontmatter is {end - start} bytes long, more than {MAX_HEADER}",
            hint="move long texts into the body",
            where=Where(name, data.count(b"\n", 0, start + MAX_HEADER) + 1, 1),
        )
    return Head(start, end, closing.end())


def decode(data: bytes, first_line: int = 1, name: str | None = None) -> str:
    """UTF-8 text, or an error that says which byte is none."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line_start = data.rfind(b"\n", 0, error.start) + 1
        column = len(data[line_start : error.start].decode()) + 1
        raise SlicebaseError(
            "not-utf8",
            f"the byte 0x{data[error.start]:02X} is not UTF-8",
            hint="save the file as UTF-8",
            where=Where(name, data.count(b"\n", 0, error.start) + first_line, column),
        ) from None
