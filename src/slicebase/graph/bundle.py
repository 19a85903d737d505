"""Bundles: a context slice with everything that is needed to check it elsewhere, without its workspace.

A bundle is canonical JSON (ruling 1). It has the exact text of the SliceExport, the complete policy, and of the graph
around it what the expansion of §5 depends on: the parents and the digest of the content of each selected turn, and the
siblings that took a place within the limit of siblings but were not selected. So the selection can be made again from
the bundle alone. `graph_snapshot_hash` covers all of it. A signature covers the complete bundle.

docs/decisions/bundles.md says why this much of the graph is enough.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from math import isfinite
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct, to_builtins
from msgspec.structs import asdict

from slicebase.core.hashing import canonical, digest_of, is_digest
from slicebase.core.ids import is_uuid
from slicebase.errors import SlicebaseError
from slicebase.graph.binary32 import binary32, shortest
from slicebase.graph.export import FRACTIONS, ContextSlice, SliceExport
from slicebase.graph.graph_file import JsonPath, decode, error_at
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import TurnGraph, no_turn
from slicebase.graph.turn import Phase

FORMAT: Final = "slice_bundle_v1"
ALGORITHM: Final = "HMAC-SHA-256"
LEAST_KEY: Final = 16  # bytes


class SelectedTurn(Struct, frozen=True, forbid_unknown_fields=True):
    """What the graph has of a selected turn beside its fields in the export."""

    content_hash: str
    id: str
    parents: tuple[str, ...]  # in its session, selected or not


class Sibling(Struct, frozen=True, forbid_unknown_fields=True):
    """A turn that the expansion looked at as a sibling and did not select."""

    id: str
    parents: tuple[str, ...]
    phase: Phase
    salience: str  # the shortest decimal of its binary32 value


class GraphAround(Struct, frozen=True, forbid_unknown_fields=True):
    """The graph around a context slice: what the selection depends on. Both lists are in the order of ids."""

    siblings: tuple[Sibling, ...]
    turns: tuple[SelectedTurn, ...]


class Signature(Struct, frozen=True, forbid_unknown_fields=True):
    """Who has the key says that this is the bundle."""

    algorithm: str
    value: str


class Bundle(Struct, frozen=True, forbid_unknown_fields=True):
    """A context slice that can be checked elsewhere."""

    annotators: tuple[str, ...]
    export: str
    format: str
    graph: GraphAround
    graph_snapshot_hash: str
    policy: dict[str, Any]
    signature: Signature | None

    def to_bytes(self) -> bytes:
        """Returns the bytes of the bundle: the same graph, policy and key give the same ones."""
        return canonical(to_builtins(self))

    def __repr__(self) -> str:
        return f"Bundle(graph_snapshot_hash={self.graph_snapshot_hash!r}, signed={self.signature is not None})"


# The graph around a slice


def graph_around(
    graph: TurnGraph, export: SliceExport, policy: SlicePolicyV1, content_hashes: Mapping[str, str]
) -> GraphAround:
    """Returns what the selection of a slice depends on, read from the graph that it was selected from."""
    selected = {turn.id for turn in export.turns}
    return GraphAround(
        siblings=tuple(_sibling(graph, each) for each in looked_at_beside(graph, selected, policy)),
        turns=tuple(SelectedTurn(content_hashes[each], each, tuple(graph.parents(each))) for each in sorted(selected)),
    )


def looked_at_beside(graph: TurnGraph, selected: Set[str], policy: SlicePolicyV1) -> list[str]:
    """Returns the siblings that the expansion looked at and did not select, in the order of ids.

    Only where the budget was used up can a turn be looked at and not be selected.
    """
    limit = policy.max_siblings_per_node if policy.include_siblings else 0
    if not limit or len(selected) < policy.max_nodes:
        return []
    return sorted({each for turn in selected for each in graph.siblings(turn, limit)} - selected)


def _sibling(graph: TurnGraph, turn_id: str) -> Sibling:
    turn = graph.get_turn(turn_id)
    return Sibling(turn_id, tuple(graph.parents(turn_id)), turn.phase, shortest(turn.salience))


def snapshot_hash(export: SliceExport, around: GraphAround, annotators: Sequence[str]) -> str:
    """Returns the digest of the graph around a slice: contents, annotations and edges of its turns, and siblings."""
    turns = []
    for turn, more in zip(export.turns, around.turns, strict=True):
        fractions = {field: shortest(getattr(turn, field)) for field in FRACTIONS}
        turns.append({**asdict(turn), **fractions, **asdict(more)})
    edges = [asdict(edge) for edge in export.edges]
    return digest_of(
        {
            "annotators": list(annotators),
            "edges": edges,
            "siblings": to_builtins(around.siblings),
            "turns": turns,
        }
    )


class AroundGraph:
    """The graph around a slice, as the expansion reads it. Turns that are not in it were never selected."""

    def __init__(self, export: SliceExport, around: GraphAround) -> None:
        self._turns: dict[str, _Scored] = {turn.id: _Scored(turn.phase, turn.salience) for turn in export.turns}
        self._turns |= {each.id: _Scored(each.phase, binary32(float(each.salience))) for each in around.siblings}
        self._parents = {turn.id: turn.parents for turn in around.turns}
        self._parents |= {each.id: each.parents for each in around.siblings}
        self._children: dict[str, list[str]] = defaultdict(list)
        for child in sorted(self._parents):
            for parent in self._parents[child]:
                self._children[parent].append(child)
        self._families: dict[tuple[str, ...], list[str]] = {}  # by parents: turns of a family mostly have the same

    def get_turn(self, turn_id: str) -> "_Scored":
        if turn_id not in self._turns:
            raise no_turn(turn_id)
        return self._turns[turn_id]

    def parents(self, turn_id: str) -> list[str]:
        return sorted(parent for parent in self._parents[turn_id] if parent in self._turns)

    def children(self, turn_id: str) -> list[str]:
        return self._children.get(turn_id, [])

    def siblings(self, turn_id: str, limit: int | None) -> list[str]:
        above = self._parents[turn_id]
        if above not in self._families:
            family = {child for parent in above for child in self.children(parent)}
            self._families[above] = sorted(family, key=lambda each: (-self._turns[each].salience, each))
        ordered = self._families[above]
        most = len(ordered) if limit is None else limit
        return [each for each in ordered[: most + 1] if each != turn_id][:most]


class _Scored(NamedTuple):
    phase: Phase
    salience: float


# Making and signing


def make_bundle(found: ContextSlice, around: GraphAround, policy: SlicePolicyV1, key: bytes | None = None) -> Bundle:
    """Returns the bundle of a context slice, signed if there is a key."""
    unsigned = Bundle(
        annotators=found.annotators,
        export=found.export.decode(),
        format=FORMAT,
        graph=around,
        graph_snapshot_hash=snapshot_hash(found.contents, around, found.annotators),
        policy=policy.as_json(),
        signature=None,
    )
    return unsigned if key is None else msgspec.structs.replace(unsigned, signature=signature_of(unsigned, key))


def signature_of(bundle: Bundle, key: bytes) -> Signature:
    """Returns the signature of a bundle by a key. Raises `weak-key` for one that is too short."""
    import hmac  # imported here for a fast start: a context needs the hash of a graph, and no signature

    checked_key(key)
    signed = canonical({name: value for name, value in to_builtins(bundle).items() if name != "signature"})
    return Signature(ALGORITHM, hmac.new(key, signed, "sha256").hexdigest())


def checked_key(key: bytes) -> bytes:
    """Returns a key. Raises `weak-key` for one that is too short."""
    if len(key) < LEAST_KEY:
        hint = f"a key has at least {LEAST_KEY} bytes: `openssl rand -hex 32` prints a good one"
        raise SlicebaseError("weak-key", "the key is too short to sign or to check anything", hint=hint)
    return key


def is_signed_by(bundle: Bundle, key: bytes) -> bool:
    """Returns whether this key signed the bundle. The comparison takes the same time for every signature."""
    from hmac import compare_digest

    if bundle.signature is None:
        return False
    made = signature_of(bundle, key)
    given = bundle.signature
    is_same = compare_digest(made.value.encode(), given.value.encode("utf-8", "surrogatepass"))
    return is_same and given.algorithm == ALGORITHM


# Reading

_decoder = msgspec.json.Decoder(Bundle)


def read_bundle(data: bytes) -> Bundle:
    """Reads a bundle. Raises an error with its place for a value that does not fit; hashes are not compared."""
    bundle = decode(data, _decoder)
    for path, value, is_right, code, problem in _values(bundle):
        if not is_right(value):
            raise error_at(data, code, path, f"{value!r} {problem}")
    return bundle


_Value = tuple[JsonPath, str, Callable[[str], bool], str, str]


def _values(bundle: Bundle) -> Iterator[_Value]:
    """Yields the values of a bundle that have a form of their own, each with its check."""
    yield ("format",), bundle.format, FORMAT.__eq__, "unknown-value", f"is not {FORMAT}"
    for place, turn in enumerate(bundle.graph.turns):
        yield from _ids(("graph", "turns", place), turn.id, turn.parents)
        path: JsonPath = ("graph", "turns", place, "content_hash")
        yield path, turn.content_hash, is_digest, "wrong-type", "is not a digest"
    for place, sibling in enumerate(bundle.graph.siblings):
        yield from _ids(("graph", "siblings", place), sibling.id, sibling.parents)
        path = ("graph", "siblings", place, "salience")
        yield path, sibling.salience, _is_salience, "out-of-range", "is not the shortest decimal of a salience"


def _ids(path: JsonPath, turn_id: str, parents: Sequence[str]) -> Iterator[_Value]:
    yield (*path, "id"), turn_id, is_uuid, "bad-uuid", "is not a UUID"
    for number, parent in enumerate(parents):
        yield (*path, "parents", number), parent, is_uuid, "bad-uuid", "is not a UUID"


def _is_salience(text: str) -> bool:
    try:
        number = float(text)
    except ValueError:
        return False
    return isfinite(number) and 0 <= number <= 1 and shortest(binary32(number)) == text
