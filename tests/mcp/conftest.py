import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import CallToolResult, Implementation, TextContent
from mcp_types.jsonrpc import jsonrpc_message_adapter

from slicebase.base import Slicebase
from slicebase.mcp.calls import ServerEnvironment
from slicebase.mcp.dispatch import CALL_SECONDS, Dispatcher, Peer, Sent
from slicebase.mcp.messages import read_message
from slicebase.mcp.server import ERROR_KEY

_Value = TypeVar("_Value")

GENERATIONS = ("legacy", "2026-07-28")
NOW = 1_780_000_000_000


@asynccontextmanager
async def connected(environment: ServerEnvironment, seconds: float = CALL_SECONDS) -> AsyncIterator[tuple[Any, Any]]:
    """A transport for the client of the SDK: lines to and from a server in this process."""
    loop = asyncio.get_running_loop()
    to_client, client_reads = anyio.create_memory_object_stream[SessionMessage](1000)
    client_writes, from_client = anyio.create_memory_object_stream[SessionMessage](1000)
    dispatcher, peer = Dispatcher(lambda: environment, seconds), Peer()

    def send(sent: Sent) -> None:
        if sent.line:
            message = SessionMessage(jsonrpc_message_adapter.validate_json(sent.line, by_name=False))
            loop.call_soon_threadsafe(to_client.send_nowait, message)

    async def pass_on() -> None:
        async for item in from_client:
            line = item.message.model_dump_json(by_alias=True, exclude_none=True).encode()
            message = read_message(line)
            assert message
            dispatcher.take(peer, message, send)

    async with anyio.create_task_group() as group, to_client, client_reads, client_writes, from_client:
        group.start_soon(pass_on)
        try:
            yield client_reads, client_writes
        finally:
            dispatcher.stop(peer)
            dispatcher.finish()
            group.cancel_scope.cancel()


class Agent(NamedTuple):
    """The client of the SDK, with a server in this process. Each call opens its own connection."""

    environment: ServerEnvironment
    generation: str
    name: str = "weaver"

    def ask(self, question: Callable[[Client], Awaitable[_Value]]) -> _Value:
        async def asked() -> _Value:
            info = Implementation(name=self.name, version="3")
            async with Client(connected(self.environment), mode=self.generation, client_info=info) as client:
                return await question(client)

        return anyio.run(asked)

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        async def called(client: Client) -> CallToolResult:
            await client.list_tools()  # so that the client checks results against the output schema
            return await client.call_tool(tool, arguments)

        return self.ask(called)

    def result(self, tool: str, **arguments: Any) -> Any:
        found = self.call(tool, **arguments)
        assert not found.is_error, text_of(found)
        return found.structured_content

    def protocol_error(self, question: Callable[[Client], Awaitable[object]]) -> Any:
        """Returns the data of the protocol error, which is our own error."""

        async def refused(client: Client) -> Any:
            with pytest.raises(MCPError) as caught:
                await question(client)
            return caught.value.data

        return self.ask(refused)

    def refusal(self, tool: str, **arguments: Any) -> str:
        """Returns the code of the error that a call returns."""
        found = self.call(tool, **arguments)
        return str(error_of(found)["code"])


def error_of(result: CallToolResult) -> Any:
    """Returns the error that a tool has returned. Its text says everything: there is no structured content."""
    assert result.is_error
    assert result.structured_content is None
    error = (result.meta or {})[ERROR_KEY]
    assert set(error) == {"code"}
    assert text_of(result).startswith(f"Refused: {error['code']}.")
    return error


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("template")
    with Slicebase.init(made) as base, as_file(files("slicebase") / "samples/claude-code-session.jsonl") as sample:
        base.import_([sample])
    return made


@pytest.fixture
def folder(tmp_path: Path, template: Path) -> Path:
    """A workspace with a conversation in it."""
    return Path(shutil.copytree(template, tmp_path, dirs_exist_ok=True))


@pytest.fixture
def environment(folder: Path) -> ServerEnvironment:
    return ServerEnvironment(folder, None, "session-7", clock=lambda: NOW / 1000)


@pytest.fixture(params=GENERATIONS)
def agent(request: pytest.FixtureRequest, environment: ServerEnvironment) -> Agent:
    return Agent(environment, request.param)


@pytest.fixture
def one_agent(environment: ServerEnvironment) -> Agent:
    """An agent for tests in which the generation of the protocol makes no difference."""
    return Agent(environment, "legacy")


def tree(folder: Path) -> Mapping[str, bytes]:
    """Returns every file in a folder except disposable caches, with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "cache" not in path.parts and not path.name.endswith(("-wal", "-shm"))
    }
