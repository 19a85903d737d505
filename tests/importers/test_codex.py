"""Codex CLI's rollouts in all their forms. The expected numbers were counted by hand."""

import json
from typing import Any

import pytest

from slicebase.core.ids import turn_id
from slicebase.graph.turn import Parent, Part
from tests.importers.reading import jsonl, take, texts

META = {"type": "session_meta", "payload": {"id": "sess", "cwd": "/repo", "cli_version": "0.146.0"}}


def line(kind: str, second: int = 1, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-01-01T00:00:{second:02}.000Z", "type": kind, "payload": payload}


def item(kind: str, second: int = 1, **payload: Any) -> dict[str, Any]:
    return line("response_item", second, **{"type": kind, **payload})


def said(role: str, text: str, second: int = 1) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", second, role=role, content=[{"type": kind, "text": text}])


NEW = [
    META,
    line("turn_context"),
    said("developer", "Be brief"),
    said("user", "<environment_context>linux</environment_context>"),
    line("event_msg", type="user_message", message="List the files"),
    said("user", "List the files"),
    item("reasoning", summary=[{"type": "summary_text", "text": "Use ls"}], encrypted_content="x"),
    item("function_call", name="shell", arguments='{"command": ["ls"]}', call_id="c1"),
    item("function_call", name="shell", arguments="not json", call_id="c2"),
    item("function_call_output", call_id="c1", output='{"output": "a.txt", "metadata": {"exit_code": 1}}'),
    item("ghost_snapshot"),
    said("assistant", "a.txt", second=9),
    line("compacted", message="They listed files"),
]


def test_the_current_form() -> None:
    taken = take(("rollout-1.jsonl", jsonl(NEW)))
    assert [turn.role for turn in taken.turns] == [
        "system", "user", "user", "assistant", "assistant", "assistant", "tool", "assistant", "system",
    ]  # fmt: skip
    assert taken.report.others == {
        "session_meta": 1,
        "turn_context": 1,
        "event_msg/user_message": 1,
        "ghost_snapshot": 1,
    }
    assert taken.turns[1].parts[0].hidden
    assert not taken.turns[2].parts[0].hidden
    assert taken.turns[3].parts == (Part("thinking", text="Use ls"),)
    assert taken.turns[4].parts == (Part("tool_call", name="shell", arguments={"command": ["ls"]}, call_id="c1"),)
    assert taken.turns[5].parts[0].arguments == "not json"
    assert taken.turns[6].parts == (Part("tool_result", text="a.txt", call_id="c1", error=True),)
    assert texts(taken.turns[8]) == ["They listed files"]
    assert taken.sessions["sess"].facts["cwd"] == "/repo"


def test_turns_follow_each_other_and_a_result_refers_to_its_call() -> None:
    taken = take(("rollout-1.jsonl", jsonl(NEW)))
    ids = [turn.id for turn in taken.turns]
    assert taken.turns[6].parents == (Parent(ids[5], "reply"), Parent(ids[4], "reference"))
    assert len(taken.edges) == 8 + 1


def test_ids_are_the_items_own_or_positions() -> None:
    lines = [META, said("user", "a"), item("message", id="m-2", role="assistant", content="b")]
    taken = take(("rollout-1.jsonl", jsonl(lines)))
    assert [turn.id for turn in taken.turns] == [turn_id("codex", "sess", 1), turn_id("codex", "sess", "m-2")]


def test_an_id_that_is_used_twice_keeps_both_turns() -> None:
    lines = [META, *(item("message", id="same", role="user", content=text) for text in ("a", "b", "a"))]
    taken = take(("rollout-1.jsonl", jsonl(lines)))
    assert len(taken.by_id) == 2
    assert taken.reasons() == {"repeated-id": 1}


def test_a_rollout_with_only_events_is_read_from_its_events() -> None:
    lines = [
        META,
        line("event_msg", type="user_message", message="hi"),
        line("event_msg", type="agent_message", message="ho"),
    ]
    taken = take(("rollout-1.jsonl", jsonl(lines)))
    assert [(turn.role, *texts(turn)) for turn in taken.turns] == [("user", "hi"), ("assistant", "ho")]


def test_an_empty_compaction_gives_the_history_that_replaces_it() -> None:
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List the files"}]}]
    taken = take(("rollout-1.jsonl", jsonl([META, line("compacted", message="", replacement_history=history)])))
    assert [(turn.role, *texts(turn)) for turn in taken.turns] == [("system", "List the files")]


@pytest.mark.parametrize(
    "compaction", [line("compacted", message="They talked"), item("compaction", encrypted_content="gAAA")]
)
def test_what_a_compaction_leaves_is_marked_as_a_summary(compaction: dict[str, Any]) -> None:
    taken = take(("rollout-1.jsonl", jsonl([META, item("message", role="user", content="hi"), compaction])))
    assert [[part.summary for part in turn.parts] for turn in taken.turns] == [[False], [True]]


def test_calls_of_built_in_tools() -> None:
    lines = [
        META,
        item("web_search_call", id="ws", action={"query": "rye"}),
        item("mind_reading_call", call_id="m", who="me"),
    ]
    calls = [turn.parts[0] for turn in take(("rollout-1.jsonl", jsonl(lines))).turns]
    assert calls == [
        Part("tool_call", name="web_search", arguments={"query": "rye"}, call_id="ws"),
        Part("tool_call", name="mind_reading", arguments={"who": "me"}, call_id="m"),
    ]


def test_the_form_of_bare_items_has_no_times() -> None:
    head = {"id": "old", "timestamp": "2025-05-01T00:00:00Z", "instructions": None}
    lines = [
        head,
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"record_type": "state"},
    ]
    taken = take(("rollout-2.jsonl", jsonl(lines)))
    assert [(turn.session, *texts(turn)) for turn in taken.turns] == [("old", "hi")]
    assert taken.report.others == {"session_meta": 1, "state": 1}
    assert taken.reasons() == {"no-time": 1}


