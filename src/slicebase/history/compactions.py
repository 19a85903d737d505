"""Compactions of stored sessions: which turns each removed from the context, and which turns replaced them.

A model saw the path from the root to the summary, and the results of calls on that path: the results of parallel calls
are beside it. The path may begin in another session that this one continues; references are not part of it.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import takewhile

from slicebase.context.lost import CompactedTurns
from slicebase.graph.turn import Turn, tree_parent
from slicebase.truth.truth import Truth


def compacted_sessions(truth: Truth) -> list[str]:
    """Returns the sessions that contain a summary, the one with the newest summary first."""
    newest: dict[str, str] = {}
    for record in truth.turns.system_turns():
        if record.time >= newest.get(record.session, "") and _is_summary(truth.turn(record.id)):
            newest[record.session] = record.time
    return sorted(newest, key=lambda session: (newest[session], session), reverse=True)


def compactions(truth: Truth, session: str) -> list[CompactedTurns]:
    """Returns a session's compactions, oldest first; if it has none, those of the sessions that it continues."""
    truth.turns.session(session)
    paths = _Paths(truth)
    own = [turn for turn in paths.turns(session) if _is_summary(turn)]
    inherited = [] if own else [turn for turn in paths.up(paths.last(session)) if _is_summary(turn)][::-1]
    summaries = own or inherited
    followed = {paths.parent(turn) for turn in summaries}
    return [paths.compaction(turn) for turn in summaries if turn.id not in followed]


def turns_since(truth: Truth, session: str, compaction: CompactedTurns) -> list[Turn]:
    """Returns the turns of a session after a compaction, up to its last turn."""
    paths = _Paths(truth)
    last = compaction.summary[-1]
    turns = paths.turns(session)
    if last.session == session:
        place = next(number for number, turn in enumerate(turns) if turn.id == last.id)
        return turns[place + 1 :]
    since = list(takewhile(lambda turn: turn.id != last.id, paths.up(paths.last(session))))[::-1]
    return list(paths.with_results(since))


class _Paths:
    """Paths from a turn up to the root, with the sessions read so far."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._turns: dict[str, Turn] = {}
        self._sessions: dict[str, list[Turn]] = {}
        self._links: dict[str, list[tuple[str, str]]] = defaultdict(list)  # by child: parents with their edge types
        self._results: dict[str, list[Turn]] = defaultdict(list)

    def turns(self, session: str) -> list[Turn]:
        if session not in self._sessions:
            stored = (self._truth.turn(each.record.id) for each in self._truth.turns.of_session(session))
            self._sessions[session] = [turn for turn in stored if turn is not None]
            self._turns |= {turn.id: turn for turn in self._sessions[session]}
            for link in self._truth.turns.links_of(session):
                self._links[link.child].append((link.parent, link.type))
            for turn in self._sessions[session]:
                if turn.role == "tool" and (above := self.parent(turn)):
                    self._results[above].append(turn)
        return self._sessions[session]

    def last(self, session: str) -> Turn | None:
        turns = self.turns(session)
        return turns[-1] if turns else None

    def parent(self, turn: Turn) -> str | None:
        return turn.tree_parent or tree_parent(self._links.get(turn.id, ()))

    def up(self, turn: Turn | None) -> Iterator[Turn]:
        while turn is not None:
            yield turn
            above = self.parent(turn)
            turn = self._find(above) if above else None

    def _find(self, turn_id: str) -> Turn | None:
        if turn_id not in self._turns and (stored := self._truth.turns.find([turn_id]).get(turn_id)):
            self.turns(stored.record.session)
        return self._turns.get(turn_id)

    def compaction(self, last: Turn) -> CompactedTurns:
        """Returns the compaction that ends here. Summaries in a row are one; `before` starts after the previous one."""
        summary: list[Turn] = []
        before: list[Turn] = []
        for turn in self.up(last):
            if _is_summary(turn):
                if before:
                    break
                summary.append(turn)
            else:
                before.append(turn)
        return CompactedTurns(tuple(self.with_results(before[::-1])), tuple(summary[::-1]))

    def with_results(self, path: list[Turn]) -> Iterator[Turn]:
        on_path = {turn.id for turn in path}
        for turn in path:
            yield turn
            yield from (result for result in self._results[turn.id] if result.id not in on_path)


def _is_summary(turn: Turn | None) -> bool:
    return turn is not None and any(part.summary for part in turn.parts)
