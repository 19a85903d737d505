"""What to look at before a SliceExport is used (§11), and how a stored one differs from one derived anew."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from slicebase.graph.export import SliceExport
from slicebase.graph.policy import POLICY_ID, SlicePolicyV1


class Finding(Struct, frozen=True):
    """One box of the checklist that cannot be ticked."""

    check: str
    message: str
    expected: Any
    found: Any


class Difference(Struct, frozen=True):
    """One place at which two exports differ; None where one of them has nothing there."""

    place: str
    stored: Any
    derived: Any


def checklist(
    export: SliceExport, policy: SlicePolicyV1 | None = None, expected_slice_id: str | None = None
) -> tuple[Finding, ...]:
    """The findings of §11, in its order; the budget can be looked at only where the policy is known."""
    return tuple(_findings(export, policy, expected_slice_id))


def _findings(export: SliceExport, policy: SlicePolicyV1 | None, expected: str | None) -> Iterator[Finding]:
    derived = export.fingerprint
    if export.slice_id != derived:
        yield Finding("slice-id", "the slice_id does not follow from the contents", derived, export.slice_id)
    if expected not in (None, export.slice_id):
        yield Finding("slice-id", "this is another slice than expected", expected, export.slice_id)
    if export.policy_id != POLICY_ID:
        yield Finding("policy-id", "the policy is not known", POLICY_ID, export.policy_id)
    if policy is not None:
        if export.policy_params_hash != policy.params_hash:
            name = "policy-params-hash"
            yield Finding(name, "this policy did not make it", policy.params_hash, export.policy_params_hash)
        if len(export.turns) > policy.max_nodes:
            yield Finding("budget", "it holds more turns than the policy allows", policy.max_nodes, len(export.turns))
    turns = {turn.id for turn in export.turns}
    if export.anchor_turn_id not in turns:
        yield Finding("anchor", "the anchor is not among the turns", export.anchor_turn_id, None)
    for edge in export.edges:
        if not {edge.parent, edge.child} <= turns:
            yield Finding("edges", "an edge leads to a turn outside", None, asdict(edge))


def compare(stored: SliceExport, derived: SliceExport) -> tuple[Difference, ...]:
    """What differs: turns that came or went, fields of turns that stayed, edges, the other fields, and the order.

    Nothing differs exactly where both have the same canonical bytes.
    """
    return tuple(_differences(_by_place(stored), _by_place(derived)))


def _differences(stored: Mapping[str, Any], derived: Mapping[str, Any]) -> Iterator[Difference]:
    for place in [*stored, *(place for place in derived if place not in stored)]:
        ours, theirs = stored.get(place), derived.get(place)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            yield from (Difference(f"{place}.{f}", ours[f], theirs[f]) for f in ours if ours[f] != theirs[f])
        elif ours != theirs:
            yield Difference(place, ours, theirs)
    for kind in ("turns[", "edges["):
        ours, theirs = ([place for place in export if place.startswith(kind)] for export in (stored, derived))
        if ours != theirs and sorted(ours) == sorted(theirs):
            yield Difference(f"the order of {kind[:-1]}", ours, theirs)


def _by_place(export: SliceExport) -> dict[str, Any]:
    """The export by place: turns by their ids, edges by their ends and type; one that stands again has a number."""
    places = asdict(export)
    members = [(f"turns[{turn.id}]", turn) for turn in places.pop("turns")]
    members += [(f"edges[{e.parent} {e.child} {e.edge_type}]", e) for e in places.pop("edges")]
    seen: Counter[str] = Counter()
    for place, member in members:
        seen[place] += 1
        places[place if seen[place] == 1 else f"{place}#{seen[place]}"] = asdict(member)
    return places
