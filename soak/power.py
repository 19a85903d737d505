"""Power loss, simulated: the files as they are at one moment, while a writer works, are a workspace that verifies.

The writer is stopped for the copy, so that all files are of the same moment. A second copy has the database alone, with
its write-ahead log cut at a random byte: somewhere in what SQLite has not moved into the database yet.
"""

import os
import shutil
import signal
from pathlib import Path
from random import Random
from typing import Final

from slicebase.workspace.workspace import DATABASE, DATABASE_ID, LOCAL, database_of
from soak.checks import check
from soak.figures import Outcome
from soak.ground import Ground, remove, working
from soak.works import WORKS
from soak.writers import Writer, wait

_MOVED: Final = 128  # where the -shm file says how many pages SQLite may have moved into the database
_FRAME: Final = 4096 + 24
_HEADER: Final = 32
_CUT: Final = [name for name in WORKS if name != "adopt"]  # the id beside the database knows of a flushed adoption


def copied(ground: Ground, random: Random, number: int) -> Outcome:
    """Copies the workspace at a random moment. Everything acknowledged until then is in the copy."""
    name, outcome = list(WORKS)[number % len(WORKS)], Outcome()
    folder, writer = _stopped(ground, random, name)
    copy = folder.with_name(f"{folder.name}-copy")
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*-shm"))
    acknowledged = writer.acknowledged
    _end(name, writer, outcome)
    outcome.acknowledged = len(acknowledged)
    check(copy, acknowledged, outcome)
    remove(copy)
    return ground.done(folder, outcome)


def copied_and_cut(ground: Ground, random: Random, number: int) -> Outcome:
    """Copies the database at a random moment, and cuts its write-ahead log."""
    name, outcome = _CUT[number % len(_CUT)], Outcome()
    folder, writer = _stopped(ground, random, name)
    copy = folder.with_name(f"{folder.name}-copy")
    _copy_database(database_of(folder), copy / LOCAL, random)
    _end(name, writer, outcome)
    check(copy, [], outcome)
    remove(copy)
    return ground.done(folder, outcome)


def _stopped(ground: Ground, random: Random, name: str) -> tuple[Path, Writer]:
    """Starts a writer, and stops it at a random moment."""
    folder = ground.copy(random)
    writer = Writer(working(name, folder))
    wait([writer], random.uniform(0, ground.measured(name).seconds))
    writer.pause()
    return folder, writer


def _end(name: str, writer: Writer, outcome: Outcome) -> None:
    writer.stop(signal.SIGCONT)
    if writer.end():
        outcome.alarms.append(f"{name}: {writer.errors or writer.status}")


def _copy_database(database: Path, to: Path, random: Random) -> None:
    to.mkdir(parents=True)
    shutil.copy(database, to / DATABASE)
    shutil.copy(database.with_name(DATABASE_ID), to / DATABASE_ID)
    log = Path(f"{database}-wal")
    if not log.exists():
        return
    data, shared = log.read_bytes(), Path(f"{database}-shm")
    # Without the shared file, the log is being opened or closed: all of it may be in the database already.
    first = min(len(data), _HEADER + _FRAME * _moved(shared)) if shared.exists() else len(data)
    (to / f"{DATABASE}-wal").write_bytes(data[: random.randint(first, len(data))])


def _moved(shared: Path) -> int:
    """Returns how many pages of the log may be in the database already: without these, the log cannot be cut."""
    with shared.open("rb") as file:
        return int.from_bytes(os.pread(file.fileno(), 4, _MOVED), "little")
