"""Policies of context slices by name or hash, and what a reference names. No file of this machine is read."""

from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Meta, Struct

from slicebase.web.api.slices import PolicyRow, policy_row
from slicebase.web.endpoints import Name, Parameters, get

if TYPE_CHECKING:
    from slicebase.base import Slicebase

PolicyGiven = Annotated[str, Meta(min_length=1, max_length=200, description="A name or a hash.")]


class PolicyQuery(Parameters, frozen=True, kw_only=True):
    """A policy."""

    name: PolicyGiven


def show_policy(memory: "Slicebase", asked: PolicyQuery) -> PolicyRow:
    """Returns a policy with all its parameters."""
    return policy_row(memory.policies.show(_hash(memory, asked.name)))


def _hash(memory: "Slicebase", name: str) -> str:
    return memory.graph.requested_policy(name).params_hash


class PolicyPair(Parameters, frozen=True, kw_only=True):
    """Two policies."""

    one: PolicyGiven
    other: PolicyGiven


class ParameterDifference(Struct, frozen=True):
    """A parameter that differs between two policies."""

    parameter: str
    one: float | bool | str
    other: float | bool | str


class PolicyDifferences(Struct, frozen=True):
    """The parameters in which two policies differ."""

    differences: tuple[ParameterDifference, ...]


def diff_policies(memory: "Slicebase", asked: PolicyPair) -> PolicyDifferences:
    """Returns the parameters in which two policies differ."""
    found = memory.policies.diff(_hash(memory, asked.one), _hash(memory, asked.other))
    return PolicyDifferences(tuple(ParameterDifference(*each) for each in found))


class ReferenceQuery(Parameters, frozen=True, kw_only=True):
    """A reference, such as turn:…, file:…, ev_… or mf_…."""

    reference: Name


def show(memory: "Slicebase", asked: ReferenceQuery) -> dict[str, Any]:
    """Returns what a reference names, as it is stored."""
    return memory.show(asked.reference)


ENDPOINTS: Final = (
    get("/policies/{name}", "policies.show", show_policy),
    get("/policies/{one}/diff/{other}", "policies.diff", diff_policies),
    get("/show", "show", show),
)
