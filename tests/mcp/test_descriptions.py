"""The descriptions of the tools, and the tokens that they cost clients."""

import json
import re
from typing import Any

import pytest

from slicebase.cli.commands import LISTED, RUN_VERBS
from slicebase.core.hashing import tokens
from slicebase.mcp.runs import ACTIONS
from slicebase.mcp.tools import TOOLS, described
from tests.mcp.conftest import Agent
from tests.paths import PROJECT

BUDGET = 6000
MOST_TOOLS = 14
PAGE = PROJECT / "docs" / "mcp.md"


def test_all_tools_together_cost_less_than_their_budget(agent: Agent) -> None:
    result = agent.ask(lambda client: client.list_tools()).tools
    wire = [tool.model_dump_json(by_alias=True, exclude_none=True) for tool in result]  # as the SDK sends them
    assert tokens(f"[{','.join(wire)}]") < BUDGET
    assert len(result) <= MOST_TOOLS


def test_tools_and_actions_are_named_like_verbs() -> None:
    assert set(TOOLS) <= set(LISTED)
    assert set(ACTIONS) <= set(RUN_VERBS)


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_has_a_title_a_description_all_hints_and_both_schemas(name: str) -> None:
    result = described(name, TOOLS[name])
    assert result["title"]
    assert result["description"].endswith(".")
    hints = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    assert {type(result["annotations"].pop(hint)) for hint in hints} == {bool}
    assert not result["annotations"]
    for schema in (result["inputSchema"], result["outputSchema"]):
        assert schema["type"] == "object"
        assert schema["properties"]
    assert result["inputSchema"]["additionalProperties"] is False
    assert '"examples"' in json.dumps(result["inputSchema"])


@pytest.mark.parametrize("name", TOOLS)
def test_a_schema_has_no_references(name: str) -> None:
    result = json.dumps(described(name, TOOLS[name]))
    assert "$ref" not in result
    assert "$defs" not in result


def test_a_tool_that_writes_does_not_claim_to_be_read_only() -> None:
    for read_only in (False, True):
        assert not any(tool.hints(read_only)["readOnlyHint"] for tool in TOOLS.values() if tool.writes)
    assert not TOOLS["context"].hints(read_only=False)["readOnlyHint"]


def test_the_page_about_the_server_has_every_tool_and_its_title() -> None:
    rows: dict[str, Any] = dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", PAGE.read_text(), re.MULTILINE))
    assert rows == {name: tool.title for name, tool in TOOLS.items()}


def test_the_registration_snippets_are_json() -> None:
    snippets = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert snippets
    for snippet in snippets:
        (server,) = json.loads(snippet)["mcpServers"].values()
        assert (server["command"], server["args"][0]) == ("tt", "mcp")
