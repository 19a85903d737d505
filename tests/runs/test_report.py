"""The final report of a run: what it says, and that text from a log stays text."""

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.runs.event import Event, EventDraft
from slicebase.runs.gate import DEFAULT_THRESHOLDS
from slicebase.runs.report import RunReport, report_of
from slicebase.runs.state import RunState, fold
from slicebase.runs.status import incidents_of, measure, status_of, tally_of
from tests.runs.made import FULL, LEDGER, RUN, STARTED, TURN, claim, conflict, failure, log, question

STOPPED = EventDraft(type="RUN_STOPPED", payload={"reason": "OBJECTIVE_ACHIEVED", "message": "It is found."})


def report(*drafts: EventDraft) -> RunReport:
    events: tuple[Event, ...] = log(*drafts)
    incidents, state = incidents_of(events), fold(RunState(RUN), events)
    status = status_of(tally_of(RUN, events), STARTED, state, measure(events, incidents), incidents, DEFAULT_THRESHOLDS)
    return report_of(status, state, events, "sn_1", LEDGER.get)


def test_a_report_says_what_a_run_was_for_how_it_ended_and_what_supports_its_claims() -> None:
    made = report(*FULL, STOPPED)
    assert (made.outcome.stopped, made.outcome.message, made.outcome.steps) == ("OBJECTIVE_ACHIEVED", "It is found.", 2)
    (verified,) = made.verified_claims
    assert [quote.quote for quote in verified.evidence] == ["the lock file is stale"]
    assert verified.evidence[0].chunk_id == TURN.chunk_id
    assert made.other_claims == {"candidate": 1, "retracted": 0}
    (both,) = made.conflicts
    assert [side[0].quote for side in (both.side_a, both.side_b)] == ["the lock file is stale", "The tests pass."]
    assert made.open_questions == ("Who wrote the lock file?",)
    assert "file:01J" in made.sources.source_ids
    assert made.as_json()["costs"]["budgets"]["max_steps"] == 99
    headings = re.findall(r"^## (.*)$", made.markdown, re.MULTILINE)
    assert headings[:3] == ["Objective", "Outcome", "Verified claims"]
    assert "Done when: Report written.\n" in made.markdown
    assert "“the lock file is stale”" in made.markdown


def test_equal_failures_are_one_with_a_count() -> None:
    def failed(name: str, why: str, status: str = "open") -> EventDraft:
        payload = {"failure_id": name, "category": "tool", "where": name, "why": why, "status": status}
        return EventDraft(type="FAILURE", payload=payload)

    made = report(failed("a", "took 3 ms", "resolved"), failed("b", "exit 2"), failed("c", "took 9 ms"))
    found = [(each.why, each.count, each.open, each.first, each.last) for each in made.failures]
    assert found == [("took 3 ms", 2, 1, "a", "c"), ("exit 2", 1, 1, "b", "b")]


def test_a_quote_that_is_gone_leaves_its_place() -> None:
    gone = {"evidence_id": "ev_0", "chunk_id": "turn:1", "span": {"start": 0, "end": 1}}
    made = report(claim(refs=[gone]))
    assert (made.verified_claims[0].evidence[0].quote, "(the quote is gone)" in made.markdown) == (None, True)


def test_a_log_of_any_values_has_a_report() -> None:
    odd = [EventDraft(type="CLAIM", payload={"claim_id": 5, "status": "verified", "evidence_refs": "x"})]
    odd += [EventDraft(type="FAILURE"), EventDraft(type="CONFLICT", payload={"side_a_refs": [1]}), question(["?"])]
    assert report(*odd).markdown


def test_what_a_stream_left_out_is_never_said_to_be_none() -> None:
    refs = [{"evidence_id": "ev_0"}]
    made = report(
        EventDraft(type="CLAIM", payload={"status": "verified", "statement": "It rains.", "evidence_refs": refs}),
        EventDraft(type="CLAIM", payload={"claim_id": "c", "status": "verified", "evidence_refs": [{}]}),
        EventDraft(type="CONFLICT", payload={"side_a_refs": [{}]}),
        EventDraft(type="FAILURE", payload={}),
        STOPPED,
    )
    assert "None" not in made.markdown.replace("\nNone.\n", "\n")
    assert '"None"' not in json.dumps(made.as_json())


_MARKS = (
    "# a", "\n", "\n## x\n", "- ", "+ ", "1. ", "2) ", "[a](http://b)", "<b>", "`", "**", "---", "![](x)", "| a |",
    "&lt;", "a", "\\", "https://x.y", "www.x.y", "> ", "\u2028", "\r", "a_b_c", "~~", "===", " ", "$x$",
)  # fmt: skip


@settings(max_examples=40)
@given(st.lists(st.sampled_from(_MARKS), min_size=1, max_size=6).map("".join))
def test_text_of_a_log_is_no_markdown(text: str) -> None:
    """It adds no line, begins none with a mark, and has no mark inside that is not escaped."""
    drafts = [claim(statement=text), conflict(description=text), question(text), failure("f")]
    lines = report(*drafts).markdown.split("\n")
    assert len(lines) == len(report(claim(), conflict(), question("?"), failure("f")).markdown.split("\n"))
    (asked,) = (lines[number + 2] for number, line in enumerate(lines) if line == "## Open questions")
    said = re.sub(r"\\[^A-Za-z0-9\s]", "x", asked.removeprefix("- "))
    assert not re.search(r"[\[\]<>|#`*_~&$]|\w://|www\.\w|\A\s*(?:[-+=]|\d+[.)])", said), asked
