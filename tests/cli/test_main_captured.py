"""Every command as other programs run it: as a process whose output is read through pipes until they end.

A process that a command leaves behind keeps these pipes open, and their reader waits forever. So each command is called
in a library that is large enough to fill a pipe with the names of its files; its pipes must end, and so must every
process of its group.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from slicebase.base import Slicebase
from slicebase.cli.commands import LISTED, PLUMBING, RUN_VERBS
from slicebase.cli.main import tt
from slicebase.history.inputs import LONG_SAMPLE, SAMPLE
from tests.amounts import MORE
from tests.library.samples import library, put, rows, text_of
from tests.paths import PROJECT

FILES = 340  # whose names fill a pipe, since they are long
LONG = "-long" * 38  # an id has at most 200 bytes
SECONDS = 60  # the maximum time of a command
MOMENT = 2  # seconds that the pipes of a process may stay open after its end
SESSION = "c41f0a52-6b7d-4c1e-9f58-7d0e2a93b610"  # of the long sample, which was compacted
TURN = "turn:0961d9aa-a012-46c7-b376-16f70598151d"
LOG = "01J00000000000000000000001"
QUOTE = "compared without regard to case"
QUESTION = "how are discount codes compared?"


class Filled(NamedTuple):
    """A workspace with data for every command, and the names that were generated there."""

    folder: Path
    home: Path
    cache: Path
    names: Mapping[str, str]


class Call(NamedTuple):
    """A command line; `{name}` in an argument stands for one of the names of the workspace."""

    command: str
    arguments: tuple[str, ...]
    status: int
    stdin: bytes | None
    cold: bool  # the index must be built again


def call(command: str, *arguments: str, status: int = 0, stdin: str | None = None, cold: bool = False) -> Call:
    return Call(command, arguments, status, stdin.encode() if stdin else None, cold)


def event(source: str = "auto") -> str:
    """Returns the JSON that a coding agent sends to a hook."""
    return json.dumps({"session_id": SESSION, "transcript_path": str(LONG_SAMPLE), "source": source})


# A command that writes changes a file or a run that no other call uses, so each call can run alone.
CALLS = (
    call("init"),
    call("uninit", "--dry-run"),
    call("status"),
    call("status", cold=True),
    call("config"),
    call("doctor"),
    call("search", "heron"),
    call("search", "heron", cold=True),
    call("search", "discount", "codes", "--json", cold=True),
    call("search", "nobodysaidthis", status=1),
    call("explore", "linked", "--depth", "2", "--infer"),
    call("explore", "linked", cold=True),
    call("due", "--prompt", status=1),
    call("stale", status=1),
    call("stale", status=1, cold=True),
    call("list"),
    call("list", cold=True),
    call("info", LOG),
    call("info", LOG, cold=True),
    call("validate"),
    call("create", "--title", "Herons", "--summary", "Where they stand.", "--body", "-", stdin="At the lake."),
    call("define", "defined", "meta.author=alice"),
    call("remember", LOG, "-", stdin='{"text": "one"}\n{"text": "two"}\n'),
    call("recall", LOG, TURN),
    call("connect", "connected", "see_also", LOG),
    call("disconnect", "disconnected", "see_also", LOG),
    call("refresh", "refreshed", "The source in short."),
    call("routine", "routine"),
    call("forget", "forgotten", "--reason", "old"),
    call("restore", "restored"),
    call("purge", "purged", "--reason", "secret"),
    call("purge", f"session:{SESSION}", "--dry-run"),
    call("import", str(SAMPLE)),
    call("export", SESSION, "--to", "exported.slice"),
    call("export", "--html", LOG, "--to", "exported.html"),
    call("export", "--workspace", "exported"),
    call("backup", "backup.tar.zst"),
    call("turns"),
    call("turns", "--search", "discount"),
    call("show", TURN),
    call("slice", TURN, "--policy", "focused"),
    call("slice", TURN, "--bundle", "-"),
    call("atlas", "--svg"),
    call("policy", status=2),
    call("policy list"),
    call("policy show", "focused"),
    call("policy save", "small", "--set", "max_nodes=8"),
    call("policy diff", "default", "focused", status=1),
    call("policy import", "policy.json", "--name", "imported"),
    call("policy export", "broad"),
    call("context", QUESTION),
    call("context", QUESTION, cold=True),
    call("lost", SESSION),
    call("replay", "{manifest}"),
    call("add", "document.md"),
    call("cite", TURN, "--quote", "We will keep codes"),
    call("run", status=2),
    call("run start", "--objective", "Find the cause.", "--done", "It is cited.", "--id", "started"),
    call("run log", "written", "--file", "-", "--auto-compact", stdin='{"type": "ACT_DONE", "step": 1}\n'),
    call("run from", SESSION, "--id", "projected", "--auto-compact"),
    call("run claim", "written", "Codes have a case.", "--status", "verified", "-e", "{evidence}"),
    call("run claim", "written", "Nobody said so.", "--status", "verified", status=3),
    call("run conflict", "written", "Two say two things.", "-a", "{evidence}", "-b", "{other}"),
    call("run question", "written", "Who decided that?"),
    call("run failure", "written", "--category", "tool", "--where", "make", "--why", "exit 2"),
    call("run compact", "written"),
    call("run allow-loop", "written", "--steps", "2", "--reason", "so"),
    call("run snapshot", "{snapshot}"),
    call("run narrative", "known"),
    call("run stop", "stopped", "--reason", "OBJECTIVE_ACHIEVED"),
    call("run fork", "known", "--id", "forked"),
    call("run status", "known"),
    call("run report", "known"),
    call("run list"),
    call("hook", status=2),
    call("hook install", "claude-code", "--dry-run"),
    call("hook uninstall", "claude-code", "--dry-run"),
    call("hook status", "claude-code", status=1),
    call("hook list"),
    call("hook run", "SessionStart", stdin=event("startup")),
    call("hook run", "PreCompact", "--wait", stdin=event()),
    call("hook run", "UserPromptSubmit", stdin=event()),
    call("hook run", "SessionEnd", stdin=event()),
    call("hook narrate", SESSION),
    call("hook find", SESSION),
    call("hook read", SESSION, str(LONG_SAMPLE)),
    call("agents-md", "--dry-run"),
    call("why", "claim:known/c1"),
    call("seal"),
    call("verify"),
    call("demo"),
    call("mcp"),
    call("serve", "--port", "0", "--token-file", "missing", status=3),  # tests/web/test_server.py starts and ends it
    call("merge-driver", "base.slice", "ours.slice", "theirs.slice", ".slices/merged.slice"),
)


def commands() -> Iterator[str]:
    """Yields the name of every command: those of the tables and their subcommands."""
    for name in (*LISTED, *PLUMBING):
        yield name
        command = tt.get_command(click.Context(tt), name)
        if isinstance(command, click.Group):
            yield from (f"{name} {below}" for below in command.commands)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    return fill(tmp_path_factory.mktemp("workspace"), tmp_path_factory.mktemp("home"), FILES)


def fill(folder: Path, home: Path, files: int, transcript: Path = LONG_SAMPLE) -> Filled:
    """Creates a workspace with so many slice files, and with everything that the calls name."""
    workspace = library(folder)
    link = {"rel": "see_also", "to": LOG}
    before = {"id": "source", "hash": f"sha256:{'0' * 64}"}  # the source has changed since
    put(workspace, LOG, rows({"id": "r1", "text": "The heron stands at the lake."}), type="jsonl")
    put(workspace, "routine", '{"instruction": "Run the tests."}\n', type="routine")
    put(workspace, "source", "A long text.\n")
    for name in ("derived", "refreshed"):
        put(workspace, name, "A text.\n", derived_from=before)
    for name in ("linked", "disconnected"):
        put(workspace, name, "A text.\n", links=[link])
    for name in ("defined", "connected", "forgotten", "restored", "purged"):
        put(workspace, name, "A text.\n")
    for number in range(files - len(list(workspace.library.iterdir()))):
        text = f"# Note {number}\n\nThe heron stands at post {number}.\n"
        put(workspace, f"note-{number:04}{LONG}", text)
    (folder / "document.md").write_text("# Build\n\nThe lock file is stale.\n")
    (folder / "policy.json").write_text('{"max_nodes": 9}')
    for name in ("base", "ours", "theirs"):
        (folder / f"{name}.slice").write_text(text_of("merged", "A text.\n", meta={} if name == "base" else {name: 1}))
    with Slicebase.open(folder) as base:
        base.library.forget("restored")
        base.import_([transcript])
        evidence, other = (base.cite(TURN, quote=quote).evidence_id for quote in (QUOTE, "stored in upper case"))
        for name in ("known", "written", "stopped"):
            base.runs.start(name, QUESTION, "The answer is cited.")
            base.runs.claim(name, f"Codes are {QUOTE}.", status="verified", cite=evidence)
        (snapshot,) = base.runs.compact("known").snapshots
        manifest = base.context(QUESTION, tokens=500).id
        assert base.search("heron").files.total > files / 3  # the index is warm from here on
    names = {"evidence": evidence, "other": other, "snapshot": snapshot, "manifest": manifest}
    return Filled(folder, home, workspace.cache, names)


def run_captured(filled: Filled, arguments: list[str], status: int, stdin: bytes | None = None) -> str:
    """Runs `tt` with pipes as a program does, checks that it ends with the status, and returns its output."""
    with subprocess.Popen(
        [sys.executable, "-m", "slicebase", *arguments],
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=filled.folder,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(PROJECT / "src"),
            "HOME": str(filled.home),
            "TMPDIR": str(filled.home),
        },
        start_new_session=True,
    ) as process:
        printed = until_the_end(process, stdin)
        left = is_alive(process.pid)
        if left:
            os.killpg(process.pid, signal.SIGKILL)
    assert printed, "its pipes stay open"
    out, err = (data.decode() for data in printed)
    assert process.returncode == status, err
    assert "Traceback" not in err
    assert "slicebase: " not in err, err  # a hook that fails prints this, with status 0
    assert not left, "it left a process behind"
    return out


def until_the_end(process: "subprocess.Popen[bytes]", stdin: bytes | None) -> tuple[bytes, bytes] | None:
    """Returns everything that a process prints, or None if its pipes do not end.

    Pipes that stay open for a moment after the end of their process will not end: there is no need to wait longer.
    """
    for _ in range(0, SECONDS, MOMENT):
        has_ended = process.poll() is not None
        try:
            return process.communicate(stdin, timeout=MOMENT)
        except subprocess.TimeoutExpired:
            stdin = None  # the first call writes it
            if has_ended:
                break
    return None


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_every_command_that_exists_is_called() -> None:
    existing = set(commands())
    assert {f"run {name}" for name in RUN_VERBS} < existing
    assert {call.command for call in CALLS} == existing


# `make fuzz` calls every command in every form. These are the ones that build the index, or that start other processes.
# test_workspace_demo.py calls the demo.
STARTING = (
    "init",
    "doctor",
    "import",
    "purge",
    "hook run",
    "hook narrate",
    "hook find",
    "merge-driver",
    "mcp",
    "verify",
)
_FIRST = {each.command: each for each in reversed(CALLS)}
TRIED = [each for each in CALLS if MORE > 1 or each.cold or (each.command in STARTING and _FIRST[each.command] is each)]


@pytest.mark.parametrize("command", ["", "run", "run start", "search"])  # one of each kind: they are all click's
def test_the_help_of_a_command_ends_and_leaves_no_process_behind(filled: Filled, command: str) -> None:
    result = run_captured(filled, [*command.split(), "--help"], 0)
    assert result.startswith(f"Usage: tt {command}".rstrip())


@pytest.mark.parametrize("call", TRIED, ids=lambda call: call.command + " cold" * call.cold)
def test_a_command_ends_with_its_status_and_leaves_no_process_behind(filled: Filled, call: Call) -> None:
    if call.cold:
        shutil.rmtree(filled.cache)
    arguments = [argument.format_map(filled.names) for argument in call.arguments]
    run_captured(filled, [*call.command.split(), *arguments], call.status, call.stdin)


def test_a_hook_ends_while_its_work_continues_in_the_background(filled: Filled) -> None:
    """The only command that leaves a process behind on purpose; that process holds no pipe and does its work."""
    assert run_captured(filled, ["hook", "run", "PreCompact"], 0, event().encode()) == ""
    end = time.monotonic() + SECONDS
    with Slicebase.open(filled.folder) as base:
        while (noted := base.compacted_notes.get(SESSION)) is None or noted.narrative is None:
            assert time.monotonic() < end, "the session was never narrated"
            time.sleep(0.05)
