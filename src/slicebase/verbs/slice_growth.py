"""Whether a stored context slice was right once: which turns are new since then, and whether the order allows it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial
from heapq import heappush, heappushpop, nsmallest
from typing import Final

from slicebase.graph.bundle import GraphAround, graph_around
from slicebase.graph.compact import CompactSession
from slicebase.graph.export import ExportedTurn, SliceExport
from slicebase.graph.kernel_export import select_with_higher_ids
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import Scored, TurnGraph, select
from slicebase.truth.stored_graph import StoredGraph

_ROUNDS: Final = 3  # in which turns are left out; after that, all others are


def new_turns(graph: TurnGraph, export: SliceExport, policy: SlicePolicyV1, higher_ids: bool) -> set[str] | None:
    """Returns turns without which the graph gives exactly this selection; None if there are none such.

    Turns of the slice have the values that they have in it. With `higher_ids`, ties are broken as the kernel does.
    """
    wanted = {turn.id: turn for turn in export.turns}
    new: set[str] = set()

    def is_old(turn_id: str) -> bool:
        return turn_id not in new

    for only in (*[False] * _ROUNDS, True):
        then = _Then(graph, wanted, wanted.__contains__ if only else is_old, is_old)
        selected = _selected(then, export.anchor_turn_id, policy, higher_ids)
        if selected == wanted.keys():
            return new
        if not selected - wanted.keys():
            return None
        new |= selected - wanted.keys()
    return None


def near(graph: TurnGraph, turns: Set[str]) -> tuple[set[str], set[str]]:
    """Returns the parents of turns, and the children of both: whatever a selection of those turns looks at."""
    parents = {parent for turn in turns for parent in graph.parents(turn)}
    return parents, {child for above in parents | turns for child in graph.children(above)}


_MOMENTS: Final = 64  # that are tried


def was_so(
    graph: CompactSession | StoredGraph,
    export: SliceExport,
    policy: SlicePolicyV1,
    higher_ids: bool,
    around: GraphAround | None = None,
) -> bool:
    """Returns whether the first turns that were stored, with all of the slice among them, give its selection.

    Of a bundle, they also give the graph around it.

    Of a bundle, they are those up to the last turn that it names: whatever came after that and took a place would be
    named, too. Of an export, they are those up to its last turn, or some more: a parent that brings siblings, or a
    sibling that takes the place of another.
    """
    wanted = {turn.id: turn for turn in export.turns}
    named = {*wanted, *(_named(around) if around else ())}
    newest = max(map(graph.number_of, named))

    def moments() -> Iterator[int]:
        yield newest
        if around is None:
            yield from nsmallest(_MOMENTS, {each for each in _changes(graph, wanted, policy) if each > newest})

    def gives_it(last: int) -> bool:
        was = partial(_is_up_to, graph, last)
        then = _Then(graph, wanted, was, was)
        if _selected(then, export.anchor_turn_id, policy, higher_ids) != wanted.keys():
            return False
        contents = {turn.id: turn.content_hash for turn in around.turns} if around else {}
        return around is None or graph_around(then, export, policy, contents) == around

    return any(map(gives_it, moments()))


def _named(around: GraphAround) -> Iterator[str]:
    for turn in around.turns:
        yield from turn.parents
    for sibling in around.siblings:
        yield sibling.id
        yield from sibling.parents


def _changes(graph: CompactSession | StoredGraph, turns: Iterable[str], policy: SlicePolicyV1) -> Iterator[int]:
    """Yields the numbers of the parents of turns, and of each child of those that was among the best when it came."""
    places = policy.max_siblings_per_node + 1 if policy.include_siblings else 0  # a turn is no sibling of itself
    for parent in {parent for turn in turns for parent in graph.parents(turn)}:
        yield graph.number_of(parent)
        best: list[tuple[float, int]] = []
        for number, child in sorted((graph.number_of(child), child) for child in graph.children(parent)):
            rank = graph.get_turn(child).salience, -int(child.replace("-", ""), 16)  # of equal ones, the lower id
            if len(best) < places:
                heappush(best, rank)
            elif not places or heappushpop(best, rank) == rank:
                continue
            yield number


def _is_up_to(graph: CompactSession | StoredGraph, last: int, turn_id: str) -> bool:
    return graph.number_of(turn_id) <= last


def _selected(then: "_Then", anchor: str, policy: SlicePolicyV1, higher_ids: bool) -> set[str]:
    if higher_ids:
        return select_with_higher_ids(then, anchor, policy)
    return {each.turn_id for each in select(then, anchor, policy)}


class _Then:
    """A graph with those turns that were there, and the values that some of them had."""

    def __init__(
        self,
        graph: TurnGraph,
        values: Mapping[str, ExportedTurn],
        was: Callable[[str], bool],
        was_parent: Callable[[str], bool],
    ) -> None:
        self._graph = graph
        self._values = values
        self._was = was
        self._was_parent = was_parent
        self._families: dict[tuple[str, ...], list[str]] = {}  # by parents

    def get_turn(self, turn_id: str) -> Scored:
        return self._values.get(turn_id) or self._graph.get_turn(turn_id)

    def parents(self, turn_id: str) -> list[str]:
        return list(filter(self._was, self._graph.parents(turn_id)))

    def children(self, turn_id: str) -> list[str]:
        return list(filter(self._was, self._graph.children(turn_id)))

    def siblings(self, turn_id: str, limit: int | None) -> list[str]:
        above = tuple(filter(self._was_parent, self._graph.parents(turn_id)))
        if above not in self._families:
            family = {child for parent in above for child in self.children(parent)}
            self._families[above] = sorted(family, key=lambda each: (-self.get_turn(each).salience, each))
        found = self._families[above]
        most = len(found) if limit is None else limit
        return [each for each in found[: most + 1] if each != turn_id][:most]
