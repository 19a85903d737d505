"""Claude Code's transcripts. The expected numbers were counted by hand."""

from typing import Any

import pytest

from slicebase.core.ids import turn_id
from slicebase.graph.turn import Edge, Parent
from slicebase.importers.claude_code import sniff
from slicebase.importers.heads import head_of
from slicebase.importers.values import Options
from tests.importers.reading import jsonl, take, texts, without
from tests.paths import PROJECT

SESSION = "7d0c1f6e-0000-4000-8000-000000000001"
SAMPLE = PROJECT / "src" / "slicebase" / "samples" / "claude-code-session.jsonl"


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def record(number: int, parent: int | None, kind: str = "user", content: Any = "hello", **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": uuid(number),
        "parentUuid": None if parent is None else uuid(parent),
        "sessionId": SESSION,
        "timestamp": f"2026-01-01T10:00:{number % 60:02}.000Z",
        "cwd": "/repo",
        "message": {"role": kind, "content": content},
        **more,
    }


def call(number: int, parent: int | None, call_id: str, name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    return record(number, parent, "assistant", [block])


def result(number: int, parent: int, call_id: str, text: str = "done", **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return record(number, parent, "user", [block], **more)


def test_a_chain_becomes_turns_with_reply_edges() -> None:
    taken = take(("s.jsonl", jsonl([record(1, None), record(2, 1, "assistant"), record(3, 2)])))
    assert [turn.id for turn in taken.turns] == [uuid(1), uuid(2), uuid(3)]
    assert [turn.role for turn in taken.turns] == ["user", "assistant", "user"]
    assert taken.edges == [(uuid(1), uuid(2), "reply"), (uuid(2), uuid(3), "reply")]
    assert taken.sessions[SESSION].facts == {"cwd": "/repo", "shown_last": uuid(3)}


def test_the_first_child_is_a_reply_and_later_ones_are_branches() -> None:
    """Ruling 18."""
    taken = take(("s.jsonl", jsonl([record(1, None), record(2, 1), record(3, 1), record(4, 1)])))
    assert [turn.parents[0].type for turn in taken.turns[1:]] == ["reply", "branch", "branch"]


def test_records_that_are_not_turns_are_counted_and_bridged() -> None:
    lines = [
        {"type": "file-history-snapshot", "messageId": uuid(1), "snapshot": {}},
        record(1, None),
        {**without(record(2, 1, "progress"), "message"), "data": {"type": "hook_progress"}},
        {**without(record(3, 2, "progress"), "message"), "data": {"type": "hook_progress"}},
        record(4, 3, "assistant"),
        {**without(record(5, 4, "system"), "message"), "subtype": "turn_duration", "durationMs": 3},
        record(6, 5),
    ]
    taken = take(("s.jsonl", jsonl(lines)))
    assert taken.edges == [(uuid(1), uuid(4), "reply"), (uuid(4), uuid(6), "reply")]
    assert taken.report.others == {"file-history-snapshot": 1, "progress/hook_progress": 2, "system/turn_duration": 1}
    assert taken.report.records == 7


def test_a_parent_that_later_proves_not_to_be_a_turn_is_bridged_by_a_link() -> None:
    lines = [
        record(1, None),
        record(3, 2, "assistant"),
        {**without(record(2, 1, "progress"), "message"), "data": {}},
    ]
    taken = take(("s.jsonl", jsonl(lines)))
    assert taken.links == [Edge(uuid(1), uuid(3), "reply")]


def test_a_user_record_with_only_results_is_a_turn_of_the_tools_and_refers_to_its_call() -> None:
    lines = [record(1, None), call(2, 1, "c1", command="ls"), call(3, 2, "c2", command="pwd"), result(4, 3, "c1")]
    taken = take(("s.jsonl", jsonl(lines)))
    assert taken.turns[3].role == "tool"
    assert taken.turns[3].parents == (Parent(uuid(3), "reply"), Parent(uuid(2), "reference"))
    assert taken.turns[1].parts[0].call_id == taken.turns[3].parts[0].call_id == "c1"
    assert taken.turns[1].parts[0].arguments == {"command": "ls"}


def test_a_compact_boundary_is_a_child_of_its_logical_parent() -> None:
    """Ruling 18: the boundary and the summary are turns of the system."""
    boundary = {**without(record(3, None, "system"), "message"), "subtype": "compact_boundary", "content": "Compacted"}
    lines = [
        record(1, None),
        record(2, 1, "assistant"),
        {**boundary, "logicalParentUuid": uuid(2)},
        record(4, 3, "user", "What happened so far", isCompactSummary=True),
    ]
    taken = take(("s.jsonl", jsonl(lines)))
    assert [turn.role for turn in taken.turns] == ["user", "assistant", "system", "system"]
    assert [[part.summary for part in turn.parts] for turn in taken.turns] == [[False], [False], [False], [True]]
    assert taken.edges[1:] == [(uuid(2), uuid(3), "reply"), (uuid(3), uuid(4), "reply")]
    assert not taken.report.reasons


@pytest.mark.parametrize("content", ["", [], " "])
def test_a_summary_that_says_nothing_is_one(content: Any) -> None:
    lines = [record(1, None), record(2, 1, "user", content, isCompactSummary=True)]
    taken = take(("s.jsonl", jsonl(lines)))
    assert [[part.summary for part in turn.parts] for turn in taken.turns] == [[False], [True]]


def test_a_logical_parent_that_is_not_in_the_source_is_replaced_by_the_turn_before() -> None:
    boundary = {**without(record(3, None, "system"), "message"), "subtype": "compact_boundary", "content": "Compacted"}
    lines = [record(1, None), {**boundary, "logicalParentUuid": uuid(99)}]
    taken = take(("s.jsonl", jsonl(lines)))
    assert taken.edges == [(uuid(1), uuid(3), "reply")]
    assert taken.reasons() == {"logical-parent": 1}


def test_summary_lines_are_titles() -> None:
    lines = [
        {"type": "summary", "summary": "About another session", "leafUuid": uuid(77)},
        record(1, None),
        {"type": "summary", "summary": "A greeting", "leafUuid": uuid(1)},
    ]
    taken = take(("s.jsonl", jsonl(lines)))
    assert taken.sessions[SESSION].title == "A greeting"
    assert taken.sessions[SESSION].facts["summaries"] == {uuid(77): "About another session"}
    assert taken.report.others == {"summary": 2}


def test_a_title_that_a_person_gave_has_precedence() -> None:
    lines = [
        record(1, None),
        {"type": "custom-title", "customTitle": "Mine", "sessionId": SESSION},
        {"type": "ai-title", "aiTitle": "Generated", "sessionId": SESSION},
    ]
    assert take(("s.jsonl", jsonl(lines))).sessions[SESSION].title == "Mine"


def test_an_inline_sidechain_is_a_session_that_continues_the_turn_with_its_prompt() -> None:
    """Ruling 13. Older transcripts have no agent's id: the first record of the chain names it."""
    lines = [
        record(1, None),
        call(2, 1, "t1", "Task", prompt="Count the files"),
        record(3, None, "user", "Count the files", isSidechain=True),
        record(4, 3, "assistant", "There are 3", isSidechain=True),
        result(5, 2, "t1", "3 files"),
    ]
    taken = take(("s.jsonl", jsonl(lines)))
    agent = f"{SESSION}#agent-{uuid(3)}"
    assert [turn.session for turn in taken.turns] == [SESSION, SESSION, SESSION, agent, agent]
    assert taken.links == [Edge(uuid(2), uuid(3), "reference")]
    assert len(taken.edges) == 3


def subagent_files() -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    main = [
        record(1, None),
        call(2, 1, "t1", "Agent", prompt="Look around"),
        result(3, 2, "t1", "launched", toolUseResult={"agentId": "a77", "status": "async_launched"}),
    ]
    agent = [
        record(10, None, "user", "Something else than the prompt", isSidechain=True, agentId="a77"),
        record(11, 10, "assistant", isSidechain=True, agentId="a77"),
    ]
    return (f"{SESSION}.jsonl", jsonl(main)), (f"{SESSION}/subagents/agent-a77.jsonl", jsonl(agent))


def test_a_subagents_file_is_linked_by_its_agents_id_whichever_file_comes_first() -> None:
    main, agent = subagent_files()
    for order in ((main, agent), (agent, main)):
        taken = take(*order)
        assert set(taken.sessions) == {SESSION, f"{SESSION}#agent-a77"}
        assert taken.links == [Edge(uuid(2), uuid(10), "reference")]


def test_agents_of_a_workflow_are_linked_by_its_run() -> None:
    main = [
        call(1, None, "w1", "Workflow", script="…"),
        result(2, 1, "w1", "launched", toolUseResult={"runId": "wf_9"}),
    ]
    agents = [
        (
            f"{SESSION}/subagents/workflows/wf_9/agent-{name}.jsonl",
            jsonl([record(number, None, isSidechain=True, agentId=name)]),
        )
        for name, number in (("x", 20), ("y", 21))
    ]
    for order in (((f"{SESSION}.jsonl", jsonl(main)), *agents), (*agents, (f"{SESSION}.jsonl", jsonl(main)))):
        assert sorted(take(*order).links) == [Edge(uuid(1), uuid(n), "reference") for n in (20, 21)]


def test_a_copied_record_has_the_same_id_and_source_hash_in_another_session() -> None:
    """Ruling 15: session, folder, version and branch are not hashed."""
    original = record(1, None, version="1", gitBranch="main")
    copy = {**original, "sessionId": "other", "cwd": "/tmp", "version": "2", "forkedFrom": {"sessionId": SESSION}}
    changed = {**original, "message": {"role": "user", "content": "hello!"}}
    first, second, third = (take(("s.jsonl", jsonl([each]))).turns[0] for each in (original, copy, changed))
    assert (first.id, first.source_hash) == (second.id, second.source_hash)
    assert third.source_hash != first.source_hash


def test_ids_that_are_not_uuids_depend_on_their_session_even_where_another_session_refers_to_them() -> None:
    """Ruling 16."""
    lines = [
        {**record(1, None), "uuid": "a", "sessionId": "one"},
        {**record(2, None), "uuid": "b", "parentUuid": "a", "sessionId": "two"},
    ]
    taken = take(("s.jsonl", jsonl(lines)))
    assert [turn.id for turn in taken.turns] == [turn_id("claude-code", "one", "a"), turn_id("claude-code", "two", "b")]
    assert taken.continues == [(taken.turns[0].id, taken.turns[1].id, "reply")]


def test_a_record_without_an_id_gets_its_position_and_one_without_a_session_gets_the_files() -> None:
    lines = [record(1, None), without(record(2, 1), "uuid"), without(record(3, 1), "sessionId")]
    taken = take(("folder/stem.jsonl", jsonl(lines)))
    assert taken.turns[1].id == turn_id("claude-code", SESSION, 1)
    assert taken.turns[2].session == "stem"
    assert take(("s.jsonl", jsonl(lines)), options=Options(session="mine")).turns[2].session == "mine"


def test_a_missing_time_is_the_nearest_earlier_one_else_the_first_that_follows() -> None:
    lines = [without(record(1, None), "timestamp"), record(2, 1), {**record(3, 2), "timestamp": "yesterday"}]
    taken = take(("s.jsonl", jsonl(lines)))
    assert len({turn.time for turn in taken.turns}) == 1
    assert taken.reasons() == {"no-time": 2}


def test_a_prompt_that_was_typed_while_the_agent_worked_is_a_turn_of_the_user() -> None:
    attachment = {"type": "queued_command", "prompt": "Stop after this", "commandMode": "prompt"}
    other = {"type": "todo_reminder", "content": []}
    lines = [
        record(1, None),
        {**without(record(2, 1, "attachment"), "message"), "attachment": attachment},
        {**without(record(3, 2, "attachment"), "message"), "attachment": other},
        record(4, 3, "assistant"),
    ]
    taken = take(("s.jsonl", jsonl(lines)))
    assert texts(taken.turns[1]) == ["Stop after this"]
    assert taken.turns[1].role == "user"
    assert taken.report.others == {"attachment/todo_reminder": 1}
    assert taken.edges[-1] == (uuid(2), uuid(4), "reply")


def test_contents_become_parts_and_nothing_is_dropped() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm", "signature": "x"},
        {"type": "text", "text": "See"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "redacted_thinking", "data": "secret"},
        {"type": "hologram", "depth": 3},
    ]
    taken = take(("s.jsonl", jsonl([record(1, None, "assistant", blocks)])))
    parts = taken.turns[0].parts
    assert [part.type for part in parts] == ["thinking", "text", "pointer", "pointer", "text"]
    assert parts[2].media_type == "image/png"
    assert parts[4].text == '{"depth":3,"type":"hologram"}'
    assert taken.reasons() == {"media": 1, "unreadable": 1, "unknown-content": 1}
    assert not taken.report.content_left_out


def test_injected_records_are_hidden_and_service_errors_are_errors() -> None:
    lines = [record(1, None, isMeta=True), record(2, 1, "assistant", "API Error", isApiErrorMessage=True)]
    user, assistant = take(("s.jsonl", jsonl(lines))).turns
    assert user.parts[0].hidden
    assert assistant.parts[0].error


def test_a_cycle_loses_one_edge_and_no_turn() -> None:
    lines = [record(1, 3), record(2, 1), record(3, 2), record(4, 4)]
    taken = take(("s.jsonl", jsonl(lines)))
    assert len(taken.turns) == 4
    assert len(taken.edges) == 2
    assert taken.reasons() == {"cycle": 2}


def test_an_orphan_keeps_its_parent() -> None:
    taken = take(("s.jsonl", jsonl([record(2, 1)])))
    assert taken.turns[0].parents == (Parent(uuid(1)),)


def test_a_record_of_an_unknown_kind_or_without_its_message_is_skipped_and_bridged() -> None:
    lines = [
        record(1, None),
        without(record(2, 1), "message"),
        {**record(3, 2), "type": "telepathy"},
        record(4, 3, "assistant"),
    ]
    taken = take(("s.jsonl", jsonl(lines)))
    assert taken.edges == [(uuid(1), uuid(4), "reply")]
    assert taken.reasons() == {"no-message": 1, "unknown-record": 1}
    assert taken.report.content_left_out == 2


def test_a_long_session_comes_in_several_batches() -> None:
    lines = [record(number, number - 1 if number > 1 else None) for number in range(1, 1202)]
    taken = take(("s.jsonl", jsonl(lines)))
    assert [len(batch.turns) for batch in taken.batches if batch.turns] == [500, 500, 201]


def test_the_sample_in_the_package_has_the_expected_numbers() -> None:
    taken = take((SAMPLE.name, SAMPLE.read_bytes()))
    assert (len(taken.turns), len(taken.edges), taken.report.records) == (41, 40, 46)
    assert sum(kind == "branch" for _, _, kind in taken.edges) == 1
    assert sum(part.error for turn in taken.turns for part in turn.parts) == 1
    assert not taken.report.reasons


def test_other_json_lines_are_not_recognised_as_a_transcript() -> None:
    assert sniff(head_of(jsonl([record(1, None)]), "x.jsonl"))
    assert not sniff(head_of(jsonl([{"role": "user", "content": "hello"}]), "x.jsonl"))
    assert not sniff(head_of(b"", "x.jsonl"))
    assert not sniff(head_of(b"\x00\xff" * 50, "x.jsonl"))


def test_an_empty_key_is_no_title() -> None:
    """A type without a title field has none, whatever its keys are."""
    taken = take(("s.jsonl", jsonl([{"type": "progress", "": "x"}, record(1, None)])))
    assert taken.report.others == {"progress": 1}
    assert len(taken.turns) == 1
