"""The turns that a model saw before a turn: the path from the root to it, and what a client wrote beside that path.

- A turn's parent is the one that its record states, else one that became known later. If it states one that is not
  stored, the turn goes on from the turn before it in its session, as ruling 18 says for compactions.
- Calls that a model makes at once are several records, each the child of the one before, and a result is a child of its
  call. The next answer goes on from one of the results: the other calls and results are beside the path, and the model
  saw them. A branch that a user started begins with a turn of the user.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import takewhile

from slicebase.errors import SlicebaseError
from slicebase.graph.turn import TREE_EDGES, Turn
from slicebase.truth.truth import Truth

# What follows a turn beside the path, by roles: other blocks of the message, results, and what hooks said about them.
BELOW = {"assistant": ("assistant", "tool"), "tool": ("tool", "system"), "system": ("tool", "system")}


class Paths:
    """Paths through stored turns, with the sessions read so far."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._turns: dict[str, Turn] = {}
        self._elsewhere: dict[str, str] = {}  # the sessions of other turns that are named
        self._sessions: dict[str, list[Turn]] = {}
        self._places: dict[str, int] = {}  # of each turn in its session
        self._links: dict[str, list[str]] = defaultdict(list)  # by child: parents that became known later
        self._children: dict[str, list[Turn]] = defaultdict(list)

    def turns(self, session: str) -> list[Turn]:
        """Returns the turns of a session in their order. A purged turn has no parts."""
        if session not in self._sessions:
            stored = [self._truth.with_content(each.record) for each in self._truth.turns.of_session(session)]
            self._sessions[session] = stored
            self._turns |= {turn.id: turn for turn in stored}
            self._places |= {turn.id: place for place, turn in enumerate(stored)}
            for link in self._truth.turns.links_of(session):
                if link.type in TREE_EDGES:
                    self._links[link.child].append(link.parent)
            named = {parent for turn in stored for parent in self._stated(turn)} - self._turns.keys()
            found = self._truth.turns.find(named)
            self._elsewhere |= {turn_id: each.record.session for turn_id, each in found.items()}
            for turn in stored:
                if (above := self._parent(turn)) is not None:
                    self._children[above].append(turn)
        return self._sessions[session]

    def up(self, turn: Turn | None) -> Iterator[Turn]:
        """Yields a turn and its ancestors, also those in sessions that its session continues."""
        passed: set[str] = set()
        while turn is not None and turn.id not in passed:
            yield turn
            passed.add(turn.id)
            above = self._parent(turn)
            turn = self._find(above) if above is not None else None

    def to_leaf(self, session: str, leaf: str | None = None) -> list[Turn]:
        """Returns the turns of a session that a model saw up to a turn, by default up to the newest leaf."""
        self._truth.turns.session(session)
        turns = self.turns(session)
        if leaf is not None and (leaf not in self._turns or self._turns[leaf].session != session):
            hint = "`tt turns SESSION` lists them"
            raise SlicebaseError("no-turn", f"there is no turn {leaf} in the session", hint=hint)
        if not turns:
            return []
        last = self._turns[leaf] if leaf is not None else self._newest_leaf(turns)
        path = takewhile(lambda turn: turn.session == session, self.up(last))
        return self.seen(list(path)[::-1], last)

    def seen(self, path: Sequence[Turn], last: Turn) -> list[Turn]:
        """Returns the turns of a path and those beside it that were there before `last`, as they were written."""
        on_path = {turn.id for turn in path}
        beside: list[tuple[int, str]] = []
        found: list[Turn] = []
        for before, turn in zip((None, *path), path, strict=False):
            is_same = before is not None and before.session == turn.session
            while beside and (not is_same or beside[0][0] < self._places[turn.id]):
                found.append(self._turns[heappop(beside)[1]])
            found.append(turn)
            for each in self._beside(turn, on_path):
                if each.time <= last.time:
                    heappush(beside, (self._places[each.id], each.id))
        return found + [self._turns[turn_id] for _, turn_id in sorted(beside)]

    def _beside(self, turn: Turn, on_path: set[str]) -> Iterator[Turn]:
        """Yields the rest of the message that a turn of a path is a block of, and the results of its calls."""
        has_calls = any(part.type == "tool_call" for part in turn.parts)
        roles = ("assistant", "tool") if turn.role == "assistant" and has_calls else ("tool",)
        ahead = [(turn, roles)]
        while ahead:
            above, roles = ahead.pop()
            for child in self._children.get(above.id, ()):
                if child.id not in on_path and child.role in roles and not is_summary(child):
                    yield child
                    ahead.append((child, BELOW[child.role]))

    def _newest_leaf(self, turns: Sequence[Turn]) -> Turn:
        """Returns the newest turn without children. One that only refers to another is beside all paths."""
        inner = {parent for turn in turns for parent in self._stated(turn)} | self._children.keys()
        inner.update(turn.id for turn in turns if turn.parents and not self._stated(turn))
        leaves = [turn for turn in turns if turn.id not in inner] or turns
        return max(leaves, key=lambda turn: (turn.time, turn.id))

    def _parent(self, turn: Turn) -> str | None:
        """Returns the parent of a turn in the tree."""
        stated = self._stated(turn)
        for parent in stated:
            if parent in self._turns or parent in self._elsewhere:
                return parent
        place = self._places[turn.id]
        return self._sessions[turn.session][place - 1].id if stated and place else None

    def _stated(self, turn: Turn) -> list[str]:
        """Returns the parents of a turn in the tree: those in its record first, and the lowest id first."""
        own = sorted(parent.id for parent in turn.parents if parent.type in TREE_EDGES)
        return own + sorted(self._links.get(turn.id, ()))

    def _find(self, turn_id: str) -> Turn:
        if turn_id not in self._turns:
            self.turns(self._elsewhere[turn_id])
        return self._turns[turn_id]


def summaries(truth: Truth, session: str) -> list[str]:
    """Returns the turns of a session that are summaries of compactions, in their order; none if it is not stored."""
    if truth.turns.newest_record(session) is None:
        return []
    records = (each.record for each in truth.turns.of_session(session))  # ruling 18: a summary is a turn of the system
    return [record.id for record in records if record.role == "system" and is_summary(truth.with_content(record))]


def is_summary(turn: Turn | None) -> bool:
    """Returns whether a turn is the summary of a compaction."""
    return turn is not None and any(part.summary for part in turn.parts)
