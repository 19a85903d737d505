"""Many writers: processes with several threads write to one workspace, while others verify, seal and purge it."""

import time
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any, Final

from slicebase import Slicebase
from slicebase.errors import SlicebaseError
from soak.checks import check, check_purged, check_tidy, check_unique
from soak.figures import Outcome
from soak.ground import Ground
from soak.works import SECRET, WORKS, secret_session
from soak.writers import Acknowledge, Writer, wait

PROCESSES: Final = 3
THREADS: Final = 3
PATIENCE: Final = 10.0  # seconds that a verb waits for others before it raises `locked` (docs/python.md)
_MIXED: Final = ("import", "follow", "log", "rows", "pages", "context", "seal", "steps", "steps")
Round = Callable[[Slicebase, Acknowledge, int], None]


def many_writers(ground: Ground, random: Random, number: int) -> Outcome:
    """Lets all of them work for some seconds, and checks what they acknowledged."""
    outcome, folder = Outcome(), ground.copy(random)
    end = time.monotonic() + ground.together
    jobs = [_threads(folder, process, random.random(), end) for process in range(PROCESSES)]
    jobs += [_loop(folder, end, job) for job in (_verify, _seal, _purge)]
    writers = [Writer(job) for job in jobs]
    wait(writers, ground.together + 60)
    acknowledged = []
    for writer in writers:
        if writer.end() or writer.errors:  # an error of a thread does not end the process
            outcome.alarms.append(f"a writer ended with {writer.status}: {writer.errors}")
        for said in writer.said:
            _judge(said, outcome)
        acknowledged += [each for each in writer.acknowledged if each[0] not in ("late", "verdict", "imported")]
    outcome.acknowledged = len(acknowledged)
    acknowledged += _purge_the_rest(folder, [said for writer in writers for said in writer.said])
    check(folder, acknowledged, outcome)
    check_unique(acknowledged, outcome)
    check_purged(folder, acknowledged, outcome)
    check_tidy(folder, outcome)
    return ground.done(folder, outcome)


def _judge(said: list[Any], outcome: Outcome) -> None:
    if said[0] == "late":
        outcome.locked += 1
    elif said[0] == "verdict" and said[1] != "VERIFIED":
        outcome.alarms.append(f"verify meanwhile: {said[2]}")


def _threads(folder: Path, process: int, chance: float, end: float) -> Callable[[Acknowledge], None]:
    """Returns a job: threads that share one object, and do mixed work until the time is over."""

    def work(acknowledge: Acknowledge) -> None:
        with Slicebase.open(folder) as memory:

            def mixed(thread: int) -> None:
                random, number = Random(f"{chance}/{thread}"), 0
                while time.monotonic() < end:
                    number += 1
                    name = random.choice(_MIXED)
                    with _Patient(acknowledge) as patient:
                        WORKS[name](memory, patient.acknowledge, f"{process}-{thread}-{number}")

            threads = [Thread(target=_guarded, args=(mixed, thread, acknowledge)) for thread in range(THREADS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    return work


def _guarded(mixed: Callable[[int], None], thread: int, acknowledge: Acknowledge) -> None:
    try:
        mixed(thread)
    except BaseException as error:
        code = error.code if isinstance(error, SlicebaseError) else "crash"
        acknowledge("error", code, traceback.format_exc()[-1500:])


class _Patient:
    """Lets a `locked` pass that came after the documented patience, and acknowledges that it was late."""

    def __init__(self, acknowledge: Acknowledge) -> None:
        self._say = acknowledge
        self._since = time.monotonic()

    def acknowledge(self, *what: Any) -> None:
        self._say(*what)
        self._since = time.monotonic()

    def __enter__(self) -> "_Patient":
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        is_late = isinstance(error, SlicebaseError) and error.code == "locked"
        if is_late and time.monotonic() - self._since >= PATIENCE:
            self._say("late")
            return True
        return False


def _loop(folder: Path, end: float, one_round: Round) -> Callable[[Acknowledge], None]:
    """Returns a job that does something again and again, until the time is over."""

    def work(acknowledge: Acknowledge) -> None:
        number = 0
        while time.monotonic() < end:
            number += 1
            with Slicebase.open(folder) as memory, _Patient(acknowledge) as patient:
                one_round(memory, patient.acknowledge, number)

    return work


def _verify(memory: Slicebase, acknowledge: Acknowledge, number: int) -> None:
    verdict = memory.verify()
    found = [str(each) for each in verdict.findings if each.status in ("BROKEN", "UNVERIFIABLE")]
    acknowledge("verdict", verdict.status, "; ".join(found)[:1000])


def _seal(memory: Slicebase, acknowledge: Acknowledge, number: int) -> None:
    acknowledge("file", memory.seal().id)
    time.sleep(0.05)


def _purge(memory: Slicebase, acknowledge: Acknowledge, number: int) -> None:
    name = secret_session(memory, str(number))
    acknowledge("imported", name)
    memory.purge(f"session:{name}", reason="secret")
    acknowledge("purged", f"{SECRET} session {number} ")


def _purge_the_rest(folder: Path, said: list[list[Any]]) -> list[list[Any]]:
    """Repeats every purge, as its error asks for when it was late. Returns what is purged then."""
    names = [each[1] for each in said if each[0] == "imported"]
    with Slicebase.open(folder) as memory:
        for name in names:
            memory.purge(f"session:{name}", reason="secret")
    return [["purged", f"{SECRET} session {name.removeprefix('secret-')} "] for name in names]
