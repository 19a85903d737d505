"""Many context slices at once, on all cores.

The thread that asks reads the sessions. What is selected from a session in memory needs no database: where the kernel
is compiled, threads do that side by side, because it does not hold the interpreter's lock.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Final

from slicebase.core.ids import is_uuid
from slicebase.errors import SlicebaseError
from slicebase.graph.compact import CompactSession
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.selection import context_slice, exports
from slicebase.truth.failures import damaged
from slicebase.truth.sessions import chosen_kernel
from slicebase.truth.stored_graph import StoredGraph
from slicebase.verbs.parts import Parts
from slicebase.workspace.processes import processors

AskedSlice = tuple[str, SlicePolicyV1]  # a turn and a policy
SliceAnswer = bytes | SlicebaseError  # an export, or why there is none

_FEW: Final = 32  # requests for which another thread is not started


def slices_of(parts: Parts, requests: Sequence[AskedSlice]) -> list[SliceAnswer]:
    """Returns the export of the slice for each request, or the error in its place."""
    chosen_kernel()  # a wrong choice is an error of the call, not of each request
    answers: list[SliceAnswer] = [b""] * len(requests)
    named: list[tuple[int, AskedSlice]] = []
    for place, (turn, policy) in enumerate(requests):
        try:
            whole = is_uuid(turn) and turn.islower()
            named.append((place, (turn if whole else parts.stored_names.id("turn", turn), policy)))
        except SlicebaseError as error:
            answers[place] = error
    with parts.truth.sessions.around_many([request for _, request in named]) as graphs:
        groups: dict[CompactSession, list[tuple[int, AskedSlice]]] = {}
        for (place, request), graph in zip(named, graphs, strict=True):
            if isinstance(graph, SlicebaseError):
                answers[place] = graph
            elif isinstance(graph, CompactSession):
                groups.setdefault(graph, []).append((place, request))
            else:
                answers[place] = _of_stored(request, _read(graph, request))
        for session, asked in groups.items():
            found = _selected(session, [request for _, request in asked])
            for (place, request), answer in zip(asked, found, strict=True):
                answers[place] = _of_stored(request, answer)
    return answers


def _of_stored(request: AskedSlice, answer: SliceAnswer) -> SliceAnswer:
    """Returns the answer to a request for a turn that is stored: it is damage if the graph of its session lacks it."""
    lacks = isinstance(answer, SlicebaseError) and answer.code == "no-turn"
    return damaged(f"the turn {request[0]} has no node") if lacks else answer


def _read(graph: StoredGraph, request: AskedSlice) -> SliceAnswer:
    try:
        return context_slice(graph, *request).export
    except SlicebaseError as error:
        return error


def _selected(session: CompactSession, requests: list[AskedSlice]) -> list[SliceAnswer]:
    """Returns the answers of one session. Each thread has a part of the requests."""
    threads = min(processors(), len(requests) // _FEW) if session.kernel else 1
    if threads <= 1:
        return _in_order(session, requests)
    size = -(-len(requests) // threads)
    parts = [requests[first : first + size] for first in range(0, len(requests), size)]
    stopped = Event()
    with ThreadPoolExecutor(threads) as pool:
        try:
            found = pool.map(lambda part: _in_order(session, part, stopped), parts)
            return [answer for part in found for answer in part]
        except BaseException:  # such as Ctrl-C: the threads end after the slices that they have begun
            stopped.set()
            raise


def _in_order(session: CompactSession, requests: list[AskedSlice], stopped: Event | None = None) -> list[SliceAnswer]:
    found: list[SliceAnswer] = []
    while len(found) < len(requests) and not (stopped and stopped.is_set()):
        found += exports(session, requests[len(found) :])
    return found
