"""Context slices and SliceExport, their canonical bytes: writing, reading, checking, comparing, drawing (§6, §11).

The bytes and the fingerprint follow rulings 3 and 4.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from json.encoder import encode_basestring as _quoted
from math import isfinite
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict, astuple, replace

from slicebase.core.hashing import LARGEST_INTEGER, digest, lone_surrogate, xxh64
from slicebase.core.ids import is_uuid
from slicebase.core.times import whole_seconds
from slicebase.graph.binary32 import binary32, shortest
from slicebase.graph.graph_file import JsonPath, decode, error_at
from slicebase.graph.policy import POLICY_ID, SlicePolicyV1
from slicebase.graph.turn import Annotation, Edge, EdgeType, Phase, Role, Turn

# Values

SCHEMA_VERSION: Final = "1.0.0"
FRACTIONS: Final = ("salience", "trajectory_homogeneity", "trajectory_temporal", "trajectory_complexity")

_Integer = Annotated[int, Meta(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]


class ExportedTurn(Struct, frozen=True, forbid_unknown_fields=True):
    """A turn in an export: the eleven fields of §6.1 in its order. Fractions are binary32 numbers."""

    id: str
    session_id: str
    role: Role
    phase: Phase
    salience: float
    trajectory_depth: _Integer
    trajectory_sibling_order: _Integer
    trajectory_homogeneity: float
    trajectory_temporal: float
    trajectory_complexity: float
    created_at: _Integer


class SliceExport(Struct, frozen=True, forbid_unknown_fields=True):
    """The object of §6.1 as its bytes state it. Reading one checks its form; `checklist` checks its contents."""

    anchor_turn_id: str
    turns: tuple[ExportedTurn, ...]
    edges: tuple[Edge, ...]
    policy_id: str
    policy_params_hash: str
    schema_version: str
    slice_id: str

    @property
    def basis(self) -> "Basis":
        """The policy and the schema version that the export names."""
        return Basis(self.policy_params_hash, self.policy_id, self.schema_version)

    @property
    def fingerprint(self) -> str:
        """The slice_id that follows from the other fields."""
        ids = sorted(turn.id for turn in self.turns)
        edges = [edge_json(*astuple(edge)) for edge in sorted(self.edges)]
        return slice_id(self.anchor_turn_id, ids, edges, self.basis)

    def to_bytes(self) -> bytes:
        """Returns the canonical bytes of the export."""
        turns = [exported_json(turn) for turn in self.turns]
        edges = [edge_json(*astuple(edge)) for edge in self.edges]
        return export_bytes(self.anchor_turn_id, turns, edges, self.basis, self.slice_id)


class Basis(NamedTuple):
    """The policy and the schema version of a selection."""

    policy_params_hash: str
    policy_id: str = POLICY_ID
    schema_version: str = SCHEMA_VERSION


class ContextSlice(Struct, frozen=True):
    """A selection around an anchor: named by slice_id, proven by export_hash (ruling 3).

    The export has no field for the annotators, so they are kept next to it (ruling 17): sorted, usually one.
    """

    anchor_turn_id: str
    policy_params_hash: str
    slice_id: str
    export: bytes
    annotators: tuple[str, ...]

    @classmethod
    def of(
        cls,
        anchor: str,
        turns: Iterable[ExportedTurn],
        edges: Iterable[Edge],
        params_hash: str,
        annotators: Iterable[str],
    ) -> "ContextSlice":
        """Creates the context slice of a selection. Sorts turns by id, edges by parent, child and type (§6.2)."""
        by_id = sorted(turns, key=lambda turn: turn.id)
        edge_texts = [edge_json(*astuple(edge)) for edge in sorted(set(edges))]
        basis = Basis(params_hash)
        name = slice_id(anchor, [turn.id for turn in by_id], edge_texts, basis)
        data = export_bytes(anchor, [exported_json(turn) for turn in by_id], edge_texts, basis, name)
        return cls(anchor, params_hash, name, data, tuple(sorted(set(annotators))))

    @property
    def id(self) -> str:
        """The id of the slice."""
        return self.slice_id

    @property
    def export_hash(self) -> str:
        """The digest of the export's bytes."""
        return digest(self.export)

    def __repr__(self) -> str:
        return f"ContextSlice(id={self.id!r}, anchor='turn:{self.anchor_turn_id}', bytes={len(self.export)})"

    @property
    def contents(self) -> SliceExport:
        """The export, read from its bytes."""
        return read_export(self.export)


