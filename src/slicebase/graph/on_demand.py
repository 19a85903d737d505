"""The expansion of §5 on a session that is not in memory: it reads the neighbours of the turns that it selects.

It differs from `slicebase.graph.select` in one point that does not change the result. Where a turn has many children (a
wide family), they are not pushed at once: the source yields them in the order in which they would leave the frontier,
and each child that leaves it adds the next one. Until then all of them count as visited (ruling 11).

`slicebase.graph.native_on_demand` is the compiled version of `context_slice`.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple, Protocol

from slicebase.core.ids import uuid_of
from slicebase.graph.compact import TYPES_BY_BITS
from slicebase.graph.export import Basis, ContextSlice, edge_json, export_bytes, slice_id
from slicebase.graph.policy import Scoring, SlicePolicyV1
from slicebase.graph.select import FrontierTurn, ReachedAs

WIDE_FAMILY: Final = 48  # a turn with more children than this adds them to the frontier one by one
_NOWHERE: Final = -1


class Near(NamedTuple):
    """A turn as its neighbours see it. Its number names it in its session."""

    turn: bytes
    number: int
    phase: int  # index into PHASES
    salience: float


Priority = Callable[[int, float], float]  # of a phase and a salience, at one distance
RankedTurn = tuple[float, bytes, int]  # negated priority, id and number: as they leave the frontier (§5.3)


class SessionSource(Protocol):
    """A session of which parts are read when they are asked for."""

    session_id: str
    is_compiled: bool  # whether the compiled version selects from it

    def number_of(self, turn_id: str) -> int:
        """Returns the number of a turn. Raises `no-turn` for an id that is not in the session."""

    def around(self, number: int, most: int) -> tuple[Sequence[int], Sequence[Near]]:
        """Returns the parents and the children of a turn that is expanded, as the methods below return them."""

    def near(self, number: int) -> Near:
        """Returns a turn."""

    def parents_of(self, number: int) -> Sequence[int]:
        """Returns the numbers of the parents."""

    def children_of(self, number: int, most: int) -> Sequence[Near]:
        """Returns the children, in any order; of more than `most`, any `most` + 1."""

    def best_children(self, number: int, limit: int) -> Sequence[Near]:
        """Returns the first children by salience, highest first, and id."""

    def ranked_children(self, number: int, priority: Priority) -> Iterator[RankedTurn]:
        """Yields the children in the order in which they leave the frontier."""

    def edges_to(self, number: int) -> Iterable[tuple[int, int]]:
        """Returns the parents of a turn, each with the types of the edges as bits."""

    def turn_json(self, number: int, turn_id: str) -> str:
        """Returns the JSON object of a turn in an export."""

    def annotator_of(self, number: int) -> str:
        """Returns the annotator of a turn."""

    def fields_of(self, number: int) -> tuple[int, float, bytes, int, str, Iterable[tuple[int, int]]]:
        """Returns role and phase, salience, trajectory, time, annotator and edges: what the methods above return.

        Role and phase are an index into `TURN_KINDS`. The trajectory is packed as two integers of eight bytes and three
        binary32 numbers, the lowest byte first.
        """

    def damage(self, problem: str) -> Exception:
        """Returns the error for a turn that is not as any turn is."""


class _Family(NamedTuple):
    rank: int  # the number of wide families that were opened before
    members: Iterator[RankedTurn]


# Negated priority, distance, id; the turn, the turn that it was reached from, and the family that goes on after it.
_Entry = tuple[float, int, bytes, int, int, _Family | None]


def priority_at(scoring: Scoring, distance: int) -> Priority:
    """Returns the formula of §4 for a distance."""
    weights, salience_weight, decays = scoring
    decay = decays[distance]
    cell = array("f", (0.0,))  # rounds a number that is stored in it to binary32 (ruling 8)

    def priority(phase: int, salience: float) -> float:
        cell[0] = salience * salience_weight
        cell[0] = weights[phase] + cell[0]
        cell[0] = cell[0] * decay
        return cell[0]

    return priority


class Siblings:
    """The siblings that one expansion pushes."""

    def __init__(self, source: SessionSource, limit: int, wide: int) -> None:
        self._source = source
        self._limit = limit
        self._wide = max(wide, 1)  # of two children, two are asked for
        self._best: dict[tuple[int, ...], tuple[set[int], list[Near]]] = {}  # by parents

    def of(self, number: int, above: tuple[int, ...]) -> Sequence[Near]:
        """Returns the siblings of a turn with these parents, without those that were visited from another such turn.

        The first turn adds the best of the family. For each other one, the list differs by the turn itself.
        """
        limit = self._limit
        if above in self._best:
            best, following = self._best[above]
            return following if number in best else ()
        if len(above) == 1 and len(self._source.children_of(above[0], self._wide)) == 1:
            return ()  # the only child, as most turns are
        families = [self._source.best_children(parent, limit + 1) for parent in above]
        found = {near for family in families for near in family}
        ranked = sorted(found, key=lambda near: (-near.salience, near.turn))[: limit + 1]
        self._best[above] = {near.number for near in ranked}, ranked[limit:]
        return [near for near in ranked if near.number != number][:limit]


class _Walk:
    """One expansion."""

    def __init__(self, source: SessionSource, policy: SlicePolicyV1, wide: int) -> None:
        self._source = source
        self._policy = policy
        self._scoring = policy.scoring
        self._wide = wide
        self._priorities: dict[int, Priority] = {}  # by distance
        self._frontier: list[_Entry] = []
        self._visited: set[int] = set()
        self._expanded: set[int] = set()
        self._siblings = Siblings(source, policy.max_siblings_per_node, wide)
        self._families: dict[int, int] = {}  # turns whose children are added one by one, with the rank of their family
        self.selected: list[_Entry] = []

    def run(self, anchor: int) -> list[_Entry]:
        policy = self._policy
        self._push([self._source.near(anchor)], 0, _NOWHERE)
        while self._frontier:
            entry = heappop(self._frontier)
            self.selected.append(entry)
            if len(self.selected) == policy.max_nodes:
                break
            _, distance, _, number, reached_from, family = entry
            if family is not None:
                self._push_next(family, distance, reached_from)
            if distance < policy.max_radius:
                self._expand(number, distance)
        return self.selected

    def _expand(self, number: int, distance: int) -> None:
        self._expanded.add(number)
        source, policy = self._source, self._policy
        above, children = source.around(number, self._wide)
        unvisited = [turn for turn in above if turn not in self._visited]
        if unvisited:
            self._push(map(source.near, unvisited), distance + 1, number)
        if len(children) > self._wide:
            members = source.ranked_children(number, self._priority(distance + 1))
            family = _Family(len(self._families), members)
            self._families[number] = family.rank
            self._push_next(family, distance + 1, number)
        elif children:
            self._push(children, distance + 1, number)
        # All children of an expanded turn have been visited: where all parents are expanded, no sibling is new.
        if policy.include_siblings and not self._expanded.issuperset(above):
            self._push(self._siblings.of(number, tuple(above)), distance, number)

    def _priority(self, distance: int) -> Priority:
        if distance not in self._priorities:
            self._priorities[distance] = priority_at(self._scoring, distance)
        return self._priorities[distance]

    def _push(self, turns: Iterable[Near], distance: int, reached_from: int) -> None:
        priority, visited, opened = self._priority(distance), self._visited, len(self._families)
        for turn, number, phase, salience in turns:
            if number not in visited and not (opened and self._in_family(number, opened)):
                visited.add(number)
                entry = (-priority(phase, salience), distance, turn, number, reached_from, None)
                heappush(self._frontier, entry)

    def _push_next(self, family: _Family, distance: int, reached_from: int) -> None:
        for negated, turn, number in family.members:
            if number not in self._visited and not self._in_family(number, family.rank):
                self._visited.add(number)
                heappush(self._frontier, (negated, distance, turn, number, reached_from, family))
                return

    def _in_family(self, number: int, before: int) -> bool:
        """Returns whether a turn belongs to a wide family that was opened before this rank."""
        if not before:
            return False
        return any(self._families.get(parent, before) < before for parent in self._source.parents_of(number))


def select(
    source: SessionSource, anchor_id: str, policy: SlicePolicyV1, wide: int = WIDE_FAMILY
) -> tuple[FrontierTurn, ...]:
    """Returns the same as `slicebase.graph.select.select`, for any value of `wide`."""
    selected = _Walk(source, policy, wide).run(source.number_of(anchor_id))
    found: dict[int, Any] = {entry[3]: entry for entry in selected}

    def reached_as(number: int, distance: int, reached_from: int) -> ReachedAs:
        if reached_from == _NOWHERE:
            return "anchor"
        if distance == found[reached_from][1]:
            return "sibling"
        return "parent" if number in source.parents_of(reached_from) else "child"

    return tuple(
        FrontierTurn(
            negated,
            distance,
            uuid_of(turn),
            None if reached_from == _NOWHERE else uuid_of(found[reached_from][2]),
            reached_as(number, distance, reached_from),
        )
        for negated, distance, turn, number, reached_from, _ in selected
    )


def context_slice(
    source: SessionSource, anchor_id: str, policy: SlicePolicyV1, wide: int = WIDE_FAMILY
) -> ContextSlice:
    """Returns the context slice around an anchor."""
    selected = _Walk(source, policy, wide).run(source.number_of(anchor_id))
    ids = {number: uuid_of(turn) for _, _, turn, number, _, _ in selected}
    by_id = sorted(ids, key=ids.__getitem__)  # §6.2
    found = sorted(
        (ids[parent], ids[number], bits)
        for number in by_id
        for parent, bits in source.edges_to(number)
        if parent in ids  # §7.4
    )
    edges = [edge_json(parent, child, name) for parent, child, bits in found for name in TYPES_BY_BITS[bits]]
    basis, turns = Basis(policy.params_hash), list(map(ids.__getitem__, by_id))
    name = slice_id(anchor_id, turns, edges, basis)
    export = export_bytes(anchor_id, map(source.turn_json, by_id, turns), edges, basis, name)
    annotators = tuple(sorted({source.annotator_of(number) for number in by_id}))
    return ContextSlice(anchor_id, basis.policy_params_hash, name, export, annotators)
