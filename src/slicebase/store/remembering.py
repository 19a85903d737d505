"""Writing to bodies: the text goes into the file, or where its overflow leads (rulings 25, 26 and 32)."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.files.bodies import find_section
from slicebase.files.edit import delete_key, set_key
from slicebase.files.frontmatter import decode
from slicebase.files.overflow import ARCHIVED, CONTINUED, joined, move_oldest, new_part, parts_of, whole_of
from slicebase.files.rows import Row, read_rows
from slicebase.files.slice_file import SliceFile
from slicebase.files.writing import Draft, Text, refuse_closed, refuse_new_errors, write
from slicebase.store.logs import Logs
from slicebase.store.settling import finish_overflow
from slicebase.store.shelf import Pen

DUE: Final = "slice.due"
_SUMMARIZE: Final = "summarize"


class Remembered(NamedTuple):
    """The file that was written, the ids of its new rows, and what overflow did on the way."""

    file: SliceFile
    rows: tuple[str, ...]
    overflow: str | None = None


def remember(pen: Pen, logs: Logs, file: SliceFile, given: Text, limit: int) -> Remembered:
    """Writes a text to a file. Above `limit` bytes the contract's overflow acts, where it names one."""
    refuse_closed(file)
    whole = _whole(pen, file)
    place = _open_part(pen, whole) if whole.id == file.id and whole.write_mode != "replace" else file
    elsewhere = _rows_elsewhere(logs, place, given)
    draft = write(place, _for_part(place, whole, given), elsewhere)
    act = _WAYS.get(place.contract.overflow or "")
    if act is None or _size(draft.file) <= limit:
        return _stored(pen, place, draft._replace(file=_no_longer_due(draft.file, limit)))
    if finish_overflow(pen, logs, whole):
        return remember(pen, logs, pen.find(file.id or ""), given, limit)
    return act(_Overflow(pen, whole, place, draft, given, elsewhere, limit))


class _Overflow(NamedTuple):
    pen: Pen
    whole: SliceFile
    place: SliceFile
    draft: Draft
    given: Text
    elsewhere: list[Row]
    limit: int

    @property
    def log(self) -> list[Row]:
        """Every row, wherever it will stand afterwards."""
        return [*read_rows(self.place.body).rows, *self.elsewhere] if self.given.supersedes else self.elsewhere


def _refuse(case: _Overflow, hint: str = "") -> Remembered:
    raise SlicebaseError(
        "overflow",
        f"the file would have {_size(case.draft.file)} bytes, more than {case.limit}",
        hint=hint or f"its contract's overflow is {case.place.contract.overflow}; move something away first",
        where=Where(case.place.name),
    )


def _summarize(case: _Overflow) -> Remembered:
    """Writes, and leaves a mark: a summary needs a mind. The mark is the same on every branch, so that it merges."""
    due = set_key(case.draft.file, DUE, _SUMMARIZE)
    return _stored(case.pen, case.place, case.draft._replace(file=due), _SUMMARIZE)


def _split(case: _Overflow) -> Remembered:
    """Makes a part and writes there. It is there before its file names it: no reader finds a link to nothing."""
    if case.place.write_mode == "replace":
        return _refuse(case, "what is replaced as a whole cannot be split")
    part = new_part(case.whole, case.given.stamp.file_id, CONTINUED)
    draft = write(part, _for_part(part, case.whole, case.given), case.log)
    refuse_new_errors(None, draft.file)
    case.pen.add(draft.file)
    case.pen.replace(case.whole, joined(case.whole, part.id or "", CONTINUED))
    return Remembered(draft.file, draft.rows, "split")


def _archive(case: _Overflow) -> Remembered:
    """Moves the oldest content away until the file is half empty, then writes."""
    room = case.limit // 2 - (_size(case.draft.file) - len(case.place.body))
    moved = move_oldest(case.place, max(0, room)) if case.place.write_mode != "replace" else None
    if moved is None:
        return _refuse(case, "there are no older rows or sections that could move")
    part = new_part(case.place, case.given.stamp.file_id, ARCHIVED, moved.leaves)
    smaller = joined(case.place.with_body(moved.stays), part.id or "", ARCHIVED)
    draft = write(smaller, case.given, case.log)
    refuse_new_errors(case.place, part)
    refuse_new_errors(case.place, draft.file)
    case.pen.add(part, moved_from=case.place)
    case.pen.replace(case.place, draft.file)
    return Remembered(draft.file, draft.rows, "archive")


_WAYS: Final[Mapping[str, Callable[[_Overflow], Remembered]]] = {
    "error": _refuse,
    "summarize": _summarize,
    "split": _split,
    "archive": _archive,
}


def _stored(pen: Pen, old: SliceFile, draft: Draft, overflow: str | None = None) -> Remembered:
    refuse_new_errors(old, draft.file)
    pen.replace(old, draft.file)
    return Remembered(draft.file, draft.rows, overflow)


def _no_longer_due(file: SliceFile, limit: int) -> SliceFile:
    """Somebody has summarized it."""
    return delete_key(file, DUE) if file.node(DUE) and _size(file) <= limit else file


def _rows_elsewhere(logs: Logs, place: SliceFile, given: Text) -> list[Row]:
    """The rows that a new one may supersede in other files; nothing is read where it supersedes none."""
    needed = given.supersedes or place.write_mode == "supersede"
    return logs.rows_elsewhere(place) if needed and place.body_type == "jsonl" else []


def _whole(pen: Pen, file: SliceFile) -> SliceFile:
    """The file that a part continues; a file by itself is its own."""
    whole_id = whole_of(file)
    return (pen.shelf.get(whole_id) if whole_id else None) or file


def _open_part(pen: Pen, whole: SliceFile) -> SliceFile:
    """Where a file goes on: its last part."""
    for part_id in reversed(parts_of(whole, CONTINUED)):
        part = pen.shelf.get(part_id)
        if part and not part.archived and not part.purged:
            return part
    return whole


def _for_part(part: SliceFile, whole: SliceFile, given: Text) -> Text:
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