def exported(turn: Turn, annotation: Annotation) -> ExportedTurn:
    """Returns a turn and its annotation in the form of §6.1."""
    return ExportedTurn(
        id=turn.id,
        session_id=turn.session,
        role=turn.role,
        phase=annotation.phase,
        salience=annotation.salience,
        trajectory_depth=annotation.depth,
        trajectory_sibling_order=annotation.sibling_order,
        trajectory_homogeneity=annotation.homogeneity,
        trajectory_temporal=annotation.temporal,
        trajectory_complexity=annotation.complexity,
        created_at=whole_seconds(turn.time),
    )


# Writing: the texts that an export consists of. Ids and edge types need no escapes.


def head_json(session_id: str, role: str, phase: str) -> str:
    """Returns the text between a turn's id and its numbers, which is the same for many turns of a session."""
    return f'","session_id":{_quoted(session_id)},"role":"{role}","phase":"{phase}","salience":'


def turn_json(
    turn_id: str,
    head: str,
    salience: float,
    depth: int,
    sibling_order: int,
    homogeneity: float,
    temporal: float,
    complexity: float,
    created_at: int,
) -> str:
    """Returns the JSON object of a turn. `head` comes from `head_json`."""
    return (
        f'{{"id":"{turn_id}{head}{shortest(salience)},"trajectory_depth":{depth},'
        f'"trajectory_sibling_order":{sibling_order},"trajectory_homogeneity":{shortest(homogeneity)},'
        f'"trajectory_temporal":{shortest(temporal)},"trajectory_complexity":{shortest(complexity)},'
        f'"created_at":{created_at}}}'
    )


def exported_json(turn: ExportedTurn) -> str:
    """Returns the JSON object of a turn."""
    turn_id, session_id, role, phase, *numbers = astuple(turn)
    return turn_json(turn_id, head_json(session_id, role, phase), *numbers)


def edge_json(parent: str, child: str, edge_type: str) -> str:
    """Returns the JSON object of an edge."""
    return f'{{"parent":"{parent}","child":"{child}","edge_type":"{edge_type}"}}'


def slice_id(anchor: str, turn_ids: Iterable[str], edges: Iterable[str], basis: Basis) -> str:
    """Returns the slice_id of §6.3, a hash over the bytes of ruling 3. The caller sorts ids and edges."""
    ids = ",".join([f'"{turn_id}"' for turn_id in turn_ids])
    policy = f"{_quoted(basis.policy_id)},{_quoted(basis.policy_params_hash)},{_quoted(basis.schema_version)}"
    return xxh64(_utf8(f'["{anchor}",[{ids}],[{",".join(edges)}],{policy}]'))


def export_bytes(anchor: str, turns: Iterable[str], edges: Iterable[str], basis: Basis, name: str) -> bytes:
    """Returns the bytes of the object of §6.1. The caller sorts turns and edges."""
    return _utf8(
        f'{{"anchor_turn_id":"{anchor}","turns":[{",".join(turns)}],"edges":[{",".join(edges)}],'
        f'"policy_id":{_quoted(basis.policy_id)},"policy_params_hash":{_quoted(basis.policy_params_hash)},'
        f'"schema_version":{_quoted(basis.schema_version)},"slice_id":{_quoted(name)}}}'
    )


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise lone_surrogate(error) from None


# Reading

_decoder = msgspec.json.Decoder(SliceExport)


def read_export(data: bytes) -> SliceExport:
    """Reads a stored SliceExport, with any white space and any spelling of numbers.

    Raises an error with the place of the first value that does not fit.
    """
    export = decode(data, _decoder)
    for path, text in _ids(export):
        if not is_uuid(text):
            raise error_at(data, "bad-uuid", path, f"{text!r} is not a UUID")
    return replace(export, turns=tuple(_rounded(data, place, turn) for place, turn in enumerate(export.turns)))


def _ids(export: SliceExport) -> Iterator[tuple[JsonPath, str]]:
    yield ("anchor_turn_id",), export.anchor_turn_id
    for place, turn in enumerate(export.turns):
        yield ("turns", place, "id"), turn.id
    for place, edge in enumerate(export.edges):
        yield ("edges", place, "parent"), edge.parent
        yield ("edges", place, "child"), edge.child


def _rounded(data: bytes, place: int, turn: ExportedTurn) -> ExportedTurn:
    numbers = {field: binary32(getattr(turn, field)) for field in FRACTIONS}
    for field, number in numbers.items():
        if not isfinite(number):
            raise error_at(data, "not-finite", ("turns", place, field), "the number is too large for binary32")
    return replace(turn, **numbers)


# Checking and comparing


class ExportFinding(Struct, frozen=True):
    """A check of the checklist that failed."""

    check: str
    message: str
    expected: Any
    found: Any


