"""Real clients with the hooks of the user: compactions in a row, sessions that are resumed twice, `/clear`.

Gemini CLI, which starts anew for each prompt and compacts only with one, was tried by hand.
"""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from slicebase.base import Slicebase
from tests.agents.clients.drivers import conversation
from tests.agents.clients.model import FAR_FROM_LIMITS, ScriptedModel
from tests.agents.clients.packages import wanted_clients
from tests.agents.clients.process import ClientProcess
from tests.agents.clients.protocols import Reply
from tests.agents.test_clients_real import KNOWN, LOST, NAMES, NARRATIVE, TOOLS

WANTED = wanted_clients()
HERE = [name for name in WANTED if name in ("claude", "codex")]
REPLIES = [Reply(f"Answer {number}. We decided to use SQLite with WAL.") for number in range(9)]
Say = Callable[[str], dict[str, int]]


class Talk:
    """A conversation in a workspace whose hooks are in the settings of the user."""

    def __init__(self, folder: Path, client: str) -> None:
        self.client, self.home, self.workspace = client, folder / "home", folder / "project"
        self.home.mkdir()
        self.workspace.mkdir()
        self.tt("init")
        self.tt("create", "--title", "Webhooks", "--summary", "Their limits.", "--body", "An event lives 600 s.")

    def tt(self, *arguments: str) -> str:
        environment = {**os.environ, "HOME": str(self.home)}
        done = subprocess.run(
            [TOOLS / "tt", *arguments], cwd=self.workspace, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    def hold(self, follow: Callable[[ClientProcess, Say, ScriptedModel], None]) -> None:
        with (
            ScriptedModel(REPLIES, "<summary>The user asked about a port.</summary>") as model,
            conversation(self.client, self.home, self.workspace, model, TOOLS) as talk,
        ):

            def say(prompt: str) -> dict[str, int]:
                """Returns how often each text of ours reached the model with a prompt."""
                before = len(model.main_requests())
                talk.say(prompt)
                text = model.main_requests()[before].text
                return {mark: text.count(mark) for mark in (KNOWN, LOST, NARRATIVE)}

            follow(talk, say, model)
        with Slicebase.open(self.workspace) as base:
            assert base.verify().status == "VERIFIED"


@pytest.mark.clients
@pytest.mark.parametrize("client", HERE)
def test_hooks_of_the_user_two_compactions_and_two_resumed_sessions(client: str, tmp_path: Path) -> None:
    talk = Talk(tmp_path, client)
    talk.tt("hook", "install", NAMES[client], "--scope", "user", "--program", str(TOOLS / "tt"))
    once = {KNOWN: 1, LOST: 1, NARRATIVE: 1}

    def follow(process: ClientProcess, say: Say, model: ScriptedModel) -> None:
        assert say("Never drop tables on staging.") == {KNOWN: 1, LOST: 0, NARRATIVE: 0}
        assert say("We name the module alpha_one.") == {KNOWN: 1, LOST: 0, NARRATIVE: 0}
        process.compact()
        assert say("What is left to do?") == once
        process.compact()
        process.compact()
        assert say("And now?") == once, "the compaction took what the first one had brought"
        for prompt in ("What comes next?", "And then?"):
            process.resume()
            assert say(prompt) == once, "nothing comes twice"

    talk.hold(follow)
    talk.tt("hook", "uninstall", NAMES[client], "--scope", "user")
    settings = [path for path in talk.home.rglob("*") if path.name in ("hooks.json", "settings.json")]
    assert not [path for path in settings if "slicebase" in path.read_text()]


@pytest.mark.clients
@pytest.mark.skipif("claude" not in WANTED, reason="another client is tried")
def test_claude_code_compacts_by_itself_and_clears(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "claude")
    talk.tt("hook", "install", "claude-code", "--program", str(TOOLS / "tt"))

    def follow(process: ClientProcess, say: Say, model: ScriptedModel) -> None:
        process.environment["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "200000"
        say("Never drop tables on staging.")
        say("We name the module alpha_one.")
        model.tokens = 180_000
        say("Say more.")
        model.tokens = FAR_FROM_LIMITS
        # The hook of this prompt has run when the client compacts: what was lost comes with the next one.
        assert say("What is left to do?") == {KNOWN: 1, LOST: 0, NARRATIVE: 1}
        assert model.count("summary") == 1
        assert say("And now?") == {KNOWN: 1, LOST: 1, NARRATIVE: 1}
        first = process.session
        process.say("/clear")
        assert say("What is known?") == {KNOWN: 1, LOST: 0, NARRATIVE: 1}, "a new session gets files and narratives"
        assert process.session != first

    talk.hold(follow)
