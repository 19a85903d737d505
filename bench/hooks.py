"""The hooks on a transcript of 10 MB, each in its own process: the first call, and a call with few new records.

It shows the elapsed time and the processor time, which does not change on a busy machine.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from slicebase.base import Slicebase

SIZE = 10_000_000
SESSION = "11111111-1111-4111-8111-111111111111"
GROWTH = 20  # records between two calls
TIMES = 5
WORDS = ("queue", "writer", "retries", "because", "lock", "index", "held", "another", "process")


def records(first: int) -> "list[bytes]":
    """Returns records of prompts, tool calls and results, starting with the record of this number."""
    lines = []
    for number in range(first, first + GROWTH):
        text = " ".join(WORDS[(number * 7 + place) % len(WORDS)] + str(place % 50) for place in range(160))
        content: object = f"prompt {number}: {text}"
        if number % GROWTH:
            block = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"command": f"pytest {number}"}}
            result = {"type": "tool_result", "tool_use_id": f"c{number - 1}", "content": text}
            content = [block if number % 2 else result]
        role = "assistant" if number % GROWTH and number % 2 else "user"
        record = {
            "uuid": f"{number:08}-0000-4000-8000-000000000000",
            "parentUuid": f"{number - 1:08}-0000-4000-8000-000000000000" if number else None,
            "sessionId": SESSION,
            "timestamp": f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z",
            "type": role,
            "message": {"role": role, "content": content},
        }
        lines.append(json.dumps(record).encode() + b"\n")
    return lines


def call(event: str, folder: Path, transcript: Path, source: str = "") -> tuple[float, float]:
    """Returns the elapsed time and the processor time of a call, in seconds."""
    given = {"session_id": SESSION, "transcript_path": str(transcript), "cwd": str(folder), "source": source}
    start, busy = perf_counter(), spent()
    subprocess.run(
        [sys.executable, "-m", "slicebase", "hook", "run", event],
        input=json.dumps(given).encode(),
        capture_output=True,
        check=True,
        env={**os.environ, "CLAUDE_PROJECT_DIR": str(folder)},
    )
    return perf_counter() - start, spent() - busy


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def show(what: str, times: list[tuple[float, float]]) -> None:
    clock, processor = sorted(times)[len(times) // 2]
    print(f"  {what:37} {clock * 1000:7.0f} ms, {processor * 1000:6.0f} ms of the processor")


def run() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Slicebase.init(folder).close()
        transcript = folder / "a transcript.jsonl"
        count, size = 0, 0
        with transcript.open("wb") as stream:
            while size < SIZE:
                size += sum(map(stream.write, records(count)))
                count += GROWTH
        print(f"hooks on a transcript of {size / 1e6:.1f} MB, {count} records")
        show("SessionEnd, read for the first time", [call("SessionEnd", folder, transcript)])
        for event in ("SessionEnd", "UserPromptSubmit", "SessionStart", "PreCompact"):
            times = []
            for _ in range(TIMES):
                with transcript.open("ab") as stream:
                    stream.writelines(records(count))
                count += GROWTH
                times.append(call(event, folder, transcript))
                if event == "PreCompact":
                    break  # else its background work would be measured with the next call
            show(f"{event}, {GROWTH} new records", times)
