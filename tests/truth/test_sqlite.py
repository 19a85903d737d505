"""Opening the truth: versions, migrations, damage, locks."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.index import disposable
from slicebase.truth import sqlite
from slicebase.truth.schema import SCHEMA
from slicebase.truth.truth import Truth
from slicebase.verbs.verify import verify
from tests.conversations import chain, on_file, store

pytestmark = pytest.mark.sqlite


def refusal(path: Path) -> str:
    with pytest.raises(SlicebaseError) as caught:
        Truth(path)
    return caught.value.code


def test_reading_does_not_create_a_missing_database(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.db") == "no-database"
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
def test_a_pipe_in_the_place_of_a_log_is_an_error_and_not_waited_for(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "slicebase.db"
    Truth(path, create=True).close()
    os.mkfifo(f"{path}{suffix}")
    with pytest.raises(SlicebaseError) as refused:
        Truth(path)
    assert refused.value.code == "not-a-file"


def test_a_newer_database_is_refused_and_left_alone(truth: Truth) -> None:
    on_file(truth).connection.pragma("user_version", 99)
    before = truth.database.path.read_bytes()
    assert refusal(truth.database.path) == "database-newer"
    assert truth.database.path.read_bytes() == before


@pytest.mark.parametrize("content", [b"no database at all, just some text\n" * 100, b"\0" * 4096])
def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    assert refusal(path) == "database-damaged"
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE mine (x)")
    other.close()
    assert refusal(path) == "not-our-database"


def test_after_an_error_nothing_is_left_of_a_part_of_a_transaction(truth: Truth) -> None:
    turns = chain(4)

    def fail() -> None:
        with truth.database.writing(), truth.database.writing():
            store(truth, turns[1:])
            raise ValueError("stop")

    with truth.database.writing():
        store(truth, turns[:1])
        with pytest.raises(ValueError, match="stop"):
            fail()
        store(truth, turns[1:2])
    assert [stored.record.id for stored in truth.turns.of_session("s")] == [turn.id for turn in turns[:2]]
    assert verify(truth).status == "VERIFIED"


def test_what_fails_inside_a_transaction_without_parts_fails_as_a_whole(truth: Truth) -> None:
    turns = chain(4)

    def fail() -> None:
        with truth.database.writing():
            store(truth, turns[2:3])
            raise ValueError("stop")

    def go_on() -> None:
        with truth.database.writing_undivided():
            store(truth, turns[1:2])
            with pytest.raises(ValueError, match="stop"):
                fail()
            store(truth, turns[3:])

    store(truth, turns[:1])
    with pytest.raises(RuntimeError):
        go_on()
    assert [stored.record.id for stored in truth.turns.of_session("s")] == [turns[0].id]
    store(truth, turns[1:2])  # and the next one is not affected
    assert [stored.record.id for stored in truth.turns.of_session("s")] == [turn.id for turn in turns[:2]]
    assert verify(truth).status == "VERIFIED"


def test_inside_another_transaction_one_without_parts_is_a_part(truth: Truth) -> None:
    turns = chain(2)

    def fail() -> None:
        with truth.database.writing_undivided():
            store(truth, turns[1:])
            raise ValueError("stop")

    with truth.database.writing():
        store(truth, turns[:1])
        with pytest.raises(ValueError, match="stop"):
            fail()
    assert [stored.record.id for stored in truth.turns.of_session("s")] == [turns[0].id]


def test_another_schema_has_another_version() -> None:
    """A database whose tables differ must be refused as one of another version, not fail at a missing column."""
    schema = re.sub(r"--.*\n|\s+", " ", SCHEMA)
    assert (sqlite.DATABASE_VERSION, digest(schema.encode())[7:19]) == (7, "6d7fe5f0569b")


@pytest.mark.parametrize("version", [0, 1, sqlite.DATABASE_VERSION - 1])
def test_a_database_of_a_version_that_nobody_released_is_refused_and_left_alone(truth: Truth, version: int) -> None:
    on_file(truth).connection.pragma("user_version", version)
    before = truth.database.path.read_bytes()
    assert refusal(truth.database.path) == "database-damaged"
    assert truth.database.path.read_bytes() == before


def test_a_database_that_another_process_writes_to_is_locked(truth: Truth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "LONGEST_WAIT", 50)
    other = apsw.Connection(str(truth.database.path))
    other.execute("BEGIN IMMEDIATE")
    again = Truth(truth.database.path)
    with pytest.raises(SlicebaseError) as caught:
        store(again, chain(1))
    assert caught.value.code == "locked"
    other.close()
    again.close()


KILLED = """
import os, sys
from pathlib import Path
from slicebase.truth.truth import Truth
from tests.conversations import chain, store, on_file
truth = Truth(Path(sys.argv[1]))
for at, turn in enumerate(chain(50)):
    store(truth, [turn])
    print(at, flush=True)
    if at == 20:
        truth.database.connection.execute("BEGIN IMMEDIATE")
        truth.database.connection.execute("INSERT INTO shapes VALUES (99, 'half', 1)")
        os.kill(os.getpid(), 9)
