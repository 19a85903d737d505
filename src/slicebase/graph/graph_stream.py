"""Large graph files: they are read twice, in pieces, so that memory holds only ids and edges.

The first time gives the outline: which turns there are, in which sessions, and the edges between them. The second time
gives the turns with their parents, one piece after the other. `slicebase.graph.graph_file` reads the same from a text
in memory. A file that the two could read differently, or that has an error, is an `UnusualFileError` here: that module
reads it, and finds the place of the error.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from slicebase.core.ids import uuid_of, uuid_text
from slicebase.errors import SlicebaseError
from slicebase.graph.compact import EDGE_BITS
from slicebase.graph.graph_file import (
    LOWER_UUID,
    EdgeFields,
    OutsideEdge,
    TurnFields,
    given_annotations,
    turn_from,
)
from slicebase.graph.json_pieces import UnusualFileError, array_pieces
from slicebase.graph.turn import Annotation, Edge, EdgeType, Parent, Turn

if TYPE_CHECKING:
    from hashlib import _Hash

_DECODERS: Final[Mapping[str, msgspec.json.Decoder[list[Any]]]] = {
    "turns": msgspec.json.Decoder(list[TurnFields]),
    "edges": msgspec.json.Decoder(list[EdgeFields]),
}


# The outline of a file


class Outline:
    """The turns of a file by their positions, and the edges between them.

    It takes about 170 bytes for a turn with one parent: most of them for the dictionary of ids.
    """

    def __init__(self) -> None:
        self.positions: dict[bytes, int] = {}
        self.ids = bytearray()  # sixteen bytes for each turn
        self.sessions: list[str] = []  # in the order in which they begin
        self.session_of = array("I")  # the position of a turn's session in `sessions`
        self.edges = array("Q")  # those between turns of the file: child, parent and type in one number, sorted
        self.above: dict[int, list[Parent]] = {}  # the parents of a turn that are not in the file
        self.outside: tuple[OutsideEdge, ...] = ()
        self.digest = ""  # of the bytes of the file

    def __len__(self) -> int:
        return len(self.session_of)

    def id_of(self, place: int) -> str:
        """Returns the id of the turn at a position."""
        return uuid_of(bytes(self.ids[16 * place : 16 * place + 16]))

    def leads_ahead(self) -> bool:
        """Returns whether a turn has a parent in a session that begins after its own."""
        session_of = self.session_of
        if len(self.sessions) < 2:
            return False
        return any(session_of[edge >> 2 & _PARENT] > session_of[edge >> 32] for edge in self.edges)


# An edge as a number: 32 bits for the child, 30 for the parent, 2 for the type, in the order of the names of the types.
_TYPES: Final[tuple[EdgeType, ...]] = tuple(sorted(EDGE_BITS, key=EDGE_BITS.__getitem__))
_TYPE_NUMBERS: Final[Mapping[str, int]] = {name: number for number, name in enumerate(_TYPES)}
_PARENT: Final = (1 << 30) - 1
_NOT_HERE: Final = -1


def outline(chunks: Iterable[bytes]) -> Outline:
    """Reads a file for the first time. Raises `UnusualFileError` where it has an error, or cannot be read in pieces."""
    found, hashed = Outline(), sha256()
    ends, types = bytearray(), bytearray()
    numbers: dict[str, int] = {}
    for key, records in array_pieces(_hashed(chunks, hashed), _DECODERS):
        if key == "turns":
            ids = _raw_ids([record.id for record in records])
            found.positions.update(zip(_split(ids), count(len(found)), strict=False))
            found.ids += ids
            found.session_of.extend([numbers.setdefault(record.session_id, len(numbers)) for record in records])
            _annotations((), records)  # now, before anything is stored
        else:
            ends += _raw_ids([end for record in records for end in (record.parent, record.child)])
            types += bytes([_TYPE_NUMBERS[record.edge_type] for record in records])
    if len(found.positions) != len(found) or len(found) > _PARENT:
        raise UnusualFileError  # a turn is there twice, or there are too many
    found.sessions, found.digest = list(numbers), hashed.hexdigest()
    _keep_edges(found, ends, types)
    _refuse_cycles(found)
    return found


def _hashed(chunks: Iterable[bytes], hashed: "_Hash") -> Iterator[bytes]:
    for chunk in chunks:
        hashed.update(chunk)
        yield chunk


def _raw_ids(texts: list[str]) -> bytes:
    """Returns the bytes of UUIDs, one after the other."""
    if not all(map(LOWER_UUID.fullmatch, texts)):
        try:
            texts = [uuid_text(text) for text in texts]
        except SlicebaseError:
            raise UnusualFileError from None
    return bytes.fromhex("".join(texts).replace("-", ""))


def _split(ids: bytes | bytearray) -> Iterator[bytes]:
    whole = bytes(ids)
    return (whole[at : at + 16] for at in range(0, len(whole), 16))


def _keep_edges(found: Outline, ends: bytearray, types: bytearray) -> None:
    get = found.positions.get
    places = array("i", [get(end, _NOT_HERE) for end in _split(ends)])
    parents, children = places[::2], places[1::2]
    numbers = [
        child << 32 | parent << 2 | kind
        for parent, child, kind in zip(parents, children, types, strict=True)
        if parent >= 0 and child >= 0
    ]
    numbers.sort()
    found.edges = array("Q", [number for number, _ in groupby(numbers)])  # the same edge twice is one (ruling 12)
    if _NOT_HERE not in places:
        return
    outside = []
    for place, (parent, child) in enumerate(zip(parents, children, strict=True)):
        if parent < 0 or child < 0:
            above, below = map(uuid_of, _split(ends[32 * place : 32 * place + 32]))
            edge = Edge(above, below, _TYPES[types[place]])
            outside.append(OutsideEdge(f"edges[{place}]", edge))
            if child >= 0:
                found.above.setdefault(child, []).append(Parent(above, edge.edge_type))
    found.outside = tuple(outside)


def _refuse_cycles(found: Outline) -> None:
    """Refuses edges that close a cycle. Files that list every parent before its child need no search."""
    if all(edge >> 2 & _PARENT < edge >> 32 for edge in found.edges):
        return
    children = array("I", bytes(4 * len(found)))  # how many children of a turn are left
    for edge in found.edges:
        children[edge >> 2 & _PARENT] += 1
    free = [place for place, number in enumerate(children) if not number]
    for place in free:  # which grows
        for edge in _edges_to(found, place):
            above = edge >> 2 & _PARENT
            children[above] -= 1
            if not children[above]:
                free.append(above)
    if len(free) < len(found):
        raise UnusualFileError


def _edges_to(found: Outline, child: int) -> "array[int]":
    return found.edges[bisect_left(found.edges, child << 32) : bisect_left(found.edges, (child + 1) << 32)]


# The turns of a file


class GivenTurn(NamedTuple):
    """A turn of a file, by its position, with the annotation that the file gives."""

    place: int
    turn: Turn
    annotation: Annotation


def turns_of(chunks: Iterable[bytes], found: Outline) -> Iterator[list[GivenTurn]]:
    """Reads a file again, and yields its turns, one piece after the other.

    Raises `UnusualFileError` where a turn has an error, and where the file is not the one that the outline is of.
    """
    hashed = sha256()
    place = next_edge = 0
    for key, records in array_pieces(_hashed(chunks, hashed), _DECODERS):
        if key != "turns":
            continue
        turns = []
        for record in records:
            if place == len(found):
                raise UnusualFileError
            first = next_edge
            while next_edge < len(found.edges) and found.edges[next_edge] >> 32 == place:
                next_edge += 1
            parents = _parents(found, place, found.edges[first:next_edge])
            turns.append(_turn(record.id.lower(), record, parents))
            place += 1
        yield list(map(GivenTurn, count(place - len(turns)), turns, _annotations(turns, records)))
    if hashed.hexdigest() != found.digest:
        raise UnusualFileError


def _parents(found: Outline, place: int, edges: "array[int]") -> list[Parent]:
    parents = [Parent(found.id_of(edge >> 2 & _PARENT), _TYPES[edge & 3]) for edge in edges]
    return parents + found.above[place] if place in found.above else parents


def _turn(turn_id: str, record: TurnFields, parents: list[Parent]) -> Turn:
    try:
        return turn_from(b"", 0, turn_id, record, parents)
    except SlicebaseError:
        raise UnusualFileError from None


def _annotations(turns: Sequence[Turn], records: list[TurnFields]) -> tuple[Annotation, ...]:
    try:
        return given_annotations(b"", turns, records)
    except SlicebaseError:
        raise UnusualFileError from None
