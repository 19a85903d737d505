"""Hooks and the MCP server beside a process that does nothing and beside another server, in one run, alternately.

The other one is server-memory, the protocol's own example of a memory, where `mcp-server-memory` is on the path
(`npm install --global @modelcontextprotocol/server-memory`). Both know the same titles and summaries. It shows p50 and
p99 of the elapsed time, and how many times the p50 of `tt --version` that is.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.library import write_library
from bench.mcp import HELLO
from bench.start import HOOK, SCRIPT, SOURCE
from slicebase.base import Slicebase

FILES = 2_000
STARTS = 15  # of each process
CALLS = 100
OURS = [sys.executable, "-c", SCRIPT]
WORDS = "index"


class Asked:
    """A server that runs, and is asked over its standard streams."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._number = 0

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        result: dict[str, Any] = json.loads(self._process.stdout.readline())["result"]
        assert not result.get("isError"), result
        return result

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def end(self) -> None:
        self._process.kill()
        with self._process:
            pass


def environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(SOURCE), "MEMORY_FILE_PATH": str(folder / "memory.jsonl")}


def run() -> None:
    theirs = shutil.which("mcp-server-memory")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "workspace"
        write_library(folder, FILES)
        with Slicebase.open(folder) as base:
            entries = [(entry.title or entry.id, entry.summary or "", entry.id) for entry in base.library.list_files()]
            base.search(WORDS)  # builds the index
        taken: dict[str, list[float]] = defaultdict(list)
        servers = {"tt mcp": [*OURS, "mcp"]} | ({"server-memory": [theirs]} if theirs else {})
        if theirs:
            fill(servers["server-memory"], folder, entries)
        print(
            f"hooks and servers with {len(entries):,} entries, {STARTS} starts and {CALLS} calls of each, alternately"
        )
        for _ in range(STARTS):
            measure_starts(taken, servers, folder)
        measure_calls(taken, servers, folder, entries[0])
    show(taken)
    if not theirs:
        print("  server-memory is not installed")


def fill(command: Sequence[str], folder: Path, entries: Sequence[tuple[str, str, str]]) -> None:
    other = Asked(command, folder)
    other.ask("initialize", HELLO)
    entities = [
        {"name": f"{title} {number}", "entityType": "note", "observations": [summary]}
        for number, (title, summary, _) in enumerate(entries)
    ]
    other.call("create_entities", {"entities": entities})
    other.end()


def measure_starts(taken: dict[str, list[float]], servers: dict[str, list[str]], folder: Path) -> None:
    def process(*arguments: str, given: bytes = b"") -> None:
        subprocess.run(
            [*OURS, *arguments], cwd=folder, env=environment(folder), input=given, capture_output=True, check=True
        )

    taken["tt --version"].append(seconds(process, "--version"))
    for event in ("SessionStart", "UserPromptSubmit"):
        taken[f"hook: {event}"].append(seconds(process, "hook", "run", event, given=HOOK))
    for name, command in servers.items():
        start = perf_counter()
        server = Asked(command, folder)
        server.ask("initialize", HELLO)
        taken[f"{name}: start and initialize"].append(perf_counter() - start)
        taken[f"{name}: first tools/list"].append(seconds(server.ask, "tools/list", {}))
        server.end()


def measure_calls(
    taken: dict[str, list[float]], servers: dict[str, list[str]], folder: Path, entry: tuple[str, str, str]
) -> None:
    title, _, file_id = entry
    calls: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
        "tt mcp": (("search", {"query": WORDS}), ("recall", {"refs": [file_id]})),
        "server-memory": (("search_nodes", {"query": WORDS}), ("open_nodes", {"names": [f"{title} 0"]})),
    }
    running = {name: Asked(command, folder) for name, command in servers.items()}
    for server in running.values():
        server.ask("initialize", HELLO)
    for number in range(CALLS + 5):
        for name, server in running.items():
            for tool, arguments in calls[name]:
                spent = seconds(server.call, tool, arguments)
                if number >= 5:
                    taken[f"{name}: {tool}"].append(spent)
            spent = seconds(server.ask, "tools/list", {})
            if number >= 5:
                taken[f"{name}: tools/list"].append(spent)
    for server in running.values():
        server.end()


def seconds(do: Callable[..., object], *given: Any, **named: Any) -> float:
    start = perf_counter()
    do(*given, **named)
    return perf_counter() - start


def show(taken: dict[str, list[float]]) -> None:
    base = statistics.median(taken["tt --version"])
    for name, times in taken.items():
        middle, last = statistics.median(times), statistics.quantiles(times, n=100, method="inclusive")[98]
        ratios = f"{middle / base:6.2f} {last / base:6.2f} times"
        print(f"  {name:36} p50 {middle * 1000:7.1f} ms  p99 {last * 1000:7.1f} ms  {ratios} tt --version")


if __name__ == "__main__":
    run()
