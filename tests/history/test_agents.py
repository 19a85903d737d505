"""Subagents and the sessions that started them, in whichever imports they come."""

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from slicebase.history.account import Account
from slicebase.history.annotate import Annotator
from slicebase.history.follow import follow
from slicebase.history.imports import import_inputs
from slicebase.history.inputs import inputs
from slicebase.importers.values import Options
from slicebase.truth.truth import Truth
from tests.history.test_follow import redaction
from tests.importers.reading import jsonl
from tests.importers.test_claude_code import SESSION, call, record, result, uuid
from tests.importers.test_opencode import CHILD, PARENT
from tests.importers.test_subagents import MAIN, STEPS, in_file


def agent(number: int, name: str, prompt: str = "Look") -> list[dict[str, Any]]:
    first = record(number, None, "user", prompt, isSidechain=True, agentId=name)
    return [first, record(number + 1, number, "assistant", "Done", isSidechain=True, agentId=name)]


def started(**named: Any) -> list[dict[str, Any]]:
    """Returns a session that starts an agent, whose call is the turn 2 and whose result says how it is known."""
    return [record(1, None), call(2, 1, "t1", "Task", prompt="Look"), result(3, 2, "t1", "ok", toolUseResult=named)]


RUN = f"{SESSION}/subagents/workflows/wf_1"
FAMILIES: dict[str, tuple[dict[str, list[dict[str, Any]]], dict[int, int]]] = {
    "id": (
        {f"{SESSION}.jsonl": started(agentId="a1"), f"{SESSION}/subagents/agent-a1.jsonl": agent(10, "a1", "Other")},
        {10: 2},
    ),
    "prompt": ({f"{SESSION}.jsonl": started(), f"{SESSION}/subagents/agent-a1.jsonl": agent(10, "a1")}, {10: 2}),
    "run": (
        {
            f"{SESSION}.jsonl": started(runId="wf_1"),
            f"{RUN}/agent-a1.jsonl": agent(10, "a1", "One"),
            f"{RUN}/agent-a2.jsonl": agent(20, "a2", "Two"),
        },
        {10: 2, 20: 2},
    ),
    "agents of agents": (
        {
            f"{SESSION}.jsonl": started(agentId="a1"),
            f"{SESSION}/subagents/agent-a1.jsonl": [
                *agent(10, "a1"),
                {**call(12, 11, "t2", "Task", prompt="Deeper"), "isSidechain": True, "agentId": "a1"},
                {**result(13, 12, "t2", toolUseResult={"agentId": "a2"}), "isSidechain": True, "agentId": "a1"},
            ],
            f"{SESSION}/subagents/agent-a2.jsonl": agent(20, "a2", "Deeper"),
        },
        {10: 2, 20: 12},
    ),
}


def take_in(truth: Truth, *paths: Path) -> Account:
    return import_inputs(truth, inputs(paths), Options(), annotate=Annotator(truth))


def write(folder: Path, files: dict[str, list[dict[str, Any]]]) -> list[Path]:
    for name, lines in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(jsonl(lines))
    return [folder / name for name in files]


def links(truth: Truth) -> list[tuple[str, str]]:
    sessions = [session.id for session, _ in truth.turns.sessions()]
    return sorted((each.child, each.parent) for name in sessions for each in truth.turns.links_of(name))


def test_an_agent_of_a_run_is_linked_also_if_its_file_is_named_without_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, first, _ = write(tmp_path, FAMILIES["run"][0])
    monkeypatch.chdir(first.parent)
    truth = Truth(tmp_path / "t.db", create=True)
    take_in(truth, Path(first.name))
    take_in(truth, main)
    assert links(truth) == [(uuid(10), uuid(2))]
    truth.close()


