"""SlicePolicy v1: the parameters of a selection, their limits and their hash (§3, §8, §9, rulings 2 and 14).

Every number with a fraction is an integer number of millionths that binary32 can distinguish, so that equal parameters
have one spelling and one hash. Nothing is clamped: a value outside its range is refused.

A policy is found by its name or its hash, or read from JSON: a complete object, an object that changes some parameters
of another policy, or single assignments.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import floor, isfinite
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn

from msgspec import Struct
from msgspec.structs import asdict, force_setattr

from slicebase.core.hashing import LARGEST_INTEGER, xxh64
from slicebase.core.parsers import unique_keys
from slicebase.core.short_ids import the_only
from slicebase.errors import SlicebaseError, Where
from slicebase.graph.binary32 import binary32, power
from slicebase.graph.turn import PHASES, Phase

# Parameters and their limits

POLICY_ID: Final = "slice_policy_v1"
MILLION = 1_000_000
_Check = Callable[[str, Any], Any]


def millionths(value: float) -> int:
    """Returns the millionths of the binary32 number, rounded half away from zero (ruling 2).

    The number is widened to binary64, in which the product is exact.
    """
    scaled = binary32(value) * MILLION
    return floor(scaled + 0.5) if scaled >= 0 else -floor(0.5 - scaled)


def _refuse(code: str, key: str, problem: str, hint: str = "") -> SlicebaseError:
    return SlicebaseError(code, f"{key}: {problem}", hint=hint)


def _count(least: int, most: int) -> _Check:
    def check(key: str, value: Any) -> int:
        if type(value) is not int:
            raise _refuse("wrong-type", key, f"{value!r} is not an integer")
        if not least <= value <= most:
            raise _refuse("out-of-range", key, f"{value} is not between {least} and {most}")
        return value

    return check


def _fraction(least: int, most: int) -> _Check:
    def check(key: str, value: Any) -> float:
        if type(value) not in (int, float):
            raise _refuse("wrong-type", key, f"{value!r} is not a number")
        if type(value) is float and not isfinite(value):
            raise _refuse("not-finite", key, f"{value!r} is not finite")
        if not least <= value <= most:
            raise _refuse("out-of-range", key, f"{value!r} is not between {least} and {most}")
        nearest = millionths(value) / MILLION
        if binary32(nearest) != binary32(value):
            raise _refuse(
                "policy-millionth",
                key,
                f"{value!r} is not a multiple of one millionth",
                f"the nearest one is {nearest!r}",
            )
        return nearest

    return check


def _flag(key: str, value: Any) -> bool:
    if type(value) is not bool:
        raise _refuse("wrong-type", key, f"{value!r} is neither true nor false")
    return value


_WEIGHT = _fraction(-MILLION, MILLION)


class PhaseWeights(Struct, frozen=True, kw_only=True):
    """The weights of the phases (§3.3)."""

    synthesis: float = 1.0
    planning: float = 0.9
    consolidation: float = 0.6
    debugging: float = 0.5
    exploration: float = 0.3

    def __post_init__(self) -> None:
        for phase in PHASES:
            force_setattr(self, phase, _WEIGHT(f"phase_weights.{phase}", getattr(self, phase)))


def _weights(key: str, value: Any) -> PhaseWeights:
    if type(value) is not PhaseWeights:
        raise _refuse("wrong-type", key, f"{value!r} is not an object of phase weights")
    return value


POLICY_CHECKS: Final[dict[str, _Check]] = {
    "max_nodes": _count(1, LARGEST_INTEGER),
    "max_radius": _count(0, 2**32 - 1),  # u32 in §3.1; JSON readers agree up to the limit of the other counts
    "phase_weights": _weights,
    "salience_weight": _fraction(0, 1),
    "distance_decay": _fraction(0, 1),
    "include_siblings": _flag,
    "max_siblings_per_node": _count(0, LARGEST_INTEGER),
}


class SlicePolicyV1(Struct, frozen=True, kw_only=True):
    """The parameters of §3, in the order of the hash. Fractions are kept as the binary64 of their millionths."""

    max_nodes: int = 256
    max_radius: int = 10
    phase_weights: PhaseWeights = PhaseWeights()
    salience_weight: float = 0.3
    distance_decay: float = 0.9
    include_siblings: bool = True
    max_siblings_per_node: int = 5

    def __post_init__(self) -> None:
        for key, check in POLICY_CHECKS.items():
            force_setattr(self, key, check(key, getattr(self, key)))

    @property
    def params_hash(self) -> str:
        """The hash of the parameters (§8)."""
        return _params_hash(self)

    @property
    def scoring(self) -> "Scoring":
        """The numbers for the priority formula (§4)."""
        return _scoring(self)

    def as_json(self) -> dict[str, Any]:
        """Returns the complete object as §12 shows it."""
        return {"version": POLICY_ID, **asdict(self), "phase_weights": asdict(self.phase_weights)}


@lru_cache(maxsize=256)
def _params_hash(policy: SlicePolicyV1) -> str:
    """Computes the hash of §8 over the bytes that ruling 2 defines."""
    weights = ",".join(f'"{phase}":{millionths(getattr(policy.phase_weights, phase))}' for phase in PHASES)
    config = (
        f'{{"version":"{POLICY_ID}","max_nodes":{policy.max_nodes},"max_radius":{policy.max_radius},'
        f'"phase_weights":{{{weights}}},"salience_weight":{millionths(policy.salience_weight)},'
        f'"distance_decay":{millionths(policy.distance_decay)},'
        f'"include_siblings":{"true" if policy.include_siblings else "false"},'
        f'"max_siblings_per_node":{policy.max_siblings_per_node}}}'
    )
    return xxh64(config.encode())


class Decays(dict[int, float]):
    """The powers of a policy's `distance_decay` by distance, each computed once."""

    def __init__(self, decay: float) -> None:
        self.decay = decay

    def __missing__(self, distance: int) -> float:
        self[distance] = result = power(self.decay, distance)
        return result


