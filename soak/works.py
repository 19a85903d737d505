"""The work of a writer: the verbs that write, each acknowledged when it has returned.

Work can be repeated: what an interrupted process has done already is no obstacle. A work gets a workspace that
`prepared` has filled, and `n`, which makes the texts of two rounds differ.
"""

import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final

from slicebase import Slicebase
from slicebase.cli.main import run
from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.history.inputs import SAMPLE
from soak.writers import Acknowledge

RUN: Final = "shared"
SECRET: Final = "The passphrase of the vault is mauve anteater number"  # text that is purged; a number follows
CONVERSATIONS: Final = 5
_FED: Final = "and the keeper feeds it at dawn, at noon and at dusk; " * 8
_LONG: Final = "a fact about retries, queues and clocks; " * 12
Work = Callable[[Slicebase, Acknowledge, str], None]


def prepared(folder: Path) -> None:
    """Creates a workspace with something of every kind, and the files that works read."""
    folder.mkdir(exist_ok=True)
    (folder / "slicebase.toml").write_text("overflow.bytes = 3000\ncompaction.steps = 3\n")
    (folder / "inbox").mkdir()
    for number in range(CONVERSATIONS):
        said = [{"role": "user", "content": f"question {number} {turn} {_LONG}"} for turn in range(8)]
        (folder / "inbox" / f"conversation{number}.json").write_text(json.dumps(said))
    (folder / "paper.txt").write_text(f"{_LONG}\n\n" * 20)
    with Slicebase.init(folder) as memory:
        memory.runs.start(RUN, "Objective", "Done")
        secret_session(memory, "0")
        memory.library.create("Log", "Rows.", type="jsonl", contract=["overflow=split"], id="log")
        memory.library.create("Doc", "Text.", body="# One\n\nText.\n", id="doc")
        memory.library.create("Secret", "Text.", body=f"# Secret\n\n{SECRET} file 0 {_FED}\n", id="secret-file")
        memory.context("vault passphrase anteater", 900)
        memory.seal()


def secret_session(memory: Slicebase, n: str) -> str:
    """Imports a session with a secret, and makes a run and a narrative from it. Returns its name."""
    name = f"secret-{n}"
    said = [{"role": "user", "content": f"{SECRET} session {n} {turn} {_FED}"} for turn in range(6)]
    path = memory.root / f"{name}.json"
    path.write_text(json.dumps(said))
    memory.import_(path, session=name)
    path.unlink()
    memory.narrate_session(name)
    return name


# History


def import_(memory: Slicebase, acknowledge: Acknowledge, n: str) -> None:
    memory.import_(memory.root / "inbox")
    for number in range(CONVERSATIONS):
        acknowledge("session", f"conversation{number}", 8)
    memory.search("question")


def follow(memory: Slicebase, acknowledge: Acknowledge, n: str) -> None:
    """Reads a transcript that grows, as hooks do."""
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    path = memory.root / f"transcript{n}.jsonl"
    for end in range(6, len(lines), 6):
        _grow(path, b"".join(lines[:end]))
        memory.follow(path)
        session = json.loads(lines[1])["sessionId"]
        acknowledge("session", session, len(memory.graph.turns(session)))


def _grow(path: Path, data: bytes) -> None:
    """Appends what a file does not have yet of some bytes, as an agent does."""
    try:
        with path.open("ab") as file:
            file.write(data[file.tell() :])
    except OSError as error:
        raise SlicebaseError("disk-full", f"the agent's own file: {error}") from None


def hook(memory: Slicebase, acknowledge: Acknowledge, n: str) -> None:
    """Lets an agent call before a compaction: the transcript is imported, a run is made of it, and a narrative."""
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    session, path = json.loads(lines[1])["sessionId"], memory.root / f"hook{n}.jsonl"
    for end in (14, 30, len(lines)):
        _grow(path, b"".join(lines[:end]))
        call = {"session_id": session, "transcript_path": str(path), "cwd": str(memory.root)}
        for arguments in (("PreCompact", "--wait"), ("UserPromptSubmit",)):
            _command("hook", "run", *arguments, stdin=json.dumps(call).encode())
        acknowledge("session", session, len(memory.graph.turns(session)))
        acknowledge("snapshot", memory.runs.snapshot(f"from-{session}")["snapshot_id"])


def _command(*arguments: str, stdin: bytes = b"") -> None:
    """Runs a command in this process. Raises the error that it prints."""
    printed, before = io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(printed):
            status = run(list(arguments))
    finally:
        sys.stdin = before
    code = printed.getvalue().rstrip().rpartition("[")[2].removesuffix("]")
    if status or code.replace("-", "").isalpha():
        raise SlicebaseError(code, printed.getvalue())


# Runs


