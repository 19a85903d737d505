"""The truth: one SQLite database, append-only, with a part for each kind of record."""

from pathlib import Path

from slicebase.store.database import open_database
from slicebase.store.ledger import Ledger
from slicebase.store.manifests import Manifests
from slicebase.store.run_log import RunLog
from slicebase.store.runs import Runs
from slicebase.store.snapshots import Snapshots
from slicebase.store.texts import Texts
from slicebase.store.turns import Turns


class Truth:
    """What must never be lost. Parts share the connection; each write is one transaction."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.database = open_database(path, create=create)
        self.texts = Texts(self.database)
        self.turns = Turns(self.database)
        self.manifests = Manifests(self.database)
        self.ledger = Ledger(self.database, self.texts)
        self.runs = Runs(RunLog(self.database), Snapshots(self.database, self.texts), self.ledger)

    def close(self) -> None:
        self.database.close()
