"""Policies in the truth: a hash or a name means the same parameters for ever."""

import os
from pathlib import Path

from slicebase.core.hashing import canonical
from slicebase.errors import SlicebaseError, Where
from slicebase.graph.policy import PRESETS, SlicePolicyV1, policy_from_bytes
from slicebase.store.database import Database


class Policies:
    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, policy: SlicePolicyV1) -> None:
        """Remembers a policy by its hash where it can write, so that what was made with it can be made again."""
        if self._database.read_only or policy.params_hash in PRESETS.by_hash:
            return
        query = "SELECT 1 FROM policies WHERE hash = ?"
        if self._database.connection.execute(query, (policy.params_hash,)).fetchone() is None:
            with self._database.writing() as connection:
                row = (policy.params_hash, canonical(policy.as_json()))
                connection.execute("INSERT INTO policies VALUES (?, ?)", row)

    def find(self, name: str) -> SlicePolicyV1:
        """The policy of a name or a hash."""
        query = "SELECT record FROM policies WHERE hash = ?"
        # A name is no key, and might be text that SQLite does not take.
        row = self._database.connection.execute(query, (name,)).fetchone() if name.isascii() else None
        return policy_from_bytes(row[0]) if row else PRESETS.find(name)

    def named(self, text: str) -> SlicePolicyV1:
        """The policy of a name or a hash, or in the JSON file at this path."""
        if not os.path.isfile(text):  # unlike Path.is_file, it raises for no text
            return self.find(text)
        try:
            return policy_from_bytes(Path(text).read_bytes())
        except SlicebaseError as error:
            raise error.at(Where(text)) from None
        except OSError as error:
            raise SlicebaseError("no-input", str(error.strerror), where=Where(text)) from None
