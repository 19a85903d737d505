"""A file and the parts that overflow created for it, as one object: its content, hash and version (rulings 24 and 32).

The hash of a file with parts is the digest of its content as if it had never been divided. So neither a split nor an
archive makes a derived file stale, and everything that is written to any of the parts does.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.files.body.origin import Anchor, Origin, anchored, is_beside, origin_of
from slicebase.files.body.overflow import ARCHIVED, part_pairs, parts_of, whole_of
from slicebase.files.body.part_order import WithParts, arranged, each_ordered, ordered
from slicebase.files.body.repeated import Shortened, is_read, is_read_with, not_named, without_repeated
from slicebase.files.body.text import append_lines, paragraph_gap
from slicebase.files.links import reach
from slicebase.files.slice_file import SliceFile

Load = Callable[[str], SliceFile | None]  # returns the file with an id, None if it cannot be read


def named_parts(file: SliceFile, load: Load) -> list[SliceFile]:
    """Returns the parts that overflow created for a file, and theirs. Nothing is read for a file that names none.

    A part that its file does not name yet belongs to a write that is not finished, and does not count.
    """
    found: dict[str | None, SliceFile] = {file.id: file}
    waiting = parts_of(file)
    while waiting:
        part_id = waiting.pop()
        part = load(part_id) if part_id not in found else None
        if part:
            found[part_id] = part
            waiting += parts_of(part)
    return [part for part in found.values() if part is not file]


# The content

_PARAGRAPHS: Final = ("markdown", "text")


def whole_hash(file: SliceFile, load: Load) -> str | None:
    """Returns the hash that `derived_from.hash` is compared with, for a file with or without parts (ruling 24)."""
    nodes = _nodes(file, load, forgotten_last=False) if file.kind != "pointer" else []
    if len(nodes) < 2:
        return file.hash
    return digest(_joined(_pieces(nodes)))


def _nodes(file: SliceFile, load: Load, *, forgotten_last: bool) -> list[WithParts]:
    """Returns a file with its parts. What two of them have, as after a merge, is only in one.

    For readers, that is the one that is not forgotten. For the hash it does not matter which parts are forgotten:
    forgetting changes no content.
    """
    parts = [part for part in named_parts(file, load) if part.body_type == file.body_type]
    changed = dict(without_repeated(ordered(file, parts), forgotten_last=forgotten_last)) if parts else {}
    return arranged(changed.get(file, file), (changed.get(part, part) for part in parts))


class BodyPiece(NamedTuple):
    """A piece of the body of a file that has parts: its bytes, the file that they are in, and where."""

    data: bytes
    file: SliceFile | None = None  # None between two files
    start: int = 0


def whole_pieces(file: SliceFile, load: Load) -> list[BodyPiece]:
    """Returns the bodies of a file and its parts in pieces that, joined, are the body as if it had never been divided.

    Archives are where their content was, and what continues the file follows it. Forgotten parts are not read, but the
    others have their places among them: the line that says where an archive was may be in a forgotten one.
    """

    def is_shown(part: SliceFile) -> bool:
        return part.id == file.id or is_read_with(file, part)

    pieces = _pieces(_nodes(file, load, forgotten_last=True), is_shown)
    return [piece for piece in pieces if piece.file is None or is_shown(piece.file)]


def _pieces(nodes: Sequence[WithParts], is_shown: Callable[[SliceFile], bool] = lambda part: True) -> list[BodyPiece]:
    """Returns the pieces of all files. What is not shown has its place, and no line ends before it."""
    bodies: dict[str | None, list[BodyPiece]] = {}
    has_paragraphs = nodes[0].file.body_type in _PARAGRAPHS
    for node in reversed(nodes):  # parts come before the file that they belong to
        pieces = [BodyPiece(node.file.body, node.file)]
        for part, origin, rest in reversed(_origins(node)):  # the last that moved goes back first
            at = next((at for at, piece in enumerate(pieces) if piece.file is rest), None) if rest else None
            if at is None:
                pieces = _put_back(pieces, origin, bodies[part.id])
            else:
                pieces = [*pieces[:at], *bodies[part.id], *pieces[at:]]
        for part in node.continued:
            pieces += _next_to(pieces, bodies[part.id], has_paragraphs, is_shown)
        bodies[node.file.id] = pieces
    return bodies[nodes[0].file.id]


class _PartOrigin(NamedTuple):
    part: SliceFile
    origin: Origin
    rest: SliceFile | None  # what is left of an archive that another branch took from the same place: it follows


def _origins(node: WithParts) -> list[_PartOrigin]:
    """Returns the archives of a file, each with its place.

    The line that followed an archive moved to the next one. If that is gone, an equal line is another one, and newer.
    """
    archives = {part.id: part for part in node.archives}
    names = parts_of(node.file, ARCHIVED)
    last_gone = max((at for at, name in enumerate(names) if name not in archives), default=0)
    before_gone = {*names[:last_gone]}
    found: list[_PartOrigin] = []
    rests: dict[tuple[int, Anchor | None], SliceFile] = {}
    for part in reversed(node.archives):
        origin = origin_of(part)
        is_moved = part.id in before_gone and origin.anchor is not None and origin.anchor.side == "next"
        place = origin.at, origin.anchor
        found.append(_PartOrigin(part, origin._replace(anchor=None) if is_moved else origin, rests.get(place)))
        if origin.removed and part.body:
            rests[place] = part
    return found[::-1]


def _put_back(pieces: list[BodyPiece], origin: Origin, content: list[BodyPiece]) -> list[BodyPiece]:
    chunks = []
    for at, size in origin.places[:-1]:
        chunk, content = _cut_lines(content, size)
        chunks.append((at, chunk))
    for at, chunk in reversed((*chunks, (origin.places[-1].at, content))):
        before, after = _cut_beside(pieces, at, origin.anchor)
        pieces = [*before, *chunk, *after]
    return pieces


def _cut_beside(pieces: list[BodyPiece], at: int, anchor: Anchor | None) -> tuple[list[BodyPiece], list[BodyPiece]]:
    """Divides lines at a byte; if the line that was there is not, beside the nearest one that is the same."""
    before, after = _cut_lines(pieces, at)
    if anchor is None or is_beside(anchor, _joined(before), _two_lines(after)):
        return before, after
    found = anchored(_joined(pieces), anchor, at)
    return (before, after) if found is None else _cut(pieces, found)


def _two_lines(pieces: Sequence[BodyPiece]) -> bytes:
    """Returns the first pieces that have two lines with text together."""
    text = b""
    for piece in pieces:
        text += piece.data
        if b"\n" in text.strip():
            break
    return text


def _joined(pieces: Sequence[BodyPiece]) -> bytes:
    return b"".join(piece.data for piece in pieces)


def _cut(pieces: list[BodyPiece], at: int) -> tuple[list[BodyPiece], list[BodyPiece]]:
    """Divides pieces at a byte; at the end, if there are not so many."""
    if at == 0:
        return [], pieces
    for number, piece in enumerate(pieces):
        size = len(piece.data)
        if at < size:
            second = BodyPiece(piece.data[at:], piece.file, piece.start + at)
            return [*pieces[:number], piece._replace(data=piece.data[:at])], [second, *pieces[number + 1 :]]
        at -= size
    return pieces, []


def _cut_lines(pieces: list[BodyPiece], at: int) -> tuple[list[BodyPiece], list[BodyPiece]]:
    """Divides lines at a byte, or after the line that it is in: after a merge or an edit, it is of another body."""
    before, after = _cut(pieces, at)
    last = next((piece.data for piece in reversed(before) if piece.data), b"\n")
    if last.endswith(b"\n"):
        return before, after
    rest = _joined(after)
    return _cut(pieces, sum(len(piece.data) for piece in before) + (rest.find(b"\n") + 1 or len(rest)))


def _next_to(
    pieces: Sequence[BodyPiece], more: list[BodyPiece], has_paragraphs: bool, is_shown: Callable[[SliceFile], bool]
) -> list[BodyPiece]:
    """Returns what continues a body, with the line ends before it that writing it there would have added."""

    def is_there(piece: BodyPiece) -> bool:
        return bool(piece.data) and (piece.file is None or is_shown(piece.file))

    if not any(map(is_there, more)):
        return [piece for piece in more if piece.data]
    before = next((piece.data for piece in reversed(pieces) if is_there(piece)), b"")
    gap = paragraph_gap(before).encode() if has_paragraphs else append_lines(before, b"")[len(before) :]
    return [BodyPiece(gap), *more]


# The order


def in_reading_order(files: Iterable[SliceFile]) -> list[SliceFile]:
    """Returns the files of a log in the order of their content, as far as overflow divided them; others by id."""
    known = {file.id: file for file in sorted(files, key=lambda file: (file.id or "", file.name))}
    tops = [file for file in known.values() if whole_of(file) not in known]
    return [part for each in each_ordered(known, (*tops, *known.values())) for part in each]


def repairs(files: Iterable[SliceFile]) -> Shortened:
    """Returns the files that repeat content of other files of the same object, each with its version without it.

    Files that people joined are left alone, and so are forgotten ones: they are restored as they were. While an archive
    that is no log is forgotten, the others keep what it has, too. A part that its file does not name does not count.
    """
    known = {file.id: file for file in files}
    joined: dict[str, list[str]] = {}
    for file in known.values():
        for one, other in part_pairs(file):
            joined.setdefault(one, []).append(other)
            joined.setdefault(other, []).append(one)
    done: set[str] = set()
    found: Shortened = []
    for start in sorted(joined):
        if start not in done:
            whole = reach(joined, [start])
            done |= whole
            members = in_reading_order(known[name] for name in whole if name in known)
            loose = {file.name for file in not_named(members)}
            members = [file for file in members if file.name not in loose]
            read = [file for file in members if is_read(file)]
            if len(read) == len(members) or all(file.body_type == "jsonl" for file in members):
                found += without_repeated(read)
    return found


# The version


ReadBytes = Callable[[str], bytes | None]  # returns the bytes of the file with an id, None if there is none


def object_version(file: SliceFile, read: ReadBytes) -> str:
    """Returns the version that a write is based on: of the file, or of all files of its object (ruling 24).

    The object is the file that was divided, with all parts that it names. Its version is the same whichever of the
    files is named, and changes when any of them does. Of a part, only what names further parts is parsed.
    """
    top, above = file, {file.id}
    while (whole_id := whole_of(top)) and whole_id not in above and (whole := _parsed(read(whole_id))):
        top = whole
        above.add(top.id)
    digests = {top.id: top.digest, file.id: file.digest}
    waiting = [*parts_of(top), *parts_of(file)]
    while waiting:
        part_id = waiting.pop()
        data = read(part_id) if part_id not in digests else None
        if data is not None:
            digests[part_id] = digest(data)
            part = _parsed(data) if b"has_part" in data else None
            waiting += parts_of(part) if part else ()
    if len(digests) == 1:
        return file.digest
    return digest("\n".join(sorted(f"{name} {found}" for name, found in digests.items())).encode())


def _parsed(data: bytes | None) -> SliceFile | None:
    try:
        return SliceFile.parse(data) if data is not None else None
    except SlicebaseError:
        return None
