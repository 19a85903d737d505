"""The events that the verbs write, and the check of an event before it is logged (ruling 35)."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from slicebase.core.hashing import canonical
from slicebase.errors import SlicebaseError
from slicebase.runs.event import MAX_PAYLOAD, EventDraft
from slicebase.runs.gate import (
    admit,
    check_before_logging,
    start,
    stopped,
)
from slicebase.runs.manifests import manifest_events, source_events
from slicebase.runs.records import Inherited, ManifestLogged
from slicebase.runs.state import RunState, fold
from tests.runs.made import (
    FULL,
    LEDGER,
    MANIFESTS,
    NOW,
    PASSING,
    RUN,
    STARTED,
    claim,
    compacted,
    conflict,
    failure,
    log,
    manifest,
    pointer,
    question,
)
from tests.runs.test_checks import ref
from tests.runs.test_state import odd_drafts

NOTHING_SPENT = Inherited(run=RUN, events=1, steps=0, seconds=0.0, cost=0.0)


def test_a_run_starts_with_its_terms() -> None:
    draft = start(RUN, STARTED)
    assert draft.type == "RUN_STARTED"
    assert list(draft.payload) == ["objective", "done_definition", "provenance_mode", "forked_from"]


@pytest.mark.parametrize(
    ("run_id", "changes", "code"),
    [
        ("a b", {}, "bad-run"),
        ("a/b", {}, "bad-run"),
        ("", {}, "bad-run"),
        ("x" * 129, {}, "bad-run"),
        ("sn_test", {}, "bad-run"),
        ("ev_1", {}, "bad-run"),
        ("mf_" + "0" * 32, {}, "bad-run"),
        (RUN, {"objective": "  "}, "bad-run"),
        (RUN, {"done_definition": ""}, "bad-run"),
        (RUN, {"done_definition": {}}, "bad-run"),
        (RUN, {"done_definition": " \n"}, "bad-run"),
        (RUN, {"done_definition": {"text": None}}, "bad-run"),
        (RUN, {"done_definition": {"text": []}}, "bad-run"),
        (RUN, {"done_definition": {"text": [" "], "more": {"words": ""}}}, "bad-run"),
        (RUN, {"done_definition": {"": ""}}, "bad-run"),
        (RUN, {"done_definition": {" ": "words"}}, "bad-run"),
        (RUN, {"done_definition": {"all": [{"of": [None, " "]}, {}]}}, "bad-run"),
        (RUN, {"done_definition": {"text": " ", "budgets": {"max_steps": 1}}}, "bad-run"),
        (RUN, {"done_definition": {"budgets": {"max_steps": 1}}}, "bad-run"),
        (RUN, {"done_definition": ["a"]}, "bad-run"),
        (RUN, {"done_definition": 5}, "bad-run"),
        (RUN, {"done_definition": {1: "a"}}, "bad-run"),
        (RUN, {"done_definition": object()}, "bad-run"),
        (RUN, {"objective": 5}, "bad-run"),
        (RUN, {"objective": ["a"]}, "bad-run"),
        (RUN, {"provenance_mode": None}, "bad-run"),
        (RUN, {"provenance_mode": " "}, "bad-run"),
        (RUN, {"provenance_mode": "x" * 2001}, "bad-run"),
        (RUN, {"done_definition": {"text": "a", "budgets": {"max_steps": -1}}}, "bad-run-budget"),
    ],
)
def test_a_run_without_usable_terms_is_refused(run_id: str, changes: dict[str, Any], code: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        start(run_id, msgspec.structs.replace(STARTED, **changes))
    assert caught.value.code == code


@pytest.mark.parametrize("done", [{"text": "", "criteria": "all pass"}, {"text": None, "all": ["x"]}, {"left": 0}])
def test_a_definition_of_done_says_something_under_any_name(done: dict[str, Any]) -> None:
    assert start(RUN, msgspec.structs.replace(STARTED, done_definition=done)).payload["done_definition"] == done


def test_an_attempt_to_change_the_terms_is_logged_as_refused() -> None:
    again = EventDraft(type="RUN_STARTED", payload={"objective": "Another.", "provenance_mode": "audit_only"})
    refused = admit(again, STARTED)
    assert refused.type == "REFUSED"
    assert refused.payload["what"] == ["objective"] or refused.payload["what"] == ("objective",)
    assert refused.payload["attempted"] == {"objective": "Another."}


def test_a_refusal_names_each_term_that_would_change_with_what_was_attempted() -> None:
    terms = {"objective": "Another.", "done_definition": "Never.", "provenance_mode": "full"}
    refused = admit(EventDraft(type="RUN_STARTED", step=3, payload={**terms, "other": 1}), STARTED)
    assert (list(refused.payload["what"]), refused.payload["attempted"], refused.step) == (list(terms), terms, 3)


@pytest.mark.parametrize(
    "draft", [EventDraft(type="SNAPSHOT"), EventDraft(type="REFUSED"), stopped("OBJECTIVE_ACHIEVED")]
)
def test_events_that_only_slicebase_writes_cannot_be_logged(draft: EventDraft) -> None:
    with pytest.raises(SlicebaseError) as caught:
        admit(draft, STARTED)
    assert caught.value.code == "reserved-event"


def test_every_other_event_is_admitted_unchanged() -> None:
    for draft in (*FULL, EventDraft(type="ANYTHING", payload={"x": 1})):
        assert admit(draft, STARTED) is draft


def refusal(draft: EventDraft, *before: EventDraft) -> str | None:
    try:
        check_before_logging(draft, fold(RunState(RUN), log(*before)), LEDGER, MANIFESTS, NOW)
    except SlicebaseError as error:
        return error.code
    return None


@pytest.mark.parametrize("draft", FULL)
def test_an_event_that_the_gate_accepts_can_be_logged(draft: EventDraft) -> None:
    assert refusal(draft) is None


@pytest.mark.parametrize(
    "draft",
    [
        claim(refs=[]),
        claim(refs=[ref(evidence_id="ev_" + "0" * 32)]),
        claim(refs=[ref(span=...)]),
        claim(statement="x" * 2001),
        claim(statement=None),
        conflict(side_a=[]),
        conflict(side_b=[ref()]),
        conflict(side_a=[ref(), pointer(PASSING)], side_b=[pointer(PASSING), ref()]),
        claim(statement=" \n"),
        claim(""),
        failure("\t"),
        question(" "),
        manifest(99),
        question({"no": "text"}),
        EventDraft(type="CLAIM", payload={"claim_id": "unknown", "status": "retracted"}),
    ],
)
def test_an_event_that_the_gate_would_refuse_cannot_be_logged(draft: EventDraft) -> None:
    assert refusal(draft) == "gate-would-refuse"


def test_a_change_of_status_is_checked_with_its_item() -> None:
    promoted = EventDraft(type="CLAIM", payload={"claim_id": "c1", "status": "verified"})
    assert refusal(promoted, claim(status="candidate")) is None
    assert refusal(promoted, claim(status="candidate", refs=[])) == "gate-would-refuse"


def test_items_that_are_already_logged_are_not_checked_again() -> None:
    assert refusal(failure(), claim("bad", refs=[])) is None


@settings(max_examples=100, deadline=None)
@given(odd_drafts.filter(lambda draft: draft.type not in ("RUN_STARTED", "SNAPSHOT")))
def test_door_and_gate_agree(draft: EventDraft) -> None:
    assert (refusal(draft) is None) == compacted(draft).passed


def test_sources_are_logged_in_as_many_events_as_their_size_needs() -> None:
    chunks = [f"turn:{number:08x}-0000-0000-0000-000000000000" for number in range(5000)]
    drafts = list(source_events(["session:s1"], chunks, step=4))
    assert len(drafts) > 1
    assert all(len(canonical(draft.payload)) <= MAX_PAYLOAD for draft in drafts)
    state = fold(RunState(RUN), log(*drafts))
    assert list(state.chunks_seen) == chunks
    assert list(state.sources_seen) == ["session:s1"]


def test_an_event_has_as_many_ids_as_fit_into_half_a_payload() -> None:
    """1 KiB of each half is for the rest of the payload. An id needs its quotes and a comma."""
    fitting = (MAX_PAYLOAD // 2 - 1024) // 128
    ids = [f"{number:0125}" for number in range(2 * fitting)]
    assert [len(draft.payload["chunk_ids"]) for draft in source_events((), ids)] == [fitting, fitting]
    assert len(list(source_events(ids[:fitting], ids[:fitting]))) == 1
    assert len(list(source_events(ids[: fitting + 1], ()))) == 2


def test_few_sources_are_logged_in_one_event_and_none_in_no_event() -> None:
    assert len(list(source_events(["session:s1"], ["row:f/r"]))) == 1
    assert list(source_events([], [])) == []


def test_a_large_manifest_is_its_event_and_source_events_after_it() -> None:
    chunks = tuple(f"turn:{number:08x}-0000-0000-0000-000000000000" for number in range(3000))
    first, *rest = manifest_events(
        ManifestLogged(manifest_id="mf_" + "0" * 32, selected=3000, chunk_ids=chunks), step=2
    )
    assert first.type == "MANIFEST"
    assert {draft.type for draft in rest} == {"SOURCE"}
    state = fold(RunState(RUN), log(first, *rest))
    assert tuple(state.chunks_seen) == chunks
    assert state.retrieval.manifests == 1


def test_a_small_manifest_is_one_event() -> None:
    assert len(list(manifest_events(ManifestLogged(manifest_id="mf_" + "0" * 32)))) == 1
