"""Compactions inside a transcript: what goes on from the end of compacted turns goes on from their summary.

After a compaction without a screen (`claude -p /compact`), the client names the turn before the boundary as the parent
of what follows. The model saw the summary, and not what it replaced. A record that goes on from an earlier turn is
something else: the user went back to before the compaction.

A boundary closes the turns before it, and its summary closes the boundary. A summary without a boundary closes the
turns before it itself. So from a closed turn a chain leads to the end of the last compaction, and never in a circle.
"""

from msgspec import Struct

from slicebase.importers.claude_records import BOUNDARY, is_command
from slicebase.importers.parents import ParentLinks
from slicebase.importers.thread import SourceRecord


class BoundaryState(Struct):
    """The state of the compactions of a file, from which another reader can continue: ids only."""

    closed: dict[str, str] = {}  # turns at the end of what was compacted, each with a turn that goes on from there
    boundaries: set[str] = set()
    early: dict[str, str] = {}  # boundaries that were not read yet, each with its summary, which was
    commands: set[str] = set()  # the last turns, as far as they are about commands of the client


class Boundaries:
    """The compactions of one file."""

    def __init__(self, links: ParentLinks, state: BoundaryState | None = None) -> None:
        self.state = state or BoundaryState()
        self._links = links

    def follow(self, turn: str | None) -> str | None:
        """Returns the turn itself, or the last turn of the compaction that closed it."""
        closed, passed = self.state.closed, []
        while turn in closed:
            passed.append(turn)
            turn = closed[turn]
        closed.update((each, turn) for each in passed if turn is not None)  # the next call has a shorter way
        return turn

    def add(self, record: SourceRecord, turn: str, before: str | None, logical: str | None) -> None:
        """Adds a turn. `before` is the last turn before it, and `logical` the parent that a boundary names."""
        if record.get("subtype") == BOUNDARY:
            self.state.boundaries.add(turn)
            if turn in self.state.early:
                self._close(self.state.early.pop(turn), turn)
            self._close(turn, logical, before, *self._before_commands(before))
        elif record.get("isCompactSummary") is True:
            self._add_summary(turn, before)
        if is_command(record):
            self.state.commands.add(turn)
        elif self.state.commands and record.get("isSidechain") is not True:
            self.state.commands.clear()

    def _add_summary(self, summary: str, before: str | None) -> None:
        above = next(iter(self._links.parents(summary)), None)
        if above is not None and above not in self._links:
            self.state.early[above] = summary
        elif above in self.state.boundaries:
            self._close(summary, above)
        else:
            self._close(summary, above, before, *self._before_commands(before))

    def _close(self, end: str, *turns: str | None) -> None:
        """Makes the chains of these turns lead to `end`, unless the chain of `end` leads to one of them."""
        for turn in turns:
            if turn is not None and turn not in self.state.closed and self.follow(end) != turn:
                self.state.closed[turn] = end

    def _before_commands(self, turn: str | None) -> list[str]:
        """Returns the turns from the command that compacted up to the last turn before it."""
        found = []
        while turn in self.state.commands and turn not in self.state.closed:
            turn = next(iter(self._links.parents(turn)), None)
            if turn is None:
                break
            found.append(turn)
        return found
