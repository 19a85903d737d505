"""Policies by name, by hash, and as JSON: whole, partial over another policy, or single assignments.

A registry is a value: adding to it gives a new one, and what a name or a hash stands for never changes.
"""

import json
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn

from msgspec.structs import replace

from slicebase.errors import SlicebaseError, Where
from slicebase.graph.policy import BROAD, CHECKS, DEFAULT, FOCUSED, POLICY_ID, SlicePolicyV1
from slicebase.graph.turn import PHASES

_HASH = re.compile(r"[0-9a-f]{16}")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def policy_from(value: Any, base: SlicePolicyV1 = DEFAULT) -> SlicePolicyV1:
    """A policy from a JSON object; what the object does not say is taken from `base`."""
    given = dict(_object("a policy", value, {"version", *CHECKS}))
    version = given.pop("version", POLICY_ID)
    if version != POLICY_ID:
        raise SlicebaseError("policy-version", f"version: {version!r} is not known", hint=f"write {POLICY_ID}")
    if "phase_weights" in given:
        weights = _object("phase_weights", given["phase_weights"], set(PHASES))
        given["phase_weights"] = replace(base.phase_weights, **weights)
    return replace(base, **given)


def policy_from_bytes(data: bytes, base: SlicePolicyV1 = DEFAULT) -> SlicePolicyV1:
    """The same from JSON text. A key that stands twice is refused: nobody could say which one counts."""
    try:
        value = json.loads(data, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise SlicebaseError(
            "bad-policy", f"no JSON: {error.msg}", where=Where(None, error.lineno, error.colno)
        ) from None
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of thousands of digits, nested too deeply
        raise SlicebaseError("bad-policy", f"no JSON: {error}") from None
    return policy_from(value, base)


def policy_with(base: SlicePolicyV1, assignments: Iterable[str]) -> SlicePolicyV1:
    """`base` after assignments such as `max_nodes=64` and `phase_weights.planning=0.8`; the last of a key counts."""
    given: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise SlicebaseError("bad-policy", f"{assignment!r} is no assignment", hint="write it like max_nodes=64")
        outer, dot, inner = key.strip().partition(".")
        if dot:
            within = given.setdefault(outer, {})
            given[outer] = {**(within if isinstance(within, dict) else {}), inner: _scalar(key, text)}
        else:
            given[outer] = _scalar(key, text)
    return policy_from(given, base)


def _scalar(key: str, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise SlicebaseError("policy-type", f"{key}: {text!r} is neither a number nor true nor false") from None


def _object(name: str, value: Any, known: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise SlicebaseError("policy-type", f"{name}: {value!r} is no object")
    for key in value:
        if key not in known:
            raise SlicebaseError(
                "bad-policy", f"{name} has no key {key!r}", hint=f"its keys: {', '.join(sorted(known))}"
            )
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise SlicebaseError("bad-policy", f"the key {key!r} stands twice")
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise SlicebaseError("not-finite", f"{name} is no number that a policy can hold")


class Policies(NamedTuple):
    """Which policy a name or a hash stands for."""

    by_name: Mapping[str, SlicePolicyV1]
    by_hash: Mapping[str, SlicePolicyV1]

    def adding(self, policy: SlicePolicyV1, name: str | None = None) -> "Policies":
        """With one more policy, found by its hash and, where given, by its name."""
        known = self.by_hash.get(policy.params_hash, policy)
        if known != policy:
            raise SlicebaseError("policy-name", f"the hash {policy.params_hash} stands for other parameters")
        names = self.by_name if name is None else {**self.by_name, name: self._nameable(name, policy)}
        return Policies(MappingProxyType(dict(names)), MappingProxyType({**self.by_hash, policy.params_hash: policy}))

    def _nameable(self, name: str, policy: SlicePolicyV1) -> SlicePolicyV1:
        if not _NAME.fullmatch(name) or _HASH.fullmatch(name):
            raise SlicebaseError("policy-name", f"{name!r} cannot name a policy", hint="letters, digits, _ . and -")
        if self.by_name.get(name, policy) != policy:
            raise SlicebaseError("policy-name", f"{name} stands for other parameters", hint="choose another name")
        return policy

    def find(self, text: str) -> SlicePolicyV1:
        """The policy of a name or a hash."""
        found = self.by_hash.get(text) or self.by_name.get(text)
        if found is None:
            raise SlicebaseError(
                "unknown-policy", f"no policy is called {text!r}", hint=f"names: {', '.join(sorted(self.by_name))}"
            )
        return found

    def resolve(self, value: Any) -> SlicePolicyV1:
        """What a request means: a name, a hash, an object (whole, or partial over the default), or nothing."""
        if value is None:
            return DEFAULT
        return self.find(value) if isinstance(value, str) else policy_from(value)


def _presets() -> Policies:
    policies = Policies(MappingProxyType({}), MappingProxyType({}))
    for name, policy in (("default", DEFAULT), ("focused", FOCUSED), ("broad", BROAD)):
        policies = policies.adding(policy, name)
    return policies


PRESETS: Final = _presets()
