"""What is printed (ruling 48): exact bytes to a pipe or a file, and nothing to a terminal that it would obey."""

import io
import json
import os
import pty
import re
import subprocess
import sys
import threading
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from slicebase.base import Slicebase
from slicebase.cli.main import run
from slicebase.cli.output import visible
from slicebase.core.hashing import digest
from slicebase.history.inputs import LONG_SAMPLE
from tests.cli.test_main_captured import CALLS, Call, Filled, call, fill
from tests.paths import PROJECT

# It clears the screen, blinks, sets the title of the window, goes back, and turns the direction of what follows.
HOSTILE = "\x1b[2J\x1b[5m\x1b]0;x\x07 \r\b\0\x7f\x85\x9b5m \u202e\u2066\u200e\u200f\u061c\u2069 \u2028\U000e0041"
OBEYED = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
# Our own styles, and what begins a line of progress anew.
OURS = re.compile(r"\x1b\[(?:0|1|2|3[1236]|1;3[1236])m|\r\x1b\[K")
ELSEWHERE = {"demo", "mcp", "run", "hook", "hook find", "hook narrate", "hook read", "uninit"}
MISTAKES = (
    call(HOSTILE),
    call("search", HOSTILE),
    call("list", f"--{HOSTILE}"),
    call("recall", HOSTILE),
    call("show", HOSTILE),
    call("slice", "turn:0961d9aa-a012-46c7-b376-16f70598151d", "--policy", HOSTILE.replace("\0", "")),
    call("import", HOSTILE.replace("\0", "")),
    call("validate", HOSTILE.replace("\0", "")),
    call("config", HOSTILE, "1"),
    call("run status", HOSTILE),
    call("why", HOSTILE),
    call("context", HOSTILE, "--as-of", HOSTILE),
)
SHOWN = (*(each for each in CALLS if each.command not in ELSEWHERE and not each.cold), *MISTAKES)


class Printed(NamedTuple):
    status: int
    data: bytes


def printed(monkeypatch: pytest.MonkeyPatch, arguments: list[str], *, terminal: bool, stdin: bytes = b"") -> Printed:
    """Runs a command whose stdout and stderr are a terminal, or whose stdout is a file."""
    found: list[bytes] = []
    stream: io.TextIOWrapper[Any]
    if terminal:
        ours, theirs = pty.openpty()
        tty.setraw(theirs)  # else the terminal itself changes line ends
        reader = threading.Thread(target=lambda: found.extend(_until_the_end(ours)))
        reader.start()
        stream = io.TextIOWrapper(os.fdopen(theirs, "wb"), encoding="utf-8", write_through=True)
    else:
        kept = io.BytesIO()
        stream = io.TextIOWrapper(kept, encoding="ascii", newline="\r\n")  # neither of them must matter
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        patch.setattr(sys, "stdout", stream)
        patch.setattr(sys, "stderr", stream if terminal else io.TextIOWrapper(io.BytesIO()))
        status = run(arguments)
    stream.flush()
    if not terminal:
        return Printed(status, kept.getvalue())
    stream.close()
    reader.join()
    os.close(ours)
    return Printed(status, b"".join(found))


