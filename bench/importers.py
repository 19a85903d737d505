"""Importers on generated inputs: MB/s, turns/s and peak memory of each; also redaction and annotation.

Each importer reads SLICEBASE_BENCH_MB megabytes (50 by default; 200 for the figures of a release), which are generated
while it reads. It runs in its own process, so that its memory is measured alone. The figures include generating the
input, which takes a tenth of the time or less. Nothing is stored.
"""

import json
import os
import random
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

from slicebase.graph.annotate import Trace, annotate
from slicebase.graph.turn import Turn
from slicebase.importers.claude_code import FORMAT
from slicebase.importers.formats import Import, recognise
from slicebase.importers.values import ImportReport, ImportSource, Options
from slicebase.secrets.redact import redact

SIZE_MB = int(os.environ.get("SLICEBASE_BENCH_MB", "50"))
CHUNK = 1 << 20
MESSAGES = 40  # in a conversation, and lines in a block of a transcript
TEXT = (
    "the a of to and in that it is for on with as test queue table writer reader index token budget retry cache schema "
    "branch anchor policy export digest ledger claim conflict snapshot context evidence latency deploy rollback error "
    "plan because import https://example.org/docs src/shop/webhooks.py 3f786850e387550fdab836ed7e6dc881de23001b 42"
)
WORDS = TEXT.split()
Blocks = Callable[[int], bytes]


def words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))


def uuid(block: Any, number: int) -> str:
    return f"{number:08}-0000-4000-8000-{block:>012}"


def numbered(template: str) -> Blocks:
    """Returns a function that gives blocks by number. The number replaces the twelve at-signs of the template."""
    data = template.encode()
    return lambda block: data.replace(b"@" * 12, b"%012d" % block)


# --- inputs: the start, a function that gives a block by its number, the separator of blocks, the end


def claude_code() -> tuple[bytes, Blocks, bytes, bytes]:
    """Returns one session. A third of the turns are tool calls, and a third are their results, of 2 KB each."""
    chance = random.Random(1)
    lines = []
    for number in range(MESSAGES):
        call = f"toolu_{'@' * 12}{number // 3}"
        kind, content = [
            ("user", words(chance, 40)),
            ("assistant", [{"type": "text", "text": words(chance, 60)},
                           {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": words(chance, 30)}}]),
            ("user", [{"type": "tool_result", "tool_use_id": call, "content": words(chance, 700)}]),
        ][number % 3]  # fmt: skip
        lines.append({
            "parentUuid": uuid("@" * 12, number - 1) if number else None, "sessionId": "bench", "type": kind,
            "uuid": uuid("@" * 12, number), "timestamp": f"2026-01-01T10:00:{number:02}.000Z", "cwd": "/repo",
            "version": "2.1.29", "message": {"role": kind, "content": content},
        })  # fmt: skip
    return b"", numbered("".join(json.dumps(line) + "\n" for line in lines)), b"", b""


def chatgpt() -> tuple[bytes, Blocks, bytes, bytes]:
    chance = random.Random(2)
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": [uuid("@" * 12, 0)]}}
    for number in range(MESSAGES):
        own = uuid("@" * 12, number)
        message = {
            "id": own, "author": {"role": ("user", "assistant")[number % 2], "metadata": {}},
            "create_time": 1.7e9 + number, "content": {"content_type": "text", "parts": [words(chance, 150)]},
            "status": "finished_successfully", "weight": 1.0, "recipient": "all", "metadata": {"model_slug": "gpt-5"},
        }  # fmt: skip
        parent = uuid("@" * 12, number - 1) if number else "root"
        mapping[own] = {"id": own, "message": message, "parent": parent, "children": []}
        mapping[parent]["children"] = [own]
    conversation = {"title": "Bench", "create_time": 1.7e9, "mapping": mapping, "conversation_id": "@" * 12}
    return b"[", numbered(json.dumps(conversation)), b",", b"]"


def claude() -> tuple[bytes, Blocks, bytes, bytes]:
    chance = random.Random(3)
    messages = [
        {"uuid": uuid("@" * 12, number), "sender": ("human", "assistant")[number % 2],
         "content": [{"type": "text", "text": words(chance, 150)}], "created_at": f"2026-01-01T10:00:{number:02}Z",
         "parent_message_uuid": uuid("@" * 12, number - 1)}
        for number in range(MESSAGES)
    ]  # fmt: skip
    return b"[", numbered(json.dumps({"uuid": "@" * 12, "name": "Bench", "chat_messages": messages})), b",", b"]"


def codex() -> tuple[bytes, Blocks, bytes, bytes]:
    chance = random.Random(4)
    lines = []
    for number in range(MESSAGES):
        call = f"call_{'@' * 12}{number // 3}"
        payload = [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words(chance, 40)}]},
            {"type": "function_call", "name": "shell", "arguments": json.dumps({"command": ["ls"]}), "call_id": call},
            {"type": "function_call_output", "call_id": call, "output": words(chance, 700)},
        ][number % 3]
        lines.append({"timestamp": f"2026-01-01T10:00:{number:02}.000Z", "type": "response_item", "payload": payload})
    head = {"timestamp": "2026-01-01T10:00:00.000Z", "type": "session_meta", "payload": {"id": "bench"}}
    return json.dumps(head).encode() + b"\n", numbered("".join(json.dumps(line) + "\n" for line in lines)), b"", b""


