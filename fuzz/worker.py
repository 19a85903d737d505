"""One door in a process of its own: replays known inputs, then damages seeds until its time is over.

Each input has a limit of time and of memory. A crash is named by its error and its last line in our code, made smaller,
and written to `crashes/`. The input that runs is in a file all the time, so that a process that dies leaves it behind.
"""

import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final

from fuzz.doors import Door, pure_doors
from fuzz.mutations import mutated
from fuzz.seeds import CRASHES, seeds
from slicebase.errors import SlicebaseError

LONGEST: Final = 4  # seconds of the processor for an input
_MEMORY: Final = 4 << 30  # bytes of address space
_GROWTH: Final = 300 << 10  # KiB that one input may add to the memory of the process
_SMALLER: Final = 5.0  # seconds to make a crash smaller


class TooSlowError(Exception):
    """An input took longer than `LONGEST`."""


class TooLargeError(Exception):
    """An input took more memory than `_GROWTH`."""


def work(name: str, seconds: float, seed: int, current: Path, least: int = 0) -> dict[str, Any]:
    """Fuzzes a door for a time, with `least` inputs at least. Returns the figures: inputs, refused ones, crashes."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    signal.signal(signal.SIGPROF, _too_slow)
    found = seeds(name)
    with tempfile.TemporaryDirectory() as folder:
        door, check = _door(name, Path(folder))
        trial = Trial(name, door, current)
        for path in sorted(CRASHES.glob(f"{name}--*.bin")):
            trial.run(path.read_bytes())
        random, end = Random(seed), time.monotonic() + seconds
        for data in found:
            trial.run(data[: 128 << 10])
        while time.monotonic() < end or trial.inputs < least:
            trial.run(mutated(random, found))
        trial.finish(check)
        os.chdir("/")
    return {"door": name, "inputs": trial.inputs, "refused": trial.refused, "crashes": sorted(trial.crashes)}


def _door(name: str, folder: Path) -> tuple[Door, Callable[[], None]]:
    known = dict(pure_doors())
    if name in known:
        return known[name], lambda: None
    from fuzz.stateful import Doors

    doors = Doors(folder)
    return dict(doors.all())[name], doors.check


def _too_slow(*_: object) -> None:
    raise TooSlowError(f"more than {LONGEST} seconds")


class Trial:
    """Runs inputs through a door, and keeps count."""

    def __init__(self, name: str, door: Door, current: Path) -> None:
        self.inputs = self.refused = 0
        self.crashes: set[str] = set()
        self._name, self._door = name, door
        self._current = os.open(current, os.O_WRONLY | os.O_CREAT, 0o600)
        self._peak = 0

    def run(self, data: bytes) -> None:
        self.inputs += 1
        os.ftruncate(self._current, 0)
        os.pwrite(self._current, data, 0)
        crash = self._crash(data)
        if crash is not None and crash not in self.crashes:
            self.crashes.add(crash)
            self._write(crash, _smaller(data, lambda shorter: self._crash(shorter) == crash))

    def _crash(self, data: bytes) -> str | None:
        """Returns what an input broke; None if the door accepted or refused it."""
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        try:
            self._door(data)
            self._refuse_growth()
        except SlicebaseError as error:
            str(error).encode()  # it can be printed
            self.refused += 1
        except Exception as error:
            return _named(error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return None

    def _refuse_growth(self) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        before, self._peak = self._peak or peak, peak
        if self.inputs > 100 and peak - before > _GROWTH:
            raise TooLargeError(f"{(peak - before) >> 10} MiB")

    def finish(self, check: Callable[[], None]) -> None:
        try:
            check()
        except Exception as error:
            self.crashes.add(_named(error))

    def _write(self, crash: str, data: bytes) -> None:
        CRASHES.mkdir(exist_ok=True)
        path = CRASHES / f"{self._name}--{sha256(crash.encode()).hexdigest()[:12]}"
        path.with_suffix(".bin").write_bytes(data)
        path.with_suffix(".txt").write_text(f"{crash}\n")


def _named(error: Exception) -> str:
    """Returns an error with the last line in our code: what makes two crashes the same."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "slicebase" in frame.filename]
    place = f"{frames[-1].filename.rpartition('slicebase/')[2]}:{frames[-1].name}" if frames else "the door"
    said = str(error)[:120] if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__} in {place} {said}".rstrip()


def _smaller(data: bytes, is_crash: Callable[[bytes], bool]) -> bytes:
    """Removes pieces of an input as long as it is the same crash."""
    end = time.monotonic() + _SMALLER
    size = len(data) // 2
    while size and time.monotonic() < end:
        at = 0
        while at < len(data) and time.monotonic() < end:
            shorter = data[:at] + data[at + size :]
            if is_crash(shorter):
                data = shorter
            else:
                at += size
        size //= 2
    return data


if __name__ == "__main__":
    print(json.dumps(work(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), int(sys.argv[5]))))
