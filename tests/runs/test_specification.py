"""compaction-snapshot.md, "How to verify": one test for each point."""

from typing import Any

from slicebase.runs.event import EventDraft
from slicebase.runs.gate import is_due
from slicebase.runs.narrative import narrate
from slicebase.runs.snapshot import from_bytes, to_bytes
from slicebase.runs.state import RunState, fold
from tests.runs.made import FULL, RUN, STALE, claim, compacted, conflict, cycle, log, pointer

TOP_LEVEL = {
    "snapshot_id": str,
    "run_id": str,
    "sequence": int,
    "created_at": str,
    "objective": str,
    "done_definition": dict,
    "provenance_mode": str,
    "policy_snapshot_ref": str,
    "counts": dict,
    "latest_context_manifest_ids": list,
    "state": dict,
    "retrieval_diagnostics": dict,
    "validation": dict,
}
STATE = {"claims": list, "conflicts": list, "open_questions": list, "failures": list, "source_coverage": dict}
MINIMUM = {
    "claims": {"claim_id", "status", "statement", "evidence_refs"},
    "conflicts": {"conflict_id", "description", "side_a_refs", "side_b_refs"},
    "failures": {"failure_id", "category", "where", "why"},
}


def statuses(*drafts: EventDraft) -> dict[str, str]:
    validation = compacted(*drafts).snapshot["validation"]
    return {check["name"]: check["status"] for check in validation["checks"]}


def test_a_snapshot_of_a_synthetic_run_has_the_specifications_keys_and_types() -> None:
    snapshot = from_bytes(to_bytes(compacted(*FULL).snapshot))
    assert {name: type(value) for name, value in snapshot.items()} == TOP_LEVEL
    assert {name: type(value) for name, value in snapshot["state"].items()} == STATE
    for name, fields in MINIMUM.items():
        assert all(fields <= item.keys() for item in snapshot["state"][name])
        assert snapshot["state"][name]
    assert list(snapshot["state"]["source_coverage"]) == ["source_ids_seen", "chunk_ids_seen", "chunk_ids_cited"]
    assert set(snapshot["validation"]) == {"status", "checks", "failure_action_taken"}
    assert all(set(check) == {"name", "status", "message"} for check in snapshot["validation"]["checks"])


def test_a_verified_claim_without_evidence_pointers_fails_validation() -> None:
    assert statuses(claim(refs=[]))["verified_claims_cited"] == "FAIL"


def test_a_conflict_with_less_than_two_sided_evidence_fails_validation() -> None:
    sides: dict[str, Any]
    for sides in ({"side_a": []}, {"side_b": []}, {"side_b": [pointer(STALE)]}):
        assert statuses(conflict(**sides))["conflicts_two_sided"] == "FAIL"


def test_identical_snapshot_json_yields_an_identical_narrative() -> None:
    data = to_bytes(compacted(*FULL).snapshot)
    assert narrate(from_bytes(data)).body == narrate(from_bytes(data)).body


def due(*drafts: EventDraft) -> bool:
    state = fold(RunState(RUN), log(*drafts))
    return is_due(state.counted, len(state.steps))


def test_cadence_depends_on_terminal_events_and_fallback_steps_alone() -> None:
    verbose = [EventDraft(type=f"CHATTER_{number}", step=number) for number in range(50)]
    steps = [draft for step in range(5) for draft in cycle(step)]
    assert not due(*verbose, *steps, *verbose)
    assert due(*verbose, *steps, *verbose, *cycle(5))
    one_per_step = [EventDraft(type="OBSERVE_DONE", step=step) for step in range(8)]
    assert not due(*one_per_step[:7], *verbose)
    assert due(*one_per_step, *verbose)
