"""Writing to bodies: the text goes into the file, or where its overflow leads (rulings 25, 26 and 32).

Derived files: a new body and the hash of what it was made from, in one step (§ Derived Files).
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.entries import Stamp
from slicebase.files.body.overflow import ARCHIVED, CONTINUED, joined, move_oldest, new_part, parts_of, whole_of
from slicebase.files.body.rows import Row, read_rows
from slicebase.files.body.text import find_section
from slicebase.files.body.write import (
    NextVersion,
    WriteRequest,
    refuse_closed,
    refuse_new_errors,
    whole_body,
    with_body,
    write,
)
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import delete_key, set_key
from slicebase.files.yaml.load import decode
from slicebase.library.folder import FolderWriter, Logs, SliceFolder, finish_overflow

DUE: Final = "slice.due"
_SUMMARIZE: Final = "summarize"


class Remembered(NamedTuple):
    """The file that was written, the ids of its new rows, and what overflow did on the way."""

    file: SliceFile
    rows: tuple[str, ...]
    overflow: str | None = None


def remember(writer: FolderWriter, logs: Logs, file: SliceFile, given: WriteRequest, limit: int) -> Remembered:
    """Writes a text to a file. Above `limit` bytes the contract's overflow acts, where it names one."""
    refuse_closed(file)
    whole = _whole(writer, file)
    place = _open_part(writer, whole) if whole.id == file.id and whole.write_mode != "replace" else file
    elsewhere = _rows_elsewhere(logs, place, given)
    draft = write(place, _for_part(place, whole, given), elsewhere)
    act = _MOVES.get(place.contract.overflow or "") if place.write_mode != "replace" else None
    if act is None or _size(draft.file) <= limit:
        return _stored(writer, place, draft, limit)
    if finish_overflow(writer, logs, whole):
        return remember(writer, logs, writer.find(file.id or ""), given, limit)
    return act(_Overflow(writer, whole, place, draft, given, elsewhere, limit))


def fitting(file: SliceFile, limit: int) -> SliceFile:
    """A file held to its size, where no part of it can go elsewhere.

    `summarize` leaves a mark, since a summary needs a mind. It is the same on every branch, so that it merges, and goes
    when somebody has made the file smaller.
    """
    overflow = file.contract.overflow
    if overflow is None or _size(file) <= limit:
        return delete_key(file, DUE) if file.due else file
    if overflow == _SUMMARIZE:
        return set_key(file, DUE, _SUMMARIZE)
    raise _too_large(file, limit, f"its contract's overflow is {overflow}; move something away first")


class _Overflow(NamedTuple):
    writer: FolderWriter
    whole: SliceFile
    place: SliceFile
    draft: NextVersion
    given: WriteRequest
    elsewhere: list[Row]
    limit: int

    @property
    def log(self) -> list[Row]:
        """Every row, wherever it will stand afterwards."""
        return [*read_rows(self.place.body).rows, *self.elsewhere] if self.given.supersedes else self.elsewhere


def _split(case: _Overflow) -> Remembered:
    """Makes a part and writes there. It is there before its file names it: no reader finds a link to nothing."""
    part = new_part(case.whole, case.given.stamp.file_id, CONTINUED)
    draft = write(part, _for_part(part, case.whole, case.given), case.log)
    refuse_new_errors(None, draft.file)
    case.writer.add(draft.file)
    case.writer.replace(case.whole, joined(case.whole, part.id or "", CONTINUED))
    return Remembered(draft.file, draft.rows, "split")


def _archive(case: _Overflow) -> Remembered:
    """Moves the oldest content away until the file is half empty, then writes."""
    room = case.limit // 2 - (_size(case.draft.file) - len(case.place.body))
    moved = move_oldest(case.place, max(0, room))
    if moved is None:
        raise _too_large(case.draft.file, case.limit, "there are no older rows or sections that could move")
    part = new_part(case.place, case.given.stamp.file_id, ARCHIVED, moved.leaves)
    smaller = joined(case.place.with_body(moved.stays), part.id or "", ARCHIVED)
    draft = write(smaller, case.given, case.log)
    refuse_new_errors(case.place, part)
    refuse_new_errors(case.place, draft.file)
    case.writer.add(part, moved_from=case.place)
    case.writer.replace(case.place, draft.file)
    return Remembered(draft.file, draft.rows, "archive")


