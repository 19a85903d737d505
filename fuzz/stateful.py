"""The doors of a workspace: calls with any bytes in them. After all of them, the workspace must verify.

The workspace is a temporary one with a conversation, slice files and a run.
"""

import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Final

import msgspec

from fuzz.doors import Door
from slicebase.agents.memory_tool import COMMANDS
from slicebase.base import Slicebase
from slicebase.cli.main import run
from slicebase.core.parsers import decode, read_json
from slicebase.errors import SlicebaseError
from slicebase.history.inputs import SAMPLE
from slicebase.mcp.calls import McpClient, ServerEnvironment
from slicebase.mcp.tools import call_tool, offered
from slicebase.workspace.atomic import TEMPORARY

# Commands that neither end the workspace nor wait for a person or a client.
_KEPT_OUT: Final = {"uninit", "mcp", "demo", "init", "--global", "--root", "-h", "--help"}
_MOST_FILES: Final = 60  # slice files; then the library is emptied, so that calls stay quick


class Doors:
    """A workspace, and the doors to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        os.chdir(folder)
        self.memory = Slicebase.init(folder)
        self.session = self.memory.import_(SAMPLE).sessions[0]
        self.memory.runs.start("r", "Objective", "Done")
        self.log = self.memory.library.create("Log", "Rows.", type="jsonl").id
        self.doc = self.memory.library.create("Doc", "Text.", body="# One\n\nText.\n").id
        self._sealed = self.memory.seal().file
        self._tools = offered(False)
        self._environment = ServerEnvironment(folder, folder, "s")

    def all(self) -> Iterator[tuple[str, Door]]:
        for name in ("query", "stream", "remember", "define", "settings", "transcript", "hook", "mcp",
        "memory_tool", "seal",
                     "command", "client_settings", "agents_md", "exported", "kept_state", "zipped"):  # fmt: skip
            yield name.replace("_", "-"), getattr(self, name)

    def check(self) -> None:
        """Checks that nothing is half-written: everything stored verifies, and no temporary file is left."""
        self._without_settings()
        status = self.memory.verify().status
        assert status == "VERIFIED", f"the workspace is {status}"
        assert not list(self.folder.rglob(f"{TEMPORARY}*")), "a temporary file is left"

    def _without_settings(self) -> None:
        (self.folder / "slicebase.toml").unlink(missing_ok=True)

    # Questions

    def query(self, data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        for ask in self._questions():
            with suppress(SlicebaseError):
                ask(text)

    def _questions(self) -> tuple[Callable[[str], object], ...]:
        memory = self.memory
        return (
            lambda text: memory.search(text, either=len(text) % 2 == 0),
            memory.graph.search,
            lambda text: memory.context(text, 500, record=False),
            memory.why,
            memory.lost,
            memory.show,
            memory.library.recall,
        )

    # Writes

    def stream(self, data: bytes) -> None:
        path = self.folder / "events.jsonl"
        path.write_bytes(data)
        self._run("run", "log", "r", "--file", str(path))

    def remember(self, data: bytes) -> None:
        for file in (self.log, self.doc):
            try:
                self.memory.library.remember(file, decode(data))
            finally:
                self._tidy(file)

    def _tidy(self, file: str) -> None:
        path = self.folder / ".slices" / f"{file}.slice"
        if path.stat().st_size > 1 << 17:
            path.write_bytes(path.read_bytes().partition(b"\n---\n")[0] + b"\n---\n")

    def define(self, data: bytes) -> None:
        before = (path := self.folder / ".slices" / f"{self.doc}.slice").read_bytes()
        try:
            self.memory.library.define(self.doc, decode(data).split("\n"))
        finally:
            path.write_bytes(before)

    def settings(self, data: bytes) -> None:
        (self.folder / "slicebase.toml").write_bytes(data)
        try:
            self.memory.config({})
        finally:
            self._without_settings()

    # Agents

    def transcript(self, data: bytes) -> None:
        path = self.folder / f"t{len(data) % 5}.jsonl"
        path.write_bytes(data)
        followed = self.memory.follow(path)
        assert not {"importer-failed", "partly-read"} & {reason for _, reason in followed.account.report.reasons}

    def hook(self, data: bytes) -> None:
        for event in ("SessionStart", "UserPromptSubmit", "SessionEnd"):
            printed = self._run("hook", "run", event, stdin=data)
            names = ("Error: ", "Exception: ")  # of an error that is not ours: `slicebase: TypeError: …`
            assert not any(f"{name}" in printed.split("\n")[0] and "[" not in printed for name in names), printed

    def mcp(self, data: bytes) -> None:
        given = read_json(self._with_ids(data))
        names = list(self._tools)
        name = given.get("name") if isinstance(given, dict) else None
        tool = self._tools[name if isinstance(name, str) and name in self._tools else names[len(data) % len(names)]]
        arguments = given.get("arguments") if isinstance(given, dict) else None
        if isinstance(arguments, dict):
            msgspec.json.encode(call_tool(self._environment, McpClient("fuzz"), tool, arguments).structured)
        self._empty()

    def _with_ids(self, data: bytes) -> bytes:
        return data.replace(b"LOG", self.log.encode()).replace(b"DOC", self.doc.encode())

    def memory_tool(self, data: bytes) -> None:
        given = read_json(data)
        if isinstance(given, dict):
            given.setdefault("command", list(COMMANDS)[len(data) % len(COMMANDS)])
            self.memory.memory_tool.execute(given)
        self._empty()

    def _empty(self) -> None:
        files = sorted((self.folder / ".slices").glob("*.slice"))
        if len(files) > _MOST_FILES:
            kept = {self.log, self.doc, self._sealed.id}
            for path in files:
                if path.stem not in kept:
                    path.unlink()

    def client_settings(self, data: bytes) -> None:
        path = self.folder / ".claude" / "settings.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        try:
            self.memory.hooks.install("claude-code")
            self.memory.hooks.uninstall("claude-code")
            assert path.read_bytes() == data, "the settings are not restored"
        except SlicebaseError:
            assert path.read_bytes() == data, "settings that were refused are changed"
        finally:
            path.unlink(missing_ok=True)

    def agents_md(self, data: bytes) -> None:
        path = self.folder / "AGENTS.md"
        path.write_bytes(data)
        try:
            self._run("agents-md")
        finally:
            path.unlink(missing_ok=True)

    # Files that we wrote

    def seal(self, data: bytes) -> None:
        path = self.folder / ".slices" / f"{self._sealed.id}.slice"
        before = path.read_bytes()
        path.write_bytes(before.partition(b"\n---\n")[0] + b"\n---\n" + data)
        try:
            self.memory.verify(self._sealed.id)
        finally:
            path.write_bytes(before)

    def exported(self, data: bytes) -> None:
        self.memory.graph.verify(data)

    def kept_state(self, data: bytes) -> None:
        """What is kept between two hooks is disposable: any other bytes there change nothing."""
        cache = self.memory.workspace.cache / "transcripts"
        self.memory.follow(SAMPLE)
        for state in cache.glob("*.state"):
            state.write_bytes(data)
        self.memory.follow(SAMPLE)

    def zipped(self, data: bytes) -> None:
        path = self.folder / "x.zip"
        path.write_bytes(data)
        self.memory.import_(path, session="zipped")

    # Commands

    def command(self, data: bytes) -> None:
        given = read_json(self._with_ids(data))
        words = [str(word).replace("\0", "") for word in given] if isinstance(given, list) else []  # as of a shell
        if words and not _KEPT_OUT & set(words) and not any(word.startswith("/") for word in words):
            self._run(*words)
        self._empty()

    def _run(self, *arguments: str, stdin: bytes = b"") -> str:
        printed, before = io.StringIO(), sys.stdin
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
        try:
            with redirect_stdout(_Sink()), redirect_stderr(printed):
                run(list(arguments))
        finally:
            sys.stdin = before
            os.chdir(self.folder)
        return printed.getvalue()


class _Sink(io.TextIOWrapper):
    """A place for what a command prints, as text or as bytes."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")


def seeds_of_commands() -> list[bytes]:
    """Returns calls of commands, as lists of words."""
    from tests.cli.test_main_captured import CALLS, LOG

    calls = [[*call.command.split(), *call.arguments] for call in CALLS]
    seeds = [json.dumps(call) for call in calls if not _KEPT_OUT & set(call)]
    return [seed.replace(LOG, "LOG").replace("{", "").replace("}", "").encode() for seed in seeds]
