"""The truth: one SQLite database, append-only, with a part for each kind of record."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from slicebase.core.times import from_text
from slicebase.graph.record import TurnRecord, read_parts
from slicebase.graph.turn import Parent, Turn
from slicebase.store.database import open_database
from slicebase.store.manifests import Manifests
from slicebase.store.policies import Policies
from slicebase.store.sessions import Sessions
from slicebase.store.texts import Texts
from slicebase.store.turns import Turns

if TYPE_CHECKING:  # start-up counts: most commands need no runs
    from slicebase.store.ledger import Ledger
    from slicebase.store.runs import Runs


class Truth:
    """What must never be lost. Parts share the connection; each write is one transaction."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.database = open_database(path, create=create)
        self.texts = Texts(self.database)
        self.turns = Turns(self.database)
        self.sessions = Sessions(self.database, self.turns)
        self.policies = Policies(self.database)
        self.manifests = Manifests(self.database, self.texts)

    @cached_property
    def ledger(self) -> "Ledger":
        from slicebase.store.ledger import Ledger

        return Ledger(self.database, self.texts)

    @cached_property
    def runs(self) -> "Runs":
        from slicebase.store.run_log import RunLog
        from slicebase.store.runs import Runs
        from slicebase.store.snapshots import Snapshots

        return Runs(RunLog(self.database), Snapshots(self.database, self.texts), self.ledger)

    def turn(self, turn_id: str) -> Turn | None:
        """A stored turn with its content; a purged one has no parts."""
        stored = self.turns.find([turn_id]).get(turn_id)
        return self.with_content(stored.record) if stored else None

    def with_content(self, record: TurnRecord) -> Turn:
        text = self.texts.get(f"session:{record.session}", record.content_hash)
        parts = read_parts(text.data) if text and text.data is not None else ()
        parents = tuple(Parent(*parent) for parent in record.parents)
        return Turn(record.id, record.session, record.role, parts, from_text(record.time), parents, record.source_hash)

    def close(self) -> None:
        self.database.close()
