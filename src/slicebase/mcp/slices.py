"""The tool for context slices: the turns around a turn that a policy selects, and why."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from slicebase.mcp.calls import Arguments, Result, ToolCall, ToolOutput, ToolResult
from slicebase.mcp.quotes import Limit, PagedLine, PageNumber, excerpt, more_pages, page_of, quoted

if TYPE_CHECKING:
    from slicebase.graph.policy import SlicePolicyV1
    from slicebase.graph.select import FrontierTurn


class SliceArguments(Arguments, frozen=True):
    turn: Annotated[str, Meta(description="The turn in the middle", examples=["turn:5c1e…"])]
    policy: Annotated[
        str | dict[str, Any] | None,
        Meta(description="default, focused, broad, a hash, or parameters", examples=["focused", {"max_nodes": 8}]),
    ] = None
    explain: Annotated[bool, Meta(description="Why each was selected or left out")] = False
    limit: Limit = 50
    page: PageNumber = 1


class SlicedTurn(Result, frozen=True):
    ref: str
    phase: str = ""
    salience: float | None = None
    priority: float | None = None
    distance: int | None = None
    reached: str = ""  # the anchor, or how and from which turn
    left_out: str = ""  # why


class SliceResult(ToolResult, frozen=True):
    turns: list[SlicedTurn]
    total: int
    slice_id: str = ""
    export_hash: str = ""
    policy: str = ""
    next: int | None = None


def slice_turns(call: ToolCall, given: SliceArguments) -> ToolOutput:
    """Selects the context slice around a turn, or says why each turn is in it or not."""
    turn, policy = given.turn.removeprefix("turn:"), call.base.graph.requested_policy(given.policy)
    result, entries = (_explained if given.explain else _selected)(call, turn, policy)
    shown, following = page_of(entries, given.page, given.limit)
    turns = [each.value for each in shown if isinstance(each.value, SlicedTurn)]
    named = {"slice_id": result.slice_id, "export_hash": result.export_hash, "policy": policy.params_hash}
    text = quoted([each.text for each in shown], " ".join(filter(None, [result.slice_id, more_pages(following)])))
    return ToolOutput(SliceResult(turns, len(entries), **named, next=following), text)


def _selected(call: ToolCall, turn: str, policy: "SlicePolicyV1") -> tuple[SliceResult, list[PagedLine]]:
    """Returns the turns of a slice, oldest first."""
    found = call.base.graph.select(turn, policy)
    entries = []
    for each in sorted(found.contents.turns, key=lambda turn: (turn.created_at, turn.id)):
        value = SlicedTurn(f"turn:{each.id}", each.phase, round(each.salience, 6))
        middle = " (the anchor)" if each.id == found.anchor_turn_id else ""
        text = f"{value.ref} {each.role} {each.phase} {each.salience:.2f}{middle}: {_beginning(call, each.id)}"
        entries.append(PagedLine(text, value))
    return SliceResult([], 0, found.slice_id, found.export_hash), entries


def _explained(call: ToolCall, turn: str, policy: "SlicePolicyV1") -> tuple[SliceResult, list[PagedLine]]:
    """Returns the turns of a slice in the order in which they were selected, then the best of those left out."""
    found = call.base.graph.explain(turn, policy)
    entries = [_why(call, each) for each in found.selected]
    return SliceResult([], 0), entries + [_why(call, each, reason) for each, reason in found.left_out]


def _why(call: ToolCall, turn: "FrontierTurn", reason: str = "") -> PagedLine:
    reached = f"{turn.reached_as} of turn:{turn.reached_from}" if turn.reached_from else "anchor"
    value = SlicedTurn(
        f"turn:{turn.turn_id}",
        priority=round(turn.priority, 6),
        distance=turn.distance,
        reached=reached,
        left_out=reason,
    )
    said = f"left out ({reason})" if reason else "selected"
    text = f"{value.ref} {said}, priority {turn.priority:.6f}, distance {turn.distance}, {reached}"
    return PagedLine(f"{text}: {_beginning(call, turn.turn_id)}", value)


def _beginning(call: ToolCall, turn: str) -> str:
    return excerpt(call.base.graph.turn(turn).text or "")
