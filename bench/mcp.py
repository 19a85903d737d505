"""The time of a call of each MCP tool on a large workspace, with the client of the SDK in this process.

`python -m bench.mcp 10000 100000` uses other numbers of files and turns than 2,000 and 20,000. Creating a workspace of
that size takes minutes.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import anyio
import msgspec
from mcp import Client

from bench.library import sentences, write_library
from slicebase.base import Slicebase
from slicebase.mcp.calls import ServerEnvironment
from slicebase.mcp.server import build

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


def run(files: int = FILES, turns: int = TURNS) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "workspace"
        workspace = write_library(folder, files)
        write_conversations(Path(name) / "transcripts", turns)
        with Slicebase.open(folder) as base:
            base.import_([Path(name) / "transcripts"])
            a_file = sorted(workspace.library.iterdir())[0].stem
        environment = ServerEnvironment(folder, None, "bench")
        print(f"MCP tools, {files:,} files and {turns:,} turns, p50 of {ROUNDS} calls")
        anyio.run(_measure, environment, a_file)


async def _measure(environment: ServerEnvironment, a_file: str) -> None:
    async with Client(build(environment)) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        made = [await client.call_tool("create", {"title": "L", "summary": "S", "type": "jsonl"}) for _ in range(2)]
        log, gone = (each.structured_content["id"] for each in made)
        await client.call_tool("run", {"action": "start", "run": "r", "objective": "o", "done": "d"})
        await client.call_tool("context", {"question": "the index"})  # builds the indexes before the measurement
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
            await _print(tool, lambda tool=tool, arguments=arguments: client.call_tool(tool, arguments))  # type: ignore[misc]


async def _print(tool: str, call: Callable[[], Awaitable[Any]]) -> None:
    taken = []
    for _ in range(1 if tool == "verify" else ROUNDS):  # verify reads everything
        start = perf_counter()
        result = await call()
        taken.append(perf_counter() - start)
        assert not result.is_error, result.structured_content
    print(f"  {tool:<10} {statistics.median(taken) * 1000:9.1f} ms")


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
