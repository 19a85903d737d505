"""Snapshots: the state of a run at one moment, in the shape of the specification, named by content (rulings 37, 38).

Snapshots are cumulative, so storage keeps only the difference from the previous one (ruling 37).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec

from slicebase.core.hashing import LARGEST_INTEGER, canonical, digest, digest_of_pieces, id_from
from slicebase.errors import SlicebaseError
from slicebase.runs.parts import StateParts, parts_of
from slicebase.runs.records import CheckResult, FailureAction, Snapshot
from slicebase.runs.state import ITEMS, Json, Retrieval, RunState

# The id depends on what the run knew, not on the time of the snapshot or the result of its checks.
NOT_IN_ID = frozenset({"snapshot_id", "created_at", "validation"})


class Built(NamedTuple):
    """A snapshot that is not yet validated, its complete digest, and the bytes of its state if its types are right."""

    snapshot: dict[str, Json]
    digest: str
    parts: StateParts | None


def build(state: RunState, created_at: str) -> dict[str, Json]:
    """Returns the snapshot of a state, with keys in the order of the specification, not yet validated."""
    return built(state, created_at).snapshot


def built(state: RunState, created_at: str, before: StateParts | None = None) -> Built:
    """Returns the snapshot of a state with its digest. What it shares with the snapshot before is not encoded again."""
    body = without_id(state, created_at)
    parts = parts_of(body["state"], before)
    content_digest = snapshot_digest(body, parts)
    return Built({"snapshot_id": id_from("sn_", content_digest), **body}, content_digest, parts)


def without_id(state: RunState, created_at: str) -> dict[str, Json]:
    """Returns the snapshot of a state without its id."""
    return {
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


def snapshot_digest(snapshot: Mapping[str, Json], parts: StateParts | None = None) -> str:
    """Returns the complete digest, of which the snapshot id has the first digits. `parts` are those of its state."""
    known = parts or parts_of(snapshot.get("state"))
    if known is None or not snapshot.keys() <= _KEYS:
        return digest(canonical(content(snapshot)))
    return digest_of_pieces(_content_pieces(snapshot, known))


def same_content(
    one: Mapping[str, Json], one_parts: StateParts | None, other: Mapping[str, Json], other_parts: StateParts | None
) -> bool:
    """Returns whether two snapshots have the same content, and so the same digest, without hashing them."""
    if one_parts is None or other_parts is None or not one.keys() | other.keys() <= _KEYS:
        return canonical(content(one)) == canonical(content(other))
    pairs = zip_longest(_content_pieces(one, one_parts), _content_pieces(other, other_parts))
    return all(first == second for first, second in pairs)


def whole_digest(snapshot: Mapping[str, Json], content_digest: str) -> str:
    """Returns the digest of everything in a snapshot: of its content, and of what its id leaves out (ruling 46)."""
    rest = {name: snapshot.get(name) for name in sorted(NOT_IN_ID)}
    return digest(canonical([content_digest, rest]))


def content(snapshot: Mapping[str, Json]) -> dict[str, Json]:
    """Returns the part of a snapshot that its id is made from."""
    return {name: value for name, value in snapshot.items() if name not in NOT_IN_ID}


_KEYS = frozenset(Snapshot.__struct_fields__)


def _content_pieces(snapshot: Mapping[str, Json], parts: StateParts) -> Iterator[bytes]:
    """Yields the canonical bytes of the content. Those of the state are known, since this is the part that grows."""
    rest = content(snapshot)
    for index, name in enumerate(sorted(rest)):
        yield b'%b"%b":' % (b"," if index else b"{", name.encode())
        yield from parts.pieces() if name == "state" else (canonical(rest[name]),)
    yield b"}"


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


def size_of(snapshot: Mapping[str, Json], parts: StateParts | None) -> int:
    """Returns the length of `to_bytes`. The bytes of a state have the same length in every order of its keys."""
    if parts is None:
        return len(to_bytes(snapshot))
    return len(to_bytes({**snapshot, "state": 0})) - 1 + parts.size


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


def apply_deltas(previous: Mapping[str, Json], changes: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Returns the snapshot that the last of some deltas was made from. They follow each other and `previous`.

    It takes time for one copy of the state and for each delta.
    """
    before, after = previous["state"], changes[-1]["state"]
    merged: dict[str, dict[str, Json]] = {
        name: {item[key]: item for item in before[name]} for name, key in _COLLECTIONS.items()
    }
    coverage = {name: list(ids) for name, ids in before["source_coverage"].items()}
    for change in changes:
        for name, key in _COLLECTIONS.items():  # the newest version of each item, in order of first appearance
            merged[name].update((item[key], item) for item in change["state"][name])
        for name, ids in change["state"]["source_coverage"].items():
            coverage[name] += ids
    state = {
        name: coverage if name == "source_coverage" else list(merged[name].values()) if name in merged else value
        for name, value in after.items()
    }
    return {name: state if name == "state" else value for name, value in changes[-1].items()}
