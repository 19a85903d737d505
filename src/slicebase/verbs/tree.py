"""A session as a tree, in windows: only the rows that somebody sees are read, however large the session is."""

from itertools import islice
from typing import Final, Literal

from msgspec import Struct

from slicebase.context.lost.judged import is_boundary
from slicebase.core.times import known_time
from slicebase.errors import SlicebaseError, refuse_out_of_range
from slicebase.graph.brief import brief
from slicebase.graph.contents import KINDS_OF_TURNS, calls_in, kinds_of
from slicebase.graph.turn import Phase, Role, Turn
from slicebase.history.paths import is_summary
from slicebase.truth.trees import StoredTree, TreeNode
from slicebase.truth.truth import Truth

MOST_ROWS: Final = 500
MOST_BRANCHES: Final = 100  # that are counted, or listed, at one turn
_MOST_CALLS: Final = 4

CompactionMark = Literal[
    "", "summary", "mark"
]  # whether a turn is the summary of a compaction, or a client's mark of one


class TreeRow(Struct, frozen=True):
    """A turn as a row of its tree. Lanes are the bits of a number, as in `slicebase.graph.lanes`."""

    number: int  # in the session, from 0
    turn: str
    role: Role
    time: str | None
    phase: Phase
    salience: float | None
    text: str  # in one line
    kinds: tuple[str, ...]
    calls: tuple[str, ...]  # the names of tools, the first ones
    compaction: CompactionMark
    purged: bool
    branches: int  # turns that follow it
    lane: int
    above: int
    below: int
    forks: int
    joins: int


class TreeWindow(Struct, frozen=True):
    """Some rows of a session's tree, and how large all of it is."""

    session: str
    turns: int
    width: int  # lanes
    branches: int
    first: int  # the number of the first row
    rows: tuple[TreeRow, ...]


def tree_window(truth: Truth, session: str, first: int, limit: int, turn: str | None = None) -> TreeWindow:
    """Returns the rows of a session's tree from a number on; with a turn, those around it."""
    refuse_out_of_range("first", first, 0)
    refuse_out_of_range("limit", limit, 1)
    limit = min(limit, MOST_ROWS)
    with truth.database.reading():
        truth.turns.session(session)  # an unknown session is an error, not an empty one
        stored = truth.trees.of(session)
        if turn is not None:
            first = max(0, number_in(truth, session, turn) - limit // 2)
        nodes = truth.trees.nodes(session, first, limit)
        contents = contents_between(truth, session, first, limit)
        rows = tuple(_row(stored, node, *contents[node.turn]) for node in nodes)
    return TreeWindow(session, len(stored.tree), stored.lanes.width, stored.lanes.branches, first, rows)


def number_in(truth: Truth, session: str, turn: str) -> int:
    """Returns the number of a turn in its session, from 0. Raises `no-turn` for one of another session."""
    seq, record = truth.turns.get(turn)
    if record.session != session:
        raise SlicebaseError(
            "no-turn", f"the turn {turn} is not in this session", hint=f"it is in session:{record.session}"
        )
    return seq - 1


def contents_between(truth: Truth, session: str, first: int, limit: int) -> dict[str, tuple[Turn, bool]]:
    """Returns turns with their contents by their ids, each with whether it was purged."""
    records = [stored.record for stored in truth.turns.between(session, first + 1, first + limit)]
    return {record.id: with_purged(truth, truth.with_content(record)) for record in records}


def with_purged(truth: Truth, turn: Turn) -> tuple[Turn, bool]:
    """Returns a turn with whether its content was purged."""
    if turn.parts:
        return turn, False
    stored = truth.turns.get(turn.id).record
    text = truth.texts.get(f"session:{turn.session}", stored.content_hash)
    return turn, text is None or text.data is None


def compaction_of(turn: Turn) -> CompactionMark:
    """Returns whether a turn is the summary or the mark of a compaction."""
    if turn.role != "system":
        return ""
    return "summary" if is_summary(turn) else "mark" if is_boundary(turn) else ""


def ordered_kinds(turn: Turn) -> tuple[str, ...]:
    """Returns the kinds of a turn in a fixed order."""
    found = kinds_of(turn.role, turn.parts)
    return tuple(kind for kind in KINDS_OF_TURNS if kind in found)


def _row(stored: StoredTree, node: TreeNode, turn: Turn, purged: bool) -> TreeRow:
    lane, above, below, forks, joins = stored.lanes.row(node.number)
    return TreeRow(
        number=node.number,
        turn=node.turn,
        role=node.role,
        time=known_time(node.time),
        phase=node.phase,
        salience=node.salience,
        text=brief(turn.parts),
        kinds=ordered_kinds(turn),
        calls=tuple(call.tool for call in calls_in(turn.parts)[:_MOST_CALLS]),
        compaction=compaction_of(turn),
        purged=purged,
        branches=len(list(islice(stored.tree.children(node.number), MOST_BRANCHES))),
        lane=lane,
        above=above,
        below=below,
        forks=forks,
        joins=joins,
    )
