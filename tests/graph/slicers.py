"""The plain and the fast version with the same interface, so that the same test body runs both."""

from typing import Protocol

from slicebase.graph import best_first, select
from slicebase.graph.export import ContextSlice
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import FrontierTurn
from tests.graph.graphs import Graph


class Slicer(Protocol):
    def select(self, graph: Graph, anchor: str, policy: SlicePolicyV1) -> tuple[FrontierTurn, ...]: ...
    def context_slice(self, graph: Graph, anchor: str, policy: SlicePolicyV1) -> ContextSlice: ...


class Plain:
    def select(self, graph: Graph, anchor: str, policy: SlicePolicyV1) -> tuple[FrontierTurn, ...]:
        return select.select(graph.plain, anchor, policy)

    def context_slice(self, graph: Graph, anchor: str, policy: SlicePolicyV1) -> ContextSlice:
        return graph.plain.context_slice(anchor, policy)


class Fast:
    def select(self, graph: Graph, anchor: str, policy: SlicePolicyV1) -> tuple[FrontierTurn, ...]:
        return best_first.select(graph.compact, anchor, policy)

    def context_slice(self, graph: Graph, anchor: str, policy: SlicePolicyV1) -> ContextSlice:
        return best_first.context_slice(graph.compact, anchor, policy)
