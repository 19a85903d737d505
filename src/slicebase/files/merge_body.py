"""Merges the bodies of two slice files: rows by id, appended lines and paragraphs all of them, other text by lines."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from slicebase.files.body.rows import read_rows
from slicebase.files.merge_additions import AddedSections, AppendedLines, AppendedParagraphs
from slicebase.files.merge_archived import ThreeBodies, without_archived
from slicebase.files.merge_lines import Merged, Resolve, comparable, decide, line_end, merge_lines
from slicebase.files.merge_places import in_place
from slicebase.files.slice_file import SliceFile

_LINES: Final = frozenset({"jsonl", "conversation", "routine"})
_PARAGRAPHS: Final = frozenset({"markdown", "text"})


class MergedBody(NamedTuple):
    """A merged body, and the rows in which there is a conflict."""

    bodies: Merged[bytes]
    conflicts: tuple[str, ...] = ()


def merge_bodies(base: SliceFile | None, ours: SliceFile, theirs: SliceFile) -> MergedBody:
    """Merges the bodies of two files by rows, by what was appended, or else by lines of text."""
    before = base.body if base else b""
    plain = decide(before, ours.body, theirs.body)
    if plain.ours == plain.theirs:
        return MergedBody(plain)
    ends = [line_end(file.head if file else b"") for file in (base, ours, theirs)]
    old, one, other, form = comparable(base.body if base else None, ours.body, theirs.body, ends)
    if ours.body_type in _LINES and ours.body_type == theirs.body_type:  # blank lines say nothing
        old, one, other = ([line for line in lines if line.strip()] for lines in (old, one, other))
    old, one, other = without_archived(ThreeBodies(old, one, other), base, ours, theirs)
    merged = _merge_rows(old, one, other) if ours.body_type == theirs.body_type == "jsonl" else None
    if merged is None:
        text = merge_lines(old, one, other, _rule_for(old, ours, theirs))
        if ours.body_type == theirs.body_type == "markdown":
            text = _with_places(old, one, other, text)
        merged = _MergedLines(text, () if text.ours == text.theirs else ("body",))
    bodies = Merged(form.text(merged.lines.ours), form.text(merged.lines.theirs))
    longer = max(bodies, key=len)
    if all(body + end in (longer, longer + end) for body in bodies for end in [line_end(longer)]):
        return MergedBody(Merged(longer, longer))  # markers cannot show that only the last line end is missing
    return MergedBody(bodies, merged.conflicts)


def unmerged_bodies(base: SliceFile | None, ours: SliceFile, theirs: SliceFile) -> MergedBody:
    """Returns the bodies of two files as a conflict: both as they are."""
    return MergedBody(Merged(ours.body, theirs.body), ("body",))


def _with_places(
    base: list[bytes], ours: list[bytes], theirs: list[bytes], merged: Merged[list[bytes]]
) -> Merged[list[bytes]]:
    """Returns merged Markdown with every line under its heading: what cannot be merged so is a conflict."""
    if in_place(base, ours, theirs, merged):
        return merged
    larger = merge_lines(base, ours, theirs, over_blanks=True)
    return larger if in_place(base, ours, theirs, larger) else Merged(ours, theirs)


class _MergedLines(NamedTuple):
    lines: Merged[list[bytes]]
    conflicts: tuple[str, ...]


def _rule_for(base: Sequence[bytes], ours: SliceFile, theirs: SliceFile) -> Resolve:
    """Returns the rule for what both sides changed, by the type of the body and its contract (ruling 25)."""
    if ours.body_type == theirs.body_type:
        if ours.body_type in _LINES:
            return AppendedLines(base, ours, theirs)
        if ours.body_type in _PARAGRAPHS and ours.write_mode == theirs.write_mode == "append":
            return AppendedParagraphs(base, ours, theirs)
        if ours.body_type == "markdown":
            return AddedSections(base)
    return lambda hunk: None


# Rows


class _RowLine(NamedTuple):
    line: bytes
    age: tuple[int, str, bytes]

    @property
    def id(self) -> str:
        return self.age[1]


def _merge_rows(before: list[bytes], ours: list[bytes], theirs: list[bytes]) -> _MergedLines | None:
    """Merges rows by id. Rows are ordered by age only, so added rows go to the end, by age (ruling 27).

    Returns None if a line is not a row with an id of its own.
    """
    rows = _read_once(before, ours, theirs)
    known, one, other = _by_id(before, rows), _by_id(ours, rows), _by_id(theirs, rows)
    if known is None or one is None or other is None:
        return None
    chosen = {row: decide(known.get(row), one.get(row), other.get(row)) for row in {**known, **one, **other}}
    conflicts = tuple(f"row {row}" for row, (mine, yours) in chosen.items() if mine != yours)
    added = [(min(each.age for each in chosen[row] if each), row) for row in chosen if row not in known]
    order = [*known, *(row for _, row in sorted(added))]
    mine = [each.line for row in order if (each := chosen[row].ours) is not None]
    yours = [each.line for row in order if (each := chosen[row].theirs) is not None]
    return _MergedLines(Merged(mine, yours), conflicts)


def _read_once(*versions: list[bytes]) -> dict[bytes, _RowLine]:
    """Returns the rows of all versions by their lines. A line that several have, as most, is read once."""
    lines = list(dict.fromkeys(line for version in versions for line in version))
    rows = read_rows(b"\n".join(lines)).rows
    return {line: _RowLine(line, row.age_key) for row in rows for line in [lines[row.line.number - 1]]}


def _by_id(lines: list[bytes], rows: Mapping[bytes, _RowLine]) -> dict[str, _RowLine] | None:
    """Returns the rows of a version by their ids, None if that would leave out a line."""
    found = {row.id: row for line in lines if (row := rows.get(line))}
    filled = sum(1 for line in lines if line.strip())
    return found if len(found) == filled else None
