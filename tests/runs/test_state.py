"""The state of a run as a fold over its log (rulings 34, 35, 37, 38)."""

import copy
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.runs.checks import Inputs
from slicebase.runs.event import Event, EventDraft, LogHead
from slicebase.runs.gate import compact
from slicebase.runs.snapshot import build, to_bytes
from slicebase.runs.state import RunState, fold, from_snapshot
from tests.runs.made import (
    FULL,
    LEDGER,
    MANIFESTS,
    NOW,
    PASSING,
    RUN,
    STALE,
    STARTED,
    TURN,
    append_all,
    claim,
    conflict,
    cycle,
    failure,
    log,
    manifest,
    pointer,
    question,
)


def state_after(*drafts: EventDraft) -> RunState:
    return fold(RunState(RUN), log(*drafts))


PASSED = EventDraft(type="SNAPSHOT", payload={"status": "PASS", "sequence": 1, "snapshot_id": "sn_x", "digest": "x"})


def test_the_terms_come_from_the_start() -> None:
    state = state_after()
    assert (state.objective, state.done_definition, state.provenance_mode) == (
        STARTED.objective,
        STARTED.done_definition,
        "audit_only",
    )


def test_the_latest_claim_with_an_id_wins_and_keeps_its_first_place() -> None:
    state = state_after(claim("a"), claim("b"), claim("a", "retracted", [], "No."))
    assert list(state.claims) == ["a", "b"]
    assert state.claims["a"] == {
        "claim_id": "a",
        "status": "retracted",
        "statement": "No.",
        "evidence_refs": [],
        "since": 1,
        "changed": 1,
    }


def test_a_new_wording_does_not_inherit_evidence() -> None:
    later = EventDraft(type="CLAIM", payload={"claim_id": "c1", "status": "verified", "statement": "Something else."})
    assert state_after(claim(), later).claims["c1"]["evidence_refs"] == []


@pytest.mark.parametrize(
    ("first", "change", "collection", "kept"),
    [
        (claim(), {"claim_id": "c1", "status": "retracted"}, "claims", "statement"),
        (conflict(), {"conflict_id": "x1", "status": "resolved"}, "conflicts", "side_a_refs"),
        (failure(), {"failure_id": "f1", "status": "resolved"}, "failures", "why"),
    ],
)
def test_an_event_with_id_and_status_changes_the_status_alone(
    first: EventDraft, change: dict[str, str], collection: str, kept: str
) -> None:
    before = next(iter(getattr(state_after(first), collection).values()))
    after = next(
        iter(getattr(state_after(first, EventDraft(type=first.type, payload=dict(change))), collection).values())
    )
    assert after["status"] == change["status"]
    assert after[kept] == before[kept]


def test_missing_fields_get_defaults_if_that_hides_nothing() -> None:
    bare = EventDraft(type="CLAIM", payload={"claim_id": "c1", "statement": "x", "colour": "blue"})
    item = state_after(bare).claims["c1"]
    assert (item["status"], item["evidence_refs"]) == ("candidate", [])
    assert "colour" not in item


def test_since_and_changed_name_the_snapshots_that_first_hold_and_last_change_an_item() -> None:
    state = state_after(claim("a"), claim("b"), PASSED, claim("a", "retracted"), claim("b"), claim("c"))
    assert {key: (item["since"], item["changed"]) for key, item in state.claims.items()} == {
        "a": (1, 2),
        "b": (1, 1),  # repeated, word for word
        "c": (2, 2),
    }


def test_a_question_is_open_until_it_is_closed_and_can_be_asked_again() -> None:
    state = state_after(question("a"), question("b"), question("a", "closed"), question("c", "closed"), question("a"))
    assert list(state.open_questions) == ["b", "a"]


