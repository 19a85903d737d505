"""Reads what references lead to, as pieces for a model: text, label and reference (ruling 7)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

import msgspec

from slicebase.context.recall import RecalledPiece
from slicebase.core.refs import Ref, as_words, recorded
from slicebase.core.times import known_time, to_text
from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.overflow import parts_of, whole_of
from slicebase.files.body.repeated import in_precedence, is_read_with
from slicebase.files.body.rows import Row, read_rows
from slicebase.files.body.sections import section_names, section_ref, sections
from slicebase.files.body.supersession import active
from slicebase.files.facts import read_facts
from slicebase.files.freshness import derivation, label_at
from slicebase.files.slice_file import SliceFile
from slicebase.library.folder import SliceFolder
from slicebase.library.log_rows import log_rows
from slicebase.library.logs import Logs
from slicebase.library.names import Names
from slicebase.library.texts import FoundNote, SectionedText, note_of, sectioned
from slicebase.workspace.surroundings import Surroundings, one_thread_at_a_time

if TYPE_CHECKING:
    from slicebase.index.entries import FileEntry
    from slicebase.truth.truth import Truth

Which = Literal["active", "all"]
WHICH: Final[tuple[str, ...]] = get_args(Which)


@one_thread_at_a_time
class Recall(NamedTuple):
    """Reads references as of a time; `rows` says which rows of a log are shown.

    With `last`, rows are active that were active then; without it, those that are active now.
    """

    surroundings: Surroundings
    folder: SliceFolder
    logs: Logs
    names: Names
    truth: "Callable[[], Truth]"
    now: int
    half_life: float
    rows: Which = "active"
    last: int | None = None

    def pieces(self, references: Iterable[str]) -> list[RecalledPiece]:
        """Returns the pieces that references lead to."""
        return [piece for given in references for piece in self._of(self.names.ref(given, _BARE, otherwise="file"))]

    def _of(self, ref: Ref) -> Iterable[RecalledPiece]:
        find = _READERS.get(ref.kind)
        if find is None:
            hint = f"recall reads references to a {', '.join(_READERS)}"
            raise SlicebaseError("bad-reference", f"a {ref.kind} has no text of its own", hint=hint)
        return find(self, ref)

    def own(self, reference: str) -> RecalledPiece:
        """Returns the piece of what a reference names itself: of a divided file, without its parts."""
        ref = self.names.ref(reference, _BARE, otherwise="file")
        file = self._find(ref.name) if ref.kind == "file" else None
        return next(iter(self._of(ref))) if file is None or file.body_type == "jsonl" else self._whole(file)

    def is_elsewhere(self, reference: str) -> bool:
        """Returns whether another part of the same file has all of a file, section or row, too, and it counts there."""
        ref = self.names.ref(reference, _BARE, otherwise="file")
        if ref.kind not in ("file", "sec", "row"):
            return False
        file = self._find(ref.owner)
        if ref.kind == "row":
            part, row = self.logs.row(file, ref.local)
            return self.logs.holder(part, row).id != file.id
        repeated, end = self.logs.repeated(file), len(file.body)
        if repeated and ref.kind == "sec":
            text, slugs = file.text_for_model(), ref.local.partition("#")[2]
            ends = (each.end for each in sections(text) if slugs in section_names(each))
            end = len(text[: next(ends, None)].encode())
        return 0 < end <= repeated

    # Files

    def _file(self, ref: Ref) -> Iterator[RecalledPiece]:
        file = self._find(ref.name)
        yield from self._log(file) if file.body_type == "jsonl" else map(self._whole, self.logs.read(file))
        for part in self.logs.absent(file):
            yield RecalledPiece(f"file:{part.id}", f"{_title(file)} · a part that is {part.how}", "")

    def _find(self, file_id: str) -> SliceFile:
        file = self.folder.find(file_id)
        if file.purged:
            reason = f": {file.purged.reason}" if file.purged.reason else ""
            raise SlicebaseError("purged", f"the content was purged{reason}", where=Where(file.name))
        return file

    def _whole(self, file: SliceFile) -> RecalledPiece:
        """Returns the whole content of a file, or of the note that it points to."""
        found = self._note(file)
        content = _content(file) if found is None or found.problem else found.text.strip("\n")
        return RecalledPiece(f"file:{file.id}", self._label(file, found), content)

    def _note(self, file: SliceFile) -> FoundNote | None:
        return self.folder.once("note", file, lambda: note_of(self.folder, file, self.surroundings.redaction.uncounted))

    def _label(self, file: SliceFile, note: FoundNote | None = None) -> str:
        times = [self._changed(part) for part in (self.logs.whole(file) if parts_of(file) else [file])]
        changed = max((time for time in times if time is not None), default=None)
        kind = "pointer" if file.kind == "pointer" else as_words(file.body_type or "")
        words = [_title(file), f"note {as_words(note.path)}" if note else kind]
        if changed is not None:
            words += [f"changed {_day(changed)}"]
            # The age of a pointer says nothing about a note that cannot be read.
            words += [label_at(self.now, changed, self.half_life)] if note is None or not note.problem else []
        words += ["archived"] if file.archived else []
        words += [note.about(file)] if note else []
        words += [self._derivation(file)]
        return " · ".join(word for word in words if word)

    def _changed(self, file: SliceFile) -> int | None:
        stated = self._stated_change(file)
        return self.folder.time_of(file) if stated is None else stated

    def _derivation(self, file: SliceFile) -> str:
        """Returns what a label says about the source of a derived file, for example that it has changed since."""
        source = file.derived_from
        if not source or not source.id or not source.hash:
            return ""
        if source.id.startswith("sn_"):
            return self._narrated(source.id)
        original, name = self.folder.get(source.id), as_words(source.id)
        return {
            "fresh": f"derived from {name}",
            "stale": f"derived from {name}, which has changed since",
            "unknown": f"derived from {name}, which is not here",
        }[derivation(source.hash, self._hash(original) if original else None)]

    def _hash(self, original: SliceFile) -> str | None:
        return self.folder.once("hash", original, lambda: self.logs.hash(original))

    def _narrated(self, snapshot_id: str) -> str:
        runs = self.truth().runs
        if runs.snapshots.place_of(snapshot_id) is None:  # the file alone says so
            return f"derived from {as_words(snapshot_id)}"
        return f"derived from {snapshot_id}" + (", and the run has a later snapshot" if runs.later(snapshot_id) else "")

    # Rows

    def _log(self, file: SliceFile) -> Iterator[RecalledPiece]:
        """Yields the rows of a log, oldest first, without files that were forgotten alone; for a part, only its own."""
        log = self._rows_with(file)
        shown = [row for row in log if self.rows == "all" or row.holds]
        is_part = whole_of(file) is not None
        shown = [row for row in shown if row.file is file or (not is_part and is_read_with(file, row.file))]
        count = f"{len(shown)} row{'' if len(shown) == 1 else 's'}"
        yield RecalledPiece(f"file:{file.id}", f"{self._label(file)} · {count}", file.summary or "")
        yield from map(_piece, shown)

    def _row(self, ref: Ref) -> Iterator[RecalledPiece]:
        """Yields the row that was named, active or not; its label says which. It may have moved to a part."""
        file = self._find(ref.owner)
        if alone := self._only_row(file, ref.local):
            yield _piece(alone)
            return
        part, named = self.logs.row(file, ref.local)
        found = [row for row in self._rows_with(file) if row.row.id == named.id]
        yield from map(_piece, [row for row in found if row.file.id == part.id] or found[:1])

    def _rows_with(self, file: SliceFile) -> "list[_LocatedRow]":
        return self.folder.once(f"rows {self.last}", file, lambda: self._marked(self._all_rows(file)))

    def _all_rows(self, file: SliceFile) -> "list[tuple[Row, SliceFile]]":
        return self.folder.once("all rows", file, lambda: _rows_of(self.logs.of(file)))

    def _marked(self, located: "Sequence[tuple[Row, SliceFile]]") -> "list[_LocatedRow]":
        """Returns rows with whether they are active; with `last`, whether they were then."""
        there = [row for row, file in located if self.last is None or self._was_there(row, file, self.last)]
        holding = {row.line.raw for row in active(there)}
        return [_LocatedRow(row, file, row.line.raw in holding) for row, file in located]

    def _was_there(self, row: Row, file: SliceFile, moment: int) -> bool:
        """Returns whether a row is not later. Without a date, it has that of its file; without one, it counts always.

        A chunk has the same time: a row that is left out as later supersedes none that is shown.
        """
        time = row.time if row.time is not None else self._stated_change(file)
        return time is None or time <= moment

    def _stated_change(self, file: SliceFile) -> int | None:
        return self.folder.once("changed", file, lambda: read_facts(file).changed)

    def returned(self, file_id: str) -> list[str]:
        """Returns the files of a log in which a row was active at `last`, and was superseded since; else nothing."""
        file = self._find(file_id)
        log = log_rows(self.logs, file)
        if self.last is None or log.total == log.active:
            return []
        pairs = zip(self._rows_with(file), self._replace(last=None)._rows_with(file), strict=True)
        has_returned = any(then.holds and not now.holds and then.is_up_to(self.last) for then, now in pairs)
        return [part.id for part in self.logs.of(file) if part.id] if has_returned else []

    def _only_row(self, file: SliceFile, row_id: str) -> "_LocatedRow | None":
        """Returns the row of a file with this id, as the log that was read last knows it; None if it may be another.

        A context reads many rows of one log, and a large log takes seconds to read.
        """
        if file.body_type != "jsonl" or self.last is not None:
            return None
        log = self.folder.once("log", file, lambda: log_rows(self.logs, file))
        place = log.places.get(row_id)
        found = [] if place is None else [line for line in log.groups[place] if line.id == row_id]
        if len(found) != 1 or found[0].file != file.id:
            return None
        return _LocatedRow(found[0].row, file, found[0].holds)

    # Sections and turns

    def _section(self, ref: Ref) -> Iterator[RecalledPiece]:
        file = self._find(ref.owner)
        version, _, slugs = ref.local.partition("#")
        text, body_digest, found = self._sectioned(file)
        section = next((each for each in found if slugs in section_names(each)), None)
        current = section_ref(file.id or "", body_digest, section) if section else None
        if not body_digest.removeprefix("sha256:").startswith(version):
            hint = f"the current one is {current}" if current else "the section no longer exists"
            raise SlicebaseError(
                "drifted", "the file has changed since this reference was made", hint=hint, where=Where(file.name)
            )
        if section is None:
            raise SlicebaseError("no-section", f"there is no section {slugs!r}", where=Where(file.name))
        label = f"{self._label(file, self._note(file))} · {as_words(section.title) or 'before the first heading'}"
        yield RecalledPiece(str(current), label, text[section.start : section.end].strip("\n"))

    def sections(self, file_id: str) -> SectionedText:
        """Returns the text of a file with its sections."""
        return self._sectioned(self.folder.find(file_id))

    def _sectioned(self, file: SliceFile) -> SectionedText:
        return self.folder.once("sections", file, lambda: sectioned(file, self._note(file)))

    def _turn(self, ref: Ref) -> Iterator[RecalledPiece]:
        truth = self.truth()
        record = truth.turns.get(ref.name).record
        text = truth.readable_text_of(record)
        if text is None:
            raise SlicebaseError("purged", f"the content of {ref} was purged")
        label = f"{as_words(record.role)} · {known_time(record.time) or 'undated'} · session {as_words(record.session)}"
        yield RecalledPiece(str(ref), label, text)


_READERS: Final[Mapping[str, Callable[[Recall, Ref], Iterator[RecalledPiece]]]] = {
    "file": Recall._file,
    "row": Recall._row,
    "sec": Recall._section,
    "turn": Recall._turn,
}
_BARE: Final = ("file", "turn", "row")  # what an id without a prefix may name


class _LocatedRow(NamedTuple):
    """A row, the file that it is in, and whether it is active."""

    row: Row
    file: SliceFile
    holds: bool

    def is_up_to(self, moment: int) -> bool:
        return self.row.time is not None and self.row.time <= moment


def _rows_of(log: Sequence[SliceFile]) -> list[tuple[Row, SliceFile]]:
    """Returns the rows of a file and the others of its log, oldest first, each with its file.

    A row that is in two files, as after an unfinished move or a merge, counts once: in the file that was named, if it
    is there.
    """
    located: dict[bytes, tuple[Row, SliceFile]] = {}
    for file in (log[0], *in_precedence(log)):
        for row in read_rows(file.body).rows:
            located.setdefault(row.line.raw, (row, file))
    return sorted(located.values(), key=lambda each: each[0].age_key)


def _piece(located: _LocatedRow) -> RecalledPiece:
    row, file, holds = located
    words = [_title(file), f"row of {_day(row.time)}" if row.time is not None else "row"]
    words += [] if holds else [as_words(row.status) if row.status not in (None, "active") else "superseded"]
    words += [f"confidence {row.confidence:g}"] if row.confidence is not None else []
    words += [f"by {as_words(row.provenance.agent)}"] if row.provenance and row.provenance.agent else []
    name = as_words(row.id or "") if any(map(str.isspace, row.id or "")) else row.id  # with a space, it is no reference
    ref = f"row:{file.id}/{name}"
    if len(ref) > _LONGEST_REF:  # it would leave no room for the row
        ref = recorded(ref)
    return RecalledPiece(ref, " · ".join(words), _row_content(row), row.time)


def _content(file: SliceFile) -> str:
    if file.kind != "pointer":
        return file.text_for_model().strip("\n")
    payload = file.payload
    lines = [file.summary or ""]
    if payload:
        lines += [f"{name}: {value}" for name, value in (("uri", payload.uri), ("hash", payload.hash)) if value]
        lines += [f"size: {payload.size} bytes"] if payload.size is not None else []
    return "\n".join(lines)


def _row_content(row: Row) -> str:
    """Returns the text that evidence quotes (ruling 36), then the row's other values."""
    others = {key: value for key, value in row.line.value.items() if key != "_meta" and not isinstance(value, str)}
    return "\n\n".join(part for part in (row.text, msgspec.json.encode(others).decode() if others else "") if part)


_LONGEST_TITLE: Final = 100
_LONGEST_REF: Final = 250
_CUT_ID: Final = r"(?<![A-Za-z0-9])(?:ev|mf|sn)(?=_[0-9a-f]*…$)"  # the beginning of a reference, before the cut


def file_group(entry: "FileEntry") -> str:
    """Returns the heading above the pieces of a file in a context."""
    return f"{as_words(entry.title)} · file:{as_words(entry.id)}"


def label_in_group(piece: RecalledPiece, entry: "FileEntry") -> str:
    """Returns the label of a piece under this heading, which says the title."""
    return piece.label.removeprefix(f"{_short_title(entry.title)} · ")


def _title(file: SliceFile) -> str:
    return _short_title(file.title or "untitled")


def _short_title(title: str) -> str:
    if len(title) <= _LONGEST_TITLE:
        return as_words(title)
    return re.sub(_CUT_ID, r"\g<0>\\", as_words(f"{title[: _LONGEST_TITLE - 1]}…"))


def _day(milliseconds: int) -> str:
    return to_text(milliseconds)[:10]