def test_the_oldest_form_is_one_object() -> None:
    items = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}]
    document = {"session": {"id": "oldest", "timestamp": "2025-04-01T00:00:00Z", "instructions": ""}, "items": items}
    taken = take(("rollout-3.json", json.dumps(document, indent=1).encode()))
    assert [(turn.session, *texts(turn)) for turn in taken.turns] == [("oldest", "hi")]
    assert taken.report.records == 2


def test_irregular_records_are_read_if_the_name_says_rollout() -> None:
    lines = [
        {"created_at": "2025-09-10T12:00:00Z", "role": "user", "message": "Say it in Spanish"},
        {
            "created_at": "2025-09-10T12:00:01Z",
            "type": "function_call",
            "function": {"name": "t"},
            "arguments": {"a": 1},
        },
        {"created_at": "2025-09-10T12:00:02Z", "type": "function_result", "name": "t", "result": "hola"},
    ]
    taken = take(("rollout-drift.jsonl", jsonl(lines)))
    assert [turn.role for turn in taken.turns] == ["user", "assistant", "tool"]
    assert taken.turns[1].parts[0].name == "t"
    assert not taken.report.reasons


def test_an_unknown_item_is_skipped_and_reported_as_lost() -> None:
    taken = take(("rollout-1.jsonl", jsonl([META, item("dream", content="sheep"), said("user", "hi")])))
    assert taken.reasons()["unknown-record"] == 1
    assert taken.report.content_left_out == 1


def test_instructions_are_a_turn_of_the_system_once() -> None:
    """The records about a session and a turn's context repeat what the model was told."""
    meta = {"id": "s", "base_instructions": {"text": "Be kind."}, "dynamic_tools": [{"description": "no text"}]}
    context = {
        "user_instructions": "Use tabs.",
        "collaboration_mode": {"settings": {"developer_instructions": "Plan."}},
    }
    lines = [
        {"type": "session_meta", "timestamp": "2026-01-01T10:00:00Z", "payload": meta},
        *({"type": "turn_context", "timestamp": "2026-01-01T10:00:01Z", "payload": context} for _ in range(2)),
    ]
    taken = take(("rollout-x.jsonl", jsonl(lines)))
    assert [[part.text for part in turn.parts] for turn in taken.turns] == [["Be kind."], ["Use tabs.", "Plan."]]
    assert all(part.hidden for turn in taken.turns for part in turn.parts)
    assert taken.report.others == {"turn_context": 1}
