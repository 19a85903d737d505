"""The narrative: eight sections from the snapshot alone ("Narrative template", ruling 41)."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.hashing import tokens
from slicebase.core.ids import is_ulid, ulid_time
from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.runs.event import EventDraft
from slicebase.runs.narrative import LEAST_NARRATIVE, NARRATIVE_TOKENS, narrate, render
from slicebase.runs.narrative_sections import NOTHING_OPEN
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


def test_sections_are_in_order_even_if_they_are_empty() -> None:
    for text in (body(), body(*FULL)):
        assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == HEADINGS


def test_a_claim_of_a_kind_that_is_the_name_of_another_list_is_shown() -> None:
    draft = claim("a", "candidate")
    draft.payload["kind"] = "failure"
    assert "**a**" in section(body(draft), 6)


def test_identical_snapshots_give_identical_narratives() -> None:
    snapshot = compacted(*FULL).snapshot
    assert narrate(from_bytes(to_bytes(snapshot))) == narrate(snapshot)


def test_every_verified_claim_has_its_pointers_and_retracted_claims_are_not_shown() -> None:
    shown = section(body(claim("a"), claim("b", refs=[pointer(STALE), pointer(PASSING)]), claim("c", "retracted")), 3)
    assert shown.count(STALE.evidence_id) == 2
    assert shown.count(PASSING.evidence_id) == 1
    assert f"{STALE.span.start}–{STALE.span.end}" in shown
    assert "**c**" not in shown


def test_a_conflict_shows_both_sides() -> None:
    shown = section(body(conflict()), 4)
    assert re.search(rf"side a: `{STALE.evidence_id}`", shown)
    assert re.search(rf"side b: `{PASSING.evidence_id}`", shown)


def test_candidates_are_shown_as_not_verified() -> None:
    text = body(claim("a", "candidate", []))
    assert "**a**" not in section(text, 3)
    assert "**a**" in section(text, 6)


def test_changes_are_shown_by_the_sequences_of_the_items() -> None:
    snapshot = compacted(*cycle(1), claim("a"), claim("b")).snapshot
    first, second = snapshot["state"]["claims"]
    claims = [first, {**second, "changed": 2}]
    later = {**snapshot, "sequence": 2, "state": {**snapshot["state"], "claims": claims}}
    shown = section(render(typed(later)), 2)
    assert "3 counted events in 1 steps" in shown
    assert "Claims: 2; new: none; changed: b (verified)." in shown


def numbered(text: str) -> list[str]:
    return re.findall(r"^\d\. (.*)$", section(text, 7), flags=re.MULTILINE)


def test_next_actions_are_conflicts_then_questions_then_failures_oldest_first_and_three_at_most() -> None:
    drafts = [failure("f1"), failure("f2"), question("q1"), conflict("x1")]
    first, second, third = numbered(body(*drafts))
    assert "x1" in first
    assert "q1" in second
    assert "f1" in third
    assert len(numbered(body(*(question(f"q{n}") for n in range(9))))) == 3


def test_the_prompt_without_an_answer_and_open_tasks_come_before_all_other_actions() -> None:
    """Ruling 56."""
    drafts = [
        failure("f1"),
        question("q1"),
        conflict("x1"),
        question("task: b (turn:2)"),
        question("prompt: a (turn:1)"),
    ]
    first, second, third = numbered(body(*drafts))
    assert (first, second) == ("Answer the prompt: a (turn:1)", "Do the task: b (turn:2)")
    assert "x1" in third


def test_if_nothing_is_open_the_next_action_is_to_continue() -> None:
    resolved = EventDraft(type="CONFLICT", payload={"conflict_id": "x1", "status": "resolved"})
    assert numbered(body(conflict(), resolved, failure(status="resolved"))) == [NOTHING_OPEN]


def test_the_file_names_its_snapshot_and_is_derived_from_it() -> None:
    snapshot = compacted(*FULL).snapshot
    made = narrate(snapshot)
    assert is_ulid(made.file_id)
    assert ulid_time(made.file_id) == from_text(NOW)
    assert (made.derived_from, made.derived_hash) == (snapshot["snapshot_id"], snapshot_digest(snapshot))
    assert made.updated_at == NOW
    assert made.supersedes is None


def test_a_narrative_supersedes_that_of_the_previous_snapshot() -> None:
    first, second = compacted(*cycle(1)).snapshot, compacted(*FULL).snapshot
    assert narrate(second, first).supersedes == narrate(first).file_id
    assert narrate(second, first).body == narrate(second).body


def test_a_record_that_is_not_a_snapshot_has_no_narrative() -> None:
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
def test_text_from_the_log_cannot_become_structure(draft: EventDraft) -> None:
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


# Size

KINDS = {"instruction": "constraint", "file": "file", "command": "command", "decision": "decision"}
COUNTED = {**KINDS, "finding": "(?:earlier )?finding", "artefact": "artefact", "verified": "verified claim"}
COUNTED |= {"question": "open question", "failure": "open failure", "conflict": "conflict"}
TEXT = st.sampled_from(["short", "x" * 2000, "ü" * 700 + " end", "one\n\n## two\n" * 9, "a (turn:1)", "<a> " * 300])
ITEM: dict[str, Any] = {"since": 1, "changed": 1, "status": "open"}


def knowing(counts: dict[str, int], words: str, objective: str) -> dict[str, Any]:
    """Returns a snapshot with so many items of each sort."""
    refs = [pointer(STALE)]

    def each(sort: str) -> Iterator[str]:
        yield from (f"{sort} {number} {words}" for number in range(counts.get(sort, 0)))

    claims = [
        {**ITEM, "claim_id": f"{kind}-{number}", "status": "candidate", "statement": text, "evidence_refs": refs}
        | {"kind": kind}
        for kind in (*KINDS, "finding", "artefact")
        for number, text in enumerate(each(kind))
    ]
    claims += [
        {**ITEM, "claim_id": text[:99], "status": "verified", "statement": text, "evidence_refs": refs}
        for text in each("verified")
    ]
    sides = {"side_a_refs": refs, "side_b_refs": [pointer(PASSING)]}
    failures = [
        {**ITEM, "failure_id": text[:99], "category": words, "where": words, "why": text} for text in each("failure")
    ]
    state = {
        "claims": claims,
        "conflicts": [{**ITEM, "conflict_id": text[:99], "description": text, **sides} for text in each("conflict")],
        "open_questions": [f"task: {text}" for text in each("question")],
        "failures": failures,
        "source_coverage": {"source_ids_seen": [], "chunk_ids_seen": [], "chunk_ids_cited": []},
    }
    return {**compacted().snapshot, "objective": objective, "done_definition": words, "state": state}


def shown(text: str, sort: str) -> int:
    lines = {"verified": r"\*\*verified", "question": "Do the task: question", "failure": r"\*\*failure"}
    mark = lines.get(sort, rf"(?:\*\*)?{sort}")
    return len(re.findall(rf"^- {mark} \d+ ", text, flags=re.MULTILINE))


def left_out(text: str, sort: str) -> int:
    counted = re.findall(r"^- Left out: .*$", text, flags=re.MULTILINE)
    return sum(
        int(number) for line in counted for number in re.findall(rf"(?<= )(\d+) {COUNTED[sort]}s?(?=[,:])", line)
    )


@settings(max_examples=30, deadline=None)
@given(
    counts=st.fixed_dictionaries(dict.fromkeys(COUNTED, st.sampled_from([0, 1, 3, 60]))),
    words=TEXT,
    objective=TEXT,
    size=st.sampled_from([LEAST_NARRATIVE, 500, 900, 2000, NARRATIVE_TOKENS]),
)
def test_whatever_a_run_knows_its_narrative_has_its_size_and_what_is_needed_to_go_on(
    counts: dict[str, int], words: str, objective: str, size: int
) -> None:
    """Ruling 56. What is left out is counted."""
    text = render(typed(knowing(counts, words, objective)), size)
    assert tokens(text) <= size
    assert f"> {objective.replace('<a', chr(92) + '<a')[:3]}" in text
    assert ("\n- instruction 0 " in text) == (counts["instruction"] > 0)
    assert ("\n- Do the task: question 0 " in text) == (counts["question"] > 0)
    wanted = min(3, counts["question"] + counts["conflict"] + counts["failure"]) or 1
    assert len(re.findall(r"^\d\. ", text, flags=re.MULTILINE)) == wanted
    for sort, count in counts.items():
        assert shown(text, sort) + left_out(text, sort) == count, sort


@pytest.mark.parametrize("count", [30, 150, 10_000])
def test_the_number_of_claims_does_not_matter(count: int) -> None:
    text = render(typed(knowing({"verified": count, "finding": count, "question": 1, "instruction": 1}, "x", "y")))
    assert tokens(text) <= NARRATIVE_TOKENS
    assert numbered(text) == ["Do the task: question 0 x"]
    assert "- instruction 0 x" in text
    assert shown(text, "verified") > 9


def test_a_narrative_that_is_too_small_is_refused() -> None:
    with pytest.raises(SlicebaseError) as caught:
        render(typed(compacted().snapshot), LEAST_NARRATIVE - 1)
    assert caught.value.code == "bad-budget"
