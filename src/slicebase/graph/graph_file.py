"""Graph files: `{"turns": […], "edges": […]}`, with the eleven fields of §6.1 for each turn and optionally its content.

A file is read completely or not at all: the first value that does not fit raises an error with its place, which is its
path, line and column (ruling 14). Fields that the format does not know are ignored.

Text without errors is read by msgspec's decoder alone. Only when the decoder refuses a text, the text is read again to
find the place. Turns are read column by column, so that a long file takes microseconds for each turn.
"""

import json
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise, repeat
from json.encoder import encode_basestring as _quoted
from math import inf, isinf
from typing import Annotated, Final, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, to_builtins

from slicebase.core.hashing import LARGEST_INTEGER, canonical, digest
from slicebase.core.ids import uuid_text
from slicebase.core.times import EARLIEST, LATEST
from slicebase.errors import SlicebaseError, Where
from slicebase.graph.turn import GIVEN, Annotation, Edge, EdgeType, Parent, Part, Phase, Role, Turn

# JSON text to typed values

JsonStep = str | int
JsonPath = tuple[JsonStep, ...]
_T = TypeVar("_T")

BOM: Final = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\n\r]*")
_MALFORMED = re.compile(r"(?:JSON is malformed: )?(.*?)(?: \(byte (\d+)\))?", re.DOTALL)
_MISFIT = re.compile(r"(.*?)(?: - at `\$(.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
# Our codes for msgspec's messages: the first pattern that a message contains counts.
_CODES: Final = (
    ("missing required field", "missing-field"),
    ("contains unknown field", "unknown-field"),
    ("Invalid enum value", "unknown-value"),
    ("Number out of range", "not-finite"),
    ("<=", "out-of-range"),
    (">=", "out-of-range"),
    ("", "wrong-type"),
)


def decode(data: bytes, decoder: msgspec.json.Decoder[_T]) -> _T:
    """Returns bytes as a typed value, or raises our own error with its place. Ignores a byte order mark."""
    data = data.removeprefix(BOM)
    try:
        if not data.isascii():
            str(data, "utf-8")  # msgspec does not check fields that it ignores
        return decoder.decode(data)
    except UnicodeDecodeError as error:
        raise SlicebaseError(
            "bad-json", f"the text is not UTF-8: {error.reason}", where=_where(data, error.start)
        ) from None
    except msgspec.ValidationError as error:
        raise _misfit(data, str(error)) from None
    except msgspec.DecodeError as error:
        raise _malformed(data, str(error)) from None
    except RecursionError:
        raise SlicebaseError("bad-json", "the text is nested too deeply") from None


def error_at(data: bytes, code: str, path: JsonPath, problem: str, hint: str = "") -> SlicebaseError:
    """Returns an error about the value at a path of a text that has been decoded."""
    data = data.removeprefix(BOM)
    where = _where(data, offset) if (offset := _offset(data, path)) is not None else Where()
    return SlicebaseError(code, f"{path_text(path)}: {problem}", hint=hint, where=where)


def path_text(path: JsonPath) -> str:
    """Returns a path as text, such as `turns[0].id`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".") or "the document"


def _malformed(data: bytes, words: str) -> SlicebaseError:
    match = _MALFORMED.fullmatch(words)
    problem, offset = (match[1], match[2]) if match else (words, None)
    place = int(offset) if offset is not None else len(data)
    code = "lone-surrogate" if "surrogate" in problem else "bad-json"
    return SlicebaseError(code, f"the text is not JSON: {problem}", where=_where(data, place))


def _misfit(data: bytes, words: str) -> SlicebaseError:
    match = _MISFIT.fullmatch(words)
    problem, place = (match[1], match[2] or "") if match else (words, "")
    path = tuple(int(step[2]) if step[2] else step[1] for step in _STEP.finditer(place))
    code = next(code for sign, code in _CODES if sign in problem)
    return error_at(data, code, path, problem.replace("`", ""))


def _where(data: bytes, offset: int) -> Where:
    """Returns the line and the column, in characters, of a byte."""
    start = data.rfind(b"\n", 0, offset) + 1
    return Where(None, data.count(b"\n", 0, offset) + 1, len(data[start:offset].decode("utf-8", "replace")) + 1)


def _offset(data: bytes, path: JsonPath) -> int | None:
    """Returns the byte at which the value at this path begins."""
    text = data.decode("utf-8", "replace")
    try:
        at = _after_space(text, 0)
        for step in path:
            at = _member(text, at, step)
    except (ValueError, IndexError, RecursionError):
        return None  # there is no value at this path
    return len(text[:at].encode())


_scan = json.JSONDecoder(strict=False).raw_decode


def _member(text: str, at: int, wanted: JsonStep) -> int:
    """Returns where the wanted member of the object or array at this position begins."""
    in_object = text[at] == "{"
    at = _after_space(text, at + 1)
    position = 0
    while True:
        key: JsonStep = position
        if in_object:
            key, at = _scan(text, at)
            at = _after_space(text, _after_space(text, at) + 1)  # past the colon
        if key == wanted:
            return at
        _, at = _scan(text, at)
        at = _after_space(text, _after_space(text, at) + 1)  # past the comma
        position += 1


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


# Graph files

LOWER_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_Share = Annotated[float, Meta(ge=0, le=1)]
_Count = Annotated[int, Meta(ge=0, le=LARGEST_INTEGER)]
_Seconds = Annotated[int, Meta(ge=-(-EARLIEST // 1000), le=LATEST // 1000)]


class TurnFields(Struct, gc=False):
    """A turn as a graph file states it."""

    id: str
    session_id: Annotated[str, Meta(min_length=1)]
    role: Role
    phase: Phase
    salience: _Share
    trajectory_depth: _Count
    trajectory_sibling_order: _Count
    trajectory_homogeneity: _Share
    trajectory_temporal: _Share
    trajectory_complexity: float
    created_at: _Seconds
    content: str | tuple[Part, ...] | UnsetType = UNSET


class EdgeFields(Struct, gc=False):
    """An `Edge` that may have fields that we do not know."""

    parent: str
    child: str
    edge_type: EdgeType


class _File(Struct):
    turns: list[TurnFields]
    edges: list[EdgeFields]


class OutsideEdge(NamedTuple):
    """An edge with an end that is not in the file. Only the database shows whether that turn exists."""

    place: str
    edge: Edge


class GraphFile(NamedTuple):
    """The contents of a graph file. A turn's `parents` come from all edges that lead to it, of all three kinds."""

    turns: tuple[Turn, ...]
    annotations: tuple[Annotation, ...]  # parallel to `turns`
    edges: tuple[Edge, ...]  # within a session
    continues: tuple[Edge, ...]  # between two sessions (ruling 13)
    outside: tuple[OutsideEdge, ...]


_decoder = msgspec.json.Decoder(_File)


def read_graph(data: bytes) -> GraphFile:
    """Reads a graph file. Raises an error with the place of the first value that does not fit."""
    file = decode(data, _decoder)
    positions = _positions(data, file.turns)
    edges, outside = _edges(data, file.edges, positions)
    if any(positions.get(edge.parent, -1) >= positions.get(edge.child, -1) for edge in edges):
        # Most files list every parent before its child; they need no search for cycles.
        _refuse_cycles(data, edges)
    parents: dict[str, list[Parent]] = defaultdict(list)
    for edge in edges:
        parents[edge.child].append(Parent(edge.parent, edge.edge_type))
    turns = [
        turn_from(data, place, turn_id, record, parents.get(turn_id, ()))
        for (turn_id, place), record in zip(positions.items(), file.turns, strict=True)
    ]
    inside = dict.fromkeys(edges)  # the same edge twice is one (ruling 12); the order is the file's
    for _, edge in outside:
        inside.pop(edge, None)
    continues = _between_sessions(inside, {turn.id: turn.session for turn in turns})
    for edge in continues:
        del inside[edge]
    return GraphFile(tuple(turns), given_annotations(data, turns, file.turns), tuple(inside), continues, outside)


def _positions(data: bytes, records: Sequence[TurnFields]) -> dict[str, int]:
    """Returns the ids of the turns, in lower case, with their positions in the file."""
    ids = [record.id for record in records]
    if not all(map(LOWER_UUID.fullmatch, ids)):
        ids = [_uuid(data, ("turns", place, "id"), text) for place, text in enumerate(ids)]
    positions: dict[str, int] = {}
    for place, turn_id in enumerate(ids):
        if positions.setdefault(turn_id, place) != place:
            problem = f"{turn_id} is already the id of turns[{positions[turn_id]}]"
            raise error_at(data, "duplicate-turn", ("turns", place, "id"), problem)
    return positions


def _edges(
    data: bytes, records: Sequence[EdgeFields], positions: Mapping[str, int]
) -> tuple[list[Edge], tuple[OutsideEdge, ...]]:
    """Returns the edges, with ids in lower case, and those of them that have an end that is not in the file."""
    edges, outside = [], []
    for place, record in enumerate(records):
        parent, child = record.parent, record.child
        if parent not in positions or child not in positions:
            parent = _uuid(data, ("edges", place, "parent"), parent)
            child = _uuid(data, ("edges", place, "child"), child)
        edge = Edge(parent, child, record.edge_type)
        edges.append(edge)
        if parent not in positions or child not in positions:
            outside.append(OutsideEdge(f"edges[{place}]", edge))
    return edges, tuple(outside)


def _uuid(data: bytes, path: JsonPath, text: str) -> str:
    try:
        return uuid_text(text)
    except SlicebaseError as error:
        raise error_at(data, error.code, path, error.message, error.hint) from None


def _refuse_cycles(data: bytes, edges: Sequence[Edge]) -> None:
    parents: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        parents[edge.child].add(edge.parent)
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        cycle = set(pairwise(error.args[1]))
        place = max(place for place, edge in enumerate(edges) if (edge.parent, edge.child) in cycle)
        problem = f"the edge makes {edges[place].parent} its own ancestor, through {len(cycle)} edges"
        raise error_at(data, "cycle", ("edges", place), problem) from None


def _between_sessions(edges: Iterable[Edge], sessions: Mapping[str, str]) -> tuple[Edge, ...]:
    if len(set(sessions.values())) < 2:
        return ()
    return tuple(edge for edge in edges if sessions[edge.parent] != sessions[edge.child])


def turn_from(data: bytes, place: int, turn_id: str, record: TurnFields, given: Sequence[Parent]) -> Turn:
    """Returns the turn of a record.

    Its source hash covers everything that the file says about it, except the session, which changes in copies, and the
    annotation, which is stored separately (docs/decisions/graph-files.md).
    """
    parents = tuple(given) if len(given) < 2 else tuple(sorted(set(given)))
    parts, content = _content(data, place, record.content) if record.content is not UNSET else ((), "")
    edges = ",".join([f'["{parent.id}","{parent.type}"]' for parent in parents])
    source = (
        f'{{{content}"created_at":{record.created_at},"id":"{turn_id}","parents":[{edges}],"role":"{record.role}"}}'
    )
    source_hash = digest(source.encode())
    return Turn(turn_id, record.session_id, record.role, parts, record.created_at * 1000, parents, source_hash)


def _content(data: bytes, place: int, content: str | tuple[Part, ...]) -> tuple[tuple[Part, ...], str]:
    """Returns the parts, and the member of the canonical source that holds the content."""
    if isinstance(content, str):
        return (Part("text", text=content),), f'"content":{_quoted(content)},'
    try:
        return content, f'"content":{canonical(to_builtins(content)).decode()},'
    except SlicebaseError as error:
        raise error_at(data, error.code, ("turns", place, "content"), error.message, error.hint) from None


def given_annotations(data: bytes, turns: Sequence[Turn], records: Sequence[TurnFields]) -> tuple[Annotation, ...]:
    """Returns the annotations that the file gives (ruling 17). An array of C floats rounds its numbers to binary32."""
    complexity = array("f", [record.trajectory_complexity for record in records])
    if inf in complexity or -inf in complexity:
        place = next(place for place, number in enumerate(complexity) if isinf(number))
        path = ("turns", place, "trajectory_complexity")
        raise error_at(data, "not-finite", path, "the number is too large for binary32")
    salience = array("f", [record.salience for record in records])
    homogeneity = array("f", [record.trajectory_homogeneity for record in records])
    temporal = array("f", [record.trajectory_temporal for record in records])
    return tuple(
        map(
            Annotation,
            [turn.id for turn in turns],
            repeat(GIVEN),
            [record.phase for record in records],
            salience,
            [record.trajectory_depth for record in records],
            [record.trajectory_sibling_order for record in records],
            homogeneity,
            temporal,
            complexity,
        )
    )
