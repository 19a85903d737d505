"""The hooks, each in its own process: those of every client beside an empty process, and on transcripts of 10 MB.

It shows the elapsed time and the processor time, which does not change on a busy machine.
"""

import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from slicebase.agents.clients import CLIENTS, HookEvent
from slicebase.base import Slicebase
from slicebase.history.follow import follow

SIZE = 10_000_000
SESSION = "11111111-1111-4111-8111-111111111111"
GROWTH = 20  # records between two calls
TIMES = 5
NOW = 1_749_564_000_000  # milliseconds
WORDS = ("queue", "writer", "retries", "because", "lock", "index", "held", "another", "process")


def said(number: int) -> str:
    return " ".join(WORDS[(number * 7 + place) % len(WORDS)] + str(place % 50) for place in range(160))


def chat_message(number: int) -> "dict[str, Any]":
    """Returns a message of Gemini CLI: a prompt, or an answer with a call and its result."""
    message: dict[str, Any] = {
        "id": f"{number:08}-0000-4000-8000-000000000000",
        "timestamp": f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z",
        "type": "gemini" if number % 2 else "user",
        "content": [{"text": f"{number}: {said(number)}"}],
    }
    if number % 2:
        response = {"id": f"c{number}", "name": "shell", "response": {"output": said(number)}}
        result = [{"functionResponse": response}]
        message["toolCalls"] = [{"id": f"c{number}", "name": "shell", "args": {"n": number}, "result": result}]
    return message


def chat_records(first: int) -> "list[bytes]":
    """Returns the lines of such messages: an answer is written again when its call has a result."""
    values: list[dict[str, Any]] = [] if first else gemini_lines()[:1]
    for number in range(first, first + GROWTH):
        message = chat_message(number)
        if "toolCalls" in message:
            values.append({name: value for name, value in message.items() if name != "toolCalls"})
        values += [message, {"$set": {"lastUpdated": message["timestamp"]}}]
    return [json.dumps(value).encode() + b"\n" for value in values]


def records(first: int) -> "list[bytes]":
    """Returns records of prompts, tool calls and results, starting with the record of this number."""
    lines = []
    for number in range(first, first + GROWTH):
        text = said(number)
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


def rollout_records(first: int) -> "list[bytes]":
    """Returns the same in the form of Codex, with the events that show a prompt."""
    lines = [] if first else [json.dumps(codex_lines()[0]).encode() + b"\n"]
    for number in range(first, first + GROWTH):
        text = said(number)
        payload: dict[str, Any] = {"type": "function_call_output", "call_id": f"c{number - 1}", "output": text}
        if number % GROWTH == 0:
            content = [{"type": "input_text", "text": f"prompt {number}: {text}"}]
            payload = {"type": "message", "role": "user", "content": content}
        elif number % 2:
            command = json.dumps({"command": f"pytest {number}"})
            payload = {"type": "function_call", "call_id": f"c{number}", "name": "shell", "arguments": command}
        time = f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
        record = {"timestamp": time, "type": "response_item", "payload": payload}
        lines.append(json.dumps(record).encode() + b"\n")
        if number % GROWTH == 0:
            shown = {"type": "user_message", "message": f"prompt {number}: {text}"}
            lines.append(json.dumps({"timestamp": time, "type": "event_msg", "payload": shown}).encode() + b"\n")
    return lines


def timed(arguments: "list[str]", given: bytes = b"", folder: Path | None = None) -> tuple[float, float]:
    """Returns the elapsed time and the processor time of a process of Python, in seconds."""
    start, busy = perf_counter(), spent()
    environment = {**os.environ, "CLAUDE_PROJECT_DIR": str(folder), "GEMINI_PROJECT_DIR": str(folder)}
    subprocess.run([sys.executable, *arguments], input=given, capture_output=True, check=True, env=environment)
    return perf_counter() - start, spent() - busy


