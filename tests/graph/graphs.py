"""Graphs to test with: the golden ones, small ones written by hand, and strategies for arbitrary ones."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, get_args

from hypothesis import strategies as st
from msgspec.structs import astuple

from slicebase.graph.binary32 import binary32
from slicebase.graph.compact import CompactSession, compact
from slicebase.graph.export import FRACTIONS, ExportedTurn
from slicebase.graph.policy import PhaseWeights, SlicePolicyV1
from slicebase.graph.select import SessionGraph
from slicebase.graph.turn import GIVEN, PHASES, Edge, EdgeType, Phase
from tests.paths import GOLDEN

GOLDEN_GRAPHS = sorted(path.stem for path in GOLDEN.glob("*_*.json"))


class Graph(NamedTuple):
    turns: tuple[ExportedTurn, ...]
    edges: tuple[Edge, ...]

    @property
    def plain(self) -> SessionGraph:
        return SessionGraph(self.turns, self.edges)

    @property
    def compact(self) -> CompactSession:
        rows = [(turn.id, turn.role, *astuple(turn)[3:], GIVEN) for turn in self.turns]
        return compact(self.turns[0].session_id, rows, [(e.parent, e.child, e.edge_type) for e in self.edges])


def tid(number: int) -> str:
    return f"00000000-0000-0000-0000-{number:012x}"


def turn(number: int, phase: Phase = "planning", salience: float = 0.5, **others: Any) -> ExportedTurn:
    fields: dict[str, Any] = {
        "id": tid(number),
        "session_id": "s",
        "role": "user",
        "phase": phase,
        "salience": binary32(salience),
        "trajectory_depth": 0,
        "trajectory_sibling_order": 0,
        "trajectory_homogeneity": 0.5,
        "trajectory_temporal": 0.5,
        "trajectory_complexity": 1.0,
        "created_at": 1704067200,
    }
    return ExportedTurn(**{**fields, **others})


def edge(parent: int, child: int, edge_type: EdgeType = "reply") -> Edge:
    return Edge(tid(parent), tid(child), edge_type)


def graph(turns: Sequence[ExportedTurn], *pairs: tuple[int, int]) -> Graph:
    return Graph(tuple(turns), tuple(edge(parent, child) for parent, child in pairs))


@cache
def golden(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_bytes())
    return value


def golden_graph(name: str) -> Graph:
    data = golden(name)
    turns = []
    for each in data["turns"]:
        fields: dict[str, Any] = {field: each[field] for field in ExportedTurn.__struct_fields__}
        turns.append(ExportedTurn(**{**fields, **{field: binary32(fields[field]) for field in FRACTIONS}}))
    return Graph(tuple(turns), tuple(Edge(**each) for each in data["edges"]))


# Ordinary saliences, and saliences that are neighbours in binary32, so that rounding makes them equal.
_SALIENCES = [0.0, 1.0, 0.25, 0.1, 0.7, *(binary32(0.5 + step * 2.0**-24) for step in range(8))]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draws any directed graph without cycles: forests, stars, joins, and several edges between the same turns."""
    count = draw(st.integers(1, 24))
    numbers = draw(st.permutations(range(count)))  # ids do not follow the order of the conversation
    marks = st.tuples(st.sampled_from(PHASES), st.sampled_from(_SALIENCES))
    turns = [
        turn(n, *mark) for n, mark in zip(numbers, draw(st.lists(marks, min_size=count, max_size=count)), strict=True)
    ]
    hubs = draw(st.lists(st.integers(0, count - 1), max_size=2))
    edges = []
    for below in range(1, count):
        near = st.integers(max(0, below - 3), below - 1)
        hub = st.sampled_from([hub for hub in hubs if hub < below] or [0])
        drawn = draw(st.lists(st.tuples(hub | near, st.sampled_from(get_args(EdgeType))), max_size=3))
        edges += [edge(numbers[above], numbers[below], edge_type) for above, edge_type in drawn]
    return Graph(tuple(turns), tuple(edges))


@st.composite
def policies(draw: st.DrawFn) -> SlicePolicyV1:
    weight = st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0, -0.4])
    return SlicePolicyV1(
        max_nodes=draw(st.integers(1, 30)),
        max_radius=draw(st.integers(0, 7)),
        phase_weights=PhaseWeights(**draw(st.fixed_dictionaries(dict.fromkeys(PHASES, weight)))),
        salience_weight=draw(st.sampled_from([0.0, 0.3, 1.0])),
        distance_decay=draw(st.sampled_from([0.0, 0.333333, 0.9, 1.0])),
        include_siblings=draw(st.booleans()),
        max_siblings_per_node=draw(st.integers(0, 5)),
    )
