"""What follows a call of a hook, whatever the client: the files of the project, compactions, and nothing twice."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slicebase.agents.clients import CLIENTS, HookEvent
from slicebase.agents.hook_calls import HookCall
from slicebase.base import Slicebase
from slicebase.cli.main import run
from slicebase.core.hashing import tokens
from slicebase.errors import SlicebaseError
from slicebase.history import notes as history_notes
from slicebase.history.notes import Compacted, ContextNotes, SessionContext
from slicebase.history.paths import summaries
from slicebase.verbs import hook_events, hook_imports, hook_losses, lost, record, session_runs
from slicebase.verbs.hook_events import narrate_compacted, respond
from slicebase.verbs.lost import lost_context
from slicebase.verbs.lost_prepared import PreparedNotes, is_prepared, outdated_losses, prepare_losses
from slicebase.workspace import processes
from slicebase.workspace.disk import disk_full

SESSION = "5d0c0a3e-0000-4000-8000-00000000000a"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path / "project") as base:
        yield base


class Agent:
    """A client's session: its transcript, and the calls of its hooks."""

    def __init__(self, memory: Slicebase, client: str = "claude-code") -> None:
        self.memory, self.client = memory, client
        self.path = memory.root / ("rollout-1.jsonl" if client == "codex" else "session-1.jsonl")
        self.number = 0

    def call(self, event: HookEvent, *, source: str = "", prompt: str | None = None, wait: bool = False) -> str:
        events = CLIENTS[self.client].events
        name = next((name for name, each in events.items() if each == event), "SessionStart")
        call = HookCall(self.client, name, event, SESSION, self.path, source, prompt)
        return respond(self.memory, call, wait=wait) or ""

    def say(self, text: str, role: str = "user", *, summary: bool = False) -> None:
        write = {"claude-code": self._claude, "codex": self._codex, "gemini": self._gemini}[self.client]
        with self.path.open("a") as stream:
            stream.writelines(json.dumps(record) + "\n" for record in write(text, role, summary))
        self.number += 1

    def _claude(self, text: str, role: str, summary: bool) -> Iterator[dict[str, Any]]:
        uuid = "{:08}-0000-4000-8000-000000000000".format
        parent = uuid(self.number - 1) if self.number else None
        yield {"type": role, "uuid": uuid(self.number), "parentUuid": parent, "sessionId": SESSION,
               "timestamp": self._time, "isCompactSummary": summary,
               "message": {"role": role, "content": text}}  # fmt: skip

    def _codex(self, text: str, role: str, summary: bool) -> Iterator[dict[str, Any]]:
        if not self.number:
            yield {"timestamp": self._time, "type": "session_meta", "payload": {"id": SESSION}}
        kind = "input_text" if role == "user" else "output_text"
        item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        payload = {"message": text, "replacement_history": []} if summary else item
        yield {"timestamp": self._time, "type": "compacted" if summary else "response_item", "payload": payload}

    def _gemini(self, text: str, role: str, summary: bool) -> Iterator[dict[str, Any]]:
        if not self.number:
            yield {"sessionId": SESSION, "projectHash": "h", "startTime": self._time}
        kind = "user" if role == "user" else "gemini"
        said = {"id": f"m{self.number}", "timestamp": self._time, "type": kind, "content": [{"text": text}]}
        ok = {**said, "id": f"ok{self.number}", "type": "gemini", "content": "Got it."}
        yield {"$set": {"messages": [said, ok]}} if summary else said

    @property
    def _time(self) -> str:
        return f"2026-01-31T12:{self.number:02}:00Z"

    def talk(self) -> None:
        self.say("Never drop tables on staging. We use pytest -q tests/unit to check.")
        self.say("Understood: I never drop tables on staging.", "assistant")
        self.say("Fix the parser in src/parse.py.")
        self.say("Done: I fixed src/parse.py.", "assistant")