def call(event: str, folder: Path, transcript: Path, client: str = "claude-code") -> tuple[float, float]:
    """Returns the times of a call of a hook."""
    given = {"session_id": SESSION, "transcript_path": str(transcript), "cwd": str(folder), "prompt": "What is left?"}
    command = ["-m", "slicebase", "hook", "run", event, "--client", client]
    return timed(command, json.dumps(given).encode(), folder)


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def show(what: str, times: list[tuple[float, float]]) -> None:
    clock, processor = sorted(times)[len(times) // 2]
    print(f"  {what:37} {clock * 1000:7.0f} ms, {processor * 1000:6.0f} ms of the processor")


# A short conversation in the form of each client


def codex_lines() -> "list[dict[str, Any]]":
    head = {"type": "session_meta", "payload": {"id": SESSION, "cwd": "/repo", "timestamp": "2026-01-01T00:00:00Z"}}
    said = []
    for number, role in enumerate(("user", "assistant") * 10):
        content = [{"type": "input_text" if role == "user" else "output_text", "text": f"{number}: {' '.join(WORDS)}"}]
        said.append({"type": "response_item", "payload": {"type": "message", "role": role, "content": content}})
    return [{"timestamp": f"2026-01-01T00:00:{number:02}Z", **line} for number, line in enumerate([head, *said])]


def gemini_lines() -> "list[dict[str, Any]]":
    times = {"startTime": "2026-01-01T00:00:00Z", "lastUpdated": "2026-01-01T00:01:00Z"}
    said = [
        {"id": f"m{number}", "type": role, "timestamp": f"2026-01-01T00:00:{number:02}Z", "content": " ".join(WORDS)}
        for number, role in enumerate(("user", "gemini") * 10)
    ]
    return [{"sessionId": SESSION, "projectHash": "p", **times, "kind": "main"}, *said]


def insert_message(database: sqlite3.Connection, number: int, text: str) -> None:
    role = "assistant" if number % 2 else "user"
    message = {"role": role, "time": {"created": NOW + number, "completed": NOW + number}, "modelID": "m"}
    row = (f"m{number:08}", SESSION, number, json.dumps(message))
    database.execute("INSERT INTO message VALUES (?, ?, ?, 1, ?)", row)
    part = (f"p{number:08}", f"m{number:08}", SESSION, json.dumps({"type": "text", "text": text}))
    database.execute("INSERT INTO part VALUES (?, ?, ?, 1, ?)", part)


def opencode_database(path: Path, count: int = 20) -> None:
    with sqlite3.connect(path) as database:
        database.executescript(
            "CREATE TABLE session (id, title, directory, version, parent_id, time_created, time_updated);"
            "CREATE TABLE message (id, session_id, time_created, time_updated, data);"
            "CREATE TABLE part (id, message_id, session_id, time_updated, data);"
            "CREATE INDEX messages ON message (session_id); CREATE INDEX parts ON part (message_id);"
            "CREATE INDEX session_parts ON part (session_id);"
        )
        database.execute("INSERT INTO session VALUES (?, 't', '/repo', '1', NULL, 1, 1)", (SESSION,))
        for number in range(count):
            insert_message(database, number, f"{number}: {' '.join(WORDS)}")
    database.close()


def short_transcripts(folder: Path) -> "dict[str, Path]":
    """Writes the conversation in every form. Returns the files by client."""
    written = {"codex": codex_lines(), "gemini": gemini_lines()}
    paths = {client: folder / f"{client}.jsonl" for client in CLIENTS}
    for client, lines in written.items():
        paths[client].write_text("".join(json.dumps(line) + "\n" for line in lines))
    paths["claude-code"].write_bytes(b"".join(records(0)))
    paths["opencode"] = folder / "opencode.db"
    opencode_database(paths["opencode"])
    return paths


def run_clients() -> None:
    print("hooks of each client in a short session, beside processes that do nothing")
    show("python -c pass", [timed(["-c", "pass"]) for _ in range(TIMES)])
    show("tt --version", [timed(["-m", "slicebase", "--version"]) for _ in range(TIMES)])
    for client, about in CLIENTS.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with Slicebase.init(folder) as base:
                base.library.create(title="Queue", summary="How it is held.", body="The queue holds a lock.")
            transcript = short_transcripts(folder)[client]
            for event, neutral in about.events.items():
                count = 1 if neutral == HookEvent.BEFORE_COMPACTION else TIMES  # its background work would be measured
                show(f"{client}: {event}", [call(event, folder, transcript, client) for _ in range(count)])


def run() -> None:
    run_clients()
    run_long("claude-code", "a transcript.jsonl", appended(records))
    run_long("codex", "a transcript.jsonl", appended(rollout_records))
    run_long("gemini", "session-1.jsonl", appended(chat_records))
    run_long("gemini", "session-1.json", rewritten)
    run_long("opencode", "opencode.db", inserted)


# Long transcripts that grow: each function adds so many records, from the one with a number on


Grow = Callable[[Path, int, int], None]


def appended(lines_from: "Callable[[int], list[bytes]]") -> Grow:
    def grow(path: Path, first: int, count: int) -> None:
        with path.open("ab") as stream:
            for number in range(first, first + count, GROWTH):
                stream.writelines(lines_from(number))

    return grow


def rewritten(path: Path, first: int, count: int) -> None:
    """Writes a chat of Gemini CLI again, as versions that keep it in one document do."""
    before = json.loads(path.read_bytes())["messages"] if first else []
    messages = [*before, *(chat_message(number) for number in range(first, first + count))]
    path.write_text(json.dumps({**gemini_lines()[0], "messages": messages}, indent=2))


def inserted(path: Path, first: int, count: int) -> None:
    if not first:
        opencode_database(path, count=0)
    with sqlite3.connect(path) as database:
        for number in range(first, first + count):
            insert_message(database, number, f"{number}: {said(number)}")
    database.close()


def run_long(client: str, name: str, grow: Grow) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        transcript = folder / name
        grow(transcript, 0, 10 * GROWTH)
        count = int(SIZE / transcript.stat().st_size * 10) * GROWTH
        grow(transcript, 10 * GROWTH, count - 10 * GROWTH)
        print(f"hooks on {name} of {client}, {transcript.stat().st_size / 1e6:.1f} MB, {count} records")
        with Slicebase.init(folder) as base:
            start = process_time()
            session = SESSION if client == "opencode" else None
            follow(base.truth, base.workspace.cache, transcript, base.surroundings.redaction, session=session)
            print(f"  read for the first time: {process_time() - start:.1f} s of the processor")
        for event, neutral in sorted(CLIENTS[client].events.items(), key=lambda each: _ORDER.index(each[1])):
            times = []
            for _ in range(TIMES):
                grow(transcript, count, GROWTH)
                count += GROWTH
                times.append(call(event, folder, transcript, client))
                if neutral == HookEvent.BEFORE_COMPACTION:
                    break  # else its background work would be measured with the next call
            show(f"{event}, {GROWTH} new records", times)


_ORDER = [
    HookEvent.END,
    HookEvent.PROMPT,
    HookEvent.START,
    HookEvent.AFTER_COMPACTION,
    HookEvent.BEFORE_COMPACTION,
]
