"""Runs and evidence on the command line: output, exit statuses, JSON, streams."""

import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slicebase import Slicebase
from tests.cli.conftest import Tt
from tests.paths import PROJECT


def lines(*events: dict[str, Any]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def cycle(step: int) -> list[dict[str, Any]]:
    return [{"type": name, "step": step} for name in ("PLAN_DONE", "ACT_DONE", "OBSERVE_DONE")]


@pytest.fixture
def run(tt: Tt) -> str:
    done = tt("run", "start", "--objective", "Find the cause.", "--done", "Report written.", "--id", "r1")
    assert (done.exit, done.out) == (0, "r1\n")
    return "r1"


@pytest.fixture
def evidence(tt: Tt, tmp_path: Path) -> list[str]:
    (tmp_path / "notes.md").write_text("# Build\n\nThe lock file is stale. The tests pass.\n")
    (chunk,) = tt("add", "notes.md", "--json").json["chunks"]
    return [tt("cite", chunk["ref"], "--quote", quote).out.strip() for quote in ("The lock file is stale.", "pass")]


def test_a_run_from_its_start_to_its_narrative(tt: Tt, run: str, evidence: list[str], tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(lines(*cycle(1), {"type": "TOKENS", "payload": {"n": 5}}))
    logged = tt("run", "log", run, "--file", "events.jsonl", "--json").json
    assert (logged["first"], logged["last"], logged["counted_events"]) == (2, 5, 3)
    assert tt("run", "claim", run, "It is stale.", "--status", "verified", "-e", evidence[0]).exit == 0
    assert tt("run", "conflict", run, "Fails and passes.", "-a", evidence[0], "-b", evidence[1]).exit == 0
    assert tt("run", "question", run, "Who wrote it?").exit == 0
    assert tt("run", "failure", run, "--category", "tool", "--where", "make", "--why", "exit 2").exit == 0
    (snapshot,) = tt("run", "compact", run, "--json").json["snapshots"]
    printed = tt("run", "snapshot", run, "--json")
    assert json.loads(printed.out)["snapshot_id"] == snapshot
    assert printed.out.startswith('{"snapshot_id":')
    assert json.loads(tt("run", "snapshot", snapshot).out)["sequence"] == 1
    assert tt("run", "snapshot", run, "--sequence", 9).exit == 4
    small = tt("run", "narrative", run, "--tokens", 350).out
    assert len(small.encode()) <= 3 * 350
    assert "1. Resolve the conflict x1" in small
    assert json.loads(tt("run", "snapshot", snapshot[:11]).out)["snapshot_id"] == snapshot
    assert tt("run", "narrative", run, "--tokens", 100).exit == 3
    assert not list((tmp_path / ".slices").glob("*.slice"))[1:]
    file_id = tt("run", "narrative", run).out.strip()
    assert (tmp_path / ".slices" / f"{file_id}.slice").exists()
    assert "## Verified claims" in tt("run", "narrative", run, "--print").out
    assert tt("run", "conflict", run, "--resolve", "x1").exit == 0
    assert tt("run", "failure", run, "--resolve", "f1").exit == 0
    assert tt("run", "question", run, "Who wrote it?", "--close").exit == 0
    status = tt("run", "status", run, "--json").json
    assert (status["claims"]["verified"], status["open_conflicts"], status["open_questions"]) == (1, [], [])
    assert "0 of 18 counted events" in tt("run", "status", run).out
    assert tt("run", "list", "--json").json["runs"][0]["run"] == run
    assert "Find the cause." in tt("run", "list").out
    assert tt("run", "stop", run, "--reason", "OBJECTIVE_ACHIEVED").exit == 0
    assert tt("run", "log", run, "NOTE", "--json").error["code"] == "run-closed"
    assert tt("run", "fork", run, "--id", "r2").out == "r2\n"
    assert tt("verify").exit == 0


def test_a_bad_claim_is_refused_with_exit_status_3(tt: Tt, run: str) -> None:
    refused = tt("run", "claim", run, "Nobody said so.", "--status", "verified", "--json")
    assert (refused.exit, refused.error["code"]) == (3, "gate-would-refuse")


def test_a_stream_is_stored_as_it_is_and_the_gate_refuses_it(tt: Tt, run: str, tmp_path: Path) -> None:
    bad = {"type": "CLAIM", "payload": {"claim_id": "c1", "status": "verified", "statement": "So."}}
    (tmp_path / "events.jsonl").write_text(lines(bad, *(event for step in range(9) for event in cycle(step))))
    done = tt("run", "log", run, "--file", "events.jsonl", "--auto-compact", "--json")
    assert (done.exit, done.error["code"]) == (3, "gate-refused")
    assert "verified_claims_cited" in done.error["message"]
    assert tt("run", "status", run, "--json").json["stopped"] == "SYSTEM_ERROR"
    assert tt("run", "compact", run, "--json").error["code"] == "run-closed"
    assert tt("verify").exit == 0


def test_thresholds_can_be_given(tt: Tt, run: str, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(lines(*cycle(1), *cycle(2)))
    logged = tt("run", "log", run, "--file", "events.jsonl", "--threshold", "counted_events=3", "--json").json
    assert len(logged["snapshots"]) == 2
    assert tt("run", "log", run, "NOTE", "--threshold", "steps=0").exit == 2
    assert tt("run", "log", run, "NOTE", "--threshold", "moons=3").exit == 2


def test_thresholds_are_settings_too(tt: Tt, run: str) -> None:
    assert tt("config", "compaction.events", "2").exit == 0
    assert tt("run", "status", run, "--json").json["next_compaction"]["event_threshold"] == 2
    assert not tt("run", "log", run, "ACT_DONE", "--step", 1, "--auto-compact", "--json").json["snapshots"]
    assert tt("run", "log", run, "ACT_DONE", "--step", 1, "--auto-compact", "--json").json["snapshots"]


def test_a_purge_shows_what_it_takes_and_cannot_reach_before_it_asks(
    tt: Tt, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    asked = tt("purge", f"run:{run}", "--json")
    assert (asked.exit, asked.out.strip()) == (130, ""), "stdout has JSON or nothing"  # old versions of click: a space
    assert asked.err.index(f"would purge run:{run}") < asked.err.index("Not reached") < asked.err.index("[y/N]")


def test_a_purged_run_is_listed_and_verified_without_its_content(tt: Tt, run: str, tmp_path: Path) -> None:
    tt("run", "question", run, "Is the word heron gone?")
    tt("run", "compact", run)
    assert tt("purge", f"run:{run}", "--dry-run", "--json").json["texts"] == 4
    assert tt("purge", f"run:{run}").exit == 0
    assert tt("run", "list", "--json").json["runs"][0]["objective"] is None
    assert "(purged)" in tt("run", "list").out
    for command in ("status", "snapshot", "narrative", "compact"):
        assert tt("run", command, run).exit == 6
    verdict = tt("verify", "--json").json
    assert (verdict["status"], {finding["status"] for finding in verdict["findings"]}) == ("VERIFIED", {"PURGED"})
    for path in tmp_path.rglob("*.db*"):
        assert b"heron" not in path.read_bytes()


def test_a_bad_line_is_refused_with_its_place_and_nothing_is_logged(tt: Tt, run: str, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(lines(*cycle(1)) + "\n{nonsense}\n")
    error = tt("run", "log", run, "--file", "events.jsonl", "--json").error
    assert (error["code"], error["where"]["line"]) == ("bad-event", 5)
    assert tt("run", "status", run, "--json").json["events"] == 1
    assert tt("run", "log", run, "--file", "nothing.jsonl").exit == 4


def test_a_stream_on_stdin_is_logged_as_it_arrives(tt: Tt, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = lines(*cycle(1)) + json.dumps({"type": "NOTE"})
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data.encode())))
    assert tt("run", "log", run, "--file", "-").exit == 0
    assert tt("run", "status", run, "--json").json["events"] == 5


def test_events_of_a_stream_that_were_printed_are_on_disk(tt: Tt, run: str, tmp_path: Path) -> None:
    """Another process writes a line, reads the response, and kills the command at the end."""
    environment = {"PYTHONPATH": str(PROJECT / "src"), "PATH": ""}
    command = [sys.executable, "-m", "slicebase", "run", "log", run, "--file", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        for number in range(3):
            process.stdin.write(lines({"type": "ACT_DONE", "step": number}).encode())
            process.stdin.flush()
            assert f"events {number + 2} to {number + 2}" in process.stderr.readline().decode()
        process.kill()
    assert tt("run", "status", run, "--json").json["events"] == 4


def test_one_event_is_logged_by_its_type(tt: Tt, run: str) -> None:
    assert tt("run", "log", run, "PLAN_DONE", "--step", 1, "--payload", '{"text": "look"}').exit == 0
    assert tt("run", "log", run, "PLAN_DONE", "--json").error["code"] == "step-missing"
    assert tt("run", "log", run, "SNAPSHOT", "--json").error["code"] == "reserved-event"
    assert tt("run", "log", run, "X", "--payload", "[]", "--json").error["code"] == "wrong-type"
    assert tt("run", "log", run, "X", "--payload", "{", "--json").error["code"] == "bad-json"
    assert tt("run", "log", run).exit == 2


def test_a_budget_stops_the_run_after_the_event_that_exceeds_it(tt: Tt) -> None:
    tt("run", "start", "-o", "x", "--done", "y", "--budget", "max_steps=1", "--id", "short")
    assert tt("run", "log", "short", "ACT_DONE", "--step", 1).exit == 0
    done = tt("run", "log", "short", "ACT_DONE", "--step", 2, "--json")
    assert (done.exit, done.error["code"]) == (3, "budget-exceeded")
    assert tt("run", "status", "short", "--json").json["stopped"] == "BUDGET_EXCEEDED"
    bad = tt("run", "start", "-o", "x", "--done", "y", "--budget", "max_tea=1", "--json")
    assert bad.error["code"] == "bad-run-budget"


def test_a_done_definition_may_be_an_object(tt: Tt) -> None:
    tt("run", "start", "-o", "x", "--done", '{"tests": "pass"}', "--budget", "max_cost=2.5", "--id", "r")
    assert tt("run", "status", "r", "--json").json["done_definition"] == {"tests": "pass", "budgets": {"max_cost": 2.5}}


def test_runs_have_ids_of_their_own_and_unknown_ones_are_not_found(tt: Tt, run: str) -> None:
    first, second = (tt("run", "start", "-o", "x", "--done", "y").out.strip() for _ in range(2))
    assert first != second
    assert tt("run", "start", "-o", "x", "--done", "y", "--id", run).exit == 5
    for command in ("status", "compact", "narrative", "snapshot", "fork"):
        assert tt("run", command, "nothing").exit == 4
    assert tt("run", "status", f"run:{run}").exit == 0
    assert tt("run", "status", "turn:x").exit == 3


def test_a_session_becomes_a_run(tt: Tt) -> None:
    tt("import", "--sample")
    session = tt("turns", "--json").json["rows"][0]["session"]
    logged = tt("run", "from", session, "--auto-compact", "--json").json
    assert logged["snapshots"]
    assert tt("run", "from", f"session:{session}", "--json").json["last"] == logged["last"]
    assert tt("run", "from", session, "--id", "mine", "--objective", "Mine.", "--done", "Done.").exit == 0
    assert tt("run", "status", "mine", "--json").json["objective"] == "Mine."
    assert tt("run", "from", "nothing").exit == 4
    assert tt("verify").exit == 0


def test_a_trajectory_becomes_a_run(tt: Tt, tmp_path: Path) -> None:
    tt("init")
    history = [
        {"role": "user", "content": "Find the bug."},
        {"role": "assistant", "thought": "I look.", "action": "ls", "content": ""},
        {"role": "tool", "content": "a.py"},
    ]
    (tmp_path / "bug.traj").write_text(json.dumps({"history": history}))
    assert tt("run", "from", "bug.traj").exit == 0
    assert tt("run", "status", "from-bug", "--json").json["metrics"]["cycles"] == 1
    assert "undated" in tt("run", "list").out
    assert tt("run", "list", "--json").json["runs"][0]["updated"] is None


def test_a_second_trajectory_of_the_same_name_never_becomes_the_first(tt: Tt, tmp_path: Path) -> None:
    tt("init")
    for folder, prompt in (("a", "Find the bug."), ("b", "Write a test.")):
        (tmp_path / folder).mkdir()
        history = [{"role": "user", "content": prompt}, {"role": "assistant", "thought": "So.", "action": "ls"}]
        (tmp_path / folder / "run.traj").write_text(json.dumps({"history": history}))
    assert tt("run", "from", "a/run.traj", "--id", "r1").exit == 0
    refused = tt("run", "from", "b/run.traj", "--id", "r2", "--json")
    assert (refused.exit, refused.error["code"], refused.error["where"]["file"]) == (5, "session-differs", "b/run.traj")
    assert tt("run", "status", "r2").exit == 4
    assert tt("run", "from", "b/run.traj", "--id", "r2", "--session", "second").exit == 0
    assert tt("run", "status", "r2", "--json").json["objective"] == "Write a test."
    assert tt("run", "from", "second", "--id", "r3", "--session", "third").exit == 2
    assert tt("verify").exit == 0


def test_what_was_left_out_of_the_file_of_a_run_is_reported(tt: Tt, tmp_path: Path) -> None:
    tt("init")
    history = [{"role": "user", "content": "Find the bug."}, "damaged"]
    (tmp_path / "bug.traj").write_text(json.dumps({"history": history}))
    done = tt("run", "from", "bug.traj", "--json")
    assert (done.exit, done.json["first"]) == (1, 2)
    assert "bug.traj:1.history[1]" in done.err


def test_why_prints_a_tree_a_graph_and_json(tt: Tt, run: str, evidence: list[str]) -> None:
    tt("run", "claim", run, "It is <stale>.", "--status", "verified", "-e", evidence[0])
    printed = tt("why", f"claim:{run}/c1").out
    assert "“The lock file is stale.”" in printed
    assert f"{evidence[0][:11]}  (found" in printed
    graph = tt("why", f"claim:{run}/c1", "--mermaid").out
    assert graph.startswith("graph TD\n")
    assert graph.count("-->") == 2
    assert "<stale>" not in graph
    result = tt("why", evidence[0], "--forward", "--json").json
    assert result["children"][0]["ref"] == f"claim:{run}/c1"
    assert tt("why", f"claim:{run}/c9").exit == 4


def test_show_knows_evidence_runs_claims_and_snapshots(tt: Tt, run: str, evidence: list[str]) -> None:
    tt("run", "claim", run, "It is stale.", "--status", "verified", "-e", evidence[0])
    (snapshot,) = tt("run", "compact", run, "--json").json["snapshots"]
    assert tt("show", evidence[0], "--json").json["text"] == "The lock file is stale."
    assert tt("show", f"run:{run}", "--json").json["objective"] == "Find the cause."
    assert tt("show", f"claim:{run}/c1", "--json").json["status"] == "verified"
    assert tt("show", snapshot, "--json").json["run_id"] == run
    for reference in ("ev_" + "0" * 32, f"claim:{run}/c9", "run:nothing", "sn_" + "0" * 32):
        assert tt("show", reference).exit == 4


def test_cite_takes_a_quote_or_a_span(tt: Tt, evidence: list[str], tmp_path: Path) -> None:
    (chunk,) = tt("add", "notes.md", "--json").json["chunks"]
    result = tt("cite", chunk["ref"], "--span", "9-32", "--json").json
    assert result["quote"] == "The lock file is stale."
    assert result["evidence_id"] == evidence[0]
    assert list(result["pointer"]) == ["evidence_id", "chunk_id", "span"]
    assert tt("cite", chunk["ref"], "--quote", "The", "--json").error["code"] == "quote-ambiguous"
    assert tt("cite", chunk["ref"], "--quote", "The", "--span", "33-36").exit == 0
    assert tt("cite", chunk["ref"], "--span", "x").exit == 2
    assert tt("cite", chunk["ref"]).exit == 3


def test_a_seal_is_created_and_compared(tt: Tt, run: str) -> None:
    sealed = tt("seal", "--json").json
    assert sealed["runs"] == 1
    assert tt("verify", "--seal").exit == 0
    assert tt("verify", "--seal", sealed["id"], "--json").json["status"] == "VERIFIED"
    assert tt("verify", "--seal", "nothing").exit == 4


def test_a_context_for_a_run_is_bound_to_its_step(tt: Tt, run: str) -> None:
    tt("import", "--sample")
    tt("run", "compact", run)
    result = tt("context", "which time limit did we decide on", "--run", f"run:{run}", "--step", 3, "--json").json
    assert result["manifest"]["pieces"][0]["ref"].startswith("sn_")
    assert tt("replay", result["manifest_id"]).out == result["text"]
    (snapshot,) = tt("run", "compact", run, "--json").json["snapshots"]
    shown = json.loads(tt("run", "snapshot", snapshot).out)
    assert shown["latest_context_manifest_ids"] == [result["manifest_id"]]
    assert tt("verify").exit == 0


def test_a_file_becomes_a_run_in_a_folder_that_is_not_a_workspace_yet(tt: Tt, tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "Count."}, {"role": "assistant", "content": "One."}]
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    assert tt("run", "from", "session").exit == 4
    assert not (tmp_path / ".slicebase").exists()
    assert tt("run", "from", "chat.json").exit == 0
    refused = tt("run", "from", "chat.json", "--id", "other", "--leaf", "deadbeef", "--json")
    assert (refused.exit, refused.error["code"]) == (4, "no-turn")


# A step of a process that was killed, and budgets


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ({"type": "PLAN_DONE"}, "step-missing"),
        ({"type": "X", "time": "yesterday"}, "bad-time"),
        ({"type": "X", "step": 2**53 - 2}, "bad-event"),
        ({"type": "X", "payload": {"n": 2**60}}, "integer-range"),
        ({"type": "X", "payload": {"t": ["y" * 1500] * 100}}, "payload-too-large"),
        ({"type": "SNAPSHOT"}, "reserved-event"),
    ],
)
def test_an_event_of_a_file_that_cannot_be_stored_is_reported_with_its_line(
    tt: Tt, run: str, tmp_path: Path, bad: dict[str, Any], code: str
) -> None:
    (tmp_path / "events.jsonl").write_text(lines({"type": "X"}) + "\n" + lines(bad, {"type": "X"}))
    error = tt("run", "log", run, "--file", "events.jsonl", "--json").error
    assert (error["code"], error["where"]["file"], error["where"]["line"]) == (code, "events.jsonl", 3)
    assert tt("run", "status", run, "--json").json["events"] == 1


@pytest.mark.parametrize("given", ["max_steps=nan", "max_steps", "max_steps=true", "max_cost=[1]", "max_cost=much"])
def test_a_limit_that_is_no_number_is_called_so(tt: Tt, run: str, given: str) -> None:
    started = tt("run", "start", "-o", "Objective", "--done", "Done", "--budget", given)
    assert (started.exit, "is not a number" in started.err) == (2, True)
    assert tt("run", "log", run, "X", "--threshold", f"{given}").exit == 2


def test_a_command_that_logs_an_item_says_which_id_it_got(tt: Tt, run: str, evidence: list[str]) -> None:
    assert tt("run", "claim", run, "It is.").out == f"claim:{run}/c1\n"
    assert tt("run", "claim", run, "--id", f"claim:{run}/c1", "--status", "retracted").out == f"claim:{run}/c1\n"
    claim = tt("run", "claim", run, "It was.", "--json").json
    assert (claim["id"], claim["ref"]) == ("c2", f"claim:{run}/c2")
    assert "It was." in tt("why", claim["ref"]).out
    assert tt("run", "conflict", run, "Both.", "-a", evidence[0], "-b", evidence[1]).out == "x1\n"
    failure = tt("run", "failure", run, "--category", "tool", "--where", "make", "--why", "exit 2", "--json").json
    assert (failure["id"], failure["ref"]) == ("f1", None)
    assert tt("run", "question", run, "Is it?", "--json").json["id"] is None


def test_the_status_says_which_steps_it_has_closed(tt: Tt, run: str, tmp_path: Path) -> None:
    with Slicebase.open(tmp_path) as memory:
        memory.runs.step(run).__enter__()  # and dropped
    assert "interrupted step 1" in tt("run", "status", run).out
    status = tt("run", "status", run, "--json").json
    assert (status["interrupted_steps"], status["open_failures"][0]["failure_id"]) == ([], "step-1")
    with Slicebase.open(tmp_path) as memory:
        memory.runs.step(run).__enter__()
    stopped = tt("run", "stop", run, "--reason", "HUMAN_REQUESTED")
    assert "step 2" in stopped.err


def test_the_status_of_a_fork_shows_what_it_has_inherited(tt: Tt, tmp_path: Path) -> None:
    tt("run", "start", "-o", "Objective", "--done", "Done", "--budget", "max_steps=3", "--id", "a")
    for step in (1, 2):
        tt("run", "log", "a", "ACT_DONE", "--step", step)
    assert "budget     steps 2 of 3\n" in tt("run", "status", "a").out
    tt("run", "compact", "a")
    tt("run", "fork", "a", "--id", "b")
    assert "budget     steps 2 of 3 (2 of it inherited)\n" in tt("run", "status", "b").out
    assert tt("run", "log", "b", "ACT_DONE", "--step", 1).exit == 0
    assert tt("run", "log", "b", "ACT_DONE", "--step", 2).exit == 3
    assert tt("run", "fork", "b").exit == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("start", "-o", "Objective", "--done", "Done", "--id", ""),
        ("start", "-o", "Objective", "--done", " "),
        ("start", "-o", "Objective", "--done", '{"text": ""}'),
        ("claim", "r1", " "),
        ("claim", "r1", "It is.", "--id", ""),
        ("question", "r1", ""),
        ("failure", "r1", "--category", "c", "--where", "w", "--why", "y", "--id", " "),
        ("fork", "r1", "--id", ""),
    ],
)
def test_what_is_empty_is_refused(tt: Tt, run: str, arguments: tuple[str, ...]) -> None:
    tt("run", "compact", run)
    assert tt("run", *arguments).exit == 3
    assert len(tt("run", "list", "--json").json["runs"]) == 1


