"""Conversations with coding agents without a terminal: prompts, compactions, resumed sessions."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

from tests.agents.clients.model import FAR_FROM_LIMITS, ScriptedModel
from tests.agents.clients.process import PATIENCE, SERVER, Answer, ClientProcess


class ClaudeCode(ClientProcess):
    """`claude -p` with prompts as stream-json, `/compact` among them: one process until the session is resumed."""

    client = "claude"

    def configure(self) -> None:
        self.environment |= {
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "scripted",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "MCP_CONNECTION_NONBLOCKING": "0",  # else the first prompts may go out without MCP tools
        }
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        self.write(".claude.json", {"hasCompletedOnboarding": True, "projects": {str(self.workspace): trusted}})
        command, *rest = self.mcp
        self.write("mcp.json", {"mcpServers": {SERVER: {"command": command, "args": rest}}})

    def say(self, prompt: str) -> Answer:
        if not self.running:
            resumed = ("--resume", self.session) if self.session else ()
            streams = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
            tools = f"Read,Write,Edit,Bash,Glob,Grep,mcp__{SERVER}"
            self.start("-p", *streams, *resumed, "--mcp-config", str(self.home / "mcp.json"), "--allowedTools", tools)
        self.send({"type": "user", "message": {"role": "user", "content": prompt}})
        compacted = False
        while (event := self.receive())["type"] != "result":
            self.session = event.get("session_id", self.session)
            compacted |= event.get("subtype") == "compact_boundary"
        assert not event.get("is_error"), event
        return Answer(event.get("result", ""), compacted)

    def compact(self) -> None:
        assert self.say("/compact").compacted


class Codex(ClientProcess):
    """`codex app-server`, which its terminal program uses as well: JSON-RPC, one process until a resume."""

    client = "codex"

    def configure(self) -> None:
        self._calls = 0
        self.environment |= {"SCRIPTED_KEY": "scripted"}
        settings: dict[str, dict[str, Any]] = {
            "": {
                "model": "gpt-5",
                "model_provider": "scripted",
                "approval_policy": "never",
                "sandbox_mode": "danger-full-access",
                "check_for_update_on_startup": False,
            },
            "analytics": {"enabled": False},
            "features": {"plugins": False, "apps": False},
            "model_providers.scripted": {
                "name": "scripted",
                "base_url": f"{self.model.url}/v1",
                "wire_api": "responses",
                "env_key": "SCRIPTED_KEY",
            },
            f"projects.{json.dumps(str(self.workspace))}": {"trust_level": "trusted"},
            f"mcp_servers.{SERVER}": {
                "command": self.mcp[0],
                "args": self.mcp[1:],
                "startup_timeout_sec": 40,
                "required": True,
            },
        }
        lines = []
        for table, values in settings.items():
            lines += [f"[{table}]"] if table else []
            lines += [f"{name} = {json.dumps(value)}" for name, value in values.items()]
        self.write(".codex/config.toml", "\n".join(lines) + "\n")

    def _call(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._calls += 1
        self.send({"id": self._calls, "method": method, "params": parameters})
        while (event := self._next()).get("id") != self._calls or "method" in event:
            pass
        assert "error" not in event, event
        return dict(event["result"])

    def _next(self) -> dict[str, Any]:
        event = self.receive()
        if "id" in event and "method" in event:  # a question to us, as for an approval
            self.send({"id": event["id"], "error": {"code": -32601, "message": "nobody is here"}})
        return event

    def hooks(self) -> list[dict[str, Any]]:
        """Returns the hooks that Codex knows in the workspace, each with its hash and whether it is trusted."""
        entries = self._call("hooks/list", {"cwds": [str(self.workspace)]})["data"]
        return [hook for entry in entries for hook in entry["hooks"]]

    def _begin(self) -> None:
        self.start("app-server")
        self._call("initialize", {"clientInfo": {"name": "tests", "version": "1"}})
        self.send({"method": "initialized"})
        # As if the user had looked at each hook and trusted it: others are passed over in silence.
        trust = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in self.hooks()}
        edit = {"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": trust}
        self._call("config/batchWrite", {"edits": [edit]})
        where = {"cwd": str(self.workspace)}
        if self.session:
            self._call("thread/resume", {"threadId": self.session, **where})
        else:
            self.session = self._call("thread/start", where)["thread"]["id"]

    def _turn(self, method: str, **parameters: Any) -> Answer:
        if not self.running:
            self._begin()
        self._call(method, {"threadId": self.session, **parameters})
        text, compacted = "", False
        while (event := self._next()).get("method") != "turn/completed":
            item = event["params"]["item"] if event.get("method") == "item/completed" else {}
            text = item["text"] if item.get("type") == "agentMessage" else text
            compacted |= item.get("type") == "contextCompaction"
        assert event["params"]["turn"]["status"] == "completed", event
        return Answer(text, compacted)

    def say(self, prompt: str) -> Answer:
        return self._turn("turn/start", input=[{"type": "text", "text": prompt}])

    def compact(self) -> None:
        assert self._turn("thread/compact/start").compacted


_COMPACTS: Final = 0.0001  # the part of its context at which Gemini compacts
_ALWAYS_BELOW: Final = 10  # tokens of a prompt, so that a turn with tool calls compacts once


class Gemini(ClientProcess):
    """`gemini -p` for each prompt, a resumed session from the second on. It compacts before a prompt only."""

    client = "gemini"

    def configure(self) -> None:
        self._compacts = False
        self.environment |= {
            "GEMINI_API_KEY": "scripted",
            "GOOGLE_GEMINI_BASE_URL": self.model.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def _settings(self) -> dict[str, Any]:
        command, *rest = self.mcp
        return {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "model": {"compressionThreshold": _COMPACTS} if self._compacts else {},
            "mcpServers": {SERVER: {"command": command, "args": rest, "trust": True}},
        }

    def say(self, prompt: str) -> Answer:
        path = self.home / ".gemini" / "settings.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        hooks = {"hooks": known["hooks"]} if "hooks" in known else {}  # those of the user, which a test installed
        self.write(".gemini/settings.json", {**self._settings(), **hooks})
        self.model.tokens = _ALWAYS_BELOW if self._compacts else FAR_FROM_LIMITS
        before = self.model.count("summary")
        resumed = ("--resume", "latest") if self.session else ()
        self.start("-m", "gemini-2.5-pro", "--approval-mode", "yolo", "-o", "json", *resumed, "-p", prompt)
        self.end_input()
        output = "".join(iter(self.line, None))
        self.close()
        assert "{" in output, output
        answer = json.loads(output[output.index("{") :])
        assert "error" not in answer, answer
        self.session, self._compacts = answer["session_id"], False
        return Answer(answer["response"], self.model.count("summary") > before)

    def compact(self) -> None:
        self._compacts = True


_LISTENS: Final = re.compile(r"http://127\.0\.0\.1:\d+")


class Opencode(ClientProcess):
    """`opencode serve`, which its terminal program uses as well: HTTP, one process until a resume."""

    client = "opencode"

    def configure(self) -> None:
        off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
        self.environment |= {f"OPENCODE_DISABLE_{what}": "1" for what in off}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "scripted",
            "options": {"baseURL": f"{self.model.url}/v1", "apiKey": "scripted"},
            "models": {"scripted": {"name": "scripted", "limit": {"context": 2 * FAR_FROM_LIMITS, "output": 8000}}},
        }
        settings = {
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "provider": {"scripted": provider},
            "permission": {"bash": "allow"},
            "mcp": {SERVER: {"type": "local", "command": self.mcp, "timeout": 40_000}},
        }
        self.write(".config/opencode/opencode.json", settings)

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        if not self.running:
            self.start("serve", "--hostname", "127.0.0.1", "--port", "0")
            while not (listens := _LISTENS.search(self.line() or "http://127.0.0.1:0")):
                pass
            self._url = listens[0]
        if self.session is None and path != "":
            self.session = self._post("", {})["id"]
        url = f"{self._url}/session{f'/{self.session}/{path}' if path else ''}"
        request = Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
        with urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def say(self, prompt: str) -> Answer:
        answer = self._post("message", {"parts": [{"type": "text", "text": prompt}]})
        return Answer("".join(part.get("text", "") for part in answer["parts"] if part["type"] == "text"))

    def compact(self) -> None:
        assert self._post("summarize", {"providerID": "scripted", "modelID": "scripted"})


CLIENT_DRIVERS: Final = {driver.client: driver for driver in (ClaudeCode, Codex, Gemini, Opencode)}


@contextmanager
def conversation(
    client: str, home: Path, workspace: Path, model: ScriptedModel, tools: Path
) -> Iterator[ClientProcess]:
    """Gives a client whose home and workspace are these folders. `tools` holds our program `tt`."""
    home.mkdir(exist_ok=True)
    talk = CLIENT_DRIVERS[client](home, workspace, model, tools)
    try:
        yield talk
    finally:
        talk.finish()