def test_manifests_and_sources_name_what_was_seen_and_claims_and_conflicts_what_was_cited() -> None:
    source = EventDraft(type="SOURCE", payload={"source_ids": ["file:01J"], "chunk_ids": ["row:01J/r1"]})
    state = state_after(manifest(), source, source)
    assert list(state.sources_seen) == ["session:s1", "file:01J"]
    assert list(state.chunks_seen) == [TURN.chunk_id, "row:01J/r1"]
    assert list(state.chunks_cited) == []
    assert list(state_after(conflict()).chunks_cited) == [TURN.chunk_id]


def test_a_chunk_that_was_cited_once_stays_cited() -> None:
    assert list(state_after(claim(), claim("c1", "retracted", [])).chunks_cited) == [TURN.chunk_id]


def test_counted_are_terminal_events_and_steps_are_counted_once() -> None:
    """Ruling 34."""
    verbose = [EventDraft(type=name, step=9) for name in ("TOKEN", "plan_done", "CLAIMED")]
    state = state_after(*cycle(1), *verbose, *cycle(2), EventDraft(type="ACT_DONE", step=2))
    assert (state.counted, len(state.steps)) == (7, 2)


def test_a_snapshot_that_passed_resets_the_counts() -> None:
    state = state_after(*cycle(1), manifest(), PASSED, *cycle(1))
    assert (state.sequence, state.counted, len(state.steps), state.retrieval.manifests) == (1, 3, 1, 0)


def test_a_snapshot_that_failed_changes_nothing() -> None:
    """Ruling 40."""
    failed = EventDraft(type="SNAPSHOT", payload={**PASSED.payload, "status": "FAIL"})
    assert state_after(*cycle(1), failed) == state_after(*cycle(1))


def test_the_policy_is_the_newest_manifests() -> None:
    """Ruling 38."""
    assert state_after().policy_ref is None
    assert state_after(manifest(1)).policy_ref == "slice_policy_v1:02005444cae1117d"
    assert state_after(manifest(1), manifest(2, None)).policy_ref is None
    assert state_after(manifest(1), PASSED).policy_ref == "slice_policy_v1:02005444cae1117d"


def test_the_latest_manifests_are_those_since_the_last_snapshot_or_those_it_named() -> None:
    first, second = manifest(1), manifest(2)
    ids = [first.payload["manifest_id"], second.payload["manifest_id"]]
    assert state_after(first, second).latest_manifests == tuple(ids)
    assert state_after(first, PASSED).latest_manifests == (ids[0],)
    assert state_after(first, PASSED, second).latest_manifests == (ids[1],)


def test_sums_over_manifests_keep_the_first_value_that_is_not_a_number() -> None:
    def counted(candidates: Any, reasons: Any) -> EventDraft:
        payload = {"manifest_id": "m", "candidates": candidates, "excluded_by_reason": reasons}
        return EventDraft(type="MANIFEST", payload=payload)

    def sums(*drafts: EventDraft) -> tuple[Any, Any]:
        found = fold(RunState(RUN), log(*drafts)).retrieval
        return found.candidates, found.excluded_by_reason

    assert sums(counted(2, {"a": 1}), counted(3, {"a": 4, "b": 1})) == (5, {"a": 5, "b": 1})
    assert sums(counted("x", {"a": "y"}), counted("z", {"a": "w"}), counted(3, {"a": 4})) == ("x", {"a": "y"})
    assert sums(counted(1, {"a": 1}), counted(2, ["c"]), counted(2, {"a": 1}), counted(2, ["d"])) == (7, ["c"])


