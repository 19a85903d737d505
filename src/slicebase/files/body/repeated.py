"""Finds content that two parts of a file both have, and counts it once (rulings 24 and 32).

Two branches that archive the same content leave it in two parts when they are merged. A row is known by its bytes.
Other content counts once only where it provably is the same: two archives were taken from the same place of the same
file, and begin with the same bytes. What somebody wrote twice stays twice.

The copy in a forgotten or purged file never counts before one in a file that people read, and neither does the copy in
a part that its file does not name: a writer that was killed left it, and the file still has what was to move there.
"""

import re
from collections.abc import Collection, Iterable, Sequence
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
from slicebase.files.body.sections import Section, sections
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key

Shortened = list[tuple[SliceFile, SliceFile]]  # files, each with its new version


def is_read(file: SliceFile) -> bool:
    """Returns whether people read a file: it is neither forgotten nor purged."""
    return not file.archived and not file.purged


def is_read_with(file: SliceFile, part: SliceFile) -> bool:
    """Returns whether a part is read with its file: it is not forgotten, or was forgotten together with it."""
    return not part.purged and (not part.archived or part.archived == file.archived)


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


class _Piece(NamedTuple):
    """A piece of an archive, and where it is in the text as it was before the first archive of its lineage."""

    part: SliceFile
    offset: int  # in the archive
    size: int
    start: int

    @property
    def end(self) -> int:
        return self.start + self.size

    @property
    def content(self) -> bytes:
        return self.part.body[self.offset : self.offset + self.size]


class _Lineage(NamedTuple):
    """Archives that were taken after each other, on one branch, and the file with what it had before the first."""

    root: tuple[str | None, ArchivesBefore]
    archives: tuple[SliceFile, ...]
    pieces: tuple[_Piece, ...]


def _without_copies(archives: Sequence[SliceFile]) -> Shortened:
    """Returns the archives that begin with what others have from the same place, each with the rest of its content.

    They are compared in the order of their content: what is left of one continues what the others have.
    """
    lineages = _lineages(archives) if len(archives) > 1 else {}
    known: set[str | None] = set()
    last: dict[str | None, _Lineage] = {}  # lineages of known archives that no other one continues
    changes = []
    for part in archives if lineages else ():
        own = lineages[part.id]
        repeated = max((_repeated(own, other, known) for other in last.values() if other.root == own.root), default=0)
        if repeated:
            changes.append((part, _rest(part, repeated)))
        known.add(part.id)
        last[part.id] = own
        last.pop(own.archives[-2].id if len(own.archives) > 1 else None, None)
    return changes


def _lineages(archives: Sequence[SliceFile]) -> dict[str | None, _Lineage]:
    origins = {part.id: origin_of(part) for part in archives}
    found: dict[str | None, _Lineage] = {}
    for part in sorted(archives, key=lambda part: origins[part.id].before.number):
        file, origin = whole_of(part), origins[part.id]
        number, last = origin.before
        previous = found.get(last) if last in origins and origins[last].before.number + 1 == number else None
        # After a merge, a file has more archives than follow each other: the place is in another text.
        if previous is None or previous.root[0] != file:
            previous = _Lineage((file, origin.before), (), ())
        pieces = [_Piece(part, -origin.removed, origin.removed + len(part.body), origin.at)]
        for before in reversed(previous.archives):
            place = origins[before.id]
            pieces = _shifted(pieces, place.at, place.removed + len(before.body))
        own = (_without_removed(piece) for piece in pieces)
        kept = tuple(piece for piece in own if piece.size)
        found[part.id] = _Lineage(previous.root, (*previous.archives, part), (*previous.pieces, *kept))
    return found


def _shifted(pieces: Sequence[_Piece], at: int, size: int) -> list[_Piece]:
    """Returns pieces in the text that has so many bytes more at a place. One that this is in the middle of is cut."""
    found = []
    for piece in pieces:
        first = min(max(0, at - piece.start), piece.size)
        if first:
            found.append(piece._replace(size=first))
        if first < piece.size:
            found.append(_Piece(piece.part, piece.offset + first, piece.size - first, max(at, piece.start) + size))
    return found


