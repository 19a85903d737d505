"""Compactions inside a transcript: what goes on from the end of compacted turns goes on from their summary.

After a compaction without a screen (`claude -p /compact`), the client names the turn before the boundary as the parent
of what follows. The model saw the summary, and not what it replaced. A record that goes on from an earlier turn is
something else: the user went back to before the compaction.
"""

from msgspec import Struct

from slicebase.importers.claude_records import BOUNDARY, is_command
from slicebase.importers.parents import ParentLinks
from slicebase.importers.thread import SourceRecord


class BoundaryState(Struct):
    """The state of the compactions of a file, from which another reader can continue: ids only."""

    closed: dict[str, str] = {}  # the last turns before a compaction, each with the last turn of the compaction
    commands: list[str] = []  # the last turns, as far as they are about commands of the client


class Boundaries:
    """The compactions of one file."""

    def __init__(self, links: ParentLinks, state: BoundaryState | None = None) -> None:
        self.state = state or BoundaryState()
        self._links = links

    def follow(self, parent: str | None) -> str | None:
        """Returns the turn itself, or the last turn of the compaction that closed it."""
        while parent in self.state.closed:
            parent = self.state.closed[parent]
        return parent

    def add(self, record: SourceRecord, turn: str, before: str | None, logical: str | None) -> None:
        """Adds a turn. `before` is the last turn before it, and `logical` the parent that a boundary names."""
        if record.get("subtype") == BOUNDARY:
            self._close(turn, {logical, before, *self._before_commands(before)})
        elif record.get("isCompactSummary") is True:
            for boundary in self._links.parents(turn):
                for closed, head in tuple(self.state.closed.items()):
                    if head == boundary:
                        self.state.closed[closed] = turn
        if is_command(record):
            self.state.commands.append(turn)
        elif self.state.commands and record.get("isSidechain") is not True:
            self.state.commands.clear()

    def _close(self, boundary: str, turns: set[str | None]) -> None:
        self.state.closed.update((turn, boundary) for turn in turns if turn is not None and turn != boundary)

    def _before_commands(self, turn: str | None) -> set[str]:
        """Returns the turns from the command that compacted up to the last turn before it."""
        found = set()
        while turn is not None and turn in self.state.commands:
            turn = next(iter(self._links.parents(turn)), None)
            if turn is not None:
                found.add(turn)
        return found
