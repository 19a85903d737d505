"""All versions with the same interface, so that the same test body runs each: plain, on arrays, and compiled."""

from typing import Protocol

from slicebase.graph import select, selection
from slicebase.graph.best_first import WIDE
from slicebase.graph.compact import CompactSession
from slicebase.graph.export import ContextSlice
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import FrontierTurn
from slicebase.graph.selection import KernelName, kernel_named, with_kernel
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
    def __init__(self, kernel: KernelName) -> None:
        self._kernel = kernel

    def select(self, graph: Graph, anchor: str, policy: SlicePolicyV1) -> tuple[FrontierTurn, ...]:
        return selection.select(with_kernel(graph.compact, self._kernel), anchor, policy)

    def context_slice(self, graph: Graph, anchor: str, policy: SlicePolicyV1) -> ContextSlice:
        return selection.context_slice(with_kernel(graph.compact, self._kernel), anchor, policy)


# The versions that this installation has. tests/graph/test_native.py says when the compiled one must be among them.
KERNELS: tuple[KernelName, ...] = ("plain",) if kernel_named("auto") == "plain" else ("plain", "native")


def compact(graph: Graph, kernel: KernelName, wide: int = WIDE) -> CompactSession:
    """Returns the compact form of a graph, from which this version selects."""
    return with_kernel(graph.compact, kernel, wide)
