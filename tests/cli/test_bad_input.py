"""Bad input by a new or hostile user, and a broken disk: the command line prints our own error, never a traceback."""

import gzip
import json
import os
import pty
import resource
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from slicebase import Slicebase
from tests.cli.conftest import Tt
from tests.paths import PROJECT

SAMPLE = PROJECT / "src" / "slicebase" / "samples" / "claude-code-session.jsonl"
SESSION = "5b0c7c1e-3d52-4f0e-9a86-2f7b1d0c64aa"
TURN = "2c95cb2b-f886-45d4-96e8-2595a5b1f061"
NOT_UTF8 = os.fsdecode(b"bad \xff bytes")


@pytest.fixture
def imported(tt: Tt) -> Tt:
    assert tt("import", SAMPLE).exit == 0
    return tt


def test_no_arguments_show_the_help_and_not_an_error(tt: Tt) -> None:
    done = tt()
    assert done.exit == 2
    assert done.err.startswith("Usage: tt")


def test_a_current_folder_that_was_deleted_is_an_error_of_ours(
    tt: Tt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for command in (["status"], ["validate"], ["add", "x"], ["import", "x"], ["init"], ["run", "list"], ["mcp"]):
        done = tt(*command)
        assert (done.exit, "[cannot-read]" in done.err) == (3, True)


def test_a_reader_that_closes_the_pipe_is_not_an_error(imported: Tt, tmp_path: Path) -> None:
    for command in (["slice", TURN, "--json"], ["turns", SESSION], ["verify"]):
        reading, writing = os.pipe()
        os.close(reading)
        whole = [sys.executable, "-m", "slicebase", *command]
        here = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
        done = subprocess.run(whole, check=False, stdout=writing, stderr=subprocess.PIPE, cwd=tmp_path, env=here)
        os.close(writing)
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "command",
    [
        ["context", NOT_UTF8],
        ["context", "limit", "--policy", NOT_UTF8],
        ["search", NOT_UTF8],
        ["turns", NOT_UTF8],
        ["show", f"session:{NOT_UTF8}"],
        ["create", "--title", NOT_UTF8, "--summary", "s"],
        ["slice", TURN, "--policy", "x" * 5000],
        ["slice", TURN, "--set", f"{NOT_UTF8}=1"],
        ["import", SAMPLE, "--session", NOT_UTF8, "--format", NOT_UTF8],
        ["validate", NOT_UTF8],
        ["export", NOT_UTF8, "--to", "x"],
    ],
)
def test_arguments_that_are_not_text_are_refused(imported: Tt, command: list[str]) -> None:
    done = imported(*command, "--json")
    assert done.exit in (1, 3, 4), done
    if done.exit != 1:
        assert done.error.keys() >= {"code", "message", "hint", "where"}


def test_a_batch_continues_after_a_policy_that_is_not_text(imported: Tt, tmp_path: Path) -> None:
    requests = tmp_path / "requests.jsonl"
    requests.write_text(f'{{"anchor_turn_id":"{TURN}","policy":"\\ud800"}}\n{{"anchor_turn_id":"{TURN}"}}\n')
    done = imported("slice", "--batch", requests)
    assert done.exit == 1
    refused, answered = map(json.loads, done.out.splitlines())
    assert refused["code"] == "unknown-policy"
    assert answered["anchor_turn_id"] == TURN


def test_options_that_a_batch_would_ignore_are_refused(imported: Tt, tmp_path: Path) -> None:
    (tmp_path / "requests.jsonl").write_text("")
    for option in (["--policy", "broad"], ["--set", "max_nodes=2"], ["--explain"], ["--mermaid"]):
        assert imported("slice", "--batch", "requests.jsonl", *option).exit == 2


def test_a_budget_that_no_database_can_store_is_a_usage_error(imported: Tt) -> None:
    for option in ("--tokens", "--turns"):
        assert imported("context", "limit", option, 10**30, "--json").error["code"] == "usage"


def test_a_session_is_named_as_every_reference_is(imported: Tt) -> None:
    """Ruling 7."""
    assert imported("turns", f"session:{SESSION}", "--json").json == imported("turns", SESSION, "--json").json


def test_an_unknown_session_is_not_an_empty_one(imported: Tt) -> None:
    done = imported("turns", "nowhere", "--json")
    assert (done.exit, done.error["code"]) == (4, "no-session")


def test_a_search_for_nothing_is_a_usage_error(imported: Tt) -> None:
    assert imported("turns", "--search", " ").exit == 2
    assert imported("turns", SESSION, "--search", " ").exit == 2
    assert imported("turns", SESSION, "--limit", 0).exit == 2


def test_turns_in_json_have_their_complete_text(imported: Tt) -> None:
    rows = imported("turns", SESSION, "--json").json["rows"]
    assert max(len(row["text"]) for row in rows) > 500


def test_asking_again_without_recording_records_nothing(imported: Tt) -> None:
    manifest = imported("context", "limit", "--json").json["manifest_id"]
    assert imported("context", "--again", manifest, "--no-record").exit == 0
    assert imported("verify", "--json").json["checked"]["manifests"] == 1


