"""The gate's checks: each fails on what is made for it, and only it (ruling 39)."""

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.runs.checks import CHECKS, Inputs, QuoteCondition, check
from slicebase.runs.event import EventDraft, LogHead
from slicebase.runs.evidence import cite
from slicebase.runs.gate import state_of
from slicebase.runs.records import ManifestLogged
from slicebase.runs.snapshot import build
from slicebase.runs.state import Json
from tests.runs.made import (
    FULL,
    LEDGER,
    MANIFESTS,
    NOW,
    PASSING,
    RUN,
    STALE,
    STARTED,
    TEXT,
    TURN,
    append_all,
    claim,
    compacted,
    conflict,
    cycle,
    failure,
    inputs,
    manifest,
    pointer,
    question,
)
from tests.runs.test_state import good_drafts, odd_drafts, run_with_snapshots

Case = tuple[dict[str, Json], Inputs]


def failed(snapshot: dict[str, Json], made: Inputs) -> list[str]:
    return [result.name for result in check(snapshot, made) if result.status == "FAIL"]


def of_log(*drafts: EventDraft, **changes: Any) -> Case:
    """A snapshot of a log, as a stream could bring it."""
    made = inputs(*drafts)._replace(**changes)
    return build(state_of(made), NOW), made


def edited(**changes: Json) -> Case:
    """A snapshot that differs from what its log says."""
    snapshot, made = of_log(*FULL)
    return {**snapshot, **changes}, made


def without(name: str) -> Case:
    snapshot, made = of_log(*FULL)
    return {key: value for key, value in snapshot.items() if key != name}, made


def edited_state(**changes: Json) -> Case:
    snapshot, made = of_log(*FULL)
    return {**snapshot, "state": {**snapshot["state"], **changes}}, made


def edited_event(place: int, **changes: Json) -> Case:
    snapshot, made = of_log(*FULL)
    events = list(made.events)
    events[place] = msgspec.structs.replace(events[place], **changes)
    return snapshot, made._replace(events=tuple(events))


def second_start(**changes: Json) -> Case:
    return of_log(EventDraft(type="RUN_STARTED", payload={**msgspec.to_builtins(inputs().started), **changes}))


def ref(**changes: Json) -> dict[str, Json]:
    made = {**pointer(STALE), **changes}
    return {name: value for name, value in made.items() if value is not ...}


def forged() -> Case:
    """A verified claim that the log does not hold, with evidence that the ledger does."""
    snapshot, made = of_log(*FULL)
    claims = [{**snapshot["state"]["claims"][0], "claim_id": "c9"}]
    return {**snapshot, "state": {**snapshot["state"], "claims": claims}}, made


def promoted() -> Case:
    """A retracted claim that the snapshot calls verified."""
    snapshot, made = of_log(claim(), claim("c1", "retracted"))
    claims = [{**snapshot["state"]["claims"][0], "status": "verified"}]
    return {**snapshot, "state": {**snapshot["state"], "claims": claims}}, made


def reworded(**fields: Json) -> Case:
    """A verified claim that says something else than its event."""
    snapshot, made = of_log(claim())
    claims = [{**snapshot["state"]["claims"][0], **fields}]
    return {**snapshot, "state": {**snapshot["state"], "claims": claims}}, made


def other_manifest(**changes: Json) -> Case:
    """A MANIFEST event that says something else than its manifest."""
    payload = {**manifest().payload, **changes}
    given = {name: value for name, value in payload.items() if value is not ...}
    return of_log(EventDraft(type="MANIFEST", payload=given))


OF_A_MANIFEST = [name for name in manifest().payload if name != "manifest_id"]
UNKNOWN = cite(TURN, "The build fails")  # well made, and not in the ledger
MISDERIVED = msgspec.structs.replace(STALE, quote_hash=PASSING.quote_hash, quote=None)
LONG = "x" * 2001


def failure_of(**changes: str) -> EventDraft:
    return EventDraft(type="FAILURE", payload={**failure().payload, **changes})


