"""Context slices of a graph, by the expansion that fits its form: in memory as arrays, or read as it is asked for.

Each has two versions, plain and compiled, which return the same. `with_kernel` chooses one for arrays.
"""

from collections.abc import Sequence
from typing import Final, Literal

from slicebase.errors import SlicebaseError
from slicebase.graph import best_first, on_demand
from slicebase.graph.best_first import WIDE
from slicebase.graph.compact import CompactSession
from slicebase.graph.export import ContextSlice
from slicebase.graph.on_demand import WIDE_FAMILY, SessionSource
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import FrontierTurn, no_turn

SliceGraph = CompactSession | SessionSource
KernelName = Literal["native", "plain"]
KERNEL: Final = "SLICEBASE_KERNEL"  # the environment variable that chooses


def kernel_named(name: str) -> KernelName:
    """Returns the version that `native`, `plain` or `auto` chooses. An empty name is `auto`: compiled if there is."""
    if name not in ("", "auto", "native", "plain"):
        raise SlicebaseError(
            "bad-kernel", f"{KERNEL} is {name!r}, which is no version", hint="set it to auto, native or plain"
        )
    if name == "plain":
        return "plain"
    try:
        from slicebase.graph import native, native_on_demand  # noqa: F401  imported here: each may not exist
    except ImportError as error:
        if name == "native":
            why = "it was not compiled" if error.name == "cython" else str(error)
            raise SlicebaseError(
                "no-kernel",
                f"{KERNEL} is native, and the compiled version cannot be loaded: {why}",
                hint="install slicebase where there is a C compiler, or unset the variable",
            ) from None
        return "plain"
    return "native"


def with_kernel(session: CompactSession, name: KernelName, wide: int = WIDE) -> CompactSession:
    """Lets the version of this name select from a session, and returns the session."""
    if name == "plain":
        session.kernel = None
        return session
    from slicebase.graph.native import Kernel

    try:
        session.kernel = Kernel(session, wide)
    except UnicodeEncodeError:  # half of a surrogate pair in the session's id: the plain version raises its error
        session.kernel = None
    return session


def select(graph: SliceGraph, anchor_id: str, policy: SlicePolicyV1) -> tuple[FrontierTurn, ...]:
    """Returns the same as `slicebase.graph.select.select`."""
    if not isinstance(graph, CompactSession):
        return on_demand.select(graph, anchor_id, policy)
    if graph.kernel is None:
        return best_first.select(graph, anchor_id, policy)
    return best_first.named(graph, graph.kernel.expand(graph.number_of(anchor_id), policy))


def context_slice(graph: SliceGraph, anchor_id: str, policy: SlicePolicyV1) -> ContextSlice:
    """Returns the context slice around an anchor."""
    if not isinstance(graph, CompactSession):
        return _read_slice(graph, anchor_id, policy)
    if graph.kernel is None:
        return best_first.context_slice(graph, anchor_id, policy)
    return graph.kernel.context_slice(graph, anchor_id, policy)


def _read_slice(source: SessionSource, anchor_id: str, policy: SlicePolicyV1) -> ContextSlice:
    if source.is_compiled:
        from slicebase.graph import native_on_demand

        try:
            return native_on_demand.context_slice(source, anchor_id, policy, WIDE_FAMILY)
        except UnicodeEncodeError:  # as in `with_kernel`
            pass
    return on_demand.context_slice(source, anchor_id, policy)


def exports(session: CompactSession, requests: Sequence[tuple[str, SlicePolicyV1]]) -> list[bytes | SlicebaseError]:
    """Returns the exports of the slices around anchors, each by its policy; the error, where there is none.

    It may return fewer than were asked for, at least one: so many that they take little memory. Compiled, other threads
    run meanwhile.
    """
    if session.kernel is None:
        return [_export(session, *requests[0])]
    found = session.kernel.exports(requests)
    return [no_turn(anchor) if export is None else export for (anchor, _), export in zip(requests, found, strict=False)]


def _export(session: CompactSession, anchor_id: str, policy: SlicePolicyV1) -> bytes | SlicebaseError:
    try:
        return best_first.context_slice(session, anchor_id, policy).export
    except SlicebaseError as error:
        return error
