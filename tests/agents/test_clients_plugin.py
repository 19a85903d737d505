"""The plugin for Claude Code: installed by the real client from our marketplace, and used in a conversation."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from slicebase import Slicebase, __version__
from slicebase.agents.clients import CLAUDE_CODE, CLIENTS
from slicebase.mcp.tools import TOOLS as TOOLS_OF_OURS
from tests.agents.clients.drivers import ClaudeCode
from tests.agents.clients.model import ScriptedModel
from tests.agents.clients.packages import client_program
from tests.agents.clients.protocols import Reply, ToolCall
from tests.paths import PROJECT

PLUGIN = PROJECT / "integrations" / "claude-code"
SERVER = "plugin_slicebase_slicebase"  # the client puts the names of the plugin and of the server together
PROGRAMS = Path(sys.executable).parent  # with our program `tt`


def test_the_plugin_names_what_exists() -> None:
    market = json.loads((PROJECT / ".claude-plugin" / "marketplace.json").read_text())
    assert [PROJECT / each["source"] for each in market["plugins"]] == [PLUGIN]
    assert json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())["version"] == __version__
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    client = CLIENTS[CLAUDE_CODE]
    assert {event: called(hooks[event]) for event in hooks} == {
        event: (f"tt hook run {event} --scope plugin", client.time_limit(event)) for event in client.events
    }
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"slicebase\[(\w+)\]", (PLUGIN / "README.md").read_text())) <= extras.keys()
    texts = [path.read_text() for path in (PLUGIN / "commands").iterdir()]
    named = {word for text in texts for word in text.split("`")[1::2] if word.isidentifier()}
    assert named
    assert named <= set(TOOLS_OF_OURS)


def called(groups: list[dict[str, list[dict[str, object]]]]) -> tuple[object, object]:
    ((hook,),) = (group["hooks"] for group in groups)
    return hook["command"], hook["timeout"]


class WithPlugin(ClaudeCode):
    """The client without settings of ours: hooks, server and commands come from the plugin."""

    def configure(self) -> None:
        super().configure()
        self.write("mcp.json", {"mcpServers": {}})

    def plugin(self, *arguments: str) -> str:
        command = [str(client_program(self.client)), "plugin", *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.mark.clients
def test_the_client_installs_the_plugin_and_uses_its_hooks_its_server_and_its_commands(tmp_path: Path) -> None:
    workspace, home = tmp_path / "project", tmp_path / "home"
    home.mkdir()
    with Slicebase.init(workspace) as memory:
        kept = memory.library.create("Webhooks", "Their limits.", body="An event lives 600 s.")
    allowed = workspace / ".claude" / "settings.json"
    allowed.parent.mkdir()
    allowed.write_text(json.dumps({"permissions": {"allow": [f"mcp__{SERVER}"]}}))
    question = "how long does an event live?"
    calls = (ToolCall(server=SERVER, tool="context", arguments={"question": question}),)
    with ScriptedModel([Reply(calls=calls), Reply("It lives 600 s.")], "") as model:
        talk = WithPlugin(home, workspace, model, PROGRAMS)
        try:
            for path in (PROJECT, PLUGIN):
                talk.plugin("validate", "--strict", str(path))
            talk.plugin("marketplace", "add", str(PROJECT))
            talk.plugin("install", "slicebase@slicebase")
            assert talk.say(f"/slicebase:recall {question}").text == "It lives 600 s."
        finally:
            talk.finish()
        asked, answered = model.main_requests()
    assert "Context for: what is known of this project" in asked.text
    assert f"mcp__{SERVER}__context" in asked.text
    assert "Call the `context` tool" in asked.text
    assert answered.text.count(kept.id) > asked.text.count(kept.id)
