"""Codex CLI's rollouts in all their forms. The expected numbers were counted by hand."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.ids import turn_id
from slicebase.core.times import from_text
from slicebase.graph.turn import Edge, Parent, Part
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


def event(kind: str, second: int = 1, **payload: Any) -> dict[str, Any]:
    return line("event_msg", second, **{"type": kind, **payload})


def shown(role: str, text: str) -> dict[str, Any]:
    return event("user_message" if role == "user" else "agent_message", message=text)


def completed(role: str, text: str) -> dict[str, Any]:
    item = {"type": "UserMessage" if role == "user" else "AgentMessage", "content": [{"type": "text", "text": text}]}
    return event("item_completed", item=item)


WAYS: list[Callable[[str, str], list[dict[str, Any]]]] = [
    lambda role, text: [said(role, text)],
    lambda role, text: [shown(role, text)],
    lambda role, text: [completed(role, text)],
    lambda role, text: [shown(role, text), event("token_count"), completed(role, text)],
    lambda role, text: [said(role, text), event("token_count"), shown(role, text)],
    lambda role, text: [completed(role, text), shown(role, text), event("task_started"), said(role, f"<hint>\n{text}")],
]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.sampled_from(WAYS)), max_size=6),
    st.integers(0, 300),
)
def test_each_message_is_one_turn_whether_an_item_an_event_or_both_have_it(
    messages: list[tuple[str, Any]], before: int
) -> None:
    """Also where the first item comes after many events."""
    written = [record for number, (role, way) in enumerate(messages) for record in way(role, f"message {number}")]
    taken = take(("rollout-1.jsonl", jsonl([META, *[event("token_count")] * before, *written])))
    found = [(turn.role, *(text.removeprefix("<hint>\n") for text in texts(turn) if text)) for turn in taken.turns]
    assert found == [(role, f"message {number}") for number, (role, _) in enumerate(messages)]


def test_the_same_prompt_twice_is_two_turns_also_in_events() -> None:
    taken = take(("rollout-1.jsonl", jsonl([META, shown("user", "go on"), shown("user", "go on")])))
    assert [texts(turn) for turn in taken.turns] == [["go on"], ["go on"]]


RESULTS = [
    {"type": "result", "title": "Rye", "url": "https://rye.example", "snippet": "Rye is a grass.", "ref_id": "r"}
]


def test_what_only_events_have_and_a_model_saw_is_a_turn_once() -> None:
    lines = [
        META,
        item("web_search_call", id="ws1", action={"query": "rye"}),
        event("web_search_end", call_id="ws1", query="rye", results=RESULTS),
        event("item_completed", item={"type": "Extension", "id": "ws1", "results": RESULTS}),
        event("thread_goal_updated", goal={"objective": "Bake bread"}),
        event("thread_goal_updated", goal={"objective": "Bake bread", "status": "active"}),
        event("entered_review_mode", target={"type": "custom", "instructions": "Look at the oven"}),
        event("exited_review_mode", review_output={"findings": [{"title": "Too hot"}], "overall_explanation": "Fine"}),
        said("user", "The review says: Fine"),
        event("item_completed", item={"type": "CommandExecution", "stdout": "an output that is a result, too"}),
    ]
    taken = take(("rollout-1.jsonl", jsonl(lines)))
    assert [(turn.role, *texts(turn)) for turn in taken.turns[1:]] == [
        ("tool", "Rye\nhttps://rye.example\nRye is a grass."),
        ("system", "Bake bread"),
        ("user", "Look at the oven"),
        ("assistant", "Too hot", "Fine"),
        ("user", "The review says: Fine"),
    ]
    assert taken.turns[1].parents[0].id == taken.turns[0].id
    assert not taken.report.content_left_out


def test_the_speaker_of_a_message_between_agents_is_kept() -> None:
    message = item("agent_message", author="planner", recipient="coder", content=[{"type": "input_text", "text": "Go"}])
    (turn,) = take(("rollout-1.jsonl", jsonl([META, message]))).turns
    assert turn.parts == (Part("text", text="Go", name="planner (to coder)"),)


AGENT = {"type": "session_meta", "payload": {"id": "child", "parent_thread_id": "sess", "agent_nickname": "Ada"}}
SPAWNED = {
    "type": "session_meta",
    "payload": {"id": "child", "source": {"subagent": {"thread_spawn": {"parent_thread_id": "sess"}}}},
}


@pytest.mark.parametrize("agent", [AGENT, SPAWNED], ids=["named", "spawned"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "started",
    [
        event("collab_agent_spawn_end", call_id="c1", new_thread_id="child", prompt="Write the parser"),
        event("sub_agent_activity", agent_thread_id="child"),
    ],
    ids=lambda each: each["payload"]["type"],
)
def test_a_subagent_continues_the_turn_that_started_it(
    agent: dict[str, Any], reverse: bool, started: dict[str, Any]
) -> None:
    spawn = item("function_call", name="spawn_agent", call_id="c1", arguments="{}")
    parent = [META, said("user", "Divide the work"), spawn, started, said("assistant", "I wait")]
    files = [("rollout-1.jsonl", jsonl(parent)), ("rollout-2.jsonl", jsonl([agent, said("user", "Write the parser")]))]
    taken = take(*(reversed(files) if reverse else files))
    call = next(turn for turn in taken.turns if turn.parts[0].type == "tool_call")
    child = next(turn for turn in taken.turns if turn.session == "child")
    assert taken.links == [Edge(call.id, child.id, "reference")]
    assert taken.sessions["child"].facts["parent_session"] == "sess"


META_AROUND = {
    "cwd": "/elsewhere",
    "cli_version": "9",
    "git": {"branch": "b"},
    "model_provider": "x",
    "timestamp": "later",
}


def test_another_folder_version_or_branch_is_the_same_record() -> None:
    told = {"id": "sess", "base_instructions": {"text": "Be kind."}, "cwd": "/repo", "git": {"branch": "a"}}
    lines = [
        {"type": "session_meta", "payload": told},
        line("turn_context", user_instructions="Use tabs.", cwd="/repo"),
    ]
    copies = [{**each, "payload": {**each["payload"], **META_AROUND}, "ordinal": 3} for each in lines]
    first, second = (take(("rollout-1.jsonl", jsonl([*each, said("user", "hi")]))) for each in (lines, copies))
    assert [(turn.id, turn.source_hash) for turn in first.turns] == [
        (turn.id, turn.source_hash) for turn in second.turns
    ]
    assert len(first.turns) == 3


def test_a_compaction_keeps_what_its_history_says_for_the_first_time() -> None:
    def history(*messages: str) -> list[dict[str, Any]]:
        return [said("user", text)["payload"] for text in messages]

    lines = [
        META,
        said("user", "List the files"),
        line("compacted", message="They listed files", replacement_history=history("List the files", "A new hint")),
        line("compacted", message="More", replacement_history=history("A new hint", "Summary so far:\nMore")),
        line("compacted", message="", replacement_history=history("List the files")),
    ]
    taken = take(("rollout-1.jsonl", jsonl(lines)))
    assert [texts(turn) for turn in taken.turns[1:]] == [
        ["They listed files", "A new hint"],
        ["Summary so far:\nMore"],
        ["List the files"],
    ]
    assert all(part.summary for turn in taken.turns[1:] for part in turn.parts)


def test_an_empty_compaction_gives_the_history_that_replaces_it() -> None:
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List the files"}]}]
    taken = take(("rollout-1.jsonl", jsonl([META, line("compacted", message="", replacement_history=history)])))
    assert [(turn.role, *texts(turn)) for turn in taken.turns] == [("system", "List the files")]


@pytest.mark.parametrize(
    "compaction",
    [
        line("compacted", message="They talked"),
        line("compacted", message=""),
        item("compaction", encrypted_content="gAAA"),
    ],
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
    assert taken.turns[0].time == from_text("2025-04-01T00:00:00Z"), "that of the session"
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