def log(memory: Slicebase, acknowledge: Acknowledge, n: str) -> None:
    """Logs events, blobs, claims, steps and a compaction, and narrates the run."""
    name = f"run-{n}"
    try:
        memory.runs.start(name, "Objective", "Done")
    except SlicebaseError as error:
        if error.code != "run-exists":
            raise
    acknowledge("run", name)
    for number in range(3):
        data = f"result {n} {number} {_LONG}".encode()
        event = {"type": "note", "payload": {"n": number, "blob": digest(data)}}
        memory.runs.log(name, [event], blobs={digest(data): data})
        acknowledge("blob", name, digest(data))
        statement = f"claim {n} {number}"
        acknowledge("claim", name, memory.runs.claim(name, statement).id, statement)
    _steps(memory, acknowledge, name, n)
    memory.runs.compact(name)
    acknowledge("snapshot", memory.runs.snapshot(name)["snapshot_id"])
    acknowledge("file", memory.runs.narrative(name).file_id)


def _steps(memory: Slicebase, acknowledge: Acknowledge, name: str, n: str) -> None:
    for number in range(4):
        with memory.runs.step(name) as step:
            step.plan("look")
            said = f"stepped {n} {number}"
            logged = step.claim(said)
            acknowledge("claim", name, logged.id, said)
        acknowledge("step", name, step.number)


def steps(memory: Slicebase, acknowledge: Acknowledge, n: str) -> None:
    """Works on the run that all writers share: steps, some of them open together, claims and failures."""
    _steps(memory, acknowledge, RUN, n)
    for number in range(2):
        with memory.runs.step(RUN) as outer, memory.runs.step(RUN) as inner:
            said = f"together {n} {number}"
            acknowledge("claim", RUN, inner.claim(said).id, said)
            acknowledge("failure", RUN, outer.fail(said).id, said)
            outer.observe("seen")
        acknowledge("step", RUN, inner.number)
        acknowledge("step", RUN, outer.number)
        memory.runs.status(RUN)


# The library


def rows(memory: Slicebase, acknowledge: Acknowledge, n: str) -> None:
    """Writes rows until the log overflows several times, and supersedes some of them."""
    before = ""
    for number in range(24):
        text = f"row {n} {number} {_LONG}"
        change = memory.library.remember("log", text, supersedes=[before] if before and number % 5 == 0 else ())
        before = change.ref
        acknowledge("row", change.ref, text)


def pages(memory: Slicebase, acknowledge: Acknowledge, n: str) -> None:
    """Creates, changes, connects, archives and restores files, and adds a document with a copy."""
    library = memory.library
    note = library.create(f"Note {n}", "Text.", type="text").id
    acknowledge("file", note)
    for number in range(4):
        library.remember(note, f"paragraph {n} {number}")
        acknowledge("text", note, f"paragraph {n} {number}")
    library.define(note, "summary=Another text.")
    library.connect(note, "see_also", "doc")
    acknowledge("text", note, "Another text.")
    library.forget(note, reason="old")
    library.restore(note)
    acknowledge("file", memory.add(memory.root / "paper.txt", copy=True, title=f"Paper {n}").id)
    library.remember("doc", f"And {n}.")
    acknowledge("text", "doc", f"And {n}.")


# Proofs


def context(memory: Slicebase, acknowledge: Acknowledge, n: str) -> None:
    for tokens in (2_000, 4_000, 8_000):
        built = memory.context(f"which fact about retries has {n}?", tokens, run=RUN)
        if SECRET not in built.text:  # a purge beside it would take a part of it, rightly
            acknowledge("context", built.id, digest(built.text.encode()))


def seal(memory: Slicebase, acknowledge: Acknowledge, n: str) -> None:
    for number in range(3):
        acknowledge("claim", RUN, memory.runs.claim(RUN, f"sealed {n} {number}").id, f"sealed {n} {number}")
        acknowledge("file", memory.seal().id)


def purge(memory: Slicebase, acknowledge: Acknowledge, n: str) -> None:
    """Purges a session with the run and the narrative that were made from it, and a file."""
    for part in ("session", "file"):
        if part == "session":
            memory.purge("session:secret-0", reason="secret")
        else:
            memory.library.purge("secret-file", reason="secret")
        acknowledge("purged", f"{SECRET} {part} 0")


def adopt(memory: Slicebase, acknowledge: Acknowledge, n: str) -> None:
    for _ in range(3):
        with Slicebase.init(memory.root, adopt=True) as again:
            acknowledge("claim", RUN, again.runs.claim(RUN, f"adopted {n}").id, f"adopted {n}")


def settings(memory: Slicebase, acknowledge: Acknowledge, n: str) -> None:
    """Changes files of the project and of its tools: settings, hooks, AGENTS.md, an export."""
    memory.set("hooks.tokens", 900)
    acknowledge("contains", "slicebase.toml", "900")
    memory.hooks.install("claude-code")
    acknowledge("contains", os.path.join(".claude", "settings.json"), "hook run")
    memory.agents_md()
    acknowledge("contains", "AGENTS.md", "Slicebase")
    (memory.root / "exported.slice").unlink(missing_ok=True)
    memory.export("secret-0", memory.root / "exported.slice")
    acknowledge("contains", "exported.slice", SECRET)


WORKS: Final[dict[str, Work]] = {
    "import": import_, "follow": follow, "hook": hook, "log": log, "rows": rows, "pages": pages,
    "context": context, "seal": seal, "purge": purge, "adopt": adopt, "settings": settings, "steps": steps,
}  # fmt: skip
