"""`tt mcp` as clients start it: real processes, several on one workspace, and one that is killed."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import Implementation

from slicebase.base import Slicebase
from slicebase.files.body.rows import read_rows
from slicebase.mcp.messages import LONGEST_MESSAGE
from slicebase.mcp.tools import TOOLS
from tests.mcp.conftest import GENERATIONS, error_of
from tests.paths import PROJECT

SOURCE = str(PROJECT / "src")
TT = [sys.executable, "-m", "slicebase"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": SOURCE}


def server(folder: Path, *options: str, pid: Path | None = None) -> StdioServerParameters:
    """Returns the command that starts a server; with `pid`, it first writes the id of its process to that file."""
    command = [*TT, "mcp", *options]
    if pid:
        command = ["sh", "-c", f'echo $$ > "{pid}"; exec "$@"', "sh", *command]
    return StdioServerParameters(command=command[0], args=command[1:], env=ENVIRONMENT, cwd=folder)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_client_talks_to_a_process(folder: Path, generation: str) -> None:
    async def talk() -> Any:
        async with Client(stdio_client(server(folder)), mode=generation) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == list(TOOLS)
            made = await client.call_tool("create", {"title": "T", "summary": "S"})
            refused = await client.call_tool("recall", {"refs": ["file:nowhere"]})
            return client.protocol_version, made.structured_content["id"], error_of(refused)["code"]

    version, made, code = anyio.run(talk)
    assert (version == generation) == (generation != "legacy")
    assert (folder / ".slices" / f"{made}.slice").exists()
    assert code == "no-file"


HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "weaver", "version": "3"},
}


def test_nothing_but_the_protocol_is_on_stdout_and_nothing_is_done_before_the_first_call(tmp_path: Path) -> None:
    """The folder is not a workspace: a server that opened one would print an error."""
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "resources/templates/list"},
    ]
    with subprocess.Popen(
        [*TT, "mcp"], cwd=tmp_path, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        answers = []
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            if "id" in message:
                answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait(timeout=60) == 0
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert all("result" in answer for answer in answers)
    assert not list(tmp_path.iterdir())


def test_several_clients_and_one_killed_in_the_middle_lose_nothing(folder: Path, tmp_path_factory: Any) -> None:
    """Three processes write to one log and one run. What was acknowledged is stored once, and everything verifies."""
    with Slicebase.open(folder) as base:
        base.runs.start("shared", "Write together.", "All have written.")
    made = subprocess.run(
        [*TT, "create", "--title", "Log", "--summary", "Of all.", "--type", "jsonl"],
        cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    log = made.stdout.strip()
    pid = tmp_path_factory.mktemp("pid") / "victim"
    acknowledged: list[str] = []
    events: list[int] = []
    kill_at, rounds = 2, 5

    async def write(group: TaskGroup, name: str, generation: str, *, victim: bool = False) -> None:
        info = Implementation(name=name, version="1")
        process = server(folder, pid=pid if victim else None)
        async with Client(stdio_client(process), mode=generation, client_info=info) as client:
            for number in range(rounds):
                if victim and number == kill_at:
                    group.start_soon(_kill, pid)
                    with suppress(MCPError):
                        await client.call_tool("remember", {"id": log, "text": f"{name} is killed"})
                    return
                row = await client.call_tool("remember", {"id": log, "text": f"{name} {number}"})
                acknowledged.append(row.structured_content["refs"][0])
                event = {"type": "ACT_DONE", "step": number + 1, "payload": {"by": name}}
                logged = await client.call_tool("run", {"action": "log", "run": "shared", "events": [event]})
                events.append(logged.structured_content["first"])

    async def all_of_them() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(write, group, "one", "legacy")
            group.start_soon(write, group, "two", "2026-07-28")
            group.start_soon(partial(write, group, "victim", "legacy", victim=True))

    anyio.run(all_of_them)
    with Slicebase.open(folder) as base:
        rows = [f"row:{log}/{row.id}" for row in read_rows(base.library.info(log).file.body).rows]
        stored = {event.seq: event.type for event in base.truth.runs.events("shared")}
        assert base.verify().status == "VERIFIED"
        assert not base.validate().findings
    assert len(acknowledged) == 2 * rounds + kill_at
    assert len(set(rows)) == len(rows)
    assert set(acknowledged) <= set(rows)
    assert len(rows) <= len(acknowledged) + 1
    assert len(set(events)) == len(acknowledged)
    assert {stored[event] for event in events} == {"ACT_DONE"}


async def _kill(pid: Path) -> None:
    os.kill(int(pid.read_text()), signal.SIGKILL)


def test_the_servers_main_thread_loads_the_yaml_library() -> None:
    """Its allocator must not be loaded by a thread that ends (the comment in mcp/server.py says why)."""
    code = "import sys, slicebase.mcp.server; print('yaml_rs' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": SOURCE}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"


def test_the_first_answer_waits_for_no_module_that_it_does_not_need(folder: Path) -> None:
    code = (
        "import sys; from slicebase.cli.main import run; from slicebase.mcp.dispatch import Dispatcher;"
        "Dispatcher.prepare = lambda _: print(*sys.modules, file=sys.stderr);"  # it is called after the answer
        "run(['mcp', '--root', '.', '--timeout', '5'])"
    )
    hello = asked(1, "initialize", HELLO) + b"\n"
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, cwd=folder, input=hello, capture_output=True, check=True
    )
    assert b"serverInfo" in done.stdout
    loaded = {".".join(name.split(".")[:2]) for name in done.stderr.decode().split() if name.startswith("slicebase.")}
    assert loaded == {"slicebase.cli", "slicebase.core", "slicebase.errors", "slicebase.mcp", "slicebase.workspace"}
    assert "slicebase.workspace.workspace" not in done.stderr.decode().split()


def asked(number: int, method: str, params: Any = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}).encode()


def test_what_cannot_be_read_gets_an_error_and_everything_else_its_answer_until_stdin_ends(tmp_path: Path) -> None:
    """The last line has no end, and nobody waits for answers before stdin is closed."""
    lines = [
        asked(1, "initialize", HELLO),
        b"",
        b"\xff\x00\xfe",
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search","arguments":{"query":"\\ud800"}}}',
        b'{"jsonrpc":"2.0","id":3,"method":"' + b"x" * (LONGEST_MESSAGE + 5_000_000) + b'"}',
        b"[" + asked(4, "ping") + b"]",
        asked(5, "nope"),
        asked(6, "tools/call", {"name": "search", "arguments": {"query": "x"}}),
        asked(7, "ping"),
    ]
    done = subprocess.run(
        [*TT, "mcp"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        input=b"\n".join(lines),
        capture_output=True,
        check=True,
        timeout=60,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    codes = {answer["id"]: answer["error"]["code"] for answer in answers if "error" in answer and answer["id"]}
    assert codes == {2: -32700, 3: -32600, 5: -32601}
    assert [answer["error"]["code"] for answer in answers if not answer["id"]] == [-32700, -32600]
    assert {answer["id"] for answer in answers if "result" in answer} == {1, 6, 7}  # 6: there is no workspace
    assert done.stderr == b""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_with_nothing_on_stderr(tmp_path: Path, number: int) -> None:
    with subprocess.Popen(
        [*TT, "mcp"], cwd=tmp_path, env=ENVIRONMENT,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        process.stdin.write(asked(1, "initialize", HELLO) + b"\n")
        process.stdin.flush()
        assert b'"result"' in process.stdout.readline()
        process.send_signal(number)
        assert process.communicate(timeout=60) == (b"", b"")
        assert process.returncode == 128 + number
