"""The policies of a database: a hash or a name means the same parameters forever."""

import os
import re
from pathlib import Path
from typing import Final

from slicebase.core.hashing import canonical
from slicebase.core.short_ids import the_only
from slicebase.errors import SlicebaseError, Where
from slicebase.graph.policy import POLICY_ID, PRESETS, SlicePolicyV1, policy_from_bytes
from slicebase.truth.chains import Chain
from slicebase.truth.database import Database
from slicebase.workspace.atomic import TEXT_FILE, read_bytes

_BEGINNING: Final = re.compile(r"[0-9a-f]{8,15}")  # of a hash


class StoredPolicies:
    """The policies of a database, and the presets."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, policy: SlicePolicyV1) -> None:
        """Stores a policy by its hash, so that a slice can be selected again. Does nothing in a read-only database."""
        if self._database.read_only or policy.params_hash in PRESETS.by_hash:
            return
        query = "SELECT 1 FROM policies WHERE policy = ?"
        if self._database.connection.execute(query, (policy.params_hash,)).fetchone() is None:
            with self._database.writing() as connection:
                if connection.execute(query, (policy.params_hash,)).fetchone() is None:
                    row = (policy.params_hash, canonical(policy.as_json()))
                    self._database.append(Chain("policies"), [row])

    def find(self, name: str) -> SlicePolicyV1:
        """Returns the policy with this name or hash.

        A hash can be given by its beginning (ruling 53), and in the form in which it is printed, `slice_policy_v1:…`.
        """
        given = name.removeprefix(f"{POLICY_ID}:")
        whole = self._whole(given) if _BEGINNING.fullmatch(given) else given
        query = "SELECT record FROM policies WHERE policy = ?"
        # A name is not a key, and can be a text that SQLite does not accept.
        row = self._database.connection.execute(query, (whole,)).fetchone() if whole.isascii() else None
        return policy_from_bytes(row[0]) if row else PRESETS.find(whole)

    def _whole(self, beginning: str) -> str:
        """Returns the hash that begins so, or the text itself if none does. Raises `ambiguous-id` for several."""
        query = "SELECT policy FROM policies WHERE policy >= ? AND policy < ?"
        rows = self._database.connection.execute(query, (beginning, beginning + "g"))
        known = [*(policy for (policy,) in rows), *(each for each in PRESETS.by_hash if each.startswith(beginning))]
        return the_only(beginning, known, "policies") or beginning

    def named(self, text: str) -> SlicePolicyV1:
        """Returns the policy with this name or hash, or the one in the JSON file at this path.

        A name comes before a file, which a repository may name as it likes: `./focused` is the file.
        """
        is_file = os.path.isfile(text)  # unlike Path.is_file, it never raises
        if not is_file or os.sep not in text:
            try:
                return self.find(text)
            except SlicebaseError:
                if not is_file:
                    raise
        try:
            return policy_from_bytes(read_bytes(Path(text), follow=True, most=TEXT_FILE))
        except SlicebaseError as error:
            raise error.at(Where(text)) from None
        except OSError as error:
            raise SlicebaseError("no-input", str(error.strerror), where=Where(text)) from None