def _until_the_end(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(descriptor, 1 << 16)
        except OSError:  # the terminal is closed
            return
        if not data:
            return
        yield data


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """A workspace whose every text, and the name of whose folder, is hostile."""
    home = tmp_path_factory.mktemp("home")
    folder = tmp_path_factory.mktemp("terminal") / f"work {HOSTILE.replace(chr(0), '')}"
    transcript = home / "session.jsonl"
    records = map(json.loads, LONG_SAMPLE.read_text().splitlines())
    transcript.write_text("".join(json.dumps(_made_hostile(record)) + "\n" for record in records))
    filled = fill(folder, home, 20, transcript)
    for path in (folder / ".slices").iterdir():
        head, body = path.read_text().split("---\n", 2)[1:]
        named = json.dumps(f"Title of {path.stem} {HOSTILE}").replace("\\", "\\\\")
        head = re.sub(r"  (title|summary): .*\n", rf"  \1: {named}\n", head)
        body = body.replace("heron", json.dumps(f"heron {HOSTILE}")[1:-1] if body[0] == "{" else f"heron {HOSTILE}")
        path.write_text(f"---\n{head}---\n{body}")
    (folder / "document.md").write_text(f"# Build {HOSTILE}\n\nThe lock file is stale.\n")
    with Slicebase.open(folder) as base:
        base.runs.question("written", HOSTILE)
        base.runs.failure("written", category=HOSTILE, where=HOSTILE, why=HOSTILE)
        base.runs.claim("written", HOSTILE)
    return filled


def _made_hostile(record: dict[str, Any]) -> dict[str, Any]:
    """Returns a record of a transcript with hostile texts."""
    message = record.get("message")
    if isinstance(message, dict) and isinstance(message["content"], str):
        message["content"] += HOSTILE
    for block in message["content"] if message and isinstance(message["content"], list) else ():
        for key in ("text", "content", "thinking"):
            if isinstance(block.get(key), str):
                block[key] += HOSTILE
    return record


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("each", SHOWN, ids=lambda each: visible(each.command))
def test_no_command_prints_what_a_terminal_obeys(
    hostile: Filled, each: Call, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile.folder)
    arguments = [argument.format_map(hostile.names) for argument in each.arguments]
    as_json = ["--json"] * (form == "json" and each.command != "merge-driver")
    found = printed(
        monkeypatch, [*each.command.split(" "), *arguments, *as_json], terminal=True, stdin=each.stdin or b""
    )
    text = found.data.decode()
    assert OBEYED.findall(OURS.sub("", text)) == []
    assert "Traceback" not in text
    if as_json and text.startswith("{"):
        json.JSONDecoder().raw_decode(text)


def test_recalled_text_is_shown_escaped_and_our_styles_stay(hostile: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hostile.folder)
    found = printed(monkeypatch, ["search", "heron"], terminal=True).data.decode()
    assert "\x1b[1mheron\x1b[0m" in found
    assert "\\x1b[5m" in found
    assert "\\u202e" in printed(monkeypatch, ["replay", hostile.names["manifest"]], terminal=True).data.decode()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in printed(monkeypatch, ["search", "heron"], terminal=True).data.decode()


def test_a_file_gets_exactly_the_bytes_whose_digest_was_taken(hostile: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hostile.folder)
    with Slicebase.open(hostile.folder) as base:
        manifest = base.manifest(hostile.names["manifest"])
        export = base.graph.select("turn:0961d9aa-a012-46c7-b376-16f70598151d", "focused").export
        recalled = base.library.recall("01J00000000000000000000001").text
    replayed = printed(monkeypatch, ["replay", hostile.names["manifest"]], terminal=False).data
    assert HOSTILE.encode() in replayed
    assert digest(replayed) == manifest.rendered_hash
    assert json.loads(printed(monkeypatch, ["replay", "--json"], terminal=False).data)["identical"] is True
    turn = ["slice", "turn:0961d9aa-a012-46c7-b376-16f70598151d", "--policy", "focused", "--json"]
    assert printed(monkeypatch, turn, terminal=False).data == export + b"\n"
    assert printed(monkeypatch, ["recall", "01J00000000000000000000001"], terminal=False).data == recalled.encode()


def test_a_replay_through_a_real_pipe_is_the_context_that_was_printed(hostile: Filled) -> None:
    tt = f'"{sys.executable}" -m slicebase'
    script = f"{tt} context 'where is the heron?' > context.txt 2>/dev/null && {tt} replay | cmp - context.txt"
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src"), "LC_ALL": "C", "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(["bash", "-o", "pipefail", "-c", script], cwd=hostile.folder, env=environment, check=False)
    assert done.returncode == 0
    assert HOSTILE.encode() in (hostile.folder / "context.txt").read_bytes()


def test_names_that_are_not_utf_8_are_printed_as_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert b"/caf\xe9/.slices" in printed(monkeypatch, ["init"], terminal=False).data
    assert b"/caf\\udce9/.slices" in printed(monkeypatch, ["init"], terminal=True).data