def test_a_page_that_sqlite_cannot_read_gives_our_own_error(imported: Tt, tmp_path: Path) -> None:
    imported("context", "limit")
    path = tmp_path / ".slicebase" / "slicebase.db"
    connection = apsw.Connection(str(path))
    root = next(connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'manifests'"))[0]
    size = connection.pragma("page_size")
    connection.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    done = imported("replay", "--json")
    assert (done.exit, done.error["code"]) == (3, "database-damaged")
    assert imported("verify", "--json").json["status"] == "BROKEN"


@pytest.mark.parametrize("command", [["validate", "empty.slice"], ["validate", "nowhere"], ["verify"]])
def test_no_color_turns_colours_off_on_a_terminal(imported: Tt, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "empty.slice").write_bytes(b"")
    assert b"\x1b[" in _on_a_terminal(tmp_path, command, {})
    assert b"\x1b[" not in _on_a_terminal(tmp_path, command, {"NO_COLOR": "1"})


def _on_a_terminal(folder: Path, command: list[str], more: dict[str, str]) -> bytes:
    ours, theirs = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment = {**plain, "PYTHONPATH": str(PROJECT / "src"), "TERM": "xterm", **more}
    whole = [sys.executable, "-m", "slicebase", *command]
    subprocess.run(whole, check=False, stdout=theirs, stderr=theirs, cwd=folder, env=environment)
    os.close(theirs)
    printed = b""
    try:
        while chunk := os.read(ours, 65536):
            printed += chunk
    except OSError:  # on Linux, this means that the other end is closed
        pass
    os.close(ours)
    return printed


def test_a_span_of_thousands_of_digits_is_a_usage_error(imported: Tt) -> None:
    assert imported("cite", f"turn:{TURN}", "--span", f"1-{'9' * 5000}").exit == 2


# Files of any bytes

BAD_FILES: dict[str, bytes | None] = {
    "empty": b"",
    "bom": b"\xef\xbb\xbf",
    "nul": b"\x00" * 100,
    "carriage returns": b'{"type":"X"}\r{"type":"Y"}\r',
    "utf-16": '{"type":"X"}\n'.encode("utf-16"),
    "not utf-8": b'{"type":"\xff"}\n',
    "surrogate": b'{"type":"\\ud800","payload":{"a":"\\udfff"}}\n',
    "gzip": gzip.compress(b'{"type":"X"}\n'),
    "no line end": b'{"type":"' + b"x" * 100_000,
    "deep": b"[" * 100_000,
    "digits": b'{"type":"X","step":' + b"9" * 5_000 + b"}\n",
    "folder": None,
    "missing": None,
}
READERS = (
    "import FILE",
    "import FILE --format claude-code",
    "import FILE --format graph",
    "import FILE --format conversation",
    "run log r --file FILE",
    "run from FILE",
    "lost FILE",
    "create --title t --summary s --body-file FILE",
    "create --title t --summary s --from FILE --copy",
    "create --title t --summary s --from FILE",
    "add FILE",
    "slice --verify FILE",
    "slice --admits FILE 2a400d23",
    "slice --batch FILE",
    "validate FILE",
    "merge-driver FILE FILE FILE x.slice",
    "context question --policy FILE",
)


@pytest.mark.parametrize("reader", READERS)
def test_a_file_of_any_bytes_is_read_or_refused(reader: str, tt: Tt, tmp_path: Path) -> None:
    assert tt("run", "start", "--objective", "o", "--done", "d", "--id", "r").exit == 0
    for kind, data in BAD_FILES.items():
        path = tmp_path / f"{kind}.jsonl"
        if kind == "folder":
            path.mkdir()
        elif data is not None:
            path.write_bytes(data)
        done = tt(*(str(path) if word == "FILE" else word for word in reader.split()), "--json")
        assert done.exit in range(6), (kind, done)
        if done.exit > 1:
            assert done.error.keys() >= {"code", "message", "hint", "where"}, kind
    assert tt("verify").exit == 0


@pytest.mark.parametrize("command", [["purge", "run:none"], ["remember", "none", "-"], ["hook", "run", "PreCompact"]])
def test_a_command_whose_streams_are_closed_ends_as_ever(tt: Tt, tmp_path: Path, command: list[str]) -> None:
    """`tt purge X <&- >&-`: there is nobody to ask, and nothing to read."""
    tt("init")
    words = [sys.executable, "-m", "slicebase", *command]
    closed = subprocess.run(["sh", "-c", '"$@" <&- >&-', "sh", *words], cwd=tmp_path, capture_output=True, check=False)
    assert b"Traceback" not in closed.stderr
    assert closed.returncode == (0 if command[0] == "hook" else 4)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the memory of a process")
def test_too_little_memory_is_an_error_of_ours_and_leaves_no_file(tmp_path: Path) -> None:
    Slicebase.init(tmp_path).close()
    (tmp_path / "long.txt").write_text("a line that is not long\n" * 2_500_000)
    command = [sys.executable, "-m", "slicebase", "create", "T", "S", "--type", "text", "--body-file", "long.txt"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (150 << 20, 150 << 20)),
    )  # fmt: skip
    assert (done.returncode, "[no-memory]" in done.stderr) == (3, True), done.stderr
    assert not list((tmp_path / ".slices").glob("*"))
