"""Lists of messages in the OpenAI and the Anthropic shape. The expected numbers were counted by hand."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.ids import turn_id
from slicebase.graph.turn import Parent, Part, turn_text
from slicebase.importers.heads import head_of
from slicebase.importers.messages import AGENT_LISTS, FORMAT, MESSAGE_LISTS, SESSION_GROUPS, sniff
from slicebase.importers.values import Options
from tests.importers.reading import jsonl, take, texts

OPENAI = [
    {"role": "developer", "content": "Be brief"},
    {"role": "user", "content": [{"type": "text", "text": "Weather?"}, {"type": "image_url", "image_url": {"url": "https://example.org/sky.png"}}]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bern"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "Rain"},
    {"role": "assistant", "content": "Rain.", "reasoning_content": "It says rain"},
]  # fmt: skip
ANTHROPIC = [
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bern"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "Rain", "is_error": True}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Rain."}]},
]


def test_the_openai_shape() -> None:
    taken = take(("chat.json", json.dumps(OPENAI).encode()))
    assert [turn.role for turn in taken.turns] == ["system", "user", "assistant", "tool", "assistant"]
    assert taken.turns[1].parts[1] == Part("pointer", uri="https://example.org/sky.png")
    assert taken.turns[2].parts == (Part("tool_call", name="weather", arguments={"city": "Bern"}, call_id="c1"),)
    assert taken.turns[3].parts == (Part("tool_result", text="Rain", call_id="c1"),)
    assert [part.type for part in taken.turns[4].parts] == ["thinking", "text"]
    assert len(taken.edges) == 4
    assert taken.turns[0].id == turn_id("messages", "chat", 0)


def test_the_anthropic_shape() -> None:
    document = {"system": "Be brief", "messages": ANTHROPIC}
    taken = take(("chat.json", json.dumps(document, indent=2).encode()))
    assert [turn.role for turn in taken.turns] == ["system", "user", "assistant", "tool", "assistant"]
    assert taken.turns[3].parts == (Part("tool_result", text="Rain", call_id="c1", error=True),)
    assert len(taken.edges) == 4


def test_lines_of_messages_are_one_session_and_lines_of_lists_one_each() -> None:
    assert set(take(("chat.jsonl", jsonl(OPENAI))).sessions) == {"chat"}
    lists = jsonl([{"messages": OPENAI}, {"messages": ANTHROPIC}, {"id": "own", "title": "T", "messages": ANTHROPIC}])
    taken = take(("train.jsonl", lists))
    assert list(taken.sessions) == ["train", "train#1", "own"]
    assert taken.sessions["own"].title == "T"
    assert set(take(("train.jsonl", jsonl(OPENAI)), options=Options(session="mine")).sessions) == {"mine"}


def test_messages_with_from_and_value_are_read() -> None:
    lines = jsonl([{"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "ho"}]}])
    assert [(turn.role, *texts(turn)) for turn in take(("x.jsonl", lines)).turns] == [
        ("user", "hi"),
        ("assistant", "ho"),
    ]


def test_messages_that_name_their_parent_give_branches() -> None:
    lines = jsonl(
        [
            {"id": "1", "role": "user", "content": "a", "parent_id": None},
            {"id": "2", "role": "assistant", "content": "b", "parent_id": "1"},
            {"id": "3", "role": "assistant", "content": "c", "parent_id": "1"},
        ]
    )
    taken = take(("x.jsonl", lines))
    assert [turn.parents for turn in taken.turns[1:]] == [
        (Parent(turn_id("messages", "x", "1"), kind),) for kind in ("reply", "branch")
    ]  # fmt: skip


def test_times_are_read_in_all_their_forms() -> None:
    messages = [
        {"role": "user", "content": "a", "timestamp": 1700000000},
        {"role": "user", "content": "b", "created_at": "2024-01-01T00:00:00"},
        {"role": "user", "content": "c", "ts": 1700000000123},
    ]
    assert [turn.time for turn in take(("x.jsonl", jsonl(messages))).turns] == [
        1700000000000,
        1704067200000,
        1700000000123,
    ]


@pytest.mark.parametrize(
    "data",
    [
        b'{"history": [{"role": "user", "content": "x"}], "steps": [{"messages": [{"role": "user", "content": "x"}]}]}',
        b'[{"title": "x"}]',
        b"role,content\nuser,hello\n",
        b"",
    ],
)
def test_other_files_are_not_recognised_as_messages(data: bytes) -> None:
    assert not sniff(head_of(data, "x.json"))


def test_a_large_document_is_recognised_by_its_beginning() -> None:
    assert sniff(head_of(json.dumps({"id": "x", "messages": OPENAI * 50}).encode()[:3000], "x.json"))


# Speakers, and logs of several agents


def test_the_name_of_a_message_is_kept_and_read_before_its_text() -> None:
    named = [{"role": "user", "name": "Ann", "content": "Hi"}, {"role": "tool", "name": "weather", "content": "Rain"}]
    asked, answered = take(("chat.json", json.dumps(named).encode())).turns
    assert asked.parts == (Part("text", text="Hi", name="Ann"),)
    assert turn_text(asked.parts) == "Ann: Hi"
    assert turn_text(answered.parts) == "Rain"


WHO_AND_WHEN = {
    "is_correct": False,
    "question": "Which station?",
    "ground_truth": "Bern",
    "history": [
        {"content": "Which station?", "role": "human"},
        {"content": "Ask the surfer.", "role": "Orchestrator (thought)"},
        {"content": "It is Thun.", "role": "assistant", "name": "WebSurfer"},
    ],
    "mistake_agent": "WebSurfer",
    "mistake_step": "2",
}
TAU_BENCH = [
    {"task_id": number, "reward": 0.5, "trial": 0, "info": {"x": 1}, "traj": [
        {"role": "system", "content": "The policy."},
        {"role": "user", "content": "Cancel it."},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "function": {"name": "cancel", "arguments": '{"order": 1}'}, "type": "function"}]},
        {"role": "tool", "tool_call_id": "c1", "name": "cancel", "content": "done"},
    ]}
    for number in (0, 1)
]  # fmt: skip
TAU2_BENCH = {
    "info": {"seed": 3, "environment_info": {"policy": "Be exact.", "tool_defs": {"look": {}}}},
    "tasks": [{"id": "t", "user_scenario": {"instructions": "You are Mei."}}, {"id": "u"}],
    "simulations": [
        {
            "id": "s1",
            "task_id": "t",
            "reward_info": {"reward": 1.0, "checks": [{"met": True}]},
            "termination_reason": "user_stop",
            "messages": [
                {"role": "user", "content": "Hi", "turn_idx": 0},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "c", "name": "look", "arguments": {"a": 1}}],
                },
            ],
        }
    ],
}


def test_a_log_of_several_agents_keeps_who_spoke_and_who_was_wrong() -> None:
    taken = take(("7.json", json.dumps(WHO_AND_WHEN).encode()))
    assert [turn.role for turn in taken.turns] == ["user", "assistant", "assistant"]
    assert [turn.parts[0].name for turn in taken.turns] == [None, "Orchestrator (thought)", "WebSurfer"]
    facts = taken.sessions["7"].facts
    assert (facts["mistake_agent"], facts["mistake_step"], facts["is_correct"]) == ("WebSurfer", "2", False)
    assert not taken.report.reasons["repaired", "unknown-role"]


def test_runs_of_a_benchmark_are_a_session_each_with_their_rewards() -> None:
    taken = take(("run.json", json.dumps(TAU_BENCH).encode()))
    assert {name: session.facts for name, session in taken.sessions.items()} == {
        "run": {"task_id": 0, "reward": "0.5", "trial": 0, "info.x": 1},
        "run#1": {"task_id": 1, "reward": "0.5", "trial": 0, "info.x": 1},
    }
    assert [turn.role for turn in taken.turns] == ["system", "user", "assistant", "tool"] * 2
    newer = take(("run.json", json.dumps(TAU2_BENCH).encode()))
    assert [(turn.role, turn.parts[0].text) for turn in newer.turns] == [
        ("system", "Be exact."),
        ("user", "Hi"),
        ("assistant", None),
    ]
    assert newer.sessions["s1"].facts == {
        "info.seed": 3,
        "task.id": "t",
        "task.user_scenario.instructions": "You are Mei.",
        "task_id": "t",
        "reward_info.reward": "1.0",
        "reward_info.checks": '[{"met": true}]',
        "termination_reason": "user_stop",
    }


def test_long_facts_keep_their_beginning_and_that_is_said() -> None:
    log = {**WHO_AND_WHEN, "question": "q" * 20_000, "info": {str(number): "x" * 5_000 for number in range(20)}}
    taken = take(("7.json", json.dumps(log).encode()))
    facts = taken.sessions["7"].facts
    assert facts["question"] == "q" * 10_000 + "…"
    assert sum(map(len, map(str, facts.values()))) < 60_000
    assert (taken.reasons()["long-facts"], taken.report.content_left_out) == (1, 0)


@pytest.mark.parametrize("marks", [{"mistake_agent": "Planner"}, {"reward": 1}])
@pytest.mark.parametrize("key", ["history", "messages", "traj"])
def test_a_log_whose_roles_are_all_names_of_agents_is_read(key: str, marks: dict[str, Any]) -> None:
    log = {key: [{"role": "Planner", "content": "I plan"}, {"role": "Coder", "content": "I code"}], **marks}
    for data in (log, [log], {"runs": [log]}):
        turns = take(("log.json", json.dumps(data).encode())).turns
        assert [(turn.role, turn.parts[0].name) for turn in turns] == [("assistant", "Planner"), ("assistant", "Coder")]


PLANNED: list[dict[str, Any]] = [
    {"role": "user", "content": "Which station?"},
    {"role": "planner", "content": "Ask the surfer.", "reward": 0.5},
    {"role": "Coder", "content": "It is Thun.", "mistake": True, "mistake_reason": "It did not look."},
]


@pytest.mark.parametrize("form", ["lines", "list", "messages", "history", "conversations"])
def test_a_role_is_the_name_of_an_agent_where_no_message_is_by_an_assistant(form: str) -> None:
    messages = PLANNED
    if form == "conversations":
        messages = [{"from": each["role"], "value": each["content"], **each} for each in PLANNED]
        messages = [{key: each[key] for key in each if key not in ("role", "content")} for each in messages]
    data = jsonl(messages) if form == "lines" else json.dumps(messages).encode()
    if form not in ("lines", "list"):
        data = json.dumps({form: messages, "reward": 1}).encode()
    taken = take(("log.json", data))
    assert [(turn.role, turn.parts[0].name) for turn in taken.turns] == [
        ("user", None),
        ("assistant", "planner"),
        ("assistant", "Coder"),
    ]
    assert not taken.report.reasons["repaired", "unknown-role"]
    # What the log says about single messages.
    name = form if form in ("history", "conversations") else "messages"
    facts = taken.sessions["log"].facts
    assert {key: value for key, value in facts.items() if "[" in key} == {
        f"{name}[1].reward": "0.5",
        f"{name}[2].mistake": True,
        f"{name}[2].mistake_reason": "It did not look.",
    }


@pytest.mark.parametrize("form", ["lines", "list", "messages"])
def test_beside_an_assistant_a_role_that_is_not_known_is_reported(form: str) -> None:
    said = [
        ("user", "Hi"),
        ("critic", "Too short."),
        ("assistant", "Hello"),
        ("Assistant", "Ho"),
        ("moderator", "Stop"),
    ]
    messages = [{"role": role, "content": text} for role, text in said]
    data = jsonl(messages) if form == "lines" else json.dumps(messages).encode()
    taken = take(("log.json", json.dumps({form: messages}).encode() if form == "messages" else data))
    roles = ["user", "system", "assistant", "assistant", "system"]
    assert [turn.role for turn in taken.turns] == roles
    assert [turn.parts[0].name for turn in taken.turns] == [None, "critic", None, None, "moderator"]
    assert taken.report.reasons["repaired", "unknown-role"] == 2


def test_what_is_said_about_many_messages_has_the_limit_of_a_session() -> None:
    judged = [{"role": "user", "content": "a", "mistake_reason": "x" * 900} for _ in range(100)]
    taken = take(("log.jsonl", jsonl(judged)))
    assert len(taken.turns) == 100
    assert sum(map(len, taken.sessions["log"].facts.values())) < 52_000
    assert taken.reasons()["long-facts"] == 1


def test_what_a_client_asks_to_be_cached_is_no_part_of_a_message() -> None:
    blocks = [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]
    cached = [blocks[0], {**blocks[1], "cache_control": {"type": "ephemeral"}}]
    hashes = {
        take(("chat.jsonl", jsonl([{"role": "user", "content": content}]))).turns[0].source_hash
        for content in (blocks, cached)
    }
    assert len(hashes) == 1


@pytest.mark.parametrize("role", ["", "   ", None, ["user"], 7, {"name": "user"}])
@pytest.mark.parametrize("other", ["assistant", "planner"])
def test_a_role_that_is_no_text_is_unknown_and_speaks_for_nobody(role: Any, other: str) -> None:
    messages = [{"role": "user", "content": "a"}, {"role": role, "content": "b"}, {"role": other, "content": "c"}]
    taken = take(("chat.jsonl", jsonl(messages)))
    turn = taken.turns[1]
    assert (turn.role, turn_text(turn.parts), [part.name for part in turn.parts]) == ("system", "b", [None])
    assert taken.reasons()["unknown-role"] == 1


def test_blanks_around_a_role_are_no_part_of_it() -> None:
    messages = [{"role": " user ", "content": "a"}, {"role": "assistant\n", "content": "b"}]
    assert [turn.role for turn in take(("chat.jsonl", jsonl(messages))).turns] == ["user", "assistant"]
    (turn,) = take(("chat.jsonl", jsonl([{"role": " planner ", "content": "a"}]))).turns
    assert (turn.role, turn.parts[0].name) == ("assistant", "planner")


CACHED = {"cache_control": {"type": "ephemeral"}}
TEXT = {"type": "text", "text": "x"}
RESULT = {"type": "tool_result", "tool_use_id": "t"}


@pytest.mark.parametrize(
    "same",
    [
        [{"content": "x"}, {"content": [TEXT]}, {"content": [{**TEXT, **CACHED}]}, {"content": "x", **CACHED}],
        [
            {"content": [{**RESULT, "content": content, **more}]}
            for content in ("x", [TEXT], [{**TEXT, **CACHED}])
            for more in ({}, CACHED)
        ],
    ],
)
def test_a_message_is_the_same_wherever_a_client_marks_what_is_cached(same: list[dict[str, Any]]) -> None:
    hashes = {take(("chat.jsonl", jsonl([{"role": "user", **message}]))).turns[0].source_hash for message in same}
    assert len(hashes) == 1
    (other,) = take(("chat.jsonl", jsonl([{"role": "user", "content": "y"}]))).turns
    assert other.source_hash not in hashes


ROLES = st.sampled_from(["user", "assistant", "system", "Planner", "Web Surfer"])
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": ROLES, "content": st.text(min_size=1, max_size=5)}, optional={"name": st.just("Ann")}
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=80)
@given(MESSAGES, st.sampled_from([*MESSAGE_LISTS, ""]), st.sampled_from([*SESSION_GROUPS, ""]), st.booleans())
def test_a_list_of_messages_is_read_wherever_it_is_recognised(
    messages: list[dict[str, Any]], key: str, group: str, marked: bool
) -> None:
    log: Any = {key: messages, **({"reward": 1} if marked else {})} if key else messages
    data = json.dumps({group: [log]} if group and key else log).encode()
    if sniff(head_of(data, "x.json")):
        taken = take(("x.json", data), known=FORMAT)
        assert [texts(turn) for turn in taken.turns] == [[message["content"]] for message in messages]
        assert not taken.report.content_left_out
    else:
        assert key in AGENT_LISTS
        assert not marked


@pytest.mark.parametrize("log", [WHO_AND_WHEN, TAU_BENCH, TAU2_BENCH], ids=["who-and-when", "tau", "tau2"])
def test_a_log_is_recognised_by_its_beginning_and_printed_on_many_lines_in_any_file(log: object) -> None:
    data = json.dumps(log, indent=2).encode()
    assert sniff(head_of(data[: len(data) * 2 // 3], "log.json"))
    lines = take(("log.jsonl", data))
    assert [turn.parts for turn in lines.turns] == [turn.parts for turn in take(("log.json", data)).turns]
    assert not lines.report.count("skipped")
