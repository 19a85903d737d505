"""Context slices of a graph, by the expansion that fits its form: in memory as arrays, or read as it is asked for."""

from slicebase.graph import best_first, on_demand
from slicebase.graph.compact import CompactSession
from slicebase.graph.export import ContextSlice
from slicebase.graph.on_demand import SessionSource
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import FrontierTurn

SliceGraph = CompactSession | SessionSource


def select(graph: SliceGraph, anchor_id: str, policy: SlicePolicyV1) -> tuple[FrontierTurn, ...]:
    """Returns the same as `slicebase.graph.select.select`."""
    if isinstance(graph, CompactSession):
        return best_first.select(graph, anchor_id, policy)
    return on_demand.select(graph, anchor_id, policy)


def context_slice(graph: SliceGraph, anchor_id: str, policy: SlicePolicyV1) -> ContextSlice:
    """Returns the context slice around an anchor."""
    if isinstance(graph, CompactSession):
        return best_first.context_slice(graph, anchor_id, policy)
    return on_demand.context_slice(graph, anchor_id, policy)