def test_a_fold_leaves_the_state_before_it_as_it_was() -> None:
    before = state_after(*FULL)
    copy = build(before, NOW)
    fold(before, log(claim("c9"), question("more?"), *cycle(7), manifest(3)))
    assert build(before, NOW) == copy


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
    max_leaves=4,
)
field_names = st.one_of(
    st.sampled_from(["claim_id", "status", "statement", "evidence_refs", "conflict_id", "side_a_refs", "failure_id"]),
    st.sampled_from(["question", "source_ids", "chunk_ids", "manifest_id", "candidates", "excluded_by_reason"]),
    st.sampled_from(["filters", "objective"]),
)
odd_drafts = st.builds(
    lambda name, payload: EventDraft(type=name, step=1, payload=payload),
    st.sampled_from(["RUN_STARTED", "CLAIM", "CONFLICT", "QUESTION", "FAILURE", "SOURCE", "MANIFEST", "SNAPSHOT", "X"]),
    st.dictionaries(field_names, json_values, max_size=4),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(odd_drafts, max_size=8))
def test_the_fold_takes_any_log_and_its_snapshot_can_be_printed(drafts: list[EventDraft]) -> None:
    """Ruling 35: a stream is accepted as it is."""
    state = state_after(*drafts)
    assert to_bytes(build(state, NOW)) == to_bytes(build(state_after(*drafts), NOW))


some_id = st.sampled_from(["a", "b", "c"])
some_refs = st.lists(st.sampled_from([pointer(STALE), pointer(PASSING)]), min_size=1, max_size=2)
good_drafts = st.one_of(
    st.builds(
        claim, some_id, st.sampled_from(["verified", "candidate", "retracted"]), some_refs, st.sampled_from("xyz")
    ),
    st.builds(conflict, some_id),
    st.builds(failure, some_id, st.sampled_from(["open", "resolved"])),
    st.builds(question, st.sampled_from("pqr"), st.sampled_from(["open", "closed"])),
    st.builds(manifest, st.integers(1, 3), st.sampled_from([None, "02005444cae1117d"])),
    st.builds(lambda step: EventDraft(type="ACT_DONE", step=step), st.integers(1, 3)),
    st.just(EventDraft(type="VERBOSE", payload={"claim_id": "a"})),
)


def run_with_snapshots(batches: Iterable[list[EventDraft]]) -> tuple[list[Event], list[tuple[int, dict[str, Any]]]]:
    """Returns a log with a compaction after every batch, and each snapshot with the length of the log after it."""
    events = list(log())
    snapshots: list[tuple[int, dict[str, Any]]] = []
    head, previous, since = LogHead(RUN), None, 0
    for batch in batches:
        more, end = append_all(LogHead(RUN, events[-1].seq, events[-1].hash), batch, NOW)
        events += more
        inputs = Inputs(STARTED, previous, head, tuple(events[since:]), LEDGER, MANIFESTS)
        compaction = compact(lambda made=inputs: made, NOW)  # type: ignore[misc]
        assert compaction.passed, compaction.diagnosis
        more, head = append_all(end, compaction.drafts, NOW)
        events += more
        previous, since = compaction.snapshot, len(events)
        snapshots.append((since, previous))
    return events, snapshots


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(good_drafts, max_size=6), min_size=1, max_size=4), st.lists(good_drafts, max_size=6))
def test_state_from_any_snapshot_and_the_rest_is_state_from_the_whole_log(
    batches: list[list[EventDraft]], rest: list[EventDraft]
) -> None:
    events, snapshots = run_with_snapshots(batches)
    events += append_all(LogHead(RUN, events[-1].seq, events[-1].hash), rest, NOW)[0]
    whole = fold(RunState(RUN), events)
    for length, snapshot in snapshots:
        resumed = fold(from_snapshot(snapshot), events[length:])
        assert resumed == whole
        assert to_bytes(build(resumed, NOW)) == to_bytes(build(whole, NOW))


@given(st.lists(good_drafts, max_size=8), st.lists(good_drafts, max_size=8))
def test_a_fold_does_not_change_the_state_that_it_starts_from(drafts: list[EventDraft], more: list[EventDraft]) -> None:
    events = log(*drafts)
    before = fold(RunState(RUN), events)
    kept = copy.deepcopy(before)
    fold(before, append_all(LogHead(RUN, events[-1].seq, events[-1].hash), more, NOW)[0])
    assert before == kept
