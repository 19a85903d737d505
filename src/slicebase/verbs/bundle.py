"""Bundles of context slices, with the graph around them, of which a manifest pins the hash."""

import os
from pathlib import Path
from typing import NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.graph.bundle import Bundle, GraphAround, graph_around, make_bundle, snapshot_hash
from slicebase.graph.export import ContextSlice, SliceExport
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import TurnGraph
from slicebase.graph.selection import context_slice
from slicebase.truth.truth import Truth
from slicebase.workspace.atomic import own_temporary, read_bytes, write_bytes
from slicebase.workspace.boundary import real_path


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


def bundle_of(truth: Truth, turn: str, policy: SlicePolicyV1, key: bytes | None = None) -> Bundle:
    """Returns the bundle of the context slice around a turn, signed if there is a key."""
    with truth.sessions.around(turn) as graph:
        found = context_slice(graph, turn, policy)
        return make_bundle(found, around(truth, graph, found.contents, policy), policy, key)


def write_bundle(bundle: Bundle, to: Path) -> None:
    """Writes a bundle to a new file, in one step. A file that has these bytes already stays as it is."""
    data = bundle.to_bytes()
    if os.path.lexists(to):
        is_as_long = to.is_file() and to.stat().st_size == len(data)
        if is_as_long and read_bytes(to, follow=True, most=len(data) + 1) == data:
            return
        raise SlicebaseError("file-exists", f"{to} exists already", hint="choose another name", where=Where(str(to)))
    folder = real_path(to.parent)
    write_bytes(folder / to.name, [data], within=folder, temporary=own_temporary())  # no lock is held there