CASES: list[tuple[str, str, Callable[[], Case]]] = [
    ("objective_unchanged", "a second start", lambda: second_start(objective="Find another.")),
    ("objective_unchanged", "an edit", lambda: edited(objective="Find another.")),
    ("done_definition_unchanged", "a second start", lambda: second_start(done_definition="Nothing to do.")),
    ("done_definition_unchanged", "an edit", lambda: edited(done_definition={"text": "Report written."})),
    ("verified_claims_cited", "no pointers", lambda: of_log(claim(refs=[]))),
    (
        "verified_claims_cited",
        "no field",
        lambda: of_log(EventDraft(type="CLAIM", payload={"claim_id": "c", "status": "verified", "statement": "x"})),
    ),
    ("verified_claims_in_ledger", "no such evidence", lambda: of_log(claim(refs=[pointer(UNKNOWN)]))),
    ("verified_claims_in_ledger", "not in the log", forged),
    ("verified_claims_in_ledger", "retracted in the log", promoted),
    ("verified_claims_in_ledger", "other words than in the log", lambda: reworded(statement="It is fresh.")),
    ("verified_claims_in_ledger", "other evidence than in the log", lambda: reworded(evidence_refs=[pointer(PASSING)])),
    ("conflicts_two_sided", "one side empty", lambda: of_log(conflict(side_b=[]))),
    ("conflicts_two_sided", "both sides empty", lambda: of_log(conflict(side_a=[], side_b=[]))),
    ("conflicts_two_sided", "the same on both", lambda: of_log(conflict(side_b=[pointer(STALE)]))),
    (
        "conflicts_two_sided",
        "the same on both in another order",
        lambda: of_log(conflict(side_a=[pointer(STALE), pointer(PASSING)], side_b=[pointer(PASSING), pointer(STALE)])),
    ),
    (
        "conflicts_two_sided",
        "one side has only what the other has, too",
        lambda: of_log(conflict(side_a=[pointer(STALE), pointer(PASSING)])),
    ),
    ("conflicts_two_sided", "the same twice", lambda: of_log(conflict(side_a=[pointer(PASSING), pointer(PASSING)]))),
    ("pointers_complete", "no evidence id", lambda: of_log(claim(refs=[ref(evidence_id=...)]))),
    ("pointers_complete", "no chunk", lambda: of_log(claim(refs=[ref(chunk_id=...)]))),
    ("pointers_complete", "no span", lambda: of_log(claim(refs=[ref(span=...)]))),
    ("pointers_complete", "half a span", lambda: of_log(claim(refs=[ref(span={"start": 1})]))),
    ("pointers_complete", "a span of texts", lambda: of_log(claim(refs=[ref(span={"start": "1", "end": "2"})]))),
    ("pointers_complete", "a reversed span", lambda: of_log(claim(refs=[ref(span={"start": 5, "end": 2})]))),
    ("pointers_complete", "an empty span", lambda: of_log(claim(refs=[ref(span={"start": 5, "end": 5})]))),
    ("pointers_complete", "a span before the text", lambda: of_log(claim(refs=[ref(span={"start": -1, "end": 5})]))),
    ("pointers_complete", "more than a pointer", lambda: of_log(claim(refs=[ref(quote=TEXT)]))),
    ("pointers_complete", "not an object", lambda: of_log(claim(refs=["ev_1"]))),
    ("pointers_complete", "in a conflict", lambda: of_log(conflict(side_a=[ref(span=None)]))),
    ("evidence_ids_rederive", "another span", lambda: of_log(claim(refs=[ref(span={"start": 0, "end": 3})]))),
    ("evidence_ids_rederive", "another chunk", lambda: of_log(claim(refs=[ref(chunk_id="row:f/r")]))),
    (
        "evidence_ids_rederive",
        "a changed record",
        lambda: of_log(claim(), evidence={STALE.evidence_id: MISDERIVED}),
    ),
    (
        "evidence_ids_rederive",
        "a changed quote",
        lambda: of_log(
            claim(), evidence={STALE.evidence_id: msgspec.structs.replace(STALE, quote="the lock file is fine.")}
        ),
    ),
    (
        "evidence_ids_rederive",
        "unknown, of a candidate",
        lambda: of_log(claim(status="candidate", refs=[pointer(UNKNOWN)])),
    ),
    ("evidence_ids_rederive", "unknown, of a conflict", lambda: of_log(conflict(side_a=[pointer(UNKNOWN)]))),
    (
        "evidence_ids_rederive",
        "a quote that is lost",
        lambda: of_log(claim(), condition=lambda evidence: "broken"),
    ),
    ("no_inlined_blobs", "a statement", lambda: of_log(claim(statement=LONG))),
    ("no_inlined_blobs", "a question", lambda: of_log(question(LONG))),
    (
        "no_inlined_blobs",
        "a reason's name",
        lambda: of_log(
            EventDraft(type="MANIFEST", payload={"manifest_id": "m", "excluded_by_reason": {LONG: 1}}),
            manifests={"m": ManifestLogged(manifest_id="m", excluded_by_reason={LONG: 1})},
        ),
    ),
    ("keys_and_types", "a key missing", lambda: without("provenance_mode")),
    ("keys_and_types", "the state missing", lambda: without("state")),
    ("keys_and_types", "the counts missing", lambda: without("counts")),
    ("keys_and_types", "the objective missing", lambda: without("objective")),
    ("keys_and_types", "a key too many", lambda: edited(mood="good")),
    ("keys_and_types", "no time", lambda: edited(created_at="today")),
    ("keys_and_types", "a sequence of text", lambda: edited(sequence="1")),
    ("keys_and_types", "a run of number", lambda: edited(run_id=1)),
    ("keys_and_types", "counts of text", lambda: edited(counts={"steps_since_last_compaction": "2"})),
    ("keys_and_types", "a count that is true", lambda: edited(counts=True)),
    ("keys_and_types", "claims that are not a list", lambda: edited_state(claims={})),
    ("keys_and_types", "a claim that is not an object", lambda: edited_state(claims=["c1"])),
    ("keys_and_types", "refs that are not a list", lambda: of_log(claim(refs="ev_1"))),
    (
        "keys_and_types",
        "a claim without statement",
        lambda: of_log(EventDraft(type="CLAIM", payload={"claim_id": "c"})),
    ),
    ("keys_and_types", "a claim without id", lambda: of_log(EventDraft(type="CLAIM", payload={"statement": "x"}))),
    ("keys_and_types", "an unknown status", lambda: of_log(claim(status="certain"))),
    ("keys_and_types", "a status for an unknown id", lambda: of_log(failure("f", "odd"))),
    ("keys_and_types", "a question that is not a text", lambda: of_log(question({"what": 1}))),
    (
        "keys_and_types",
        "sources that are not texts",
        lambda: of_log(EventDraft(type="SOURCE", payload={"source_ids": [1]})),
    ),
    (
        "keys_and_types",
        "candidates that are not a number",
        lambda: of_log(manifest(1), EventDraft(type="MANIFEST", payload={"manifest_id": "m", "candidates": "many"})),
    ),
    (
        "keys_and_types",
        "reasons that are not an object",
        lambda: of_log(EventDraft(type="MANIFEST", payload={"manifest_id": "m", "excluded_by_reason": ["budget"]})),
    ),
    ("keys_and_types", "a manifest without id", lambda: of_log(EventDraft(type="MANIFEST"))),
    (
        "counts_right",
        "events",
        lambda: edited(counts={"steps_since_last_compaction": 2, "counted_events_since_last_compaction": 18}),
    ),
    (
        "counts_right",
        "steps",
        lambda: edited(counts={"steps_since_last_compaction": 3, "counted_events_since_last_compaction": 6}),
    ),
    ("sequence_unbroken", "a number left out", lambda: edited(sequence=2)),
    ("sequence_unbroken", "another run", lambda: edited(run_id="run-2")),
    ("chain_unbroken", "a payload", lambda: edited_event(2, payload={"note": "never said"})),
    ("chain_unbroken", "a time", lambda: edited_event(3, time="2026-01-01T00:00:09.000Z")),
    ("chain_unbroken", "a hash", lambda: edited_event(4, hash="sha256:" + "0" * 64)),
    ("chain_unbroken", "a head", lambda: of_log(*FULL, head=LogHead(RUN, 0, "sha256:" + "0" * 64))),
    ("manifests_known", "no such manifest", lambda: of_log(manifest(99))),
    ("manifests_known", "an empty id", lambda: of_log(EventDraft(type="MANIFEST", payload={"manifest_id": ""}))),
    ("manifests_known", "only an id", lambda: other_manifest(**dict.fromkeys(OF_A_MANIFEST, ...))),
    *(
        ("manifests_known", f"other {name}", lambda name=name, value=value: other_manifest(**{name: value}))
        for name, value in {
            "policy_params_hash": None,
            "candidates": 11,
            "selected": 2,
            "excluded_by_reason": {"budget": 5},
            "filters": [],
            "source_ids": "session:s2",
            "chunk_ids": ["row:f/r"],
        }.items()
    ),
    ("statements_present", "a claim's statement", lambda: of_log(claim(statement=" \n"))),
    ("statements_present", "a claim's id", lambda: of_log(claim(""))),
    ("statements_present", "a conflict's id", lambda: of_log(conflict("  "))),
    ("statements_present", "a conflict's description", lambda: of_log(conflict(description="\t"))),
    ("statements_present", "a failure's id", lambda: of_log(failure(""))),
    ("statements_present", "a failure's category", lambda: of_log(failure_of(category=" "))),
    ("statements_present", "a failure's place and reason", lambda: of_log(failure_of(where="", why="\u200b"))),
    ("statements_present", "a question", lambda: of_log(question(" "))),
    ("statements_present", "a source", lambda: of_log(EventDraft(type="SOURCE", payload={"source_ids": [""]}))),
    ("statements_present", "a source alone", lambda: of_log(EventDraft(type="SOURCE", payload={"source_ids": ""}))),
    ("statements_present", "a chunk alone", lambda: of_log(EventDraft(type="SOURCE", payload={"chunk_ids": " "}))),
    ("statements_present", "a statement of a zero width space", lambda: of_log(claim(statement="\u200b"))),
    ("statements_present", "an id of a filler", lambda: of_log(claim("\u3164"))),
]