def _without_removed(piece: _Piece) -> _Piece:
    """Returns a piece without the bytes that are no longer in its archive, since another one has them."""
    gone = min(max(0, -piece.offset), piece.size)
    return _Piece(piece.part, piece.offset + gone, piece.size - gone, piece.start + gone)


def _repeated(own: _Lineage, other: _Lineage, known: Collection[str | None]) -> int:
    """Returns how many bytes at the start of the last archive of a lineage another has: all, or whole entries.

    Only what is equal from where both begin counts: where two branches differ, what follows is of each alone.
    """
    part = own.archives[-1]
    pieces = [piece for piece in own.pieces if piece.part is part]
    at = pieces[0].start if pieces else 0
    others = _run([piece for piece in other.pieces if piece.part.id in known], at) if pieces else []
    if not others:
        return 0  # as always where nothing was merged: an archive follows those before it
    mine = _run(own.pieces, at)
    start = max(mine[0].start, others[0].start)
    one, two = _content(mine, start, pieces[-1].end), _content(others, start)
    wanted = one.rstrip(b"\r\n")  # line ends at its end may have been added
    if mine[-1].end >= pieces[-1].end and two.startswith(wanted) and two[len(wanted) :][:1] in (b"", b"\r", b"\n"):
        return len(part.body)
    same = _same(one, two)
    counts = (start + same - piece.start for piece in pieces)  # bytes of each piece that are the same
    size = sum(min(max(0, count), piece.size) for count, piece in zip(counts, pieces, strict=True))
    return max((border for border in _borders(part, two, same) if border <= size), default=0)


def _run(pieces: Sequence[_Piece], at: int) -> list[_Piece]:
    """Returns the pieces that follow each other without a gap in the text, and have this byte of it."""
    if not any(piece.start <= at < piece.end for piece in pieces):
        return []
    found: list[_Piece] = []
    for piece in sorted(pieces, key=lambda piece: piece.start):
        if found and found[-1].end != piece.start:
            if found[-1].end > at:
                break
            found = []
        found.append(piece)
    return found


def _content(run: Sequence[_Piece], start: int, end: int | None = None) -> bytes:
    """Returns the content of pieces that follow each other, from one byte of the text to another."""
    first = run[0].start
    return b"".join(piece.content for piece in run)[start - first : None if end is None else end - first]


def _same(one: bytes, other: bytes) -> int:
    """Returns how many bytes two contents have in common at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _borders(part: SliceFile, other: bytes, same: int) -> list[int]:
    """Returns the bytes at which an entry begins: a line, a paragraph, or a section of the highest level.

    A section that both branches wrote to is divided at its paragraphs if what the other one has after them is the end
    of that section: what is left then follows it, below the same heading.
    """
    if part.body_type in _LINES:
        return [line.end() for line in re.finditer(rb"\n", part.body)]
    found, paragraphs = _sections(part, part.body), paragraph_ends(part.body.decode("latin-1"))
    if not found:
        return paragraphs
    highest = min(each.level for each in found)
    is_end = not any(each.start >= same for each in _sections(part, other))
    return [*(each.start for each in found if each.level == highest), *(paragraphs if is_end else ())]


def _sections(part: SliceFile, content: bytes) -> list[Section]:
    """Returns the sections below the headings of Markdown, with bytes as their places."""
    if part.body_type != "markdown":
        return []
    return [each for each in sections(content.decode("latin-1")) if each.level]


def _rest(part: SliceFile, repeated: int) -> SliceFile:
    """Returns an archive without its start, which others have. It says so: those after it still have their places."""
    rest = part.body[repeated:]
    origin = origin_of(part).without_start(repeated, len(rest))
    return set_key(part.with_body(rest), "slice.taken_from", str(origin))
