"""The policies of slices, by their names: presets, and those that were saved or imported here.

A name never changes its meaning, and a hash has none but its own. So whatever names a policy can be repeated.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError, Where
from slicebase.graph.policy import DEFAULT, POLICY_ID, PRESETS, SlicePolicyV1, policy_with
from slicebase.truth.policies import PolicyName, StoredPolicies, policy_in, policy_of
from slicebase.verbs.parts import Parts
from slicebase.workspace.doors import door
from slicebase.workspace.given_paths import given_path
from slicebase.workspace.surroundings import one_thread_at_a_time
from slicebase.workspace.workspace import StrPath
from slicebase.workspace.writer import one_line

_LONGEST_SOURCE = 200  # characters


class PolicyEntry(NamedTuple):
    """A policy with its names, and where the first of them comes from. What is not known is empty."""

    policy: SlicePolicyV1
    names: tuple[str, ...]
    origin: str  # preset, saved, or stored: with a context, or imported without a name
    saved: str = ""
    by: str = ""
    source: str = ""

    @property
    def id(self) -> str:
        """The policy in the form in which slices name it."""
        return f"{POLICY_ID}:{self.policy.params_hash}"

    def __repr__(self) -> str:
        return f"PolicyEntry(id={self.id!r}, names={self.names!r}, origin={self.origin!r})"


class PolicyDifference(NamedTuple):
    """A parameter that differs between two policies."""

    parameter: str
    one: Any
    other: Any


@one_thread_at_a_time
class Policies:
    """The policies of a workspace, and the presets."""

    def __init__(self, parts: Parts) -> None:
        self.surroundings = parts.surroundings
        self._parts = parts

    def __repr__(self) -> str:
        return f"Policies({str(self._parts.root)!r})"

    @property
    def _stored(self) -> StoredPolicies:
        return self._parts.truth.policies

    def list_policies(self) -> list[PolicyEntry]:
        """Returns the presets, the saved policies by name, and those that are stored without a name."""
        names: dict[str, list[PolicyName]] = {}
        for each in self._stored.names():
            names.setdefault(each.policy, []).append(each)
        presets = [self._entry(policy, names.pop(hash_, [])) for hash_, policy in PRESETS.by_hash.items()]
        saved = [self._entry(self._stored.find(hash_), given) for hash_, given in names.items()]
        others = [self._entry(self._stored.find(each), []) for each in self._stored.hashes() if each not in names]
        return [*presets, *sorted(saved, key=lambda entry: entry.names), *others]

    def show(self, policy: str) -> PolicyEntry:
        """Returns a policy by its name, its hash or the beginning of that, or from its file."""
        found = self._stored.named(os.fspath(policy))
        return self._entry(found, [each for each in self._stored.names() if each.policy == found.params_hash])

    def _entry(self, policy: SlicePolicyV1, given: list[PolicyName]) -> PolicyEntry:
        preset = [name for name, each in PRESETS.by_name.items() if each == policy]
        names = (*preset, *(each.name for each in given))
        if preset or not given:
            return PolicyEntry(policy, names, "preset" if preset else "stored")
        first = min(given, key=lambda each: (each.saved, each.name))
        return PolicyEntry(policy, names, "saved", first.saved, first.by, first.source)

    @door(names="name", left="policy")
    def save(
        self, name: str, policy: SlicePolicyV1 | StrPath | None = None, assignments: Iterable[str] = ()
    ) -> PolicyEntry:
        """Gives a policy, changed by assignments such as max_nodes=64, a name, forever.

        Raises `policy-name` if the name means other parameters. If it means these already, nothing is written.
        """
        changes = tuple(assignments)
        if isinstance(policy, SlicePolicyV1):
            base, source = policy, f"{POLICY_ID}:{policy.params_hash}"
        elif policy is None:
            base, source = DEFAULT, "default"
        else:
            base, source = self._stored.named(os.fspath(policy)), Path(policy).name
        return self._saved(name, policy_with(base, changes), " ".join((source, *changes)))

    @door(names="name", left="path data")
    def import_(self, path: StrPath, name: str | None = None, *, data: bytes | None = None) -> PolicyEntry:
        """Stores the policy in a JSON file, under a name if one is given.

        `data` are the bytes of something that is no file, such as stdin: then the path only says what it was.
        """
        if data is None:
            file = given_path(path)
            policy, source = policy_in(file), f"file {file.name}"
        else:
            policy, source = policy_of(data, os.fspath(path)), os.fspath(path)
        if name is not None:
            return self._saved(name, policy, source)
        self._refuse_read_only()
        self._stored.keep(policy)
        return self.show(policy.params_hash)

    def _saved(self, name: str, policy: SlicePolicyV1, source: str) -> PolicyEntry:
        self._refuse_read_only()
        writer, redaction = self.surroundings.writer(), self.surroundings.redaction
        self._stored.save(
            policy,
            PolicyName(
                by=writer.agent or writer.user,
                name=name,
                policy=policy.params_hash,
                saved=to_text(self.surroundings.now()),
                source=redaction.uncounted(one_line(source))[:_LONGEST_SOURCE],
            ),
        )
        return self.show(name)

    def _refuse_read_only(self) -> None:
        if self._parts.truth.database.read_only:
            where = Where(self._parts.workspace.place)
            raise SlicebaseError("cannot-write", "the database can only be read", where=where)

    def diff(self, one: str, other: str) -> list[PolicyDifference]:
        """Returns the parameters in which two policies differ."""
        before, after = _flat(self.show(one).policy), _flat(self.show(other).policy)
        return [PolicyDifference(key, before[key], after[key]) for key in before if before[key] != after[key]]

    def export(self, policy: str) -> str:
        """Returns the complete policy as JSON text, which `import_` and every verb that takes a policy read."""
        return json.dumps(self.show(policy).policy.as_json(), indent=2) + "\n"


def _flat(policy: SlicePolicyV1) -> dict[str, Any]:
    fields = policy.as_json()
    weights = {f"phase_weights.{phase}": weight for phase, weight in fields.pop("phase_weights").items()}
    return {**fields, **weights}