# Guards


def test_a_loop_is_an_error_a_warning_or_nothing_as_the_run_was_started(tt: Tt, tmp_path: Path) -> None:
    cycle = [
        {"type": "ACT_DONE", "step": 1, "payload": {"text": "make"}},
        {"type": "OBSERVE_DONE", "step": 1, "payload": {"text": "no"}},
    ]
    (tmp_path / "loop.jsonl").write_text(lines(*cycle * 3))
    for mode, status, said in (("stop", 3, "[loop-found]"), ("warn", 0, "warning: "), ("off", 0, None)):
        tt("run", "start", "-o", "Try.", "--done", "Tried.", "--id", mode, "--loop", mode)
        done = tt("run", "log", mode, "--file", "loop.jsonl")
        assert done.exit == status
        assert (said or "events 2 to 7") in done.err
        assert ("warning" in done.err) == (mode == "warn")
    assert tt("run", "log", "warn", "--file", "loop.jsonl", "--json").json["warnings"]
    allowed = tt("run", "allow-loop", "stop", "--steps", "5", "--reason", "It is flaky.")
    assert (allowed.exit, tt("run", "log", "stop", "--file", "loop.jsonl").exit) == (0, 0)
    assert tt("run", "allow-loop", "stop", "--reason", "It is flaky.").exit == 2
    assert "1 loops" in tt("run", "status", "off").out


