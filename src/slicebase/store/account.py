"""The account of an import: what it took, what it left and why."""

from slicebase.importers.values import Batch, Note, Report
from slicebase.store.turns import Added


class Account:
    """Records are counted as the importers read them; turns and edges as the store took them."""

    def __init__(self) -> None:
        self.report = Report()
        self.formats: dict[str, int] = {}
        self.unrecognised: list[str] = []
        self.new = 0
        self.known = 0
        self.conflicts: list[str] = []
        self.edges = 0
        self.branches = 0
        self.continues = 0
        self.waiting = 0
        self.joined = 0

    def add(self, batch: Batch, added: Added) -> None:
        self.report.add(batch)
        self.new += len(added.turns)
        self.known += added.known
        self.conflicts += added.conflicts
        self.edges += added.edges
        self.branches += sum(parent.type == "branch" for turn in added.turns for parent in turn.parents)
        self.continues += added.continues
        self.waiting += added.waiting
        self.joined += len(added.joined)
        for child, parent in added.cycles:
            self.report.note(Note("repaired", "cycle", f"turn:{child}", parent))

    @property
    def content_left_out(self) -> int:
        """Records whose message content is not in the store: skipped ones, and other versions of stored turns."""
        return self.report.content_left_out + len(self.conflicts)
