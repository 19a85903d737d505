"""Stale slice files: which ones, why, and since when (§ Staleness, ruling 26)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import apsw

from slicebase.core.times import to_text
from slicebase.files.freshness import Label, oldest, staleness
from slicebase.files.links import target_kind
from slicebase.index.entries import FileEntry, Filters, get_files, list_files
from slicebase.index.links import overflow_parts
from slicebase.workspace.note_files import MISSING

_DAY: Final = 86_400_000
_STALE: Final = 0.5  # the staleness from which a file is labelled STALE
_DUE: Final = {"summarize": "summarized"}


class StaleReason(NamedTuple):
    """A reason why a file is stale."""

    kind: Literal[
        "age", "source-changed", "source-missing", "note-changed", "note-missing", "payload-changed",
        "payload-missing", "due",
    ]  # fmt: skip
    since: int | None  # the last change of the file, or of its source; in milliseconds since 1970
    detail: str


class StaleFile(NamedTuple):
    """A file that is stale, with all reasons."""

    entry: FileEntry
    staleness: float  # by age alone
    reasons: tuple[StaleReason, ...]

    @property
    def ref(self) -> str:
        """The reference of the file."""
        return self.entry.ref

    def __repr__(self) -> str:
        return f"StaleFile(ref={self.ref!r}, staleness={self.staleness:.2f}, reasons={len(self.reasons)})"

    def as_json(self, now: int, half_life: float) -> dict[str, Any]:
        """Returns the file with the reasons, as `tt stale --json` prints it."""
        reasons = [
            {"reason": why.kind, "since": why.since and to_text(why.since), "detail": why.detail}
            for why in self.reasons
        ]
        return {**self.entry.as_json(now, half_life), "reasons": reasons}


def stale_files(
    connection: apsw.Connection,
    filters: Filters,
    now: int,
    half_life: float,
    later_snapshot: Callable[[str], str | None] = lambda snapshot_id: None,
    compared: Callable[[FileEntry], FileEntry] = lambda entry: entry,
) -> list[StaleFile]:
    """Returns the files that should be checked again, the stalest first.

    `compared` returns an entry that says what has become of its payload.
    """
    found = []
    parts, entries = overflow_parts(connection), list_files(connection, filters)
    beside = _read_beside(connection, entries)
    for entry in map(compared, entries):
        stale = staleness((now - entry.changed) / _DAY, half_life)
        # A part of a file has the age of its file.
        age = () if stale < _STALE or entry.id in parts else _age_reasons(beside, entry, now, half_life)
        reasons = (*_narrative_reasons(entry, later_snapshot), *_reasons(beside, entry), *age)
        if reasons:
            found.append(StaleFile(entry, stale, reasons))
    return sorted(found, key=lambda each: (-round(each.staleness, 6), each.entry.id, each.entry.name))


class _Beside(NamedTuple):
    """What the index knows besides the files themselves, read for all of them at once."""

    sources: Mapping[str, FileEntry]
    parts: Mapping[int, int]  # the last change of a part that continues a file, by the number of the file
    problems: Mapping[int, str | None]  # why a note has no text, by the number of its pointer

    def last_change(self, entry: FileEntry) -> int:
        """Returns the last change of a file or of a part that continues it."""
        return max(entry.changed, self.parts.get(entry.number, entry.changed))


_PARTS: Final = """
SELECT links.file, max(coalesce(part.changed, part.disk_time)) AS newest
FROM json_each(?) AS wanted JOIN links ON links.file = wanted.value JOIN files AS part ON part.id = links.node
WHERE links.rel = 'has_part' AND links.label = 'overflow' AND NOT part.archived
GROUP BY links.file HAVING newest IS NOT NULL
"""
_PROBLEMS: Final = "SELECT file, problem FROM json_each(?) JOIN notes ON file = value"


def _read_beside(connection: apsw.Connection, entries: Sequence[FileEntry]) -> _Beside:
    sources = get_files(connection, {entry.source for entry in entries if entry.source})
    numbers = {entry.number for entry in (*entries, *sources.values())}
    notes = [entry.number for entry in entries if entry.note_state in ("changed", "missing")]
    return _Beside(
        sources,
        dict(connection.execute(_PARTS, (str(sorted(numbers)),))),
        dict(connection.execute(_PROBLEMS, (str(notes),))),
    )


def _narrative_reasons(entry: FileEntry, later_snapshot: Callable[[str], str | None]) -> Iterator[StaleReason]:
    """Yields a reason for a narrative whose run has a later snapshot that passed (ruling 41)."""
    if entry.source and entry.source.startswith("sn_") and (later := later_snapshot(entry.source)):
        yield StaleReason("source-changed", None, f"its run has a later snapshot, {later}")


def _reasons(beside: _Beside, entry: FileEntry) -> Iterator[StaleReason]:
    # Narratives of snapshots are compared with their run instead.
    if entry.source and target_kind(entry.source) != "reference":
        source = beside.sources.get(entry.source)
        if source is None:
            yield StaleReason("source-missing", None, f"its source {entry.source} is not here")
        elif entry.derivation == "stale":
            changed = beside.last_change(source)
            yield StaleReason("source-changed", changed, f"its source {source.id} ({source.title}) has changed")
    if entry.note_state in ("changed", "missing"):
        yield _note_reason(beside.problems.get(entry.number))
    if entry.payload_state == "changed":
        detail = "the document that it points to has changed: `tt refresh` measures it again"
        yield StaleReason("payload-changed", None, detail)
    elif entry.payload_state == "missing":
        yield StaleReason("payload-missing", None, "the document that it points to cannot be read")
    if entry.due:
        yield StaleReason("due", None, f"it is due to be {_DUE.get(entry.due, entry.due)}")


def _note_reason(problem: str | None) -> StaleReason:
    """Returns why a note is not what its pointer says. One that is there and cannot be taken is not followed."""
    if problem is None:
        return StaleReason("note-changed", None, "the note has changed: `tt refresh --all` follows it")
    if problem == MISSING:
        return StaleReason("note-missing", None, "the note is gone: `tt refresh --all` follows it")
    return StaleReason("note-missing", None, f"the note cannot be read: {problem}")


def _age_reasons(beside: _Beside, entry: FileEntry, now: int, half_life: float) -> Iterator[StaleReason]:
    """Yields a reason for an old file, unless a part that continues it has changed since."""
    changed = beside.last_change(entry)
    if staleness((now - changed) / _DAY, half_life) >= _STALE:
        days = (now - changed) // _DAY
        yield StaleReason("age", changed, f"nothing has changed for {days} days")


def freshness_counts(connection: apsw.Connection, now: int, half_life: float) -> dict[str, int]:
    """Returns how many files have each label of freshness, by their age alone; archived files are not counted."""
    limits = [round(oldest(label, half_life) * _DAY) for label in list(Label)[1:]]
    labels = ", ".join(
        f"coalesce(sum(age >= {low} AND age < {high}), 0)"
        for low, high in zip((-(2**62), *limits), (*limits, 2**62), strict=True)
    )
    query = f"SELECT {labels} FROM (SELECT ? - coalesce(changed, disk_time, 0) AS age FROM files {_COUNTED})"
    return dict(zip(map(str, Label), next(connection.execute(query, (now,))), strict=True))


_COUNTED: Final = "WHERE problem IS NULL AND NOT archived"
