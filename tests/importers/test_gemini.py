"""Gemini CLI's sessions. The expected numbers were counted by hand."""

import json
from typing import Any

from slicebase.core.ids import turn_id
from slicebase.graph.turn import Part
from tests.importers.reading import jsonl, take, texts

HEAD = {"sessionId": "g", "projectHash": "abc", "startTime": "2026-01-01T00:00:00Z"}


def message(name: str, kind: str = "user", content: Any = "hello", **more: Any) -> dict[str, Any]:
    return {"id": name, "type": kind, "timestamp": "2026-01-01T00:00:01Z", "content": content, **more}


def own(name: str) -> str:
    return turn_id("gemini", "g", name)


def test_one_object_with_calls_and_their_results_in_the_message() -> None:
    calls = [
        {"id": "c1", "name": "ls", "args": {"dir": "."}, "status": "success",
         "result": [{"functionResponse": {"name": "ls", "response": {"output": "a.txt"}}}]},
        {"id": "c2", "name": "rm", "args": {}, "status": "error", "resultDisplay": "no"},
    ]  # fmt: skip
    thoughts = [{"subject": "S", "description": "D"}]
    answer = message("m2", "gemini", "", toolCalls=calls, thoughts=thoughts)
    messages = [message("m1"), answer, message("m3", "info", "Cancelled.")]
    taken = take(("session.json", json.dumps({**HEAD, "summary": "Files", "messages": messages}, indent=1).encode()))
    assert [turn.role for turn in taken.turns] == ["user", "assistant", "system"]
    assert taken.turns[1].parts == (
        Part("thinking", text="S\n\nD"),
        Part("tool_call", name="ls", arguments={"dir": "."}, call_id="c1"),
        Part("tool_result", text="a.txt", name="ls", call_id="c1"),
        Part("tool_call", name="rm", arguments={}, call_id="c2"),
        Part("tool_result", text="no", name="rm", call_id="c2", error=True),
    )
    assert taken.edges == [(own("m1"), own("m2"), "reply"), (own("m2"), own("m3"), "reply")]
    assert taken.sessions["g"].title == "Files"


def test_lines_are_states_of_messages_and_the_last_one_counts() -> None:
    lines = [
        HEAD,
        message("m1"),
        message("m2", "gemini", "thinking…"),
        message("m2", "gemini", "done"),
        {"$set": {"summary": "T"}},
    ]
    taken = take(("session.jsonl", jsonl(lines)))
    assert [texts(turn) for turn in taken.turns] == [["hello"], ["done"]]
    assert taken.report.others == {"session": 1, "earlier state": 1, "$set": 1}
    assert taken.sessions["g"].title == "T"


def test_two_sessions_in_one_file_stay_two() -> None:
    sessions = [{**HEAD, "sessionId": name, "messages": [message("m1", content=name)]} for name in ("g", "h")]
    taken = take(("sessions.jsonl", "\n".join(json.dumps(each, indent=2) for each in sessions).encode()))
    assert [(turn.session, *texts(turn)) for turn in taken.turns] == [("g", "g"), ("h", "h")]
    assert not taken.edges


def test_rewinding_begins_a_branch() -> None:
    lines = [
        HEAD,
        message("a"),
        message("b", "gemini"),
        message("c"),
        {"$rewindTo": "c"},
        message("d"),
        message("e", "gemini"),
    ]
    taken = take(("session.jsonl", jsonl(lines)))
    assert [(parent, kind) for parent, _, kind in taken.edges] == [
        (own("a"), "reply"), (own("b"), "reply"), (own("b"), "branch"), (own("d"), "reply"),
    ]  # fmt: skip
    assert taken.report.others["$rewindTo"] == 1


