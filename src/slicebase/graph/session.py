"""One session's turns and edges in plain dictionaries: small, obvious, and the measure for the compact form."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from slicebase.graph.export import ContextSlice, ExportedTurn
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import no_turn, select
from slicebase.graph.turn import GIVEN, Edge


class SessionGraph:
    """Turns of one session with their edges and, by turn, who annotated them.

    Edges that lead out of the session are passed over (ruling 13).
    """

    def __init__(
        self, turns: Iterable[ExportedTurn], edges: Iterable[Edge], annotators: Mapping[str, str] | None = None
    ) -> None:
        self._turns = {turn.id: turn for turn in turns}
        self._edges = {edge for edge in edges if edge.parent in self._turns and edge.child in self._turns}
        self._annotators = annotators or {}
        self._parents: dict[str, list[str]] = defaultdict(list)
        self._children: dict[str, list[str]] = defaultdict(list)
        for parent, child in sorted({(edge.parent, edge.child) for edge in self._edges}):
            self._parents[child].append(parent)
            self._children[parent].append(child)

    def get_turn(self, turn_id: str) -> ExportedTurn:
        if turn_id not in self._turns:
            raise no_turn(turn_id)
        return self._turns[turn_id]

    def parents(self, turn_id: str) -> list[str]:
        return self._parents.get(turn_id, [])

    def children(self, turn_id: str) -> list[str]:
        return self._children.get(turn_id, [])

    def siblings(self, turn_id: str, limit: int | None) -> list[str]:
        family = {child for parent in self.parents(turn_id) for child in self.children(parent)} - {turn_id}
        return sorted(family, key=lambda sibling: (-self._turns[sibling].salience, sibling))[:limit]

    def context_slice(self, anchor_id: str, policy: SlicePolicyV1) -> ContextSlice:
        turns = {candidate.turn_id for candidate in select(self, anchor_id, policy)}
        edges = [edge for edge in self._edges if edge.parent in turns and edge.child in turns]  # §7.4
        chosen = [self._turns[turn_id] for turn_id in turns]
        annotators = {self._annotators.get(turn_id, GIVEN) for turn_id in turns}
        return ContextSlice.of(anchor_id, chosen, edges, policy.params_hash, annotators)