@pytest.fixture(params=["claude-code", "codex", "gemini"])
def agent(request: pytest.FixtureRequest, memory: Slicebase) -> Agent:
    return Agent(memory, request.param)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The commands that were started in the background, none of which runs."""
    commands: list[tuple[str, ...]] = []

    def start(*arguments: str, folder: Path) -> int:
        commands.append(arguments)
        return os.getpid()

    monkeypatch.setattr(processes, "start_alone", start)
    monkeypatch.setattr(hook_imports, "_MARGIN", (10, 0))  # seconds: nothing is waited for
    monkeypatch.setattr(hook_losses, "_PATIENCE", 0)
    return commands


# Compactions


def compacted(agent: Agent) -> None:
    """Has a conversation that is compacted before the session ends."""
    agent.call(HookEvent.PROMPT, prompt="first")
    agent.talk()
    agent.call(HookEvent.BEFORE_COMPACTION, source="auto", wait=True)
    agent.say("The user works on a parser.", summary=True)
    agent.call(HookEvent.END)


def test_after_a_compaction_the_narrative_and_what_was_lost_arrive_once(agent: Agent) -> None:
    agent.memory.library.create("Rules", "Ours.", body="Deploy on Mondays only.")
    compacted(agent)
    after = agent.call(HookEvent.AFTER_COMPACTION) if CLIENTS[agent.client].tells_compactions else ""
    shown = after + agent.call(HookEvent.PROMPT, prompt="drop the tables on staging", wait=True)
    assert shown.count("Never drop tables on staging. We use") >= 1
    assert shown.count("## Next actions") == 1, "the narrative"
    assert shown.count("was compacted, for: drop the tables") == 1
    assert shown.count("Deploy on Mondays only.") == 1, "the compaction took the files, too"
    assert agent.call(HookEvent.PROMPT, prompt="go on", wait=True) == ""
    agent.say("Is it done?")
    agent.say("It is.", "assistant")
    agent.call(HookEvent.BEFORE_COMPACTION, wait=True)
    assert agent.call(HookEvent.PROMPT, prompt="go on", wait=True) == "", "nothing was compacted"
    agent.say("A second summary.", summary=True)
    agent.call(HookEvent.BEFORE_COMPACTION, wait=True)
    assert not agent.memory.verify().findings


def test_a_narrative_that_is_not_ready_comes_with_a_later_prompt(agent: Agent, started: list[tuple[str, ...]]) -> None:
    agent.talk()
    agent.call(HookEvent.PROMPT, prompt="first")
    agent.call(HookEvent.BEFORE_COMPACTION)
    agent.say("The user works on a parser.", summary=True)
    first = agent.call(HookEvent.PROMPT, prompt="drop the tables on staging")
    assert "was compacted, for: drop the tables" in first
    assert "## Next actions" not in first
    assert agent.call(HookEvent.PROMPT, prompt="go on") == ""
    narrate_compacted(agent.memory, SESSION)
    assert "## Next actions" in agent.call(HookEvent.PROMPT, prompt="go on")
    assert agent.call(HookEvent.PROMPT, prompt="go on") == ""
    assert [command[2:4] for command in started] == [("hook", "narrate")]


def test_a_hook_waits_for_the_narrative_as_long_as_it_may(
    memory: Slicebase, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(memory)
    agent.talk()
    agent.call(HookEvent.BEFORE_COMPACTION)
    monkeypatch.setattr(hook_imports, "_MARGIN", (0, 0))
    monkeypatch.setattr(time, "sleep", lambda _: narrate_compacted(memory, SESSION))
    assert "## Next actions" in agent.call(HookEvent.AFTER_COMPACTION)


def test_what_a_hook_has_no_time_for_comes_with_the_next_prompt(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(memory)
    memory.library.create("Rules", "Ours.", body="Deploy on Mondays only.")
    compacted(agent)
    with monkeypatch.context() as patch:
        patch.setattr(hook_imports, "_LAST_STEP", (10, 0))  # seconds: there never is time
        first = agent.call(HookEvent.PROMPT, prompt="drop the tables on staging")
    second = agent.call(HookEvent.PROMPT, prompt="go on")
    assert [text in first for text in ("was compacted, for: drop", "## Next actions", "on Mondays")] == [
        True,
        False,
        False,
    ]
    assert [text in second for text in ("was compacted, for:", "## Next actions", "on Mondays")] == [False, True, True]
    assert agent.call(HookEvent.PROMPT, prompt="go on") == ""


@pytest.mark.parametrize(
    ("now", "slept", "can_wait", "has_time"),
    [(1, 0, True, True), (6.9, 6, True, True), (7.1, 6, False, True), (4, 0, False, True), (8.5, 0, False, False)],
)
def test_on_a_slow_machine_a_hook_waits_shorter(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch, now: float, slept: float, can_wait: bool, has_time: bool
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: now)
    call = HookCall("claude-code", "UserPromptSubmit", HookEvent.PROMPT, SESSION)
    work = hook_imports.HookWork(memory, call, False, lambda text: None, begun=0, slept=slept)
    assert (work.can_wait(), work.has_time()) == (can_wait, has_time)


def test_a_process_that_was_killed_is_replaced_once(
    memory: Slicebase, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(memory)
    agent.talk()
    agent.call(HookEvent.BEFORE_COMPACTION)
    agent.say("The user works on a parser.", summary=True)
    monkeypatch.setattr(hook_events, "_is_running", lambda _: False)
    for _ in range(3):
        agent.call(HookEvent.PROMPT, prompt="go on")
    assert len(started) == 2
    assert memory.compacted_notes.get(SESSION) is None


def test_a_number_that_another_process_may_have_now_is_not_waited_for(
    memory: Slicebase, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(memory)
    agent.talk()
    agent.call(HookEvent.BEFORE_COMPACTION)
    later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: later)
    agent.call(HookEvent.AFTER_COMPACTION)
    assert len(started) == 2, "as if it was killed"


def test_a_killed_process_that_nobody_asks_for_does_not_run() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert processes.is_running(process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not processes.is_running(process.pid)
    assert not processes.is_running(process.pid)
    assert not processes.is_running(1 << 80)


def test_a_compaction_that_was_not_told_before_is_reported_after_it(memory: Slicebase) -> None:
    agent = Agent(memory)
    agent.talk()
    assert "## Next actions" in agent.call(HookEvent.AFTER_COMPACTION, wait=True)


def test_a_client_that_only_may_compact_is_not_kept_waiting(memory: Slicebase, started: list[tuple[str, ...]]) -> None:
    agent = Agent(memory, "gemini")
    agent.talk()
    assert agent.call(HookEvent.BEFORE_COMPACTION) == ""
    assert not memory.workspace.database.exists(), "it reads and writes nothing"
    for _ in range(2):
        assert agent.call(HookEvent.PROMPT, prompt="go on") == ""
    assert not started
    assert not memory.truth.turns.newest_record(SESSION), (
        "a prompt looks for a compaction, and imports nothing without one"
    )


def test_a_context_that_began_after_the_compaction_gets_the_files_once(agent: Agent) -> None:
    agent.memory.library.create("Rules", "Ours.", body="Deploy on Mondays only.")
    agent.call(HookEvent.START, source="startup")
    compacted(agent)
    shown = agent.call(HookEvent.START, source="resume") + agent.call(HookEvent.PROMPT, prompt="go on", wait=True)
    assert shown.count("Deploy on Mondays only.") == 1
    assert shown.count("## Next actions") == 1
    assert agent.call(HookEvent.START, source="resume") == "", "nor the narrative again"
    assert agent.call(HookEvent.PROMPT, prompt="go on", wait=True) == ""


def test_a_narrative_that_is_written_late_does_not_come_with_a_resumed_session(agent: Agent) -> None:
    """Of two compactions in a row, the work that the first one began may end after a prompt has told everything."""
    agent.memory.library.create("Rules", "Ours.", body="Deploy on Mondays only.")
    agent.call(HookEvent.START, source="startup")
    compacted(agent)
    assert "## Next actions" in agent.call(HookEvent.PROMPT, prompt="go on", wait=True)
    agent.say("Fix the printer in src/print.py.")
    agent.say("Done: I fixed src/print.py.", "assistant")
    agent.call(HookEvent.END)
    narrate_compacted(agent.memory, SESSION)
    assert agent.call(HookEvent.START, source="resume") + agent.call(HookEvent.PROMPT, prompt="go on", wait=True) == ""
    agent.memory.library.create("Names", "Theirs.", body="Ann owns the parser.")
    resumed = agent.call(HookEvent.START, source="resume") + agent.call(HookEvent.PROMPT, prompt="go on", wait=True)
    assert "Ann owns" in resumed
    assert "## Next actions" not in resumed


# Long transcripts


def test_what_takes_longer_than_a_hook_may_is_left_to_another_process(
    agent: Agent, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_imports, "_LONG", 10)
    agent.call(HookEvent.PROMPT, prompt="first")
    agent.talk()
    agent.call(HookEvent.END)
    assert [command[2:4] for command in started] == [("hook", "read")]
    assert agent.memory.truth.turns.newest_record(SESSION) is None
    assert run([*started[0]]) == 0
    assert agent.memory.truth.turns.newest_record(SESSION) is not None


def test_what_a_long_session_lost_comes_when_it_is_read(
    agent: Agent, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_imports, "_LONG", 10)
    agent.call(HookEvent.PROMPT, prompt="first")
    agent.talk()
    agent.call(HookEvent.BEFORE_COMPACTION)
    assert agent.memory.truth.turns.newest_record(SESSION) is None
    for command in started:
        assert run([*command]) == 0, "it imports, and writes the narrative"
    agent.say("The user works on a parser.", summary=True)
    assert agent.call(HookEvent.PROMPT, prompt="drop the tables on staging") == "", "it is being read"
    assert started[-1][2:4] == ("hook", "read")
    assert run([*started[-1]]) == 0
    agent.say("More is said.", "assistant")
    monkeypatch.setattr(processes, "is_running", lambda process: process is None)
    first = agent.call(HookEvent.PROMPT, prompt="drop the tables on staging")
    assert first.count("was compacted, for: drop the tables") == 1
    assert run([*next(command for command in started if "narrate" in command)]) == 0
    shown = first + agent.call(HookEvent.PROMPT, prompt="go on") + agent.call(HookEvent.PROMPT, prompt="go on")
    assert shown.count("## Next actions") == shown.count("was compacted, for: drop the tables") == 1
    assert agent.call(HookEvent.PROMPT, prompt="go on") == ""
    assert [command[3] for command in started].count("read") == 1


# The files of the project


def test_what_people_wrote_comes_before_narratives_and_only_the_newest_of_each_run(memory: Slicebase) -> None:
    own = memory.library.create("Rules", "Ours.", body="Deploy on Mondays only.")
    for name in ("one", "two"):
        agent = Agent(memory)
        agent.path = memory.root / f"{name}.jsonl"
        for _ in range(3):
            agent.say(f"Say {name} {agent.number} " * 40)
            memory.follow(agent.path)
            memory.narrate_session(SESSION) if name == "one" else None
    narratives = [entry for entry in memory.library.list_files() if entry.source]
    assert len(narratives) == 3
    pieces = memory.project_context(4000).pieces
    assert [piece.ref for piece in pieces] == [f"file:{own.id}", f"file:{narratives[0].id}"]
    assert memory.project_context(300).pieces[0].ref == f"file:{own.id}"


def test_seals_are_no_part_of_what_is_known(memory: Slicebase) -> None:
    own = memory.library.create("Rules", "Ours.", body="Deploy on Mondays only.")
    assert memory.seal().id
    assert [piece.ref for piece in memory.project_context(4000).pieces] == [f"file:{own.id}"]


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_a_resumed_session_gets_only_what_its_context_lacks(memory: Slicebase, client: str) -> None:
    rules = memory.library.create("Rules", "Ours.", body="Deploy on Mondays only.")
    agent = Agent(memory, client)

    def start(source: str) -> str:
        text = agent.call(HookEvent.START, source=source)
        assert not text or CLIENTS[client].adds_at_start, "the prompt would be lost with it"
        return text + agent.call(HookEvent.PROMPT, prompt="go on")

    assert "Deploy on Mondays only." in start("startup")
    assert start("resume") == ""
    memory.library.create("Names", "Theirs.", body="Ann owns the parser.")
    third = start("resume")
    assert "Ann owns the parser." in third
    assert "Deploy on Mondays only." not in third
    path = memory.workspace.library / f"{rules.id}.slice"
    path.write_text(path.read_text().replace("on Mondays", "on Fridays"))
    assert "Deploy on Fridays only." in start("resume")
    assert start("resume") == ""
    assert "Ann owns" in start("clear")


def test_a_resumed_session_does_not_get_what_had_no_room(agent: Agent) -> None:
    for number in range(6):
        agent.memory.library.create(f"Rules {number}", "Ours.", body="Deploy on Mondays only. " * 20)
    agent.memory.set("hooks.tokens", 300)
    assert agent.call(HookEvent.START, source="startup") + agent.call(HookEvent.PROMPT, prompt="go on")
    assert agent.call(HookEvent.START, source="resume") + agent.call(HookEvent.PROMPT, prompt="go on") == ""
    agent.memory.library.create("Names", "Theirs.", body="Ann owns the parser.")
    resumed = agent.call(HookEvent.START, source="resume") + agent.call(HookEvent.PROMPT, prompt="go on")
    assert "Ann owns" in resumed
    assert "Mondays" not in resumed


def test_notes_on_sessions_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_notes, "MOST_NOTES", 5)
    with Slicebase.init(tmp_path) as memory:
        notes = ContextNotes(memory.workspace.cache)
        for number in range(9):
            notes.put(str(number), SessionContext({"a": str(number)}))
            time.sleep(0.002)
        assert [notes.get(str(number)) is not None for number in range(9)] == [False] * 4 + [True] * 5


def test_each_client_has_a_budget_of_its_own(memory: Slicebase) -> None:
    for number in range(6):
        memory.library.create(f"Rules {number}", "Ours.", body="Deploy on Mondays only. " * 20)
    memory.set("hooks.tokens", 600)
    memory.set("hooks.codex.tokens", 200)
    sizes = {
        client: tokens(Agent(memory, client).call(HookEvent.START)) for client in ("claude-code", "codex", "opencode")
    }
    assert sizes["codex"] <= 200 < sizes["claude-code"] == sizes["opencode"] <= 600


def test_a_context_is_shown_though_another_process_writes(memory: Slicebase, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.library.create("Rules", "Ours.", body="Deploy on Mondays only.")
    monkeypatch.setattr(hook_imports, "_BUSY", 1)
    with Slicebase.open(memory.root) as other, other.truth.database.writing():
        assert "Deploy on Mondays only." in Agent(memory).call(HookEvent.START)


@pytest.mark.parametrize("is_told", [True, False])
def test_a_compaction_while_another_process_writes_is_reported_later(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch, is_told: bool
) -> None:
    memory.library.create("Rules", "Ours.", body="Deploy on Mondays only.")
    agent = Agent(memory, "codex")
    agent.talk()
    monkeypatch.setattr(hook_imports, "_BUSY", 1)
    memory.truth.database.wait(1)
    with Slicebase.open(memory.root) as other, other.truth.database.writing():
        for event in (HookEvent.BEFORE_COMPACTION, HookEvent.AFTER_COMPACTION)[: 1 + is_told]:
            with pytest.raises(SlicebaseError, match="another process is writing"):
                agent.call(event)
            agent.say("The user works on a parser.", summary=True)
    shown = agent.call(HookEvent.PROMPT, prompt="drop the tables on staging", wait=True)
    for text in ("## Next actions", "was compacted, for: drop the tables", "Deploy on Mondays only."):
        assert shown.count(text) == 1
    assert agent.call(HookEvent.PROMPT, prompt="go on", wait=True) == ""


def test_a_prompt_that_was_stopped_while_it_looked_for_what_was_lost_is_not_the_first_of_many(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client stops a hook that takes too long: the next one says so, and has everything else."""
    agent.memory.library.create("Rules", "Ours.", body="Deploy on Mondays only.")
    compacted(agent)

    def stopped(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(lost, "lost_context", stopped)
        with pytest.raises(KeyboardInterrupt):
            agent.call(HookEvent.PROMPT, prompt="drop the tables", wait=True)
    shown = agent.call(HookEvent.PROMPT, prompt="drop the tables", wait=True)
    for text in ("takes longer to find than a hook may take", "## Next actions", "Deploy on Mondays only."):
        assert shown.count(text) == 1
    assert agent.call(HookEvent.PROMPT, prompt="go on", wait=True) == ""


def test_a_context_is_shown_on_a_full_disk(memory: Slicebase, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise disk_full()

    memory.library.create("Rules", "Ours.", body="Deploy on Mondays only.")
    monkeypatch.setattr(record, "recorded", fails)
    assert "Deploy on Mondays only." in Agent(memory).call(HookEvent.START)


def test_a_note_that_an_older_version_left_is_understood(memory: Slicebase) -> None:
    agent = Agent(memory)
    agent.talk()
    memory.follow(agent.path)
    memory.compacted_notes.put(SESSION, Compacted(memory.narrate_session(SESSION).file_id))
    assert "## Next actions" in agent.call(HookEvent.PROMPT, prompt="go on")


# What a long session lost


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every session is so long that a hook does not look by itself for what was lost."""
    monkeypatch.setattr(hook_losses, "_SHORT", 10)


@pytest.mark.usefixtures("large")
def test_what_a_compaction_lost_is_ready_when_the_prompt_comes(
    memory: Slicebase, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(memory)
    agent.talk()
    agent.call(HookEvent.BEFORE_COMPACTION)
    # The process that was started before the compaction waits for its summary.
    monkeypatch.setattr(hook_losses, "_PATIENCE", 60)
    monkeypatch.setattr(time, "sleep", lambda _: agent.say("The user works on a parser.", summary=True))
    assert run([*started[-1]]) == 0
    monkeypatch.setattr(lost, "judge", None)  # nothing looks again
    shown = agent.call(HookEvent.PROMPT, prompt="drop the tables on staging")
    assert shown.count("was compacted, for: drop the tables") == 1
    assert "Never drop tables on staging." in shown
    assert len(started) == 1


@pytest.mark.usefixtures("large")
def test_what_a_compaction_lost_comes_with_the_prompt_after_it_is_found(
    agent: Agent, started: list[tuple[str, ...]]
) -> None:
    compacted(agent)
    first = agent.call(HookEvent.PROMPT, prompt="drop the tables on staging")
    assert "was compacted, for:" not in first
    for command in started:
        assert run([*command]) == 0
    shown = [agent.call(HookEvent.PROMPT, prompt="drop the tables on staging") for _ in range(2)]
    assert [text.count("was compacted, for:") for text in shown] == [1, 0]


@pytest.mark.usefixtures("large")
def test_a_narrative_that_is_written_while_a_prompt_waits_comes_with_that_prompt(
    memory: Slicebase, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(memory)
    agent.talk()
    agent.call(HookEvent.BEFORE_COMPACTION)
    agent.say("The user works on a parser.", summary=True)
    monkeypatch.setattr(hook_imports, "_MARGIN", (0, 0))
    monkeypatch.setattr(hook_losses, "_PATIENCE", 60)
    monkeypatch.setattr(time, "sleep", lambda _: run([*started[0]]))
    shown = agent.call(HookEvent.PROMPT, prompt="drop the tables on staging")
    assert shown.count("was compacted, for:") == shown.count("## Next actions") == 1
    assert len(started) == 1
    assert memory.compacted_notes.get(SESSION) is None


@pytest.mark.usefixtures("large")
def test_the_summary_is_waited_for_though_the_hook_after_the_compaction_comes_before_it(
    memory: Slicebase, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(memory)
    agent.talk()
    agent.call(HookEvent.BEFORE_COMPACTION)
    monkeypatch.setattr(hook_losses, "_PATIENCE", 60)

    def narrated(*given: Any) -> Any:
        agent.call(HookEvent.AFTER_COMPACTION)  # while the narrative is written
        return narrate_session(*given)

    narrate_session = session_runs.narrate_session
    monkeypatch.setattr(session_runs, "narrate_session", narrated)
    monkeypatch.setattr(time, "sleep", lambda _: agent.say("The user works on a parser.", summary=True))
    assert run([*started[0]]) == 0
    assert is_prepared(memory, SESSION, summaries(memory.truth, SESSION)[-1])


@pytest.mark.usefixtures("large")
def test_a_summary_in_a_file_whose_size_does_not_change_is_seen_when_another_process_imports_it(
    memory: Slicebase, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(memory)
    agent.talk()
    agent.call(HookEvent.BEFORE_COMPACTION)
    monkeypatch.setattr(hook_losses, "_PATIENCE", 60)
    monkeypatch.setattr(hook_losses, "_size", lambda call: 0)  # as for the database of opencode, which has a log

    def imported(_: float) -> None:
        agent.say("The user works on a parser.", summary=True)
        memory.follow(agent.path)

    monkeypatch.setattr(time, "sleep", imported)
    assert run([*started[0]]) == 0
    assert is_prepared(memory, SESSION, summaries(memory.truth, SESSION)[-1])


def test_no_process_waits_for_a_summary_when_the_session_has_ended(
    memory: Slicebase, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(memory)
    agent.talk()
    agent.call(HookEvent.BEFORE_COMPACTION)
    monkeypatch.setattr(hook_losses, "_PATIENCE", 60)
    looks: list[float] = []

    def end(seconds: float) -> None:
        looks.append(seconds)
        agent.call(HookEvent.END)

    monkeypatch.setattr(time, "sleep", end)
    assert run([*started[0]]) == 0
    assert len(looks) == 1


def test_a_process_for_an_earlier_compaction_leaves_the_note_of_the_next_one(
    memory: Slicebase, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(memory)
    agent.talk()
    agent.call(HookEvent.BEFORE_COMPACTION)
    agent.call(HookEvent.BEFORE_COMPACTION)
    note = memory.compacted_notes.get(SESSION)
    assert note is not None
    note.worker = os.getppid()
    memory.compacted_notes.put(SESSION, note)
    assert run([*started[0]]) == 0
    assert memory.compacted_notes.get(SESSION) == note


@pytest.mark.usefixtures("large")
def test_losses_that_nothing_finds_are_not_waited_for_forever(
    memory: Slicebase, started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(memory)
    compacted(agent)
    monkeypatch.setattr(processes, "is_running", lambda _: False)
    shown = [agent.call(HookEvent.PROMPT, prompt="drop the tables") for _ in range(4)]
    assert sum(text.count("takes longer to find than a hook may take") for text in shown) == 1
    assert shown[-1] == ""
    assert len(started) == 2


def test_what_was_prepared_is_what_is_found_anew(agent: Agent) -> None:
    compacted(agent)
    prepare_losses(agent.memory, SESSION)
    prepared = PreparedNotes(agent.memory.workspace.cache).get(SESSION)
    assert prepared is not None
    plain, quick = (
        lost_context(agent.memory, SESSION, 1500, prompt="tables", as_of=None, record=False, prepared=given)
        for given in (None, prepared)
    )
    assert [piece.ref for piece in plain.pieces] == [piece.ref for piece in quick.pieces]
    assert plain.text.split("\n", 3)[3:] == quick.text.split("\n", 3)[3:]


def test_prepared_losses_of_other_turns_are_looked_for_again(memory: Slicebase) -> None:
    agent = Agent(memory)
    compacted(agent)
    prepare_losses(memory, SESSION)
    notes = PreparedNotes(memory.workspace.cache)
    kept = notes.get(SESSION)
    assert kept is not None
    items = [each._replace(item=replace(each.item, turn="another")) for each in kept.items]
    notes.put(SESSION, replace(kept, items=items))
    assert "Never drop tables on staging." in agent.call(HookEvent.PROMPT, prompt="drop the tables on staging")


def test_a_purge_takes_what_was_prepared(memory: Slicebase) -> None:
    agent = Agent(memory)
    compacted(agent)
    prepare_losses(memory, SESSION)
    notes = PreparedNotes(memory.workspace.cache)
    kept = notes.get(SESSION)
    assert kept is not None
    memory.purge(f"session:{SESSION}")
    assert notes.get(SESSION) is None
    notes.put(SESSION, kept)  # as in another worktree
    assert outdated_losses(memory.truth, memory.workspace.cache)
    assert not is_prepared(memory, SESSION, kept.summary)


def without_notes(memory: Slicebase) -> Agent:
    agent = Agent(memory)
    agent.say("Every price is in cents.")
    memory.workspace.cache.mkdir(parents=True, exist_ok=True)
    (memory.workspace.cache / "compacted.lock").mkdir()
    return agent


def test_before_a_compaction_the_transcript_is_stored_even_if_no_note_can_be_written(memory: Slicebase) -> None:
    agent = without_notes(memory)
    with pytest.raises((SlicebaseError, OSError)):
        agent.call(HookEvent.BEFORE_COMPACTION)
    assert [each.text for each in memory.graph.turns(SESSION)] == ["Every price is in cents."]


def test_a_long_transcript_is_left_to_another_process_even_if_no_note_can_be_written(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = without_notes(memory)
    started: list[tuple[str, ...]] = []

    def start(*command: str, folder: Path) -> int:
        started.append(command)
        return 1

    monkeypatch.setattr("slicebase.verbs.hook_imports._LONG", 10)
    monkeypatch.setattr("slicebase.workspace.processes.start_alone", start)
    with pytest.raises((SlicebaseError, OSError)):
        agent.call(HookEvent.BEFORE_COMPACTION)
    assert [str(agent.path) in command for command in started] == [True]


def test_after_a_compaction_the_files_are_shown_even_if_no_note_can_be_written(memory: Slicebase) -> None:
    memory.library.create("Rules", "Ours.", body="Deploy on Mondays only.")
    agent = without_notes(memory)
    assert "Deploy on Mondays only." in agent.call(HookEvent.AFTER_COMPACTION, source="compact")
    assert [each.text for each in memory.graph.turns(SESSION)] == ["Every price is in cents."]