def test_a_failure_needs_a_place_or_a_reason() -> None:
    for name in ("where", "why"):
        assert failed(*of_log(failure_of(**{name: ""}))) == []


def test_a_full_run_passes_every_check() -> None:
    snapshot, made = of_log(*FULL)
    assert failed(snapshot, made) == []
    assert failed(compacted(*FULL).snapshot, made) == []


@pytest.mark.parametrize(("name", "what", "case"), CASES, ids=[f"{name}: {what}" for name, what, _ in CASES])
def test_each_check_fails_alone_on_its_own_input(name: str, what: str, case: Callable[[], Case]) -> None:
    assert failed(*case()) == [name]


def test_every_check_has_an_input_of_its_own() -> None:
    assert {name for name, _, _ in CASES} == set(CHECKS)


@pytest.mark.parametrize(("condition", "word"), [("purged", "purged"), ("drifted", "changed")])
def test_a_pointer_to_purged_or_drifted_text_passes_marked(condition: QuoteCondition, word: str) -> None:
    """Ruling 46."""
    snapshot, made = of_log(*FULL)
    made = made._replace(condition=lambda evidence: condition if evidence == STALE else "found")
    (marked,) = (result for result in check(snapshot, made) if result.message)
    assert (marked.name, marked.status) == ("evidence_ids_rederive", "PASS")
    assert STALE.evidence_id in marked.message
    assert word in marked.message


