"""A branch of a session as a chat, in windows around a turn.

A window has turns of the path from the root over the turn to the newest one below it, and what a model saw beside that
path: the results of calls that it made at once (`slicebase.history.paths`). Where the path could go on otherwise, a
turn has the other branches.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, Final, NamedTuple

from msgspec import Struct

from slicebase.core.times import known_time
from slicebase.errors import refuse_out_of_range
from slicebase.graph.brief import brief, brief_call, one_line
from slicebase.graph.edits import edits_in
from slicebase.graph.tree import NOTHING, TurnTree
from slicebase.graph.turn import KEPT_TURN, Part, Phase, Role, Turn
from slicebase.history.paths import BELOW, is_summary
from slicebase.truth.trees import TreeNode
from slicebase.truth.truth import Truth
from slicebase.verbs.tree import MOST_BRANCHES, CompactionMark, compaction_of, number_in, ordered_kinds, with_purged

MOST_TURNS: Final = 200  # turns of the path in a window, in each direction
CLIPPED: Final = 6_000  # characters of a text in a window; the turn itself has all of it
_MOST_BESIDE: Final = 64  # turns beside one turn of the path
_FARTHEST: Final = 32  # turns of the path after which what is beside a turn is shown at the latest
_MOST_LINES: Final = 400  # of a difference in a window
_LONGEST_LINE: Final = 2_000  # characters of one of these lines
_MARK: Final = "mark"  # the type of a part that only our own recorder reads


class EditShown(Struct, frozen=True):
    """A change of a file: lines that begin with a space, `+`, `-` or `@@`, and how many more there are."""

    path: str
    lines: tuple[str, ...]
    more: int


class PartShown(Struct, frozen=True):
    """A part of a turn. A long text is cut: `size` is how many characters it has."""

    type: str
    text: str
    size: int
    name: str
    brief: str  # a call or a result in one line
    call: str  # the id that a call and its result share
    error: bool
    language: str
    uri: str
    hidden: bool
    summary: bool
    edits: tuple[EditShown, ...]


class BranchShown(Struct, frozen=True):
    """A turn with which the path could go on at a place, in one line."""

    number: int
    turn: str
    role: Role
    time: str | None
    text: str
    here: bool  # it is the one that is shown


class Branches(NamedTuple):
    """The ways in which a path could go on at a place: those around the one that is shown, and how many others."""

    shown: tuple[BranchShown, ...]
    before: int
    after: int


NO_BRANCHES: Final = Branches((), 0, 0)


class TurnShown(Struct, frozen=True):
    """A turn of a chat."""

    number: int
    turn: str
    role: Role
    time: str | None
    phase: Phase
    salience: float | None
    kinds: tuple[str, ...]
    compaction: CompactionMark
    purged: bool
    beside: bool  # it is not on the path, but a model saw it there
    branches: tuple[BranchShown, ...]  # of many, those around this one; empty where the path cannot go on otherwise
    branches_before: int  # that are not among them
    branches_after: int
    parts: tuple[PartShown, ...]


class ChatWindow(Struct, frozen=True):
    """Turns of a branch in their order, and whether it has more on each side."""

    session: str
    turns: tuple[TurnShown, ...]
    earlier: bool
    later: bool


def reading(truth: Truth, turn: str, before: int, after: int, *, alone: bool = True) -> ChatWindow:
    """Returns the turns of a branch around a turn. Without `alone`, the turn itself is not shown again."""
    refuse_out_of_range("before", before, 0)
    refuse_out_of_range("after", after, 0)
    with truth.database.reading():
        return _Window(truth, turn).read(min(before, MOST_TURNS), min(after, MOST_TURNS), alone=alone)


class _Window:
    def __init__(self, truth: Truth, turn: str) -> None:
        self._truth = truth
        self._session = truth.turns.get(turn).record.session
        self._tree: TurnTree = truth.trees.of(self._session).tree
        self._number = number_in(truth, self._session, turn)
        self._on_way: dict[int, int] = {}  # by turn: the one below it, on the way to the chosen turn
        self._nodes: dict[int, TreeNode] = {}
        self._contents: dict[int, tuple[Turn, bool]] = {}

    def read(self, before: int, after: int, *, alone: bool) -> ChatWindow:
        tree = self._tree
        above, below = tree.up(self._number, before + _FARTHEST + 1), tree.down(self._number, after + 1)
        self._on_way = dict(pairwise([*reversed(above), self._number]))
        here = [self._number] if alone else []
        path = [*reversed(above[:before]), *here, *below[:after]]
        # What is above the window is read for what is beside it: that may belong before a turn of the window.
        far = above[before:] if alone or before else [self._number, *above]
        turns = tuple(self._shown(number, is_beside) for number, is_beside in self._in_order([*reversed(far)], path))
        return ChatWindow(self._session, turns, len(above) > before, len(below) > after)

    def _in_order(self, far: Sequence[int], path: Sequence[int]) -> Iterator[tuple[int, bool]]:
        """Yields the turns of a part of the path, and before each what is beside the turns above it and older.

        `far` is what the path has above that part. So parts that follow each other show everything once, in one order.
        """
        waiting: list[tuple[int, int]] = []  # what is beside a turn, with the place of that turn
        for place, number in enumerate((*far, *path)):
            ready = sorted(each for each, since in waiting if each < number or place - since >= _FARTHEST)
            waiting = [(each, since) for each, since in waiting if each not in ready]
            if place >= len(far):
                yield from ((each, True) for each in ready)
                yield number, False
            waiting += [(each, place) for each in self._beside(number)]
        if path and self._followed(path[-1]) == NOTHING:
            yield from ((each, True) for each in sorted(each for each, _ in waiting))

    def _beside(self, number: int) -> list[int]:
        """Returns the rest of the message that a turn is a block of, and the results of its calls."""
        tree = self._tree
        if tree.first[number] == NOTHING or tree.next[tree.first[number]] == NOTHING:
            return []  # the only child is on the path
        turn, _ = self._content(number)
        has_calls = any(part.type == "tool_call" for part in turn.parts)
        ahead = [(number, ("assistant", "tool") if turn.role == "assistant" and has_calls else ("tool",))]
        found: list[int] = []
        followed = self._followed(number)
        while ahead and len(found) < _MOST_BESIDE:
            here, roles = ahead.pop()
            for child in islice(tree.children(here), MOST_BRANCHES):
                role = self._node(child).role
                if child != followed and role in roles and self._is_seen(child):
                    found.append(child)
                    ahead.append((child, BELOW[role]))
        return found

    def _followed(self, number: int) -> int:
        """Returns the child of a turn that is on the path."""
        return self._on_way.get(number, self._tree.follow[number])

    def _is_seen(self, number: int) -> bool:
        return not is_summary(self._content(number)[0])

    def _branches(self, number: int) -> Branches:
        others = self._tree.alternatives(number)
        parent = self._tree.above[number]
        beside = set(self._beside(parent)) if parent >= 0 and len(others) > 1 else set()
        all_ = [each for each in others if each not in beside or each == number]
        if len(all_) < 2:
            return NO_BRANCHES
        first = max(0, min(all_.index(number) - MOST_BRANCHES // 2, len(all_) - MOST_BRANCHES))
        shown = tuple(self._branch(each, here=each == number) for each in all_[first : first + MOST_BRANCHES])
        return Branches(shown, first, len(all_) - first - len(shown))

    def _branch(self, number: int, *, here: bool) -> BranchShown:
        node, (turn, _) = self._node(number), self._content(number)
        return BranchShown(number, node.turn, node.role, known_time(node.time), brief(turn.parts), here)

    def _node(self, number: int) -> TreeNode:
        if number not in self._nodes:
            (self._nodes[number],) = self._truth.trees.some(self._session, [number])
        return self._nodes[number]

    def _content(self, number: int) -> tuple[Turn, bool]:
        if number not in self._contents:
            record = self._truth.turns.get(self._node(number).turn).record
            self._contents[number] = with_purged(self._truth, self._truth.with_content(record))
        return self._contents[number]

    def _shown(self, number: int, is_beside: bool) -> TurnShown:
        node, (turn, purged) = self._node(number), self._content(number)
        branches = NO_BRANCHES if is_beside else self._branches(number)
        return turn_shown(node, turn, purged=purged, beside=is_beside, branches=branches)


def turn_shown(
    node: TreeNode,
    turn: Turn,
    *,
    purged: bool,
    beside: bool = False,
    branches: Branches = NO_BRANCHES,
    longest: int = CLIPPED,
) -> TurnShown:
    """Returns a turn as a chat shows it."""
    return TurnShown(
        number=node.number,
        turn=node.turn,
        role=node.role,
        time=known_time(node.time),
        phase=node.phase,
        salience=node.salience,
        kinds=ordered_kinds(turn),
        compaction=compaction_of(turn),
        purged=purged,
        beside=beside,
        branches=branches.shown,
        branches_before=branches.before,
        branches_after=branches.after,
        parts=tuple(part_shown(part, longest) for part in turn.parts if part.type not in (_MARK, KEPT_TURN)),
    )


def part_shown(part: Part, longest: int = CLIPPED) -> PartShown:
    """Returns a part of a turn as a chat shows it; arguments are JSON text."""
    is_call = part.type == "tool_call"
    text = _arguments(part.arguments) if is_call else part.text or ""
    told = brief_call(part.name, part.arguments) if is_call else one_line(text) if part.type == "tool_result" else ""
    found = edits_in(part.name or "", part.arguments) if is_call else []
    return PartShown(
        type=part.type,
        text=text[:longest],
        size=len(text),
        name=part.name or "",
        brief=told,
        call=part.call_id or "",
        error=part.error,
        language=part.language or "",
        uri=part.uri or "",
        hidden=part.hidden,
        summary=part.summary,
        edits=tuple(
            EditShown(
                path=edit.path,
                lines=tuple(line[:_LONGEST_LINE] for line in edit.lines[:_MOST_LINES]),
                more=max(0, len(edit.lines) - _MOST_LINES),
            )
            for edit in found
        ),
    )


def _arguments(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    if not arguments and isinstance(arguments, Mapping | None):
        return ""
    return json.dumps(arguments, ensure_ascii=False, indent=2)
