"""The run of a conversation grows with it, and knows what an agent needs to go on (rulings 55 and 56)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slicebase.base import Slicebase
from slicebase.graph.turn import Session
from slicebase.history.annotate import Annotator
from slicebase.history.paths import Paths, is_summary
from tests.context.transcripts import Transcript
from tests.paths import SHARED
from tests.runs.golden import assert_golden

NOW = 1_767_225_600_000


def conversation() -> Transcript:
    """Returns a conversation in which instructions, tasks and failures come and go."""
    made = Transcript()
    made.user("Never push to main yourself. Please fix the parser.")
    made.call("TodoWrite", {"todos": [{"content": "Fix the reader", "status": "in_progress"}]}, "ok")
    made.run("pytest tests/test_a.py::test_one", "E   ValueError: line 7 is cut", error=True)
    made.run("git push origin main", "The user doesn't want to proceed with this tool use.", error=True)
    made.say("The timeout is 30 seconds.\n\nWe decided to keep the old tokenizer.")
    made.user("Go on.")
    made.run("pytest tests/test_a.py::test_one", "E   ValueError: line 9 is cut", error=True)
    made.call("Edit", {"file_path": "/w/parser.py", "old_string": "a", "new_string": "b"}, "ok")
    made.run("pytest tests/test_a.py", "3 passed")
    made.call("TodoWrite", {"todos": [{"content": "Fix the reader", "status": "completed"}]}, "ok")
    made.say("I fixed the parser.\n\nThe timeout is 60 seconds now.")
    made.user("Which files did you touch?")
    made.say("Let me look.")
    return made


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slicebase]:
    made = Slicebase.init(tmp_path_factory.mktemp("grown"), clock=lambda: NOW / 1000)
    made.truth.turns.add(Session("s", "test"), conversation().turns, Annotator(made.truth))
    yield made
    made.close()


def known(base: Slicebase, run: str) -> tuple[Any, ...]:
    """Returns what holds in a run: its claims, its open questions, its failures."""
    base.runs.compact(run)
    state = base.runs.snapshot(run)["state"]
    fields = ("claim_id", "status", "statement", "evidence_refs", "kind")
    claims = [{name: claim.get(name) for name in fields} for claim in state["claims"] if claim["status"] != "retracted"]
    failures = [(each["failure_id"], each["why"], each["status"]) for each in state["failures"]]
    return (
        sorted(map(str, claims)),
        sorted(state["open_questions"]),
        failures,
        state["source_coverage"]["chunk_ids_seen"],
    )


def test_a_run_that_grew_says_what_a_run_of_the_whole_conversation_says(base: Slicebase) -> None:
    turns = conversation().turns
    base.runs.from_session("s", "whole")
    whole = known(base, "whole")
    for number, turn in enumerate(turns[:-1:2]):
        base.runs.from_session("s", f"grown-{number}", leaf=turn.id)
        base.runs.from_session("s", f"grown-{number}", leaf=turns[number + len(turns) // 2].id)
        base.runs.from_session("s", f"grown-{number}")
        assert known(base, f"grown-{number}") == whole
    assert base.verify().exit == 0


def test_a_second_call_without_new_turns_adds_nothing(base: Slicebase) -> None:
    first = base.runs.from_session("s", "twice")
    again = base.runs.from_session("s", "twice")
    assert again.last == first.last
    assert not again.snapshots


def test_what_is_fulfilled_meanwhile_is_closed_and_what_is_revised_is_retracted(base: Slicebase) -> None:
    turns = conversation().turns
    base.runs.from_session("s", "before", leaf=turns[7].id)
    base.runs.compact("before")
    before = base.runs.snapshot("before")["state"]
    assert [each.rpartition(" (")[0] for each in before["open_questions"]] == ["task: Fix the reader"]
    assert [each["status"] for each in before["failures"]] == ["open"]
    base.runs.from_session("s", "before")
    base.runs.compact("before")
    after = base.runs.snapshot("before")["state"]
    assert [each.rpartition(" (")[0] for each in after["open_questions"]] == [
        "prompt: Which files did you touch? · last said: Let me look."
    ]
    statuses = {claim["statement"]: claim["status"] for claim in after["claims"] if claim.get("kind") == "finding"}
    assert statuses["The timeout is 30 seconds."] == "retracted"
    (failure,) = after["failures"]
    assert failure["status"] == "resolved"
    assert "ValueError: line 9 is cut (2 times, first turn:" in failure["why"]


def test_nothing_that_is_extracted_is_verified_and_all_of_it_can_be_traced(base: Slicebase) -> None:
    base.runs.from_session("s", "traced")
    base.runs.compact("traced")
    told = [claim for claim in base.runs.snapshot("traced")["state"]["claims"] if "kind" in claim]
    assert {claim["kind"] for claim in told} == {"instruction", "decision", "finding", "file", "command"}
    assert {claim["status"] for claim in told} == {"candidate"}
    for claim in told:
        (pointer,) = claim["evidence_refs"]
        assert base.truth.ledger[pointer["evidence_id"]].quote
    instructions = {claim["statement"] for claim in told if claim["kind"] == "instruction"}
    assert instructions == {"Never push to main yourself.", "The user refused Bash: git push origin main"}


def test_a_context_that_was_bound_to_the_run_does_not_keep_it_from_growing(base: Slicebase) -> None:
    turns = conversation().turns
    base.runs.from_session("s", "bound", leaf=turns[3].id)
    base.runs.compact("bound")
    base.context("what next?", 2000, run="bound")
    base.runs.from_session("s", "bound")
    base.runs.from_session("s", "unbound")
    assert known(base, "bound")[:3] == known(base, "unbound")[:3]


def test_the_narrative_of_a_fixed_failure_does_not_ask_to_mend_it(base: Slicebase) -> None:
    base.runs.from_session("s", "fixed")
    base.runs.compact("fixed")
    text = base.runs.narrative("fixed", write=False).text
    assert "Mend" not in text
    assert "1. Answer the prompt: Which files did you touch?" in text
    assert "- Never push to main yourself." in text


def test_the_narrative_says_what_was_asked_last_and_that_it_was_answered(base: Slicebase) -> None:
    turns = conversation().turns
    base.runs.from_session("s", "answered", leaf=turns[-3].id)
    base.runs.compact("answered")
    lines = base.runs.narrative("answered", write=False).text.splitlines()
    (place,) = [
        number for number, line in enumerate(lines) if line.startswith("- Last prompt, answered: Go on. · turn:")
    ]
    assert lines[place + 1].startswith("- Last reply, not verified: **reply-2** I fixed the parser.")
    base.runs.from_session("s", "answered")
    base.runs.compact("answered")
    assert "Last prompt, answered" not in base.runs.narrative("answered", write=False).text


# Real transcripts. A person has read each line of their narratives, and can say why it is there.

REAL = SHARED / "data"


@pytest.mark.skipif(not REAL.is_dir(), reason="../shared/data is not here")
@pytest.mark.parametrize(
    ("path", "at_compaction"),
    [
        ("claude-code/lost/3ae3ab59-52bc-413d-ad30-02b165c91785.jsonl", True),
        ("claude-code/lost/67d765b5-4286-4ec5-b051-950466e186f0.jsonl", False),
        ("claude-code/lost/847ff7d2-4a55-44d7-a3f5-a3afd89f1ee1.jsonl", True),
        ("claude-code/compacted/deeac353-0765-4439-9056-293619a99172.jsonl", False),
        ("runs/swe-agent/pydicom__pydicom-1458.traj", False),
    ],
)
def test_the_narratives_of_real_transcripts_are_the_golden_ones(tmp_path: Path, path: str, at_compaction: bool) -> None:
    with Slicebase.init(tmp_path, clock=lambda: NOW / 1000) as made:
        made.import_(REAL / path)
        session = Path(path).stem
        turns = Paths(made.truth).to_leaf(session)
        summaries = [place for place, turn in enumerate(turns) if is_summary(turn)]
        last = turns[summaries[0] - 1] if at_compaction else turns[-1]
        made.runs.from_session(session, "r", leaf=last.id)
        made.runs.compact("r")
        text = re.sub(r"/Users/[\w-]+/", "/Users/…/", made.runs.narrative("r", write=False).text)  # nobody's home
        assert_golden(f"narratives/{session[:8]}.md", text.encode())
