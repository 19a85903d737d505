"""The rows of a log for people to page through: each with the rows that it replaced.

A log of 100,000 rows takes a second to read. So what was read is kept as lines, for the last few logs, as long as their
files have the same bytes; a page reads only the lines that it shows.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Final, NamedTuple, overload

from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.heads import RowHead, read_heads
from slicebase.files.body.repeated import in_precedence
from slicebase.files.body.rows import Row, full_row_id, read_rows
from slicebase.files.body.versions import RowVersions, row_versions
from slicebase.files.slice_file import SliceFile
from slicebase.library.logs import Logs

_KEPT: Final = 4  # logs
_LARGEST: Final = 256 * 1024 * 1024  # bytes of the logs that are kept


class RowLine(NamedTuple):
    """A row of a log: its id and its bytes, the file that it is in, its line in that, and whether it is active."""

    id: str
    raw: bytes
    file: str  # its id
    line: int
    holds: bool

    @property
    def row(self) -> Row:
        """The row, read again."""
        return read_rows(self.raw, self.line).rows[0]


class RowGroups(Sequence[tuple[RowLine, ...]]):
    """The rows of a log in groups: what is current first, then what it replaced."""

    def __init__(self, versions: list[RowVersions[RowHead]], file: str, elsewhere: Mapping[bytes, str]) -> None:
        self._versions = versions
        self._file = file
        self._elsewhere = elsewhere  # the files of rows that are in another one

    def __len__(self) -> int:
        return len(self._versions)

    @overload
    def __getitem__(self, place: int) -> tuple[RowLine, ...]: ...

    @overload
    def __getitem__(self, place: slice) -> list[tuple[RowLine, ...]]: ...

    def __getitem__(self, place: int | slice) -> tuple[RowLine, ...] | list[tuple[RowLine, ...]]:
        if isinstance(place, slice):
            return list(map(self._lines, self._versions[place]))
        return self._lines(self._versions[place])

    def _lines(self, versions: RowVersions[RowHead]) -> tuple[RowLine, ...]:
        current = len(versions.current)
        return tuple(
            RowLine(row.id, row.raw, self._elsewhere.get(row.raw, self._file), row.number, at < current)
            for at, row in enumerate(versions.rows)
        )


class LogRows(NamedTuple):
    """The rows of a log in groups, and how many there are."""

    groups: RowGroups
    places: dict[str, int]  # the group of each row, by id
    total: int  # rows
    active: int
    unreadable: int  # lines that are no rows
    forks: int  # groups with several current rows: people have to decide

    def group_of(self, row_id: str, log: str) -> int:
        """Returns the number of the group of a row, which may be named by the beginning of its id (ruling 53)."""
        return self.places[full_row_id(self.places, row_id, log)]


_kept: OrderedDict[tuple[str, ...], tuple[LogRows, int]] = OrderedDict()
_lock: Final = Lock()
_reading: Final = Lock()  # several threads that want a large log read it once, not each by itself


def log_rows(logs: Logs, file: SliceFile) -> LogRows:
    """Returns the rows of the log that a file belongs to."""
    if file.body_type != "jsonl":
        raise SlicebaseError("write-mode", f"a {file.body_type} body has no rows", where=Where(file.name))
    files = logs.of(file)
    key = tuple(part for each in files for part in (each.name, digest(each.body)))
    if (known := _known(key)) is not None:
        return known
    with _reading:
        if (known := _known(key)) is not None:
            return known
        found, size = _read(files), sum(len(each.body) for each in files)
        with _lock:
            _kept[key] = found, size
            while len(_kept) > 1 and (len(_kept) > _KEPT or sum(each for _, each in _kept.values()) > _LARGEST):
                _kept.popitem(last=False)
        return found


def _known(key: tuple[str, ...]) -> LogRows | None:
    with _lock:
        if key not in _kept:
            return None
        _kept.move_to_end(key)
        return _kept[key][0]


def _read(files: list[SliceFile]) -> LogRows:
    own = files[0].id or ""
    elsewhere: dict[bytes, str] = {}
    heads, unreadable = list[RowHead](), 0
    for file in (files[0], *(each for each in in_precedence(files) if each is not files[0])):
        read = read_heads(file.body, file.body_line)
        unreadable += read.unreadable
        known = {head.raw for head in heads} if heads else ()
        new = [head for head in read.heads if head.raw not in known]
        if file is not files[0]:
            elsewhere.update((head.raw, file.id or "") for head in new)
        heads += new
    versions = row_versions(heads)
    places = {row.id: number for number, each in enumerate(versions) for row in each.rows}
    active = sum(len(each.current) for each in versions)
    forks = sum(len(each.current) > 1 for each in versions)
    return LogRows(RowGroups(versions, own, elsewhere), places, len(heads), active, unreadable, forks)
