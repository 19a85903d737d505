"""Writes to bodies: a text goes into the file, or where its overflow says (rulings 25, 26 and 32).

A derived file gets a new body and its source's hash in one step (§ Derived Files).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from slicebase.core.parsers import decode
from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.entries import Stamp
from slicebase.files.body.overflow import (
    CONTINUED,
    exceeds,
    joined,
    move_oldest,
    new_part,
    own_size,
    part_link,
    parts_of,
    whole_of,
)
from slicebase.files.body.rows import Row, read_rows
from slicebase.files.body.section_places import section_place
from slicebase.files.body.text import Cleaned, given_paragraph, newline_of, replace_passage
from slicebase.files.body.write import (
    NextVersion,
    WriteRequest,
    new_body,
    refuse_closed,
    with_body,
    write,
)
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import delete_key, set_key
from slicebase.library.folder import FileWrite, FolderWriter, SliceFolder
from slicebase.library.logs import Logs
from slicebase.library.repairs import finish_overflow

DUE: Final = "slice.due"
_SUMMARIZE: Final = "summarize"


class Remembered(NamedTuple):
    """The file that was written, the ids of its new rows, and what overflow did."""

    file: SliceFile
    rows: tuple[str, ...]
    overflow: str | None = None


def remember(writer: FolderWriter, logs: Logs, file: SliceFile, given: WriteRequest, limit: int) -> Remembered:
    """Writes a text to a file. Above `limit` bytes the contract's overflow acts, if it names one."""
    refuse_closed(file)
    whole = _whole(writer, file)
    refuse_closed(whole)
    replaces = whole.write_mode == "replace"
    if replaces:
        _refuse_parts(logs, whole)
    target = _open_part(writer, whole) if whole.id == file.id and not replaces else file
    elsewhere = _rows_elsewhere(logs, target, whole, given)
    draft = write(target, _for_part(writer, target, whole, given), elsewhere, whole.write_mode)
    act = _MOVES.get(whole.contract.overflow or "") if not replaces else None
    if act is None or not exceeds(draft.file, limit):
        return _stored(writer, target, draft, limit)
    if finish_overflow(writer, logs, whole) or (target.id != whole.id and finish_overflow(writer, logs, target)):
        return remember(writer, logs, writer.find(file.id or ""), given, limit)
    return act(_Overflow(writer, whole, target, draft, given, elsewhere, limit))


def limited(file: SliceFile, limit: int) -> SliceFile:
    """Returns a file within its size limit, where no content can move to another file.

    `summarize` sets a mark, since a summary needs a person or a model. The mark is the same on every branch, so that it
    merges. It is removed when somebody has made the file smaller.
    """
    overflow = file.contract.overflow
    if overflow is None or not exceeds(file, limit):
        return delete_key(file, DUE) if file.due else file
    if overflow == _SUMMARIZE:
        return set_key(file, DUE, _SUMMARIZE)
    raise _too_large(file, limit, f"its contract's overflow is {overflow}; remove or move something first")


class _Overflow(NamedTuple):
    writer: FolderWriter
    whole: SliceFile
    target: SliceFile
    draft: NextVersion
    given: WriteRequest
    elsewhere: list[Row]
    limit: int

    @property
    def log(self) -> list[Row]:
        """The rows of the log, whichever file they will be in afterwards."""
        return [*read_rows(self.target.body).rows, *self.elsewhere] if self.given.supersedes else self.elsewhere


def _split(case: _Overflow) -> Remembered:
    """Creates a part and writes to it. It exists before its file names it: no reader finds a broken link."""
    part = new_part(case.whole, case.given.stamp.file_id)
    whole = _joined(case.whole, part)
    draft = write(part, _for_part(case.writer, part, whole, case.given), case.log, case.whole.write_mode)
    case.writer.write(FileWrite(None, draft.file, draft.rows), FileWrite(case.whole, whole))
    return Remembered(draft.file, draft.rows, "split")


