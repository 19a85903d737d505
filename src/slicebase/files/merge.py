"""Merges slice files three-way: keys by name, links as a set, rows by id, other bodies by lines (docs/workspace.md).

The merge works on what a file means: two people who add rows, change different keys or add links have no conflict.
What both sides changed differently is a conflict. It is marked as git marks one, and keeps the content of both sides.

It does not matter who merges whom: everything works on the two sides in the order of their bytes, and only the markers
know which side is ours. What is merged is read again, and must have the values and the body that were meant.
"""

from collections import Counter
from typing import NamedTuple

from slicebase.errors import SlicebaseError
from slicebase.files.check.version import errors_in, read_back
from slicebase.files.merge_archived import may_repeat, with_mark
from slicebase.files.merge_body import merge_bodies, unmerged_bodies
from slicebase.files.merge_header import merge_headers
from slicebase.files.merge_lines import Merged, comparable, decide, marked, merge_lines
from slicebase.files.slice_file import SliceFile


class Outcome(NamedTuple):
    """A merged file, and what both sides changed differently."""

    data: bytes
    conflicts: tuple[str, ...]  # keys and rows, or `body`; empty if everything is merged


def merge_bytes(base: bytes, ours: bytes, theirs: bytes, name: str) -> Outcome:
    """Merges the bytes of three files. If one is not a readable slice file, they are merged by lines, as git does."""
    before, mine, other = (_read(data, name) for data in (base, ours, theirs))
    if mine and other and (before or not base):
        return merge(before, mine, other)
    swapped = theirs < ours
    sides = Merged(theirs, ours) if swapped else Merged(ours, theirs)
    return _marked(_merged_text(base, sides, name, readable=bool(mine and other)), swapped=swapped)


def merge(base: SliceFile | None, ours: SliceFile, theirs: SliceFile) -> Outcome:
    """Merges two versions of a file. Without a base, both sides created the file."""
    if (ours.purged is None) != (theirs.purged is None):  # purged content does not come back (ruling 31)
        return Outcome((ours if ours.purged else theirs).to_bytes(), ())
    swapped = theirs.to_bytes() < ours.to_bytes()
    sides = Merged(theirs, ours) if swapped else Merged(ours, theirs)
    return _marked(_merged_files(base, sides), swapped=swapped)


def _read(data: bytes, name: str) -> SliceFile | None:
    try:
        return SliceFile.parse(data, name)
    except SlicebaseError:
        return None


class _MergedFile(NamedTuple):
    versions: Merged[bytes]
    conflicts: tuple[str, ...] = ()


def _marked(merged: _MergedFile, *, swapped: bool) -> Outcome:
    return Outcome(marked(*merged.versions, swapped=swapped), merged.conflicts)


# Slice files


def _merged_files(base: SliceFile | None, sides: Merged[SliceFile]) -> _MergedFile:
    bytes_of = Merged(*(file.to_bytes() for file in sides))
    plain = decide(base.to_bytes() if base else b"", *bytes_of)
    if plain.ours == plain.theirs:
        return _MergedFile(plain)
    apart = _MergedFile(bytes_of, ("slice",))  # nothing is merged
    if sides.ours.id != sides.theirs.id:
        return apart
    heads, in_header = merge_headers(base, *sides)
    bodies, in_body = (unmerged_bodies if may_repeat(base, *sides) else merge_bodies)(base, *sides)
    try:
        files = with_mark(base, sides, Merged(heads.ours.with_body(bodies.ours), heads.theirs.with_body(bodies.theirs)))
        versions = Merged(read_back(files.ours), read_back(files.theirs))
    except SlicebaseError:
        return apart
    conflicts = (*in_header, *in_body)
    if bool(conflicts) != (versions.ours != versions.theirs) or (not conflicts and _breaks_rules(files.ours, sides)):
        return apart
    return _MergedFile(versions, conflicts)


def _breaks_rules(merged: SliceFile, sides: Merged[SliceFile]) -> bool:
    """Returns whether a merged file has errors that come from neither side, such as two calls with the same id."""
    found = _broken_rules(merged)
    return bool(found) and bool(found - (_broken_rules(sides.ours) + _broken_rules(sides.theirs)))


def _broken_rules(file: SliceFile) -> Counter[str]:
    return Counter(finding.rule for finding in errors_in(file))


# Other texts


def _merged_text(base: bytes, sides: Merged[bytes], name: str, *, readable: bool) -> _MergedFile:
    """Merges files by their lines. If both sides can be read as slice files, the result can be read as well."""
    plain = decide(base, *sides)
    if plain.ours == plain.theirs:
        return _MergedFile(plain)
    old, one, other, form = comparable(base or None, *sides)
    versions = Merged(*(form.text(version) for version in merge_lines(old, one, other)))
    if readable and not all(_read(version, name) for version in versions):
        versions = sides
    return _MergedFile(versions, () if versions.ours == versions.theirs else ("text",))