"""


def test_a_killed_process_loses_nothing_that_was_stored(truth: Truth) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(truth.database.path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == -9
    assert len(list(truth.turns.of_session("s"))) == len(done.stdout.split()) == 21
    assert verify(truth).status == "VERIFIED"


def test_a_database_in_a_folder_that_cannot_be_written_is_read(truth: Truth, monkeypatch: pytest.MonkeyPatch) -> None:
    store(truth, chain(3))
    path = truth.database.path
    truth.close()
    monkeypatch.setattr("os.access", lambda folder, mode: False)
    frozen = Truth(path)
    assert [count for _, count in frozen.turns.sessions()] == [3]
    assert not path.with_name(f"{path.name}-wal").exists()
    with pytest.raises(SlicebaseError) as caught:
        store(frozen, chain(4))
    frozen.close()
    assert caught.value.code == "cannot-write"


def test_a_disk_that_is_full_when_the_database_is_created_is_an_error_of_ours(tmp_path: Path) -> None:
    program = (
        "import resource, sys; from pathlib import Path; from slicebase.errors import SlicebaseError\n"
        "from slicebase.truth.truth import Truth\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "try: Truth(Path(sys.argv[1]), create=True)\n"
        "except SlicebaseError as error: print(error.code)"
    )
    path = tmp_path / "x.db"
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "disk-full"
    Truth(path, create=True).close()


class Interrupted:
    """A connection on which Ctrl-C arrives just after a transaction has begun."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, *values: Any) -> Any:
        result = self._connection.execute(statement, *values)
        if statement.startswith(("BEGIN", "SAVEPOINT")):
            raise KeyboardInterrupt
        return result


@pytest.mark.parametrize("begin", ["writing", "rolled_back", "reading"])
def test_an_interruption_just_after_the_begin_leaves_no_transaction_open(truth: Truth, begin: str) -> None:
    """Else every later write would belong to it, and be lost."""
    connection = on_file(truth).connection
    truth.database.connection = Interrupted(connection)
    with pytest.raises(KeyboardInterrupt), getattr(truth.database, begin)():
        pytest.fail("the block was entered")
    truth.database.connection = connection
    assert not connection.in_transaction


@pytest.mark.parametrize("begin", [disposable.writing, disposable.reading])
def test_an_interruption_leaves_no_transaction_open_in_an_index(truth: Truth, begin: Any) -> None:
    connection = on_file(truth).connection
    with pytest.raises(KeyboardInterrupt), begin(Interrupted(connection)):
        pytest.fail("the block was entered")
    assert not connection.in_transaction


def test_many_transactions_are_done_although_somebody_reads(truth: Truth) -> None:
    """The flush to the disk waits for no reader: everything is stored already."""
    store(truth, chain(1))
    reader = apsw.Connection(str(truth.database.path))
    reader.execute("BEGIN; SELECT * FROM turns")
    with truth.database.bulk():
        store(truth, chain(2))
    reader.close()
    assert [count for _, count in truth.turns.sessions()] == [2]