def test_a_checkpoint_is_a_list_of_contents() -> None:
    contents = [
        {"role": "user", "parts": [{"text": "Look"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
        {
            "role": "model",
            "parts": [{"text": "Hm", "thought": True}, {"functionCall": {"name": "f", "args": {"x": 1}}}],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"error": "no"}}}]},
    ]
    for data in (contents, {"history": contents}):
        taken = take(("checkpoint.json", json.dumps(data).encode()))
        assert [turn.role for turn in taken.turns] == ["user", "assistant", "tool"]
        assert [part.type for turn in taken.turns for part in turn.parts] == [
            "text", "pointer", "thinking", "tool_call", "tool_result",
        ]  # fmt: skip
        assert taken.turns[2].parts[0].error
        assert taken.turns[0].id == turn_id("gemini", "checkpoint", 0)


def test_odd_values_do_not_affect_the_others() -> None:
    lines = [HEAD, message("a"), {"strange": 1}, message("b", "oracle", [{"riddle": 1}])]
    taken = take(("session.jsonl", jsonl(lines)))
    assert len(taken.edges) == 1
    assert taken.reasons() == {"unknown-record": 1, "unknown-role": 1, "unknown-content": 1}


def test_a_session_that_is_printed_on_many_lines_is_read_in_a_file_of_lines() -> None:
    document = {"sessionId": "s", "projectHash": "h", "messages": [message("a"), message("b", "gemini")]}
    taken = take(("session.jsonl", json.dumps(document, indent=2).encode()))
    assert len(taken.turns) == 2
    assert not taken.report.count("skipped")


def test_what_a_resume_says_again_is_a_copy_and_a_compression_is_a_compaction() -> None:
    call = {"id": "c", "name": "ls", "args": {}, "result": "a.txt"}
    again = [message("a", content=[{"text": "hello"}]), message("b", "gemini", [{"functionCall": {"name": "ls"}}])]
    compressed = [again[0], message("s", content="What was done."), message("t", "gemini", "Got it."), again[1]]
    lines = [
        HEAD, message("a"), message("b", "gemini", "", toolCalls=[call]),
        {"$set": {"messages": [*again, message("b_response")]}}, message("c"), message("d", "gemini"),
        {"$set": {"messages": compressed}}, message("e"), {"$set": {"messages": [*compressed, message("e")]}},
    ]  # fmt: skip
    taken = take(("session.jsonl", jsonl(lines)))
    assert [turn.id for turn in taken.turns] == [own(name) for name in ("a", "b", "c", "d", "s", "t", "e")]
    assert [part.type for part in taken.turns[1].parts] == ["tool_call", "tool_result"]
    assert [turn.role for turn in taken.turns if any(part.summary for part in turn.parts)] == ["system"]
    assert taken.turns[4].parts[0].text == "What was done."
    assert [parent for parent, _, _ in taken.edges] == [own(name) for name in ("a", "b", "c", "d", "s", "t")]
    assert taken.report.others["copy"] == 10
    assert taken.report.adds_up


def test_another_greeting_after_a_resume_is_no_compaction() -> None:
    lines = [HEAD, message("a"), message("b", "gemini"), {"$set": {"messages": [message("other greeting")]}}]
    taken = take(("session.jsonl", jsonl(lines)))
    assert not [turn for turn in taken.turns if turn.role == "system"]


def test_what_the_client_and_its_hooks_put_into_a_message_of_the_user_is_hidden() -> None:
    """As Gemini CLI 0.61 writes it: the session's context is a message, that of hooks is around the prompt."""
    said = [
        {"text": "<hook_context># Files\n</hook_context>\n\nWhat is left?"},
        {"text": "<hook_context>b</hook_context>"},
    ]
    messages = [message("m1", content=[{"text": "<session_context>\nToday"}]), message("m2", content=said)]
    taken = take(("session.json", json.dumps({**HEAD, "messages": messages}).encode()))
    assert [[(part.text, part.hidden) for part in turn.parts] for turn in taken.turns] == [
        [("<session_context>\nToday", True)],
        [
            ("<hook_context># Files\n</hook_context>", True),
            ("What is left?", False),
            ("<hook_context>b</hook_context>", True),
        ],
    ]
