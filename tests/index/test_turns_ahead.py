"""An index whose turns another process prepares is the one that this process alone makes."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slicebase.base import Slicebase
from slicebase.index import turn_rows, turns_ahead, upkeep
from slicebase.index.turns import TurnIndex
from slicebase.index.upkeep import update_turn_index
from slicebase.index.wanted_turns import WantedTurns

SAMPLES = Path(upkeep.__file__).parent.parent / "samples"
TABLES = (
    "state", "session", "turn", "given", "link", "called", "touched", "answered", "unreadable", "occurrence", "naming",
)  # fmt: skip
BATCH = 50  # turns
IN_SMALL_BATCHES = "from slicebase.index import turn_rows, turns_ahead; turn_rows._MOST_TURNS = {}; "
UNTIL = "from itertools import islice; f = turns_ahead._frames; turns_ahead._frames = lambda *a: islice(f(*a), {}); "
# What the process does wrong, or nothing: before it begins, after some batches, in the middle of one, or at all.
FAULTS = {
    "none": "turns_ahead.serve()",
    "no answer": "",
    "after three batches": UNTIL.format(3) + "turns_ahead.serve()",
    "before the last word": UNTIL.format(9) + "turns_ahead.serve()",
    "other words first": "print('Note: welcome', flush=True); turns_ahead.serve()",
    "something else": "import pickle; pickle.dump('Note', sys.stdout.buffer)",
    "nothing, without an end": "import time; sys.stdin.read(); time.sleep(600)",
    "in a batch": "import sys; sys.stdout.buffer.write(b'\\x80\\x05\\x95\\xff\\x00')",
}


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slicebase]:
    monkeypatch.setattr(turn_rows, "_MOST_TURNS", BATCH)
    with Slicebase.init(tmp_path) as memory:
        memory.import_([SAMPLES / "long-session.jsonl", SAMPLES / "claude-code-session.jsonl"])
        yield memory


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[subprocess.Popen[bytes]]]:
    """Lets every update use a process that runs this program; returns those that were started."""

    def use(code: str) -> list[subprocess.Popen[bytes]]:
        started: list[subprocess.Popen[bytes]] = []

        def start(_: str) -> subprocess.Popen[bytes]:
            whole = f"import sys; sys.path[:] = {sys.path!r}; {IN_SMALL_BATCHES.format(BATCH)}{code}"
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            started.append(subprocess.Popen([sys.executable, "-c", whole], **pipes))
            return started[-1]

        monkeypatch.setattr(upkeep, "_WORTH_A_PROCESS", 0)
        monkeypatch.setattr(turns_ahead, "processors", lambda: 2)
        monkeypatch.setattr(turns_ahead, "serving", start)
        monkeypatch.setattr(turns_ahead, "_LONGEST", 3 if "sleep" in code else 600)
        return started

    return use


def indexed(memory: Slicebase) -> dict[str, list[Any]]:
    with TurnIndex() as index:
        return index.ask(lambda: _rows(index, memory))


def _rows(index: TurnIndex, memory: Slicebase) -> dict[str, list[Any]]:
    update_turn_index(index, memory.truth)
    return {table: sorted(index._connection.execute(f"SELECT * FROM {table}").fetchall()) for table in TABLES}


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_the_process_does_the_index_is_the_same(
    fault: str, memory: Slicebase, serving: Callable[[str], list[Any]]
) -> None:
    alone = indexed(memory)
    started = serving(FAULTS[fault])
    assert indexed(memory) == alone
    assert len(alone["turn"]) > 400
    assert [process.poll() is not None for process in started] == [True]


def test_a_row_that_cannot_be_read_is_noted_once(memory: Slicebase, serving: Callable[[str], list[Any]]) -> None:
    connection = memory.truth.database.connection
    connection.execute("DROP TRIGGER turns_fixed; UPDATE turns SET record = x'7b' WHERE rowid IN (3, 170)")
    alone = indexed(memory)
    for fault in ("none", "after three batches"):
        serving(FAULTS[fault])
        assert indexed(memory) == alone
    assert [row for _, _, row in alone["unreadable"]] == [3, 170]


def test_where_no_process_can_be_started_the_turns_are_prepared_here(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> Any:
        raise OSError("no more processes")

    alone = indexed(memory)
    monkeypatch.setattr(upkeep, "_WORTH_A_PROCESS", 0)
    monkeypatch.setattr(turns_ahead, "serving", refuse)
    assert indexed(memory) == alone


def test_inside_a_transaction_turns_that_no_other_process_sees_are_indexed(
    memory: Slicebase, serving: Callable[[str], list[Any]]
) -> None:
    started = serving(FAULTS["none"])
    with memory.truth.database.reading():
        assert len(indexed(memory)["turn"]) > 400
    assert not started


def test_closing_it_ends_the_process(memory: Slicebase, serving: Callable[[str], list[Any]]) -> None:
    started = serving(FAULTS["none"])
    batches = turns_ahead.batches_ahead(memory.truth, WantedTurns(0, 1000), lambda row: None)
    assert len(next(batches)) == BATCH
    batches.close()
    assert started[0].poll() is not None


def test_turns_that_are_purged_when_the_process_has_ended_hide_no_others(
    memory: Slicebase, serving: Callable[[str], list[Any]]
) -> None:
    everything = {turn for _, turn, *_ in indexed(memory)["turn"]}
    serving(FAULTS["after three batches"])
    batches = turns_ahead.batches_ahead(memory.truth, WantedTurns(0, 1000), lambda row: None)
    found = [ready.turn.id for ready in next(batches)]
    for turn in found[:3]:
        memory.purge(f"turn:{turn}")
    found += [ready.turn.id for batch in batches for ready in batch]
    assert sorted(found) == sorted(everything)


def test_a_process_that_finds_another_database_prepares_nothing(
    memory: Slicebase, serving: Callable[[str], list[Any]], tmp_path: Path
) -> None:
    alone = indexed(memory)
    path = memory.truth.database.path
    with Slicebase.init(tmp_path / "other") as other:
        other.import_([SAMPLES / "long-session.jsonl"])
        there = other.truth.database.path
    path.rename(tmp_path / "kept")  # this process has it open
    there.rename(path)
    serving(FAULTS["none"])
    assert indexed(memory) == alone
