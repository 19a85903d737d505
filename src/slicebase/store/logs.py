"""Logs of several files: those that `part_of` joins are one (ruling 32)."""

from collections.abc import Iterator

from slicebase.errors import SlicebaseError
from slicebase.files.checks.between import part_links
from slicebase.files.cycles import reach
from slicebase.files.rows import Row, read_rows
from slicebase.files.slice_file import SliceFile
from slicebase.store.shelf import Shelf


def log_of(shelf: Shelf, file: SliceFile) -> list[SliceFile]:
    """The files of the log that a file belongs to, itself first, the others in the order of ids."""
    pairs = [pair for each in shelf.mentioning(b"part_of", b"has_part") for pair in part_links(each)]
    joined: dict[str, list[str]] = {}
    for one, other in pairs:
        joined.setdefault(one, []).append(other)
        joined.setdefault(other, []).append(one)
    others = sorted(reach(joined, [file.id or ""]) - {file.id})
    return [file, *_readable(shelf, others, file.body_type)]


def rows_elsewhere(shelf: Shelf, file: SliceFile) -> list[Row]:
    """The rows of the log's other files. A row that was caught while it moved counts once."""
    own = {row.line.raw for row in read_rows(file.body).rows}
    rows = (row for part in log_of(shelf, file)[1:] for row in read_rows(part.body, part.body_line, part.name).rows)
    return [row for row in rows if row.line.raw not in own]


def _readable(shelf: Shelf, ids: list[str], body_type: str | None) -> Iterator[SliceFile]:
    for file_id in ids:
        try:
            part = shelf.get(file_id)
        except SlicebaseError:
            continue
        if part and part.body_type == body_type:
            yield part