def test_a_status_shows_what_went_wrong_and_where(tt: Tt) -> None:
    terms = ("--done", "It builds. Never run git push.", "--budget", "max_steps=2", "--soft", "0.5")
    tt("run", "start", "-o", "Build.", *terms, "--id", "r2")
    pushed = tt("run", "log", "r2", "ACT_DONE", "--step", "1", "--payload", '{"text": "git push"}')
    assert "warning: run:r2: steps 1 of 2" in pushed.err
    shown = tt("run", "status", "r2").out
    assert "warning    steps 1 of 2" in shown
    assert "forgotten  event 2 does what event 1 forbids: Never run git push." in shown
    assert tt("run", "status", "r2", "--json").json["incidents"]["forgotten_constraints"][0]["action"] == 2


def test_a_report_is_markdown_or_json(tt: Tt, run: str, evidence: list[str]) -> None:
    tt("run", "claim", run, "It is stale.", "--status", "verified", "-e", evidence[0])
    tt("run", "stop", run, "--reason", "OBJECTIVE_ACHIEVED")
    assert "“The lock file is stale.”" in tt("run", "report", run).out
    report = tt("run", "report", run, "--format", "json").json
    assert report["verified_claims"][0]["evidence"][0]["quote"] == "The lock file is stale."
    assert report == tt("run", "report", run, "--json").json
