"""The compact form of a session: less than a hundred bytes for each turn, and slices in a fraction of a millisecond.

Turns are numbered in the order of the rows, so that turns near each other in the conversation are near each other in
memory. Everything else is an array indexed by that number. One of these arrays is the order of the turns by id, which
decides ties. All neighbours are in one array, those of turn i from start[i] to start[i + 1]; children are sorted by
salience, highest first.

The form does not change after it is built: a session that has grown is built again, in a few microseconds for each
turn. Where that takes too long, `slicebase.graph.on_demand` reads what a slice needs.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, product, repeat
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

from slicebase.errors import SlicebaseError
from slicebase.graph.export import ExportedTurn, head_json, turn_json
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import no_turn
from slicebase.graph.turn import PHASES, EdgeType, Phase, Role

if TYPE_CHECKING:
    from slicebase.graph.native import Kernel

ID_LENGTH: Final = 36
TURN_KINDS: Final[tuple[tuple[Role, Phase], ...]] = tuple(product(get_args(Role), PHASES))
_KIND_NUMBERS: Final[Mapping[Any, int]] = {kind: number for number, kind in enumerate(TURN_KINDS)}
# The types of the edges between two turns are the bits of a number: the first type by name is the lowest bit.
_TYPES: Final[tuple[EdgeType, ...]] = tuple(sorted(get_args(EdgeType)))
EDGE_BITS: Final[Mapping[Any, int]] = {edge_type: 1 << bit for bit, edge_type in enumerate(_TYPES)}
TYPES_BY_BITS: Final = tuple(
    tuple(edge_type for edge_type in _TYPES if bits & EDGE_BITS[edge_type]) for bits in range(1 << len(_TYPES))
)
_KEPT_MEMBERS: Final = 1_000_000  # how many turns of wide families a session keeps sorted by priority


class CompactRow(NamedTuple):
    """The fields of a turn that `compact` needs. Numbers with a fraction are rounded to binary32."""

    id: str  # hyphenated, in lower case
    role: Role
    phase: Phase
    salience: float
    depth: int
    sibling_order: int
    homogeneity: float
    temporal: float
    complexity: float
    created_at: int  # whole seconds since 1970
    annotator: str


class Columns(NamedTuple):
    """The fields of the turns, indexed by turn number.

    Fields that only an export needs are together in `rest`, so that reading them accesses memory once for each turn.
    """

    rank: "array[int]"  # the turn's position in the order of ids
    kind: bytes  # role and phase, as an index into `TURN_KINDS`
    salience: "array[float]"
    annotator: "array[int]"  # index into the session's annotators
    rest: bytes  # the other fields in the order of `CompactRow`, packed
    packing: Struct


class Neighbours(NamedTuple):
    """The parents and children of the turns, and the types of the edges."""

    parent_start: "array[int]"
    parent: "array[int]"
    edge_types: bytes  # parallel to `parent`
    child_start: "array[int]"
    child: "array[int]"


class CompactSession:
    """A session as arrays. `compact` builds it."""

    def __init__(
        self,
        session_id: str,
        ids: str,
        by_id: "array[int]",
        columns: Columns,
        neighbours: Neighbours,
        annotators: Sequence[str],
    ) -> None:
        self.session_id = session_id
        self.ids = ids  # all ids in one string
        self.by_id = by_id  # the turns in the order of their ids
        self.columns = columns
        self.neighbours = neighbours
        self.annotators = annotators
        self.heads = [head_json(session_id, role, phase) for role, phase in TURN_KINDS]
        self.kernel: Kernel | None = None  # the compiled version, where it selects: `selection.with_kernel` sets it
        self._ranked: dict[tuple[int, int, str], tuple[array[int], array[float]]] = {}
        self._ranked_members = 0

    def __len__(self) -> int:
        return len(self.columns.kind)

    @property
    def nbytes(self) -> int:
        """The memory that the session takes, without the sorted families that the plain version keeps."""
        arrays: list[Any] = [self.by_id, *self.columns[:-1], *self.neighbours]
        total = len(self.ids) + sum(memoryview(each).nbytes for each in arrays)
        return total + (self.kernel.nbytes if self.kernel else 0)

    def id_of(self, turn: int) -> str:
        """Returns the id of a turn."""
        return self.ids[ID_LENGTH * turn : ID_LENGTH * (turn + 1)]

    def number_of(self, turn_id: str) -> int:
        """Returns the number of a turn. Raises `no-turn` for an id that is not in the session."""
        place = bisect_left(self.by_id, turn_id, key=self.id_of)
        if place == len(self) or self.id_of(self.by_id[place]) != turn_id:
            raise no_turn(turn_id)
        return self.by_id[place]

    def has(self, turn_id: str) -> bool:
        """Returns whether a turn is in the session."""
        if self.kernel is not None:
            return self.kernel.has(turn_id)
        place = bisect_left(self.by_id, turn_id, key=self.id_of)
        return place < len(self) and self.id_of(self.by_id[place]) == turn_id

    def parents_of(self, turn: int) -> "array[int]":
        """Returns the parents of a turn."""
        start = self.neighbours.parent_start
        return self.neighbours.parent[start[turn] : start[turn + 1]]

    def children_of(self, turn: int) -> "array[int]":
        """Returns the children of a turn, highest salience first."""
        start = self.neighbours.child_start
        return self.neighbours.child[start[turn] : start[turn + 1]]

    def siblings_of(self, turn: int, limit: int) -> Sequence[int]:
        """Returns at most `limit` siblings of a turn (ruling 10).

        The first `limit` + 1 children of each parent are enough: one of them may be the turn itself.
        """
        start, child = self.neighbours.child_start, self.neighbours.child
        parents = self.parents_of(turn)
        if len(parents) == 1:
            above = parents[0]
            first, end = start[above], start[above + 1]
            if end - first == 1:
                return ()
            others: Sequence[int] = child[first : min(first + limit + 1, end)]
        else:
            families = [child[start[above] : min(start[above] + limit + 1, start[above + 1])] for above in parents]
            others = sorted({t for family in families for t in family}, key=self._by_salience)
        return [other for other in others if other != turn][:limit]

    def _by_salience(self, turn: int) -> tuple[float, int]:
        return -self.columns.salience[turn], self.columns.rank[turn]

    def ranked_children(self, turn: int, distance: int, policy: SlicePolicyV1) -> Iterable[tuple[int, float]]:
        """Returns the children in the order in which they would leave the frontier, with their priorities.

        The sorted children are kept for the next call, up to a limit.
        """
        key = (turn, distance, policy.params_hash)
        ranked = self._ranked.get(key)
        if ranked is None:
            ranked = self._rank(self.children_of(turn), distance, policy)
            if self._ranked_members + len(ranked[0]) > _KEPT_MEMBERS:
                self._ranked, self._ranked_members = {}, 0
            self._ranked[key] = ranked
            self._ranked_members += len(ranked[0])
        return zip(*ranked, strict=True)

    def _rank(self, turns: "array[int]", distance: int, policy: SlicePolicyV1) -> "tuple[array[int], array[float]]":
        """Returns turns in the order of §5.3, with their priorities (§4). C floats round to binary32 (ruling 8)."""
        scoring, kind, salience, rank = policy.scoring, self.columns.kind, self.columns.salience, self.columns.rank
        weights, decay = scoring.weights * len(get_args(Role)), scoring.decays[distance]
        weighted = array("f", [salience[turn] * scoring.salience_weight for turn in turns])
        base = array("f", [weights[kind[turn]] + part for turn, part in zip(turns, weighted, strict=True)])
        negated = array("f", [-(part * decay) for part in base])
        ranked = sorted(zip(negated, [rank[turn] for turn in turns], turns, strict=True))
        return array("I", [turn for _, _, turn in ranked]), array("f", [-priority for priority, _, _ in ranked])

    def turns_json(self, turns: Iterable[int]) -> list[str]:
        """Returns the JSON objects of the turns in an export."""
        _, kind, salience, _, rest, packing = self.columns
        ids, heads, unpack, size = self.ids, self.heads, packing.unpack_from, packing.size
        return [
            turn_json(
                ids[ID_LENGTH * turn : ID_LENGTH * (turn + 1)],
                heads[kind[turn]],
                salience[turn],
                *unpack(rest, size * turn),
            )
            for turn in turns
        ]

    def annotators_of(self, turns: Iterable[int]) -> tuple[str, ...]:
        """Returns the annotators of the turns, sorted."""
        places = {self.columns.annotator[turn] for turn in turns} if len(self.annotators) > 1 else {0}
        return tuple(self.annotators[place] for place in sorted(places))

    # The `TurnGraph` protocol of `slicebase.graph.select`

    def get_turn(self, turn_id: str) -> ExportedTurn:
        turn = self.number_of(turn_id)
        _, kind, salience, _, rest, packing = self.columns
        role, phase = TURN_KINDS[kind[turn]]
        numbers = packing.unpack_from(rest, packing.size * turn)
        return ExportedTurn(turn_id, self.session_id, role, phase, salience[turn], *numbers)

    def parents(self, turn_id: str) -> list[str]:
        return sorted(map(self.id_of, self.parents_of(self.number_of(turn_id))))

    def children(self, turn_id: str) -> list[str]:
        return sorted(map(self.id_of, self.children_of(self.number_of(turn_id))))

    def siblings(self, turn_id: str, limit: int | None) -> list[str]:
        found = self.siblings_of(self.number_of(turn_id), len(self) if limit is None else limit)
        return [self.id_of(turn) for turn in found]


def compact(
    session_id: str, rows: Iterable[Sequence[Any]], edges: Iterable[tuple[str, str, EdgeType]]
) -> CompactSession:
    """Builds the compact form from a session's turns, as tuples in the order of `CompactRow`, and its edges.

    An edge is a parent, a child and a type. Rows come in any order, each id once. The form is fastest where neighbours
    are near each other, as in the order of the conversation. An edge with an end that is not among the rows is
    ignored: it leads out of the session, or to a later time. The same edge twice is one edge.
    """
    given = list(rows)
    ids, roles, phases, *numbers, named = ([row[field] for row in given] for field in range(len(CompactRow._fields)))
    del given  # as large as everything else here
    numbered = {turn_id: number for number, turn_id in enumerate(ids)}
    text = "".join(ids)
    if len(numbered) != len(ids) or len(text) != ID_LENGTH * len(ids) or not text.isascii():
        raise SlicebaseError(
            "duplicate-turn", f"the rows of session {session_id!r} repeat an id, or hold one that is not a UUID"
        )
    by_id = sorted(range(len(ids)), key=ids.__getitem__)
    annotators = sorted(set(named))
    salience, depth, sibling_order, homogeneity, temporal, complexity, created_at = numbers
    packing = Struct(f"<{_code(depth)}{_code(sibling_order)}fff{_code(created_at)}")
    places = {name: place for place, name in enumerate(annotators)}
    columns = Columns(
        rank=_inverse(by_id),
        kind=bytes(map(_KIND_NUMBERS.__getitem__, zip(roles, phases, strict=True))),
        salience=array("f", salience),
        annotator=array(_code(places.values()), [places[name] for name in named]),
        rest=b"".join(map(packing.pack, depth, sibling_order, homogeneity, temporal, complexity, created_at)),
        packing=packing,
    )
    neighbours = _neighbours(numbered, edges, columns)
    return CompactSession(session_id, text, array("I", by_id), columns, neighbours, annotators)


def _inverse(order: list[int]) -> "array[int]":
    """Returns the position of each number in a permutation of all numbers."""
    places = array("I", bytes(4 * len(order)))
    for place, number in enumerate(order):
        places[number] = place
    return places


def _code(values: Collection[int]) -> str:
    """Returns the code of the narrowest C type that holds all these numbers."""
    least, most = min(values, default=0), max(values, default=0)
    return next((code for code, bits in (("B", 8), ("H", 16), ("I", 32)) if least >= 0 and most < 1 << bits), "q")


# Two numbers of turns in one number: the first in its upper half, the second in its lower half.
_HALF: Final = 32
_LOWER: Final = (1 << _HALF) - 1


def _neighbours(
    numbered: Mapping[str, int], edges: Iterable[tuple[str, str, EdgeType]], columns: Columns
) -> Neighbours:
    salience, rank = columns.salience, columns.rank
    types: dict[int, int] = {}  # the key is child and parent in one number, which sorts fast
    for parent_id, child_id, edge_type in edges:
        parent_number, child_number = numbered.get(parent_id), numbered.get(child_id)
        if parent_number is not None and child_number is not None:
            pair = child_number << _HALF | parent_number
            types[pair] = types.get(pair, 0) | EDGE_BITS[edge_type]
    by_child = sorted(types)
    by_parent = sorted([(pair & _LOWER) << _HALF | pair >> _HALF for pair in by_child])
    parent_start, parent = _split(by_child, len(numbered))
    child_start, child = _split(by_parent, len(numbered))
    for turn, first in enumerate(child_start[:-1]):
        end = child_start[turn + 1]
        if end - first > 1:
            child[first:end] = array("I", sorted(child[first:end], key=lambda turn: (-salience[turn], rank[turn])))
    return Neighbours(parent_start, parent, bytes([types[pair] for pair in by_child]), child_start, child)


def _split(pairs: list[int], count: int) -> "tuple[array[int], array[int]]":
    """Returns where the pairs of each first turn begin, and the second turns. The pairs are sorted."""
    degrees = Counter([pair >> _HALF for pair in pairs])
    starts = accumulate(map(dict(degrees).get, range(count), repeat(0)), initial=0)
    return array("I", starts), array("I", [pair & _LOWER for pair in pairs])
