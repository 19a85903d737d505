"""A full disk: every verb says `disk-full`, keeps what was stored, and says what was stored if it wrote a part.

A limit of the size of files stands for a full disk: each verb meets it at several points of its work.
"""

import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from slicebase import Slicebase, SlicebaseError
from slicebase.cli.main import run
from slicebase.history.inputs import SAMPLE
from slicebase.workspace.atomic import TEMPORARY
from tests.amounts import EXPLORE
from tests.paths import PROJECT

LIMITS = (0, 100, 1_000, 4_096, 9_000, 20_000, 33_000, 40_000, 70_000, 100_000, 200_000, 400_000)
LONG = "word " * 4_000


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Lets no file grow beyond a size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def conversation(number: int) -> str:
    return json.dumps([{"role": "user", "content": f"{number} {turn} " + "x" * 9_000} for turn in range(12)])


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose names are fixed, so that calls can name them."""
    folder = tmp_path_factory.mktemp("filled")
    with Slicebase.init(folder) as memory:
        memory.import_(SAMPLE)
        for name, kind in (("log", "jsonl"), ("doc", "markdown")):
            made = memory.library.create(name, "Text.", type=kind)
            (folder / f"{name}.id").write_text(made.id)
        memory.runs.start("r", "Objective", "Done")
        memory.runs.log("r", [{"type": "PLAN_DONE", "step": 1}])
    rows = [{"type": "ACT_DONE", "step": step, "payload": {"t": "y" * 3_000}} for step in range(1, 30)]
    (folder / "conversation.json").write_text(conversation(1))
    (folder / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


SESSION = "5b0c7c1e-3d52-4f0e-9a86-2f7b1d0c64aa"
CALLS = (
    "create --title T --summary S --body LONG",
    "define DOC title=New",
    "remember LOG LONG",
    "remember DOC LONG",
    "connect LOG see_also DOC",
    "forget DOC --reason old",
    "purge DOC --reason secret",
    "add events.jsonl --copy",
    "import conversation.json",
    "run start -o Objective --done Done",
    "run log r --file events.jsonl",
    "run log r ACT_DONE --step 2",
    "run claim r It",
    "run compact r",
    f"run from {SESSION}",
    "run stop r --reason NO_EVIDENCE",
    "context retries --tokens 3000",
    "seal",
    f"export {SESSION} --to out.slice",
    "config hooks.tokens 900",
    "hook install claude-code",
    "agents-md",
)


@pytest.mark.parametrize("call", CALLS)
def test_a_full_disk_is_said_and_costs_nothing_that_was_stored(
    call: str, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in LIMITS if EXPLORE else LIMITS[CALLS.index(call) % 4 :: 4]:
        folder = tmp_path / str(limit)
        shutil.copytree(filled, folder)
        monkeypatch.chdir(folder)
        names = {"LONG": LONG, "LOG": (folder / "log.id").read_text(), "DOC": (folder / "doc.id").read_text()}
        arguments = [names.get(word, word) for word in call.split()]
        printed = io.StringIO()
        with redirect_stdout(io.StringIO()), redirect_stderr(printed), files_up_to(limit):
            status = run([*arguments, "--json"])
        assert status in (0, 3), limit
        assert not status or json.loads(printed.getvalue().splitlines()[-1])["code"] == "disk-full"
        assert not list(folder.rglob(f"{TEMPORARY}*"))
        with Slicebase.open(folder) as memory:
            assert memory.verify().status == "VERIFIED"
        if status:
            assert run(arguments) == 0, "it works with space again"


@pytest.mark.parametrize("limit", [0, 5_000, 150_000, 300_000, 450_000, 550_000])
def test_an_import_that_stops_says_what_it_stored(tmp_path: Path, limit: int) -> None:
    for number in range(4):
        (tmp_path / f"conversation{number}.json").write_text(conversation(number))
    with Slicebase.init(tmp_path) as memory:
        with pytest.raises(SlicebaseError) as caught, files_up_to(limit):
            memory.import_(tmp_path)
        assert caught.value.code == "disk-full"
        stored = memory.graph.sessions()
        claimed = re.search(r"(\d+) turns were stored before that", caught.value.message)
        assert (int(claimed[1]) if claimed else 0) == sum(each.turns for each in stored)
        assert sorted(re.findall(r"conversation\d", caught.value.message)) == sorted(each.id for each in stored)
        assert memory.import_(tmp_path).added + sum(each.turns for each in stored) == 48
        assert memory.verify().status == "VERIFIED"


def test_what_is_printed_to_a_full_disk_is_our_error(filled: Path) -> None:
    command = [sys.executable, "-m", "slicebase", "turns", SESSION]
    here = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, check=False, stdout=full, stderr=subprocess.PIPE, cwd=filled, env=here)
    assert (done.returncode, done.stderr.count(b"[disk-full]")) == (3, 1)


@pytest.mark.parametrize("as_json", [[], ["--json"]])
@pytest.mark.parametrize(
    "command",
    [
        ["create", "Title", "A summary."],
        ["run", "start", "--objective", "O", "--done", "D"],
        ["remember", "LOG", "A row."],
    ],
    ids=lambda command: command[0],
)
def test_output_to_a_full_disk_is_not_called_a_write_that_failed(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], as_json: list[str]
) -> None:
    """The command is done. Whoever tries again would do it twice, so the error does not say so."""
    folder = tmp_path / "copy"
    shutil.copytree(filled, folder)
    monkeypatch.chdir(folder)
    with Slicebase.open(folder) as memory:
        log = memory.library.create("A log", "A summary.", type="jsonl").id
        before = written(memory)
    errors = io.StringIO()
    with open("/dev/full", "w") as full, redirect_stdout(full), redirect_stderr(errors):
        status = run([*(log if word == "LOG" else word for word in command), *as_json])
    assert (status, errors.getvalue().count("disk-full")) == (3, 1)
    assert "only the output" in errors.getvalue()
    assert "try again" not in errors.getvalue()
    with Slicebase.open(folder) as memory:
        assert written(memory) == before + 1


def written(memory: Slicebase) -> int:
    """Returns how many files, rows and runs there are."""
    files = [path.read_bytes() for path in memory.workspace.library.glob("*.slice")]
    return len(memory.runs.list_runs()) + len(files) + b"".join(files).count(b'"A row."')


def test_a_stderr_that_takes_nothing_stops_no_command(filled: Path) -> None:
    command = [sys.executable, "-m", "slicebase", "import", "none.json"]
    here = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=full, cwd=filled, env=here)
    assert (done.returncode, done.stdout) == (4, b"")


@pytest.mark.parametrize("warm", [True, False])
def test_a_full_disk_is_no_damage_of_an_index(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm: bool
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(filled, folder)
    monkeypatch.chdir(folder)
    if warm:
        assert run(["search", "Text"]) in (0, 1)
    for limit in LIMITS:
        printed, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(printed), redirect_stderr(errors), files_up_to(limit):
            status = run(["doctor"])
        assert "damaged" not in printed.getvalue()
        assert "disk-full" in errors.getvalue() if status == 3 else status in (0, 1)
