"""A context slice as a Mermaid flowchart, for Markdown that draws it."""

from typing import Final

from slicebase.graph.export import ContextSlice, ExportedTurn
from slicebase.graph.turn import EdgeType

_ARROWS: Final[dict[EdgeType, str]] = {
    "reply": "-->",
    "branch": "-->|branch|",
    "reference": "-.->|reference|",
    "default": "---",
}


def mermaid(context_slice: ContextSlice) -> str:
    """One box for each turn, with the start of its id, role, phase and salience; the anchor is drawn thick."""
    export = context_slice.contents
    names = {turn.id: f"t{number}" for number, turn in enumerate(export.turns)}
    lines = ["flowchart TD"]
    lines += [f'  {names[turn.id]}["{_label(turn)}"]' for turn in export.turns]
    lines += [f"  {names[edge.parent]} {_ARROWS[edge.edge_type]} {names[edge.child]}" for edge in export.edges]
    lines += [f"  style {names[export.anchor_turn_id]} stroke-width:4px"]
    return "\n".join(lines) + "\n"


def _label(turn: ExportedTurn) -> str:
    return f"{turn.id[:8]}<br/>{turn.role} · {turn.phase} · {turn.salience:.2f}"
