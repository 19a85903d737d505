"""Snapshots: the state of a run at one moment, in the shape of the specification, named by content (rulings 37, 38).

Snapshots are cumulative, so storage keeps only the difference from the previous one (ruling 37).
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from slicebase.core.hashing import LARGEST_INTEGER, canonical, digest, id_from
from slicebase.errors import SlicebaseError
from slicebase.runs.records import CheckResult, FailureAction, Snapshot, SnapshotState
from slicebase.runs.state import ITEMS, Json, Retrieval, RunState

# The id depends on what the run knew, not on the time of the snapshot or the result of its checks.
NOT_IN_ID = frozenset({"snapshot_id", "created_at", "validation"})


def build(state: RunState, created_at: str) -> dict[str, Json]:
    """Returns the snapshot of a state, with keys in the order of the specification, not yet validated."""
    body = {
        "run_id": state.run_id,
        "sequence": state.sequence + 1,
        "created_at": created_at,
        "objective": state.objective,
        "done_definition": state.done_definition,
        "provenance_mode": state.provenance_mode,
        "policy_snapshot_ref": state.policy_ref,
        "counts": {
            "steps_since_last_compaction": len(state.steps),
            "counted_events_since_last_compaction": state.counted,
        },
        "latest_context_manifest_ids": list(state.latest_manifests),
        "state": _state(state),
        "retrieval_diagnostics": _diagnostics(state.retrieval),
    }
    return {"snapshot_id": snapshot_id(body), **body}


def _state(state: RunState) -> dict[str, Json]:
    return {
        "claims": list(state.claims.values()),
        "conflicts": list(state.conflicts.values()),
        "open_questions": list(state.open_questions.values()),
        "failures": list(state.failures.values()),
        "source_coverage": {
            "source_ids_seen": list(state.sources_seen.values()),
            "chunk_ids_seen": list(state.chunks_seen.values()),
            "chunk_ids_cited": list(state.chunks_cited.values()),
        },
    }


def _diagnostics(retrieval: Retrieval) -> dict[str, Json]:
    reasons = retrieval.excluded_by_reason
    return {
        "manifests": retrieval.manifests,
        "candidates": retrieval.candidates,
        "selected": retrieval.selected,
        "excluded": _total(reasons),
        "excluded_by_reason": dict(sorted(reasons.items())) if isinstance(reasons, dict) else reasons,
        "filters": list(retrieval.filters.values()),
        "manifest_ids": list(retrieval.manifest_ids.values()),
    }


def _total(reasons: Json) -> int | None:
    numbers: list[Any] = list(reasons.values()) if isinstance(reasons, dict) else [None]
    total = sum(numbers) if all(type(number) is int for number in numbers) else None
    return total if total is not None and abs(total) <= LARGEST_INTEGER else None  # the gate reports it


def snapshot_digest(snapshot: Mapping[str, Json]) -> str:
    """Returns the complete digest, of which the snapshot id has the first digits."""
    return digest(_fast_bytes(snapshot) or canonical(content(snapshot)))


def whole_digest(snapshot: Mapping[str, Json], content_digest: str) -> str:
    """Returns the digest of everything in a snapshot: of its content, and of what its id leaves out (ruling 46)."""
    rest = {name: snapshot.get(name) for name in sorted(NOT_IN_ID)}
    return digest(canonical([content_digest, rest]))


def content(snapshot: Mapping[str, Json]) -> dict[str, Json]:
    """Returns the part of a snapshot that its id is made from."""
    return {name: value for name, value in snapshot.items() if name not in NOT_IN_ID}


_STATE = msgspec.json.Encoder(order="sorted")
_KNOWN = frozenset(Snapshot.__struct_fields__)


def _fast_bytes(snapshot: Mapping[str, Json]) -> bytes | None:
    """Returns the canonical bytes of the content if the state has the right types, else None.

    Such a state contains only texts and integers under known keys. msgspec's encoder gives the same bytes for it,
    thirty times as fast. It is used for the state only, since this is the part that grows.
    """
    try:
        state = _STATE.encode(msgspec.convert(snapshot.get("state"), SnapshotState))
    except (msgspec.ValidationError, UnicodeEncodeError):
        return None
    if not snapshot.keys() <= _KNOWN:
        return None
    rest = content(snapshot)
    pieces = (
        b'"%b":%b' % (name.encode(), state if name == "state" else canonical(rest[name])) for name in sorted(rest)
    )
    return b"{%b}" % b",".join(pieces)


def snapshot_id(snapshot: Mapping[str, Json]) -> str:
    """Returns the id of a snapshot, derived from its content."""
    return id_from("sn_", snapshot_digest(snapshot))


def validated(snapshot: Mapping[str, Json], checks: tuple[CheckResult, ...], action: FailureAction) -> dict[str, Json]:
    """Returns the snapshot with the results of the checks ("Validation object")."""
    passed = all(check.status == "PASS" for check in checks)
    validation = {
        "status": "PASS" if passed else "FAIL",
        "checks": [msgspec.to_builtins(check) for check in checks],
        "failure_action_taken": action,
    }
    return {**snapshot, "validation": validation}


def to_bytes(snapshot: Mapping[str, Json]) -> bytes:
    """Returns a snapshot as compact JSON, with keys in the order of the specification."""
    return msgspec.json.encode(snapshot)


def from_bytes(data: bytes) -> dict[str, Json]:
    """Reads the JSON of a snapshot. Any object is accepted: the checks report what is wrong with it."""
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SlicebaseError("bad-snapshot", f"the record is not a snapshot: {error}") from None


def typed(snapshot: Mapping[str, Json]) -> Snapshot:
    """Returns a snapshot as a typed record. Raises an error unless it has exactly the specified keys and types."""
    try:
        return msgspec.convert(snapshot, Snapshot)
    except msgspec.ValidationError as error:
        raise SlicebaseError("bad-snapshot", f"the record is not a snapshot: {error}") from None


# Deltas (ruling 37)

_COLLECTIONS = {kind.collection: kind.id for kind in ITEMS.values()}


def delta(previous: Mapping[str, Json], snapshot: Mapping[str, Json]) -> dict[str, Json]:
    """Returns what is new or changed in a snapshot since `previous`, the snapshot right before it."""
    before, after = previous["state"], snapshot["state"]
    change = {
        name: [item for item in items if item["changed"] == snapshot["sequence"]] if name in _COLLECTIONS else items
        for name, items in after.items()
    }
    change["source_coverage"] = {
        name: ids[len(before["source_coverage"][name]) :] for name, ids in after["source_coverage"].items()
    }
    return {name: change if name == "state" else value for name, value in snapshot.items()}


def apply_delta(previous: Mapping[str, Json], change: Mapping[str, Json]) -> dict[str, Json]:
    """Returns the snapshot that a delta was made from."""
    before, after = previous["state"], change["state"]
    state = {
        name: _merged(before[name], value, _COLLECTIONS[name]) if name in _COLLECTIONS else value
        for name, value in after.items()
    }
    state["source_coverage"] = {
        name: before["source_coverage"][name] + ids for name, ids in after["source_coverage"].items()
    }
    return {name: state if name == "state" else value for name, value in change.items()}


def _merged(before: list[Json], after: list[Json], key: str) -> list[Json]:
    """Returns the newest version of each item, in order of first appearance."""
    return list({item[key]: item for items in (before, after) for item in items}.values())
