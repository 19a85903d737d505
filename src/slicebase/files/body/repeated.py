"""Finds content that two parts of a file both have, and counts it once (rulings 24 and 32).

Two branches that archive the same content leave it in two parts when they are merged. A row is known by its bytes.
Other content counts once only where it provably is the same: two archives were taken from the same place of the same
file, and begin with the same bytes. What somebody wrote twice stays twice.

The copy in a forgotten or purged file never counts before one in a file that people read, and neither does the copy in
a part that its file does not name: a writer that was killed left it, and the file still has what was to move there.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from slicebase.files.body.origin import ArchivesBefore, Place, origin_of
from slicebase.files.body.overflow import (
    ARCHIVED,
    lines_in,
    paragraph_ends,
    part_link,
    parts_of,
    unnamed_parts,
    whole_of,
)
from slicebase.files.body.rows import read_rows
from slicebase.files.body.sections import sections
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key

Shortened = list[tuple[SliceFile, SliceFile]]  # files, each with its new version


def is_read(file: SliceFile) -> bool:
    """Returns whether people read a file: it is neither forgotten nor purged."""
    return not file.archived and not file.purged


def in_precedence(files: Sequence[SliceFile]) -> list[SliceFile]:
    """Returns files, given in the order of their content, so that of two copies the first one counts."""
    loose = {file.name for file in not_named(files)}
    return sorted(files, key=lambda file: (not is_read(file), file.name in loose))


def not_named(files: Sequence[SliceFile]) -> list[SliceFile]:
    """Returns the parts that none of the files names."""
    named = {name for file in files for name in parts_of(file)}
    return [file for file in files if file.id not in named and whole_of(file) is not None]


def without_repeated(files: Sequence[SliceFile], *, forgotten_last: bool = True) -> Shortened:
    """Returns the files that repeat content of other files of the same object, each with its version without it.

    The files are given in the order of their content. The first copy counts, and one in a forgotten file only if there
    is no other; without `forgotten_last`, forgetting a file changes nothing here.
    """
    order = in_precedence(files) if forgotten_last else files
    unfinished = _unfinished(files)
    logs = [file for file in order if file.body_type == "jsonl"]
    archives = [file for file in order if file.body_type in _BY_PLACE and part_link(file)[1] == ARCHIVED]
    return [
        *_without_rows(logs),
        *((copy, copy.with_body(b"")) for copy in unfinished),
        *_without_copies([file for file in archives if file not in unfinished]),
    ]


def _unfinished(files: Sequence[SliceFile]) -> list[SliceFile]:
    """Returns the archives whose content is still in their file, since the writer that moved it was killed."""
    known = {file.id: file for file in files}
    pairs = ((part, known.get(whole_of(part))) for part in not_named(files) if part.body_type in _BY_PLACE)
    return [part for part, file in pairs if file and unnamed_parts(file, [part]).copies]


def repeated_starts(files: Sequence[SliceFile]) -> dict[str | None, int]:
    """Returns how many bytes at the start of a body another file has, too, and count there, by the ids of the files.

    Rows are known by their bytes, wherever they are: logs are left out.
    """
    found = ((old, new) for old, new in without_repeated(files) if old.body_type != "jsonl")
    return {old.id: len(old.body) - len(new.body) for old, new in found}


def counted(files: Sequence[SliceFile]) -> list[SliceFile]:
    """Returns files, given in the order of their content, without what they repeat of each other."""
    changed = {old.name: new for old, new in without_repeated(files)}
    return [changed.get(file.name, file) for file in files]


def in_place(old: SliceFile, new: SliceFile) -> SliceFile:
    """Returns an archive without its start, as `without_repeated` does, with every line where it is in the file."""
    removed = old.body[: len(old.body) - len(new.body)]
    return old.with_body(b"\n" * removed.count(b"\n") + new.body)


# Rows


def repeated_rows(files: Iterable[SliceFile]) -> set[bytes]:
    """Returns the lines of rows that are in several files of a log, with the same bytes."""
    known: set[bytes] = set()
    several: set[bytes] = set()
    for file in files:
        lines = lines_in(file)
        several |= known & lines
        known |= lines
    return {row.line.raw for row in read_rows(b"\n".join(several)).rows} if several else set()


def _without_rows(files: Sequence[SliceFile]) -> Shortened:
    repeated, known = repeated_rows(files), set[bytes]()
    changes = []
    for file in files if repeated else ():
        own = lines_in(file) & repeated
        if own & known:
            changes.append((file, _without(file, own & known)))
        known |= own
    return changes


def _without(file: SliceFile, rows: set[bytes]) -> SliceFile:
    """Returns a file without these rows. An archive still says where the others were in its file."""

    def kept(content: bytes) -> bytes:
        return b"\n".join(line for line in content.split(b"\n") if line.removesuffix(b"\r") not in rows)

    smaller = file.with_body(kept(file.body))
    if file.taken_from is None:
        return smaller
    origin, places, start = origin_of(file), [], 0
    for at, size in origin.places:
        places.append(Place(at, len(kept(file.body[start : start + size]))))
        start += size
    return set_key(smaller, "slice.taken_from", str(origin._replace(places=tuple(places))))


# Archives of everything else

_LINES: Final = ("conversation", "routine")
_BY_PLACE: Final = (*_LINES, "markdown", "text")


class _Start(NamedTuple):
    """Where a chain of archives starts: the file, the byte, and the archive before it, which is not in the chain."""

    file: str | None
    at: int
    before: ArchivesBefore


class _Chain(NamedTuple):
    """An archive after those that were taken before it, on one branch."""

    start: _Start
    before: int  # how many archives the file had before the last of them
    bodies: tuple[bytes, ...]
    size: int

    @property
    def content(self) -> bytes:
        return b"".join(self.bodies)


def _without_copies(archives: Sequence[SliceFile]) -> Shortened:
    """Returns the archives that begin with what others have from the same place, each with the rest of its content.

    They are compared in the order of their content: what is left of one continues what the others have.
    """
    known: dict[str | None, _Chain] = {}
    changes = []
    for part in archives if len(archives) > 1 else ():
        chain = _chain(part, known)
        repeated = max((_repeated(part, chain, other) for other in known.values()), default=0)
        if repeated:
            changes.append((part, _rest(part, repeated)))
        known[part.id] = chain
    return changes


def _chain(part: SliceFile, known: Mapping[str | None, _Chain]) -> _Chain:
    origin, file = origin_of(part), whole_of(part)
    before = origin.before
    previous = known.get(before.last) if before.last else None
    # After a merge, a file has more archives than follow each other: the place is another one.
    if previous and previous.before + 1 == before.number and previous.start[:2] == (file, origin.at):
        return _Chain(previous.start, before.number, (*previous.bodies, part.body), previous.size + len(part.body))
    return _Chain(_Start(file, origin.at, before), before.number, (part.body,), len(part.body))


def _repeated(part: SliceFile, chain: _Chain, other: _Chain) -> int:
    """Returns how many bytes at the start of an archive another chain has at the same place: all, or whole entries."""
    start = chain.size - len(part.body)
    if chain.start != other.start or other.size <= start:
        return 0  # as always where nothing was merged: an archive follows those before it
    own, others = chain.content, other.content
    wanted = own.rstrip(b"\r\n")  # line ends at its end may have been added
    if others.startswith(wanted) and others[len(wanted) :][:1] in (b"", b"\r", b"\n"):
        return len(part.body)
    same = _same(own, others) - start
    return max((border for border in _borders(part) if border <= same), default=0)


def _same(one: bytes, other: bytes) -> int:
    """Returns how many bytes two contents have in common at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _borders(part: SliceFile) -> list[int]:
    """Returns the bytes at which an entry begins: a line, a paragraph, or a section of the highest level."""
    if part.body_type in _LINES:
        return [line.end() for line in re.finditer(rb"\n", part.body)]
    text = part.body.decode("latin-1")  # so that a place is a byte
    found = [each for each in sections(text) if each.level] if part.body_type == "markdown" else []
    highest = min((each.level for each in found), default=0)
    return [each.start for each in found if each.level == highest] if found else paragraph_ends(text)


def _rest(part: SliceFile, repeated: int) -> SliceFile:
    """Returns an archive without its start, which others have. It says so: it is not compared by its place again."""
    rest = part.body[repeated:]
    return set_key(part.with_body(rest), "slice.taken_from", str(origin_of(part).without_start(len(rest))))
