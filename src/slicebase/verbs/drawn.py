"""A context slice as it is drawn on the tree of its session: every selected turn, and why others are not selected.

The selection is that of `select`. The reasons are looked up only for the rows of the tree that somebody sees, so that a
slice can be drawn again at once when a parameter of the policy changes.
"""

import shlex
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct, field

from slicebase.errors import refuse_out_of_range
from slicebase.graph.compact import TURN_KINDS, CompactSession
from slicebase.graph.policy import POLICY_ID, SlicePolicyV1
from slicebase.graph.reasons import Families, PassedOver
from slicebase.graph.select import FrontierTurn, ReachedAs, UnselectedReason
from slicebase.graph.selection import context_slice, select
from slicebase.graph.turn import PHASES, Phase
from slicebase.truth.stored_graph import StoredGraph
from slicebase.truth.truth import Truth
from slicebase.verbs.tree import MOST_ROWS

MOST_SELECTED: Final = 100  # selected turns in full, the first ones; others that are seen come, too
MOST_MARKS: Final = 5_000  # selected turns that are not listed in full


class DrawnTurn(Struct, frozen=True):
    """A turn of a slice: its row in the tree, and how it was reached."""

    number: int
    turn: str
    phase: Phase
    distance: int
    priority: float
    way: ReachedAs
    reached_from: str | None = field(name="from")


class SelectedMark(Struct, frozen=True, array_like=True):
    """A turn of a slice in short: its row in the tree, the number of its phase among `PHASES`, and its distance."""

    number: int
    phase: int
    distance: int


class LeftOutTurn(Struct, frozen=True):
    """A turn that could be reached and was not selected."""

    turn: str
    distance: int
    priority: float
    way: ReachedAs
    reached_from: str | None = field(name="from")
    reason: UnselectedReason


class DrawnSlice(Struct, frozen=True):
    """A slice with its hashes, and the rows that it takes in the tree of its session."""

    session: str
    anchor: str
    slice_id: str
    policy: str
    export_hash: str
    annotators: tuple[str, ...]
    parameters: dict[str, Any]
    command: str
    turns: int
    phases: dict[str, int]  # selected turns of each, also those that are not listed
    farthest: int  # the largest distance of a selected turn
    selected: tuple[DrawnTurn, ...]  # the first ones and those of the rows that were asked for, in order of selection
    marks: tuple[SelectedMark, ...]  # others, in order of selection
    marked_phases: tuple[Phase, ...]  # the phases that marks number
    more: int  # selected turns that are in neither list
    left_out: tuple[LeftOutTurn, ...]  # of the rows that were asked for


def drawn(truth: Truth, turn: str, policy: SlicePolicyV1, first: int, limit: int, command: str) -> DrawnSlice:
    """Returns the slice around a turn as it is drawn, with the reasons of some rows of the tree."""
    refuse_out_of_range("first", first, 0)
    refuse_out_of_range("limit", limit, 0)
    seen = min(limit, MOST_ROWS)
    with truth.sessions.around(turn) as graph:
        found, chosen = context_slice(graph, turn, policy), select(graph, turn, policy)
        families = Families(graph, policy.max_siblings_per_node)
        nodes = truth.trees.nodes(graph.session_id, first, seen) if seen else []
        reasons = PassedOver(families, chosen, policy).reasons([node.turn for node in nodes]) if nodes else []
        selected = [_selected(graph, each) for each in chosen]
    rows = range(first, first + seen)
    is_listed = [place < MOST_SELECTED or each.number in rows for place, each in enumerate(selected)]
    listed = [each for each, is_full in zip(selected, is_listed, strict=True) if is_full]
    others = [each for each, is_full in zip(selected, is_listed, strict=True) if not is_full][:MOST_MARKS]
    phases = Counter(each.phase for each in selected)
    return DrawnSlice(
        session=graph.session_id,
        anchor=turn,
        slice_id=found.slice_id,
        policy=f"{POLICY_ID}:{found.policy_params_hash}",
        export_hash=found.export_hash,
        annotators=found.annotators,
        parameters={**policy.as_json()},
        command=command,
        turns=len(chosen),
        phases={phase: phases[phase] for phase in PHASES if phase in phases},
        farthest=max(each.distance for each in chosen),
        selected=tuple(listed),
        marks=tuple(SelectedMark(each.number, PHASES.index(each.phase), each.distance) for each in others),
        marked_phases=PHASES,
        more=len(chosen) - len(listed) - len(others),
        left_out=tuple(
            LeftOutTurn(
                candidate.turn_id,
                candidate.distance,
                candidate.priority,
                candidate.reached_as,
                candidate.reached_from,
                reason,
            )
            for candidate, reason in reasons
        ),
    )


def _selected(graph: CompactSession | StoredGraph, each: FrontierTurn) -> DrawnTurn:
    number = graph.number_of(each.turn_id)
    if isinstance(graph, CompactSession):
        phase = TURN_KINDS[graph.columns.kind[number]][1]
    else:
        phase, number = PHASES[graph.near(number).phase], number - 1
    return DrawnTurn(number, each.turn_id, phase, each.distance, each.priority, each.reached_as, each.reached_from)


def command_of(turn: str, policy: str, assignments: Iterable[str]) -> str:
    """Returns the command that selects the same slice."""
    chosen = [] if policy == "default" else ["--policy", policy]
    return shlex.join(["tt", "slice", turn, *chosen, *(word for each in assignments for word in ("--set", each))])
