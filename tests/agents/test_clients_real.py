"""Real clients with our hooks and our server: what reached the model's requests, and what was kept.

Each conversation has a tool call, a call of our server, a compaction and a resumed session. `make test-clients`
installs the clients, and runs this.
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from slicebase.agents.clients import CLIENTS
from slicebase.base import Slicebase
from tests.agents.clients.drivers import CLIENT_DRIVERS, conversation
from tests.agents.clients.model import ModelRequest, ScriptedModel
from tests.agents.clients.packages import client_program, wanted_clients
from tests.agents.clients.protocols import Reply, ToolCall

TOOLS = Path(sys.executable).parent  # with our program `tt`
NAMES = {client: {"claude": "claude-code"}.get(client, client) for client in CLIENT_DRIVERS}
# Settings with a hook of somebody else, which all clients but opencode read.
BEFORE = b'{\n   "hooks": {"SessionEnd": [ {"hooks": [{"type": "command","command": "true"}]} ] }\n}\n'

KNOWN = "Context for: what is known of this project"
LOST = "Context for: what was lost when"
NARRATIVE = "Every prompt of session:"  # is answered: what the run of a session is done with


class Told(NamedTuple):
    """A conversation that is over: the requests that each prompt led to, and its workspace."""

    client: str
    workspace: Path
    file_id: str  # of the only slice file at its beginning
    session: str
    prompts: dict[str, list[ModelRequest]]


def tt(workspace: Path, *arguments: str) -> str:
    done = subprocess.run([TOOLS / "tt", *arguments], cwd=workspace, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module", params=[pytest.param(name, marks=pytest.mark.clients) for name in wanted_clients()])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    client = request.param
    assert client_program(client).exists(), "`make test-clients` installs the clients"
    folder = tmp_path_factory.mktemp(client)
    workspace = folder / "a project"
    settings = workspace / CLIENTS[NAMES[client]].settings
    settings.parent.mkdir(parents=True)
    if client != "opencode":
        settings.write_bytes(BEFORE)
    (workspace / "notes.txt").write_text("The port of the queue is 6543.\n")
    tt(workspace, "init")
    texts = ("--title", "Webhooks", "--summary", "Their limits.", "--body", "An event lives 600 s.")
    file_id = tt(workspace, "create", *texts).strip()
    tt(workspace, "hook", "install", NAMES[client], "--program", str(TOOLS / "tt"))
    replies = [
        Reply("I read the notes.", (ToolCall(shell="cat notes.txt"),)),
        Reply("The port is 6543. We decided to use SQLite with WAL."),
        Reply(calls=(ToolCall(server="slicebase", tool="search", arguments={"query": "webhooks"}),)),
        Reply("An event lives 600 s."),
        Reply("The retries are left."),
        Reply("The tests are next."),
    ]
    prompts: dict[str, list[ModelRequest]] = {}
    with (
        ScriptedModel(replies, "<summary>The user asked about a port.</summary>") as model,
        conversation(client, folder / "home", workspace, model, TOOLS) as talk,
    ):
        for name, prompt in (
            ("first", "Read notes.txt. Never drop tables on staging."),
            ("second", "Search the memory for webhooks. We name the module alpha_one."),
            ("compacted", "What is left to do?"),
            ("resumed", "What comes next?"),
        ):
            if name == "compacted":
                talk.compact()
            if name == "resumed":
                talk.resume()
            before = len(model.main_requests())
            talk.say(prompt)
            prompts[name] = model.main_requests()[before:]
        assert talk.session
    return Told(client, workspace, file_id, talk.session, prompts)


def test_the_context_of_a_start_reaches_the_model_once(told: Told) -> None:
    first = told.prompts["first"][0].text
    assert first.count(KNOWN) == 1
    assert "An event lives 600 s." in first
    most = 2 if told.client == "opencode" else 1  # it can have the first one still after a compaction
    assert all(request.text.count(KNOWN) <= most for requests in told.prompts.values() for request in requests)


def test_the_result_of_our_server_reaches_the_model(told: Told) -> None:
    asked, answered = told.prompts["second"]
    assert asked.text.count(told.file_id) < answered.text.count(told.file_id)


def test_what_a_compaction_lost_and_the_narrative_reach_the_model_with_the_next_prompt(told: Told) -> None:
    # Gemini has run the hook of the prompt already when it compacts.
    request = told.prompts["resumed" if told.client == "gemini" else "compacted"][0].text
    assert request.count(LOST) == 1
    assert request.count(NARRATIVE) == 1
    assert "Never drop tables on staging." in request[request.index(LOST) :]


def test_a_resumed_session_gets_nothing_twice(told: Told) -> None:
    request = told.prompts["resumed"][-1].text
    assert request.count(LOST) <= 1
    assert request.count(NARRATIVE) <= 1


def test_every_prompt_and_answer_is_kept(told: Told) -> None:
    with Slicebase.open(told.workspace) as base:
        texts = "\n".join(turn.text or "" for turn in base.graph.turns(told.session))
    for said in ("Never drop tables", "cat notes.txt", "6543", "alpha_one", "An event lives", "The retries are left."):
        assert said in texts


def test_removing_the_hooks_restores_the_settings(told: Told) -> None:
    path = told.workspace / CLIENTS[NAMES[told.client]].settings
    assert path.read_bytes() != BEFORE
    tt(told.workspace, "hook", "uninstall", NAMES[told.client])
    assert (path.read_bytes() if path.exists() else None) == (None if told.client == "opencode" else BEFORE)