def test_a_purged_manifest_passes_marked() -> None:
    snapshot, made = of_log(manifest())
    name = manifest().payload["manifest_id"]
    (marked,) = (result for result in check(snapshot, made._replace(manifests={name: None})) if result.message)
    assert (marked.name, marked.status) == ("manifests_known", "PASS")
    assert name in marked.message


def test_a_problem_is_not_hidden_by_marks() -> None:
    snapshot, made = of_log(*(claim(f"c{n}") for n in range(5)), claim("bad", refs=[ref(span={"start": 0, "end": 3})]))
    assert failed(snapshot, made._replace(condition=lambda evidence: "purged")) == ["evidence_ids_rederive"]


def test_sides_that_share_some_evidence_may_conflict() -> None:
    other = cite(TURN, "The build fails")
    shared = conflict(side_a=[pointer(STALE), pointer(other)], side_b=[pointer(STALE), pointer(PASSING)])
    assert failed(*of_log(shared, evidence={**LEDGER, other.evidence_id: other})) == []


def test_chunks_that_do_not_fit_into_the_event_of_a_manifest_are_no_difference() -> None:
    more = (TURN.chunk_id, "row:f/r")
    known = {"m": ManifestLogged(manifest_id="m", chunk_ids=more)}
    for chunks in (more, more[:1], ()):
        drafts = [EventDraft.of("MANIFEST", ManifestLogged(manifest_id="m", chunk_ids=chunks))]
        assert failed(*of_log(*drafts, manifests=known)) == []


@pytest.mark.parametrize("name", ["objective", "done_definition"])
def test_terms_are_also_compared_with_the_previous_snapshot(name: str) -> None:
    previous = compacted(*FULL).snapshot
    made = inputs(*cycle(3), previous=previous, head=LogHead(RUN, 9, "sha256:" + "1" * 64))
    snapshot = build(state_of(made), NOW)
    assert failed(snapshot, made) == []
    other = {**previous, name: "Something else."}
    assert failed(snapshot, made._replace(previous=other)) == [f"{name}_unchanged"]


def test_a_verified_claim_of_the_previous_snapshot_is_in_the_ledger() -> None:
    previous = compacted(*FULL).snapshot
    made = inputs(*cycle(3), previous=previous, head=LogHead(RUN, 9, "sha256:" + "1" * 64))
    snapshot = build(state_of(made), NOW)
    assert failed(snapshot, made) == []
    forgotten = {**previous, "state": {**previous["state"], "claims": []}}
    assert failed(snapshot, made._replace(previous=forgotten)) == ["verified_claims_in_ledger"]


