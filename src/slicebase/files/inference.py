"""What follows from stated links (§ Relationship Properties, ruling 28).

An edge follows from a stated one by turning it round, and from several by going through a chain. Both together
are reachability: for each relationship, the stated edges and those of its converse turned round make one graph;
a file is related to all that it reaches there if the relationship is transitive, else to its neighbours.

The closure of a chain of n files has n² edges, so nothing is computed before it is asked for: one file's edges
cost one walk, and a path is written out only where somebody reads it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from slicebase.files.relationships import RELATIONSHIPS


class Edge(NamedTuple):
    source: str
    rel: str
    target: str


class Way(NamedTuple):
    """The last stated edge of a way, and the way up to it."""

    step: Edge
    before: "Way | None"


class InferredEdge(Struct, frozen=True, eq=False):
    """An edge that no file states."""

    source: str
    rel: str
    target: str
    way: Way

    @property
    def path(self) -> tuple[Edge, ...]:
        """The stated edges that it follows from, in order from source to target; some may be the other way round."""
        steps = []
        way: Way | None = self.way
        while way:
            steps.append(way.step)
            way = way.before
        return tuple(reversed(steps))


class Inference:
    """Answers what follows from a set of stated edges. The order in which they are given changes nothing."""

    def __init__(self, stated: Iterable[Edge]) -> None:
        self._stated = frozenset(edge for edge in stated if edge.source != edge.target)
        self._ways: dict[str, dict[str, dict[str, Edge]]] = {}
        for edge in self._stated:
            self._add(edge.rel, edge.source, edge.target, edge)
        for edge in self._stated:
            relationship = RELATIONSHIPS.get(edge.rel)
            if relationship and relationship.converse:
                self._add(relationship.converse, edge.target, edge.source, edge)

    def _add(self, rel: str, source: str, target: str, because: Edge) -> None:
        self._ways.setdefault(rel, {}).setdefault(source, {}).setdefault(target, because)

    def of(self, source: str, rel: str | None = None) -> Iterator[InferredEdge]:
        """The inferred edges of one file, by relationship, nearest first, then in the order of ids."""
        for name in (rel,) if rel else RELATIONSHIPS:
            yield from self._walk(source, name)

    def all(self) -> Iterator[InferredEdge]:
        for rel in RELATIONSHIPS:
            for source in sorted(self._ways.get(rel, ())):
                yield from self._walk(source, rel)

    def _walk(self, source: str, rel: str) -> Iterator[InferredEdge]:
        """Breadth first, so that each target gets a shortest way, and of those the first in the order of ids."""
        neighbours: Mapping[str, Mapping[str, Edge]] = self._ways.get(rel, {})
        transitive = rel in RELATIONSHIPS and RELATIONSHIPS[rel].transitive
        seen = {source}
        reached: list[tuple[str, Way | None]] = [(source, None)]
        for place, before in reached:  # grows while it is walked
            for target in sorted(neighbours.get(place, ())):
                if target in seen:
                    continue
                seen.add(target)
                way = Way(neighbours[place][target], before)
                if transitive:
                    reached.append((target, way))
                if Edge(source, rel, target) not in self._stated:
                    yield InferredEdge(source, rel, target, way)
