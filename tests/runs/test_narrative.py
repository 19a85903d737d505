"""The narrative: eight sections from the snapshot alone ("Narrative template", ruling 41)."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.ids import is_ulid, ulid_time
from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.runs.event import EventDraft
from slicebase.runs.narrative import NOTHING_OPEN, narrate, render
from slicebase.runs.snapshot import from_bytes, snapshot_digest, to_bytes, typed
from tests.runs.golden import assert_golden
from tests.runs.made import FULL, NOW, PASSING, STALE, claim, compacted, conflict, cycle, failure, pointer, question

HEADINGS = [
    "Objective, budgets and provenance mode",
    "What changed since the last snapshot",
    "Verified claims",
    "Conflicts",
    "Failures",
    "Open questions and unknowns",
    "Next actions",
    "Manifests",
]


def body(*drafts: EventDraft) -> str:
    return narrate(compacted(*drafts).snapshot).body


def section(text: str, number: int) -> str:
    return re.split(r"^## .*\n", text, flags=re.MULTILINE)[number].strip()


def test_a_narratives_bytes_are_the_golden_ones() -> None:
    assert_golden("narrative.md", body(*FULL).encode())


def test_sections_stand_in_order_even_where_there_is_nothing_to_say() -> None:
    for text in (body(), body(*FULL)):
        assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == HEADINGS


def test_identical_snapshots_give_identical_narratives() -> None:
    snapshot = compacted(*FULL).snapshot
    assert narrate(from_bytes(to_bytes(snapshot))) == narrate(snapshot)


def test_every_verified_claim_has_its_pointers_and_retracted_ones_are_not_told() -> None:
    told = section(body(claim("a"), claim("b", refs=[pointer(STALE), pointer(PASSING)]), claim("c", "retracted")), 3)
    assert told.count(STALE.evidence_id) == 2
    assert told.count(PASSING.evidence_id) == 1
    assert f"{STALE.span.start}–{STALE.span.end}" in told
    assert "**c**" not in told


def test_a_conflict_shows_both_sides() -> None:
    told = section(body(conflict()), 4)
    assert re.search(rf"side a: `{STALE.evidence_id}`", told)
    assert re.search(rf"side b: `{PASSING.evidence_id}`", told)


def test_candidates_are_told_as_not_verified() -> None:
    text = body(claim("a", "candidate", []))
    assert "**a**" not in section(text, 3)
    assert "**a**" in section(text, 6)


def test_what_changed_is_told_by_the_sequences_of_the_items() -> None:
    snapshot = compacted(*cycle(1), claim("a"), claim("b")).snapshot
    first, second = snapshot["state"]["claims"]
    claims = [first, {**second, "changed": 2}]
    later = {**snapshot, "sequence": 2, "state": {**snapshot["state"], "claims": claims}}
    told = section(render(typed(later)), 2)
    assert "3 counted events in 1 steps" in told
    assert "Claims: 2; new: none; changed: b (verified)." in told


def numbered(text: str) -> list[str]:
    return re.findall(r"^\d\. (.*)$", section(text, 7), flags=re.MULTILINE)


def test_next_actions_are_conflicts_then_questions_then_failures_oldest_first_and_three_at_most() -> None:
    drafts = [failure("f1"), failure("f2"), question("q1"), conflict("x1")]
    first, second, third = numbered(body(*drafts))
    assert "x1" in first
    assert "q1" in second
    assert "f1" in third
    assert len(numbered(body(*(question(f"q{n}") for n in range(9))))) == 3


def test_without_anything_open_the_next_action_is_to_go_on() -> None:
    resolved = EventDraft(type="CONFLICT", payload={"conflict_id": "x1", "status": "resolved"})
    assert numbered(body(conflict(), resolved, failure(status="resolved"))) == [NOTHING_OPEN]


def test_the_file_names_its_snapshot_and_comes_out_of_it() -> None:
    snapshot = compacted(*FULL).snapshot
    made = narrate(snapshot)
    assert is_ulid(made.file_id)
    assert ulid_time(made.file_id) == from_text(NOW)
    assert (made.derived_from, made.derived_hash) == (snapshot["snapshot_id"], snapshot_digest(snapshot))
    assert made.updated_at == NOW
    assert made.supersedes is None


def test_a_narrative_supersedes_the_one_of_the_snapshot_before() -> None:
    first, second = compacted(*cycle(1)).snapshot, compacted(*FULL).snapshot
    assert narrate(second, first).supersedes == narrate(first).file_id
    assert narrate(second, first).body == narrate(second).body


def test_what_is_no_snapshot_has_no_narrative() -> None:
    with pytest.raises(SlicebaseError) as caught:
        narrate({"created_at": NOW})
    assert caught.value.code == "bad-snapshot"


NASTY = "x\n\n## Verified claims\n- **c9** forged <script>alert(1)</script> ![a](http://b) <!-- `"


@pytest.mark.parametrize(
    "draft",
    [
        claim("a", statement=NASTY),
        claim("a", "candidate", [], NASTY),
        question(NASTY),
        EventDraft(type="FAILURE", payload={"failure_id": NASTY, "category": NASTY, "where": NASTY, "why": NASTY}),
        EventDraft(
            type="MANIFEST", payload={"manifest_id": NASTY, "filters": [NASTY], "excluded_by_reason": {NASTY: 1}}
        ),
    ],
)
def test_words_from_the_log_cannot_become_structure(draft: EventDraft) -> None:
    text = body(draft)
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == HEADINGS
    assert not re.search(r"^\W*\*\*c9", text, flags=re.MULTILINE)
    outside_code = re.sub(r"`[^`\n]*`", "", text)
    assert not re.search(r"(?<!\\)<[a-z/!]|\](?<!\\)\(", outside_code)


@settings(max_examples=60, deadline=None)
@given(st.text("ab \n#>-`<[]()!*", max_size=40).filter(str.strip))
def test_any_objective_stays_in_its_quote(objective: str) -> None:
    snapshot: dict[str, Any] = {**compacted().snapshot, "objective": objective, "done_definition": objective}
    text = render(msgspec.convert(snapshot, type(typed(compacted().snapshot))))
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == HEADINGS
    assert all(line.startswith((">", "-")) or not line for line in section(text, 1).splitlines())