class Difference(Struct, frozen=True):
    """One place where two exports differ. A side that has nothing there is None."""

    place: str
    stored: Any
    derived: Any


def checklist(
    export: SliceExport, policy: SlicePolicyV1 | None = None, expected_slice_id: str | None = None
) -> tuple[ExportFinding, ...]:
    """Returns the failed checks of §11, in its order. The budget is checked only if the policy is given."""
    return tuple(_findings(export, policy, expected_slice_id))


def _findings(export: SliceExport, policy: SlicePolicyV1 | None, expected: str | None) -> Iterator[ExportFinding]:
    derived = export.fingerprint
    if export.slice_id != derived:
        yield ExportFinding("slice-id", "the slice_id does not match the contents", derived, export.slice_id)
    if expected not in (None, export.slice_id):
        yield ExportFinding("slice-id", "this is not the expected slice", expected, export.slice_id)
    if export.policy_id != POLICY_ID:
        yield ExportFinding("policy-id", "the policy is not known", POLICY_ID, export.policy_id)
    if policy is not None:
        if export.policy_params_hash != policy.params_hash:
            name = "policy-params-hash"
            yield ExportFinding(
                name, "the export was made with another policy", policy.params_hash, export.policy_params_hash
            )
        if len(export.turns) > policy.max_nodes:
            yield ExportFinding(
                "budget", "the export holds more turns than the policy allows", policy.max_nodes, len(export.turns)
            )
    turns = {turn.id for turn in export.turns}
    if export.anchor_turn_id not in turns:
        yield ExportFinding("anchor", "the anchor is not among the turns", export.anchor_turn_id, None)
    for edge in export.edges:
        if not {edge.parent, edge.child} <= turns:
            yield ExportFinding("edges", "an edge has an end that is not among the turns", None, asdict(edge))


def compare(stored: SliceExport, derived: SliceExport) -> tuple[Difference, ...]:
    """Returns the differences: added and removed turns, changed fields of turns, edges, other fields, and the order.

    There are no differences exactly when both have the same canonical bytes.
    """
    return tuple(_differences(_by_place(stored), _by_place(derived)))


def _differences(stored: Mapping[str, Any], derived: Mapping[str, Any]) -> Iterator[Difference]:
    for place in [*stored, *(place for place in derived if place not in stored)]:
        ours, theirs = stored.get(place), derived.get(place)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            yield from (Difference(f"{place}.{f}", ours[f], theirs[f]) for f in ours if ours[f] != theirs[f])
        elif ours != theirs:
            yield Difference(place, ours, theirs)
    for kind in ("turns[", "edges["):
        ours, theirs = ([place for place in export if place.startswith(kind)] for export in (stored, derived))
        if ours != theirs and sorted(ours) == sorted(theirs):
            yield Difference(f"the order of {kind[:-1]}", ours, theirs)


def _by_place(export: SliceExport) -> dict[str, Any]:
    """Returns the values of an export by place: turns by id, edges by ends and type. A repeated one gets a number."""
    places = asdict(export)
    members = [(f"turns[{turn.id}]", turn) for turn in places.pop("turns")]
    members += [(f"edges[{e.parent} {e.child} {e.edge_type}]", e) for e in places.pop("edges")]
    seen: Counter[str] = Counter()
    for place, member in members:
        seen[place] += 1
        places[place if seen[place] == 1 else f"{place}#{seen[place]}"] = asdict(member)
    return places


# Drawing

_ARROWS: Final[dict[EdgeType, str]] = {
    "reply": "-->",
    "branch": "-->|branch|",
    "reference": "-.->|reference|",
    "default": "---",
}


def mermaid(context_slice: ContextSlice) -> str:
    """Returns a context slice as a Mermaid flowchart, for Markdown that draws it.

    Each turn is a box with the start of its id, its role, phase and salience. The anchor has a thick border.
    """
    export = context_slice.contents
    names = {turn.id: f"t{number}" for number, turn in enumerate(export.turns)}
    lines = ["flowchart TD"]
    lines += [f'  {names[turn.id]}["{_label(turn)}"]' for turn in export.turns]
    lines += [f"  {names[edge.parent]} {_ARROWS[edge.edge_type]} {names[edge.child]}" for edge in export.edges]
    lines += [f"  style {names[export.anchor_turn_id]} stroke-width:4px"]
    return "\n".join(lines) + "\n"


def _label(turn: ExportedTurn) -> str:
    return f"{turn.id[:8]}<br/>{turn.role} · {turn.phase} · {turn.salience:.2f}"