def _archive(case: _Overflow) -> Remembered:
    """Moves the oldest content to a new part until the file is half empty, then writes.

    Where everything moves, what is written has the line ends of what was there (ruling 20).
    """
    room = case.limit // 2 - (own_size(case.draft.file) - len(case.target.body))
    moved = move_oldest(case.target, max(0, room))
    if moved is None:
        raise _too_large(case.draft.file, case.limit, "there are no older rows or sections to move")
    part = new_part(case.target, case.given.stamp.file_id, moved)
    smaller = _joined(case.target.with_body(moved.stays), part)
    whole = smaller if smaller.id == case.whole.id else case.whole
    newline = newline_of(case.target.body, case.target.newline)
    given = _for_part(case.writer, smaller, whole, case.given._replace(newline=newline), part)
    draft = write(smaller, given, case.log, case.whole.write_mode)
    case.writer.write(FileWrite(None, part, moved_from=case.target), FileWrite(case.target, draft.file, draft.rows))
    return Remembered(draft.file, draft.rows, "archive")


def _joined(file: SliceFile, part: SliceFile) -> SliceFile:
    try:
        return joined(file, part.id or "", part_link(part)[1] or "", part.body)
    except SlicebaseError as error:  # the frontmatter has a limit
        message = f"the file has {len(parts_of(file))} parts, and cannot name one more: {error.message}"
        hint = "continue in a new file, and connect the two"
        raise SlicebaseError("overflow", message, hint=hint, where=Where(file.name)) from None


# How content moves to another file. A body that is replaced as a unit cannot move.
_MOVES: Final[Mapping[str, Callable[[_Overflow], Remembered]]] = {"split": _split, "archive": _archive}


def _stored(writer: FolderWriter, old: SliceFile, draft: NextVersion, limit: int) -> Remembered:
    new = limited(draft.file, limit)
    writer.write(FileWrite(old, new, draft.rows))
    return Remembered(new, draft.rows, new.due)


def _too_large(file: SliceFile, limit: int, hint: str) -> SlicebaseError:
    message = f"the file would have {own_size(file)} bytes, more than {limit}"
    return SlicebaseError("overflow", message, hint=hint, where=Where(file.name))


def _refuse_parts(logs: Logs, whole: SliceFile) -> None:
    """Raises an error if a body is to be replaced, and some of it is in parts, which would stay as they are."""
    files = logs.whole(whole) if parts_of(whole) else []
    parts = [part.id for part in files if part.id != whole.id and not part.archived]
    if parts:
        raise SlicebaseError(
            "write-mode",
            f"the file has parts ({', '.join(map(str, parts))}), which would stay when its body is replaced",
            hint="forget them first, or create a new file",
            where=Where(whole.name),
        )


def _rows_elsewhere(logs: Logs, target: SliceFile, whole: SliceFile, given: WriteRequest) -> list[Row]:
    """Returns the rows in other files that a new row may supersede. Reads nothing if it supersedes none."""
    needed = given.supersedes or whole.write_mode == "supersede"
    return logs.rows_elsewhere(target) if needed and target.body_type == "jsonl" else []


def _whole(writer: FolderWriter, file: SliceFile) -> SliceFile:
    """Returns the file that a part belongs to, or the file itself if it is not a part."""
    whole_id = whole_of(file)
    return (writer.folder.get(whole_id) if whole_id else None) or file


def _open_part(writer: FolderWriter, whole: SliceFile) -> SliceFile:
    """Returns the file that new content goes to: the last part that is open, else the file itself."""
    for part_id in reversed(parts_of(whole, CONTINUED)):
        part = writer.folder.get(part_id)
        if part and not part.archived and not part.purged:
            return part
    return whole


