"""Subagents in records of their progress: each is a session of its own, once, whichever way its turns arrive."""

from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest

from slicebase.graph.turn import Edge
from slicebase.history.annotate import Annotator
from slicebase.history.imports import import_inputs
from slicebase.history.inputs import inputs
from slicebase.importers.subagents import Agents, agent_key
from slicebase.importers.values import Options
from slicebase.truth.truth import Truth
from tests.importers.reading import calls_of, jsonl, take, without
from tests.importers.test_claude_code import SESSION, call, record, result, uuid

AGENT = f"{SESSION}#agent-a77"


def in_file(number: int, parent: int | None, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return record(number, parent, kind, content, isSidechain=True, agentId="a77", version="2.1.30", **more)


def progress(number: int, parent: int, line: dict[str, Any]) -> dict[str, Any]:
    """Returns a record of the progress: the message as the client shows it, without its place in the file."""
    content = line["message"]["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    message = {**line["message"], "content": blocks, "usage": {"output_tokens": number}, "stop_sequence": None}
    inner = {"type": line["type"], "uuid": line["uuid"], "timestamp": line["timestamp"], "message": message}
    data = {"type": "agent_progress", "agentId": "a77", "message": inner, "normalizedMessages": [], "prompt": "Look"}
    bare = without(record(number, parent, "progress"), "message")
    return {**bare, "data": data, "parentToolUseID": "t1", "toolUseID": f"agent_msg_{number}"}


STEPS = [
    in_file(10, None, "user", "Look around"),
    in_file(11, 10, "assistant", [{"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "ls"}}]),
    in_file(
        12, 11, "user", [{"type": "tool_result", "tool_use_id": "t2", "content": "a.py"}], toolUseResult={"out": 1}
    ),
    in_file(13, 12, "assistant", [{"type": "text", "text": "There is one file."}]),
    in_file(14, 13, "assistant", [{"type": "tool_use", "id": "t3", "name": "Read", "input": {"file_path": "a.py"}}]),
]
SHOWN = [step for step in STEPS if step["uuid"] != uuid(13)]  # a client shows calls and results only
MAIN = [
    record(1, None),
    call(2, 1, "t1", "Task", prompt="Look around"),
    *(progress(20 + place, 2 if place == 0 else 19 + place, step) for place, step in enumerate(SHOWN)),
    result(3, 20 + len(SHOWN) - 1, "t1", "one file"),
]


def test_the_progress_of_a_subagent_becomes_a_session_that_continues_its_call() -> None:
    taken = take(("s.jsonl", jsonl(MAIN)))
    assert [turn.id for turn in taken.turns if turn.session == AGENT] == [step["uuid"] for step in SHOWN]
    assert [turn.id for turn in taken.turns if turn.session == SESSION] == [uuid(1), uuid(2), uuid(3)]
    assert taken.by_id[uuid(3)].parents[0].id == uuid(2)
    assert Edge(uuid(2), uuid(10), "reference") in taken.links
    assert taken.report.adds_up
    assert not taken.report.others


@pytest.mark.parametrize("tool", ["Task", "Agent", "Skill"])
def test_progress_after_the_result_of_a_call_belongs_to_that_call(tool: str, truth: Truth, tmp_path: Path) -> None:
    """Also where neither the result nor the first step that is shown says which agent it was."""
    late = [
        record(1, None),
        call(2, 1, "t1", tool, prompt="Look around"),
        result(3, 2, "t1", "one file"),
        *(progress(20 + place, 3, step) for place, step in enumerate(SHOWN[1:])),
    ]
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(jsonl(late))
    account = import_inputs(truth, inputs([path]), Options())
    assert account.waiting == 0
    assert truth.turns.parents_of(uuid(11)) == {(uuid(2), "reference")}


@pytest.mark.parametrize("order", [*permutations(range(3), 2), (2,)], ids=str)
def test_the_same_subagent_is_stored_once_in_whichever_order_it_arrives(
    order: tuple[int, ...], truth: Truth, tmp_path: Path
) -> None:
    """As the session's file, as its own file, and as the folder with both."""
    main, own = tmp_path / "p" / f"{SESSION}.jsonl", tmp_path / "p" / SESSION / "subagents" / "agent-a77.jsonl"
    own.parent.mkdir(parents=True)
    main.write_bytes(jsonl(MAIN))
    own.write_bytes(jsonl(STEPS))
    for which in order:
        account = import_inputs(truth, inputs([(main, own, tmp_path)[which]]), Options(), annotate=Annotator(truth))
        assert account.content_left_out == 0
    turns = {stored.record.id for stored in truth.turns.of_session(AGENT)}
    assert turns == {step["uuid"] for step in STEPS}
    for before, after in pairwise(STEPS):  # the chain of the file is there, whatever came first
        assert before["uuid"] in {parent for parent, _ in truth.turns.parents_of(after["uuid"])}
    assert (uuid(2), "reference") in truth.turns.parents_of(uuid(10))


def test_agents_with_the_same_prompt_are_told_apart_by_their_ids() -> None:
    calls = [call(2, 1, "t1", "Task", prompt="Go"), call(3, 2, "t2", "Task", prompt="Go")]
    results = [
        result(4, 3, "t1", toolUseResult={"agentId": "a1"}),
        result(5, 4, "t2", toolUseResult={"agentId": "a2"}),
    ]
    agents = [
        (
            f"{SESSION}/subagents/agent-a{number}.jsonl",
            jsonl([record(9 + number, None, "user", "Go", isSidechain=True, agentId=f"a{number}")]),
        )
        for number in (1, 2)
    ]
    taken = take((f"{SESSION}.jsonl", jsonl([record(1, None), *calls, *results])), *agents)
    assert sorted(taken.links) == [Edge(uuid(2), uuid(10), "reference"), Edge(uuid(3), uuid(11), "reference")]


def test_many_agents_are_linked_in_linear_time() -> None:
    def calls(size: int) -> int:
        agents = Agents()
        keys = [[agent_key(kind, "s", number) for kind in ("agent", "prompt")] for number in range(size)]
        linked: list[Edge] = []

        def link() -> None:
            for number, (by_id, by_prompt) in enumerate(keys):
                assert not list(agents.root([by_id, by_prompt], f"root {number}"))
            linked.extend(edge for by_id, _ in keys for edge in agents.started(by_id, "turn"))

        count = calls_of(link)
        assert len(linked) == size
        return count

    assert calls(200) < 3 * calls(100)
