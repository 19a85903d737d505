"""How fast the MCP server answers first, beside another one, and the time of a call of each tool on a large workspace.

The other one is server-memory, the protocol's own example of a memory, where `mcp-server-memory` is on the path
(`npm install --global @modelcontextprotocol/server-memory`).

`python -m bench.mcp 10000 100000` uses other numbers of files and turns than 2,000 and 20,000. Creating a workspace of
that size takes minutes.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from random import Random
from time import perf_counter
from typing import Any

import msgspec

from bench.library import sentences, write_library
from bench.start import SCRIPT, SOURCE
from slicebase.base import Slicebase
from slicebase.mcp.calls import ServerEnvironment
from slicebase.mcp.dispatch import Dispatcher, Peer, Sent
from slicebase.mcp.messages import Message

FILES, TURNS = 2_000, 20_000
ROUNDS = 9
SESSION = 500  # turns of a conversation


def write_conversations(folder: Path, turns: int) -> None:
    """Writes Claude Code transcripts of real sentences, as `tt import` reads them."""
    chance, lines = Random(2), sentences()
    folder.mkdir()
    for first in range(0, turns, SESSION):
        session = f"bench-{first}"
        with (folder / f"{session}.jsonl").open("wb") as file:
            for number in range(min(SESSION, turns - first)):
                role = ("user", "assistant")[number % 2]
                record = {
                    "type": role,
                    "uuid": _uuid(first + number),
                    "parentUuid": _uuid(first + number - 1) if number else None,
                    "sessionId": session,
                    "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1_750_000_000 + first + number)),
                    "message": {"role": role, "content": " ".join(chance.choices(lines, k=3))},
                }
                file.write(msgspec.json.encode(record) + b"\n")


def _uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


# The first answer

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
STARTS = 11


def print_first_answers(folder: Path) -> None:
    """Prints wall and processor time until `initialize` is answered, beside a command that does nothing."""
    ours = [sys.executable, "-c", SCRIPT]
    theirs = shutil.which("mcp-server-memory")
    commands = {"tt --version": [*ours, "--version"], "tt mcp": [*ours, "mcp"]} | (
        {"server-memory": [theirs]} if theirs else {}
    )
    print(f"The first answer of an MCP server, lower quartile of {STARTS} starts")
    taken = [{name: first_answer(command, folder) for name, command in commands.items()} for _ in range(STARTS)]
    for name in commands:
        wall, processor = (statistics.quantiles(each[name][kind] for each in taken)[0] for kind in (0, 1))
        print(f"  {name:<14} {wall * 1000:7.0f} ms {processor * 1000:7.0f} ms of processor time")
    if not theirs:
        print("  server-memory is not installed")


def first_answer(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """Starts a server, shakes hands, and ends it. Returns wall time until the answer, and processor time in all.

    A server goes on loading after its answer, so processor time is read when the answer is there.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(SOURCE), "MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode() + b"\n"
    start = perf_counter()
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin
        assert process.stdout
        if "--version" in command:
            _, _, used = os.wait4(process.pid, 0)
            process.returncode = 0
            return perf_counter() - start, used.ru_utime + used.ru_stime
        process.stdin.write(hello)
        process.stdin.flush()
        assert b'"result"' in process.stdout.readline()
        wall = perf_counter() - start
        processor = _processor_time(process.pid)
        process.kill()
    return wall, processor


def _processor_time(process: int) -> float:
    """Returns the processor time of a process that runs, as Linux counts it."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


# Calls


def run(files: int = FILES, turns: int = TURNS) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "workspace"
        workspace = write_library(folder, files)
        print_first_answers(folder)
        write_conversations(Path(name) / "transcripts", turns)
        with Slicebase.open(folder) as base:
            base.import_([Path(name) / "transcripts"])
            a_file = sorted(workspace.library.iterdir())[0].stem
        environment = ServerEnvironment(folder, None, "bench")
        print(f"MCP tools, {files:,} files and {turns:,} turns, p50 of {ROUNDS} calls")
        _measure(_Client(environment), a_file)


class _Client:
    """A client in this process."""

    def __init__(self, environment: ServerEnvironment) -> None:
        self._dispatcher, self._peer, self._sent = Dispatcher(lambda: environment), Peer(), SimpleQueue[Sent]()
        self.ask("initialize", HELLO)

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._dispatcher.take(self._peer, Message(method, params, 1), self._sent.put)
        return json.loads(self._sent.get().line)["result"]

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result["isError"], result
        return result["structuredContent"]


def _measure(client: _Client, a_file: str) -> None:
    tools = {tool["name"] for tool in client.ask("tools/list", {})["tools"]}
    log, gone = (client.call("create", {"title": "L", "summary": "S", "type": "jsonl"})["id"] for _ in range(2))
    client.call("run", {"action": "start", "run": "r", "objective": "o", "done": "d"})
    client.call("context", {"question": "the index"})  # builds the indexes before the measurement
    event = {"type": "ACT_DONE", "step": 1}
    calls: dict[str, dict[str, Any]] = {
        "search": {"query": "slice file index"},
        "recall": {"refs": [a_file, f"turn:{_uuid(1)}"]},
        "list": {},
        "create": {"title": "T", "summary": "S"},
        "remember": {"id": log, "text": "A row."},
        "forget": {"id": gone},
        "connect": {"id": log, "rel": "see_also", "to": a_file},
        "explore": {"id": a_file},
        "context": {"question": "What does the index do with a slice file?"},
        "lost": {},
        "slice": {"turn": f"turn:{_uuid(1)}"},
        "why": {"ref": f"file:{a_file}"},
        "run": {"action": "log", "run": "r", "events": [event]},
        "verify": {},
    }
    assert set(calls) == tools
    for tool, arguments in calls.items():
        _print(client, tool, arguments)


def _print(client: _Client, tool: str, arguments: dict[str, Any]) -> None:
    taken = []
    for _ in range(1 if tool == "verify" else ROUNDS):  # verify reads everything
        start = perf_counter()
        client.call(tool, arguments)
        taken.append(perf_counter() - start)
    print(f"  {tool:<10} {statistics.median(taken) * 1000:9.1f} ms")


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
