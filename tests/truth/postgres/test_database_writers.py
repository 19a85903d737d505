"""Many processes write to one memory: some are killed, and the server is restarted."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.truth.ownership import Opener
from slicebase.truth.truth import Truth
from slicebase.workspace.server import URL_VARIABLE
from tests.truth.postgres.server import own_server, restart

pytestmark = pytest.mark.postgres

SECONDS = float(os.environ.get("SLICEBASE_SECONDS", "8"))
PROCESSES = 6


def started(folder: Path, name: str, output: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.truth.postgres.writer", str(folder), name, str(SECONDS)]
    with output.open("ab") as stream:
        return subprocess.Popen(command, stdout=stream, stderr=subprocess.PIPE)


def test_what_was_acknowledged_is_stored_though_writers_are_killed_and_the_server_restarts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    """Two folders share the memory. Its chains are whole at the end."""
    chance = random.Random(1)
    with own_server() as (url, data):
        monkeypatch.setenv(URL_VARIABLE, url)
        with Slicebase.init(tmp_path / "first") as memory:
            memory.runs.start("shared", "Count.", "All have counted.")
            shared = memory.truth.identity.database
        Slicebase.init(tmp_path / "second", join=shared).close()
        folders, output = (tmp_path / "first", tmp_path / "second"), tmp_path / "acknowledged"
        running = [started(folders[number % 2], f"w{number}", output) for number in range(PROCESSES)]
        ends, names = time.monotonic() + SECONDS, PROCESSES
        is_restarted = False
        while time.monotonic() < ends:
            time.sleep(SECONDS / 6)
            victim = chance.choice([process for process in running if process.poll() is None] or running)
            victim.kill()
            running.append(started(folders[names % 2], f"w{names}", output))
            names += 1
            if not is_restarted and time.monotonic() > ends - SECONDS / 2:
                restart(data)
                is_restarted = True
        assert is_restarted
        for process in running:
            errors = process.communicate(timeout=60)[1]
            assert process.returncode in (0, -9), errors.decode()
        lines = [line.split() for line in output.read_text().splitlines()]
        with Slicebase.open(tmp_path / "second") as memory:
            events = [stored.event.payload for stored in memory.truth.runs.log.events("shared")]
            logged = Counter((payload["by"], payload["number"]) for payload in events if "by" in payload)
            turns = {stored.record.id for stored in memory.truth.turns.of_session("shared")}
            assert memory.verify().status == "VERIFIED"
    assert {(by, int(number)) for kind, *given in lines if kind == "event" for by, number in [given]} <= logged.keys()
    assert max(logged.values()) == 1
    assert {given[0] for kind, *given in lines if kind == "turn"} <= turns
    assert len(lines) > 50


def test_of_processes_that_begin_a_memory_at_once_all_write_to_the_same_one(tmp_path: Path, server: str) -> None:
    """Else what the others have acknowledged is in memories whose ids nobody knows."""
    (tmp_path / "first").mkdir()
    program = "import sys; from slicebase import Slicebase; memory = Slicebase.init(sys.argv[1]); "
    program += "memory.runs.start(sys.argv[2], 'Count.', 'All have counted.')"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / "first"), f"r{number}"],
            env={**os.environ, URL_VARIABLE: server},
            stderr=subprocess.PIPE,
        )
        for number in range(4)
    ]
    for process in running:
        errors = process.communicate(timeout=60)[1]
        assert process.returncode == 0, errors.decode()
    known = (tmp_path / "first" / ".slicebase" / "slicebase.id").read_text().split()[0]
    truth = Truth(tmp_path / "x.db", opener=Opener(known=frozenset({known})), url=server)
    assert [truth.runs.log.tally(f"r{number}") is not None for number in range(4)] == [True] * 4
    truth.close()
