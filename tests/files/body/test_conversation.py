"""Conversation bodies and their header: § Conversation."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.files.body.conversation import contradictions, header_problems, read_conversation

HEADER = {
    "participants": ["user", "assistant", "tool_call", "tool_result"],
    "agent_id": "harbour-bot",
    "session_id": "s-17",
    "trace_id": "0123456789abcdef0123456789ABCDEF",
    "span_id": "0123456789abcdef",
    "format": "messages",
    "includes_tool_calls": True,
    "includes_compaction": True,
}
LINES: list[dict[str, Any]] = [
    {"role": "user", "content": "When is high water?", "ts": "2026-05-01T10:00:00Z"},
    {"role": "assistant", "content": "I look it up.", "ts": "2026-05-01T10:00:05Z"},
    {"role": "tool_call", "name": "tide_table", "args": {"port": "Husum"}, "call_id": "c1"},
    {"role": "tool_result", "call_id": "c1", "content": "11:40"},
    {"type": "compaction_note", "summary": "They talked about tides.", "turns_summarized": 4},
]


def body(*lines: dict[str, Any]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def places(*lines: dict[str, Any]) -> list[tuple[str, int | None]]:
    return [(finding.rule, finding.line) for finding in read_conversation(body(*lines)).findings]


def test_messages_calls_results_and_notes_are_read() -> None:
    entries, findings = read_conversation(body(*LINES))
    assert findings == ()
    assert [(entry.role, entry.text) for entry in entries] == [
        ("user", "When is high water?"),
        ("assistant", "I look it up."),
        ("tool_call", ""),
        ("tool_result", "11:40"),
        ("compaction_note", "They talked about tides."),
    ]
    assert (entries[2].name, entries[2].args, entries[2].call_id) == ("tide_table", {"port": "Husum"}, "c1")
    assert entries[4].turns_summarized == 4
    assert (entries[1].time or 0) - (entries[0].time or 0) == 5_000


def test_a_line_is_a_message_or_a_note() -> None:
    assert places({"content": "x"}) == [("conversation-role", 1)]
    assert places({"role": 5, "content": "x"}) == [("conversation-role", 1)]
    assert places({"type": "something", "summary": "x"}) == [("conversation-role", 1)]


def test_an_unknown_role_is_kept_and_reported() -> None:
    conversation = read_conversation(body({"role": "narrator", "content": "x"}))
    assert [finding.rule for finding in conversation.findings] == ["conversation-role-unknown"]
    assert [entry.role for entry in conversation.entries] == ["narrator"]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ({"role": "user"}, 1),
        ({"role": "user", "content": ["part"]}, 29),
        ({"role": "tool_call", "call_id": "c1"}, 1),
        ({"type": "compaction_note"}, 1),
        ({"type": "compaction_note", "summary": "x", "turns_summarized": -1}, 65),
    ],
)
def test_a_line_without_the_fields_of_its_role_is_a_finding(line: dict[str, Any], column: int) -> None:
    findings = [finding for finding in read_conversation(body(line)).findings if finding.rule != "call-unanswered"]
    assert [(finding.rule, finding.column) for finding in findings] == [("conversation-line", column)]


def test_a_call_needs_an_id_by_which_its_result_names_it() -> None:
    assert places({"role": "tool_call", "name": "t"}) == [("call-id", 1)]
    assert places({"role": "tool_result", "content": "x", "call_id": 5}) == [("call-id", 1)]


def test_a_result_follows_the_call_that_it_names() -> None:
    call, result = LINES[2], LINES[3]
    assert places(call, result) == []
    assert places(result) == [("call-unknown", 1)]
    assert places(result, call) == [("call-unknown", 1)]
    assert places(call, result, result) == [("call-pairs", 3)]
    assert places(call, call, result) == [("call-pairs", 2)]


def test_calls_and_results_in_the_parts_of_an_exported_message_count() -> None:
    call = {"role": "assistant", "content": "x", "_meta": {"parts": [{"type": "tool_call", "call_id": "c1"}, 5]}}
    assert places(call, LINES[3]) == []
    assert places(call) == [("call-unanswered", 1)]


def test_a_call_without_a_result_is_a_finding_at_the_call() -> None:
    assert places(LINES[0], LINES[2]) == [("call-unanswered", 2)]


def test_times_are_iso_8601_and_in_order() -> None:
    early, late = "2026-05-01T10:00:00Z", "2026-05-01T10:00:01Z"

    def said(ts: Any) -> dict[str, Any]:
        return {"role": "user", "content": "x", "ts": ts}

    assert places(said(early), said(late), said(late)) == []
    assert places(said(late), said(early), said(late)) == [("conversation-order", 2)]
    assert places(said("noon")) == [("time", 1)]
    assert places(said(17)) == [("time", 1)]


def test_all_eight_keys_of_the_header_have_their_form() -> None:
    assert list(header_problems(HEADER)) == []
    assert list(header_problems({})) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("participants", "user"),
        ("participants", [1]),
        ("agent_id", ["x"]),
        ("trace_id", "0123"),
        ("trace_id", "g" * 32),
        ("span_id", "0" * 17),
        ("format", "letters"),
        ("format", ["messages"]),
        ("includes_tool_calls", "yes"),
        ("includes_compaction", 1),
    ],
)
def test_a_key_of_the_wrong_form_is_a_problem(key: str, value: Any) -> None:
    """§ Conversation: 32 and 16 hex digits, three formats, two flags."""
    problems = list(header_problems({**HEADER, key: value}))
    assert [(problem.rule, problem.path) for problem in problems] == [("conversation-header", (key,))]


def test_the_header_agrees_with_the_lines() -> None:
    assert list(contradictions(HEADER, read_conversation(body(*LINES)).entries)) == []


@pytest.mark.parametrize(
    ("changed", "lines", "key"),
    [
        ({"participants": ["user"]}, LINES, "participants"),
        ({"includes_tool_calls": False}, LINES, "includes_tool_calls"),
        ({"includes_compaction": False}, LINES, "includes_compaction"),
        ({}, LINES[:2] + LINES[4:], "includes_tool_calls"),
        ({}, LINES[:4], "includes_compaction"),
    ],
)
def test_a_header_that_contradicts_the_lines_is_a_problem(
    changed: dict[str, Any], lines: list[dict[str, Any]], key: str
) -> None:
    problems = contradictions({**HEADER, **changed}, read_conversation(body(*lines)).entries)
    assert [(problem.rule, problem.path) for problem in problems] == [("conversation-contradiction", (key,))]


def test_an_empty_conversation_contradicts_nothing() -> None:
    assert list(contradictions(HEADER, ())) == []


@given(st.binary(max_size=150))
def test_arbitrary_bytes_never_raise(data: bytes) -> None:
    read_conversation(data)


_any: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(0, 9) | st.text(max_size=3) | st.lists(st.none(), max_size=1) | st.just({})
)
_keys = st.sampled_from(["role", "type", "content", "ts", "call_id", "name", "args", "summary", "turns_summarized"])
_roles = st.fixed_dictionaries({}, optional={"role": st.sampled_from(["user", "tool_call", "tool_result", "tool"])})


@given(
    st.lists(st.builds(lambda some, role: some | role, st.dictionaries(_keys, _any, max_size=4), _roles), max_size=4)
)
def test_arbitrary_objects_never_raise(lines: list[dict[str, Any]]) -> None:
    conversation = read_conversation(body(*lines))
    list(contradictions({"participants": [], "includes_tool_calls": True}, conversation.entries))
