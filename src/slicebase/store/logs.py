"""Logs of several files: those that `part_of` joins are one (ruling 32)."""

from collections.abc import Callable, Iterable, Iterator

from slicebase.files.body.rows import Row, read_rows
from slicebase.files.check.between import part_links
from slicebase.files.links import reach
from slicebase.files.slice_file import SliceFile
from slicebase.store.shelf import Shelf

Pairs = Callable[[], Iterable[tuple[str, str]]]  # which files of a library are joined


class Logs:
    """Finds the files of a log. Who is joined with whom is read from all files, unless somebody knows it already."""

    def __init__(self, shelf: Shelf, pairs: Pairs | None = None) -> None:
        self._shelf = shelf
        self._pairs = pairs or self._stated

    def of(self, file: SliceFile) -> list[SliceFile]:
        """The files of the log that a file belongs to, itself first, the others in the order of ids."""
        joined: dict[str, list[str]] = {}
        for one, other in self._pairs():
            joined.setdefault(one, []).append(other)
            joined.setdefault(other, []).append(one)
        others = sorted(reach(joined, [file.id or ""]) - {file.id})
        return [file, *self._readable(others, file.body_type)]

    def rows_elsewhere(self, file: SliceFile) -> list[Row]:
        """The rows of the log's other files. A row that was caught while it moved counts once."""
        own = {row.line.raw for row in read_rows(file.body).rows}
        rows = (row for part in self.of(file)[1:] for row in read_rows(part.body, part.body_line, part.name).rows)
        return [row for row in rows if row.line.raw not in own]

    def _stated(self) -> Iterator[tuple[str, str]]:
        for file in self._shelf.mentioning(b"part_of", b"has_part"):
            yield from part_links(file)

    def _readable(self, ids: Iterable[str], body_type: str | None) -> Iterator[SliceFile]:
        found = map(self._shelf.readable, ids)
        return (part for part in found if part and part.body_type == body_type)
