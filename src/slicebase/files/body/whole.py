"""A file and the parts that overflow created for it, as one object: its content, hash and version (rulings 24 and 32).

The hash of a file with parts is the digest of its content as if it had never been divided. So neither a split nor an
archive makes a derived file stale, and everything that is written to any of the parts does.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.files.body.overflow import (
    Place,
    WithParts,
    arranged,
    ordered,
    parts_of,
    places_of,
    places_text,
    whole_of,
)
from slicebase.files.body.rows import read_rows
from slicebase.files.body.text import append_lines, paragraph_gap
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key

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
    parts = named_parts(file, load) if file.kind != "pointer" else []
    nodes = arranged(file, (part for part in parts if part.body_type == file.body_type))
    if len(nodes) == 1:
        return file.hash
    body = b"".join(piece.data for piece in _pieces(nodes))
    repeated = repeated_rows([node.file for node in nodes]) if file.body_type == "jsonl" else set()
    return digest(_once(body, repeated))


class BodyPiece(NamedTuple):
    """A piece of the body of a file that has parts: its bytes, the file that they are in, and where."""

    data: bytes
    file: SliceFile | None = None  # None between two files
    start: int = 0


def whole_pieces(file: SliceFile, load: Load) -> list[BodyPiece]:
    """Returns the bodies of a file and its parts in pieces that, joined, are the body as if it had never been divided.

    Archives are where their content was, and what continues the file follows it.
    """
    parts = named_parts(file, load)
    return _pieces(arranged(file, (part for part in parts if part.body_type == file.body_type)))


def _pieces(nodes: Sequence[WithParts]) -> list[BodyPiece]:
    bodies: dict[str | None, list[BodyPiece]] = {}
    has_paragraphs = nodes[0].file.body_type in _PARAGRAPHS
    for node in reversed(nodes):  # parts come before the file that they belong to
        pieces = [BodyPiece(node.file.body, node.file)]
        for part in reversed(node.archives):  # the last that moved goes back first
            pieces = _put_back(pieces, places_of(part), bodies[part.id])
        for part in node.continued:
            pieces += _next_to(pieces, bodies[part.id], has_paragraphs)
        bodies[node.file.id] = pieces
    return bodies[nodes[0].file.id]


def _put_back(pieces: list[BodyPiece], places: Sequence[Place], content: list[BodyPiece]) -> list[BodyPiece]:
    chunks = []
    for at, size in places[:-1]:
        chunk, content = _cut(content, size)
        chunks.append((at, chunk))
    for at, chunk in reversed((*chunks, (places[-1].at, content))):
        before, after = _cut(pieces, at)
        pieces = [*before, *chunk, *after]
    return pieces


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


def _next_to(pieces: Sequence[BodyPiece], more: list[BodyPiece], has_paragraphs: bool) -> list[BodyPiece]:
    """Returns what continues a body, with the line ends before it that writing it there would have added."""
    if not any(piece.data for piece in more):
        return []
    before = next((piece.data for piece in reversed(pieces) if piece.data), b"")
    gap = paragraph_gap(before).encode() if has_paragraphs else append_lines(before, b"")[len(before) :]
    return [BodyPiece(gap), *more]


# Rows that are in two parts


def in_reading_order(files: Iterable[SliceFile]) -> list[SliceFile]:
    """Returns the files of a log in the order of their content, as far as overflow divided them; others by id."""
    left = {file.id: file for file in sorted(files, key=lambda file: (file.id or "", file.name))}
    found: list[SliceFile] = []
    for tops in ([file for file in left.values() if whole_of(file) not in left], [*left.values()]):
        for file in tops:
            if file.id in left:
                found += ordered(file, [*left.values()])
                left = {each: part for each, part in left.items() if part not in found}
    return found


def repeated_rows(files: Iterable[SliceFile]) -> set[bytes]:
    """Returns the lines of rows that are in several files of a log, with the same bytes.

    Two branches that archive the same rows leave them in two parts. They are read as one row.
    """
    known: set[bytes] = set()
    several: set[bytes] = set()
    for file in files:
        lines = {line.removesuffix(b"\r") for line in file.body.split(b"\n")}
        several |= known & lines
        known |= lines
    return {row.line.raw for row in read_rows(b"\n".join(several)).rows} if several else set()


def without_repeated(files: Sequence[SliceFile]) -> list[tuple[SliceFile, SliceFile]]:
    """Returns the files of a log in which rows are repeated, each with its new version: the first row stays."""
    repeated, known = repeated_rows(files), set[bytes]()
    changes = []
    for file in files:
        own = {line.removesuffix(b"\r") for line in file.body.split(b"\n")} & repeated
        if own & known:
            changes.append((file, _without(file, own & known)))
        known |= own
    return changes


def _without(file: SliceFile, rows: set[bytes]) -> SliceFile:
    """Returns a file without these rows. An archive still says where the others were in its file."""

    def kept(content: bytes) -> bytes:
        return b"\n".join(line for line in content.split(b"\n") if line.removesuffix(b"\r") not in rows)

    places, start = [], 0
    for at, size in places_of(file):
        places.append(Place(at, len(kept(file.body[start : start + size]))))
        start += size
    stated = places_text(places)
    smaller = file.with_body(kept(file.body))
    return set_key(smaller, "slice.taken_from", stated) if stated else smaller


def _once(body: bytes, rows: set[bytes]) -> bytes:
    """Returns a body in which each of these rows is only where it is first."""
    if not rows:
        return body
    seen: set[bytes] = set()
    lines = []
    for line in body.split(b"\n"):
        raw = line.removesuffix(b"\r")
        if raw not in seen:
            lines.append(line)
        seen |= {raw} & rows
    return b"\n".join(lines)


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