def _for_part(
    writer: FolderWriter, target: SliceFile, whole: SliceFile, given: WriteRequest, *new: SliceFile
) -> WriteRequest:
    """Returns the request for one file of a whole. A section that is only in its other files starts again there."""
    if not given.section or target.body_type != "markdown" or not parts_of(whole):
        return given
    unwritten = {file.id: file for file in (*new, target)}

    def load(part_id: str) -> SliceFile | None:
        return unwritten.get(part_id) or writer.folder.readable(part_id)

    place = section_place(target, whole, load, given.section)
    text = place.headings + given_paragraph(given.text)
    return given._replace(text=text, section=place.section, at=place.at)


# A passage


def with_passage(
    logs: Logs, file: SliceFile, passages: Sequence[str], new: str, stamp: Stamp, cleaned: Cleaned
) -> SliceFile:
    """Returns the file with a new text in place of a passage; `passages` are the forms in which it may be stored.

    A passage that is in a part of the file is not replaced. The error names the part.
    """
    refuse_closed(file)
    if file.body_type == "jsonl":
        hint = "`tt remember` with --supersedes writes a row that replaces another"
        raise SlicebaseError("write-mode", "rows are not edited", hint=hint, where=Where(file.name))
    _refuse_write_mode(file)
    try:
        body = replace_passage(file.body, passages, new, file.body_line, cleaned, file.newline)
    except SlicebaseError as error:
        part = _part_with(logs, file, passages) if error.code == "no-passage" else None
        if part:
            hint = f"it is in the part {part} of the file, which has an id and a contract of its own"
            raise SlicebaseError(error.code, error.message, hint=hint, where=Where(file.name)) from None
        raise error.at(Where(file.name)) from None
    return with_body(file, body, stamp)


def _part_with(logs: Logs, file: SliceFile, passages: Sequence[str]) -> str | None:
    """Returns the first part of a file that contains a passage, however its lines end."""
    wanted = [passage.replace("\r\n", "\n") for passage in passages if passage]
    for part in logs.whole(file) if parts_of(file) else ():
        text = decode(part.body).replace("\r\n", "\n")
        if part.id != file.id and not part.archived and any(passage in text for passage in wanted):
            return part.id
    return None


# Derived files


def refreshed(
    folder: SliceFolder, logs: Logs, file: SliceFile, text: str, stamp: Stamp, source_hash: str | None
) -> SliceFile:
    """Returns a derived file with a new body and the current hash of its source.

    `source_hash` says which version of the source the text was made from. Any but the current version is a conflict.
    """
    refuse_closed(file)
    if not text.strip():
        raise SlicebaseError("nothing-given", "the new body is empty")
    _refuse_stated_mode(file)
    _refuse_parts(logs, file)
    source = _source_of(folder, file)
    current = logs.hash(source)
    if source_hash is not None and current != source_hash:
        raise SlicebaseError(
            "conflict",
            f"{source.id} has changed since it was read: its hash is {current}",
            hint="read it again and write the text again",
            where=Where(file.name),
        )
    body = new_body(file, text, stamp).file_body
    return with_body(set_key(file, "slice.derived_from.hash", current), body, stamp)


def _source_of(folder: SliceFolder, file: SliceFile) -> SliceFile:
    source = file.derived_from
    if source is None or not source.id:
        raise SlicebaseError("not-derived", "the file does not say what it is derived from", where=Where(file.name))
    return folder.find(source.id)


def _refuse_stated_mode(file: SliceFile) -> None:
    """Refuses a derived file whose contract states a write mode other than `replace`."""
    if file.source_text("slice.contract.write") is not None:
        _refuse_write_mode(file)


def _refuse_write_mode(file: SliceFile) -> None:
    """Refuses a file whose write mode is not `replace`."""
    if file.write_mode != "replace":
        raise SlicebaseError(
            "write-mode",
            f"the file's body cannot be replaced: its write mode is {file.write_mode}",
            hint=f"`tt define {file.id} contract.write=replace` allows it",
            where=Where(file.name),
        )
