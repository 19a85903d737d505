"""The graph around a context slice, as the workspace has it: a bundle carries it, a manifest pins its hash."""

from typing import NamedTuple

from slicebase.graph.bundle import GraphAround, graph_around, snapshot_hash
from slicebase.graph.export import ContextSlice, SliceExport
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import TurnGraph
from slicebase.graph.selection import context_slice
from slicebase.truth.truth import Truth


class SliceInGraph(NamedTuple):
    """A context slice, its session, and the hash of the graph around it."""

    found: ContextSlice
    session: str
    graph_snapshot_hash: str


def slice_in_graph(truth: Truth, turn: str, policy: SlicePolicyV1, as_of: int | None = None) -> SliceInGraph:
    """Returns the context slice around a turn, of what there was at a time, with the hash of the graph around it."""
    with truth.sessions.around(turn, as_of) as graph:
        found = context_slice(graph, turn, policy)
        export = found.contents
        hashed = snapshot_hash(export, around(truth, graph, export, policy), found.annotators)
        return SliceInGraph(found, graph.session_id, hashed)


def around(truth: Truth, graph: TurnGraph, export: SliceExport, policy: SlicePolicyV1) -> GraphAround:
    """Returns the graph around a slice, with the digests of its turns' contents."""
    stored = truth.turns.find(turn.id for turn in export.turns)
    return graph_around(graph, export, policy, {name: each.record.content_hash for name, each in stored.items()})