@pytest.mark.parametrize("family", FAMILIES)
def test_agents_are_linked_whichever_file_is_imported_first(family: str, tmp_path: Path) -> None:
    files, wanted = FAMILIES[family]
    paths = write(tmp_path / "given", files)
    orders = [*permutations(paths)]
    for number, order in enumerate([*orders, [tmp_path / "given"]]):
        truth = Truth(tmp_path / f"{number}.db", create=True)
        accounts = [take_in(truth, path) for path in order]
        assert links(truth) == sorted((uuid(child), uuid(parent)) for child, parent in wanted.items())
        assert accounts[-1].waiting == 0
        again = take_in(truth, *paths)
        assert (again.added, again.continues, len(links(truth))) == (0, 0, len(wanted))
        truth.close()


def codex_line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": "2026-01-01T00:00:00Z", "payload": payload}


CODEX = {
    "rollout-1.jsonl": [
        codex_line("session_meta", id="parent"),
        codex_line("response_item", type="function_call", name="spawn_agent", call_id="c1", arguments="{}"),
        codex_line("event_msg", type="collab_agent_spawn_end", call_id="c1", new_thread_id="child"),
    ],
    "rollout-2.jsonl": [
        codex_line("session_meta", id="child", parent_thread_id="parent"),
        codex_line("response_item", type="message", role="user", content=[{"type": "input_text", "text": "Look"}]),
    ],
}
OPENCODE = {f"{each['info']['id']}.json": [each] for each in (PARENT, CHILD)}


@pytest.mark.parametrize("files", [CODEX, OPENCODE], ids=["codex", "opencode"])
def test_agents_whose_sessions_have_names_of_their_own_are_linked_in_any_order(
    files: dict[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    """Nothing stays in the facts of either session."""
    paths = write(tmp_path / "given", files)
    found = []
    for number, order in enumerate([paths, paths[::-1], [tmp_path / "given"]]):
        truth = Truth(tmp_path / f"{number}.db", create=True)
        accounts = [take_in(truth, path) for path in order]
        assert accounts[-1].waiting == 0
        found.append(links(truth))
        assert not any(session.facts.get(fact) for session, _ in truth.turns.sessions() for fact in PENDING)
        truth.close()
    assert len(found[0]) == 1
    assert found == [found[0]] * 3


PENDING = ("started", "waits")


def test_an_agent_that_waits_is_counted(truth: Truth, tmp_path: Path) -> None:
    _, own = write(tmp_path, FAMILIES["id"][0])
    assert take_in(truth, own).waiting == 1


def test_an_agent_is_linked_to_a_session_that_hooks_have_read(truth: Truth, tmp_path: Path) -> None:
    main, own = write(tmp_path, FAMILIES["id"][0])
    for _ in range(2):
        follow(truth, tmp_path / "cache", main, redaction())
    assert take_in(truth, own).continues == 1
    assert links(truth) == [(uuid(10), uuid(2))]


def test_an_agent_that_is_resumed_continues_the_call_that_started_it(truth: Truth, tmp_path: Path) -> None:
    again = [call(4, 3, "t2", "Task", prompt="More"), result(5, 4, "t2", toolUseResult={"agentId": "a1"})]
    main, own = write(tmp_path, FAMILIES["id"][0])
    main.write_bytes(jsonl([*started(agentId="a1"), *again]))
    take_in(truth, main)
    take_in(truth, own)
    assert links(truth) == [(uuid(10), uuid(2))]


def test_the_facts_about_agents_have_no_texts(truth: Truth, tmp_path: Path) -> None:
    main, _ = write(tmp_path, FAMILIES["prompt"][0])
    take_in(truth, main)
    facts = truth.turns.session(SESSION).facts
    assert facts["started"]
    assert "Look" not in str(facts)


@pytest.mark.parametrize("order", [*permutations(range(2)), (2,)], ids=str)
def test_the_last_turn_of_an_agent_is_that_of_its_file(order: tuple[int, ...], truth: Truth, tmp_path: Path) -> None:
    """The progress in the session's file ends before the agent does."""
    last = in_file(15, 14, "assistant", "All done")
    main, own = write(tmp_path, {f"{SESSION}.jsonl": MAIN, f"{SESSION}/subagents/agent-a77.jsonl": [*STEPS, last]})
    for which in order:
        take_in(truth, (main, own, tmp_path)[which])
    assert truth.turns.session(f"{SESSION}#agent-a77").facts["shown_last"] == uuid(15)
