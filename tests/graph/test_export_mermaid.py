"""Context slices drawn as Mermaid flowcharts."""

from slicebase.graph.export import mermaid
from slicebase.graph.policy import DEFAULT
from tests.graph.graphs import Graph, edge, tid, turn


def test_a_flowchart_shows_turns_edges_and_the_anchor() -> None:
    edges = (edge(1, 2), edge(1, 3, "branch"), edge(3, 2, "reference"), edge(3, 2, "default"))
    given = Graph((turn(1), turn(2, "debugging", 0.25), turn(3)), edges)
    assert mermaid(given.plain.context_slice(tid(2), DEFAULT)).splitlines() == [
        "flowchart TD",
        '  t0["00000000<br/>user · planning · 0.50"]',
        '  t1["00000000<br/>user · debugging · 0.25"]',
        '  t2["00000000<br/>user · planning · 0.50"]',
        "  t0 --> t1",
        "  t0 -->|branch| t2",
        "  t2 --- t1",
        "  t2 -.->|reference| t1",
        "  style t1 stroke-width:4px",
    ]