class Scoring(NamedTuple):
    """The numbers of a policy that the priority formula (§4) uses, in binary32."""

    weights: tuple[float, ...]  # in the order of PHASES
    salience_weight: float
    decays: Decays

    def priority(self, phase: Phase, salience: float, distance: int) -> float:
        """Returns the priority of §4. Each step is rounded (ruling 8)."""
        weighted = binary32(salience * self.salience_weight)
        base = binary32(self.weights[PHASES.index(phase)] + weighted)
        return binary32(base * self.decays[distance])


@lru_cache(maxsize=256)
def _scoring(policy: SlicePolicyV1) -> Scoring:
    return Scoring(
        weights=tuple(binary32(getattr(policy.phase_weights, phase)) for phase in PHASES),
        salience_weight=binary32(policy.salience_weight),
        decays=Decays(binary32(policy.distance_decay)),
    )


DEFAULT: Final = SlicePolicyV1()  # §9.1
FOCUSED: Final = SlicePolicyV1(  # §9.2
    max_nodes=32,
    max_radius=3,
    salience_weight=0.5,
    distance_decay=0.8,
    include_siblings=False,
    max_siblings_per_node=0,
)
BROAD: Final = SlicePolicyV1(  # §9.3
    max_nodes=512,
    max_radius=20,
    salience_weight=0.2,
    distance_decay=0.95,
    max_siblings_per_node=10,
)


# Policies from JSON and assignments


def policy_from(value: Any, base: SlicePolicyV1 = DEFAULT) -> SlicePolicyV1:
    """Returns a policy from a JSON object. Parameters that the object does not give come from `base`."""
    given = dict(_object("a policy", value, {"version", *POLICY_CHECKS}))
    version = given.pop("version", POLICY_ID)
    if version != POLICY_ID:
        raise SlicebaseError("policy-version", f"version: {version!r} is not known", hint=f"write {POLICY_ID}")
    if "phase_weights" in given:
        weights = _object("phase_weights", given["phase_weights"], set(PHASES))
        given["phase_weights"] = PhaseWeights(**{**asdict(base.phase_weights), **weights})
    return SlicePolicyV1(**{**asdict(base), **given})  # `replace` checks the values only since msgspec 0.21