def gemini() -> tuple[bytes, Blocks, bytes, bytes]:
    chance = random.Random(5)
    lines = [
        {"id": f"{'@' * 12}-{number}", "type": ("user", "gemini")[number % 2], "content": words(chance, 150),
         "timestamp": f"2026-01-01T10:00:{number:02}.000Z"}
        for number in range(MESSAGES)
    ]  # fmt: skip
    head = {"sessionId": "bench", "projectHash": "x", "startTime": "2026-01-01T10:00:00Z"}
    return json.dumps(head).encode() + b"\n", numbered("".join(json.dumps(line) + "\n" for line in lines)), b"", b""


def messages() -> tuple[bytes, Blocks, bytes, bytes]:
    chance = random.Random(6)
    listed = [
        {"role": ("user", "assistant")[number % 2], "content": words(chance, 150), "timestamp": 1.7e9 + number}
        for number in range(MESSAGES)
    ]
    return b"", numbered(json.dumps({"id": "@" * 12, "messages": listed}) + "\n"), b"", b""


def oasst() -> tuple[bytes, Blocks, bytes, bytes]:
    chance = random.Random(7)

    def message(number: int, depth: int) -> dict[str, Any]:
        replies = [message(3 * number + child, depth - 1) for child in (1, 2, 3)] if depth else []
        role = ("assistant", "prompter")[depth % 2]
        return {"message_id": uuid("@" * 12, number), "text": words(chance, 120), "role": role, "replies": replies}

    tree = {"message_tree_id": "@" * 12, "prompt": message(0, 3)}
    return b"", numbered(json.dumps(tree) + "\n"), b"", b""


INPUTS = {
    "claude-code": (claude_code, "x.jsonl"),
    "chatgpt": (chatgpt, "conversations.json"),
    "claude": (claude, "conversations.json"),
    "codex": (codex, "rollout-x.jsonl"),
    "gemini": (gemini, "session.jsonl"),
    "messages": (messages, "train.jsonl"),
    "oasst": (oasst, "trees.jsonl"),
}


def stream(name: str, size: int) -> Iterator[bytes]:
    """Yields about `size` bytes of an input, in chunks like those of a file."""
    first, block, between, last = INPUTS[name][0]()
    held, made, number = first, 0, 0
    while made < size:
        piece = block(number)
        held += piece if number == 0 else between + piece
        made += len(piece)
        number += 1
        if len(held) >= CHUNK:
            yield held
            held = b""
    yield held + last


def measure(name: str) -> None:
    """Runs in its own process. Prints megabytes, seconds, turns and the peak memory in MB."""
    known = recognise(ImportSource(INPUTS[name][1], stream(name, CHUNK)))
    assert known is not None
    assert known.name == name
    read = 0

    def counted() -> Iterator[bytes]:
        nonlocal read
        for chunk in stream(name, SIZE_MB * 1_000_000):
            read += len(chunk)
            yield chunk

    report = ImportReport()
    start = process_time()
    for batch in Import(Options()).read(ImportSource(INPUTS[name][1], counted()), known):
        report.add(batch)
    seconds = process_time() - start
    assert report.adds_up
    assert not report.count("skipped")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    print(read / 1e6, seconds, report.turns, peak)


def run() -> None:
    print(f"importers: {SIZE_MB} MB each, with redaction; peak memory is the whole process's")
    for name in INPUTS:
        command = [sys.executable, "-c", f"from bench.importers import measure; measure({name!r})"]
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        size, seconds, count, peak = map(float, answer.split())
        print(f"  {name:<12} {size / seconds:7.1f} MB/s {count / seconds:10,.0f} turns/s {peak:7.0f} MB")
    turns = sample(2_000_000)
    texts = [part.text for turn in turns for part in turn.parts if part.text]
    size = sum(len(text.encode()) for text in texts) / 1e6
    print(f"redaction: {size:.1f} MB of generated turns {size / timed(lambda: redact_all(texts)):7.1f} MB/s")
    print(f"annotation: {len(turns) / timed(lambda: annotate_all(turns)):,.0f} turns/s")


def sample(size: int) -> list[Turn]:
    source = ImportSource("x.jsonl", stream("claude-code", size))
    run = Import(Options(redact=False))
    return [turn for batch in run.read(source, FORMAT) for turn in batch.turns]


def timed(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def redact_all(texts: list[str]) -> None:
    for text in texts:
        redact(text)


def annotate_all(turns: list[Turn]) -> None:
    traces: dict[str, Trace] = {}
    for turn in turns:
        _, traces[turn.id] = annotate(turn, traces.get(turn.tree_parent or ""), 0)
