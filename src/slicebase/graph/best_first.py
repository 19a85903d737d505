"""The expansion of §5 on a compact session: the fast version of `slicebase.graph.select`.

It differs in one point that does not change the result. Where a turn has many children (a wide family), not all of them
go to the frontier at once. They are sorted in the order in which they would leave the frontier, and each child that
leaves it adds the next one. Until then all of them count as visited (ruling 11): a turn of such a family that is
reached from elsewhere is ignored.
"""

from array import array
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from operator import itemgetter
from typing import Final, NamedTuple

from slicebase.graph.compact import TURN_KINDS, TYPES_BY_BITS, CompactSession
from slicebase.graph.export import Basis, ContextSlice, edge_json, export_bytes, slice_id
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import FrontierTurn, ReachedAs
from slicebase.graph.turn import PHASES

WIDE: Final = 48  # a turn with more children than this adds them to the frontier one by one
NO_TURN: Final = -1


class Family(NamedTuple):
    """The children of a turn that are not on the frontier yet, best first, with their priorities."""

    rank: int  # the number of wide families that were opened before
    members: Iterator[tuple[int, float]]


# Negated priority, distance and position in the order of ids, which give the order of §5.3; then the turn, the turn it
# was reached from, and the family whose next member follows it.
Entry = tuple[float, int, int, int, int, Family | None]


def expand(  # noqa: C901  one loop and its steps: as methods of an object they would be a fifth slower
    session: CompactSession, anchor: int, policy: SlicePolicyV1, wide: int = WIDE
) -> list[Entry]:
    """Returns the selected turns in the order in which they leave the frontier (§5.2)."""
    rank, kind, salience = session.columns[:3]
    parent_start, parent, _, child_start, child = session.neighbours
    weights, salience_weight, decays = policy.scoring
    weights_of_kinds = weights * (len(TURN_KINDS) // len(PHASES))
    max_nodes, max_radius = policy.max_nodes, policy.max_radius
    sibling_limit = policy.max_siblings_per_node if policy.include_siblings else 0

    selected: list[Entry] = []
    frontier: list[Entry] = []
    visited: set[int] = set()
    expanded: set[int] = set()
    families: dict[int, int] = {}  # turns whose children are added one by one, with the rank of their family
    cell = array("f", (0.0,))  # rounds a number that is stored in it to binary32 (ruling 8)

    def push(turns: Iterable[int], distance: int, source: int) -> None:
        decay = decays[distance]
        for turn in turns:
            if turn not in visited and not (families and in_family(turn, len(families))):
                visited.add(turn)
                cell[0] = salience[turn] * salience_weight
                cell[0] = weights_of_kinds[kind[turn]] + cell[0]
                cell[0] = cell[0] * decay
                heappush(frontier, (-cell[0], distance, rank[turn], turn, source, None))

    def push_next(family: Family, distance: int, source: int) -> None:
        for turn, priority in family.members:
            if turn not in visited and not in_family(turn, family.rank):
                visited.add(turn)
                heappush(frontier, (-priority, distance, rank[turn], turn, source, family))
                return

    def in_family(turn: int, before: int) -> bool:
        """Returns whether the turn belongs to a wide family that was opened before this rank."""
        return any(
            families.get(above, before) < before for above in parent[parent_start[turn] : parent_start[turn + 1]]
        )

    push((anchor,), 0, NO_TURN)
    while frontier:
        entry = heappop(frontier)
        selected.append(entry)
        if len(selected) == max_nodes:
            break
        _, distance, _, turn, source, family = entry
        if family is not None:
            push_next(family, distance, source)
        if distance == max_radius:
            continue
        expanded.add(turn)
        above = parent[parent_start[turn] : parent_start[turn + 1]]
        first, end = child_start[turn], child_start[turn + 1]
        if end - first > wide:
            push(above, distance + 1, turn)
            family = Family(len(families), iter(session.ranked_children(turn, distance + 1, policy)))
            families[turn] = family.rank
            push_next(family, distance + 1, turn)
        else:
            push(above + child[first:end], distance + 1, turn)
        # All children of an expanded turn have been visited: where all parents are expanded, no sibling is new.
        if sibling_limit and not expanded.issuperset(above):
            push(session.siblings_of(turn, sibling_limit), distance, turn)
    return selected


def select(
    session: CompactSession, anchor_id: str, policy: SlicePolicyV1, wide: int = WIDE
) -> tuple[FrontierTurn, ...]:
    """Returns the same as `slicebase.graph.select.select`, for any value of `wide`."""
    return named(session, expand(session, session.number_of(anchor_id), policy, wide))


def named(session: CompactSession, selected: list[Entry]) -> tuple[FrontierTurn, ...]:
    """Returns selected turns by id, each with the turn it was reached from, and how."""
    distances = {turn: distance for _, distance, _, turn, _, _ in selected}

    def reached_as(turn: int, source: int) -> ReachedAs:
        if source == NO_TURN:
            return "anchor"
        if distances[turn] == distances[source]:
            return "sibling"
        return "parent" if turn in session.parents_of(source) else "child"

    return tuple(
        FrontierTurn(
            negated,
            distance,
            session.id_of(turn),
            None if source == NO_TURN else session.id_of(source),
            reached_as(turn, source),
        )
        for negated, distance, _, turn, source, _ in selected
    )


def context_slice(session: CompactSession, anchor_id: str, policy: SlicePolicyV1) -> ContextSlice:
    """Returns the context slice around an anchor: §5 to §6, from arrays to bytes."""
    entries = expand(session, session.number_of(anchor_id), policy)
    turns = [entry[3] for entry in sorted(entries, key=itemgetter(2))]  # by id (§6.2)
    ids = [session.id_of(turn) for turn in turns]
    edges = _edges_within(session, turns, ids)
    basis = Basis(policy.params_hash)
    name = slice_id(anchor_id, ids, edges, basis)
    export = export_bytes(anchor_id, session.turns_json(turns), edges, basis, name)
    return ContextSlice(anchor_id, basis.policy_params_hash, name, export, session.annotators_of(turns))


def _edges_within(session: CompactSession, turns: list[int], ids: list[str]) -> list[str]:
    """Returns the edges between the turns, by parent, child and type (§6.2, §7.4). The turns come in order of id."""
    parent_start, parent, edge_types, _, _ = session.neighbours
    places = {turn: place for place, turn in enumerate(turns)}
    found = [
        (places[parent[link]], below, edge_types[link])
        for below, turn in enumerate(turns)
        for link in range(parent_start[turn], parent_start[turn + 1])
        if parent[link] in places
    ]
    found.sort()
    return [edge_json(ids[above], ids[below], name) for above, below, bits in found for name in TYPES_BY_BITS[bits]]
