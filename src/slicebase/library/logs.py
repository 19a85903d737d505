"""Finds the files that belong together: those of a log, and the parts that overflow created for a file.

Files that `part_of` joins are one log (ruling 32).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from slicebase.core.refs import recorded
from slicebase.files.body.overflow import parts_of, whole_of
from slicebase.files.body.part_order import ordered
from slicebase.files.body.repeated import counted, in_precedence, is_read_with, repeated_starts
from slicebase.files.body.rows import Row, full_row_id, read_rows
from slicebase.files.body.whole import named_parts, whole_hash
from slicebase.files.check.between import part_links
from slicebase.files.links import reach
from slicebase.files.slice_file import SliceFile
from slicebase.library.folder import SliceFolder

Pairs = Callable[[], Iterable[tuple[str, str]]]  # the ids of the files of a library that are joined


class AbsentPart(NamedTuple):
    """A part that a file names, and that cannot be read: missing, unreadable, purged, or of another type."""

    owner: str | None
    id: str
    how: str
    remedy: str | None  # None if its content is gone for good

    @property
    def hint(self) -> str:
        give_up = f"give it up: `tt disconnect {self.owner} has_part {self.id}`"
        return f"{self.remedy}, or {give_up}" if self.remedy else give_up


class Logs:
    """Finds the files of a log. Without `pairs`, all files are read to find out which are joined."""

    def __init__(self, folder: SliceFolder, pairs: Pairs | None = None) -> None:
        self._folder = folder
        self._pairs = pairs or self._read_pairs

    def of(self, file: SliceFile) -> list[SliceFile]:
        """Returns the files of the log that a file belongs to: the file itself, then the others in the order of ids."""
        joined = self._folder.once("joined", None, self._joined)
        others = sorted(reach(joined, [file.id or ""]) - {file.id})
        return [file, *self._readable(others, file.body_type)]

    def _joined(self) -> dict[str, list[str]]:
        joined: dict[str, list[str]] = {}
        for one, other in self._pairs():
            joined.setdefault(one, []).append(other)
            joined.setdefault(other, []).append(one)
        return joined

    def whole(self, file: SliceFile) -> list[SliceFile]:
        """Returns a file with its parts that overflow created, in the order of their content; without parts, itself."""
        return ordered(file, self.of(file)[1:])

    def read(self, file: SliceFile) -> list[SliceFile]:
        """Returns a file and its parts as they are read: without what is in two of them.

        A part that was forgotten by itself does not count. Nor does one that its file does not name yet: it belongs to
        a write that is not finished.
        """
        if not parts_of(file):
            return [file]
        named = [part for part in named_parts(file, self._folder.readable) if part.body_type == file.body_type]
        files = counted([part for part in ordered(file, named) if part is file or is_read_with(file, part)])
        return [part for part in files if part is file or part.body]

    def repeated(self, file: SliceFile) -> int:
        """Returns how many bytes at the start of a part other parts of the same file have, too, and count there."""
        top = self._top(file)
        return repeated_starts(self.whole(top)).get(file.id, 0) if top is not file else 0

    def holder(self, file: SliceFile, row: Row) -> SliceFile:
        """Returns the file in which a row counts: this one, or another part of the same file that has it, too."""
        files = in_precedence(self.whole(self._top(file)))
        return next((part for part in files if row.line.raw in part.body), file)

    def _top(self, file: SliceFile) -> SliceFile:
        """Returns the file that a part belongs to, and that belongs to no other."""
        above = [file]
        while (whole_id := whole_of(above[-1])) and all(whole_id != each.id for each in above):
            whole = self._folder.readable(whole_id)
            if whole is None:
                break
            above.append(whole)
        return above[-1]

    def absent(self, file: SliceFile) -> list["AbsentPart"]:
        """Returns which parts of a file, and of theirs, cannot be read."""
        parts = [file, *named_parts(file, self._folder.readable)] if parts_of(file) else []
        found = {part.id: part for part in parts}
        gone = []
        for owner, name in ((each.id, name) for each in parts for name in parts_of(each)):
            part = found.get(name)
            if part is None and self._folder.has(name):
                gone.append(AbsentPart(owner, name, "unreadable", "repair the file, as `tt validate` says"))
            elif part is None:
                gone.append(AbsentPart(owner, name, "missing", "get the file back"))
            elif part.purged:
                gone.append(AbsentPart(owner, name, "purged", None))
            elif part.body_type != file.body_type:
                remedy = f"make its body.type {file.body_type} again"
                gone.append(AbsentPart(owner, name, f"of another type, {part.body_type}", remedy))
        return gone

    def hash(self, file: SliceFile) -> str | None:
        """Returns the hash of a file with its parts, which `derived_from.hash` is compared with (ruling 24)."""
        return whole_hash(file, self._folder.readable)

    def row(self, file: SliceFile, given: str) -> tuple[SliceFile, Row]:
        """Returns the row with this id, or its beginning, and the file of the log that it is in (ruling 53).

        A row that overflow moved to a part is still a row of its file. A forgotten part counts only if no other has it.
        """
        own = self._folder.once("rows by id", file, lambda: {row.id: row for row in read_rows(file.body).rows})
        if given in own:
            return file, own[given]
        rows: dict[str, tuple[SliceFile, Row]] = {}
        for part in in_precedence(self.whole(file)):
            for row in read_rows(part.body).rows:
                rows.setdefault(row.id, (part, row))
        if given.startswith("~"):  # as records name it
            given = next((name for name in rows if recorded(f"row:/{name}") == f"row:/{given}"), given)
        return rows[full_row_id(rows, given, file.id or file.name)]

    def rows_elsewhere(self, file: SliceFile) -> list[Row]:
        """Returns the rows of the log's other files, without rows that an unfinished move left in both."""
        own = {row.line.raw for row in read_rows(file.body).rows}
        rows = (row for part in self.of(file)[1:] for row in read_rows(part.body, part.body_line, part.name).rows)
        return [row for row in rows if row.line.raw not in own]

    def _read_pairs(self) -> Iterator[tuple[str, str]]:
        for file in self._folder.mentioning(b"part_of", b"has_part"):
            yield from part_links(file)

    def _readable(self, ids: Iterable[str], body_type: str | None) -> Iterator[SliceFile]:
        found = map(self._folder.readable, ids)
        return (part for part in found if part and part.body_type == body_type)
