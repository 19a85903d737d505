"""A transcript as a run (architecture.md, "How the three specifications meet")."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.context.projection import KEPT
from slicebase.context.projection import project as projected
from slicebase.core.ids import turn_id
from slicebase.errors import SlicebaseError
from slicebase.graph.turn import Parent, Part, Role, Turn
from slicebase.runs.event import EventDraft, LogHead
from slicebase.runs.gate import compact
from slicebase.runs.records import RunStarted
from slicebase.runs.state import RunState, fold
from tests.runs.made import LEDGER, NOW, RUN, STALE, STARTED, append_all, inputs


def say(text: str, kind: str = "text") -> Part:
    return Part(kind, text=text)


def call(name: str, arguments: Any, call_id: str) -> Part:
    return Part("tool_call", name=name, arguments=arguments, call_id=call_id)


def result(text: str, call_id: str, error: bool = False) -> Part:
    return Part("tool_result", text=text, call_id=call_id, error=error)


def session(*turns: tuple[Role, tuple[Part, ...]]) -> list[Turn]:
    made: list[Turn] = []
    for number, (role, parts) in enumerate(turns):
        parents = (Parent(made[-1].id),) if made else ()
        made.append(
            Turn(turn_id("test", "s1", number), "s1", role, parts, number * 1000, parents, "sha256:" + "0" * 64)
        )
    return made


TRANSCRIPT = session(
    ("user", (say("Why does the build fail?"),)),
    ("assistant", (say("hm", "thinking"), say("I look at the log."), call("bash", {"command": "make"}, "1"))),
    ("tool", (result("make: *** stale lock file", "1", error=True),)),
    ("assistant", (call("bash", {"command": "lock"}, "2"), call("bash", {"command": "make"}, "3"))),
    ("tool", (result("locked", "2"),)),
    ("tool", (result("done", "3"),)),
    ("assistant", (say("The lock file was stale."),)),
    ("user", (say("Thank you. Is it tested?"), say("Please test."))),
    ("assistant", (say("Yes."),)),
)


def project(turns: list[Turn], **options: Any) -> list[EventDraft]:
    """Returns the events of a conversation with its end."""
    found = projected(turns, **options)
    return [*found.drafts, *found.ending]


def types(drafts: list[EventDraft]) -> list[str]:
    return [draft.type for draft in drafts]


def of_type(name: str, drafts: list[EventDraft]) -> list[EventDraft]:
    return [draft for draft in drafts if draft.type == name]


def test_a_transcript_becomes_events_in_its_order() -> None:
    assert types(project(TRANSCRIPT)) == [
        "RUN_STARTED",
        "PROMPT",
        "PLAN_DONE",
        "ACT_DONE",
        "OBSERVE_DONE",
        "FAILURE",
        "ACT_DONE",
        "ACT_DONE",
        "OBSERVE_DONE",
        "OBSERVE_DONE",
        "FAILURE",
        "REPLY",
        "CLAIM",
        "SOURCE",
        "PROMPT",
        "REPLY",
        "CLAIM",
        "SOURCE",
    ]


def test_a_prompt_is_a_step() -> None:
    drafts = project(TRANSCRIPT)
    assert [draft.step for draft in of_type("PROMPT", drafts)] == [1, 2]
    assert {draft.step for draft in of_type("ACT_DONE", drafts)} == {1}


def test_a_cycle_of_calls_can_be_a_step_instead() -> None:
    drafts = project(TRANSCRIPT, step_at="call")
    assert [draft.step for draft in of_type("ACT_DONE", drafts)] == [1, 2, 2]
    assert [draft.step for draft in of_type("OBSERVE_DONE", drafts)] == [1, 2, 2]


def test_the_text_before_a_call_is_the_plan_and_thinking_only_if_there_is_no_text() -> None:
    (plan,) = of_type("PLAN_DONE", project(TRANSCRIPT))
    assert plan.payload["text"] == "I look at the log."
    silent = session(("user", (say("go"),)), ("assistant", (say("hm", "thinking"), call("ls", {}, "1"))))
    assert [draft.payload["text"] for draft in of_type("PLAN_DONE", project(silent))] == ["hm"]


def test_the_first_prompt_is_the_objective_unless_one_is_given() -> None:
    assert project(TRANSCRIPT)[0].payload["objective"] == "Why does the build fail?"
    assert project(TRANSCRIPT, started=STARTED)[0].payload["objective"] == STARTED.objective


def test_a_tools_error_is_a_failure_that_the_same_calls_success_resolves() -> None:
    first, second = of_type("FAILURE", project(TRANSCRIPT))
    assert first.payload["category"] == "tool_error"
    assert first.payload["where"] == "bash: make"
    assert first.payload["why"] == f"make: *** stale lock file (turn:{TRANSCRIPT[2].id})"
    assert (first.payload["status"], second.payload["status"]) == ("open", "resolved")
    assert first.payload["failure_id"] == second.payload["failure_id"]


def test_replies_are_candidates_unless_they_name_evidence_in_the_ledger() -> None:
    assert {draft.payload["status"] for draft in of_type("CLAIM", project(TRANSCRIPT))} == {"candidate"}
    citing = session(("user", (say("why?"),)), ("assistant", (say(f"The lock is stale ({STALE.evidence_id})."),)))
    (claim,) = of_type("CLAIM", project(citing, evidence=LEDGER))
    assert claim.payload["status"] == "verified"
    (claim,) = of_type("CLAIM", project(citing))
    assert claim.payload["status"] == "candidate"


def test_long_texts_are_cut_and_referred_to() -> None:
    """Ruling 39."""
    long = "x" * 5000
    turns = session(
        ("user", (say(long),)),
        ("assistant", (say(long), call("bash", {"command": long}, "1"))),
        ("tool", (result(long, "1", error=True),)),
        ("assistant", (say(long),)),
    )
    drafts = project(turns)
    for draft in drafts:
        text = draft.payload.get("text")
        if text is not None:
            assert len(text) == KEPT
            assert draft.payload["ref"].startswith("turn:")
            assert draft.payload["hash"].startswith("sha256:")
    (claim,) = of_type("CLAIM", drafts)
    assert claim.payload["statement"].endswith(f"(turn:{turns[3].id})")
    made = inputs(*drafts[1:])
    assert compact(lambda: made, NOW).passed


def test_every_turn_is_seen() -> None:
    state = fold(RunState(RUN), append_all(LogHead(RUN), project(TRANSCRIPT), NOW)[0])
    assert list(state.chunks_seen) == [f"turn:{turn.id}" for turn in TRANSCRIPT]
    assert list(state.sources_seen) == ["session:s1"]


def test_events_have_their_turns_times() -> None:
    assert [draft.time for draft in of_type("PROMPT", project(TRANSCRIPT))] == [
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:00:07.000Z",
    ]


def test_system_turns_are_notes() -> None:
    turns = session(("system", (say("You are helpful."),)), ("user", (say("hi"),)))
    assert Counter(types(project(turns)))["NOTE"] == 1


@pytest.mark.parametrize("turns", [[], session(("assistant", (say("hello"),)))])
def test_a_conversation_without_a_prompt_cannot_be_a_run(turns: list[Turn]) -> None:
    with pytest.raises(SlicebaseError) as caught:
        project(turns)
    assert caught.value.code == "bad-transcript"


def test_a_run_can_be_given_the_terms_that_a_conversation_lacks() -> None:
    turns = session(("assistant", (say("hello"),)))
    assert project(turns, started=RunStarted(objective="x", done_definition="y"))[0].type == "RUN_STARTED"


parts_of: dict[Role, st.SearchStrategy[Part]] = {
    "user": st.builds(say, st.sampled_from(["do it", "and then?"])),
    "assistant": st.one_of(
        st.builds(say, st.sampled_from(["I see.", "Done."]), st.sampled_from(["text", "thinking"])),
        st.builds(call, st.just("bash"), st.sampled_from([{"command": "a"}, {"command": "b"}]), st.sampled_from("12")),
    ),
    "tool": st.builds(result, st.sampled_from(["ok", ""]), st.sampled_from("123"), st.booleans()),
    "system": st.builds(say, st.just("note")),
}
some_turn = st.sampled_from(list(parts_of)).flatmap(
    lambda role: st.tuples(st.just(role), st.lists(parts_of[role], max_size=3).map(tuple))
)


@settings(max_examples=80, deadline=None)
@given(st.lists(some_turn, max_size=70), st.data())
def test_the_events_of_a_session_are_the_first_of_the_longer_session(turns: list[Any], data: st.DataObject) -> None:
    """So a run can continue when its transcript has grown."""
    made = session(("user", (say("start"),)), *turns)
    length = data.draw(st.integers(1, len(made)))
    first = projected(made[:length]).drafts
    assert projected(made).drafts[: len(first)] == first


@settings(max_examples=40, deadline=None)
@given(st.lists(some_turn, max_size=20))
def test_whatever_a_transcript_holds_its_run_passes_the_gate(turns: list[Any]) -> None:
    drafts = project(session(("user", (say("start"),)), *turns), started=STARTED)
    made = inputs(*drafts[1:])
    compaction = compact(lambda: made, NOW)
    assert compaction.passed, compaction.diagnosis
