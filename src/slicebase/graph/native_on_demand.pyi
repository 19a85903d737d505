# What the compiled module offers: type checkers do not read native_on_demand.py, whose types are those of C.

from slicebase.graph.export import ContextSlice
from slicebase.graph.on_demand import SessionSource
from slicebase.graph.policy import SlicePolicyV1

def context_slice(source: SessionSource, anchor_id: str, policy: SlicePolicyV1, wide: int) -> ContextSlice: ...
