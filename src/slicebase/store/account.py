"""The account of an import: what it took, what it left and why."""

from typing import TYPE_CHECKING, NamedTuple

from slicebase.importers.values import Batch, ImportReport, Note
from slicebase.store.turns import Added

if TYPE_CHECKING:
    from slicebase.errors import SlicebaseError


class Conflict(NamedTuple):
    """A turn that is stored from another record, and the input whose record was left out (ruling 15)."""

    turn: str
    where: str


class Account:
    """Records are counted as the importers read them; turns and edges as the store took them."""

    def __init__(self) -> None:
        self.report = ImportReport()
        self.formats: dict[str, int] = {}
        self.unrecognised: list[str] = []
        self.unreadable: list[SlicebaseError] = []  # inputs that could not be read, or not to their end
        self.new = 0
        self.known = 0
        self.conflicts: list[Conflict] = []
        self.edges = 0
        self.branches = 0
        self.continues = 0
        self.waiting = 0
        self.joined = 0

    def add(self, batch: Batch, added: Added, where: str) -> None:
        self.report.add(batch)
        self.new += len(added.turns)
        self.known += added.known
        self.conflicts += (Conflict(turn, where) for turn in added.conflicts)
        self.edges += added.edges
        self.branches += sum(parent.type == "branch" for turn in added.turns for parent in turn.parents)
        self.continues += added.continues
        self.waiting += added.waiting
        self.joined += len(added.joined)
        for child, parent in added.cycles:
            self.report.note(Note("repaired", "cycle", f"turn:{child}", parent))

    @property
    def content_left_out(self) -> int:
        """Content that is not in the store: skipped records, other versions of stored turns, unreadable inputs."""
        return self.report.content_left_out + len(self.conflicts) + len(self.unreadable)
