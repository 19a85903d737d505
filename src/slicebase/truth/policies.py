"""The policies of a database: a hash or a name means the same parameters forever."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, to_builtins

from slicebase.core.hashing import canonical
from slicebase.core.short_ids import the_only
from slicebase.errors import SlicebaseError, Where
from slicebase.graph.policy import POLICY_ID, PRESETS, PolicySet, SlicePolicyV1, policy_from_bytes
from slicebase.truth.chains import Chain, read_stored
from slicebase.truth.database import Database
from slicebase.workspace.atomic import TEXT_FILE, read_bytes

_BEGINNING: Final = re.compile(r"[0-9a-f]{8,15}")  # of a hash


class PolicyName(Struct, frozen=True):
    """The name of a policy, and where it comes from."""

    by: str
    name: str
    policy: str  # the hash of its parameters
    saved: str  # a time
    source: str  # what it was made from


_NAME: Final = msgspec.json.Decoder(PolicyName)


def read_policy_name(record: bytes) -> PolicyName:
    """Reads a stored name. Raises `broken-record` where somebody has changed it."""
    return read_stored(_NAME, record)


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

    def save(self, policy: SlicePolicyV1, name: PolicyName) -> None:
        """Stores a policy with its name. Raises `policy-name` if that means other parameters.

        A name that means these parameters already stays as it is.
        """
        self._with(policy, name.name)
        with self._database.writing():
            if not self._with(policy, name.name):
                self.keep(policy)
                self._database.append(Chain("policy_names"), [(name.name, canonical(to_builtins(name)))])

    def _with(self, policy: SlicePolicyV1, name: str) -> bool:
        """Returns whether the name means this policy already. Raises `policy-name` if it cannot be given to it."""
        known = PRESETS
        if stored := self._named(name):
            known = PolicySet({**known.by_name, name: stored}, known.by_hash)
        known.with_policy(policy, name)
        return name in known.by_name

    def _named(self, name: str) -> SlicePolicyV1 | None:
        if not name.isascii():  # it is no name, and can be a text that SQLite does not accept
            return None
        query = "SELECT record FROM policy_names WHERE name = ?"
        row = self._database.connection.execute(query, (name,)).fetchone()
        return self.find(read_policy_name(row[0]).policy) if row else None

    def names(self) -> list[PolicyName]:
        """Returns the names that were given to policies, in the order of names."""
        rows = self._database.connection.execute("SELECT record FROM policy_names ORDER BY name")
        return [read_policy_name(record) for (record,) in rows]

    def hashes(self) -> list[str]:
        """Returns the hashes of the policies that are stored."""
        rows = self._database.connection.execute("SELECT policy FROM policies ORDER BY policy")
        return [str(policy) for (policy,) in rows]

    def find(self, name: str) -> SlicePolicyV1:
        """Returns the policy with this name or hash.

        A hash can be given by its beginning (ruling 53), and in the form in which it is printed, `slice_policy_v1:…`.
        """
        given = name.removeprefix(f"{POLICY_ID}:")
        whole = self._whole(given) if _BEGINNING.fullmatch(given) else given
        query = "SELECT record FROM policies WHERE policy = ?"
        # A name is not a key, and can be a text that SQLite does not accept.
        row = self._database.connection.execute(query, (whole,)).fetchone() if whole.isascii() else None
        if row:
            return policy_from_bytes(row[0])
        named = self._named(whole) if whole not in PRESETS.by_hash else None
        return named or self._preset(whole)

    def _preset(self, name: str) -> SlicePolicyV1:
        try:
            return PRESETS.find(name)
        except SlicebaseError as error:
            hint = "`tt policy list` shows the names and hashes of policies"
            raise SlicebaseError(error.code, error.message, hint=hint) from None

    def _whole(self, beginning: str) -> str:
        """Returns the hash that begins so, or the text itself if none does. Raises `ambiguous-id` for several."""
        query = "SELECT policy FROM policies WHERE policy >= ? AND policy < ?"
        rows = self._database.connection.execute(query, (beginning, beginning + "g"))
        known = [*(policy for (policy,) in rows), *(each for each in PRESETS.by_hash if each.startswith(beginning))]
        return the_only(beginning, known, "policies") or beginning

    def named(self, text: str) -> SlicePolicyV1:
        """Returns the policy with this name or hash, or the one in the JSON file at this path."""
        return policy_named(text, self.find)


def policy_named(text: str, find: Callable[[str], SlicePolicyV1]) -> SlicePolicyV1:
    """Returns the policy that `find` knows by this name or hash, or the one in the JSON file at this path.

    A name comes before a file, which a repository may name as it likes: `./focused` is the file.
    """
    is_file = os.path.isfile(text)  # unlike Path.is_file, it never raises
    if not is_file or os.sep not in text:
        try:
            return find(text)
        except SlicebaseError:
            if not is_file:
                raise
    return policy_in(Path(text))


def policy_in(file: Path) -> SlicePolicyV1:
    """Returns the policy in a JSON file."""
    try:
        return policy_of(read_bytes(file, follow=True, most=TEXT_FILE), str(file))
    except SlicebaseError as error:
        raise error.at(Where(str(file))) from None
    except OSError as error:
        raise SlicebaseError("no-input", str(error.strerror), where=Where(str(file))) from None


def policy_of(data: bytes, name: str) -> SlicePolicyV1:
    """Returns the policy in the bytes of a JSON file, or of something else that has this name."""
    try:
        return policy_from_bytes(data)
    except SlicebaseError as error:
        raise error.at(Where(name)) from None