def policy_from_bytes(data: bytes, base: SlicePolicyV1 = DEFAULT) -> SlicePolicyV1:
    """Returns a policy from JSON text, as `policy_from` does. A repeated key is refused, because it is ambiguous."""
    try:
        value = json.loads(data, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise SlicebaseError(
            "bad-policy", f"the policy is not JSON: {error.msg}", where=Where(None, error.lineno, error.colno)
        ) from None
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of thousands of digits, nested too deeply
        raise SlicebaseError("bad-policy", f"the policy is not JSON: {error}") from None
    return policy_from(value, base)


def policy_with(base: SlicePolicyV1, assignments: Iterable[str]) -> SlicePolicyV1:
    """Returns `base` changed by assignments such as `max_nodes=64` and `phase_weights.planning=0.8`.

    Where a key is assigned twice, the last assignment counts.
    """
    given: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise SlicebaseError(
                "bad-policy", f"{assignment!r} is not an assignment", hint="write it like max_nodes=64"
            )
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
        raise SlicebaseError("wrong-type", f"{key}: {text!r} is neither a number nor true nor false") from None


def _object(name: str, value: Any, known: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise SlicebaseError("wrong-type", f"{name}: {value!r} is not an object")
    for key in value:
        if key not in known:
            raise SlicebaseError(
                "bad-policy", f"{name} has no key {key!r}", hint=f"its keys: {', '.join(sorted(known))}"
            )
    return value


_unique = unique_keys("bad-policy")


def _no_constant(name: str) -> NoReturn:
    raise SlicebaseError("not-finite", f"{name} is not a number that a policy can hold")


# Policies by name and hash

_HASH = re.compile(r"[0-9a-f]{8,16}")  # or the beginning of one, by which a policy is found, too
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_FILE = re.compile(r".*\.json", re.IGNORECASE)


class PolicySet(NamedTuple):
    """Policies, found by name or by hash.

    It is immutable: adding a policy gives a new set, and a name or a hash never changes its meaning.
    """

    by_name: Mapping[str, SlicePolicyV1]
    by_hash: Mapping[str, SlicePolicyV1]

    def with_policy(self, policy: SlicePolicyV1, name: str | None = None) -> "PolicySet":
        """Returns the set with one more policy, which is found by its hash and, if given, by its name."""
        known = self.by_hash.get(policy.params_hash, policy)
        if known != policy:
            raise SlicebaseError("policy-name", f"the hash {policy.params_hash} belongs to other parameters")
        names = self.by_name if name is None else {**self.by_name, name: self._nameable(name, policy)}
        return PolicySet(MappingProxyType(dict(names)), MappingProxyType({**self.by_hash, policy.params_hash: policy}))

    def _nameable(self, name: str, policy: SlicePolicyV1) -> SlicePolicyV1:
        if not _NAME.fullmatch(name) or _HASH.fullmatch(name) or _FILE.fullmatch(name):
            raise SlicebaseError(
                "bad-policy",
                f"{name!r:.80} cannot name a policy",
                hint="a name starts with a letter, has at most 64 letters, digits, _ . and -, and does not look like a "
                "hash or a file of JSON",
            )
        if self.by_name.get(name, policy) != policy:
            raise SlicebaseError(
                "policy-name", f"the name {name} belongs to other parameters", hint="choose another name"
            )
        return policy

    def find(self, text: str) -> SlicePolicyV1:
        """Returns the policy of a name or a hash, also as slices name it. Raises `unknown-policy` if there is none.

        A hash can be given by its beginning (ruling 53).
        """
        given = text.removeprefix(f"{POLICY_ID}:")
        alike = [each for each in self.by_hash if each.startswith(given)] if _HASH.fullmatch(given) else []
        found = self.by_hash.get(the_only(given, alike, "policies") or given) or self.by_name.get(given)
        if found is None:
            raise SlicebaseError(
                "unknown-policy", f"there is no policy {text!r}", hint=f"names: {', '.join(sorted(self.by_name))}"
            )
        return found

    def resolve(self, value: Any) -> SlicePolicyV1:
        """Returns the policy that a request means.

        A request is a name, a hash, an object (parameters that it does not give have their default), or None.
        """
        if value is None:
            return DEFAULT
        return self.find(value) if isinstance(value, str) else policy_from(value)


def _presets() -> PolicySet:
    policies = PolicySet(MappingProxyType({}), MappingProxyType({}))
    for name, policy in (("default", DEFAULT), ("focused", FOCUSED), ("broad", BROAD)):
        policies = policies.with_policy(policy, name)
    return policies


PRESETS: Final = _presets()