# The ways in which content goes elsewhere; what is replaced as a whole cannot.
_MOVES: Final[Mapping[str, Callable[[_Overflow], Remembered]]] = {"split": _split, "archive": _archive}


def _stored(writer: FolderWriter, old: SliceFile, draft: NextVersion, limit: int) -> Remembered:
    new = fitting(draft.file, limit)
    refuse_new_errors(old, new)
    writer.replace(old, new)
    return Remembered(new, draft.rows, new.due)


def _too_large(file: SliceFile, limit: int, hint: str) -> SlicebaseError:
    message = f"the file would have {_size(file)} bytes, more than {limit}"
    return SlicebaseError("overflow", message, hint=hint, where=Where(file.name))


def _rows_elsewhere(logs: Logs, place: SliceFile, given: WriteRequest) -> list[Row]:
    """The rows that a new one may supersede in other files; nothing is read where it supersedes none."""
    needed = given.supersedes or place.write_mode == "supersede"
    return logs.rows_elsewhere(place) if needed and place.body_type == "jsonl" else []


def _whole(writer: FolderWriter, file: SliceFile) -> SliceFile:
    """The file that a part continues; a file by itself is its own."""
    whole_id = whole_of(file)
    return (writer.folder.get(whole_id) if whole_id else None) or file


def _open_part(writer: FolderWriter, whole: SliceFile) -> SliceFile:
    """Where a file goes on: its last part."""
    for part_id in reversed(parts_of(whole, CONTINUED)):
        part = writer.folder.get(part_id)
        if part and not part.archived and not part.purged:
            return part
    return whole


def _for_part(part: SliceFile, whole: SliceFile, given: WriteRequest) -> WriteRequest:
    """A section that a part does not have yet begins there anew, under the heading that it has in the whole."""
    if part.id == whole.id or not given.section:
        return given
    try:
        find_section(decode(part.body), given.section)
    except SlicebaseError as error:
        if error.code != "no-section":
            raise
        section = find_section(decode(whole.body), given.section)
        return given._replace(text=f"{'#' * section.level} {section.title}\n\n{given.text}", section=None)
    return given


def _size(file: SliceFile) -> int:
    return len(file.head) + len(file.body)


def refreshed(folder: SliceFolder, file: SliceFile, text: str, stamp: Stamp, source_hash: str | None) -> SliceFile:
    """The file made anew from its source as that is today.

    `source_hash` says which version of the source the text was made from: where that is not today's, it is a conflict.
    """
    refuse_closed(file)
    if not text.strip():
        raise SlicebaseError("nothing-given", "there is no new body")
    _refuse_kept(file)
    source = _source_of(folder, file)
    if source_hash is not None and source.hash != source_hash:
        raise SlicebaseError(
            "conflict",
            f"{source.id} has changed since it was read: its hash is {source.hash}",
            hint="read it again and make the text anew",
            where=Where(file.name),
        )
    body = whole_body(file.body_type or "", text, stamp).file_body
    return with_body(set_key(file, "slice.derived_from.hash", source.hash), body, stamp)


def _source_of(folder: SliceFolder, file: SliceFile) -> SliceFile:
    source = file.derived_from
    if source is None or not source.id:
        raise SlicebaseError("not-derived", "the file does not say what it is derived from", where=Where(file.name))
    return folder.find(source.id)


def _refuse_kept(file: SliceFile) -> None:
    """A derived file is there to be made anew, unless its contract says outright that its body is not replaced."""
    if file.source_text("slice.contract.write") not in (None, "replace"):
        raise SlicebaseError(
            "write-mode",
            f"the file's body is not replaced: its write mode is {file.write_mode}",
            hint=f"`tt define {file.id} contract.write=replace` allows it",
            where=Where(file.name),
        )
