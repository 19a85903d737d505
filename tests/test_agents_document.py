"""The registration snippets of docs/agents.md are well-formed, and start the server."""

import json
import re
import tomllib
from typing import Any

import pytest

from tests.paths import PROJECT

TEXT = (PROJECT / "docs" / "agents.md").read_text()
CLIENTS = {
    "Claude Code": "mcpServers",
    "Cursor": "mcpServers",
    "VS Code": "servers",
    "Codex": "mcp_servers",
    "Gemini CLI": "mcpServers",
}
READERS = {"json": json.loads, "toml": tomllib.loads}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_has_a_well_formed_snippet_that_starts_the_server(client: str) -> None:
    match = re.search(rf"^{client}, `[^`]+`[^\n]*:\n\n```(json|toml)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert match is not None
    result: dict[str, Any] = READERS[match[1]](match[2])
    server = result[CLIENTS[client]]["slicebase"]
    assert [server["command"], server["args"][0]] == ["tt", "mcp"]
