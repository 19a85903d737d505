"""A recorded call that is interrupted while the recorder itself is logging is still a whole step."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from slicebase.base import Slicebase

RUN = "r"
FAILED = ["PLAN_DONE", "ACT_DONE", "FAILURE", "OBSERVE_DONE"]


class Interrupting:
    """A clock that raises an interruption once, at a given reading."""

    def __init__(self) -> None:
        self.readings_left = -1

    def __call__(self) -> float:
        self.readings_left -= 1
        if self.readings_left == 0:
            raise KeyboardInterrupt
        return 1_767_225_600.0


@pytest.fixture
def clock() -> Interrupting:
    return Interrupting()


@pytest.fixture
def memory(tmp_path: Path, clock: Interrupting) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path, clock=clock) as opened:
        opened.runs.start(RUN, "Objective", "Done")
        yield opened


def events(memory: Slicebase) -> list[str]:
    assert memory.verify().status == "VERIFIED"
    first, *types, last = [event.type for event in memory.truth.runs.events(RUN) if event.step == 1]
    assert (first, last) == ("STEP_BEGUN", "STEP_ENDED")
    return sorted(types)


@pytest.mark.parametrize("reading", [2, 3])
def test_an_interruption_while_the_begin_is_logged_is_a_failure(
    memory: Slicebase, clock: Interrupting, reading: int
) -> None:
    call = memory.runs.recorder(RUN).call("bash")
    clock.readings_left = reading
    with pytest.raises(KeyboardInterrupt):
        call.__enter__()
    assert events(memory) == sorted(FAILED)


def test_an_interruption_while_the_result_is_logged_is_a_failure(memory: Slicebase, clock: Interrupting) -> None:
    recorder = memory.runs.recorder(RUN)
    call_id = recorder.started("bash")
    clock.readings_left = 1
    with pytest.raises(KeyboardInterrupt):
        recorder.ended(call_id, "result")
    assert events(memory) == sorted(FAILED)