def test_items_that_passed_are_not_checked_again_unless_they_changed() -> None:
    previous = compacted(*FULL).snapshot
    made = inputs(*cycle(3), previous=previous, head=LogHead(RUN, 9, "sha256:" + "1" * 64))._replace(evidence={})
    snapshot = build(state_of(made), NOW)
    assert failed(snapshot, made) == []
    other = copy.deepcopy(snapshot)
    assert failed(other, made) == []
    for kind in ("claims", "conflicts"):
        for item in other["state"][kind]:
            item["changed"] += 1
    assert failed(other, made) == [
        "verified_claims_in_ledger",
        "evidence_ids_rederive",  # of the conflict
    ]


@pytest.mark.parametrize(("field", "value"), [("start", False), ("end", 5.0)])
def test_a_value_that_is_the_same_to_python_and_not_in_json_is_checked_again(field: str, value: object) -> None:
    """To Python, 0 is False and 5 is 5.0."""
    previous = copy.deepcopy(compacted(*FULL).snapshot)
    previous["state"]["claims"][0]["evidence_refs"][0]["span"] |= {"start": 0, "end": 5}
    made = inputs(*cycle(3), previous=previous, head=LogHead(RUN, 9, "sha256:" + "1" * 64))
    snapshot = copy.deepcopy(build(state_of(made), NOW))
    assert "pointers_complete" not in failed(snapshot, made)
    snapshot["state"]["claims"][0]["evidence_refs"][0]["span"][field] = value
    assert "pointers_complete" in failed(snapshot, made)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(good_drafts, max_size=5), min_size=1, max_size=4),
    st.lists(good_drafts | odd_drafts | st.just(claim(statement=LONG)), max_size=5),
)
def test_asking_only_about_what_is_new_gives_the_same_answers(
    batches: list[list[EventDraft]], more: list[EventDraft]
) -> None:
    events, snapshots = run_with_snapshots(batches)
    length, previous = snapshots[-1]
    head = LogHead(RUN, events[length - 1].seq, events[length - 1].hash)
    made = Inputs(STARTED, previous, head, tuple(append_all(head, more, NOW)[0]), LEDGER, MANIFESTS)
    snapshot = build(state_of(made), NOW)
    assert check(snapshot, made) == check(copy.deepcopy(snapshot), made)


def test_a_candidate_promoted_by_its_status_is_in_the_ledger() -> None:
    promoted = EventDraft(type="CLAIM", payload={"claim_id": "c1", "status": "verified"})
    assert failed(*of_log(claim(status="candidate"), promoted)) == []


def test_objective_and_done_definition_may_be_long() -> None:
    snapshot, made = of_log()
    started = msgspec.structs.replace(made.started, objective=LONG, done_definition={"text": LONG})
    terms = {"objective": LONG, "done_definition": {"text": LONG}}
    assert failed({**snapshot, **terms}, made._replace(started=started)) == []


def test_2000_characters_are_not_a_blob() -> None:
    assert failed(*of_log(question("é" * 2000))) == []


def test_a_message_names_the_first_problems_and_counts_the_rest() -> None:
    snapshot, made = of_log(*(claim(f"c{n}", refs=[]) for n in range(9)))
    (result,) = (result for result in check(snapshot, made) if result.status == "FAIL")
    assert "c0" in result.message
    assert "c8" not in result.message
    assert "6 more" in result.message


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.sampled_from(["verified", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["claims", "conflicts", "evidence_refs", "side_a_refs", "span", "status", "claim_id"]),
            inner,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(list(of_log()[0])), value=anything, inner=st.booleans())
def test_checks_answer_for_any_json(name: str, value: Json, inner: bool) -> None:
    snapshot, made = of_log(*FULL)
    if inner:
        field = {"claims": value, "conflicts": value, "failures": value, "source_coverage": value}
        snapshot["state"] = {**snapshot["state"], **field}
    snapshot[name] = value
    assert len(check(snapshot, made)) == len(CHECKS)
    assert len(check({name: value}, made._replace(previous=None, evidence=LEDGER))) == len(CHECKS)


# Manifests, where the terms ask for them


def test_a_step_without_a_manifest_fails_only_if_the_terms_of_the_run_ask_for_one() -> None:
    acted = EventDraft(type="ACT_DONE", step=1, payload={"do": "it"})
    for guards, expected in (({}, None), ({"require_manifest": True}, "FAIL")):
        started = msgspec.structs.replace(STARTED, done_definition={"text": "Done.", "guards": guards})
        made = inputs(acted)._replace(started=started)
        results = {each.name: each.status for each in check(build(state_of(made), NOW), made)}
        assert results.get("manifests_bound") == expected
        assert list(results)[: len(CHECKS)] == list(CHECKS)
